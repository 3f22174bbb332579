/* Looped BFS (breadth-first pipeline parallelism, arXiv 2211.05953) as PyTorch runs it (LoopedBFS): the model goes round the devices v times,
 * each device runs all microbatches through one piece before it turns to the next, and the backwards come back the same way, the last
 * microbatch first. With one piece it is GPipe but for the order of the backwards. p = 2, m = 2, v = 2, chunk 1 in lower case:
 *
 *   every device:  F0 F1 f0 f1 b1 b0 B1 B0 */
#include "schedule/groups.h"
#include "schedule/placement.h"

#define SELF (&ps_schedule_looped_bfs)
extern const ps_schedule ps_schedule_looped_bfs;

static ps_code check_looped_bfs(const ps_schedule_params *params, ps_err *err) {
    return ps_chunks_check(SELF, params, 1, err);
}

static ps_code order_looped_bfs(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                                ps_err *err) {
    (void)device;
    int32_t v = ps_schedule_chunks(SELF, params);
    for (int32_t chunk = 0; chunk < v; chunk++) {
        for (int32_t k = 0; k < params->n_microbatches; k++) {
            (void)ps_op_list_put(out, PS_OP_F, chunk, k);
        }
    }
    for (int32_t chunk = v - 1; chunk >= 0; chunk--) {
        for (int32_t k = params->n_microbatches - 1; k >= 0; k--) {
            (void)ps_op_list_put(out, PS_OP_B, chunk, k);
        }
    }
    return ps_op_list_result(out, err);
}

const ps_schedule ps_schedule_looped_bfs = {
    .name = "looped-bfs",
    .aliases = {"LoopedBFS"},
    .summary = "all microbatches through one model piece after the other",
    .chinese = "全部 microbatch 依次通过一个又一个模型块",
    .rule = "m >= 1",
    .n_chunks = 2,
    .takes = PS_TAKES_CHUNKS,
    .check = check_looped_bfs,
    .order = order_looped_bfs,
    .marks = order_looped_bfs,
    .logical_stage = ps_place_loop,
};
