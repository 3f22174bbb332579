/* Operators of modules with the share of the peak that their kernels reached: the table ModuleMFU of operator_mfu. The
 * forward pass and recomputations only, as in msprof-analyze; module_statistic shows the backward pass too. */
#ifndef PS_ANALYZE_MODULE_MFU_H
#define PS_ANALYZE_MODULE_MFU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/archive.h"
#include "base/err.h"
#include "base/strpool.h"
#include "model/table.h"

typedef struct ps_module_mfu_row {
    ps_str parent, module, op, kernels;
    ps_str mfu; /* "30.25%,9.1%" of those kernels that have one; may be empty */
    int64_t total_ns, count;
} ps_module_mfu_row;

/* All zero is empty. */
typedef struct ps_module_mfu {
    ps_module_mfu_row *rows;
    size_t n, cap;
    ps_strpool texts;
    bool any_mfu;
} ps_module_mfu;

/* Of the calls that began in opts->step_id. Without modules the result is empty. PS_NOMEM only; end with
 * ps_module_mfu_fini() in any case. */
PS_MUST_USE ps_code ps_module_mfu_collect(const ps_map_input *in, ps_module_mfu *out, ps_err *err);
void ps_module_mfu_fini(ps_module_mfu *m);

/* An empty table with the columns of ModuleMFU; avg_mfu only where a row has one. NULL when memory is out. */
ps_table *ps_module_mfu_table(const char *name, bool any_mfu);
void ps_module_mfu_put(ps_table *t, int64_t rank, const ps_module_mfu *m);

void ps_module_mfu_archive(ps_archive *a, void *mfu);

#endif
