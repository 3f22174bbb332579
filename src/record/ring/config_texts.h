/* The options of a recording as texts, from wherever they are set: ps_record_set() wins over the environment, which wins over
 * the defaults. What the texts say is config.h. */
#ifndef PS_RECORD_CONFIG_TEXTS_H
#define PS_RECORD_CONFIG_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
#define X(name, environment, fallback, help) PS_OPT_##name,
#include "record/ring/options.def"
#undef X
    PS_N_OPTIONS
};

typedef struct ps_rec_option {
    const char *name, *environment, *fallback;
} ps_rec_option;

extern const ps_rec_option ps_rec_options[PS_N_OPTIONS] __attribute__((visibility("hidden")));

/* PS_OPT_..., -1 for an unknown name. */
int ps_rec_option_named(const char *name);

/* Looks at the environment anew: where a recording begins, or steps do. Not at each of them: the program may be changing it. */
void ps_rec_option_look(void);

/* The same as ps_rec_config_text(), by number. */
const char *ps_rec_option_text(int option);

/* "0", "true", "off" ...: false for anything else. */
bool ps_rec_parse_bool(const char *s, bool *out);

/* A variable of the environment; an empty one counts as none (NULL). */
const char *ps_rec_environment(const char *name);

/* One option as text, from wherever it is set; never NULL. Valid as long as the process. */
const char *ps_rec_config_text(const char *option);

/* Copies `value` (NULL: back to the default). False for an unknown name. Thread-safe. */
bool ps_rec_config_set(const char *option, const char *value);

/* Another number after each ps_rec_config_set. */
uint64_t ps_rec_config_version(void);

/* The option "quiet", without a lock. */
bool ps_rec_config_quiet(void);

/* Around a fork: nobody else is in the middle of setting an option. */
void ps_rec_config_hold(void);
void ps_rec_config_release(void);
void ps_rec_config_forget(void); /* in a child that no fork handler has seen */

#endif
