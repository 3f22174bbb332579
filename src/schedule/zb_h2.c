/* ZB-H2 (arXiv 2401.10241, there also ZB2P): as ZB-H1 with twice the warm-up and twice the lag, so that no device waits
 * between its first and its last op when F, BI and BW take the same time; holds 2p-1 activations. p = 4, m = 7:
 *
 *   device 0:  F0 F1 F2 F3 F4 F5 F6 I0 W0 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6
 *   device 3:  F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 W0 W1 W2 W3 W4 W5 W6
 *
 * Derived from the paper's condition, not copied from a program: the authors' own searches for an order. */
#include "schedule/placement.h"
#include "schedule/split.h"

#define SELF (&ps_schedule_zb_h2)
extern const ps_schedule ps_schedule_zb_h2;

static ps_code check_zb_h2(const ps_schedule_params *params, ps_err *err) {
    ps_code code = ps_schedule_check_size(params, err);
    if (code == PS_OK && params->n_microbatches < 2 * params->n_stages - 1) {
        code = ps_fail_said(
            err, PS_RANGE, "zb-h2 needs m >= 2p-1 = %d microbatches for %d stages, got %d",
            "zb-h2 需要 m >= 2p-1 = %d 个 microbatch（%d 个阶段），实际为 %d",
            (int)(2 * params->n_stages - 1), (int)params->n_stages, (int)params->n_microbatches);
    }
    return code;
}

static ps_code order_zb_h2(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                           ps_err *err) {
    ps_groups groups = ps_groups_of(SELF, params);
    return ps_split_order(&groups, ps_groups_warm_up(&groups, device, 2), 2 * device, out, err);
}

const ps_schedule ps_schedule_zb_h2 = {
    .name = "zb-h2",
    .aliases = {"zb2p"},
    .summary = "zb-h1 with a longer warm-up: no waiting inside, twice the memory",
    .chinese = "预热更长的 zb-h1：其间没有等待，内存加倍",
    .rule = "m >= 2p-1",
    .n_chunks = 1,
    .splits = true,
    .check = check_zb_h2,
    .order = order_zb_h2,
    .marks = order_zb_h2,
    .logical_stage = ps_place_plain,
};
