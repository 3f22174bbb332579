/* ZB-V as PyTorch runs it (ZBVZeroBubble; paper arXiv 2405.15362): the model folded to a V, every backward cut in two.
 * As long as F, BI and BW take the same time, no device waits between its first and its last op. p = 2, m = 3, chunk 1 in
 * lower case:
 *
 *   device 0:  F0 F1 F2 f0 i0 w0 f1 i1 w1 I0 W0 f2 i2 w2 I1 W1 I2 W2
 *   device 1:  F0 f0 F1 f1 i0 w0 F2 I0 W0 f2 i1 w1 I1 i2 I2 W1 w2 W2
 *
 * PyTorch lays the list out for at least 2p-1 microbatches and then leaves out those that do not exist. The authors' own
 * program searches for an order on measured times. */
#include "schedule/placement.h"
#include "schedule/schedule.h"

typedef struct state {
    ps_op_list *out;
    int32_t m;
    int32_t next[2][PS_N_OP_KINDS]; /* next microbatch of each chunk and kind */
} state;

static void add_zb_v(state *s, ps_op_kind kind, int32_t chunk) {
    int32_t microbatch = s->next[chunk][kind]++;
    if (microbatch < s->m) {
        (void)ps_op_list_put(s->out, kind, chunk, microbatch);
    }
}

/* BI and BW of one microbatch: two ops although they are neighbours. */
static void split_backward(state *s, int32_t chunk) {
    add_zb_v(s, PS_OP_BI, chunk);
    add_zb_v(s, PS_OP_BW, chunk);
}

static void warm_up(state *s, int32_t p, int32_t device) {
    for (int32_t i = 0; i < 2 * (p - device) - 1; i++) {
        add_zb_v(s, PS_OP_F, 0);
    }
    for (int32_t i = 0; i < device; i++) {
        add_zb_v(s, PS_OP_F, 1);
        add_zb_v(s, PS_OP_F, 0);
    }
    for (int32_t i = 0; i < p - device; i++) {
        add_zb_v(s, PS_OP_F, 1);
        split_backward(s, 1);
    }
}

static void zb_v_steady(state *s, int32_t n) {
    while (s->next[1][PS_OP_F] < s->next[0][PS_OP_F] || s->next[0][PS_OP_F] < n) {
        if (s->next[0][PS_OP_F] < n) {
            add_zb_v(s, PS_OP_F, 0);
        }
        split_backward(s, 0);
        add_zb_v(s, PS_OP_F, 1);
        split_backward(s, 1);
    }
}

static void zb_v_drain(state *s, int32_t p, int32_t device, int32_t n) {
    for (int32_t i = 0; i < device; i++) {
        add_zb_v(s, PS_OP_BI, 0);
        add_zb_v(s, PS_OP_BI, 1);
    }
    for (int32_t i = 0; i < p - device; i++) {
        split_backward(s, 0);
    }
    while (s->next[1][PS_OP_BW] < n) {
        add_zb_v(s, PS_OP_BW, 1);
    }
    while (s->next[0][PS_OP_BW] < n) {
        add_zb_v(s, PS_OP_BW, 0);
    }
}

static ps_code order_zb_v(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                          ps_err *err) {
    int32_t p = params->n_stages;
    int32_t n = params->n_microbatches > 2 * p - 1 ? params->n_microbatches : 2 * p - 1;
    state s = {.out = out, .m = params->n_microbatches};
    warm_up(&s, p, device);
    zb_v_steady(&s, n);
    zb_v_drain(&s, p, device, n);
    return ps_op_list_result(out, err);
}

const ps_schedule ps_schedule_zb_v = {
    .name = "zb-v",
    .aliases = {"ZBVZeroBubble"},
    .summary = "the model folded to a V, all backwards split: no waiting inside when F = BI = BW",
    .chinese = "模型折叠为 V 形，反向全部拆分：F = BI = BW 时其间没有等待",
    .rule = "m >= 1",
    .n_chunks = 2,
    .splits = true,
    .check = ps_schedule_check_size,
    .order = order_zb_v,
    .marks = order_zb_v,
    .logical_stage = ps_place_v,
};
