#include "schedule/lists.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/action.h"

static ps_code gather_list(ps_lists *lists, const ps_schedule *schedule,
                           const ps_schedule_params *params, ps_err *err) {
    ps_op_list all = {0};
    ps_code code = PS_OK;
    for (int32_t d = 0; d < lists->n_stages && code == PS_OK; d++) {
        code = ps_schedule_order(schedule, params, d, &all, err);
        lists->first[d + 1] = all.n;
    }
    lists->ops = all.ops;
    lists->n_ops = (uint32_t)all.n;
    return code;
}

static void place_list(ps_lists *lists, const ps_schedule *schedule,
                       const ps_schedule_params *params) {
    for (int32_t d = 0; d < lists->n_stages; d++) {
        for (int32_t c = 0; c < lists->n_chunks; c++) {
            lists->logical[d * lists->n_chunks + c] = schedule->logical_stage(params, d, c);
        }
    }
}

ps_code ps_lists_make(ps_lists *out, const ps_schedule *schedule, const ps_schedule_params *params,
                      ps_err *err) {
    *out = (ps_lists){0};
    ps_code code = schedule->check(params, err);
    if (code != PS_OK) {
        return code;
    }
    (void)snprintf(out->name, sizeof out->name, "%s", schedule->name);
    out->n_stages = params->n_stages;
    out->n_chunks = ps_schedule_chunks(schedule, params);
    out->n_microbatches = ps_schedule_microbatches(schedule, params);
    out->n_logical = out->n_stages * out->n_chunks;
    out->chain_length =
        schedule->n_chains > 1 ? out->n_logical / schedule->n_chains : out->n_logical;
    /* A model piece takes at least a forward and a backward, in pairs one op for both, so this much is known before any
     * list is made; the other half is for backwards cut in two. */
    size_t n_results = (size_t)out->n_logical * (size_t)out->n_microbatches;
    if (2 * n_results > PS_SIM_MAX_OPS) {
        return ps_fail_said(
            err, PS_RANGE,
            "%d stages x %d chunks x %d microbatches are too many: a step may have at most %zu ops",
            "%d 个阶段 x %d 个 chunk x %d 个 microbatch 过多：一个 step 最多 %zu 个算子",
            (int)out->n_stages, (int)out->n_chunks, (int)out->n_microbatches, PS_SIM_MAX_OPS);
    }
    out->first = ps_calloc((size_t)out->n_stages + 1, sizeof *out->first);
    out->logical = ps_calloc((size_t)out->n_logical, sizeof *out->logical);
    code = out->first == NULL || out->logical == NULL ? ps_fail_nomem(err) : PS_OK;
    if (code == PS_OK) {
        place_list(out, schedule, params);
        code = gather_list(out, schedule, params, err);
    }
    if (code != PS_OK) {
        ps_lists_fini(out);
    }
    return code;
}

void ps_lists_fini(ps_lists *lists) {
    ps_free(lists->logical);
    ps_free(lists->ops);
    ps_free(lists->first);
    ps_free(lists->column);
    *lists = (ps_lists){0};
}

int32_t ps_lists_device(const ps_lists *lists, uint32_t op) {
    int32_t low = 0; /* first[low] <= op < first[high] */
    int32_t high = lists->n_stages;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (lists->first[middle] <= op) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* As in a PyTorch file: 3F7, (0F7;7B3)OVERLAP_F_B. */
static void describe_action(const ps_lists *lists, int32_t device, const ps_sched_op *op, char *out,
                            size_t size) {
    ps_action action = {.n_parts = op->kind == PS_OP_FB ? 2 : 1};
    action.parts[0] =
        (ps_action_part){.kind = op->kind == PS_OP_FB ? PS_ACTION_F : ps_action_kind_of(op->kind),
                         .stage = ps_lists_logical(lists, device, op->chunk),
                         .microbatch = op->microbatch};
    if (op->kind == PS_OP_FB) {
        action.parts[1] = (ps_action_part){.kind = PS_ACTION_B,
                                           .stage = ps_lists_logical(lists, device, op->chunk2),
                                           .microbatch = op->microbatch2};
    }
    ps_action_text(&action, out, size);
}

void ps_lists_describe(const ps_lists *lists, uint32_t number, char *out, size_t size) {
    int32_t device = ps_lists_device(lists, number);
    const ps_sched_op *op = &lists->ops[number];
    size_t at = number - lists->first[device];
    char text[96];
    if (lists->column != NULL) {
        describe_action(lists, device, op, text, sizeof text);
        (void)snprintf(out, size, "row %d, column %u (%s)", (int)device + 1,
                       (unsigned)lists->column[number] + 1, text);
        return;
    }
    const char *kind = op->kind == PS_OP_FB ? "F" : ps_op_kind_name(op->kind);
    int n = snprintf(text, sizeof text, "%s%d", kind, (int)op->microbatch);
    if (lists->n_chunks > 1) {
        n += snprintf(text + n, sizeof text - (size_t)n, " of chunk %d", (int)op->chunk);
    }
    if (op->kind == PS_OP_FB) {
        (void)snprintf(text + n, sizeof text - (size_t)n, " with B%d of chunk %d",
                       (int)op->microbatch2, (int)op->chunk2);
    }
    (void)snprintf(out, size, "device %d, op %zu (%s)", (int)device, at, text);
}

size_t ps_lists_peak(const ps_lists *lists, int32_t device) {
    return ps_peak_activations(&lists->ops[lists->first[device]],
                               lists->first[device + 1] - lists->first[device]);
}
