/*   main      |== attn(B) ================================|        waits from the call of backward() to its return
 *   engine       |== MulBackward0 ==| |== MmBackward0 ==|          outermost slices
 *   worker   |= load =| |= load =| |= load =|                      is busy: what begins or ends meanwhile says so
 *
 * A thread waits for a slice when it is inside of a range and nothing on it begins or ends from the slice's start to its
 * end. Where several threads do, the one that waits for more slices of that engine's thread is the caller (a worker between two
 * tasks waits for few, the caller for all), of equals the one whose range began last. */
#include "analyze/rank/autograd_threads.h"

#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/text.h"
#include "model/trace.h"

/* Threads that may be callers; of more the first ones in the capture. */
#define MAX_WAITING 64

/* Of operators outside of those of the backward pass a thread of the engine runs few: callbacks at the end of a pass. A thread
 * that runs the forward pass, too, has as many as nodes. */
#define NODES_TO_OTHERS 4
#define SURELY_OTHERS 256 /* with so many, more than nodes, no further one is looked at closely */

typedef struct thread {
    bool is_engine;
    bool may_wait; /* has a range to wait in */
    uint32_t n_nodes, n_others;
} thread;

typedef struct search {
    const ps_trace *trace;
    const ps_slices *s;
    const ps_track *tracks;
    const uint32_t *parent;
    size_t n_tracks;
    thread *threads;
    bool has_engine;
    uint8_t *is_end; /* bit by slice: a flow of kind fwdbwd ends here */
    uint8_t *inside; /* bit by slice: of the backward pass, or inside of what is */
    ps_str forward_thread[2];
    ps_callers *out;
    uint32_t *own,
        *first_own; /* slices of threads that may wait, and where each thread's begin [n_tracks + 1] */
    uint32_t *n_waits;    /* [n_tracks] of the thread that is looked at: for each engine's thread */
    uint32_t *best_waits; /* [out->n] */
} search;

/* --- the engine's threads ---------------------------------------------------------------------------------------- */

/* "pt_autograd_0", or with the number of the thread before it: "thread 456 (pt_autograd_0)". */
static bool is_engines_name(const char *label) {
    const char *own = strrchr(label, '(');
    return ps_begins_with(own != NULL ? own + 1 : label, "pt_autograd");
}

bool ps_is_backward_node(const ps_trace *trace, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(trace);
    return s->kind[slice] == PS_SLICE_HOST_OP &&
           ps_begins_with(ps_trace_text(trace, s->name[slice]),
                          "autograd::engine::evaluate_function");
}

static bool has_forward_thread(const search *x, uint32_t slice) {
    if (ps_str_is_none(x->forward_thread[0]) && ps_str_is_none(x->forward_thread[1])) {
        return false;
    }
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(x->trace, slice); ps_arg_next(&it, &arg);) {
        bool is_it =
            ps_str_eq(arg.key, x->forward_thread[0]) || ps_str_eq(arg.key, x->forward_thread[1]);
        if (is_it && arg.type == PS_ARG_INT && arg.u.i > 0) {
            return true;
        }
    }
    return false;
}

static bool has_bit(const uint8_t *bits, uint32_t slice) {
    return (bits[slice / 8] >> slice % 8 & 1) != 0;
}

static void set_bit(uint8_t *bits, uint32_t slice) {
    bits[slice / 8] |= (uint8_t)(1u << slice % 8);
}

static bool is_engine_backward(const search *x, uint32_t slice) {
    bool is_end = x->is_end != NULL && has_bit(x->is_end, slice);
    return is_end || ps_is_backward_node(x->trace, slice) || has_forward_thread(x, slice);
}

/* False when memory is out. */
static bool note_flow_ends(search *x) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(x->trace, &n);
    ps_str kind = ps_trace_find_text(x->trace, "fwdbwd");
    if (ps_str_is_none(kind)) {
        return true;
    }
    x->is_end = ps_calloc((size_t)x->s->n / 8 + 1, 1);
    for (size_t i = 0; x->is_end != NULL && i < n; i++) {
        if (ps_str_eq(flows[i].kind, kind)) {
            set_bit(x->is_end, flows[i].to);
        }
    }
    return x->is_end != NULL;
}

static bool is_range_to_wait_in(uint8_t kind) {
    return kind == PS_SLICE_MARK_HOST || kind == PS_SLICE_ANNOTATION || kind == PS_SLICE_PYTHON ||
           kind == PS_SLICE_HOST_OTHER;
}

static void count_operator(search *x, thread *t, uint32_t i) {
    bool surely_other = t->n_others > SURELY_OTHERS && t->n_others > t->n_nodes;
    if (!surely_other && is_engine_backward(x, i)) {
        t->n_nodes++;
        set_bit(x->inside, i);
    } else {
        t->n_others++;
    }
}

static void read_threads(search *x) {
    for (uint32_t i = 0; i < x->s->n; i++) {
        thread *t = &x->threads[x->s->track[i]];
        if (x->tracks[x->s->track[i]].kind != PS_TRACK_HOST_THREAD) {
            continue;
        }
        t->may_wait = t->may_wait || is_range_to_wait_in(x->s->kind[i]);
        if (x->parent[i] != PS_NONE && has_bit(x->inside, x->parent[i])) {
            set_bit(x->inside, i);
        } else if (x->s->kind[i] == PS_SLICE_HOST_OP) {
            count_operator(x, t, i);
        }
    }
    for (size_t k = 0; k < x->n_tracks; k++) {
        thread *t = &x->threads[k];
        ps_str label = x->tracks[k].label;
        bool named = x->tracks[k].kind == PS_TRACK_HOST_THREAD && !ps_str_is_none(label) &&
                     is_engines_name(ps_trace_text(x->trace, label));
        t->is_engine = named || (t->n_nodes > 0 && t->n_others <= t->n_nodes / NODES_TO_OTHERS);
        x->has_engine = x->has_engine || t->is_engine;
    }
}

static bool is_outermost_of_engine(const search *x, uint32_t i) {
    return x->parent[i] == PS_NONE && ps_is_host_range(x->s->kind[i]) &&
           x->threads[x->s->track[i]].is_engine;
}

static bool list_outermost(search *x) {
    size_t n = 0;
    for (uint32_t i = 0; x->has_engine && i < x->s->n; i++) {
        n += is_outermost_of_engine(x, i);
    }
    x->out->at = n > 0 ? ps_alloc(n * sizeof *x->out->at) : NULL;
    for (uint32_t i = 0; x->out->at != NULL && i < x->s->n; i++) {
        if (is_outermost_of_engine(x, i)) {
            x->out->at[x->out->n++] = (ps_caller){i, PS_NONE};
        }
    }
    return x->out->n == n;
}

/* --- who waits --------------------------------------------------------------------------------------------------- */

/* The slices of each thread that may wait, one thread after the other. False when memory is out. */
static bool list_waiting(search *x) {
    x->first_own = ps_calloc(x->n_tracks + 2, sizeof *x->first_own);
    size_t n_waiting = 0;
    for (size_t t = 0; t < x->n_tracks; t++) {
        thread *of = &x->threads[t];
        of->may_wait = of->may_wait && !of->is_engine && n_waiting < MAX_WAITING;
        n_waiting += of->may_wait;
    }
    size_t n = 0;
    for (uint32_t i = 0; x->first_own != NULL && i < x->s->n; i++) {
        if (x->threads[x->s->track[i]].may_wait && ps_is_host_range(x->s->kind[i])) {
            x->first_own[x->s->track[i] + 2]++;
            n++;
        }
    }
    for (size_t t = 2; x->first_own != NULL && t < x->n_tracks + 2; t++) {
        x->first_own[t] += x->first_own[t - 1];
    }
    x->own = ps_alloc((n + 1) * sizeof *x->own);
    for (uint32_t i = 0; x->own != NULL && x->first_own != NULL && i < x->s->n; i++) {
        if (x->threads[x->s->track[i]].may_wait && ps_is_host_range(x->s->kind[i])) {
            x->own[x->first_own[x->s->track[i] + 1]++] = i;
        }
    }
    return x->own != NULL && x->first_own != NULL;
}

/* The innermost range that a thread waits in for as long as `slice` lasts, PS_NONE. *next: its first slice that begins
 * after the start of `slice`, which never goes back. */
static uint32_t waits_in(const search *x, uint32_t track, uint32_t slice, uint32_t *next) {
    const ps_slices *s = x->s;
    uint32_t end = x->first_own[track + 1];
    while (*next < end && s->start_ns[x->own[*next]] <= s->start_ns[slice] &&
           x->own[*next] < slice) {
        ++*next;
    }
    if (*next == x->first_own[track] ||
        (*next < end && s->start_ns[x->own[*next]] < ps_slice_end(s, slice))) {
        return PS_NONE;
    }
    uint32_t in = x->own[*next - 1];
    while (in != PS_NONE && ps_slice_end(s, in) <= s->start_ns[slice]) {
        in = x->parent[in];
    }
    bool waits = in != PS_NONE && ps_slice_end(s, in) >= ps_slice_end(s, slice) &&
                 is_range_to_wait_in(s->kind[in]);
    return waits ? in : PS_NONE;
}

static bool same_process(const search *x, uint32_t a, uint32_t b) {
    return x->tracks[a].pid == x->tracks[b].pid;
}

static void count_waits(search *x, uint32_t track) {
    uint32_t next = x->first_own[track];
    memset(x->n_waits, 0, x->n_tracks * sizeof *x->n_waits);
    for (size_t i = 0; i < x->out->n; i++) {
        uint32_t slice = x->out->at[i].slice;
        x->n_waits[x->s->track[slice]] += waits_in(x, track, slice, &next) != PS_NONE;
    }
}

static void take_waits(search *x, uint32_t track) {
    uint32_t next = x->first_own[track];
    for (size_t i = 0; i < x->out->n; i++) {
        ps_caller *c = &x->out->at[i];
        uint32_t engine = x->s->track[c->slice];
        uint32_t in = waits_in(x, track, c->slice, &next);
        uint32_t n = x->n_waits[engine];
        bool better = c->caller == PS_NONE || n > x->best_waits[i] ||
                      (n == x->best_waits[i] && in > c->caller);
        if (in != PS_NONE && better && same_process(x, track, engine)) {
            c->caller = in;
            x->best_waits[i] = n;
        }
    }
}

static void drop_without(ps_callers *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->at[i].caller != PS_NONE) {
            c->at[kept++] = c->at[i];
        }
    }
    c->n = kept;
}

static bool find_engine_waiting(search *x) {
    x->n_waits = ps_calloc(x->n_tracks + 1, sizeof *x->n_waits);
    x->best_waits = ps_calloc(x->out->n + 1, sizeof *x->best_waits);
    bool ok = x->n_waits != NULL && x->best_waits != NULL && list_waiting(x);
    for (uint32_t t = 0; ok && t < x->n_tracks; t++) {
        if (x->threads[t].may_wait) {
            count_waits(x, t);
            take_waits(x, t);
        }
    }
    return ok;
}

bool ps_callers_find(const ps_trace *trace, const uint32_t *parent, ps_callers *out) {
    *out = (ps_callers){0};
    search x = {.trace = trace,
                .s = ps_trace_slices(trace),
                .parent = parent,
                .forward_thread = {ps_trace_find_text(trace, "fwdThreadId"),
                                   ps_trace_find_text(trace, "Fwd thread id")},
                .out = out};
    x.tracks = ps_trace_tracks(trace, &x.n_tracks);
    x.threads = ps_calloc(x.n_tracks + 1, sizeof *x.threads);
    x.inside = ps_calloc((size_t)x.s->n / 8 + 1, 1);
    bool ok = x.threads != NULL && x.inside != NULL && note_flow_ends(&x);
    if (ok) {
        read_threads(&x);
        ok = list_outermost(&x) && (out->n == 0 || find_engine_waiting(&x));
        drop_without(out);
    }
    ps_free(x.threads);
    ps_free(x.is_end);
    ps_free(x.inside);
    ps_free(x.own);
    ps_free(x.first_own);
    ps_free(x.n_waits);
    ps_free(x.best_waits);
    return ok;
}

void ps_callers_fini(ps_callers *c) {
    ps_free(c->at);
    *c = (ps_callers){0};
}

uint32_t ps_caller_of(const ps_callers *c, uint32_t slice) {
    PS_PLACE(size_t, low, 0, c->n, middle, c->at[middle].slice < slice)
    return low < c->n && c->at[low].slice == slice ? c->at[low].caller : PS_NONE;
}
