/* Job types of every schedule that Paddle has had, and names that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/rank/executor_jobs.h"

static const struct row {
    const char *type;
    ps_op_kind kind;
    int chunk;
    bool known;
} ROWS[] = {
    {"forward", PS_OP_F, -1, true},
    {"forward0", PS_OP_F, 0, true},
    {"forward1", PS_OP_F, 1, true},
    {"forward12", PS_OP_F, 12, true},
    {"forwarda", PS_OP_F, 0, true},
    {"forwardB", PS_OP_F, 1, true},
    {"forward(chunk0)", PS_OP_F, 0, true},
    {"forward(chunk31)", PS_OP_F, 31, true},
    {"forward(chunk)", PS_OP_F, -1, true},
    {"forward(chunk1", PS_OP_F, -1, true},
    {"forward_loss", PS_OP_F, -1, true},
    {"forward99999999999999999999", PS_OP_F, -1, true},
    {"backward", PS_OP_B, -1, true},
    {"backward0", PS_OP_B, 0, true},
    {"backward(chunk1)", PS_OP_B, 1, true},
    {"backward_b", PS_OP_BI, -1, true},
    {"backward_b0", PS_OP_BI, 0, true},
    {"backward_bb", PS_OP_BI, 1, true},
    {"backward_b(chunk2)", PS_OP_BI, 2, true},
    {"backward_w", PS_OP_BW, -1, true},
    {"backward_w1", PS_OP_BW, 1, true},
    {"backward_w1_reduce", PS_OP_BW, 1, true},
    {"backward_w_reduce", PS_OP_BW, -1, true},
    {"backward_both", PS_OP_B, -1, true},
    {"recv_forward", PS_OP_RECV, -1, true},
    {"recv_forward1", PS_OP_RECV, 1, true},
    {"recv_backward", PS_OP_RECV, -1, true},
    {"send_forward", PS_OP_SEND, -1, true},
    {"send_backward(chunk1)", PS_OP_SEND, 1, true},
    {"optimizer", PS_OP_OTHER, -1, true},
    {"lr", PS_OP_OTHER, -1, true},
    {"default", PS_OP_OTHER, -1, true},
    {"", PS_OP_OTHER, -1, false},
    {"Forward", PS_OP_OTHER, -1, false},
    {"lrate", PS_OP_OTHER, -1, false},
    {"send", PS_OP_OTHER, -1, false},
    {"data_reader", PS_OP_OTHER, -1, false},
};

static void types_and_what_they_mean(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        ps_op_kind kind = PS_OP_FB;
        int chunk = -2;
        bool known = ps_job_kind(ROWS[i].type, &kind, &chunk);
        if (known != ROWS[i].known || kind != ROWS[i].kind || chunk != ROWS[i].chunk) {
            fail_msg("%s: known %d, kind %s, chunk %d", ROWS[i].type, known, ps_op_kind_name(kind),
                     chunk);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_and_what_they_mean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
