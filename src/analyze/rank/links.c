/* Slices come sorted by start, longer first, so a thread's slices open like brackets: a stack for each track, whose
 * "one below" is the parent. Every step is linear in slices and flows, however deep they nest. */
#include "analyze/rank/links.h"

#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/order.h"
#include "model/recording.h"
#include "model/trace.h"

static uint32_t *new_link_column(uint32_t n) {
    uint32_t *column = ps_alloc(((size_t)n + 1) * sizeof *column);
    for (uint32_t i = 0; column != NULL && i < n; i++) {
        column[i] = PS_NONE;
    }
    return column;
}

/* A slice that ends before a later one ends holds nothing that the later one does not hold: it leaves the stack, so that
 * slices that overlap in part cost no more than others. `op` of host slices is the innermost operator at or around them
 * until clear_host_ops(): only launched slices, marks and instants keep one, so no further column is needed. */
static bool find_parents(ps_links *l, const ps_slices *s) {
    size_t n_tracks = 0;
    (void)ps_trace_tracks(l->trace, &n_tracks);
    uint32_t *top = new_link_column((uint32_t)n_tracks);
    for (uint32_t i = 0; top != NULL && i < s->n; i++) {
        bool is_range = ps_is_host_range(s->kind[i]);
        if (!is_range && s->kind[i] != PS_SLICE_INSTANT) {
            continue;
        }
        uint32_t around = top[s->track[i]];
        while (around != PS_NONE && ps_slice_end(s, around) < ps_slice_end(s, i)) {
            around = l->parent[around];
        }
        l->parent[i] = around;
        top[s->track[i]] = is_range ? i : around;
        l->op[i] = s->kind[i] == PS_SLICE_HOST_OP ? i : around != PS_NONE ? l->op[around] : PS_NONE;
    }
    ps_free(top);
    return top != NULL;
}

static void take_flow(ps_links *l, const ps_slices *s, const ps_flow *flow) {
    uint32_t from = flow->from;
    uint32_t to = flow->to;
    bool is_host = ps_is_host_range(s->kind[from]) || s->kind[from] == PS_SLICE_INSTANT;
    if (!ps_is_launched(s->kind[to]) || !is_host) {
        return;
    }
    if (s->kind[from] == PS_SLICE_HOST_OP) {
        uint32_t known = l->op[to];
        bool better = known == PS_NONE || s->dur_ns[from] < s->dur_ns[known];
        l->op[to] = better ? from : known;
        return;
    }
    uint32_t known = l->call[to]; /* flows come by the slice they start from */
    if (known == PS_NONE || (s->kind[known] != PS_SLICE_CALL && s->kind[from] == PS_SLICE_CALL)) {
        l->call[to] = from;
    }
}

/* Of each dequeue and of what lies inside of it the operator behind its enqueue, in a column of its own: NULL where no flow
 * joins queues. False when memory is out. */
static bool look_behind_queues(const ps_links *l, const ps_slices *s, uint32_t **queue) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(l->trace, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t to = flows[i].to;
        if (s->kind[flows[i].from] != PS_SLICE_QUEUE || s->kind[to] != PS_SLICE_QUEUE) {
            continue;
        }
        *queue = *queue != NULL ? *queue : new_link_column(s->n);
        if (*queue == NULL) {
            return false;
        }
        (*queue)[to] = (*queue)[to] == PS_NONE ? l->op[flows[i].from] : (*queue)[to];
    }
    for (uint32_t i = 0; *queue != NULL && i < s->n; i++) { /* parents come first */
        if ((*queue)[i] == PS_NONE && l->parent[i] != PS_NONE) {
            (*queue)[i] = (*queue)[l->parent[i]];
        }
    }
    return true;
}

static void take_ops_of_calls(ps_links *l, const ps_slices *s, const uint32_t *queue) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (l->op[i] != PS_NONE) {
            continue;
        }
        bool is_mark = s->kind[i] == PS_SLICE_MARK_HOST || s->kind[i] == PS_SLICE_INSTANT;
        uint32_t call = is_mark ? i : l->call[i];
        if (call != PS_NONE) {
            l->op[i] = l->op[call] != PS_NONE ? l->op[call] : queue != NULL ? queue[call] : PS_NONE;
        }
    }
}

static void clear_host_ops(ps_links *l, const ps_slices *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (ps_is_host_range(s->kind[i]) && s->kind[i] != PS_SLICE_MARK_HOST) {
            l->op[i] = PS_NONE;
        }
    }
}

ps_code ps_links_init(ps_links *l, const ps_trace *trace, ps_err *err) {
    const ps_slices *s = ps_trace_slices(trace);
    *l = (ps_links){.trace = trace,
                    .step_key = ps_trace_find_text(trace, PS_STEP_ARG),
                    .parent = new_link_column(s->n),
                    .call = new_link_column(s->n),
                    .op = new_link_column(s->n)};
    uint32_t *queue = NULL;
    bool ok = l->parent != NULL && l->call != NULL && l->op != NULL;
    ok = ps_step_index_init(&l->steps, trace) && ok && find_parents(l, s) &&
         ps_callers_find(trace, l->parent, &l->callers);
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(trace, &n);
    for (size_t i = 0; ok && i < n; i++) {
        take_flow(l, s, &flows[i]);
    }
    ok = ok && look_behind_queues(l, s, &queue);
    if (ok) {
        take_ops_of_calls(l, s, queue);
        clear_host_ops(l, s);
    }
    ps_free(queue);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_links_fini(ps_links *l) {
    ps_free(l->parent);
    ps_free(l->call);
    ps_free(l->op);
    ps_callers_fini(&l->callers);
    ps_step_index_fini(&l->steps);
    *l = (ps_links){0};
}

uint32_t ps_links_enclosing(const ps_links *l, uint32_t slice) {
    uint32_t parent = l->parent[slice];
    return parent != PS_NONE || l->callers.n == 0 ? parent : ps_caller_of(&l->callers, slice);
}

uint32_t ps_links_waiting(const ps_links *l, uint32_t slice) {
    uint32_t at = slice;
    while (l->callers.n > 0 && l->parent[at] != PS_NONE) {
        at = l->parent[at];
    }
    return l->callers.n > 0 ? ps_caller_of(&l->callers, at) : PS_NONE;
}

/* The last step that began at or before `at`, else the first. */
static int64_t step_running_at(const ps_step_index *x, int64_t at) {
    PS_PLACE(size_t, low, 0, x->n, middle, x->steps[middle].start_ns <= at)
    return x->n > 0 ? x->steps[low > 0 ? low - 1 : 0].id : 0;
}

/* The step that the profiler gave the slice to. */
static bool told_step(const ps_links *l, uint32_t slice, int64_t *step) {
    if (ps_str_is_none(l->step_key) || l->steps.n == 0) {
        return false;
    }
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(l->trace, slice); ps_arg_next(&it, &arg);) {
        if (arg.type == PS_ARG_INT && ps_str_eq(arg.key, l->step_key)) {
            *step = arg.u.i;
            return true;
        }
    }
    return false;
}

int64_t ps_links_step(const ps_links *l, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(l->trace);
    uint32_t launch = l->op[slice] != PS_NONE ? l->op[slice] : l->call[slice];
    if (launch == PS_NONE) {
        int64_t told = 0;
        if (told_step(l, slice, &told)) {
            return told;
        }
        return step_running_at(&l->steps, s->start_ns[slice]);
    }
    return ps_step_of(&l->steps, s->start_ns[launch], s->start_ns[launch]);
}

bool ps_links_in_step(const ps_links *l, uint32_t slice, bool is_host, int64_t wanted) {
    int64_t start_ns = ps_trace_slices(l->trace)->start_ns[slice];
    return wanted < 0 || (is_host ? ps_step_of(&l->steps, start_ns, start_ns)
                                  : ps_links_step(l, slice)) == wanted;
}
