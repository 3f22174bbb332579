#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

ps_chart *test_chart(void) {
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    assert_true(ps_chart_set_text(c, "run </script> & \"a\"\x01", "1f1b"));
    assert_true(ps_chart_set_how(c, "from metadata"));
    c->origin_ns = 1718000000123456789;
    assert_true(ps_chart_add_rank(c, (ps_chart_rank){.rank = 0, .stage = 0, .pipeline = 0}));
    assert_true(ps_chart_add_rank(c, (ps_chart_rank){.rank = 4, .stage = 1, .pipeline = 0}));
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int64_t step = 3; step < 5; step++) {
            int64_t t = (step - 3) * 1000 + (rank == 1 ? 100 : 0);
            ps_op f = {.start_ns = t,
                       .end_ns = t + 100,
                       .host_start_ns = t - 40,
                       .host_end_ns = t - 10,
                       .has_host = true,
                       .step = step,
                       .name = "0",
                       .rank = rank,
                       .microbatch = 0,
                       .microbatch2 = -1,
                       .chunk = 0,
                       .chunk2 = -1,
                       .phase = -1,
                       .kind = PS_OP_F};
            assert_true(ps_chart_add_op(c, f));
            ps_op send = f;
            send.start_ns = t + 100;
            send.end_ns = t + 105;
            send.kind = rank == 0 ? PS_OP_SEND : PS_OP_RECV;
            send.name = "hcom <send>";
            send.microbatch = -1;
            send.has_host = false;
            assert_true(ps_chart_add_op(c, send));
            ps_op b = f;
            b.start_ns = t + 200;
            b.end_ns = t + (rank == 0 ? 600 : 500);
            b.kind = PS_OP_FB;
            b.name = "1F+0B";
            b.microbatch = 1;
            b.microbatch2 = 0;
            b.chunk2 = 0;
            assert_true(ps_chart_add_op(c, b));
        }
    }
    assert_true(ps_chart_add_link(c, (ps_chart_link){.from = 0, .to = 6}));
    assert_true(ps_chart_add_link(c, (ps_chart_link){.from = 8, .to = 2}));
    for (int64_t step = 3; step < 5; step++) {
        int64_t t = (step - 3) * 1000;
        assert_true(
            ps_chart_add_bubble(c, (ps_bubble){t + 100, t + 200, step, 0,
                                               step == 3 ? 8 : PS_NO_INDEX, PS_BUBBLE_STALL}));
    }
    assert_true(ps_chart_add_bubble(c, (ps_bubble){0, 100, 3, 1, 0, PS_BUBBLE_WARMUP}));
    return c;
}

ps_chart *test_chart_big(int stages, int microbatches, int steps) {
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    assert_true(ps_chart_set_text(c, "big", "1f1b"));
    char name[32];
    for (int rank = 0; rank < stages; rank++) {
        assert_true(ps_chart_add_rank(c, (ps_chart_rank){.rank = rank, .stage = rank}));
        for (int step = 0; step < steps; step++) {
            int64_t t = step * (microbatches + stages) * 30000000LL + rank * 10000000LL;
            for (int k = 0; k < 2 * microbatches; k++) {
                bool forward = k % 2 == 0;
                int64_t ns = (forward ? 10000000 : 20000000) - (t + k) * 7919 % 1000003;
                (void)snprintf(name, sizeof name, forward ? "%d" : "%dB", k / 2);
                assert_true(ps_chart_add_op(c, (ps_op){.start_ns = t,
                                                       .end_ns = t + ns,
                                                       .step = step,
                                                       .name = name,
                                                       .rank = (uint32_t)rank,
                                                       .microbatch = k / 2,
                                                       .microbatch2 = -1,
                                                       .chunk2 = -1,
                                                       .phase = -1,
                                                       .kind = forward ? PS_OP_F : PS_OP_B}));
                t += ns;
            }
        }
    }
    return c;
}
