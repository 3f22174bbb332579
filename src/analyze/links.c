/* Slices come sorted by start, longer first, so a thread's slices open like brackets: a stack for each track, held in
 * one array of "the one below". */
#include "analyze/links.h"

#include "analyze/marks.h"
#include "base/alloc.h"

bool ps_is_host_range(uint8_t kind) {
    switch (kind) {
    case PS_SLICE_MARK_HOST:
    case PS_SLICE_HOST_OP:
    case PS_SLICE_ANNOTATION:
    case PS_SLICE_QUEUE:
    case PS_SLICE_CALL:
    case PS_SLICE_PYTHON:
    case PS_SLICE_HOST_OTHER:
        return true;
    default:
        return false;
    }
}

bool ps_is_launched(uint8_t kind) {
    return kind >= PS_SLICE_KERNEL || kind == PS_SLICE_MARK_DEVICE || kind == PS_SLICE_COMM_OP;
}

static int64_t end_of(const ps_slices *s, uint32_t i) {
    return s->start_ns[i] + s->dur_ns[i];
}

static uint32_t *new_column(uint32_t n) {
    uint32_t *column = ps_alloc(((size_t)n + 1) * sizeof *column);
    for (uint32_t i = 0; column != NULL && i < n; i++) {
        column[i] = PS_NONE;
    }
    return column;
}

/* below[i]: what lay under slice i on the stack of its track. */
static bool find_parents(ps_links *l, const ps_slices *s) {
    size_t n_tracks = 0;
    (void)ps_trace_tracks(l->trace, &n_tracks);
    uint32_t *top = new_column((uint32_t)n_tracks);
    uint32_t *below = new_column(s->n);
    bool ok = top != NULL && below != NULL;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (!ps_is_host_range(s->kind[i])) {
            continue;
        }
        uint32_t *open = &top[s->track[i]];
        while (*open != PS_NONE && end_of(s, *open) < s->start_ns[i]) {
            *open = below[*open];
        }
        uint32_t around = *open;
        while (around != PS_NONE && end_of(s, around) < end_of(s, i)) {
            around = below[around]; /* overlaps only in part */
        }
        l->parent[i] = around;
        below[i] = *open;
        *open = i;
    }
    ps_free(top);
    ps_free(below);
    return ok;
}

/* The innermost operator at or around a host slice. */
static uint32_t operator_around(const ps_links *l, const ps_slices *s, uint32_t i) {
    while (i != PS_NONE && s->kind[i] != PS_SLICE_HOST_OP) {
        i = l->parent[i];
    }
    return i;
}

static void take_flow(ps_links *l, const ps_slices *s, const ps_flow *flow) {
    uint32_t from = flow->from;
    uint32_t to = flow->to;
    if (!ps_is_launched(s->kind[to]) || !ps_is_host_range(s->kind[from])) {
        return;
    }
    if (s->kind[from] == PS_SLICE_HOST_OP) {
        uint32_t known = l->op[to];
        bool better = known == PS_NONE || s->dur_ns[from] < s->dur_ns[known];
        l->op[to] = better ? from : known;
    } else if (l->call[to] == PS_NONE) { /* flows come by the slice they start from */
        l->call[to] = from;
    }
}

/* enqueue[i]: of a dequeue, the slice that put it into the queue. */
static uint32_t *find_enqueues(const ps_links *l, const ps_slices *s) {
    uint32_t *enqueue = new_column(s->n);
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(l->trace, &n);
    for (size_t i = 0; enqueue != NULL && i < n; i++) {
        uint32_t to = flows[i].to;
        bool queues = s->kind[flows[i].from] == PS_SLICE_QUEUE && s->kind[to] == PS_SLICE_QUEUE;
        if (queues && enqueue[to] == PS_NONE) {
            enqueue[to] = flows[i].from;
        }
    }
    return enqueue;
}

static uint32_t operator_behind(const ps_links *l, const ps_slices *s, const uint32_t *enqueue,
                                uint32_t call) {
    uint32_t op = operator_around(l, s, call);
    for (uint32_t i = call; op == PS_NONE && i != PS_NONE; i = l->parent[i]) {
        if (s->kind[i] == PS_SLICE_QUEUE && enqueue[i] != PS_NONE) {
            op = operator_around(l, s, enqueue[i]);
        }
    }
    return op;
}

ps_code ps_links_init(ps_links *l, const ps_trace *trace, ps_err *err) {
    const ps_slices *s = ps_trace_slices(trace);
    *l = (ps_links){.trace = trace,
                    .parent = new_column(s->n),
                    .call = new_column(s->n),
                    .op = new_column(s->n)};
    bool ok = l->parent != NULL && l->call != NULL && l->op != NULL;
    ok = ps_step_index_init(&l->steps, trace) && ok && find_parents(l, s);
    uint32_t *enqueue = ok ? find_enqueues(l, s) : NULL;
    ok = ok && enqueue != NULL;
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(trace, &n);
    for (size_t i = 0; ok && i < n; i++) {
        take_flow(l, s, &flows[i]);
    }
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (l->op[i] == PS_NONE && l->call[i] != PS_NONE) {
            l->op[i] = operator_behind(l, s, enqueue, l->call[i]);
        }
    }
    ps_free(enqueue);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_links_fini(ps_links *l) {
    ps_free(l->parent);
    ps_free(l->call);
    ps_free(l->op);
    ps_step_index_fini(&l->steps);
    *l = (ps_links){0};
}

/* The last step that began at or before `at`, else the first. */
static int64_t step_running_at(const ps_step_index *x, int64_t at) {
    size_t low = 0;
    size_t high = x->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (x->steps[middle].start_ns <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return x->n > 0 ? x->steps[low > 0 ? low - 1 : 0].id : 0;
}

int64_t ps_links_step(const ps_links *l, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(l->trace);
    uint32_t launch = l->op[slice] != PS_NONE ? l->op[slice] : l->call[slice];
    if (launch == PS_NONE) {
        return step_running_at(&l->steps, s->start_ns[slice]);
    }
    return ps_step_of(&l->steps, s->start_ns[launch], s->start_ns[launch]);
}
