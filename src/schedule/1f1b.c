/* One forward, one backward (arXiv 2104.04473). Device d first runs as many forwards as there are devices behind it,
 * then turns to one forward and one backward alternately, and drains with backwards. p = 4, m = 6:
 *
 *   device 0:  F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5
 *   device 3:  F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5
 *
 * Compared op by op with the lists of sail-sg/zero-bubble-pipeline-parallelism (basic1f1b.py). */
#include "schedule/placement.h"
#include "schedule/schedule.h"

static ps_code order_1f1b(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                          ps_err *err) {
    int32_t m = params->n_microbatches;
    int32_t behind = params->n_stages - 1 - device;
    int32_t warm_up = behind < m ? behind : m;
    for (int32_t k = 0; k < warm_up; k++) {
        (void)ps_op_list_put(out, PS_OP_F, 0, k);
    }
    for (int32_t k = 0; k < m; k++) {
        if (warm_up + k < m) {
            (void)ps_op_list_put(out, PS_OP_F, 0, warm_up + k);
        }
        (void)ps_op_list_put(out, PS_OP_B, 0, k);
    }
    return ps_op_list_result(out, err);
}

const ps_schedule ps_schedule_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward; one model piece per device",
    .chinese = "一个前向接一个反向；每个设备一个模型块",
    .rule = "m >= 1",
    .n_chunks = 1,
    .check = ps_schedule_check_size,
    .order = order_1f1b,
    .marks = order_1f1b,
    .logical_stage = ps_place_plain,
};
