/* The plan is made in three passes over all lists:
 *
 *   1. number the ops and note which op makes which result: (logical stage, microbatch) -> forward, backward, ...
 *      A result made twice, or never, or by the wrong half, is a fault of the list.
 *   2. look up what each op needs from another stage.
 *   3. find an order in which all ops can run: devices are taken from a queue, each goes on along its list until
 *      something is missing; whoever makes a result puts the device that needs it back into the queue. An op is
 *      looked at once when it runs and once for each result that wakes its device, so the pass is linear.
 *
 * A run is then one walk along that order. */
#include "schedule/sim.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

/* Who makes what. A chunk of a device is a logical stage s; results are at [s * m + k]. */
typedef struct makers {
    uint32_t *forward;  /* F or FB */
    uint32_t *backward; /* B, BI or FB */
    uint32_t *weight;   /* BW */
    int32_t *owner;     /* [n_stages of the model] device */
    size_t n_logical;
    size_t m;
} makers;

static bool runs_forward(const ps_sched_op *op) {
    return op->kind == PS_OP_F || op->kind == PS_OP_FB;
}

static bool runs_backward(const ps_sched_op *op) {
    return op->kind == PS_OP_B || op->kind == PS_OP_BI || op->kind == PS_OP_FB;
}

static size_t forward_stage(const ps_sim_plan *plan, uint32_t op) {
    return (size_t)plan->schedule->logical_stage(&plan->params, plan->device[op], plan->ops[op].chunk);
}

static size_t backward_stage(const ps_sim_plan *plan, uint32_t op) {
    const ps_sched_op *o = &plan->ops[op];
    int32_t chunk = o->kind == PS_OP_FB ? o->chunk2 : o->chunk;
    return (size_t)plan->schedule->logical_stage(&plan->params, plan->device[op], chunk);
}

static size_t backward_microbatch(const ps_sched_op *op) {
    return (size_t)(op->kind == PS_OP_FB ? op->microbatch2 : op->microbatch);
}

static void free_makers(makers *mk) {
    ps_free(mk->forward);
    ps_free(mk->backward);
    ps_free(mk->weight);
    ps_free(mk->owner);
}

static bool init_makers(makers *mk, const ps_sim_plan *plan) {
    mk->m = (size_t)plan->params.n_microbatches;
    mk->n_logical = (size_t)plan->params.n_stages * (size_t)plan->schedule->n_chunks;
    size_t n = mk->n_logical * mk->m;
    mk->forward = ps_realloc_array(NULL, n, sizeof *mk->forward);
    mk->backward = ps_realloc_array(NULL, n, sizeof *mk->backward);
    mk->weight = ps_realloc_array(NULL, n, sizeof *mk->weight);
    mk->owner = ps_realloc_array(NULL, mk->n_logical, sizeof *mk->owner);
    if (mk->forward == NULL || mk->backward == NULL || mk->weight == NULL || mk->owner == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        mk->forward[i] = mk->backward[i] = mk->weight[i] = PS_NO_OP;
    }
    for (int32_t d = 0; d < plan->params.n_stages; d++) {
        for (int32_t c = 0; c < plan->schedule->n_chunks; c++) {
            mk->owner[plan->schedule->logical_stage(&plan->params, d, c)] = d;
        }
    }
    return true;
}

/* --- pass 1: lists ------------------------------------------------------------------------------------------------ */

static ps_code invalid(const ps_sim_plan *plan, uint32_t op, const char *what, ps_err *err) {
    char label[40];
    ps_mark_label(&plan->params, &plan->ops[op], label, sizeof label);
    return ps_fail(err, PS_INTERNAL, "schedule %s, device %d: op %zu (%s %s) %s", plan->schedule->name,
                   (int)plan->device[op], (size_t)op - plan->first[plan->device[op]],
                   ps_op_kind_name(plan->ops[op].kind), label, what);
}

static ps_code gather_lists(ps_sim_plan *plan, ps_err *err) {
    size_t p = (size_t)plan->params.n_stages;
    /* A model piece takes at least a forward and a backward, so this much is known before any list is made. */
    if (p * (size_t)plan->schedule->n_chunks * (size_t)plan->params.n_microbatches * 2 > PS_SIM_MAX_OPS) {
        return ps_fail(err, PS_RANGE, "%zu stages x %d microbatches are too many: a step may have at most %zu ops", p,
                       (int)plan->params.n_microbatches, PS_SIM_MAX_OPS);
    }
    ps_op_list all = {0};
    ps_code code = (plan->first = ps_calloc(p + 1, sizeof *plan->first)) == NULL ? ps_fail_nomem(err) : PS_OK;
    for (size_t d = 0; d < p && code == PS_OK; d++) {
        code = plan->schedule->order(&plan->params, (int32_t)d, &all, err);
        plan->first[d + 1] = all.n;
    }
    plan->ops = all.ops;
    plan->n_ops = (uint32_t)all.n;
    if (code != PS_OK) {
        return code;
    }
    plan->device = ps_realloc_array(NULL, all.n, sizeof *plan->device);
    if (plan->device == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t d = 0; d < p; d++) {
        for (size_t op = plan->first[d]; op < plan->first[d + 1]; op++) {
            plan->device[op] = (int32_t)d;
        }
    }
    return PS_OK;
}

static bool in_range(const ps_sim_plan *plan, int32_t chunk, int32_t microbatch) {
    return chunk >= 0 && chunk < plan->schedule->n_chunks && microbatch >= 0 &&
           microbatch < plan->params.n_microbatches;
}

static ps_code claim(const ps_sim_plan *plan, uint32_t *slot, uint32_t op, ps_err *err) {
    if (*slot != PS_NO_OP) {
        return invalid(plan, op, "does again what an earlier op did", err);
    }
    *slot = op;
    return PS_OK;
}

static ps_code note_makers(const ps_sim_plan *plan, makers *mk, ps_err *err) {
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        const ps_sched_op *o = &plan->ops[op];
        bool pair = o->kind == PS_OP_FB;
        if (!(runs_forward(o) || runs_backward(o) || o->kind == PS_OP_BW)) {
            return invalid(plan, op, "is of a kind that a schedule does not have", err);
        }
        if (!in_range(plan, o->chunk, o->microbatch) || (pair && !in_range(plan, o->chunk2, o->microbatch2))) {
            return invalid(plan, op, "has a chunk or microbatch that does not exist", err);
        }
        ps_code code = PS_OK;
        if (runs_forward(o)) {
            code = claim(plan, &mk->forward[forward_stage(plan, op) * mk->m + (size_t)o->microbatch], op, err);
        }
        if (code == PS_OK && runs_backward(o)) {
            code = claim(plan, &mk->backward[backward_stage(plan, op) * mk->m + backward_microbatch(o)], op, err);
        }
        if (code == PS_OK && o->kind == PS_OP_BW) {
            code = claim(plan, &mk->weight[forward_stage(plan, op) * mk->m + (size_t)o->microbatch], op, err);
        }
        if (code != PS_OK) {
            return code;
        }
    }
    return PS_OK;
}

/* Nothing missing: each forward, each backward, and a BW exactly where the backward is a BI. */
static ps_code check_complete(const ps_sim_plan *plan, const makers *mk, ps_err *err) {
    for (size_t i = 0; i < mk->n_logical * mk->m; i++) {
        const char *missing = NULL;
        if (mk->forward[i] == PS_NO_OP) {
            missing = "forward";
        } else if (mk->backward[i] == PS_NO_OP) {
            missing = "backward";
        } else if ((plan->ops[mk->backward[i]].kind == PS_OP_BI) != (mk->weight[i] != PS_NO_OP)) {
            missing = mk->weight[i] == PS_NO_OP ? "weight gradient" : "input gradient beside its weight gradient";
        }
        if (missing != NULL) {
            return ps_fail(err, PS_INTERNAL, "schedule %s: stage %zu has no %s of microbatch %zu",
                           plan->schedule->name, i / mk->m, missing, i % mk->m);
        }
    }
    return PS_OK;
}

/* --- pass 2: what ops need ---------------------------------------------------------------------------------------- */

static ps_code link_inputs(ps_sim_plan *plan, const makers *mk, ps_err *err) {
    plan->forward_input = ps_realloc_array(NULL, plan->n_ops, sizeof *plan->forward_input);
    plan->backward_input = ps_realloc_array(NULL, plan->n_ops, sizeof *plan->backward_input);
    if (plan->forward_input == NULL || plan->backward_input == NULL) {
        return ps_fail_nomem(err);
    }
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        const ps_sched_op *o = &plan->ops[op];
        plan->forward_input[op] = plan->backward_input[op] = PS_NO_OP;
        if (runs_forward(o)) {
            size_t stage = forward_stage(plan, op);
            if (stage > 0) {
                plan->forward_input[op] = mk->forward[(stage - 1) * mk->m + (size_t)o->microbatch];
            }
        }
        if (runs_backward(o)) {
            size_t stage = backward_stage(plan, op);
            size_t at = stage * mk->m + backward_microbatch(o);
            if (mk->forward[at] >= op) {
                return invalid(plan, op, "comes before the forward it belongs to", err);
            }
            if (stage + 1 < mk->n_logical) {
                plan->backward_input[op] = mk->backward[at + mk->m];
            }
        }
        if (o->kind == PS_OP_BW && mk->backward[forward_stage(plan, op) * mk->m + (size_t)o->microbatch] > op) {
            return invalid(plan, op, "comes before the input gradient it belongs to", err);
        }
    }
    return PS_OK;
}

/* --- pass 3: an order in which all can run ------------------------------------------------------------------------ */

typedef struct worklist {
    int32_t *ring; /* [p] devices that may be able to go on; each at most once */
    bool *queued;  /* [p] */
    size_t head, n, p;
    uint32_t *next; /* [p] next op of each device */
    bool *done;     /* [n_ops] */
} worklist;

static void wake(worklist *w, int32_t device) {
    if (!w->queued[device]) {
        w->queued[device] = true;
        w->ring[(w->head + w->n++) % w->p] = device;
    }
}

static int32_t take(worklist *w) {
    int32_t device = w->ring[w->head];
    w->head = (w->head + 1) % w->p;
    w->n--;
    w->queued[device] = false;
    return device;
}

static bool is_ready(const ps_sim_plan *plan, const worklist *w, uint32_t op) {
    uint32_t f = plan->forward_input[op];
    uint32_t b = plan->backward_input[op];
    return (f == PS_NO_OP || w->done[f]) && (b == PS_NO_OP || w->done[b]);
}

static void wake_receivers(const ps_sim_plan *plan, const makers *mk, worklist *w, uint32_t op) {
    if (runs_forward(&plan->ops[op]) && forward_stage(plan, op) + 1 < mk->n_logical) {
        wake(w, mk->owner[forward_stage(plan, op) + 1]);
    }
    if (runs_backward(&plan->ops[op]) && backward_stage(plan, op) > 0) {
        wake(w, mk->owner[backward_stage(plan, op) - 1]);
    }
}

static ps_code deadlock(const ps_sim_plan *plan, const worklist *w, ps_err *err) {
    ps_buf waiting;
    ps_buf_init(&waiting, 0);
    for (size_t d = 0; d < w->p; d++) {
        if (w->next[d] < plan->first[d + 1]) {
            const ps_sched_op *op = &plan->ops[w->next[d]];
            char label[40];
            ps_mark_label(&plan->params, op, label, sizeof label);
            ps_buf_addf(&waiting, "%s device %zu at %s %s", waiting.len > 0 ? "," : "", d, ps_op_kind_name(op->kind),
                        label);
        }
    }
    ps_code code = ps_fail(err, PS_INTERNAL, "schedule %s can never finish: waiting are%s", plan->schedule->name,
                           ps_buf_str(&waiting));
    ps_buf_fini(&waiting);
    return code;
}

static ps_code walk(ps_sim_plan *plan, const makers *mk, worklist *w, ps_err *err) {
    for (size_t d = 0; d < w->p; d++) {
        w->next[d] = (uint32_t)plan->first[d];
        wake(w, (int32_t)d);
    }
    uint32_t n = 0;
    while (w->n > 0) {
        int32_t d = take(w);
        while (w->next[d] < plan->first[d + 1] && is_ready(plan, w, w->next[d])) {
            uint32_t op = w->next[d]++;
            w->done[op] = true;
            plan->sequence[n++] = op;
            wake_receivers(plan, mk, w, op);
        }
    }
    return n == plan->n_ops ? PS_OK : deadlock(plan, w, err);
}

static ps_code find_sequence(ps_sim_plan *plan, const makers *mk, ps_err *err) {
    size_t p = (size_t)plan->params.n_stages;
    worklist w = {.p = p};
    w.ring = ps_calloc(p, sizeof *w.ring);
    w.queued = ps_calloc(p, sizeof *w.queued);
    w.next = ps_calloc(p, sizeof *w.next);
    w.done = ps_calloc(plan->n_ops, sizeof *w.done);
    plan->sequence = ps_realloc_array(NULL, plan->n_ops, sizeof *plan->sequence);
    bool ok = w.ring != NULL && w.queued != NULL && w.next != NULL && w.done != NULL && plan->sequence != NULL;
    ps_code code = ok ? walk(plan, mk, &w, err) : ps_fail_nomem(err);
    ps_free(w.ring);
    ps_free(w.queued);
    ps_free(w.next);
    ps_free(w.done);
    return code;
}

/* --- the plan and its runs ---------------------------------------------------------------------------------------- */

static ps_code make_plan(ps_sim_plan *plan, makers *mk, ps_err *err) {
    ps_code code = plan->schedule->check(&plan->params, err);
    if (code == PS_OK) {
        code = gather_lists(plan, err);
    }
    if (code == PS_OK && !init_makers(mk, plan)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code = note_makers(plan, mk, err);
    }
    if (code == PS_OK) {
        code = check_complete(plan, mk, err);
    }
    if (code == PS_OK) {
        code = link_inputs(plan, mk, err);
    }
    return code == PS_OK ? find_sequence(plan, mk, err) : code;
}

ps_sim_plan *ps_sim_plan_new(const ps_schedule *schedule, const ps_schedule_params *params, ps_err *err) {
    ps_sim_plan *plan = ps_calloc(1, sizeof *plan);
    if (plan == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    plan->schedule = schedule;
    plan->params = *params;
    makers mk = {0};
    if (make_plan(plan, &mk, err) != PS_OK) {
        ps_sim_plan_free(plan);
        plan = NULL;
    }
    free_makers(&mk);
    return plan;
}

void ps_sim_plan_free(ps_sim_plan *plan) {
    if (plan != NULL) {
        ps_free(plan->ops);
        ps_free(plan->first);
        ps_free(plan->sequence);
        ps_free(plan->forward_input);
        ps_free(plan->backward_input);
        ps_free(plan->device);
        ps_free(plan);
    }
}

void ps_sim_fill_durations(const ps_sim_plan *plan, const ps_sim_times *times, int64_t *duration_ns) {
    const int64_t of_kind[PS_N_OP_KINDS] = {[PS_OP_F] = times->f_ns,
                                            [PS_OP_B] = times->b_ns,
                                            [PS_OP_BI] = times->b_ns - times->w_ns,
                                            [PS_OP_BW] = times->w_ns,
                                            [PS_OP_FB] = times->fb_ns};
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        duration_ns[op] = of_kind[plan->ops[op].kind];
    }
}

/* Raises *t to the arrival of `input` on the device of `op`. False on overflow. */
static bool wait_for(const ps_sim_plan *plan, const ps_sim_result *r, uint32_t op, uint32_t input, int64_t p2p_ns,
                     int64_t *t) {
    if (input == PS_NO_OP) {
        return true;
    }
    int64_t arrival = r->end_ns[input];
    if (plan->device[input] != plan->device[op] && __builtin_add_overflow(arrival, p2p_ns, &arrival)) {
        return false;
    }
    *t = arrival > *t ? arrival : *t;
    return true;
}

ps_code ps_sim_run(const ps_sim_plan *plan, const int64_t *duration_ns, int64_t p2p_ns, int64_t start_ns,
                   ps_sim_result *out, ps_err *err) {
    out->first_ns = INT64_MAX;
    out->last_ns = start_ns;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t op = plan->sequence[i];
        /* The op before it in the list is the one numbered before it. */
        bool first = op == plan->first[plan->device[op]];
        int64_t t = first ? start_ns : out->end_ns[op - 1];
        if (!wait_for(plan, out, op, plan->forward_input[op], p2p_ns, &t) ||
            !wait_for(plan, out, op, plan->backward_input[op], p2p_ns, &t) ||
            __builtin_add_overflow(t, duration_ns[op], &out->end_ns[op])) {
            return ps_fail(err, PS_RANGE, "the simulated times leave 64 bits of nanoseconds");
        }
        out->start_ns[op] = t;
        out->first_ns = t < out->first_ns ? t : out->first_ns;
        out->last_ns = out->end_ns[op] > out->last_ns ? out->end_ns[op] : out->last_ns;
    }
    return PS_OK;
}

int64_t ps_sim_busy_ns(const ps_sim_plan *plan, const ps_sim_result *result, int32_t device) {
    int64_t busy = 0;
    for (size_t op = plan->first[device]; op < plan->first[device + 1]; op++) {
        busy += result->end_ns[op] - result->start_ns[op];
    }
    return busy;
}

/* --- charts ------------------------------------------------------------------------------------------------------- */

static bool add_chart_op(ps_chart *chart, const ps_sim_plan *plan, const ps_sim_result *r, size_t op, int64_t step,
                         int64_t shift_ns) {
    const ps_sched_op *o = &plan->ops[op];
    char label[40];
    ps_mark_label(&plan->params, o, label, sizeof label);
    return ps_chart_add_op(chart, (ps_op){.start_ns = r->start_ns[op] + shift_ns,
                                          .end_ns = r->end_ns[op] + shift_ns,
                                          .step = step,
                                          .name = label,
                                          .rank = (uint32_t)plan->device[op],
                                          .microbatch = o->microbatch,
                                          .microbatch2 = o->microbatch2,
                                          .chunk = (int8_t)o->chunk,
                                          .chunk2 = (int8_t)o->chunk2,
                                          .phase = (int8_t)o->phase,
                                          .kind = (uint8_t)o->kind,
                                          .source = PS_SOURCE_SIMULATED});
}

/* All steps take the same time, so one run is enough; a chart is grouped by rank. */
static ps_code fill_chart(ps_chart *chart, const ps_sim_plan *plan, const ps_sim_result *r, int64_t n_steps,
                          int64_t gap_ns, ps_err *err) {
    int64_t period_ns;
    int64_t last_ns;
    if (__builtin_add_overflow(r->last_ns, gap_ns, &period_ns) ||
        __builtin_mul_overflow(period_ns, n_steps, &last_ns)) {
        return ps_fail(err, PS_RANGE, "the simulated times leave 64 bits of nanoseconds");
    }
    char title[160];
    (void)snprintf(title, sizeof title, "%s, %d stages, %d microbatches, simulated", plan->schedule->name,
                   (int)plan->params.n_stages, (int)plan->params.n_microbatches);
    bool ok = ps_chart_set_text(chart, title, plan->schedule->name);
    for (int32_t d = 0; ok && d < plan->params.n_stages; d++) {
        ok = ps_chart_add_rank(chart, (ps_chart_rank){.rank = d, .stage = d, .pipeline = 0});
        for (int64_t step = 0; ok && step < n_steps; step++) {
            for (size_t op = plan->first[d]; ok && op < plan->first[d + 1]; op++) {
                ok = add_chart_op(chart, plan, r, op, step + 1, step * period_ns);
            }
        }
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

ps_chart *ps_sim_chart(const ps_schedule *schedule, const ps_schedule_params *params, const ps_sim_times *times,
                       int64_t n_steps, int64_t gap_ns, ps_err *err) {
    ps_sim_plan *plan = ps_sim_plan_new(schedule, params, err);
    if (plan == NULL) {
        return NULL;
    }
    int64_t *duration_ns = ps_realloc_array(NULL, plan->n_ops, sizeof *duration_ns);
    ps_sim_result r = {.start_ns = ps_realloc_array(NULL, plan->n_ops, sizeof(int64_t)),
                       .end_ns = ps_realloc_array(NULL, plan->n_ops, sizeof(int64_t))};
    ps_chart *chart = ps_chart_new();
    ps_code code = PS_OK;
    if (duration_ns == NULL || r.start_ns == NULL || r.end_ns == NULL || chart == NULL) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        ps_sim_fill_durations(plan, times, duration_ns);
        code = ps_sim_run(plan, duration_ns, times->p2p_ns, 0, &r, err);
    }
    if (code == PS_OK) {
        code = fill_chart(chart, plan, &r, n_steps, gap_ns, err);
    }
    if (code != PS_OK) {
        ps_chart_free(chart);
        chart = NULL;
    }
    ps_free(duration_ns);
    ps_free(r.start_ns);
    ps_free(r.end_ns);
    ps_sim_plan_free(plan);
    return chart;
}
