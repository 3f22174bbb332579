#include "schedule/split.h"

ps_code ps_split_order(const ps_groups *groups, int32_t warm_up, int32_t lag, ps_op_list *out,
                       ps_err *err) {
    for (int32_t i = 0; i < warm_up; i++) {
        ps_groups_add(groups, out, PS_OP_F, i);
    }
    for (int32_t i = 0; i < groups->n; i++) {
        if (warm_up + i < groups->n) {
            ps_groups_add(groups, out, PS_OP_F, warm_up + i);
        }
        ps_groups_add(groups, out, PS_OP_BI, i);
        if (i >= lag) {
            ps_groups_add(groups, out, PS_OP_BW, i - lag);
        }
    }
    for (int32_t i = lag < groups->n ? groups->n - lag : 0; i < groups->n; i++) {
        ps_groups_add(groups, out, PS_OP_BW, i);
    }
    return ps_op_list_result(out, err);
}
