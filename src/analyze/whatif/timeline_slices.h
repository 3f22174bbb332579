#ifndef PS_ANALYZE_WHATIF_TIMELINE_SLICES_H
#define PS_ANALYZE_WHATIF_TIMELINE_SLICES_H

#include <stdbool.h>

#include "base/arena.h"
#include "model/trace.h"
#include "model/worker_ops.h"

/* What a reader of timelines lends (ps_trace_worker_ops), made of the slices of a converted one; in `arena`. False when memory is out. */
bool ps_timeline_ops_of_slices(const ps_trace *trace, ps_arena *arena, ps_worker_ops *out);

#endif
