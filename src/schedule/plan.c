/* The plan is made in three passes over all lists:
 *
 *   1. note which op makes which result: (logical stage, microbatch) -> forward, backward, weight gradient.
 *      A result made twice, or never, or by the wrong half, is a fault of the list.
 *   2. look up what each op needs from another stage.
 *   3. find an order in which all ops can run: devices are taken from a queue, each goes on along its list until
 *      something is missing; whoever makes a result puts the device that needs it back into the queue. An op is
 *      looked at once when it runs and once for each result that wakes its device, so the pass is linear. */
#include "schedule/sim.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

/* Deadlocks go round few devices; a longer circle is not printed whole. */
#define MAX_CIRCLE_SHOWN 4

/* Who makes what. Results of a logical stage s are at [s * m + k]. */
typedef struct makers {
    uint32_t *forward;  /* F or FB */
    uint32_t *backward; /* B, BI or FB */
    uint32_t *weight;   /* BW */
    int32_t *owner;     /* [n_logical] device */
    size_t n_logical, m;
} makers;

static size_t forward_stage(const ps_sim_plan *plan, uint32_t op) {
    return (size_t)ps_lists_logical(&plan->lists, plan->device[op], plan->ops[op].chunk);
}

static size_t backward_stage(const ps_sim_plan *plan, uint32_t op) {
    const ps_sched_op *o = &plan->ops[op];
    return (size_t)ps_lists_logical(&plan->lists, plan->device[op],
                                    o->kind == PS_OP_FB ? o->chunk2 : o->chunk);
}

static size_t backward_microbatch(const ps_sched_op *op) {
    return (size_t)(op->kind == PS_OP_FB ? op->microbatch2 : op->microbatch);
}

/* Whether a stage is the first, or the last, of its way through the model. */
static bool begins_chain(const ps_sim_plan *plan, size_t stage) {
    return stage % (size_t)plan->lists.chain_length == 0;
}

static bool ends_chain(const ps_sim_plan *plan, size_t stage) {
    return begins_chain(plan, stage + 1);
}

static void free_makers(makers *mk) {
    ps_free(mk->forward);
    ps_free(mk->backward);
    ps_free(mk->weight);
    ps_free(mk->owner);
}

static bool init_makers(makers *mk, const ps_sim_plan *plan) {
    const ps_lists *lists = &plan->lists;
    mk->m = (size_t)lists->n_microbatches;
    mk->n_logical = (size_t)lists->n_logical;
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
    for (int32_t d = 0; d < lists->n_stages; d++) {
        for (int32_t c = 0; c < lists->n_chunks; c++) {
            if (ps_lists_logical(lists, d, c) >= 0) {
                mk->owner[ps_lists_logical(lists, d, c)] = d;
            }
        }
    }
    return true;
}

/* --- pass 1: lists ------------------------------------------------------------------------------------------------ */

/* A fault of the lists: of a file, or of a schedule in this program. */
static ps_code fail_lists(const ps_sim_plan *plan, const char *what, ps_err *err) {
    return plan->lists.column != NULL
               ? ps_fail_file(err, PS_SYNTAX, plan->lists.name, "%s", what)
               : ps_fail(err, PS_INTERNAL, "schedule %s: %s", plan->lists.name, what);
}

static ps_code invalid(const ps_sim_plan *plan, uint32_t op, const char *what, ps_err *err) {
    char text[PS_OP_TEXT];
    char message[2 * PS_OP_TEXT + 80];
    ps_lists_describe(&plan->lists, op, text, sizeof text);
    (void)snprintf(message, sizeof message, "%s %s", text, what);
    return fail_lists(plan, message, err);
}

static bool in_range(const ps_sim_plan *plan, int32_t device, int32_t chunk, int32_t microbatch) {
    return chunk >= 0 && chunk < plan->lists.n_chunks &&
           ps_lists_logical(&plan->lists, device, chunk) >= 0 && microbatch >= 0 &&
           microbatch < plan->lists.n_microbatches;
}

static ps_code claim(const ps_sim_plan *plan, uint32_t *slot, uint32_t op, ps_err *err) {
    if (*slot != PS_NO_OP) {
        char earlier[PS_OP_TEXT];
        char what[PS_OP_TEXT + 16];
        ps_lists_describe(&plan->lists, *slot, earlier, sizeof earlier);
        (void)snprintf(what, sizeof what, "repeats %s", earlier);
        return invalid(plan, op, what, err);
    }
    *slot = op;
    return PS_OK;
}

static ps_code note_makers(const ps_sim_plan *plan, makers *mk, ps_err *err) {
    ps_code code = PS_OK;
    for (uint32_t op = 0; op < plan->n_ops && code == PS_OK; op++) {
        const ps_sched_op *o = &plan->ops[op];
        int32_t d = plan->device[op];
        if (!(ps_op_runs_forward(o) || ps_op_runs_backward(o) || o->kind == PS_OP_BW)) {
            return invalid(plan, op, "is of a kind that a schedule does not have", err);
        }
        if (!in_range(plan, d, o->chunk, o->microbatch) ||
            (o->kind == PS_OP_FB && !in_range(plan, d, o->chunk2, o->microbatch2))) {
            return invalid(plan, op, "has a chunk or microbatch that does not exist", err);
        }
        if (ps_op_runs_forward(o)) {
            code =
                claim(plan, &mk->forward[forward_stage(plan, op) * mk->m + (size_t)o->microbatch],
                      op, err);
        }
        if (code == PS_OK && ps_op_runs_backward(o)) {
            code = claim(plan,
                         &mk->backward[backward_stage(plan, op) * mk->m + backward_microbatch(o)],
                         op, err);
        }
        if (code == PS_OK && o->kind == PS_OP_BW) {
            code = claim(plan, &mk->weight[forward_stage(plan, op) * mk->m + (size_t)o->microbatch],
                         op, err);
        }
    }
    return code;
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
            missing = mk->weight[i] == PS_NO_OP ? "weight gradient"
                                                : "input gradient beside its weight gradient";
        }
        if (missing != NULL) {
            char what[128];
            (void)snprintf(what, sizeof what, "stage %zu has no %s of microbatch %zu", i / mk->m,
                           missing, i % mk->m);
            return fail_lists(plan, what, err);
        }
    }
    return PS_OK;
}

/* --- pass 2: what ops need ---------------------------------------------------------------------------------------- */

/* Sets the inputs of one op; what it needs of its own stage must come earlier in the list. */
static ps_code link_op(ps_sim_plan *plan, const makers *mk, uint32_t op, ps_err *err) {
    const ps_sched_op *o = &plan->ops[op];
    plan->forward_input[op] = plan->backward_input[op] = PS_NO_OP;
    if (ps_op_runs_forward(o)) {
        size_t stage = forward_stage(plan, op);
        if (!begins_chain(plan, stage)) {
            plan->forward_input[op] = mk->forward[(stage - 1) * mk->m + (size_t)o->microbatch];
        }
    }
    if (ps_op_runs_backward(o)) {
        size_t stage = backward_stage(plan, op);
        size_t at = stage * mk->m + backward_microbatch(o);
        if (mk->forward[at] >= op) {
            return invalid(plan, op, "comes before the forward it belongs to", err);
        }
        if (!ends_chain(plan, stage)) {
            plan->backward_input[op] = mk->backward[at + mk->m];
        }
    }
    if (o->kind == PS_OP_BW &&
        mk->backward[forward_stage(plan, op) * mk->m + (size_t)o->microbatch] > op) {
        return invalid(plan, op, "comes before the input gradient it belongs to", err);
    }
    return PS_OK;
}

static ps_code link_inputs(ps_sim_plan *plan, const makers *mk, ps_err *err) {
    plan->forward_input = ps_realloc_array(NULL, plan->n_ops, sizeof *plan->forward_input);
    plan->backward_input = ps_realloc_array(NULL, plan->n_ops, sizeof *plan->backward_input);
    bool ok = plan->forward_input != NULL && plan->backward_input != NULL;
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    for (uint32_t op = 0; op < plan->n_ops && code == PS_OK; op++) {
        code = link_op(plan, mk, op, err);
    }
    return code;
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

static int32_t take_plan(worklist *w) {
    int32_t device = w->ring[w->head];
    w->head = (w->head + 1) % w->p;
    w->n--;
    w->queued[device] = false;
    return device;
}

/* An input of `op` that is not there yet, or PS_NO_OP. */
static uint32_t missing_input(const ps_sim_plan *plan, const worklist *w, uint32_t op) {
    uint32_t f = plan->forward_input[op];
    uint32_t b = plan->backward_input[op];
    return f != PS_NO_OP && !w->done[f] ? f : b != PS_NO_OP && !w->done[b] ? b : PS_NO_OP;
}

static void wake_receivers(const ps_sim_plan *plan, const makers *mk, worklist *w, uint32_t op) {
    if (ps_op_runs_forward(&plan->ops[op]) && !ends_chain(plan, forward_stage(plan, op))) {
        wake(w, mk->owner[forward_stage(plan, op) + 1]);
    }
    if (ps_op_runs_backward(&plan->ops[op]) && !begins_chain(plan, backward_stage(plan, op))) {
        wake(w, mk->owner[backward_stage(plan, op) - 1]);
    }
}

/* The device that makes what the next op of `device` misses: it stands as well. */
static int32_t waits_for(const ps_sim_plan *plan, const worklist *w, int32_t device) {
    return plan->device[missing_input(plan, w, w->next[device])];
}

/* Whoever stands waits for one who stands, so that following them ends in a circle: that is what to report. */
static ps_code deadlock(const ps_sim_plan *plan, const worklist *w, ps_err *err) {
    int32_t d = 0;
    while (w->next[d] == plan->first[d + 1]) {
        d++;
    }
    for (size_t i = 0; i < w->p; i++) {
        d = waits_for(plan, w, d); /* after p steps certainly inside the circle */
    }
    int32_t begin = d;
    size_t n = 0;
    ps_buf text;
    ps_buf_init(&text, 0);
    do {
        if (n < MAX_CIRCLE_SHOWN) {
            char op[PS_OP_TEXT];
            char input[PS_OP_TEXT];
            ps_lists_describe(&plan->lists, w->next[d], op, sizeof op);
            ps_lists_describe(&plan->lists, missing_input(plan, w, w->next[d]), input,
                              sizeof input);
            ps_buf_addf(&text, "%s%s waits for %s", n == 0 ? "can never finish: " : "; ", op,
                        input);
        }
        n++;
        d = waits_for(plan, w, d);
    } while (d != begin);
    if (n > MAX_CIRCLE_SHOWN) {
        ps_buf_addf(&text, "; and so on round %zu devices", n);
    }
    ps_code code = fail_lists(plan, ps_buf_str(&text), err);
    ps_buf_fini(&text);
    return code;
}

static ps_code walk_plan(ps_sim_plan *plan, const makers *mk, worklist *w, ps_err *err) {
    for (size_t d = 0; d < w->p; d++) {
        w->next[d] = (uint32_t)plan->first[d];
        wake(w, (int32_t)d);
    }
    uint32_t n = 0;
    while (w->n > 0) {
        int32_t d = take_plan(w);
        while (w->next[d] < plan->first[d + 1] && missing_input(plan, w, w->next[d]) == PS_NO_OP) {
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
    bool ok = w.ring != NULL && w.queued != NULL && w.next != NULL && w.done != NULL &&
              plan->sequence != NULL;
    ps_code code = ok ? walk_plan(plan, mk, &w, err) : ps_fail_nomem(err);
    ps_free(w.ring);
    ps_free(w.queued);
    ps_free(w.next);
    ps_free(w.done);
    return code;
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static bool note_devices(ps_sim_plan *plan) {
    plan->device = ps_realloc_array(NULL, plan->n_ops, sizeof *plan->device);
    for (int32_t d = 0; plan->device != NULL && d < plan->lists.n_stages; d++) {
        for (size_t op = plan->first[d]; op < plan->first[d + 1]; op++) {
            plan->device[op] = d;
        }
    }
    return plan->device != NULL;
}

static ps_code check_size(const ps_sim_plan *plan, ps_err *err) {
    size_t n_results = (size_t)plan->lists.n_logical * (size_t)plan->lists.n_microbatches;
    if (plan->n_ops > PS_SIM_MAX_OPS || n_results > PS_SIM_MAX_OPS) {
        return ps_fail(err, PS_RANGE,
                       "%s: %d stages of the model x %d microbatches are too many: at most %zu ops",
                       plan->lists.name, (int)plan->lists.n_logical,
                       (int)plan->lists.n_microbatches, PS_SIM_MAX_OPS);
    }
    return PS_OK;
}

static ps_code make_plan(ps_sim_plan *plan, makers *mk, ps_err *err) {
    ps_code code = check_size(plan, err);
    if (code == PS_OK && !(note_devices(plan) && init_makers(mk, plan))) {
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

ps_sim_plan *ps_sim_plan_of_lists(ps_lists *lists, ps_err *err) {
    ps_sim_plan *plan = ps_calloc(1, sizeof *plan);
    if (plan == NULL) {
        ps_lists_fini(lists);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    plan->lists = *lists;
    *lists = (ps_lists){0};
    plan->ops = plan->lists.ops;
    plan->first = plan->lists.first;
    plan->n_ops = plan->lists.n_ops;
    plan->params = (ps_schedule_params){.n_stages = plan->lists.n_stages,
                                        .n_microbatches = plan->lists.n_microbatches,
                                        .n_chunks = plan->lists.n_chunks};
    makers mk = {0};
    if (make_plan(plan, &mk, err) != PS_OK) {
        ps_sim_plan_free(plan);
        plan = NULL;
    }
    free_makers(&mk);
    return plan;
}

ps_sim_plan *ps_sim_plan_new(const ps_schedule *schedule, const ps_schedule_params *params,
                             ps_err *err) {
    ps_lists lists;
    ps_sim_plan *plan = ps_lists_make(&lists, schedule, params, err) == PS_OK
                            ? ps_sim_plan_of_lists(&lists, err)
                            : NULL;
    if (plan != NULL) {
        plan->schedule = schedule;
        plan->params = *params;
    }
    return plan;
}

void ps_sim_plan_free(ps_sim_plan *plan) {
    if (plan != NULL) {
        ps_lists_fini(&plan->lists);
        ps_free(plan->sequence);
        ps_free(plan->forward_input);
        ps_free(plan->backward_input);
        ps_free(plan->device);
        ps_free(plan);
    }
}
