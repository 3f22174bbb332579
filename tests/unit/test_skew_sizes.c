/* Collectives of two ranks are paired by what they carry where their order does not tell. */
#include <string.h>

#include "analyze/comm/skew.h"
#include "support/small_runs.h"

/* All-reduces of one group in a row, ten long each; a letter a size. */
static void list_of(const char *sizes, ps_comm_list *out) {
    ps_diag diag = {0};
    ps_builder *b = ps_builder_new();
    for (int64_t i = 0; sizes[i] != '\0'; i++) {
        uint32_t k =
            small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 7),
                        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 100 * i, 100 * i + 10);
        small_arg(b, k, "Collective name", "allreduce");
        small_arg(b, k, "Process Group Name", "5");
        small_arg(b, k, "dtype", "Float");
        if (sizes[i] != '?') {
            ps_builder_arg_int(b, k, "In msg nelems", sizes[i]);
        }
    }
    ps_trace *t = small_seal(b);
    assert_int_equal(ps_comm_list_collect(t, NULL, NULL, out, &diag, NULL), PS_OK);
    ps_trace_free(t);
}

static void expect_collectives(const char *first, const char *second, size_t n_collectives) {
    ps_comm_list lists[2];
    list_of(first, &lists[0]);
    list_of(second, &lists[1]);
    const ps_comm_list *const both[] = {&lists[0], &lists[1]};
    const ps_rank_info ranks[2] = {{.rank = 0}, {.rank = 1}};
    ps_skew skew = {0};
    ps_skew_input in = {.lists = both, .ranks = ranks, .n_ranks = 2, .step = -1};
    assert_int_equal(ps_skew_measure(&in, &skew, NULL), PS_OK);
    size_t n = 0;
    for (size_t i = 0; i < skew.n_collectives; i++) {
        const ps_collective_part *p = &skew.parts[skew.collectives[i].first];
        n++;
        assert_int_equal(lists[p[0].rank].ops[p[0].op].look->size_bytes,
                         lists[p[1].rank].ops[p[1].op].look->size_bytes);
    }
    assert_int_equal(n, n_collectives);
    ps_skew_fini(&skew);
    ps_comm_list_fini(&lists[0]);
    ps_comm_list_fini(&lists[1]);
}

static void by_size(void **state) {
    (void)state;
    expect_collectives("abab", "abab", 4);
    expect_collectives("????", "????", 4);
    expect_collectives("abab", "bab", 2);  /* equally many of size b only */
    expect_collectives("abab", "baba", 4); /* equally many, but the order contradicts */
    expect_collectives("aaaa", "aaa", 0);
}

/* A send that nobody received, beside kernels whose group and number nothing names: those are matched twice, the send is
 * counted once all the same. */
static void unmatched_sends_stay_counted(void **state) {
    (void)state;
    ps_comm_list lists[2];
    for (int r = 0; r < 2; r++) {
        ps_diag diag = {0};
        ps_builder *b = ps_builder_new();
        uint32_t stream = small_stream(b, 7);
        for (int64_t i = 0; i < 4; i++) {
            (void)small_slice(b, PS_SLICE_COMM_KERNEL, stream,
                              "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 100000 * i,
                              100000 * i + 10000);
        }
        if (r == 0) {
            uint32_t k = small_slice(b, PS_SLICE_COMM_KERNEL, stream, "ncclDevKernel_SendRecv(int)",
                                     500000, 510000);
            small_arg(b, k, "Collective name", "send");
            small_arg(b, k, "Process Group Name", "5");
            ps_builder_arg_int(b, k, "Dst Rank", 1);
        }
        ps_trace *t = small_seal(b);
        assert_int_equal(ps_comm_list_collect(t, NULL, NULL, &lists[r], &diag, NULL), PS_OK);
        ps_trace_free(t);
    }
    const ps_comm_list *const both[] = {&lists[0], &lists[1]};
    const ps_rank_info ranks[2] = {{.rank = 0}, {.rank = 1}};
    ps_skew skew = {0};
    ps_skew_input in = {.lists = both, .ranks = ranks, .n_ranks = 2, .step = -1};
    assert_int_equal(ps_skew_measure(&in, &skew, NULL), PS_OK);
    assert_int_equal(skew.n_collectives, 4);
    assert_int_equal(skew.n_unmatched, 1);
    ps_skew_fini(&skew);
    ps_comm_list_fini(&lists[0]);
    ps_comm_list_fini(&lists[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_size),
                                       cmocka_unit_test(unmatched_sends_stay_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
