/* DualPipeV (deepseek-ai/DualPipe): the model folded to a V. Device d holds stage d (chunk 0, on the way in) and stage
 * 2p-1-d (chunk 1, on the way out), so that the forward of one chunk can run together with the backward of the other.
 * The rule is that of fold.h with all devices in one fold. p = 2, m = 4, chunk 1 in lower case:
 *
 *   device 0:  F0 F1 F2 f0 i0 w0 f1 F3&b1 f2&B0 b2 f3&B1 b3 I2 W2 I3 W3
 *   device 1:  F0 f0 F1 f1 F2 b0 f2&B0 F3&b1 f3&B1 b2 B2 i3 I3 w3 W3
 *
 * The tail with split backwards is MindSpeed's with dw-detach, that with whole ones its default. marks() are what
 * MindSpeed's ranges show, the same for both: docs/schedules.md. */
#include "schedule/fold.h"
#include "schedule/placement.h"

static ps_fold fold_of(const ps_schedule_params *params, int32_t device) {
    return (ps_fold){.q = params->n_stages,
                     .h = device,
                     .n = params->n_microbatches,
                     .in = 0,
                     .tail_full = params->tail_full,
                     .no_pairs = params->overlap_off,
                     .has_head = device == 0};
}

static ps_code order_dualpipev(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                               ps_err *err) {
    ps_fold fold = fold_of(params, device);
    return ps_fold_list(&fold, out, err);
}

static ps_code marks(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                     ps_err *err) {
    ps_fold fold = fold_of(params, device);
    fold.marks = true;
    return ps_fold_list(&fold, out, err);
}

static ps_code check_dualpipev(const ps_schedule_params *params, ps_err *err) {
    ps_code code = ps_schedule_check_size(params, err);
    if (code == PS_OK && params->n_microbatches < 2 * params->n_stages) {
        code = ps_fail_said(
            err, PS_RANGE, "dualpipev needs at least 2p = %d microbatches for %d stages, got %d",
            "dualpipev 至少需要 2p = %d 个 microbatch（%d 个阶段），实际为 %d",
            (int)(2 * params->n_stages), (int)params->n_stages, (int)params->n_microbatches);
    }
    return code;
}

const ps_schedule ps_schedule_dualpipev = {
    .name = "dualpipev",
    .summary = "DualPipe folded to a V; forward and backward of two model pieces overlap",
    .chinese = "DualPipe 折叠为 V 形；两个模型块的前向与反向重叠",
    .rule = "m >= 2p",
    .n_chunks = 2,
    .takes = PS_TAKES_TAIL,
    .splits = true,
    .check = check_dualpipev,
    .order = order_dualpipev,
    .marks = marks,
    .logical_stage = ps_place_v,
};
