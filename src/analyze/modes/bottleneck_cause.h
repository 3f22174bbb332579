/* Why a rank came late to a collective: what it did while the others waited, beside what one of those had done. */
#ifndef PS_ANALYZE_BOTTLENECK_CAUSE_H
#define PS_ANALYZE_BOTTLENECK_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "base/archive.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/strpool.h"
#include "model/trace.h"

/* One kernel on the way to a collective. Times are epoch, PS_NO_TIME unknown. */
typedef struct ps_way_kernel {
    int64_t start_ns, end_ns;
    int64_t call_start_ns, call_end_ns; /* of the call that launched it */
    int64_t op_end_ns;                  /* of the operator of the framework behind it */
    ps_str name, shapes;                /* of the way's pool; shapes of the inputs, none unknown */
} ps_way_kernel;

/* The kernels of one rank before an operator, the nearest first; at most PS_WAY_KERNELS, none of an earlier step. */
typedef struct ps_way {
    ps_way_kernel *kernels;
    size_t n, cap;
    ps_strpool names;
} ps_way;

#define PS_WAY_KERNELS ((size_t)4096)

/* `slice`: the operator. PS_NOMEM only; end with ps_way_fini() in any case. */
PS_MUST_USE ps_code ps_way_collect(const ps_links *links, uint32_t slice, ps_way *out, ps_err *err);
void ps_way_fini(ps_way *way);

/* One collective and two of its ranks; times on the clocks of their own rank. */
typedef struct ps_lateness {
    const ps_way *slow, *fast; /* NULL: not known */
    int64_t slow_rank, fast_rank;
    int64_t slow_start_ns, fast_start_ns;
    int64_t shift_ns; /* clock of the fast one minus clock of the slow one */
} ps_lateness;

/* A sentence: "rank 2 began 338.400 us after rank 3: host-bound, ...". */
void ps_lateness_explain(ps_lang lang, const ps_lateness *l, ps_buf *out);

void ps_way_archive(ps_archive *a, void *way);

#endif
