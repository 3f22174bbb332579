#include "analyze/whatif/worker_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"

/* --- reading one worker -------------------------------------------------------------------------------------------- */

static ps_worker_op op_of_slice(const ps_trace *trace, uint32_t slice, uint8_t *kinds) {
    const ps_slices *s = ps_trace_slices(trace);
    ps_str name = s->name[slice];
    if (ps_str_is_none(name)) {
        return PS_N_WORKER_OPS;
    }
    if (kinds[name.id] == 0) {
        ps_worker_op op =
            ps_worker_op_find(ps_trace_text(trace, name), ps_trace_text_len(trace, name));
        op = op == PS_WORKER_INPUT ? PS_WORKER_BACKWARD : op; /* one chain of backwards */
        kinds[name.id] = (uint8_t)(1 + op);
    }
    return (ps_worker_op)(kinds[name.id] - 1);
}

static int32_t small_number(int64_t value) {
    return value >= 0 && value < INT32_MAX ? (int32_t)value : -1;
}

typedef struct timeline_keys {
    ps_str step, microbatch, chunk, order;
} timeline_keys;

static ps_timeline_op read_timeline_op(const ps_trace *trace, uint32_t slice,
                                       const timeline_keys *keys, bool *has_step) {
    const ps_slices *s = ps_trace_slices(trace);
    int64_t start = ps_trace_origin_ns(trace) + s->start_ns[slice];
    ps_timeline_op op = {.start_ns = start,
                         .end_ns = start + s->dur_ns[slice],
                         .order = -1,
                         .microbatch = -1,
                         .chunk = -1};
    ps_arg_iter args = ps_trace_args(trace, slice);
    ps_arg arg;
    *has_step = false;
    while (ps_arg_next(&args, &arg)) {
        if (arg.type != PS_ARG_INT) {
            continue;
        }
        if (ps_str_eq(arg.key, keys->step)) {
            op.step = arg.u.i;
            *has_step = true;
        } else if (ps_str_eq(arg.key, keys->microbatch)) {
            op.microbatch = small_number(arg.u.i);
        } else if (ps_str_eq(arg.key, keys->chunk)) {
            op.chunk = small_number(arg.u.i);
        } else if (ps_str_eq(arg.key, keys->order)) {
            op.order = arg.u.i;
        }
    }
    return op;
}

static bool read_windows(const ps_trace *trace, ps_timeline *out) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(trace, &n);
    int64_t origin = ps_trace_origin_ns(trace);
    out->windows = ps_calloc(n + 1, sizeof *out->windows);
    for (size_t i = 0; out->windows != NULL && i < n; i++) {
        out->windows[out->n_windows++] =
            (ps_timeline_window){steps[i].id, origin + steps[i].start_ns, origin + steps[i].end_ns};
    }
    return out->windows != NULL;
}

bool ps_timeline_read(const ps_trace *trace, ps_timeline *out) {
    *out = (ps_timeline){0};
    const ps_slices *s = ps_trace_slices(trace);
    const timeline_keys keys = {
        ps_trace_find_text(trace, "step"), ps_trace_find_text(trace, "microbatch"),
        ps_trace_find_text(trace, "chunk"), ps_trace_find_text(trace, "seq_id")};
    uint8_t *kinds = ps_calloc(ps_trace_n_texts(trace) + 1, sizeof *kinds);
    bool ok = kinds != NULL && read_windows(trace, out);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (s->kind[i] != PS_SLICE_JOB && s->kind[i] != PS_SLICE_COMM_KERNEL) {
            continue;
        }
        ps_worker_op kind = op_of_slice(trace, i, kinds);
        bool has_step = false;
        if (kind == PS_N_WORKER_OPS) {
            continue;
        }
        ps_timeline_op op = read_timeline_op(trace, i, &keys, &has_step);
        op.kind = (uint8_t)kind;
        out->n_without_step += !has_step;
        ok = !has_step ||
             ps_grow(&out->ops, &out->cap, out->n + 1, UINT32_MAX - 1, sizeof *out->ops);
        if (ok && has_step) {
            out->ops[out->n++] = op;
        }
    }
    ps_free(kinds);
    return ok;
}

void ps_timeline_fini(ps_timeline *t) {
    ps_free(t->ops);
    ps_free(t->windows);
    *t = (ps_timeline){0};
}

/* --- the steps of all workers -------------------------------------------------------------------------------------- */

/* An op with what decides where it goes. */
typedef struct placed_op {
    int64_t step;
    const ps_timeline_op *op;
    uint32_t worker;
} placed_op;

static bool is_computing(uint8_t kind) {
    return kind <= PS_WORKER_PAIR;
}

/* By step, worker, computing first; computing by start, all else by kind and number. */
static int order_placed(const void *x, const void *y) {
    const placed_op *a = x;
    const placed_op *b = y;
    int by = ps_order_i64(a->step, b->step);
    by = by != 0 ? by : ps_order_i64(a->worker, b->worker);
    bool both = is_computing(a->op->kind) && is_computing(b->op->kind);
    by = by != 0 || both ? by : ps_order_i64(a->op->kind, b->op->kind);
    by = by != 0 || both ? by : ps_order_i64(a->op->order, b->op->order);
    by = by != 0 ? by : ps_order_i64(a->op->start_ns, b->op->start_ns);
    by = by != 0 ? by : ps_order_i64(a->op->kind, b->op->kind);
    return by != 0 ? by : ps_order_i64(a->op->microbatch, b->op->microbatch);
}

typedef struct making {
    ps_job_steps *js;
    placed_op *placed;
    size_t n;
    ps_err *err;
    uint32_t *
        starts; /* [n_workers * PS_N_WORKER_OPS + 1] first op of each worker and kind but computing */
    uint32_t *counts;       /* [n_workers * PS_N_WORKER_OPS] */
    uint32_t *chain;        /* [n_workers + 1] first op of each worker: its computing */
    uint32_t *list, *other; /* [ops of a step] */
    int64_t *latest;        /* the same: of a group, the latest start */
    char why[240];          /* the step in hand is left out */
} making;

static const char *describe_worker(const ps_job_worker *w, char out[96]) {
    (void)snprintf(out, 96, "stage %d of replica %d (rank %lld)", (int)w->stage, (int)w->replica,
                   (long long)w->rank);
    return out;
}

/* --- lists of one step -------------------------------------------------------------------------------------------- */

static uint32_t timeline_count_of(const making *k, uint32_t worker, ps_worker_op kind) {
    return k->counts[(size_t)worker * PS_N_WORKER_OPS + (size_t)kind];
}

/* Op i of a kind that is not computing. */
static uint32_t nth(const making *k, uint32_t worker, ps_worker_op kind, uint32_t i) {
    return k->starts[(size_t)worker * PS_N_WORKER_OPS + (size_t)kind] + i;
}

static void index_step(making *k, const ps_job_op *ops, uint32_t n) {
    size_t cells = k->js->n_workers * PS_N_WORKER_OPS;
    memset(k->counts, 0, cells * sizeof *k->counts);
    for (uint32_t i = n; i > 0; i--) {
        size_t cell = (size_t)ops[i - 1].worker * PS_N_WORKER_OPS + ops[i - 1].kind;
        k->counts[cell]++;
        k->starts[cell] = i - 1;
        k->chain[ops[i - 1].worker] = i - 1;
    }
}

static uint32_t n_computing(const making *k, uint32_t worker) {
    return timeline_count_of(k, worker, PS_WORKER_FORWARD) +
           timeline_count_of(k, worker, PS_WORKER_BACKWARD) +
           timeline_count_of(k, worker, PS_WORKER_INPUT) +
           timeline_count_of(k, worker, PS_WORKER_WEIGHT) +
           timeline_count_of(k, worker, PS_WORKER_PAIR);
}

/* Computing of one kind of a worker that has (or gives) a transfer: not that of the piece of the model at `end_stage` with
 * the lowest (or highest) chunk. *n of them in k->list. */
static void list_transferring(making *k, const ps_job_op *ops, uint32_t worker, ps_worker_op kind,
                              int32_t end_stage, int32_t end_chunk, uint32_t *n) {
    uint32_t first = k->chain[worker];
    *n = 0;
    for (uint32_t i = first; i < first + n_computing(k, worker); i++) {
        bool is_end = k->js->workers[worker].stage == end_stage &&
                      (ops[i].chunk < 0 ? 0 : ops[i].chunk) == end_chunk;
        if (ops[i].kind == kind && !is_end) {
            k->list[(*n)++] = i;
        }
    }
}

/* --- who waits for whom ----------------------------------------------------------------------------------------------- */

static void chain_kind(making *k, ps_step_graph *g, uint32_t worker, ps_worker_op kind) {
    for (uint32_t i = 1; i < timeline_count_of(k, worker, kind); i++) {
        ps_step_graph_wait(g, nth(k, worker, kind, i), nth(k, worker, kind, i - 1), false);
    }
}

static bool fail_count(making *k, uint32_t worker, ps_worker_op kind, uint32_t n, uint32_t wanted,
                       ps_worker_op of) {
    char who[96];
    (void)snprintf(k->why, sizeof k->why, "%s has %u %s for %u %s that need one",
                   describe_worker(&k->js->workers[worker], who), n, ps_worker_op_name(kind),
                   wanted, ps_worker_op_name(of));
    return false;
}

typedef struct direction {
    ps_worker_op compute, receive, send;
    int32_t from_stage, from_chunk, to_stage, to_chunk; /* where the chain begins and ends */
} direction;

/* receive i -> compute i; compute i - 1 -> receive i; compute i -> send i. False when the counts do not agree. */
static bool wait_for_transfers(making *k, ps_step_graph *g, const ps_job_op *ops, uint32_t worker,
                               const direction *d) {
    uint32_t n = 0;
    list_transferring(k, ops, worker, d->compute, d->from_stage, d->from_chunk, &n);
    if (n != timeline_count_of(k, worker, d->receive)) {
        return fail_count(k, worker, d->receive, timeline_count_of(k, worker, d->receive), n,
                          d->compute);
    }
    for (uint32_t i = 0; i < n; i++) {
        ps_step_graph_wait(g, k->list[i], nth(k, worker, d->receive, i), false);
        if (i > 0) {
            ps_step_graph_wait(g, nth(k, worker, d->receive, i), k->list[i - 1], false);
        }
    }
    list_transferring(k, ops, worker, d->compute, d->to_stage, d->to_chunk, &n);
    if (n != timeline_count_of(k, worker, d->send)) {
        return fail_count(k, worker, d->send, timeline_count_of(k, worker, d->send), n, d->compute);
    }
    for (uint32_t i = 0; i < n; i++) {
        ps_step_graph_wait(g, nth(k, worker, d->send, i), k->list[i], false);
    }
    return true;
}

static uint32_t first_backward(const making *k, const ps_job_op *ops, uint32_t worker) {
    uint32_t at = k->chain[worker];
    uint32_t end = at + n_computing(k, worker);
    while (at < end && ops[at].kind != PS_WORKER_BACKWARD) {
        at++;
    }
    return at < end ? at : UINT32_MAX;
}

/* The first transfers backward are posted after the warm-up: they wait for the forward two before the first backward. */
static void wait_for_warmup(making *k, ps_step_graph *g, const ps_job_op *ops, uint32_t worker) {
    uint32_t first = k->chain[worker];
    uint32_t backward = first_backward(k, ops, worker);
    if (backward == UINT32_MAX || backward < first + 2) {
        return;
    }
    if (timeline_count_of(k, worker, PS_WORKER_BACKWARD_SEND) > 0) {
        ps_step_graph_wait(g, nth(k, worker, PS_WORKER_BACKWARD_SEND, 0), backward - 2, false);
    }
    if (timeline_count_of(k, worker, PS_WORKER_BACKWARD_RECV) > 0) {
        ps_step_graph_wait(g, nth(k, worker, PS_WORKER_BACKWARD_RECV, 0), backward - 2, false);
    }
}

/* First forward, or last backward (with its weight gradient), of a chunk; UINT32_MAX none. */
static uint32_t edge_of_chunk(const making *k, const ps_job_op *ops, uint32_t worker, int32_t chunk,
                              bool last) {
    uint32_t found = UINT32_MAX;
    uint32_t first = k->chain[worker];
    for (uint32_t i = first; i < first + n_computing(k, worker); i++) {
        bool of_kind = last ? ops[i].kind != PS_WORKER_FORWARD : ops[i].kind == PS_WORKER_FORWARD;
        if (of_kind && (ops[i].chunk == chunk || chunk < 0) && (last || found == UINT32_MAX)) {
            found = i;
        }
    }
    return found;
}

/* Gathered parameters -> the first forward of their chunk; of several gathers of a chunk the last one counts. */
static void wait_for_params(making *k, ps_step_graph *g, const ps_job_op *ops, uint32_t worker) {
    chain_kind(k, g, worker, PS_WORKER_PARAMS);
    for (uint32_t i = 0; i < timeline_count_of(k, worker, PS_WORKER_PARAMS); i++) {
        uint32_t op = nth(k, worker, PS_WORKER_PARAMS, i);
        uint32_t forward = edge_of_chunk(k, ops, worker, ops[op].chunk, false);
        if (forward != UINT32_MAX) {
            ps_step_graph_wait(g, forward, op, false);
        }
    }
}

/* All ops of a kind one after another behind `after`; the last of them, or `after` when there are none. */
static uint32_t wait_in_line(making *k, ps_step_graph *g, uint32_t worker, ps_worker_op kind,
                             uint32_t after) {
    for (uint32_t i = 0; i < timeline_count_of(k, worker, kind); i++) {
        uint32_t op = nth(k, worker, kind, i);
        if (after != UINT32_MAX) {
            ps_step_graph_wait(g, op, after, false);
        }
        after = op;
    }
    return after;
}

/* After the last backward. Gradients that are reduced beside the backward follow the last backward of their chunk. */
static void wait_for_timeline_end(making *k, ps_step_graph *g, const ps_job_op *ops,
                                  uint32_t worker) {
    uint32_t first = k->chain[worker];
    uint32_t n = n_computing(k, worker);
    uint32_t last = n > 0 ? first + n - 1 : UINT32_MAX;
    bool beside = timeline_count_of(k, worker, PS_WORKER_SEPARATE) > 0;
    uint32_t after = wait_in_line(k, g, worker, PS_WORKER_GC, last);
    if (beside) {
        chain_kind(k, g, worker, PS_WORKER_GRADS);
        for (uint32_t i = 0; i < timeline_count_of(k, worker, PS_WORKER_GRADS); i++) {
            uint32_t op = nth(k, worker, PS_WORKER_GRADS, i);
            uint32_t backward = edge_of_chunk(k, ops, worker, ops[op].chunk, true);
            if (backward != UINT32_MAX) {
                ps_step_graph_wait(g, op, backward, false);
            }
        }
        after = wait_in_line(k, g, worker, PS_WORKER_SEPARATE, after);
    }
    uint32_t layernorm = wait_in_line(k, g, worker, PS_WORKER_LAYERNORM, after);
    uint32_t n_grads = timeline_count_of(k, worker, PS_WORKER_GRADS);
    if (beside && n_grads > 0 && timeline_count_of(k, worker, PS_WORKER_LAYERNORM) > 0) {
        ps_step_graph_wait(g, nth(k, worker, PS_WORKER_LAYERNORM, 0),
                           nth(k, worker, PS_WORKER_GRADS, n_grads - 1), false);
    }
    after = wait_in_line(k, g, worker, PS_WORKER_EMBEDDING, layernorm);
    after = beside ? after : wait_in_line(k, g, worker, PS_WORKER_GRADS, after);
    if (beside && n_grads > 0 && timeline_count_of(k, worker, PS_WORKER_CLIP) > 0) {
        ps_step_graph_wait(g, nth(k, worker, PS_WORKER_CLIP, 0),
                           nth(k, worker, PS_WORKER_GRADS, n_grads - 1), false);
    }
    after = wait_in_line(k, g, worker, PS_WORKER_CLIP, after);
    (void)wait_in_line(k, g, worker, PS_WORKER_OPTIMIZER, after);
}

/* --- who starts together ---------------------------------------------------------------------------------------------- */

static uint32_t worker_at(const ps_job_steps *js, int32_t stage, int32_t replica, int32_t tp) {
    return (uint32_t)(((size_t)stage * (size_t)js->n_replicas + (size_t)replica) *
                          (size_t)js->n_tp +
                      (size_t)tp);
}

static bool fail_unequal(making *k, uint32_t worker, uint32_t other, ps_worker_op kind) {
    char who[96];
    char than[96];
    (void)snprintf(k->why, sizeof k->why, "%s has %u %s, %s has %u",
                   describe_worker(&k->js->workers[worker], who),
                   timeline_count_of(k, worker, kind), ps_worker_op_name(kind),
                   describe_worker(&k->js->workers[other], than),
                   timeline_count_of(k, other, kind));
    return false;
}

/* Workers of a stage run the same ops, and every worker has as many optimizers: else some are lost, or a replica ran other
 * microbatches. */
static bool have_equal_counts(making *k) {
    const ps_job_steps *js = k->js;
    uint32_t of_stage = (uint32_t)((size_t)js->n_replicas * (size_t)js->n_tp);
    for (uint32_t w = 0; w < js->n_workers; w++) {
        uint32_t first = w / of_stage * of_stage;
        for (int kind = 0; kind < PS_N_WORKER_OPS; kind++) {
            uint32_t like = kind == PS_WORKER_OPTIMIZER ? 0 : first;
            if (timeline_count_of(k, w, (ps_worker_op)kind) !=
                timeline_count_of(k, like, (ps_worker_op)kind)) {
                return fail_unequal(k, w, like, (ps_worker_op)kind);
            }
        }
    }
    return true;
}

/* Op i of each of these workers, for all i. False when one has more of them than another. */
static bool join_workers(making *k, ps_step_graph *g, const uint32_t *workers, size_t n,
                         ps_worker_op kind) {
    uint32_t count = n > 0 ? timeline_count_of(k, workers[0], kind) : 0;
    for (size_t w = 1; w < n; w++) {
        if (timeline_count_of(k, workers[w], kind) != count) {
            return fail_unequal(k, workers[w], workers[0], kind);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (size_t w = 0; w < n; w++) {
            k->other[w] = nth(k, workers[w], kind, i);
        }
        ps_step_graph_join(g, k->other, n);
    }
    return true;
}

static bool join_transfers(making *k, ps_step_graph *g, uint32_t sender, ps_worker_op send,
                           uint32_t receiver, ps_worker_op receive) {
    uint32_t n = timeline_count_of(k, sender, send);
    if (n != timeline_count_of(k, receiver, receive)) {
        return fail_count(k, receiver, receive, timeline_count_of(k, receiver, receive), n, send);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t pair[] = {nth(k, sender, send, i), nth(k, receiver, receive, i)};
        ps_step_graph_join(g, pair, 2);
    }
    return true;
}

/* Stages in a circle, as far as chunks go round it. */
static bool join_all_transfers(making *k, ps_step_graph *g) {
    ps_job_steps *js = k->js;
    bool ok = true;
    for (uint32_t w = 0; ok && w < js->n_workers; w++) {
        const ps_job_worker *a = &js->workers[w];
        uint32_t next = worker_at(js, (a->stage + 1) % js->n_stages, a->replica, a->tp);
        ok = next == w ||
             (join_transfers(k, g, w, PS_WORKER_FORWARD_SEND, next, PS_WORKER_FORWARD_RECV) &&
              join_transfers(k, g, next, PS_WORKER_BACKWARD_SEND, w, PS_WORKER_BACKWARD_RECV));
    }
    return ok;
}

static bool join_replicas(making *k, ps_step_graph *g) {
    static const ps_worker_op KINDS[] = {PS_WORKER_PARAMS, PS_WORKER_GRADS, PS_WORKER_SEPARATE};
    ps_job_steps *js = k->js;
    bool ok = true;
    for (int32_t stage = 0; ok && stage < js->n_stages; stage++) {
        for (int32_t tp = 0; ok && tp < js->n_tp; tp++) {
            for (int32_t d = 0; d < js->n_replicas; d++) {
                k->list[d] = worker_at(js, stage, d, tp);
            }
            for (size_t i = 0; ok && i < sizeof KINDS / sizeof *KINDS; i++) {
                ok = join_workers(k, g, k->list, (size_t)js->n_replicas, KINDS[i]);
            }
        }
    }
    return ok;
}

/* The embedding meets on the first and the last stage of a replica, clipping on all workers. */
static bool join_others(making *k, ps_step_graph *g) {
    ps_job_steps *js = k->js;
    bool ok = true;
    for (int32_t d = 0; ok && d < js->n_replicas && js->n_stages > 1; d++) {
        for (int32_t tp = 0; ok && tp < js->n_tp; tp++) {
            const uint32_t ends[] = {worker_at(js, 0, d, tp),
                                     worker_at(js, js->n_stages - 1, d, tp)};
            ok = join_workers(k, g, ends, 2, PS_WORKER_EMBEDDING);
        }
    }
    for (uint32_t w = 0; w < js->n_workers; w++) {
        k->list[w] = w;
    }
    return ok && join_workers(k, g, k->list, js->n_workers, PS_WORKER_CLIP);
}

/* --- the graph of a step ---------------------------------------------------------------------------------------------- */

static int32_t last_chunk(const ps_job_op *ops, uint32_t n) {
    int32_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        last = ops[i].chunk > last ? ops[i].chunk : last;
    }
    return last;
}

static bool connect_worker(making *k, ps_step_graph *g, const ps_job_op *ops, uint32_t worker,
                           int32_t end_chunk) {
    static const ps_worker_op TRANSFERS[] = {PS_WORKER_FORWARD_SEND, PS_WORKER_FORWARD_RECV,
                                             PS_WORKER_BACKWARD_SEND, PS_WORKER_BACKWARD_RECV};
    int32_t end_stage = k->js->n_stages - 1;
    const direction forward = {
        PS_WORKER_FORWARD, PS_WORKER_FORWARD_RECV, PS_WORKER_FORWARD_SEND, 0, 0, end_stage,
        end_chunk};
    const direction backward = {PS_WORKER_BACKWARD,
                                PS_WORKER_BACKWARD_RECV,
                                PS_WORKER_BACKWARD_SEND,
                                end_stage,
                                end_chunk,
                                0,
                                0};
    uint32_t first = k->chain[worker];
    for (uint32_t i = first + 1; i < first + n_computing(k, worker); i++) {
        ps_step_graph_wait(g, i, i - 1, false);
    }
    for (size_t i = 0; i < sizeof TRANSFERS / sizeof *TRANSFERS; i++) {
        chain_kind(k, g, worker, TRANSFERS[i]);
    }
    bool ok = wait_for_transfers(k, g, ops, worker, &forward) &&
              wait_for_transfers(k, g, ops, worker, &backward);
    wait_for_warmup(k, g, ops, worker);
    wait_for_params(k, g, ops, worker);
    wait_for_timeline_end(k, g, ops, worker);
    return ok;
}

/* NULL with PS_OK: the step is not whole (why_left_out). */
static ps_code connect_timeline_step(making *k, const ps_job_op *ops, uint32_t n,
                                     ps_step_graph **out) {
    ps_step_graph *g = ps_step_graph_new(n);
    *out = NULL;
    if (g == NULL) {
        return ps_fail_nomem(k->err);
    }
    index_step(k, ops, n);
    int32_t end_chunk = last_chunk(ops, n);
    bool ok = have_equal_counts(k);
    for (uint32_t w = 0; ok && w < k->js->n_workers; w++) {
        ok = n_computing(k, w) > 0;
        if (!ok) {
            char who[96];
            (void)snprintf(k->why, sizeof k->why, "%s computes nothing",
                           describe_worker(&k->js->workers[w], who));
        }
        ok = ok && connect_worker(k, g, ops, w, end_chunk);
    }
    ok = ok && join_all_transfers(k, g) && join_replicas(k, g) && join_others(k, g);
    ps_graph_circle circle = {0};
    ps_code code = ok ? ps_step_graph_seal(g, &circle, k->err) : PS_OK;
    if (code == PS_NOTHING) {
        const ps_job_op *op = &ops[circle.ops[0]];
        char who[96];
        (void)snprintf(k->why, sizeof k->why, "%s %u of %s waits for itself, through %zu others",
                       ps_worker_op_name((ps_worker_op)op->kind), (unsigned)op->order,
                       describe_worker(&k->js->workers[op->worker], who), circle.n - 1);
        code = PS_OK;
        ok = false;
    }
    ps_free(circle.ops);
    if (code == PS_OK && ok) {
        *out = g;
    } else {
        ps_step_graph_free(g);
    }
    return code;
}

/* Whether both steps have the same ops: then one graph is theirs. */
static bool same_ops(const ps_job_op *a, const ps_job_op *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].worker != b[i].worker || a[i].kind != b[i].kind || a[i].chunk != b[i].chunk) {
            return false;
        }
    }
    return true;
}

/* --- all steps -------------------------------------------------------------------------------------------------------- */

static const ps_timeline_window *window_of(const ps_timeline *const *timelines, size_t n,
                                           int64_t step) {
    for (size_t w = 0; w < n; w++) {
        for (size_t i = 0; i < timelines[w]->n_windows; i++) {
            if (timelines[w]->windows[i].step == step) {
                return &timelines[w]->windows[i];
            }
        }
    }
    return NULL;
}

static bool place_timeline_ops(making *k, const ps_timeline *const *timelines) {
    size_t n = 0;
    for (size_t w = 0; w < k->js->n_workers; w++) {
        n += timelines[w]->n;
    }
    k->placed = ps_realloc_array(NULL, n + 1, sizeof *k->placed);
    for (size_t w = 0; k->placed != NULL && w < k->js->n_workers; w++) {
        for (size_t i = 0; i < timelines[w]->n; i++) {
            const ps_timeline_op *op = &timelines[w]->ops[i];
            k->placed[k->n++] = (placed_op){op->step, op, (uint32_t)w};
        }
    }
    if (k->n > 1) {
        qsort(k->placed, k->n, sizeof *k->placed, order_placed);
    }
    return k->placed != NULL;
}

static void copy_step(making *k, size_t first, size_t n, ps_job_op *out) {
    for (size_t i = 0; i < n; i++) {
        const placed_op *p = &k->placed[first + i];
        bool same = i > 0 && out[i - 1].worker == p->worker && out[i - 1].kind == p->op->kind;
        out[i] = (ps_job_op){.start_ns = p->op->start_ns,
                             .end_ns = p->op->end_ns,
                             .worker = p->worker,
                             .order = same ? out[i - 1].order + 1 : 0,
                             .microbatch = p->op->microbatch,
                             .chunk = p->op->chunk,
                             .kind = p->op->kind};
    }
}

/* An op alone takes its length. Ops of a group take what passes from the latest start of any of them to their own end: before that
 * they wait. */
static void measure_durations(making *k, ps_job_op *ops, const ps_step_graph *g) {
    uint32_t n = ps_step_graph_n_ops(g);
    for (uint32_t i = 0; i < n; i++) {
        k->latest[i] = INT64_MIN;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = ps_step_graph_group(g, i);
        if (group != PS_NO_GROUP && ops[i].start_ns > k->latest[group]) {
            k->latest[group] = ops[i].start_ns;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = ps_step_graph_group(g, i);
        int64_t from_ns = group != PS_NO_GROUP ? k->latest[group] : ops[i].start_ns;
        ops[i].duration_ns = ops[i].end_ns > from_ns ? ops[i].end_ns - from_ns : 0;
    }
}

static void leave_timeline_step_out(making *k, int64_t step) {
    ps_job_steps *js = k->js;
    if (js->n_left_out++ == 0) {
        (void)snprintf(js->why_left_out, sizeof js->why_left_out, "step %lld: %s", (long long)step,
                       k->why);
    }
}

static ps_code add_timeline_step(making *k, const ps_timeline *const *timelines, size_t first,
                                 uint32_t n) {
    ps_job_steps *js = k->js;
    if (!ps_grow(&js->ops, &js->cap_ops, js->n_ops + n, SIZE_MAX / sizeof *js->ops,
                 sizeof *js->ops) ||
        !ps_grow(&js->steps, &js->cap_steps, js->n_steps + 1, UINT32_MAX, sizeof *js->steps)) {
        return ps_fail_nomem(k->err);
    }
    ps_job_op *ops = &js->ops[js->n_ops];
    int64_t number = k->placed[first].step;
    copy_step(k, first, n, ops);
    const ps_job_step *before = js->n_steps > 0 ? &js->steps[js->n_steps - 1] : NULL;
    bool is_same = before != NULL && ps_step_graph_n_ops(before->graph) == n &&
                   same_ops(&js->ops[before->first], ops, n);
    ps_step_graph *graph = is_same ? before->graph : NULL;
    ps_code code = is_same ? PS_OK : connect_timeline_step(k, ops, n, &graph);
    if (code != PS_OK || graph == NULL) {
        leave_timeline_step_out(k, number);
        return code;
    }
    measure_durations(k, ops, graph);
    const ps_timeline_window *window = window_of(timelines, js->n_workers, number);
    js->steps[js->n_steps++] = (ps_job_step){.step = number,
                                             .begin_ns = window != NULL ? window->start_ns : 0,
                                             .end_ns = window != NULL ? window->end_ns : 0,
                                             .first = js->n_ops,
                                             .graph = graph};
    js->n_ops += n;
    return PS_OK;
}

static size_t largest_step(const making *k) {
    size_t most = 0;
    size_t first = 0;
    for (size_t i = 0; i < k->n; i++) {
        first = k->placed[i].step == k->placed[first].step ? first : i;
        most = i - first + 1 > most ? i - first + 1 : most;
    }
    return most;
}

static bool making_init(making *k) {
    size_t n_workers = k->js->n_workers;
    size_t most = largest_step(k) + n_workers + 2;
    k->starts = ps_calloc(n_workers * PS_N_WORKER_OPS + 1, sizeof *k->starts);
    k->counts = ps_calloc(n_workers * PS_N_WORKER_OPS + 1, sizeof *k->counts);
    k->chain = ps_calloc(n_workers + 1, sizeof *k->chain);
    k->list = ps_calloc(most, sizeof *k->list);
    k->other = ps_calloc(most, sizeof *k->other);
    k->latest = ps_calloc(most, sizeof *k->latest);
    return k->starts != NULL && k->counts != NULL && k->chain != NULL && k->list != NULL &&
           k->other != NULL && k->latest != NULL && most < UINT32_MAX;
}

static void making_fini(making *k) {
    ps_free(k->placed);
    ps_free(k->starts);
    ps_free(k->counts);
    ps_free(k->chain);
    ps_free(k->list);
    ps_free(k->other);
    ps_free(k->latest);
}

/* Workers stand where stage, replica and tp say; every place has one. */
static bool is_grid(const ps_job_steps *js) {
    bool ok = js->n_workers == (size_t)js->n_stages * (size_t)js->n_replicas * (size_t)js->n_tp;
    for (size_t w = 0; ok && w < js->n_workers; w++) {
        const ps_job_worker *at = &js->workers[w];
        ok = worker_at(js, at->stage, at->replica, at->tp) == w;
    }
    return ok;
}

static void measure_grid(ps_job_steps *js) {
    for (size_t w = 0; w < js->n_workers; w++) {
        const ps_job_worker *at = &js->workers[w];
        js->n_stages = at->stage >= js->n_stages ? at->stage + 1 : js->n_stages;
        js->n_replicas = at->replica >= js->n_replicas ? at->replica + 1 : js->n_replicas;
        js->n_tp = at->tp >= js->n_tp ? at->tp + 1 : js->n_tp;
    }
}

ps_code ps_worker_steps_make(const ps_timeline *const *timelines, ps_job_worker *workers,
                             size_t n_workers, ps_job_steps *out, ps_err *err) {
    *out = (ps_job_steps){.workers = workers, .n_workers = n_workers, .has_comm = true};
    making k = {.js = out, .err = err};
    measure_grid(out);
    if (!is_grid(out)) {
        return ps_fail(
            err, PS_NOTHING,
            "%zu workers do not fill %d stages x %d replicas x %d: a worker of the job is "
            "missing, and its waits cannot be told",
            n_workers, (int)out->n_stages, (int)out->n_replicas, (int)out->n_tp);
    }
    ps_code code =
        place_timeline_ops(&k, timelines) && making_init(&k) ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < k.n;) {
        size_t end = i;
        while (end < k.n && k.placed[end].step == k.placed[i].step) {
            end++;
        }
        code = add_timeline_step(&k, timelines, i, (uint32_t)(end - i));
        i = end;
    }
    making_fini(&k);
    if (code == PS_OK && out->n_steps == 0) {
        code = ps_fail(err, PS_NOTHING, "no step is whole: %s", out->why_left_out);
    }
    return code;
}
