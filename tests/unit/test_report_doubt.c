/* Which kernels raise the question whether they compute or communicate. Times are microseconds. */
#include "support/report_run.h"

#include <string.h>

#include "base/alloc.h"

typedef struct streams {
    rig r;
    uint32_t other;
} streams;

static streams begin(void) {
    streams s = {.r = rig_begin(1000)};
    s.other = ps_builder_track(s.r.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 20, .device = 0});
    (void)rig_slice(&s.r, PS_SLICE_KERNEL, s.r.stream, "void gemm<3>(int)", 10, 500);
    return s;
}

static bool asks(streams *s, const char *says) {
    report_run o;
    ps_trace *t = rig_seal(&s->r);
    report_over(&o, &t, 1, NULL, NULL);
    assert_int_equal(o.code, PS_OK);
    bool fired = report_fired(&o, PS_RULE_COMM_UNKNOWN);
    if (fired) {
        assert_non_null(strstr(report_text(&o, PS_RULE_COMM_UNKNOWN), says));
        assert_int_equal(report_gain(&o, PS_RULE_COMM_UNKNOWN), 0);
    }
    report_fini(&o);
    return fired;
}

static void on_a_stream_of_communication(void **state) {
    (void)state;
    streams s = begin();
    (void)rig_slice(&s.r, PS_SLICE_COMM_KERNEL, s.other, "ncclDevKernel_AllReduce_x(int)", 500, 700);
    (void)rig_slice(&s.r, PS_SLICE_KERNEL, s.other, "void mine::exchange<3>(int*)", 700, 900);
    assert_true(asks(&s, "\"exchange communication\""));
}

/* The same stream computes, too; the name is known; it takes little; or there is one stream only. */
static void no_reason_to_ask(void **state) {
    (void)state;
    streams s = begin();
    (void)rig_slice(&s.r, PS_SLICE_COMM_KERNEL, s.other, "ncclDevKernel_AllReduce_x(int)", 500, 700);
    (void)rig_slice(&s.r, PS_SLICE_KERNEL, s.other, "void mine::exchange<3>(int*)", 700, 900);
    (void)rig_slice(&s.r, PS_SLICE_KERNEL, s.other, "void mine::product<3>(int*)", 900, 990);
    assert_false(asks(&s, ""));
    s = begin();
    (void)rig_slice(&s.r, PS_SLICE_COMM_KERNEL, s.other, "ncclDevKernel_AllReduce_x(int)", 500, 700);
    (void)rig_slice(&s.r, PS_SLICE_KERNEL, s.other, "void at::native::fill<3>(int*)", 700, 900);
    assert_false(asks(&s, ""));
    s = begin();
    (void)rig_slice(&s.r, PS_SLICE_COMM_KERNEL, s.other, "ncclDevKernel_AllReduce_x(int)", 500, 700);
    (void)rig_slice(&s.r, PS_SLICE_KERNEL, s.other, "void mine::exchange<3>(int*)", 700, 720);
    assert_false(asks(&s, ""));
    s = begin();
    (void)rig_slice(&s.r, PS_SLICE_COMM_KERNEL, s.r.stream, "ncclDevKernel_AllReduce_x(int)", 500, 700);
    assert_false(asks(&s, ""));
}

static void launched_by_a_library(void **state) {
    (void)state;
    static const char *const CALLERS[] = {"c10d::alltoall_base_", "mine::alltoall"};
    for (size_t i = 0; i < 2; i++) {
        streams s = begin();
        (void)rig_host(&s.r, PS_SLICE_HOST_OP, CALLERS[i], 100, 200);
        (void)rig_kernel(&s.r, NULL, NULL, 150, 600, 900);
        assert_int_equal(asks(&s, "a communication library launches it"), i == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_stream_of_communication),
        cmocka_unit_test(no_reason_to_ask),
        cmocka_unit_test(launched_by_a_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
