/* GPipe (arXiv 1811.06965): all forwards, then all backwards, both in order. PyTorch runs the same. p = 4, m = 3:
 *
 *   every device:  F0 F1 F2 B0 B1 B2
 */
#include "schedule/placement.h"
#include "schedule/schedule.h"

static ps_code order_gpipe(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                           ps_err *err) {
    (void)device;
    for (int32_t k = 0; k < params->n_microbatches; k++) {
        (void)ps_op_list_put(out, PS_OP_F, 0, k);
    }
    for (int32_t k = 0; k < params->n_microbatches; k++) {
        (void)ps_op_list_put(out, PS_OP_B, 0, k);
    }
    return ps_op_list_result(out, err);
}

const ps_schedule ps_schedule_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards",
    .chinese = "先全部前向，再全部反向",
    .rule = "m >= 1",
    .n_chunks = 1,
    .check = ps_schedule_check_size,
    .order = order_gpipe,
    .marks = order_gpipe,
    .logical_stage = ps_place_plain,
};
