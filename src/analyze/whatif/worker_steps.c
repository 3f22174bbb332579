#include "analyze/whatif/worker_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/whatif/timeline_slices.h"
#include "analyze/whatif/worker_clocks.h"
#include "analyze/whatif/worker_rows.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/threads.h"

/* Of a list whose ops name no step. */
#define NO_STEP INT64_MIN

/* Workers and groups of a step are shared out to threads in so many turns. */
enum { TURNS = 64 };

/* --- reading one worker -------------------------------------------------------------------------------------------- */

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
    *out = (ps_timeline){.ops = *ps_trace_worker_ops(trace)};
    ps_arena_init(&out->arena);
    if (out->ops.n_lists == 0 && ps_trace_slices(trace)->n > 0 &&
        !ps_timeline_ops_of_slices(trace, &out->arena, &out->ops)) {
        return false;
    }
    for (size_t i = 0; i < out->ops.n_lists; i++) {
        const ps_worker_list *list = &out->ops.lists[i];
        size_t *n = list->step != NO_STEP ? &out->n : &out->n_without_step;
        *n += list->n_known;
    }
    return read_windows(trace, out);
}

void ps_timeline_fini(ps_timeline *t) {
    ps_free(t->windows);
    ps_arena_fini(&t->arena);
    *t = (ps_timeline){0};
}

/* --- the steps of all workers -------------------------------------------------------------------------------------- */

typedef struct making {
    ps_job_steps *js;
    const ps_timeline *const *timelines;
    bool with_starts;
    ps_err *err;
    uint32_t *
        starts; /* [n_workers * PS_N_WORKER_OPS + 1] first op of each worker and kind but computing */
    uint32_t *counts; /* [n_workers * PS_N_WORKER_OPS] */
    uint32_t *chain;  /* [n_workers + 1] first op of each worker: its computing */
    size_t *next;     /* [n_workers] list that is not taken yet */
    /* Of the step in hand. */
    const ps_job_step *before; /* the one before it that stays; NULL none */
    ps_step_lists *lists;      /* [n_workers] */
    size_t *first;             /* [n_workers + 1] op of each worker */
    ps_job_op *ops;
    int64_t *start_ns;    /* measured */
    int64_t *duration_ns; /* at first how long ops took with their waits; then by themselves */
    size_t n, cap_ops, cap_starts;
    bool same_ops, same_microbatches; /* as the one before */
    const ps_step_graph *graph;
    int32_t end_chunk; /* the highest */
    bool is_v;         /* microbatches come back over the stages they went over */
    bool failed;       /* memory is out, on some thread */
    uint32_t *list, *other;
    size_t cap_list, cap_other;
    ps_clock_doubt *doubts; /* [TURNS * 2 * n_workers] of what each sends forward, and backward */
    char why[240];          /* the step in hand is left out */
} making;

static uint32_t worker_at(const ps_job_steps *js, int32_t stage, int32_t replica, int32_t tp) {
    return (uint32_t)(((size_t)stage * (size_t)js->n_replicas + (size_t)replica) *
                          (size_t)js->n_tp +
                      (size_t)tp);
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

/* --- the way of a microbatch -------------------------------------------------------------------------------------------------
 *
 * Through the pieces of the model: from stage to stage, and from the last one to the next chunk of the first (a circle), or of the
 * last itself, and so back (V): then it stays on that stage, and nothing is sent. */

/* Whether what the piece computes forward passes to another stage. */
static bool passes_on(const making *k, int32_t stage, int32_t chunk) {
    int32_t end_stage = k->js->n_stages - 1;
    return k->is_v ? stage != (chunk % 2 == 0 ? end_stage : 0)
                   : stage != end_stage || chunk != k->end_chunk;
}

/* Whether what it needs for that comes from another stage. */
static bool is_passed_to(const making *k, int32_t stage, int32_t chunk) {
    return k->is_v ? stage != (chunk % 2 == 0 ? 0 : k->js->n_stages - 1) : stage != 0 || chunk != 0;
}

/* Ops of one direction: those of the model forward, or backward, where everything passes the other way. */
typedef struct direction {
    ps_worker_op compute, receive, send;
    bool is_forward;
} direction;

static const direction FORWARD = {PS_WORKER_FORWARD, PS_WORKER_FORWARD_RECV, PS_WORKER_FORWARD_SEND,
                                  true};
static const direction BACKWARD = {PS_WORKER_BACKWARD, PS_WORKER_BACKWARD_RECV,
                                   PS_WORKER_BACKWARD_SEND, false};

/* Chunks that pass upwards in a V, or down: even and odd ones. */
typedef enum leg { ALL_LEGS = -1, UP, DOWN } leg;

/* The computing of a worker that takes what is passed to it, or sends what it passes on, and by number among their kind the transfers
 * that belong to it. Either list may be NULL. */
static uint32_t list_transferring(const making *k, const ps_job_op *ops, uint32_t worker,
                                  const direction *d, bool sends, leg on, uint32_t *computing,
                                  uint32_t *transfers) {
    uint32_t first = k->chain[worker];
    int32_t stage = k->js->workers[worker].stage;
    uint32_t number = 0;
    uint32_t n = 0;
    for (uint32_t i = first; i < first + n_computing(k, worker); i++) {
        int32_t chunk = ops[i].chunk < 0 ? 0 : ops[i].chunk;
        bool has =
            sends == d->is_forward ? passes_on(k, stage, chunk) : is_passed_to(k, stage, chunk);
        if (ops[i].kind != d->compute || !has) {
            continue;
        }
        if (on == ALL_LEGS || chunk % 2 == (int32_t)on) {
            if (computing != NULL) {
                computing[n] = i;
            }
            if (transfers != NULL) {
                transfers[n] = number;
            }
            n++;
        }
        number++;
    }
    return n;
}

/* Where microbatches go in a V the last stage receives only those of the way up: what comes down again was there. */
static bool goes_in_v(making *k, const ps_job_op *ops, uint32_t worker) {
    uint32_t n_received = timeline_count_of(k, worker, PS_WORKER_FORWARD_RECV);
    k->is_v = false;
    uint32_t n_in_circle = list_transferring(k, ops, worker, &FORWARD, false, ALL_LEGS, NULL, NULL);
    k->is_v = k->js->n_stages > 1 && k->end_chunk > 0;
    uint32_t n_in_v = list_transferring(k, ops, worker, &FORWARD, false, ALL_LEGS, NULL, NULL);
    return k->is_v && n_received != n_in_circle && n_received == n_in_v;
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
    (void)snprintf(k->why, sizeof k->why,
                   PS_SAY(k->js->lang, "%s has %u %s for %u %s that need one",
                          "%s 有 %u 个 %s，而 %u 个 %s 各需一个"),
                   ps_job_describe_worker(k->js->lang, &k->js->workers[worker], who), n,
                   ps_worker_op_name(kind), wanted, ps_worker_op_name(of));
    return false;
}

/* receive i -> compute i; compute i - 1 -> receive i; compute i -> send i. False when the counts do not agree. */
static bool wait_for_transfers(making *k, ps_step_graph *g, const ps_job_op *ops, uint32_t worker,
                               const direction *d) {
    uint32_t n = list_transferring(k, ops, worker, d, false, ALL_LEGS, k->list, NULL);
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
    n = list_transferring(k, ops, worker, d, true, ALL_LEGS, k->list, NULL);
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

static bool fail_unequal(making *k, uint32_t worker, uint32_t other, ps_worker_op kind) {
    char who[96];
    char than[96];
    (void)snprintf(k->why, sizeof k->why,
                   PS_SAY(k->js->lang, "%s has %u %s, %s has %u", "%s 有 %u 个 %s，%s 有 %u 个"),
                   ps_job_describe_worker(k->js->lang, &k->js->workers[worker], who),
                   timeline_count_of(k, worker, kind), ps_worker_op_name(kind),
                   ps_job_describe_worker(k->js->lang, &k->js->workers[other], than),
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

static bool join_leg(making *k, ps_step_graph *g, const ps_job_op *ops, uint32_t sender,
                     uint32_t receiver, const direction *d, leg on) {
    uint32_t n = list_transferring(k, ops, sender, d, true, on, NULL, k->list);
    uint32_t n_received = list_transferring(k, ops, receiver, d, false, on, NULL, k->other);
    if (n != n_received) {
        return fail_count(k, receiver, d->receive, n_received, n, d->send);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t pair[] = {nth(k, sender, d->send, k->list[i]),
                                 nth(k, receiver, d->receive, k->other[i])};
        ps_step_graph_join(g, pair, 2);
    }
    return true;
}

/* Neighbours, as far as chunks go round the circle, or up and down. */
static bool join_all_transfers(making *k, ps_step_graph *g, const ps_job_op *ops) {
    ps_job_steps *js = k->js;
    bool ok = true;
    for (uint32_t w = 0; ok && w < js->n_workers; w++) {
        const ps_job_worker *a = &js->workers[w];
        uint32_t next = worker_at(js, (a->stage + 1) % js->n_stages, a->replica, a->tp);
        if (k->is_v) {
            ok = a->stage == js->n_stages - 1 || (join_leg(k, g, ops, w, next, &FORWARD, UP) &&
                                                  join_leg(k, g, ops, next, w, &FORWARD, DOWN) &&
                                                  join_leg(k, g, ops, next, w, &BACKWARD, UP) &&
                                                  join_leg(k, g, ops, w, next, &BACKWARD, DOWN));
        } else {
            ok = next == w ||
                 (join_transfers(k, g, w, PS_WORKER_FORWARD_SEND, next, PS_WORKER_FORWARD_RECV) &&
                  join_transfers(k, g, next, PS_WORKER_BACKWARD_SEND, w, PS_WORKER_BACKWARD_RECV));
        }
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

static bool connect_worker(making *k, ps_step_graph *g, const ps_job_op *ops, uint32_t worker) {
    static const ps_worker_op TRANSFERS[] = {PS_WORKER_FORWARD_SEND, PS_WORKER_FORWARD_RECV,
                                             PS_WORKER_BACKWARD_SEND, PS_WORKER_BACKWARD_RECV};
    uint32_t first = k->chain[worker];
    for (uint32_t i = first + 1; i < first + n_computing(k, worker); i++) {
        ps_step_graph_wait(g, i, i - 1, false);
    }
    for (size_t i = 0; i < sizeof TRANSFERS / sizeof *TRANSFERS; i++) {
        chain_kind(k, g, worker, TRANSFERS[i]);
    }
    bool ok = wait_for_transfers(k, g, ops, worker, &FORWARD) &&
              wait_for_transfers(k, g, ops, worker, &BACKWARD);
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
    k->end_chunk = last_chunk(ops, n);
    k->is_v = goes_in_v(k, ops, worker_at(k->js, k->js->n_stages - 1, 0, 0));
    bool ok = have_equal_counts(k);
    for (uint32_t w = 0; ok && w < k->js->n_workers; w++) {
        ok = n_computing(k, w) > 0;
        if (!ok) {
            char who[96];
            (void)snprintf(k->why, sizeof k->why,
                           PS_SAY(k->js->lang, "%s computes nothing", "%s 没有计算"),
                           ps_job_describe_worker(k->js->lang, &k->js->workers[w], who));
        }
        ok = ok && connect_worker(k, g, ops, w);
    }
    ok = ok && join_all_transfers(k, g, ops) && join_replicas(k, g) && join_others(k, g);
    ps_graph_circle circle = {0};
    ps_code code = ok ? ps_step_graph_seal(g, &circle, k->err) : PS_OK;
    if (code == PS_NOTHING) {
        const ps_job_op *op = &ops[circle.ops[0]];
        char who[96];
        (void)snprintf(k->why, sizeof k->why,
                       PS_SAY(k->js->lang, "%s %u of %s waits for itself, through %zu others",
                              "算子 %s %u（%s）循环等待自身，途经另外 %zu 个"),
                       ps_worker_op_name((ps_worker_op)op->kind), (unsigned)op->order,
                       ps_job_describe_worker(k->js->lang, &k->js->workers[op->worker], who),
                       circle.n - 1);
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

/* --- the ops of one step ------------------------------------------------------------------------------------------------ */

/* Where ops are the same in the step before, they have one graph. */
static void compare_ops(making *k, size_t from, size_t end) {
    const ps_job_op *before = k->before->ops;
    bool same_ops = true;
    bool same_microbatches = true;
    for (size_t i = from; i < end; i++) {
        const ps_job_op *a = &k->ops[i];
        const ps_job_op *b = &before[i];
        same_ops = same_ops && a->worker == b->worker && a->kind == b->kind && a->chunk == b->chunk;
        same_microbatches = same_microbatches && a->microbatch == b->microbatch;
    }
    if (!same_ops) {
        __atomic_store_n(&k->same_ops, false, __ATOMIC_RELAXED);
    }
    if (!same_microbatches) {
        __atomic_store_n(&k->same_microbatches, false, __ATOMIC_RELAXED);
    }
}

/* Of n things those of one turn: from *from on, before *end. */
static void things_of_turn(size_t n, size_t turn, size_t *from, size_t *end) {
    *from = n / TURNS * turn + (turn < n % TURNS ? turn : n % TURNS);
    *end = *from + n / TURNS + (turn < n % TURNS);
}

static void put_some_workers(void *context, size_t turn) {
    making *k = context;
    ps_rows_room room = {0};
    size_t w = 0;
    size_t end = 0;
    things_of_turn(k->js->n_workers, turn, &w, &end);
    for (bool ok = true; ok && w < end; w++) {
        size_t at = k->first[w];
        ok = ps_worker_rows_put(&k->lists[w], (uint32_t)w, &room, k->ops + at, k->start_ns + at,
                                k->duration_ns + at);
        if (!ok) {
            __atomic_store_n(&k->failed, true, __ATOMIC_RELAXED);
        } else if (k->same_ops) {
            compare_ops(k, at, k->first[w + 1]);
        }
    }
    ps_rows_room_fini(&room);
}

/* False when memory is out. */
static bool put_step(making *k, int64_t step) {
    k->n = 0;
    for (size_t w = 0; w < k->js->n_workers; w++) {
        k->lists[w] = ps_step_lists_from(&k->timelines[w]->ops, k->next[w], step);
        k->next[w] += k->lists[w].n;
        k->first[w] = k->n;
        k->n += k->lists[w].n_ops;
    }
    k->first[k->js->n_workers] = k->n;
    k->duration_ns = ps_realloc_array(NULL, k->n + 1, sizeof *k->duration_ns);
    if (k->duration_ns == NULL ||
        !ps_grow(&k->ops, &k->cap_ops, k->n + 1, UINT32_MAX - 1, sizeof *k->ops) ||
        !ps_grow(&k->start_ns, &k->cap_starts, k->n + 1, UINT32_MAX - 1, sizeof *k->start_ns)) {
        return false;
    }
    k->same_ops = k->before != NULL && ps_job_step_n_ops(k->before) == k->n;
    k->same_microbatches = k->same_ops;
    ps_parallel(TURNS, ps_job_threads(k->n), put_some_workers, k);
    return !k->failed;
}

/* --- what ops take by themselves ----------------------------------------------------------------------------------------- */

/* Ops of a group take what passes from the latest start of any of them to their own end: before that they wait. */
static void measure_group(making *k, const uint32_t *members, size_t n, ps_clock_doubt *doubts) {
    int64_t latest_ns = INT64_MIN;
    int64_t earliest_ns = INT64_MAX;
    for (size_t m = 0; m < n; m++) {
        int64_t start_ns = k->start_ns[members[m]];
        int64_t end_ns = start_ns + k->duration_ns[members[m]];
        latest_ns = start_ns > latest_ns ? start_ns : latest_ns;
        earliest_ns = end_ns < earliest_ns ? end_ns : earliest_ns;
    }
    for (size_t m = 0; m < n; m++) {
        uint32_t op = members[m];
        int64_t end_ns = k->start_ns[op] + k->duration_ns[op];
        k->duration_ns[op] = end_ns > latest_ns ? end_ns - latest_ns : 0;
        ps_clock_doubts_add(doubts, &k->ops[op], latest_ns - earliest_ns);
    }
}

static void measure_some_groups(void *context, size_t turn) {
    making *k = context;
    size_t group = 0;
    size_t end = 0;
    things_of_turn(ps_step_graph_n_groups(k->graph), turn, &group, &end);
    for (; group < end; group++) {
        size_t n = 0;
        const uint32_t *members = ps_step_graph_members(k->graph, (uint32_t)group, &n);
        measure_group(k, members, n, k->doubts + turn * 2 * k->js->n_workers);
    }
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

static void leave_timeline_step_out(making *k, int64_t step) {
    ps_job_steps *js = k->js;
    if (js->n_left_out++ == 0) {
        (void)snprintf(js->why_left_out, sizeof js->why_left_out,
                       PS_SAY(js->lang, "step %lld: %s", "step %lld：%s"), (long long)step, k->why);
    }
}

/* What of the step stays; ops that another step has, too, are its. False when memory is out. */
static bool keep_step(making *k, ps_job_step *step) {
    size_t n = k->n;
    bool shares = k->before != NULL && k->before->graph == step->graph && k->same_microbatches;
    ps_job_op *own = shares ? NULL : ps_realloc_array(NULL, n + 1, sizeof *own);
    step->ops = shares ? k->before->ops : own;
    step->start_ns = k->with_starts ? ps_realloc_array(NULL, n + 1, sizeof *step->start_ns) : NULL;
    if (step->ops == NULL || (k->with_starts && step->start_ns == NULL)) {
        ps_free(own);
        ps_free(step->start_ns);
        return false;
    }
    if (own != NULL) {
        memcpy(own, k->ops, n * sizeof *own);
    }
    if (k->with_starts) {
        memcpy(step->start_ns, k->start_ns, n * sizeof *step->start_ns);
    }
    k->graph = step->graph;
    ps_parallel(TURNS, ps_job_threads(k->n), measure_some_groups, k);
    step->duration_ns = k->duration_ns;
    k->duration_ns = NULL;
    return true;
}

static bool widen_scratch(making *k) {
    size_t most = k->n + k->js->n_workers + 2;
    return ps_grow(&k->list, &k->cap_list, most, UINT32_MAX - 1, sizeof *k->list) &&
           ps_grow(&k->other, &k->cap_other, most, UINT32_MAX - 1, sizeof *k->other);
}

/* The graph of the step before where the ops are the same; NULL with PS_OK: the step is not whole. */
static ps_code find_graph(making *k, ps_step_graph **out) {
    *out = k->same_ops ? k->before->graph : NULL;
    return k->same_ops ? PS_OK : connect_timeline_step(k, k->ops, (uint32_t)k->n, out);
}

static ps_code add_put_step(making *k, int64_t number) {
    ps_job_steps *js = k->js;
    const ps_timeline_window *window = window_of(k->timelines, js->n_workers, number);
    ps_job_step step = {.step = number,
                        .begin_ns = window != NULL ? window->start_ns : 0,
                        .end_ns = window != NULL ? window->end_ns : 0};
    ps_code code = widen_scratch(k) ? find_graph(k, &step.graph) : ps_fail_nomem(k->err);
    if (code != PS_OK || step.graph == NULL) {
        leave_timeline_step_out(k, number);
        return code;
    }
    if (!keep_step(k, &step)) {
        ps_step_graph_free(k->same_ops ? NULL : step.graph);
        return ps_fail_nomem(k->err);
    }
    js->steps[js->n_steps++] = step;
    return PS_OK;
}

static ps_code add_timeline_step(making *k, int64_t number) {
    ps_job_steps *js = k->js;
    if (!ps_grow(&js->steps, &js->cap_steps, js->n_steps + 1, UINT32_MAX, sizeof *js->steps)) {
        return ps_fail_nomem(k->err);
    }
    k->before = js->n_steps > 0 ? &js->steps[js->n_steps - 1] : NULL;
    ps_code code = put_step(k, number) ? PS_OK : ps_fail_nomem(k->err);
    if (code == PS_OK && k->n > 0) { /* else no op that is known names it */
        code = add_put_step(k, number);
    }
    ps_free(k->duration_ns);
    k->duration_ns = NULL;
    return code;
}

/* The lowest number of a step that is not taken yet; NO_STEP: none. */
static int64_t next_step(const making *k) {
    int64_t lowest = NO_STEP;
    for (size_t w = 0; w < k->js->n_workers; w++) {
        const ps_worker_ops *ops = &k->timelines[w]->ops;
        if (k->next[w] < ops->n_lists) {
            int64_t step = ops->lists[k->next[w]].step;
            lowest = lowest == NO_STEP || step < lowest ? step : lowest;
        }
    }
    return lowest;
}

static bool making_init(making *k) {
    size_t n_workers = k->js->n_workers;
    k->starts = ps_calloc(n_workers * PS_N_WORKER_OPS + 1, sizeof *k->starts);
    k->counts = ps_calloc(n_workers * PS_N_WORKER_OPS + 1, sizeof *k->counts);
    k->chain = ps_calloc(n_workers + 1, sizeof *k->chain);
    k->next = ps_calloc(n_workers + 1, sizeof *k->next);
    k->lists = ps_calloc(n_workers + 1, sizeof *k->lists);
    k->first = ps_calloc(n_workers + 1, sizeof *k->first);
    k->doubts = ps_calloc(TURNS * 2 * n_workers + 1, sizeof *k->doubts);
    bool ok = k->starts != NULL && k->counts != NULL && k->chain != NULL && k->next != NULL &&
              k->lists != NULL && k->first != NULL && k->doubts != NULL;
    for (size_t w = 0; ok && w < n_workers; w++) { /* those without a step are the first */
        const ps_worker_ops *ops = &k->timelines[w]->ops;
        while (k->next[w] < ops->n_lists && ops->lists[k->next[w]].step == NO_STEP) {
            k->next[w]++;
        }
    }
    return ok;
}

static void making_fini(making *k) {
    ps_free(k->starts);
    ps_free(k->counts);
    ps_free(k->chain);
    ps_free(k->next);
    ps_free(k->lists);
    ps_free(k->first);
    ps_free(k->ops);
    ps_free(k->start_ns);
    ps_free(k->list);
    ps_free(k->other);
    ps_free(k->doubts);
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
                             size_t n_workers, bool with_starts, ps_lang lang, ps_job_steps *out,
                             ps_err *err) {
    *out =
        (ps_job_steps){.workers = workers, .n_workers = n_workers, .has_comm = true, .lang = lang};
    making k = {.js = out, .timelines = timelines, .with_starts = with_starts, .err = err};
    measure_grid(out);
    if (!is_grid(out)) {
        return ps_fail(
            err, PS_NOTHING,
            PS_SAY(
                lang,
                "%zu workers do not fill %d stages x %d replicas x %d: a worker of the job is "
                "missing, and its waits cannot be told",
                "%zu 个 worker 填不满 %d 个阶段 × %d 个副本 × %d：作业缺少 worker，无法得知其等待"),
            n_workers, (int)out->n_stages, (int)out->n_replicas, (int)out->n_tp);
    }
    ps_code code = making_init(&k) ? PS_OK : ps_fail_nomem(err);
    for (int64_t step = 0; code == PS_OK && (step = next_step(&k)) != NO_STEP;) {
        code = add_timeline_step(&k, step);
    }
    if (code == PS_OK) {
        ps_clock_doubts_say(k.doubts, TURNS, out);
    }
    making_fini(&k);
    if (code == PS_OK && out->n_steps == 0) {
        code = ps_fail(err, PS_NOTHING, PS_SAY(lang, "no step is whole: %s", "没有完整的 step：%s"),
                       out->why_left_out);
    }
    return code;
}
