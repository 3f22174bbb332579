/* What a recording says of itself, through ring 0: "session", "clock", "backend", "schedule", the user's metadata, names of
 * streams; at its end "stop". Metadata and names are kept for every recording of the process. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/version.h"
#include "record/core/device.h"
#include "record/core/events.h"
#include "record/core/threads.h"
#include "record/core/threads_shared.h"
#include "record/export/json_value.h"
#include "record/ring/log.h"
#include "record/ring/signal_lock.h"
#include "record/session/self_test.h"
#include "record/session/session.h"
#include "record/session/session_parts.h"

enum { MAX_META = 4096, MAX_META_ALL = 50 * 1024, MAX_STREAMS = 4096 };

typedef struct meta {
    struct meta *next;
    char *key, *json;
} meta;

typedef struct stream_name {
    struct stream_name *next;
    uint64_t stream;
    char *name;
} stream_name;

static struct {
    pthread_mutex_t lock;
    meta *first, **last; /* in the order of their adding */
    size_t meta_bytes;   /* of all keys and values */
    stream_name *streams;
    unsigned n_streams;
    bool defined; /* the current recording has them: new ones are written at once */
} g = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &g.first};

/* --- metadata -------------------------------------------------------------------------------------------------------- */

static meta *meta_named(const char *key) {
    for (meta *m = g.first; m != NULL; m = m->next) {
        if (strcmp(m->key, key) == 0) {
            return m;
        }
    }
    return NULL;
}

/* Takes `json` over. Locked by the caller. */
static int keep_meta(const char *key, char *json) {
    meta *old = meta_named(key);
    size_t n_key = strlen(key);
    size_t n_json = strlen(json);
    size_t others = g.meta_bytes - (old != NULL ? n_key + strlen(old->json) : 0);
    if (others + n_key + n_json > MAX_META_ALL) {
        ps_rec_log("metadata \"%.100s\" left out: all of it together may take %d bytes", key,
                   MAX_META_ALL);
        ps_free(json);
        return PS_RECORD_BAD_ARGUMENT;
    }
    if (old != NULL) {
        if (strcmp(old->json, json) != 0) {
            ps_rec_log("metadata \"%.100s\" was there already: the new value counts", key);
        }
        ps_free(old->json);
        old->json = json;
    } else {
        meta *m = ps_alloc(sizeof *m);
        char *copy = ps_strdup(key);
        if (m == NULL || copy == NULL) {
            ps_free(m);
            ps_free(copy);
            ps_free(json);
            return PS_RECORD_NO_MEMORY;
        }
        *m = (meta){.key = copy, .json = json};
        *g.last = m;
        g.last = &m->next;
    }
    g.meta_bytes = others + n_key + n_json;
    if (g.defined) {
        ps_shared_pair(PS_REC_META, key, json, n_json);
    }
    return PS_RECORD_OK;
}

int ps_session_metadata(const char *key, const char *json) {
    if (key == NULL || json == NULL || key[0] == '\0') {
        ps_rec_log("metadata needs a key and a value");
        return PS_RECORD_BAD_ARGUMENT;
    }
    size_t n_key = strlen(key);
    size_t n_json = strlen(json);
    /* A pair is one record of a ring, which holds a little less than two of the longest texts. */
    if (n_key > MAX_META || n_json > MAX_META || n_key + n_json > PS_RECORD_MAX_PAIR) {
        ps_rec_log("metadata \"%.100s\" left out: key and value may take %d bytes each", key,
                   MAX_META);
        return PS_RECORD_BAD_ARGUMENT;
    }
    bool is_json = false;
    char *tidy = ps_tidy_value(json, &is_json);
    if (tidy == NULL) {
        if (!is_json) {
            ps_rec_log("metadata \"%.100s\" left out: its value is no JSON: %.100s", key, json);
        }
        return is_json ? PS_RECORD_NO_MEMORY : PS_RECORD_BAD_ARGUMENT;
    }
    ps_signal_lock(&g.lock);
    int code = keep_meta(key, tidy);
    ps_signal_unlock(&g.lock);
    return code;
}

/* --- names of streams ------------------------------------------------------------------------------------------------ */

static int keep_stream(uint64_t stream, char *name) {
    stream_name *s = g.streams;
    while (s != NULL && s->stream != stream) {
        s = s->next;
    }
    if (s == NULL) {
        s = g.n_streams < MAX_STREAMS ? ps_calloc(1, sizeof *s) : NULL;
        if (s == NULL) {
            ps_free(name);
            return PS_RECORD_NO_MEMORY;
        }
        *s = (stream_name){.next = g.streams, .stream = stream};
        g.streams = s;
        g.n_streams++;
    }
    ps_free(s->name);
    s->name = name;
    if (g.defined) {
        ps_shared_define(PS_REC_STREAM, stream, name, strlen(name));
    }
    return PS_RECORD_OK;
}

int ps_session_name_stream(void *stream, const char *name) {
    if (stream == NULL || name == NULL || name[0] == '\0') {
        return PS_RECORD_BAD_ARGUMENT;
    }
    size_t n = strlen(name);
    char *copy = ps_strndup(name, n < PS_RECORD_MAX_TEXT ? n : PS_RECORD_MAX_TEXT);
    if (copy == NULL) {
        return PS_RECORD_NO_MEMORY;
    }
    ps_signal_lock(&g.lock);
    int code = keep_stream((uint64_t)(uintptr_t)stream, copy);
    ps_signal_unlock(&g.lock);
    return code;
}

/* --- ours ------------------------------------------------------------------------------------------------------------ */

static void info(const char *name, const ps_buf *text) {
    if (ps_buf_ok(text)) {
        ps_shared_pair(PS_REC_INFO, name, ps_buf_str(text), text->len);
    }
}

static void define_session(const ps_session_recording *take, bool with_options) {
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    ps_buf b;
    ps_buf_init(&b, 1 << 20);
    ps_json j = ps_json_spaced_to(&b);
    ps_json_object(&j);
    ps_json_key_str(&j, "version", PS_VERSION);
    ps_json_key_int(&j, "rank", take->config.rank);
    ps_json_key_int(&j, "pid", getpid());
    ps_json_key_int(&j, "level", take->config.level);
    ps_json_key_str(&j, "rank_source", take->config.rank_source);
    ps_json_key_str(&j, "worker", take->config.worker);
    ps_json_key_str(&j, "host", host);
    ps_json_key_str(&j, "launch", take->config.launch);
    ps_json_key_bool(&j, "crash_safe", take->mapped);
    ps_json_key(&j, "config");
    if (with_options) {
        ps_json_value(&j);
        ps_rec_config_json(&b);
    } else {
        ps_json_object(&j);
        ps_json_close(&j);
    }
    ps_json_close(&j);
    if (with_options && b.len > PS_RECORD_MAX_PAIR - 64) {
        ps_rec_log("the options take too much room: profiler_info will not list them");
        define_session(take, false);
    } else {
        info("session", &b);
    }
    ps_buf_fini(&b);
}

static void define_clock(const ps_session_recording *take) {
    ps_buf b;
    ps_buf_init(&b, PS_RECORD_MAX_PAIR);
    ps_clock_describe(take->clock, &b);
    info("clock", &b);
    ps_buf_fini(&b);
}

/* A window is a schedule that begins once. */
static void define_schedule(const ps_session_recording *take) {
    if (!take->windowed) {
        return;
    }
    ps_buf b;
    ps_buf_init(&b, PS_RECORD_MAX_PAIR);
    ps_json j = ps_json_spaced_to(&b);
    ps_json_object(&j);
    ps_json_key_int(&j, "skip_first", take->config.window_first);
    ps_json_key_int(&j, "wait", 0);
    ps_json_key_int(&j, "warmup", 0);
    ps_json_key_int(&j, "active", take->config.window_end - take->config.window_first);
    ps_json_key_int(&j, "repeat", 1);
    ps_json_close(&j);
    info("schedule", &b);
    ps_buf_fini(&b);
}

static void define_world_size(const ps_session_recording *take) {
    char text[16];
    if (take->config.world_size > 0) {
        int n = snprintf(text, sizeof text, "%d", take->config.world_size);
        ps_shared_pair(PS_REC_INFO, "world_size", text, (size_t)n);
    }
}

static void define_backend(void) {
    const char *name = atomic_load(&ps_device)->name;
    ps_shared_pair(PS_REC_INFO, "backend", name, strlen(name));
}

static void define_anchor(const ps_anchor *a) {
    ps_shared_anchor(a->ticks, a->real_ns, a->mono_ns,
                     a->half_width_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)a->half_width_ns);
}

void ps_session_recording_define(const ps_session_recording *take) {
    define_anchor(&take->first);
    ps_anchor now = ps_clock_anchor(take->clock);
    define_anchor(&now);
    define_session(take, true);
    define_clock(take);
    define_backend();
    define_schedule(take);
    define_world_size(take);
    ps_environment_define(take->environment);
    ps_self_test_define();
    ps_signal_lock(&g.lock);
    for (const meta *m = g.first; m != NULL; m = m->next) {
        ps_shared_pair(PS_REC_META, m->key, m->json, strlen(m->json));
    }
    for (const stream_name *s = g.streams; s != NULL; s = s->next) {
        ps_shared_define(PS_REC_STREAM, s->stream, s->name, strlen(s->name));
    }
    ps_clock_offsets_define();
    g.defined = true;
    ps_signal_unlock(&g.lock);
    ps_session_tell_begun(take->generation);
}

/* --- the end --------------------------------------------------------------------------------------------------------- */

static void sum_drops(void *context, ps_ring *ring, uint32_t number) {
    (void)number;
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        ((uint64_t *)context)[i] +=
            atomic_load_explicit(&ring->header->drops[i], memory_order_relaxed);
    }
}

/* The rings, which know what they counted, are about to go. */
static void put_drops(ps_json *j) {
    static const char *const KEYS[PS_N_DROPS] = {
#define X(name, key, text, lost) key,
#include "record/ring/drops.def"
#undef X
    };
    uint64_t sums[PS_N_DROPS] = {0};
    ps_threads_each_ring(sum_drops, sums);
    ps_json_key(j, "drops");
    ps_json_object(j);
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        if (sums[i] > 0) {
            ps_json_name(j, KEYS[i], strlen(KEYS[i]));
            ps_json_uint(j, sums[i]);
        }
    }
    ps_json_close(j);
}

void ps_session_recording_define_stop(const ps_session_recording *take) {
    ps_facts_undefined();
    define_backend();
    ps_anchor now = ps_clock_anchor(take->clock);
    define_anchor(&now);
    ps_buf b;
    ps_buf_init(&b, PS_RECORD_MAX_PAIR);
    ps_json j = ps_json_spaced_to(&b);
    ps_json_object(&j);
    ps_json_key_int(&j, "unix_ns", now.real_ns);
    ps_json_key_int(&j, "monotonic_ns", now.mono_ns);
    put_drops(&j);
    ps_json_close(&j);
    info("stop", &b);
    ps_buf_fini(&b);
}

void ps_facts_undefined(void) {
    ps_signal_lock(&g.lock);
    g.defined = false;
    ps_signal_unlock(&g.lock);
}

bool ps_facts_are_defined(void) {
    return g.defined;
}

void ps_facts_hold(void) {
    ps_signal_lock(&g.lock);
}

void ps_facts_release(void) {
    ps_signal_unlock(&g.lock);
}

void ps_facts_forget(void) {
    g.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    g.defined = false;
}
