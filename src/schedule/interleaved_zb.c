/* PyTorch's InterleavedZeroBubble: interleaved placement and groups, backwards cut in two, one forward of warm-up for
 * every device behind instead of two, weight gradients s backwards late on device s. With one chunk it is ZB-H1. Equal to
 * PyTorch's test artifact for p = 2, v = 2, m = 8. p = 2, m = 2, v = 2, chunk 1 in lower case:
 *
 *   device 0:  F0 F1 f0 f1 i0 w0 i1 w1 I0 W0 I1 W1
 *   device 1:  F0 F1 f0 i0 f1 i1 w0 I0 w1 I1 W0 W1
 */
#include "schedule/placement.h"
#include "schedule/split.h"

#define SELF (&ps_schedule_interleaved_zb)
extern const ps_schedule ps_schedule_interleaved_zb;

static ps_code check_interleaved_zb(const ps_schedule_params *params, ps_err *err) {
    ps_code code = ps_groups_check(SELF, params, 1, err);
    if (code != PS_OK) {
        return code;
    }
    ps_groups groups = ps_groups_of(SELF, params);
    if (groups.m % groups.g != 0) {
        return ps_fail_said(
            err, PS_RANGE,
            "interleaved-zb needs m to be a multiple of g: got m = %d microbatches, g = %d",
            "interleaved-zb 需要 m 为 g 的倍数：实际 m = %d 个 microbatch，g = %d", (int)groups.m,
            (int)groups.g);
    }
    return PS_OK;
}

static ps_code order_interleaved_zb(const ps_schedule_params *params, int32_t device,
                                    ps_op_list *out, ps_err *err) {
    ps_groups groups = ps_groups_of(SELF, params);
    return ps_split_order(&groups, ps_groups_warm_up(&groups, device, 1), device, out, err);
}

const ps_schedule ps_schedule_interleaved_zb = {
    .name = "interleaved-zb",
    .aliases = {"InterleavedZeroBubble"},
    .summary = "zb-h1 on several model pieces per device, in groups of g microbatches",
    .chinese = "每个设备多个模型块的 zb-h1，每组 g 个 microbatch",
    .rule = "p <= g, m a multiple of g",
    .n_chunks = 2,
    .takes = PS_TAKES_CHUNKS | PS_TAKES_GROUP,
    .splits = true,
    .check = check_interleaved_zb,
    .order = order_interleaved_zb,
    .marks = order_interleaved_zb,
    .logical_stage = ps_place_loop,
};
