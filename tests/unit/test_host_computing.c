/* Labels of PyTorch's own pipeline in traces without a device: the op is the computing inside. The traces are made by hand in the
 * shape that torch.profiler writes them. */
#include "analyze/pipeline/host_computing.h"

#include <string.h>

#include "base/alloc.h"
#include "support/pp_trace.h"

/* One rank: a thread that runs the pipeline and one beside it. */
typedef struct host_rank {
    ps_builder *b;
    uint32_t main, beside;
} host_rank;

static host_rank host_rank_new(void) {
    host_rank h = {.b = ps_builder_new()};
    h.main = ps_builder_track(
        h.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = 1, .device = -1});
    h.beside = ps_builder_track(
        h.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = 2, .device = -1});
    return h;
}

static uint32_t add(host_rank *h, ps_slice_kind kind, uint32_t track, const char *name,
                    int64_t start, int64_t end) {
    return ps_builder_slice(h->b, kind, track, ps_builder_str(h->b, name, strlen(name)), start, end,
                            0);
}

static void label(host_rank *h, const char *name, int64_t start, int64_t end) {
    (void)add(h, PS_SLICE_ANNOTATION, h->main, name, start, end);
}

static uint32_t op(host_rank *h, const char *name, int64_t start, int64_t end) {
    return add(h, PS_SLICE_HOST_OP, h->main, name, start, end);
}

static void flow(host_rank *h, uint32_t from, uint32_t to) {
    ps_builder_flow_of(h->b, from, to, ps_builder_str(h->b, "fwdbwd", 6));
}

static ps_trace *chart_host_rank(host_rank *h, pp_outcome *o) {
    ps_trace *trace = ps_builder_seal(h->b, NULL);
    assert_non_null(trace);
    pp_run(o, &trace, 1, NULL);
    if (o->code != PS_OK) {
        fail_msg("%s", o->err.msg);
    }
    return trace;
}

static void end_host_rank(ps_trace *trace, pp_outcome *o) {
    pp_outcome_fini(o);
    ps_trace_free(trace);
}

static void expect_host_op(const pp_outcome *o, size_t i, ps_op_kind kind, int32_t microbatch,
                           int64_t start, int64_t end) {
    const ps_chart *c = o->result.chart;
    assert_true(i < c->n_ops);
    assert_int_equal(c->ops[i].kind, kind);
    assert_int_equal(c->ops[i].microbatch, microbatch);
    assert_int_equal(c->ops[i].start_ns + c->origin_ns, start);
    assert_int_equal(c->ops[i].end_ns + c->origin_ns, end);
}

/* The receive, its buffer and the wait come before the computing, the send behind it. What lies in a call of a library is no
 * computing, and a range of a library on the thread (gloo:recv) neither. */
static void put_forward(host_rank *h, int64_t at) {
    (void)op(h, "aten::empty_strided", at + 10, at + 15);
    (void)op(h, "c10d::recv_", at + 20, at + 40);
    (void)op(h, "aten::view", at + 25, at + 35);
    (void)add(h, PS_SLICE_ANNOTATION, h->main, "gloo:recv", at + 22, at + 600);
    (void)op(h, "aten::linear", at + 650, at + 700);
    (void)op(h, "aten::addmm", at + 660, at + 690);
    (void)op(h, "aten::relu", at + 720, at + 750);
    (void)op(h, "c10d::send", at + 800, at + 850);
    (void)op(h, "aten::view", at + 810, at + 820);
    (void)add(h, PS_SLICE_ANNOTATION, h->main, "gloo:send", at + 830, at + 3000);
}

static void test_receive_and_send_are_cut_off(void **context) {
    (void)context;
    host_rank h = host_rank_new();
    pp_outcome o;
    label(&h, "Forward 0", 1000, 2000);
    put_forward(&h, 1000);
    label(&h, "Forward 1", 2000, 3000);
    put_forward(&h, 2000);
    label(&h, "Backward 0", 3000, 4000);
    (void)op(&h, "c10d::recv_", 3020, 3040);
    (void)op(&h, "autograd::engine::evaluate_function: AddmmBackward0", 3500, 3600);
    label(&h, "Backward 1", 4000, 5000);
    (void)op(&h, "c10d::recv_", 4020, 4040);
    (void)op(&h, "autograd::engine::evaluate_function: AddmmBackward0", 4400, 4600);
    (void)op(&h, "c10d::send", 4700, 4800);
    ps_trace *trace = chart_host_rank(&h, &o);
    const ps_chart *c = o.result.chart;
    assert_int_equal(c->n_ops, 4);
    expect_host_op(&o, 0, PS_OP_F, 0, 1650, 1800);
    expect_host_op(&o, 1, PS_OP_F, 1, 2650, 2800);
    expect_host_op(&o, 2, PS_OP_B, 0, 3500, 4000); /* no send: to the end of the label */
    expect_host_op(&o, 3, PS_OP_B, 1, 4400, 4700);
    assert_int_equal(c->ops[0].host_start_ns + c->origin_ns, 1000); /* the label stays to be seen */
    assert_int_equal(c->ops[0].host_end_ns + c->origin_ns, 2000);
    assert_int_equal(c->trimmed.n_labels, 4);
    assert_int_equal(c->trimmed.labelled_ns, 4000);
    assert_int_equal(c->trimmed.trimmed_ns, 4000 - 150 - 150 - 500 - 300);
    assert_non_null(strstr(c->labels, "72.5 % of their time was receiving, waiting and sending"));
    end_host_rank(trace, &o);
}

/* The trace says when what a label received had come: what the host does from then on is computing, by operators or not. Each receive
 * has a label, which says for which op it is; times in us.
 *
 *   F0 of stage 1 waits from 1000 to 3000, sleeps, computes 9000-9500; meanwhile what F1 waits for comes, at 8000
 *   F1 of stage 1 begins 10000, sleeps, computes 16000-16500
 *   F0 of stage 0 receives nothing, begins 20000, computes 25000-26000
 *   B0 waits from 30000 to 34000, its node runs 34200-36000: the schedule takes 200 of each op */
static void test_receives_that_are_timed(void **context) {
    (void)context;
    enum { US = 1000 };
    host_rank h = host_rank_new();
    pp_outcome o;
    label(&h, "PP:1RECV_F0", 100 * US, 200 * US);
    label(&h, "gloo:recv", 150 * US, 3000 * US);
    label(&h, "PP:1RECV_F1", 300 * US, 400 * US);
    label(&h, "gloo:recv", 350 * US, 8000 * US);
    label(&h, "PP:1F0", 1000 * US, 9600 * US);
    (void)op(&h, "aten::mm", 9000 * US, 9500 * US);
    label(&h, "PP:1F1", 10000 * US, 16600 * US);
    (void)op(&h, "aten::mm", 16000 * US, 16500 * US);
    label(&h, "PP:0F0", 20000 * US, 26100 * US);
    (void)op(&h, "aten::mm", 25000 * US, 26000 * US);
    label(&h, "PP:1RECV_B0", 27000 * US, 27100 * US);
    label(&h, "gloo:recv", 27050 * US, 34000 * US);
    label(&h, "PP:1B0", 30000 * US, 36000 * US);
    (void)op(&h, "autograd::engine::evaluate_function: MmBackward0", 34200 * US, 36000 * US);
    ps_trace *trace = chart_host_rank(&h, &o);
    assert_int_equal(o.result.chart->n_ops, 4);
    expect_host_op(&o, 0, PS_OP_F, 0, 3200 * US, 9600 * US);
    expect_host_op(&o, 1, PS_OP_F, 1, 10200 * US, 16600 * US);
    expect_host_op(&o, 2, PS_OP_F, 0, 20200 * US, 26100 * US);
    expect_host_op(&o, 3, PS_OP_B, 0, 34200 * US, 36000 * US);
    end_host_rank(trace, &o);
}

/* What is posted elsewhere leaves only the wait in the label, which is no operator. */
static void test_wait_without_operator(void **context) {
    (void)context;
    host_rank h = host_rank_new();
    pp_outcome o;
    label(&h, "PP:0UNSHARD", 900, 950); /* holds nothing: no op */
    label(&h, "PP:1F0", 1000, 2000);
    (void)op(&h, "aten::mm", 1600, 1900);
    label(&h, "PP:0F0", 2000, 2500);
    (void)op(&h, "mylib::irecv_like_layer", 2100, 2400); /* its name does not make it a receive */
    label(&h, "PP:0WAIT_SEND_F0", 2500, 2600);
    label(&h, "PP:1B0", 3000, 3400);
    (void)op(&h, "aten::mm", 3100, 3300);
    label(&h, "PP:0I0", 4000, 4900); /* the first stage has no input gradient: only its wait */
    label(&h, "PP:0W0", 5000, 5500);
    (void)op(&h, "aten::mm", 5010, 5400);
    label(&h, "PP:0REDUCE_GRAD", 6000, 6100);
    (void)op(&h, "aten::div_", 6050, 6060);
    ps_trace *trace = chart_host_rank(&h, &o);
    assert_int_equal(o.result.chart->n_ops, 6);
    expect_host_op(&o, 0, PS_OP_F, 0, 1600, 2000);
    expect_host_op(&o, 1, PS_OP_F, 0, 2100, 2500);
    expect_host_op(&o, 2, PS_OP_B, 0, 3100, 3400);
    expect_host_op(&o, 3, PS_OP_BI, 0, 4900, 4900);
    expect_host_op(&o, 4, PS_OP_BW, 0, 5010, 5500);
    expect_host_op(&o, 5, PS_OP_OTHER, -1, 6050, 6060);
    assert_int_equal(o.diags[0].counts[PS_ODD_TEXT], 0);
    end_host_rank(trace, &o);
}

/* A thread that the label's one does not wait for computes for somebody else. */
static void test_other_threads_do_not_count(void **context) {
    (void)context;
    host_rank h = host_rank_new();
    pp_outcome o;
    label(&h, "Forward 0", 1000, 2000);
    (void)add(&h, PS_SLICE_HOST_OP, h.beside, "aten::to", 1100, 1300);
    (void)op(&h, "aten::mm", 1600, 1900);
    label(&h, "Backward 0", 2000, 3000);
    (void)op(&h, "aten::mm", 2200, 2900);
    ps_trace *trace = chart_host_rank(&h, &o);
    expect_host_op(&o, 0, PS_OP_F, 0, 1600, 2000);
    expect_host_op(&o, 1, PS_OP_B, 0, 2200, 3000);
    end_host_rank(trace, &o);
}

/* Transfers in the middle of the computing (attention over several ranks) are part of it. */
static void test_transfers_while_computing(void **context) {
    (void)context;
    host_rank h = host_rank_new();
    pp_outcome o;
    label(&h, "Forward 0", 1000, 2000); /* sends first */
    (void)op(&h, "aten::mm", 1100, 1200);
    (void)op(&h, "c10d::send", 1210, 1220);
    (void)op(&h, "c10d::recv_", 1230, 1240);
    (void)op(&h, "aten::mm", 1300, 1900);
    label(&h, "Forward 1", 2000, 3000); /* less behind the receive than before */
    (void)op(&h, "aten::mm", 2100, 2500);
    (void)op(&h, "c10d::recv_", 2510, 2520);
    (void)op(&h, "aten::mm", 2600, 2700);
    (void)op(&h, "c10d::send", 2750, 2760);
    ps_trace *trace = chart_host_rank(&h, &o);
    expect_host_op(&o, 0, PS_OP_F, 0, 1100, 2000);
    expect_host_op(&o, 1, PS_OP_F, 1, 2100, 2750);
    end_host_rank(trace, &o);
}

/* PyTorch runs the parts of a pair one after the other, and the wait of the second lies between them. */
static void test_pairs_are_split(void **context) {
    (void)context;
    static const char NODE[] = "autograd::engine::evaluate_function: MmBackward0";
    host_rank h = host_rank_new();
    pp_outcome o;
    label(&h, "PP:1F0", 1000, 2000);
    uint32_t f0 = op(&h, "aten::mm", 1100, 1900);
    label(&h, "PP:(0F1;1I0)OVERLAP_F_B", 2000, 4000);
    uint32_t f1 = op(&h, "aten::mm", 2200, 2600);
    (void)op(&h, "aten::view_as", 3300, 3310);
    uint32_t b0 = op(&h, NODE, 3400, 3900);
    label(&h, "PP:(1F1;0B1)OVERLAP_F_B", 5000, 6000); /* both at once: stays a pair */
    uint32_t b1 = op(&h, NODE, 5100, 5300);
    uint32_t f2 = op(&h, "aten::mm", 5400, 5600);
    label(&h, "PP:1B1", 7000, 8000);
    uint32_t b2 = op(&h, NODE, 7500, 7900);
    flow(&h, f0, b0);
    flow(&h, f1, b1);
    flow(&h, f2, b2);
    ps_trace *trace = chart_host_rank(&h, &o);
    assert_int_equal(o.result.chart->n_ops, 5);
    expect_host_op(&o, 0, PS_OP_F, 0, 1100, 2000);
    expect_host_op(&o, 1, PS_OP_F, 1, 2200, 2600);
    expect_host_op(&o, 2, PS_OP_BI, 0, 3400, 4000);
    assert_int_equal(o.result.chart->ops[2].chunk, 1);
    expect_host_op(&o, 3, PS_OP_FB, 1, 5100, 6000);
    expect_host_op(&o, 4, PS_OP_B, 1, 7500, 8000);
    end_host_rank(trace, &o);
}

/* Ranges that a program drew around the computing are the ops, whatever they hold. */
static void test_recorded_ranges_stay(void **context) {
    (void)context;
    host_rank h = host_rank_new();
    pp_outcome o;
    (void)add(&h, PS_SLICE_MARK_HOST, h.main, "PP:0F0", 1000, 2000);
    (void)op(&h, "aten::mm", 1600, 1900);
    (void)add(&h, PS_SLICE_MARK_HOST, h.main, "PP:0B0", 2000, 3000);
    ps_trace *trace = chart_host_rank(&h, &o);
    expect_host_op(&o, 0, PS_OP_F, 0, 1000, 2000);
    expect_host_op(&o, 1, PS_OP_B, 0, 2000, 3000);
    assert_int_equal(o.result.chart->trimmed.n_labels, 0);
    end_host_rank(trace, &o);
}

/* Without operators nobody knows how long the waits are, and the chart says so. */
static void test_no_operators(void **context) {
    (void)context;
    host_rank h = host_rank_new();
    pp_outcome o;
    label(&h, "Forward 0", 1000, 2000);
    label(&h, "Backward 0", 2000, 3000);
    ps_trace *trace = chart_host_rank(&h, &o);
    expect_host_op(&o, 0, PS_OP_F, 0, 1000, 2000);
    expect_host_op(&o, 1, PS_OP_B, 0, 2000, 3000);
    assert_non_null(strstr(o.result.chart->labels, "2 labels hold their waits"));
    end_host_rank(trace, &o);
}

static void test_every_allocation_may_fail(void **context) {
    (void)context;
    host_rank h = host_rank_new();
    label(&h, "PP:0RECV_F1", 1900, 1950);
    label(&h, "gloo:recv", 1920, 2100);
    label(&h, "PP:(0F1;1I0)OVERLAP_F_B", 2000, 4000);
    uint32_t f = op(&h, "aten::mm", 2200, 2600);
    flow(&h, f, op(&h, "autograd::engine::evaluate_function: MmBackward0", 3400, 3900));
    ps_trace *trace = ps_builder_seal(h.b, NULL);
    assert_non_null(trace);
    for (int64_t n = 0;; n++) {
        pp_outcome o;
        (void)ps_alloc_fail_at(n);
        pp_run(&o, &trace, 1, NULL);
        bool done = ps_alloc_fail_at(-1) <= n;
        if (o.code != PS_OK || o.map_codes[0] != PS_OK) {
            assert_int_equal(o.err.code, PS_NOMEM);
        }
        pp_outcome_fini(&o);
        if (done) {
            break;
        }
    }
    ps_trace_free(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receive_and_send_are_cut_off),
        cmocka_unit_test(test_receives_that_are_timed),
        cmocka_unit_test(test_wait_without_operator),
        cmocka_unit_test(test_other_threads_do_not_count),
        cmocka_unit_test(test_transfers_while_computing),
        cmocka_unit_test(test_pairs_are_split),
        cmocka_unit_test(test_recorded_ranges_stay),
        cmocka_unit_test(test_no_operators),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
