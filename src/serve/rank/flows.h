/* The flows of one rank, found by slice, and by kind and time. Ends are slices, never times: what stands beside an end cannot
 * be taken for it.
 *
 * 16 bytes a flow. A window costs what it returns, and a look at one number for each 64 flows of the kind in it. */
#ifndef PS_SERVE_FLOWS_H
#define PS_SERVE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "base/err.h"
#include "model/trace.h"

/* The name of flows that have none: from a mark on the host to its side on the device. */
#define PS_FLOW_MARKS "MsTx"

typedef struct ps_flow_kind {
    const char *name; /* as the format has it; of the trace, or PS_FLOW_MARKS */
    ps_str text;
    uint32_t first, n; /* in order */
} ps_flow_kind;

typedef struct ps_flow_index {
    const ps_trace *trace;
    const ps_flow *flows; /* of the trace: by from, then to */
    uint32_t n;
    uint32_t *by_to; /* [n] rows by to, then row */
    ps_flow_kind *kinds;
    size_t n_kinds;  /* by name */
    uint32_t *order; /* [n] rows by kind, then the earlier of the starts of both ends, then row */
    int64_t *earlier_ns; /* [n] of order: that start */
    int64_t *latest_ns;  /* [n / 64, up] the latest of the later starts of each 64 of order */
} ps_flow_index;

/* PS_NOMEM only; then nothing needs to be freed. The trace must outlive it. */
PS_MUST_USE ps_code ps_flow_index_init(ps_flow_index *x, const ps_trace *trace, ps_err *err);
void ps_flow_index_fini(ps_flow_index *x);
size_t ps_flow_index_bytes(const ps_flow_index *x);

/* NULL: no flows of that name. */
const ps_flow_kind *ps_flow_kind_find(const ps_flow_index *x, const char *name);
const char *ps_flow_kind_name(const ps_trace *trace, ps_str kind);

/* Rows of the flows that start from a slice: [*first, *end). */
void ps_flows_from(const ps_flow_index *x, uint32_t slice, uint32_t *first, uint32_t *end);
/* Places in by_to of those that end at it. */
void ps_flows_to(const ps_flow_index *x, uint32_t slice, uint32_t *first, uint32_t *end);

typedef struct ps_flow_list {
    uint32_t *rows;
    size_t n, cap;
    uint64_t total; /* of a window: all there are, given or not */
    bool is_cut;    /* of a chain: there are more than were wanted */
} ps_flow_list;
void ps_flow_list_fini(ps_flow_list *list);

/* Adds the flows of a slice, and those that belong to the same launch: from what caused it (kernel <- call, and around the
 * call the dequeue <- enqueue), and on to what it caused (what began inside of an operator, call or dequeue -> queue, call,
 * kernel). Not on through another operator: a forward one does not lead to the kernels of its backward. At most
 * `max`, those of the slice itself first. `list` is zeroed at first. PS_NOMEM only. */
PS_MUST_USE ps_code ps_flow_chain(const ps_flow_index *x, const ps_links *links, uint32_t slice,
                                  size_t max, ps_flow_list *list, ps_err *err);

typedef struct ps_flow_window {
    const ps_flow_kind *kind;
    int64_t from_ns, to_ns; /* both ends start at or after and at or before */
    size_t limit;           /* > 0 */
    /* NULL: every flow counts; then the window is not walked through. */
    bool (*wanted)(void *context, const ps_flow *flow);
    void *context;
} ps_flow_window;

/* Adds the flows inside of a window by time, at most `limit`: of more than that each of `limit` equal parts of the window gives
 * as many as the others if it has them, evenly. PS_NOMEM only. */
PS_MUST_USE ps_code ps_flow_window_list(const ps_flow_index *x, const ps_flow_window *w,
                                        ps_flow_list *list, ps_err *err);

/* Which of n things in order of time to show, at most `limit`: as above. Picks go to `picks`[limit], their number is
 * returned. `time_of` tells the time of thing i. False in *ok when memory is out. */
size_t ps_thin_evenly(size_t n, size_t limit, int64_t time_of(const void *things, size_t i),
                      const void *things, size_t *picks, bool *ok);

#endif
