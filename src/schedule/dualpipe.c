/* DualPipe (deepseek-ai/DualPipe, arXiv 2412.19437): the model lies twice on the devices, once from each end, and
 * half of the microbatches enter at either end, so that the forward of one half can run together with the backward of the
 * other. Chunk 0 is the piece of the way that enters at device 0, chunk 1 that of the way that enters at device p-1. The
 * rule is that of fold.h with the two halves of the devices as mirror images. p = 4, m = 8, chunk 1 in lower case:
 *
 *   device 0:  F0 F1 F2 f0 i0 w0 f1 F3&b1 f2&B0 b2 f3&B1 b3 I2 W2 I3 W3
 *   device 1:  F0 f0 F1 f1 F2 b0 f2&B0 F3&b1 f3&B1 b2 B2 i3 I3 w3 W3
 */
#include "schedule/fold.h"
#include "schedule/schedule.h"

static ps_code order_dualpipe(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                              ps_err *err) {
    int32_t p = params->n_stages;
    bool lower = device < p / 2;
    ps_fold fold = {.q = p / 2,
                    .h = lower ? device : p - 1 - device,
                    .n = params->n_microbatches / 2,
                    .in = lower ? 0 : 1};
    return ps_fold_list(&fold, out, err);
}

static ps_code check_dualpipe(const ps_schedule_params *params, ps_err *err) {
    ps_code code = ps_schedule_check_size(params, err);
    int32_t p = params->n_stages;
    int32_t m = params->n_microbatches;
    if (code == PS_OK && (p % 2 != 0 || m % 2 != 0 || m < 2 * p)) {
        code = ps_fail_said(
            err, PS_RANGE,
            "dualpipe needs p and m even and m >= 2p: got p = %d stages, m = %d microbatches",
            "dualpipe 需要 p 与 m 为偶数且 m >= 2p：实际 p = %d 个阶段、m = %d 个 microbatch",
            (int)p, (int)m);
    }
    return code;
}

static int32_t logical_stage(const ps_schedule_params *params, int32_t device, int32_t chunk) {
    return chunk == 0 ? device : params->n_stages + (params->n_stages - 1 - device);
}

const ps_schedule ps_schedule_dualpipe = {
    .name = "dualpipe",
    .summary = "microbatches enter at both ends; forward and backward of the two ways overlap",
    .chinese = "microbatch 从两端进入；两个方向的前向与反向重叠",
    .rule = "p, m even, m >= 2p",
    .n_chunks = 2,
    .n_chains = 2,
    .splits = true,
    .check = check_dualpipe,
    .order = order_dualpipe,
    .marks = order_dualpipe,
    .logical_stage = logical_stage,
};
