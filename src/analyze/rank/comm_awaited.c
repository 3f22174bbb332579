#include "analyze/rank/comm_awaited.h"

#include "analyze/rank/host_activity.h"
#include "base/alloc.h"
#include "base/order.h"

/* Optimisers that take their steps one behind the other, with no backward operator between them, await the same gradients. */
static bool add_comm_awaited_step(ps_comm_awaited *a, int64_t backward_end_ns, int64_t start_ns,
                                  int64_t end_ns) {
    const ps_awaiting *last = a->n > 0 ? &a->at[a->n - 1] : NULL;
    ps_awaiting x = {backward_end_ns != INT64_MIN ? backward_end_ns : start_ns, start_ns, end_ns};
    if (last != NULL && backward_end_ns <= last->before_ns) {
        x.from_ns = last->from_ns;
        x.before_ns = last->before_ns;
    }
    if (last != NULL && end_ns <= last->end_ns) {
        return true; /* inside of it */
    }
    if (!ps_grow(&a->at, &a->cap, a->n + 1, UINT32_MAX, sizeof *a->at)) {
        return false;
    }
    a->at[a->n++] = x;
    return true;
}

/* Slices come by start. */
bool ps_comm_awaited_find(const ps_links *links, ps_comm_awaited *out) {
    const ps_slices *s = ps_trace_slices(links->trace);
    int64_t backward_end_ns = INT64_MIN;
    bool ok = true;
    *out = (ps_comm_awaited){.at = NULL};
    for (uint32_t i = 0; ok && i < s->n; i++) {
        int64_t end_ns = s->start_ns[i] + s->dur_ns[i];
        if (!ps_is_host_range(s->kind[i])) {
            continue;
        }
        if (end_ns > backward_end_ns && ps_is_backward_node(links->trace, i)) {
            backward_end_ns = end_ns;
        } else if (ps_is_optimizer_step(ps_trace_text(links->trace, s->name[i]))) {
            ok = add_comm_awaited_step(out, backward_end_ns, s->start_ns[i], end_ns);
        }
    }
    return ok;
}

void ps_comm_awaited_fini(ps_comm_awaited *a) {
    ps_free(a->at);
    *a = (ps_comm_awaited){.at = NULL};
}

bool ps_comm_is_awaited(const ps_comm_awaited *a, int64_t comm_ns, int64_t launch_ns) {
    PS_PLACE(size_t, low, 0, a->n, middle, a->at[middle].end_ns <= launch_ns)
    return low < a->n && a->at[low].from_ns <= launch_ns && comm_ns < a->at[low].before_ns;
}
