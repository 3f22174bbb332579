/* Forwards and backwards of a rank whose program marked nothing, from the flows between forward and backward operators
 * that a framework's autograd leaves (kind "fwdbwd"). */
#ifndef PS_ANALYZE_INFER_FLOWS_H
#define PS_ANALYZE_INFER_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "base/err.h"
#include "model/trace.h"

/* One forward or backward, on the host. */
typedef struct ps_inferred {
    int64_t start_ns,
        end_ns;           /* from the trace's origin: first start to last end of its operators */
    uint32_t first, last; /* its operators that begin and end there */
    int32_t number;       /* of the pair it belongs to: forwards count on in the trace */
    uint8_t is_backward;
} ps_inferred;

typedef struct ps_inferred_list {
    ps_inferred *ops; /* in start order, longer first */
    size_t n, cap;
    size_t
        n_twice; /* nodes of autograd that ran again: backwards in two parts, which flows do not tell apart */
} ps_inferred_list;

/* Within one microbatch later forwards have earlier backwards. Where that order turns, seen along the forwards or along
 * the backwards, another microbatch (or model piece) begins. A forward inside of a backward is recomputation and left
 * out. An empty list when the trace has no such flows. PS_NOMEM only. */
PS_MUST_USE ps_code ps_infer_from_flows(const ps_trace *trace, ps_inferred_list *out, ps_err *err);
/* In a trace without a device: what the host does around the operators of an op belongs to it, too. It holds the operators around its
 * first and last one, and nodes of autograd behind a backward's last one. It begins behind the op, call and transfer of a communication
 * library before it, and ends where its result is handed over. *known: the trace says how long
 * transfers took (gloo:recv and the like); else ops stay as they are, and what the host did outside of operators is not told from waiting.
 * False when memory is out. */
bool ps_inferred_widen(const ps_links *links, ps_inferred_list *list, bool *known);
void ps_inferred_list_fini(ps_inferred_list *list);

/* Forwards of a rank in a step. */
typedef struct ps_inferred_count {
    int64_t step, rank;
    int32_t pipeline, stage;
    size_t n_forwards;
    size_t n_twice; /* ps_inferred_list, of the rank */
} ps_inferred_count;

/* Whether what was inferred of the ranks of a job can be true: every microbatch passes every stage, so that the stages of a pipeline have
 * as many forwards in a step, and no backward may run in two parts. Some flows may be lost, as marks may be. PS_NOTHING where it cannot, with place and remedy. Sorts
 * `counts`. */
PS_MUST_USE ps_code ps_inferred_check(ps_inferred_count *counts, size_t n, ps_err *err);

#endif
