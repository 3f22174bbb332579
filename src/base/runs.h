/* Numbers of many ranks or pipelines as few words: "0-62, 64", "0-60 by 4". */
#ifndef PS_BASE_RUNS_H
#define PS_BASE_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Puts n numbers in order and writes them; after `max_runs` of them (0: all) "..." stands for the rest. Three numbers or more with the
 * same step between them are a run, or two neighbours. One that is there twice counts once. */
void ps_buf_add_runs(ps_buf *out, int64_t *numbers, size_t n, size_t max_runs);

/* The one error for what was asked for by its number and is not there: "step 9: no such step; there are: 2, 3". Puts `there` in order. */
ps_code ps_fail_no_such(ps_err *err, ps_code code, const char *what, int64_t wanted, int64_t *there,
                        size_t n);

#endif
