/* What many analyses work out of the same trace, once for all of them: who launched what, overlaps, FLOPs, modules. Each
 * is made when it is first asked for and lives as long as the derived facts, which end before the trace. One thread at a
 * time. */
#ifndef PS_ANALYZE_DERIVED_H
#define PS_ANALYZE_DERIVED_H

#include <stdbool.h>

#include "analyze/analysis.h"
#include "analyze/comm_part.h"
#include "analyze/links.h"
#include "analyze/mfu.h"
#include "analyze/module_tree.h"
#include "analyze/overlap.h"
#include "base/diag.h"
#include "base/err.h"

typedef struct ps_derived ps_derived;

/* Of a trace, with the options of the run; oddities are counted in `diag` when they are met, once. All must outlive the
 * result. NULL when memory is out. The caller frees it with ps_derived_free(). */
ps_derived *ps_derived_new(const ps_trace *trace, const ps_analysis_opts *opts, ps_diag *diag,
                           ps_err *err);
void ps_derived_free(ps_derived *d); /* NULL is fine */

/* The result is borrowed. NULL when memory is out. What they need of the trace is said where each is made. */
const ps_links *ps_derived_links(ps_derived *d, ps_err *err);
const ps_mfu *ps_derived_mfu(ps_derived *d, ps_err *err);
/* Of opts->step_id, without spans. */
const ps_overlaps *ps_derived_overlaps(ps_derived *d, ps_err *err);
/* As ps_module_tree_build(): PS_NOTHING with its sentence, or PS_NOMEM; then *out is NULL. */
PS_MUST_USE ps_code ps_derived_modules(ps_derived *d, bool marks_too, const ps_module_tree **out,
                                       ps_err *err);

/* Where the communication with these tables (ps_comm_table bits) is kept once it was read; ps_comm_part_read() uses it. */
ps_comm_part **ps_derived_comm(ps_derived *d, uint32_t tables);

#endif
