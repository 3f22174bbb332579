/* What many analyses work out of the same trace, once for all of them: who launched what, overlaps, FLOPs, modules. Each
 * is made when it is first asked for and lives as long as the derived facts, which end before the trace. One thread at a
 * time. */
#ifndef PS_ANALYZE_DERIVED_H
#define PS_ANALYZE_DERIVED_H

#include <stdbool.h>

#include "analyze/core/analysis.h"
#include "analyze/mfu/mfu.h"
#include "analyze/modules/module_tree.h"
#include "analyze/rank/links.h"
#include "analyze/rank/overlap.h"
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

/* What one piece of code above keeps with the derived facts: it alone knows the type. NULL until it puts a value there;
 * `free_value` is called with it when the facts end. */
typedef struct ps_derived_slot {
    void *value;
    void (*free_value)(void *value);
} ps_derived_slot;

enum {
    PS_SLOT_COMM = 0, /* ps_comm_part_read(): a slot for each set of tables */
    PS_N_COMM_SLOTS = 16,
    PS_SLOT_FACTS = PS_SLOT_COMM + PS_N_COMM_SLOTS, /* ps_rank_facts_of() */
    PS_N_SLOTS
};

/* `slot` < PS_N_SLOTS. Borrowed. */
ps_derived_slot *ps_derived_slot_at(ps_derived *d, size_t slot);

/* Runs the map of a round; without `in->derived` the trace gets its own for that long. */
ps_code ps_round_map(const ps_round *round, const ps_map_input *in, void **partial, ps_err *err);

#endif
