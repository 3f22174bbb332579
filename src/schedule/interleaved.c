/* Interleaved 1F1B (arXiv 2104.04473), Megatron-LM's virtual pipeline: every device holds v pieces of the model, which
 * goes round the devices v times. Order as in 1F1B over the virtual indices of groups.h, with two more forwards of
 * warm-up for every device behind, and one group through all chunks but the last. p = 4, m = 4, v = 2, chunk 1 in lower
 * case:
 *
 *   device 0:  F0 F1 F2 F3 f0 f1 f2 f3 b0 b1 b2 b3 B0 B1 B2 B3
 *   device 3:  F0 F1 F2 F3 f0 b0 f1 b1 f2 b2 f3 b3 B0 B1 B2 B3
 *
 * With overlap (Megatron's MoE communication overlap) there is one more forward of warm-up, and each forward of the
 * steady part is one op with the backward behind it. Compared op by op with the table and the warm-up functions of
 * Megatron-LM (schedules.py) and with the lists of zero-bubble-pipeline-parallelism (vpp.py). */
#include "schedule/groups.h"
#include "schedule/placement.h"

#define SELF (&ps_schedule_interleaved)
extern const ps_schedule ps_schedule_interleaved;

static ps_code check_interleaved(const ps_schedule_params *params, ps_err *err) {
    ps_code code = ps_groups_check(SELF, params, 2, err);
    if (code != PS_OK) {
        return code;
    }
    /* A shorter last group would run, but with more bubble than it saves; Megatron refuses it. */
    ps_groups groups = ps_groups_of(SELF, params);
    int32_t rest = groups.m % groups.g;
    if (rest != 0 && rest < groups.p) {
        return ps_fail_said(
            err, PS_RANGE,
            "interleaved needs m mod g to be 0 or >= p: got m = %d microbatches in groups of g = %d, so a "
            "last group of %d, on p = %d stages",
            "interleaved 需要 m mod g 为 0 或 >= p：实际 m = %d 个 microbatch，每组 g = %d 个，最后一组为 %d 个，p = %d 个阶段",
            (int)groups.m, (int)groups.g, (int)rest, (int)groups.p);
    }
    return PS_OK;
}

static ps_code order_interleaved(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                                 ps_err *err) {
    ps_groups groups = ps_groups_of(SELF, params);
    int32_t warm_up = ps_groups_warm_up(&groups, device, 2);
    warm_up += params->overlap && warm_up < groups.n ? 1 : 0;
    for (int32_t i = 0; i < warm_up; i++) {
        ps_groups_add(&groups, out, PS_OP_F, i);
    }
    for (int32_t i = 0; i < groups.n; i++) {
        if (warm_up + i >= groups.n) {
            ps_groups_add(&groups, out, PS_OP_B, i);
        } else if (params->overlap) {
            ps_groups_add_pair(&groups, out, warm_up + i, i);
        } else {
            ps_groups_add(&groups, out, PS_OP_F, warm_up + i);
            ps_groups_add(&groups, out, PS_OP_B, i);
        }
    }
    return ps_op_list_result(out, err);
}

const ps_schedule ps_schedule_interleaved = {
    .name = "interleaved",
    .aliases = {"vpp", "Interleaved1F1B"},
    .summary = "1F1B on several model pieces per device, in groups of g microbatches",
    .chinese = "每个设备多个模型块的 1F1B，每组 g 个 microbatch",
    .rule = "p <= g <= m, m mod g 0 or >= p",
    .n_chunks = 2,
    .takes = PS_TAKES_CHUNKS | PS_TAKES_GROUP | PS_TAKES_OVERLAP,
    .check = check_interleaved,
    .order = order_interleaved,
    .marks = order_interleaved,
    .logical_stage = ps_place_loop,
};
