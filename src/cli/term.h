/* What the terminal can do, and the progress line on it. */
#ifndef PS_CLI_TERM_H
#define PS_CLI_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "write/out/text_style.h"

/* Facts about the two output streams. */
typedef struct ps_term {
    bool out_is_terminal;
    bool err_is_live; /* stderr is a terminal that can redraw a line (TERM is not dumb) */
    bool
        err_is_passed_on; /* somebody else passes both streams on: progress is told in lines, now and then */
    uint32_t width;     /* of stdout in columns; COLUMNS, or 100 when it is not a terminal */
    ps_colours colours; /* on stdout */
    bool utf8;          /* the locale of the environment says so */
} ps_term;

/* Asks the environment: NO_COLOR, CLICOLOR_FORCE, TERM, COLORTERM, COLUMNS, LC_ALL, LC_CTYPE, LANG. */
ps_term ps_term_facts(void);

/* Of a process whose streams another one passes on, a terminal or none: as into a file. */
ps_term ps_term_facts_passed_on(void);

/* The same decisions from given facts, for tests. `env` returns a variable or NULL; `columns` is the width that
 * the terminal reports, 0 for unknown. */
typedef const char *ps_env_fn(void *context, const char *name);
ps_term ps_term_decide(bool out_is_terminal, bool err_is_terminal, uint32_t columns, ps_env_fn *env,
                       void *context);

/* One line on stderr that says how far the work is: shown only when stderr is a terminal, not with --quiet, and
 * only after half a second; where stderr is passed on, a line of its own every ten seconds. Steps may be told by many threads at once. */
typedef struct ps_progress ps_progress;

/* `what` ("reading ranks") must outlive the progress. NULL when memory is out or nothing will be shown; all
 * functions take NULL. `total` is the number of steps. */
ps_progress *ps_progress_begin(const ps_term *term, bool quiet, const char *what, uint64_t total);
void ps_progress_step(ps_progress *p, uint64_t steps);
/* So many of `total`, which may be another one than before: of a next part of the work. */
void ps_progress_set(ps_progress *p, uint64_t done, uint64_t total);
/* Clears the line and frees. */
void ps_progress_end(ps_progress *p);

#endif
