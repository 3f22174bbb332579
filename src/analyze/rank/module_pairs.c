/* An operator carries the number that its thread's next autograd node will get. Several operators share one (an operator
 * and those inside it); the one that makes the node is the last to begin. A backward operator carries the number of its
 * node, and the profiler's own number of the thread that made it, 0 or none in the forward pass. */
#include "analyze/rank/module_pairs.h"

#include <stdlib.h>

#include "analyze/rank/autograd_threads.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"

/* One operator with a number. */
typedef struct numbered {
    int64_t sequence;
    uint32_t track, slice;
} numbered;

typedef struct pairing {
    const ps_trace *trace;
    ps_module_pairs *out;
    numbered *forwards; /* by number, track, slice */
    size_t n_forwards, cap_forwards;
    numbered *backwards; /* `track` is the number of the forward thread, 0 unknown */
    size_t n_backwards, cap_backwards;
    ps_idmap thread_tracks; /* number of a forward thread -> track */
} pairing;

PS_COMPARE(compare_numbered, numbered, PS_BY(sequence) PS_BY(track) PS_BY(slice))

/* --- collecting ---------------------------------------------------------------------------------------------- */

typedef struct keys {
    ps_str sequence[2], thread[2]; /* as Ascend and as Kineto name them */
} keys;

static bool is_module_pair_key(const ps_str *known, ps_str key) {
    return ps_str_eq(known[0], key) || ps_str_eq(known[1], key);
}

static bool add_module_pair(numbered **list, size_t *n, size_t *cap, numbered op) {
    if (!ps_grow(list, cap, *n + 1, UINT32_MAX, sizeof **list)) {
        return false;
    }
    (*list)[(*n)++] = op;
    return true;
}

static bool collect_op(pairing *p, const keys *k, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(p->trace);
    ps_arg_iter iter = ps_trace_args(p->trace, slice);
    ps_arg arg;
    int64_t sequence = -1;
    int64_t thread = 0;
    while (ps_arg_next(&iter, &arg)) {
        if (arg.type == PS_ARG_INT && is_module_pair_key(k->sequence, arg.key)) {
            sequence = arg.u.i;
        } else if (arg.type == PS_ARG_INT && is_module_pair_key(k->thread, arg.key)) {
            thread = arg.u.i;
        }
    }
    bool is_node = p->out->backward[slice] != 0;
    if (sequence < 0) {
        return true;
    }
    if (is_node || (thread > 0 && thread <= UINT32_MAX)) {
        thread = thread > 0 && thread <= UINT32_MAX ? thread : 0;
        p->out->backward[slice] = 1;
        return add_module_pair(&p->backwards, &p->n_backwards, &p->cap_backwards,
                               (numbered){sequence, (uint32_t)thread, slice});
    }
    return add_module_pair(&p->forwards, &p->n_forwards, &p->cap_forwards,
                           (numbered){sequence, s->track[slice], slice});
}

static bool collect_module_pair(pairing *p) {
    const ps_slices *s = ps_trace_slices(p->trace);
    const keys k = {{ps_trace_find_text(p->trace, "sequenceNumber"),
                     ps_trace_find_text(p->trace, "Sequence number")},
                    {ps_trace_find_text(p->trace, "fwdThreadId"),
                     ps_trace_find_text(p->trace, "Fwd thread id")}};
    bool any = !ps_str_is_none(k.sequence[0]) || !ps_str_is_none(k.sequence[1]);
    for (uint32_t i = 0; i < s->n; i++) {
        p->out->backward[i] = ps_is_backward_node(p->trace, i);
        if (any && s->kind[i] == PS_SLICE_HOST_OP && !collect_op(p, &k, i)) {
            return false;
        }
    }
    if (p->n_forwards > 0) {
        qsort(p->forwards, p->n_forwards, sizeof *p->forwards, compare_numbered);
    }
    return true;
}

/* --- deciding ------------------------------------------------------------------------------------------------ */

/* The first forward operator that is not before (sequence, track, slice). */
static size_t lower_bound(const pairing *p, int64_t sequence, uint32_t track, uint32_t slice) {
    const numbered key = {sequence, track, slice};
    PS_PLACE(size_t, low, 0, p->n_forwards, middle,
             compare_numbered(&p->forwards[middle], &key) < 0)
    return low;
}

/* The last forward operator of this number on this track that began before `slice`; PS_NONE. */
static uint32_t on_track(const pairing *p, int64_t sequence, uint32_t track, uint32_t slice) {
    size_t end = lower_bound(p, sequence, track, slice);
    const numbered *last = end > 0 ? &p->forwards[end - 1] : NULL;
    bool is_it = last != NULL && last->sequence == sequence && last->track == track;
    return is_it ? last->slice : PS_NONE;
}

/* The only track on which an operator of this number began before `slice`; PS_NONE when there is none or another one. */
static uint32_t only_track(const pairing *p, int64_t sequence, uint32_t slice) {
    enum { MOST_LOOKS = 64 };
    uint32_t found = PS_NONE;
    size_t i = lower_bound(p, sequence, 0, 0);
    for (int n = 0; i < p->n_forwards && p->forwards[i].sequence == sequence; n++) {
        uint32_t track = p->forwards[i].track;
        bool before = p->forwards[i].slice < slice; /* the track's first one */
        if (n == MOST_LOOKS || (before && found != PS_NONE)) {
            return PS_NONE;
        }
        found = before ? track : found;
        i = track < PS_NONE - 1 ? lower_bound(p, sequence, track + 1, 0) : p->n_forwards;
    }
    return found;
}

/* Which track a number of a thread means: learned from operators with one candidate; the first one decides. */
static bool learn_threads(pairing *p) {
    for (size_t i = 0; i < p->n_backwards; i++) {
        const numbered *b = &p->backwards[i];
        bool asks = b->track != 0 && ps_idmap_get(&p->thread_tracks, b->track) == PS_IDMAP_NONE;
        uint32_t track = asks ? only_track(p, b->sequence, b->slice) : PS_NONE;
        if (track != PS_NONE && on_track(p, b->sequence, track, b->slice) != PS_NONE &&
            !ps_idmap_put(&p->thread_tracks, b->track, track)) {
            return false;
        }
    }
    return true;
}

static void pair_module_pair(ps_module_pairs *out, uint32_t forward, uint32_t backward) {
    if (out->forward[backward] == PS_NONE && forward < backward) {
        out->forward[backward] = forward;
        out->backward[backward] = 1;
        out->n++;
    }
}

static void pair_by_number(const pairing *p) {
    for (size_t i = 0; i < p->n_backwards; i++) {
        const numbered *b = &p->backwards[i];
        uint32_t track = only_track(p, b->sequence, b->slice);
        track = track != PS_NONE ? track : ps_idmap_get(&p->thread_tracks, b->track);
        uint32_t forward =
            track != PS_IDMAP_NONE ? on_track(p, b->sequence, track, b->slice) : PS_NONE;
        if (forward != PS_NONE) {
            pair_module_pair(p->out, forward, b->slice);
        }
    }
}

static void pair_by_flow(const pairing *p) {
    const ps_slices *s = ps_trace_slices(p->trace);
    ps_str kind = ps_trace_find_text(p->trace, "fwdbwd");
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(p->trace, &n);
    for (size_t i = 0; i < n && !ps_str_is_none(kind); i++) {
        if (ps_str_eq(flows[i].kind, kind) && s->kind[flows[i].from] == PS_SLICE_HOST_OP &&
            s->kind[flows[i].to] == PS_SLICE_HOST_OP) {
            pair_module_pair(p->out, flows[i].from, flows[i].to);
        }
    }
}

ps_code ps_module_pairs_find(const ps_trace *trace, ps_module_pairs *out, ps_err *err) {
    const ps_slices *s = ps_trace_slices(trace);
    *out = (ps_module_pairs){.forward = ps_alloc(((size_t)s->n + 1) * sizeof *out->forward),
                             .backward = ps_calloc((size_t)s->n + 1, 1)};
    pairing p = {.trace = trace, .out = out};
    ps_idmap_init(&p.thread_tracks);
    bool ok = out->forward != NULL && out->backward != NULL;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        out->forward[i] = PS_NONE;
    }
    ok = ok && collect_module_pair(&p) && learn_threads(&p);
    if (ok) {
        pair_by_number(&p);
        pair_by_flow(&p);
    }
    ps_idmap_fini(&p.thread_tracks);
    ps_free(p.forwards);
    ps_free(p.backwards);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_module_pairs_fini(ps_module_pairs *p) {
    ps_free(p->forward);
    ps_free(p->backward);
    *p = (ps_module_pairs){0};
}
