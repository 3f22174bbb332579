/* What the ranks and analyses of a run did not give, and why, as sentences beside its tables. */
#ifndef PS_SERVE_RUN_NOTES_H
#define PS_SERVE_RUN_NOTES_H

#include <stddef.h>

#include "base/arena.h"
#include "run/run.h"

#define PS_RUN_NOTES 16

typedef struct ps_run_notes {
    ps_arena arena;
    const char *texts[PS_RUN_NOTES]; /* in `arena`; the last one says how many more there are */
    size_t n;
} ps_run_notes;

/* Of the analyses from `first` on, which are called `names`. False when memory is out; end with ps_run_notes_fini() in any
 * case. */
PS_MUST_USE bool ps_run_notes_take(ps_lang lang, const ps_run *run, size_t first,
                                   const char *const *names, ps_run_notes *out);
void ps_run_notes_fini(ps_run_notes *n);

#endif
