/* States. There is at most one recording that runs (`current`); those that were stopped and not exported yet wait in a list, in
 * the order of their stops:
 *
 *     begin     a new take becomes `current`, *ps_recording its generation
 *     place     (first event) folder, spool, writer
 *     stop      *ps_recording = 0, threads, device, last facts, writer, rings; the take goes to `waiting`
 *     export    the one asked for goes from `waiting` to `exporting`; back again when it failed
 *
 * A program that starts again without exporting loses nothing: what waits is exported when the process ends. */
#include "record/session/session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "record/core/device.h"
#include "record/core/domains.h"
#include "record/core/events.h"
#include "record/core/threads.h"
#include "record/core/threads_shared.h"
#include "record/gpu/device_choose.h"
#include "record/ring/config_texts.h"
#include "record/ring/log.h"
#include "record/ring/memory.h"
#include "record/ring/signal_lock.h"
#include "record/session/session_parts.h"
#include "record/session/writer.h"

/* How long a stop waits for threads in the middle of an event (they take a microsecond, unless they are not running), and for
 * the device. */
enum { THREAD_PATIENCE_MS = 1000, DEVICE_PATIENCE_MS = 30000, MAX_WAITING = 64 };

static struct {
    pthread_mutex_t control, place;
    uint32_t generation;
    ps_session_recording *_Atomic current; /* changes under both locks */
    bool warm;                             /* `current` is made ready, not started */
    atomic_bool stopping;                  /* `current` is being stopped, by one thread */
    uint64_t n_stops;
    ps_session_recording *waiting;    /* stopped, not exported; the first one first */
    ps_session_recording *exporting;  /* each by one thread, which owns it */
    atomic_uint n_waiting;            /* in both lists */
    atomic_uint n_own;                /* exported ones that the program began itself */
    atomic_uint n_given_up;           /* of them: could not be exported as the process ended */
    ps_session_recording *of_parents; /* what a child of a fork had no use for */
    /* Of the last one, when it is not there any more. */
    char last_folder[4096 + 512];
    ps_record_stats last_stats;
} g = {.control = PTHREAD_MUTEX_INITIALIZER, .place = PTHREAD_MUTEX_INITIALIZER};

/* Events of signal handlers that found a lock held by their own thread, until the writer counts them. */
static _Atomic uint64_t n_nested;

static void lock_place(void) {
    ps_signal_lock(&g.place);
}

static void unlock_place(void) {
    ps_signal_unlock(&g.place);
}

void ps_session_count_nested(void) {
    uint64_t n = atomic_exchange_explicit(&n_nested, 0, memory_order_relaxed);
    if (n > 0) {
        ps_shared_drop(PS_DROP_NESTED, n);
    }
}

static atomic_uint exit_timeout_s = 60;

/* Where the rings of the recording with this generation are made, once it has its folder; generation 0: there is none. Read by signal
 * handlers, without a lock. Another recording may be coming in while they read: whoever reads finds out when it
 * looks at *ps_recording again under the lock of threads.c. */
static struct {
    _Atomic uint32_t generation;
    const char *_Atomic dir;
    _Atomic uint64_t n_slots, session, file_bytes;
    atomic_int clock;
} rings;

/* Under `place`. */
static void publish_rings(const ps_session_recording *take) {
    atomic_store(&rings.dir, take->mapped ? take->raw : NULL);
    atomic_store(&rings.n_slots, take->ring_slots);
    atomic_store(&rings.session, take->session);
    atomic_store(&rings.file_bytes, take->config.max_disk / 2);
    atomic_store(&rings.clock, take->clock);
    atomic_store(&rings.generation, take->generation);
}

static bool read_rings(uint32_t generation, ps_ring_place *out) {
    if (atomic_load(&rings.generation) != generation) {
        return false;
    }
    *out = (ps_ring_place){.dir = atomic_load(&rings.dir),
                           .n_slots = atomic_load(&rings.n_slots),
                           .session = atomic_load(&rings.session),
                           .file_bytes = atomic_load(&rings.file_bytes),
                           .clock = atomic_load(&rings.clock)};
    return atomic_load(&rings.generation) == generation;
}

static void set_current(ps_session_recording *take) {
    lock_place();
    atomic_store(&g.current, take);
    unlock_place();
}

/* --- beginning ------------------------------------------------------------------------------------------------------- */

static uint64_t random_number(void) {
    uint64_t n = 0;
    if (!ps_random_bytes(&n, sizeof n)) {
        n = ps_mono_ns() * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 32;
    }
    return n != 0 ? n : 1;
}

static uint64_t fewer_slots(uint64_t slots, unsigned n_rings, uint64_t bytes, const char *option) {
    uint64_t wanted = slots;
    while (slots > 1024 && slots * sizeof(ps_slot) * n_rings > bytes) {
        slots /= 2;
    }
    if (slots < wanted) {
        ps_rec_log("rings of %llu slots: more do not fit into what the option %s allows",
                   (unsigned long long)slots, option);
    }
    return slots;
}

/* Rings of all threads fit into half of the memory that may be used; the other half is for events in memory. And those of a few
 * threads into half of the disk: further ones are memory. */
static uint64_t ring_slots(const ps_rec_config *config) {
    enum { FEW = 16 };
    uint64_t slots =
        fewer_slots(config->ring_slots, PS_MAX_RINGS, config->max_bytes / 2, "max_bytes");
    return config->max_disk == 0 ? slots
                                 : fewer_slots(slots, FEW, config->max_disk / 2, "max_disk");
}

/* A take, ready to record; NULL when memory is out. Under `control`. */
static ps_session_recording *new_take(ps_start_by by) {
    ps_session_recording *take = ps_calloc(1, sizeof *take);
    if (take == NULL) {
        return NULL;
    }
    ps_rec_log_begin();
    take->options = ps_rec_config_version();
    ps_rec_config_read(&take->config);
    ps_memory_limit(take->config.max_bytes);
    atomic_store(&exit_timeout_s, take->config.exit_timeout_s);
    do {
        g.generation++;
    } while (g.generation == 0);
    take->generation = g.generation;
    take->session = random_number();
    take->ring_slots = ring_slots(&take->config);
    take->clock = ps_clock_choose(take->config.clock);
    take->first = ps_clock_anchor(take->clock);
    take->start_ns = take->first.real_ns;
    take->automatic = by == PS_BY_OPTION;
    take->windowed = by == PS_BY_WINDOW;
    take->environment = ps_environment_read();
    const char *places = getenv(PS_RECORD_PLACES_VARIABLE);
    if (places != NULL && strlen(places) < sizeof take->places) {
        (void)snprintf(take->places, sizeof take->places, "%s", places);
    }
    take->spool.fd = -1;
    if (take->config.domain_include[0] != '\0' && take->config.domain_exclude[0] != '\0') {
        ps_rec_log("domain_include and domain_exclude are both given: domain_include counts");
    }
    ps_domain_filter(take->config.domain_include, take->config.domain_exclude);
    bool cupti = take->config.backend == PS_BACKEND_CUPTI && take->config.level >= PS_LEVEL_0;
    ps_domain_ask(cupti ? take->config.correlate : NULL);
    atomic_store(&ps_mstx_strict, take->config.mstx_strict);
    ps_device_choose(&take->config);
    return take;
}

static void free_take(ps_session_recording *take) {
    if (take != NULL) {
        ps_spool_close(&take->spool);
        ps_free(take->environment);
        ps_free(take);
    }
}

/* What runs ends for what the program starts: a recording begun by the option `record`, or one made ready with other options. */
static bool gives_way(const ps_session_recording *take, ps_start_by by) {
    return take != NULL && !g.stopping &&
           (g.warm ? take->options != ps_rec_config_version()
                   : take->automatic && by != PS_BY_OPTION);
}

static void end_for_another(ps_session_recording *take) {
    lock_place();
    bool any = take->placed && take->automatic;
    take->set_aside = any;
    unlock_place();
    if (any && take->places[0] == '\0') {
        ps_rec_log("the program starts a recording itself: the one begun when it was loaded ends "
                   "here (with --record 0 none is begun)");
    }
}

int ps_session_begin(ps_start_by by) {
    (void)pthread_mutex_lock(&g.control);
    ps_session_recording *take = atomic_load(&g.current);
    if (gives_way(take, by)) {
        end_for_another(take);
        (void)pthread_mutex_unlock(&g.control);
        (void)ps_session_stop();
        (void)pthread_mutex_lock(&g.control);
        take = atomic_load(&g.current);
    }
    int code = PS_RECORD_OK;
    if (g.stopping || (take != NULL && !g.warm)) {
        code = PS_RECORD_WRONG_TIME;
    } else if (take == NULL && g.n_waiting >= MAX_WAITING) {
        ps_rec_log("%d recordings wait for ps_record_export(): no more is begun", MAX_WAITING);
        code = PS_RECORD_WRONG_TIME;
    } else {
        bool fresh = take == NULL;
        take = fresh ? new_take(by) : take;
        if (take == NULL) {
            ps_rec_log("nothing is recorded: out of memory");
            code = PS_RECORD_NO_MEMORY;
        } else {
            take->windowed = by == PS_BY_WINDOW;
            if (fresh) {
                set_current(take);
            }
            g.warm = false;
            atomic_store(ps_recording, take->generation);
        }
    }
    (void)pthread_mutex_unlock(&g.control);
    return code;
}

int ps_session_start(void) {
    ps_rec_option_look();
    switch (ps_window_ask()) {
    case PS_WINDOW_WAITING:
        ps_rec_log_once("window", "recording begins with the first step of the option window");
        return PS_RECORD_OK;
    case PS_WINDOW_OVER:
        ps_rec_log_once("window_over",
                        "the window of steps is over: nothing more is recorded (option window)");
        return PS_RECORD_WRONG_TIME;
    default:
        return ps_session_begin(PS_BY_PROGRAM);
    }
}

int ps_session_warmup(void) {
    (void)pthread_mutex_lock(&g.control);
    int code = PS_RECORD_OK;
    if (g.stopping || atomic_load(&g.current) != NULL) {
        code = g.warm ? PS_RECORD_OK : PS_RECORD_WRONG_TIME;
    } else if (g.n_waiting >= MAX_WAITING) {
        code = PS_RECORD_WRONG_TIME;
    } else {
        ps_session_recording *take = new_take(PS_BY_PROGRAM);
        code = take == NULL ? PS_RECORD_NO_MEMORY : PS_RECORD_OK;
        if (take != NULL) {
            lock_place();
            bool placed = ps_session_recording_place(take);
            if (placed) {
                ps_ring_place where;
                publish_rings(take);
                (void)read_rings(take->generation, &where);
                ps_threads_prepare(take->generation, &where);
                atomic_store(&g.current, take);
                g.warm = true;
            }
            unlock_place();
            if (!placed) {
                free_take(take);
                code = PS_RECORD_NO_MEMORY;
            }
        }
    }
    (void)pthread_mutex_unlock(&g.control);
    return code;
}

/* On the program's thread that records the first event, and again for every new ring. */
bool ps_session_ring_place(uint32_t generation, ps_ring_place *out) {
    if (read_rings(generation, out)) {
        return true;
    }
    if (ps_signal_locks_held != 0) {
        (void)atomic_fetch_add_explicit(&n_nested, 1, memory_order_relaxed);
        return false;
    }
    lock_place();
    ps_session_recording *take = atomic_load(&g.current);
    bool ok = take != NULL && take->generation == generation &&
              atomic_load(ps_recording) == generation &&
              (take->placed || ps_session_recording_place(take));
    if (ok) {
        publish_rings(take);
        ok = read_rings(generation, out);
    }
    unlock_place();
    return ok;
}

/* --- figures --------------------------------------------------------------------------------------------------------- */

typedef struct ring_sums {
    ps_record_stats *stats;
    bool *undrained; /* [PS_MAX_RINGS], may be NULL */
    bool all_in_files;
} ring_sums;

static uint64_t look_session(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_ring(void *context, ps_ring *ring, uint32_t number) {
    static const bool LOST[] = {
#define X(name, key, text, lost) lost,
#include "record/ring/drops.def"
#undef X
    };
    ring_sums *sums = context;
    ps_record_stats *s = sums->stats;
    const ps_ring_header *h = ring->header;
    s->n_ranges += look_session(&h->n_ranges);
    s->n_marks += look_session(&h->n_marks);
    s->n_ops += look_session(&h->n_ops);
    s->n_device += look_session(&h->n_device);
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        s->n_dropped += LOST[i] ? look_session(&h->drops[i]) : 0;
    }
    sums->all_in_files = sums->all_in_files && ring->in_file;
    if (sums->undrained != NULL && number < PS_MAX_RINGS) {
        sums->undrained[number] =
            look_session(&h->head) != look_session(&h->tail) || look_session(&h->held_slots) > 0;
    }
}

/* Of a recording whose rings are there. Under `place`. */
static void sum_up(const ps_session_recording *take, ps_record_stats *out, bool *undrained) {
    *out = (ps_record_stats){.size = sizeof *out};
    ring_sums sums = {.stats = out, .undrained = undrained, .all_in_files = true};
    if (take->placed) {
        ps_threads_each_ring(add_ring, &sums);
        out->n_threads = ps_threads_count();
        out->spool_bytes = atomic_load(&take->spool.bytes);
    }
    out->crash_safe = take->mapped && sums.all_in_files;
    (void)snprintf(out->backend, sizeof out->backend, "%s", atomic_load(&ps_device)->name);
}

/* --- stopping -------------------------------------------------------------------------------------------------------- */

/* Everything into the spool and the rings away. `current` is still this take, so that threads find its rings. */
static void finish_take(ps_session_recording *take) {
    const ps_rec_device *device = atomic_load(&ps_device);
    (void)ps_threads_quiesce(THREAD_PATIENCE_MS);
    if (device->drain != NULL) {
        device->drain(DEVICE_PATIENCE_MS);
    }
    lock_place(); /* no thread is attached behind our back */
    bool undrained[PS_MAX_RINGS] = {false};
    if (take->placed) {
        ps_spool_lift(&take->spool); /* the device has said all it had to say */
        ps_session_count_nested();
        ps_session_recording_define_stop(take);
        ps_writer_stop();
    }
    sum_up(take, &take->stats, undrained);
    ps_threads_release();
    if (take->placed) {
        ps_session_recording_remove_rings(take, undrained);
    }
    ps_facts_undefined();
    atomic_store(&rings.generation, 0);
    atomic_store(&g.current, NULL);
    unlock_place();
    if (device->close != NULL) {
        device->close();
    }
    atomic_store(&ps_device, &ps_device_host);
    for (unsigned i = 0; i < PS_MAX_RINGS; i++) {
        take->left_in_rings = take->left_in_rings || undrained[i];
    }
    if (take->left_in_rings) {
        ps_rec_log(take->mapped
                       ? "the raw file is not complete: the files of the rings are kept with it"
                       : "events that found no room any more are lost");
    }
    if (take->spool.fd >= 0 && take->spool.held > 0) {
        ps_rec_log(
            "%zu bytes of events found no room in it: they are in memory until they are exported "
            "(to another disk, or when there is room), and lost when the process ends before",
            take->spool.held);
    }
}

/* To its place among those that wait. Under `control`. */
static void let_wait(ps_session_recording *take) {
    ps_session_recording **at = &g.waiting;
    while (*at != NULL && (*at)->stop < take->stop) {
        at = &(*at)->next;
    }
    take->next = *at;
    *at = take;
}

/* One that recorded something waits for its export. Returns whether it does. What was only made ready was no recording: the
 * last one is still the one before. Under `control`. */
static bool keep_stopped(ps_session_recording *take, bool was_warm) {
    bool keep = take->placed && !was_warm;
    g.stopping = false;
    if (was_warm) {
        return false;
    }
    take->stop = ++g.n_stops;
    g.last_stats = take->stats;
    memcpy(g.last_folder, take->folder, sizeof g.last_folder);
    if (keep) {
        let_wait(take);
        g.n_waiting++;
    }
    return keep;
}

/* *was_warm: what ended had only been made ready. */
static int stop_session(bool *was_warm) {
    *was_warm = false;
    (void)pthread_mutex_lock(&g.control);
    ps_session_recording *take = atomic_load(&g.current);
    if (take == NULL || g.stopping) {
        (void)pthread_mutex_unlock(&g.control);
        return PS_RECORD_WRONG_TIME;
    }
    if (!g.warm) {
        ps_steps_close();
    }
    *was_warm = g.warm;
    g.warm = false;
    g.stopping = true;
    atomic_store(ps_recording, 0);
    (void)pthread_mutex_unlock(&g.control);

    finish_take(take);

    (void)pthread_mutex_lock(&g.control);
    bool keep = keep_stopped(take, *was_warm);
    (void)pthread_mutex_unlock(&g.control);
    if (!keep) {
        if (take->folder[0] != '\0') {
            ps_session_recording_remove_folder(take->folder);
        }
        ps_rec_log_file(NULL);
        free_take(take);
    }
    return PS_RECORD_OK;
}

int ps_session_stop(void) {
    bool was_warm;
    return stop_session(&was_warm);
}

/* --- what was recorded ----------------------------------------------------------------------------------------------- */

/* Out of `waiting` into `exporting`; NULL stays NULL. Under `control`. */
static ps_session_recording *hand_session_out(ps_session_recording **at) {
    ps_session_recording *take = *at;
    if (take != NULL) {
        *at = take->next;
        take->next = g.exporting;
        g.exporting = take;
    }
    return take;
}

/* The recording with this number, for the caller to export; 0: the one stopped last. NULL when it was without events, exported
 * already, or there is none: older ones than the last are left to those who know their numbers, and to the end of the process. */
static ps_session_recording *take_stopped(uint64_t number) {
    (void)pthread_mutex_lock(&g.control);
    uint64_t stop = number != 0 ? number : g.n_stops;
    ps_session_recording **at = &g.waiting;
    while (*at != NULL && (*at)->stop != stop) {
        at = &(*at)->next;
    }
    ps_session_recording *take = hand_session_out(at);
    (void)pthread_mutex_unlock(&g.control);
    return take;
}

/* The first, but none that was tried before as the process ended (there may be several exit handlers). Those set aside come last:
 * what is to become of them depends on the others. */
static ps_session_recording *take_untried(void) {
    ps_session_recording **aside = NULL;
    (void)pthread_mutex_lock(&g.control);
    ps_session_recording **at = &g.waiting;
    for (; *at != NULL && ((*at)->given_up || (*at)->set_aside); at = &(*at)->next) {
        aside = aside == NULL && !(*at)->given_up ? at : aside;
    }
    ps_session_recording *take = hand_session_out(*at == NULL && aside != NULL ? aside : at);
    (void)pthread_mutex_unlock(&g.control);
    return take;
}

/* Back when it is still to be exported, else away. */
static void put_back(ps_session_recording *take, bool done) {
    (void)pthread_mutex_lock(&g.control);
    ps_session_recording **at = &g.exporting;
    while (*at != take) {
        at = &(*at)->next;
    }
    *at = take->next;
    if (done) {
        g.n_given_up -= take->given_up;
        g.n_waiting--;
        if (take->stop == g.n_stops) {
            memcpy(g.last_folder, take->folder, sizeof g.last_folder);
        }
    } else {
        let_wait(take);
    }
    (void)pthread_mutex_unlock(&g.control);
    if (done) {
        free_take(take);
    }
}

static int export_and_free_take(ps_session_recording *take, const char *dir, bool say) {
    int code = ps_session_recording_export(take, dir, say);
    bool done = code == PS_RECORD_OK || code == PS_RECORD_NOTHING;
    g.n_own += code == PS_RECORD_OK && !take->automatic;
    if (code == PS_RECORD_NOTHING && take->folder[0] != '\0') {
        ps_session_recording_remove_folder(take->folder);
        take->folder[0] = '\0';
    }
    put_back(take, done);
    return code;
}

int ps_session_export_last(void) {
    ps_session_recording *take = take_stopped(0);
    return take != NULL ? export_and_free_take(take, NULL, true) : PS_RECORD_NOTHING;
}

int ps_session_export(uint64_t number, const char *dir) {
    ps_session_recording *take = take_stopped(number);
    if (take != NULL) {
        return export_and_free_take(take, dir, false);
    }
    (void)pthread_mutex_lock(&g.control);
    uint64_t stop = number != 0 ? number : g.n_stops;
    bool busy = number == 0 && (atomic_load(&g.current) != NULL || g.stopping);
    bool known = stop <= g.n_stops;
    for (const ps_session_recording *t = g.exporting; t != NULL; t = t->next) {
        busy = busy || t->stop == stop;
    }
    (void)pthread_mutex_unlock(&g.control);
    return !known ? PS_RECORD_BAD_ARGUMENT : busy ? PS_RECORD_WRONG_TIME : PS_RECORD_NOTHING;
}

uint64_t ps_session_last(void) {
    (void)pthread_mutex_lock(&g.control);
    uint64_t last = g.n_stops;
    (void)pthread_mutex_unlock(&g.control);
    return last;
}

/* Nobody wants it. */
static void drop_take(ps_session_recording *take) {
    ps_rec_log_file(NULL);
    if (take->folder[0] != '\0') {
        ps_session_recording_remove_folder(take->folder);
        take->folder[0] = '\0';
    }
    ps_session_recording_announce_lost(take, NULL);
    put_back(take, true);
}

/* The current recording or what was made ready, else the last one; never one before those. */
int ps_session_discard(void) {
    bool was_warm;
    int stopped = stop_session(&was_warm);
    if (was_warm) {
        return PS_RECORD_OK;
    }
    if (stopped != PS_RECORD_OK && atomic_load(&g.stopping)) {
        return PS_RECORD_WRONG_TIME; /* of another thread, and the last one only when that is done */
    }
    ps_session_recording *take = take_stopped(0);
    if (take == NULL) {
        return stopped == PS_RECORD_OK ? PS_RECORD_OK : PS_RECORD_NOTHING;
    }
    drop_take(take);
    return PS_RECORD_OK;
}

int ps_session_stats(ps_record_stats *out) {
    ps_record_stats stats = {0};
    (void)pthread_mutex_lock(&g.control);
    lock_place();
    ps_session_recording *take = atomic_load(&g.current);
    if (take != NULL) {
        sum_up(take, &stats, NULL);
        stats.recording = !g.warm && !g.stopping;
    } else {
        stats = g.last_stats;
    }
    unlock_place();
    (void)pthread_mutex_unlock(&g.control);
    if (stats.backend[0] == '\0') {
        (void)snprintf(stats.backend, sizeof stats.backend, "host");
    }
    uint32_t size = out->size < sizeof stats ? out->size : (uint32_t)sizeof stats;
    stats.size = size;
    memcpy(out, &stats, size);
    return PS_RECORD_OK;
}

int ps_session_directory(char *out, uint32_t size) {
    (void)pthread_mutex_lock(&g.control);
    lock_place();
    const ps_session_recording *take = atomic_load(&g.current);
    const char *folder = take != NULL ? take->folder : g.last_folder;
    size_t n = strlen(folder);
    if (out != NULL && size > 0) {
        size_t cut = n < size ? n : size - 1;
        memcpy(out, folder, cut);
        out[cut] = '\0';
    }
    unlock_place();
    (void)pthread_mutex_unlock(&g.control);
    return (int)n;
}

/* --- the end of the process ------------------------------------------------------------------------------------------ */

bool ps_session_is_recording(void) {
    return atomic_load(&g.current) != NULL && !g.warm && !g.stopping;
}

void ps_session_announce_fork(void) {
    const ps_session_recording *take = atomic_load(&g.current);
    char link[sizeof take->places + sizeof PS_RECORD_PLACES_FORKED + 1];
    if (take != NULL && take->places[0] != '\0') {
        (void)snprintf(link, sizeof link, "%s/" PS_RECORD_PLACES_FORKED, take->places);
        (void)symlink(".", link); /* once for all children */
    }
}

/* Without a lock: the process may end in a signal handler that interrupted a control call. */
bool ps_session_has_work(void) {
    return atomic_load(&g.current) != NULL || atomic_load(&g.stopping) ||
           atomic_load(&g.n_waiting) > atomic_load(&g.n_given_up);
}

unsigned ps_session_exit_timeout_s(void) {
    return atomic_load(&exit_timeout_s);
}

/* Another thread is stopping or exporting: it needs a while. */
static bool others_at_work(void) {
    (void)pthread_mutex_lock(&g.control);
    bool others = g.stopping || g.exporting != NULL;
    (void)pthread_mutex_unlock(&g.control);
    return others;
}

/* `pipescope record` has every process record from its start. One that has recordings of its own wants those, not what came
 * before the first of them. True: it is gone. */
static bool discard_set_aside(ps_session_recording *take) {
    if (!take->set_aside || take->places[0] == '\0' || take->config.keep_raw ||
        atomic_load(&g.n_own) == 0) {
        return false;
    }
    uint64_t n = take->stats.n_ranges + take->stats.n_marks;
    ps_rec_log(
        "process %ld made recordings of its own: what was recorded before them (%llu event%s) "
        "is left out; --keep_raw keeps it",
        (long)getpid(), (unsigned long long)n, n == 1 ? "" : "s");
    drop_take(take);
    return true;
}

void ps_session_finish(void) {
    (void)ps_session_stop();
    while (others_at_work()) {
        (void)usleep(2000);
    }
    for (ps_session_recording *take = take_untried(); take != NULL; take = take_untried()) {
        take->given_up = true;
        atomic_fetch_add(&g.n_given_up, 1);
        if (!discard_set_aside(take)) {
            (void)export_and_free_take(take, NULL, true);
        }
    }
}

bool ps_session_unexported(unsigned number, char *out, size_t size) {
    bool found = false;
    if (pthread_mutex_trylock(&g.control) != 0) {
        return false; /* perhaps held below a signal handler that ends the process */
    }
    const ps_session_recording *const lists[] = {g.exporting, g.waiting};
    for (unsigned i = 0; i < 2; i++) {
        for (const ps_session_recording *t = lists[i]; t != NULL && !found; t = t->next) {
            if (t->folder[0] != '\0' && number-- == 0) {
                (void)snprintf(out, size, "%s", t->folder);
                found = true;
            }
        }
    }
    (void)pthread_mutex_unlock(&g.control);
    return found;
}

/* The parent's: in its files nothing is touched, and its memory is not given back: a child that was cloned without a fork
 * handler may have been so while another thread held the lock of malloc. */
static void leave_to_parent(ps_session_recording *takes) {
    while (takes != NULL) {
        ps_session_recording *next = takes->next;
        takes->next = g.of_parents;
        g.of_parents = takes;
        ps_spool_forget(&takes->spool);
        takes = next;
    }
}

void ps_session_forget(void) {
    (void)pthread_mutex_init(&g.control, NULL);
    (void)pthread_mutex_init(&g.place, NULL);
    ps_signal_locks_held = 0;
    leave_to_parent(atomic_load(&g.current));
    leave_to_parent(g.waiting);
    leave_to_parent(g.exporting);
    atomic_store(&rings.generation, 0);
    atomic_store(&g.current, NULL);
    g.waiting = NULL;
    g.exporting = NULL;
    g.n_waiting = 0;
    g.n_given_up = 0;
    g.n_own = 0;
    g.warm = false;
    g.stopping = false;
    g.last_folder[0] = '\0';
    g.last_stats = (ps_record_stats){0};
}

/* --- who else wants to know ------------------------------------------------------------------------------------------ */

static void (*_Atomic on_begin)(uint32_t generation);

void ps_session_on_begin(void (*begun)(uint32_t generation)) {
    atomic_store(&on_begin, begun);
}

void ps_session_tell_begun(uint32_t generation) {
    void (*begun)(uint32_t) = atomic_load(&on_begin);
    if (begun != NULL) {
        begun(generation);
    }
}
