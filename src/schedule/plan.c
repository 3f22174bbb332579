/* The plan is made in three passes over all lists:
 *
 *   1. note which op makes which result: (logical stage, microbatch) -> forward, backward, weight gradient.
 *      A result made twice, or never, or by the wrong half, is a fault of the list.
 *   2. look up what each op needs from another stage.
 *   3. make the graph of who waits for whom (step_graph.h), which finds an order in which all ops can run. */
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
}

static bool init_makers(makers *mk, const ps_sim_plan *plan) {
    const ps_lists *lists = &plan->lists;
    mk->m = (size_t)lists->n_microbatches;
    mk->n_logical = (size_t)lists->n_logical;
    size_t n = mk->n_logical * mk->m;
    mk->forward = ps_realloc_array(NULL, n, sizeof *mk->forward);
    mk->backward = ps_realloc_array(NULL, n, sizeof *mk->backward);
    mk->weight = ps_realloc_array(NULL, n, sizeof *mk->weight);
    if (mk->forward == NULL || mk->backward == NULL || mk->weight == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        mk->forward[i] = mk->backward[i] = mk->weight[i] = PS_NO_OP;
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

/* Ops wait for the one before them in their list, and for their inputs from elsewhere. */
static bool needs_input(const ps_sim_plan *plan, uint32_t op, uint32_t on) {
    return plan->forward_input[op] == on || plan->backward_input[op] == on;
}

/* Names those of the circle that wait for another device: their own lists explain the rest. */
static ps_code deadlock(const ps_sim_plan *plan, const ps_graph_circle *circle, ps_err *err) {
    size_t n = 0;
    ps_buf text;
    ps_buf_init(&text, 0);
    for (size_t i = 0; i < circle->n; i++) {
        uint32_t op = circle->ops[i];
        uint32_t input = circle->ops[(i + 1) % circle->n];
        if (needs_input(plan, op, input) && n++ < MAX_CIRCLE_SHOWN) {
            char what[PS_OP_TEXT];
            char needed[PS_OP_TEXT];
            ps_lists_describe(&plan->lists, op, what, sizeof what);
            ps_lists_describe(&plan->lists, input, needed, sizeof needed);
            ps_buf_addf(&text, "%s%s waits for %s", n == 1 ? "can never finish: " : "; ", what,
                        needed);
        }
    }
    if (n > MAX_CIRCLE_SHOWN) {
        ps_buf_addf(&text, "; and so on round %zu devices", n);
    }
    ps_code code = fail_lists(plan, ps_buf_str(&text), err);
    ps_buf_fini(&text);
    return code;
}

static void add_input(ps_sim_plan *plan, uint32_t op, uint32_t input) {
    if (input != PS_NO_OP) {
        ps_step_graph_wait(plan->graph, op, input, plan->device[input] != plan->device[op]);
    }
}

static ps_code make_graph(ps_sim_plan *plan, ps_err *err) {
    plan->graph = ps_step_graph_new(plan->n_ops);
    if (plan->graph == NULL) {
        return ps_fail_nomem(err);
    }
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        if (op != plan->first[plan->device[op]]) {
            ps_step_graph_wait(plan->graph, op, op - 1, false);
        }
        add_input(plan, op, plan->forward_input[op]);
        add_input(plan, op, plan->backward_input[op]);
    }
    ps_graph_circle circle = {0};
    ps_code code = ps_step_graph_seal(plan->graph, &circle, err);
    code = code == PS_NOTHING ? deadlock(plan, &circle, err) : code;
    ps_free(circle.ops);
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
        return ps_fail_said(
            err, PS_RANGE,
            "%s: %d stages of the model x %d microbatches are too many: at most %zu ops",
            "%s：%d 个模型阶段 x %d 个 microbatch 过多：最多 %zu 个算子", plan->lists.name,
            (int)plan->lists.n_logical, (int)plan->lists.n_microbatches, PS_SIM_MAX_OPS);
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
    return code == PS_OK ? make_graph(plan, err) : code;
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
        ps_step_graph_free(plan->graph);
        ps_free(plan->forward_input);
        ps_free(plan->backward_input);
        ps_free(plan->device);
        ps_free(plan);
    }
}
