/* Options are texts until a recording starts. Each text ever seen is kept once, for as long as the process lives: a value
 * that one thread reads is not freed under it by another one that sets the option, and the environment may change too. */
#include "record/ring/config_texts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record/ring/signal_lock.h"

const ps_rec_option ps_rec_options[PS_N_OPTIONS] = {
#define X(name, environment, fallback, help) {#name, environment, fallback},
#include "record/ring/options.def"
#undef X
};

typedef struct kept {
    struct kept *next;
    char *text;
} kept;

static struct {
    pthread_mutex_t lock;
    const char *set[PS_N_OPTIONS];     /* by ps_record_set, NULL not set */
    const char *outside[PS_N_OPTIONS]; /* by the environment when it was looked at last */
    bool looked;
    kept *texts;
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Thread_local volatile int ps_signal_locks_held;

static _Atomic uint64_t version;
static atomic_int quiet = -1; /* -1: nobody has asked yet */

/* --- where a value comes from ---------------------------------------------------------------------------------------- */

int ps_rec_option_named(const char *name) {
    for (int i = 0; name != NULL && i < PS_N_OPTIONS; i++) {
        if (strcmp(ps_rec_options[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* The text itself, to keep; NULL when memory is out. Locked by the caller. */
static const char *keep_option_text(const char *text) {
    for (const kept *k = g.texts; k != NULL; k = k->next) {
        if (strcmp(k->text, text) == 0) {
            return k->text;
        }
    }
    kept *k = ps_alloc(sizeof *k);
    char *copy = ps_strdup(text);
    if (k == NULL || copy == NULL) {
        ps_free(k);
        ps_free(copy);
        return NULL;
    }
    *k = (kept){.next = g.texts, .text = copy};
    g.texts = k;
    return copy;
}

/* An empty variable counts as none. */
const char *ps_rec_environment(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Locked by the caller. */
static void look_at_environment(void) {
    for (int i = 0; i < PS_N_OPTIONS; i++) {
        const char *outside = ps_rec_environment(ps_rec_options[i].environment);
        const char *kept_text = outside != NULL ? keep_option_text(outside) : NULL;
        g.outside[i] =
            kept_text != NULL ? kept_text : outside; /* without memory: as long as nobody sets it */
    }
    g.looked = true;
}

void ps_rec_option_look(void) {
    ps_signal_lock(&g.lock);
    look_at_environment();
    ps_signal_unlock(&g.lock);
}

const char *ps_rec_option_text(int option) {
    ps_signal_lock(&g.lock);
    if (!g.looked) {
        look_at_environment();
    }
    const char *value = g.set[option] != NULL ? g.set[option] : g.outside[option];
    ps_signal_unlock(&g.lock);
    return value != NULL ? value : ps_rec_options[option].fallback;
}

const char *ps_rec_config_text(const char *option) {
    int i = ps_rec_option_named(option);
    return i < 0 ? "" : ps_rec_option_text(i);
}

bool ps_rec_parse_bool(const char *s, bool *out) {
    static const char *const WORDS[][2] = {
        {"0", "1"}, {"false", "true"}, {"no", "yes"}, {"off", "on"}, {"False", "True"}};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        for (int value = 0; value < 2; value++) {
            if (strcmp(s, WORDS[i][value]) == 0) {
                *out = value == 1;
                return true;
            }
        }
    }
    return false;
}

bool ps_rec_config_set(const char *option, const char *value) {
    int i = ps_rec_option_named(option);
    if (i < 0) {
        return false;
    }
    ps_signal_lock(&g.lock);
    g.set[i] = value != NULL ? keep_option_text(value) : NULL;
    ps_signal_unlock(&g.lock);
    atomic_fetch_add(&version, 1);
    if (i == PS_OPT_quiet) {
        atomic_store(&quiet, -1);
    }
    return true;
}

uint64_t ps_rec_config_version(void) {
    return atomic_load(&version);
}

bool ps_rec_config_quiet(void) {
    int known = atomic_load(&quiet);
    if (known < 0) {
        bool value = false;
        known = ps_rec_parse_bool(ps_rec_option_text(PS_OPT_quiet), &value) && value;
        atomic_store(&quiet, known);
    }
    return known == 1;
}

void ps_rec_config_hold(void) {
    ps_signal_lock(&g.lock);
}

void ps_rec_config_forget(void) {
    g.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void ps_rec_config_release(void) {
    ps_signal_unlock(&g.lock);
}
