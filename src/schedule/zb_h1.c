/* ZB-H1 (arXiv 2401.10241, there also ZB1P): 1F1B with the backward cut in two, device s running its weight gradients s
 * backwards late. No more activations than 1F1B, a third of its bubble. p = 4, m = 6:
 *
 *   device 0:  F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 I3 W3 I4 W4 I5 W5
 *   device 3:  F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 W3 W4 W5
 *
 * The list of PyTorch's InterleavedZeroBubble with one stage a rank. The zero-bubble authors' own program searches for
 * an order on measured times, so its runs are not labelled by position. */
#include "schedule/placement.h"
#include "schedule/split.h"

#define SELF (&ps_schedule_zb_h1)
extern const ps_schedule ps_schedule_zb_h1;

static ps_code order_zb_h1(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                           ps_err *err) {
    ps_groups groups = ps_groups_of(SELF, params);
    return ps_split_order(&groups, ps_groups_warm_up(&groups, device, 1), device, out, err);
}

const ps_schedule ps_schedule_zb_h1 = {
    .name = "zb-h1",
    .aliases = {"zb1p"},
    .summary = "1F1B with split backwards; weight gradients fill the drain, memory as in 1F1B",
    .chinese = "反向拆分的 1F1B；权重梯度填充收尾，内存与 1F1B 相同",
    .rule = "m >= 1",
    .n_chunks = 1,
    .splits = true,
    .check = ps_schedule_check_size,
    .order = order_zb_h1,
    .marks = order_zb_h1,
    .logical_stage = ps_place_plain,
};
