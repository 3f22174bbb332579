/* The same facts from operators and from kernels. */
#include <string.h>

#include "analyze/comm/comm_list.h"
#include "base/alloc.h"
#include "model/host_comm.h"
#include "support/small_runs.h"

typedef struct collected {
    ps_links links;
    ps_comm_list list;
    ps_diag diag;
} collected;

static void collect(collected *c, const ps_trace *t) {
    *c = (collected){0};
    assert_int_equal(ps_links_init(&c->links, t, NULL), PS_OK);
    assert_int_equal(ps_comm_list_collect(t, &c->links, NULL, &c->list, &c->diag, NULL), PS_OK);
}

static void collected_fini(collected *c) {
    ps_links_fini(&c->links);
    ps_comm_list_fini(&c->list);
}

static void expect_texts(const ps_comm_list *list, size_t i, const char *name, const char *type,
                         const char *group, const char *data_type) {
    const ps_comm_op *op = &list->ops[i];
    assert_string_equal(ps_comm_text(list, op->name), name);
    assert_string_equal(ps_comm_text(list, op->look->type), type);
    assert_string_equal(ps_comm_text(list, op->look->group), group);
    assert_string_equal(ps_comm_text(list, op->look->data_type), data_type);
}

static uint32_t group_track(ps_builder *b, const char *name) {
    return ps_builder_track(b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                          .pid = 2,
                                          .tid = -1,
                                          .device = 0,
                                          .name = ps_builder_str(b, name, strlen(name))});
}

static void from_operators(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t group = group_track(b, "10.0.0.1%eth0_60000_0_17");
    small_step(b, 3, 0, 1000);
    small_step(b, 4, 1000, 2000);
    uint32_t call = small_slice(b, PS_SLICE_CALL, small_thread(b, 1), "launch", 900, 910);
    uint32_t reduce =
        small_slice(b, PS_SLICE_COMM_OP, group, "hcom_allReduce__860_0_1", 1100, 1300);
    ps_builder_flow_of(b, call, reduce, ps_builder_str(b, "HostToDevice", 12));
    small_arg(b, reduce, "opType", "hcom_allReduce_");
    small_arg(b, reduce, "dataType", "BFP16");
    ps_builder_arg_int(b, reduce, "count", 1048576);
    uint32_t send = small_slice(b, PS_SLICE_COMM_OP, group, "hcom_send__860_1_1", 1400, 1450);
    small_arg(b, send, "opType", "N/A"); /* as at level 0 */
    small_arg(b, send, "count", "12");   /* a text */
    small_arg(b, send, "dataType", "UINT32");
    ps_builder_arg_int(b, send, "srcRank", 1);
    ps_builder_arg_int(b, send, "dstRank", 3);
    uint32_t odd = small_slice(b, PS_SLICE_COMM_OP, group, "hcom_broadcast__860_2_1", 1500, 1501);
    ps_builder_arg_int(b, odd, "count", -7);
    ps_trace *t = small_seal(b);
    collected c;
    collect(&c, t);
    assert_int_equal(c.list.n, 3);
    const ps_comm_op *op = c.list.ops;
    expect_texts(&c.list, 0, "hcom_allReduce__860_0_1", "hcom_allReduce_",
                 "10.0.0.1%eth0_60000_0_17", "BFP16");
    assert_int_equal(op[0].start_ns, SMALL_EPOCH_NS + 1100);
    assert_int_equal(op[0].end_ns, SMALL_EPOCH_NS + 1300);
    assert_int_equal(op[0].host_start_ns, SMALL_EPOCH_NS + 900);
    assert_int_equal(op[0].step, 3); /* that of its launch */
    assert_int_equal(op[0].look->n_elements, 1048576);
    assert_int_equal(op[0].look->size_bytes, 2097152);
    assert_int_equal(op[0].sequence, -1);
    assert_false(op[0].look->is_p2p);
    expect_texts(&c.list, 1, "hcom_send__860_1_1", "hcom_send_", "10.0.0.1%eth0_60000_0_17",
                 "UINT32");
    assert_true(op[1].host_start_ns == PS_NO_TIME);
    assert_int_equal(op[1].step, 4); /* nobody launched it */
    assert_int_equal(op[1].look->size_bytes, 48);
    assert_true(op[1].look->is_p2p && op[1].look->is_send);
    assert_int_equal(op[1].look->own, 1);
    assert_int_equal(op[1].look->peer, 3);
    assert_int_equal(op[2].look->n_elements, -1);
    assert_int_equal(op[2].look->size_bytes, -1);
    assert_int_equal(c.diag.counts[PS_ODD_NUMBER], 1);
    collected_fini(&c);
    assert_int_equal(ps_comm_list_collect(t, NULL, NULL, &c.list, &c.diag, NULL), PS_OK);
    assert_int_equal(c.list.ops[0].step, 4); /* by its own time */
    assert_true(c.list.ops[0].host_start_ns == PS_NO_TIME);
    ps_comm_list_fini(&c.list);
    ps_trace_free(t);
}

/* Older text exports number their communicators: the hash of communication.json is the group, else the operator's tag. */
static void numbered_groups(void **state) {
    (void)state;
    static const ps_column COLUMNS[] = {{.name = "hccl_op_name", .type = PS_COL_TEXT},
                                        {.name = "group_name", .type = PS_COL_TEXT}};
    ps_builder *b = ps_builder_new();
    uint32_t group = group_track(b, "0");
    ps_table *side = ps_table_new("communication", "", COLUMNS, 2);
    assert_true(ps_table_add_row(side));
    assert_true(ps_table_set_text(side, 0, "hcom_allReduce__586_0_1"));
    assert_true(ps_table_set_text(side, 1, "17522688603477080586"));
    ps_builder_side_table(b, side);
    (void)small_slice(b, PS_SLICE_COMM_OP, group, "hcom_allReduce__586_0_1", 0, 10);
    (void)small_slice(b, PS_SLICE_COMM_OP, group, "hcom_allReduce__999_0_1", 20, 30);
    (void)small_slice(b, PS_SLICE_COMM_OP, group, "other", 40, 50);
    ps_trace *t = small_seal(b);
    collected c;
    collect(&c, t);
    assert_int_equal(c.list.n, 3);
    assert_string_equal(ps_comm_text(&c.list, c.list.ops[0].look->group), "17522688603477080586");
    assert_string_equal(ps_comm_text(&c.list, c.list.ops[1].look->group), "999");
    assert_string_equal(ps_comm_text(&c.list, c.list.ops[2].look->group), "0");
    collected_fini(&c);
    ps_trace_free(t);
}

static uint32_t kernel(ps_builder *b, const char *name, const char *called, int64_t start) {
    uint32_t k = small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 7), name, start, start + 10);
    if (called != NULL) {
        small_arg(b, k, "Collective name", called);
        small_arg(b, k, "Process Group Name", "5");
        small_arg(b, k, "Process Group Description", "PIPELINE_MODEL_PARALLEL_GROUP");
        small_arg(b, k, "Process Group Ranks", "[0, 4]");
        small_arg(b, k, "dtype", "BFloat16");
        ps_builder_arg_int(b, k, "In msg nelems", 100);
        ps_builder_arg_int(b, k, "Seq", start);
    }
    return k;
}

/* What was called decides what is point to point: an all-to-all is made of SendRecv kernels as well. */
static void from_kernels(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    static const char SEND_RECV[] = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
    uint32_t thread = small_thread(b, 1);
    (void)kernel(b, SEND_RECV, "alltoallv", 0);
    uint32_t send = kernel(b, SEND_RECV, "send", 20);
    ps_builder_arg_int(b, send, "Dst Rank", 4);
    (void)kernel(b, SEND_RECV, "coalesced", 40);
    (void)kernel(b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", NULL, 60);
    uint32_t named = kernel(b, SEND_RECV, NULL, 80);
    (void)small_slice(b, PS_SLICE_ANNOTATION, thread, "nccl:all_to_all", 2, 10);
    uint32_t call = small_slice(b, PS_SLICE_CALL, thread, "cudaLaunchKernel", 4, 6);
    ps_builder_flow_of(b, call, named, ps_builder_str(b, "ac2g", 4));
    ps_trace *t = small_seal(b);
    collected c;
    collect(&c, t);
    assert_int_equal(c.list.n, 5);
    const ps_comm_op *op = c.list.ops;
    expect_texts(&c.list, 0, SEND_RECV, "alltoallv", "5", "BFloat16");
    assert_string_equal(ps_comm_text(&c.list, op[0].look->members), "[0, 4]");
    assert_false(op[0].look->is_p2p);
    assert_int_equal(op[0].look->size_bytes, 200);
    assert_int_equal(op[0].sequence, 0);
    assert_true(op[1].look->is_p2p && op[1].look->is_send);
    assert_int_equal(op[1].look->own, -1);
    assert_int_equal(op[1].look->peer, 4);
    assert_int_equal(ps_comm_peer_rank(op[1].look, 0), 4);
    assert_int_equal(op[1].look->group_size, 2);
    assert_true(op[2].look->is_p2p);
    expect_texts(&c.list, 3, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", "AllReduce", "", "");
    assert_int_equal(op[3].look->size_bytes, -1);
    assert_string_equal(ps_comm_text(&c.list, op[4].look->type), "nccl:all_to_all");
    assert_false(op[4].look->is_p2p);
    collected_fini(&c);
    ps_trace_free(t);
}

/* Places of a communicator, and of one of two its ranks, whatever place its metadata has for this one. */
static void who_is_at_the_other_end(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    ps_builder_meta(b, "parallel_group_info",
                    "{\"four\": {\"group_name\": \"pp\", \"group_rank\": 0, "
                    "\"global_ranks\": [3, 7, 11, 15]}, \"two\": {\"group_name\": \"pp\", "
                    "\"group_rank\": 0, \"global_ranks\": [0, 4]}}");
    uint32_t placed =
        small_slice(b, PS_SLICE_COMM_OP, group_track(b, "four"), "hcom_receive__1_0_1", 0, 10);
    ps_builder_arg_int(b, placed, "srcRank", 2);
    ps_builder_arg_int(b, placed, "dstRank", 1);
    (void)small_slice(b, PS_SLICE_COMM_OP, group_track(b, "two"), "hcom_send__2_0_1", 20, 30);
    (void)small_slice(b, PS_SLICE_COMM_OP, group_track(b, "two"), "hcom_allReduce__2_1_1", 40, 50);
    (void)small_slice(b, PS_SLICE_COMM_OP, group_track(b, "other"), "hcom_send__3_0_1", 60, 70);
    ps_trace *t = small_seal(b);
    collected c;
    collect(&c, t);
    static const int64_t SIZES[4] = {4, 2, 2, -1};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(c.list.ops[i].look->group_size, SIZES[i]);
    }
    assert_int_equal(ps_comm_peer_rank(c.list.ops[0].look, 11), 7);
    assert_int_equal(ps_comm_peer_rank(c.list.ops[1].look, 0), 4);
    assert_int_equal(ps_comm_peer_rank(c.list.ops[1].look, 4), 0);
    assert_int_equal(ps_comm_peer_rank(c.list.ops[1].look, -1), -1);
    assert_int_equal(ps_comm_peer_rank(c.list.ops[2].look, 0), -1);
    assert_int_equal(ps_comm_peer_rank(c.list.ops[3].look, 0), -1);
    collected_fini(&c);
    ps_trace_free(t);
}

static void data_types(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t bytes;
    } TYPES[] = {{"INT8", 1}, {"FP16", 2},    {"BFP16", 2},     {"Float", 4},       {"BFloat16", 2},
                 {"Long", 8}, {"UINT32", 4},  {"int64", 8},     {"double", 8},      {"INT128", 16},
                 {"Half", 2}, {"Byte", 1},    {"c10::Half", 2}, {"signed char", 1}, {"N/A", 0},
                 {"", 0},     {"RESERVED", 0}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        assert_int_equal(ps_data_type_bytes(TYPES[i].name), TYPES[i].bytes);
    }
}

static void nothing(void **state) {
    (void)state;
    ps_trace *t = small_seal(ps_builder_new());
    collected c;
    collect(&c, t);
    assert_int_equal(c.list.n, 0);
    collected_fini(&c);
    ps_trace_free(t);
}

static void memory(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t op = small_slice(b, PS_SLICE_COMM_OP, group_track(b, "g"), "hcom_send__1_0_1", 0, 10);
    small_arg(b, op, "dataType", "FP16");
    ps_trace *t = small_seal(b);
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_comm_list list;
        ps_diag diag = {0};
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_comm_list_collect(t, NULL, NULL, &list, &diag, NULL);
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        ps_comm_list_fini(&list);
    }
    ps_trace_free(t);
}

/* A call of NCCL under Nsight: its range, inside of it the launch. */
static uint32_t nccl_call(ps_builder *b, const char *name, int64_t start, int64_t size) {
    uint32_t range = small_slice(b, PS_SLICE_MARK_HOST, small_thread(b, 1), name, start, start + 8);
    ps_builder_arg_int(b, range, "NCCL communicator ID", 255);
    if (size > 0) {
        ps_builder_arg_int(b, range, "Message size [bytes]", size);
    }
    return range;
}

static void launched(ps_builder *b, int64_t at, int64_t start) {
    uint32_t call =
        small_slice(b, PS_SLICE_CALL, small_thread(b, 1), "cuLaunchKernelExC", at, at + 2);
    uint32_t k =
        small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 7),
                    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start, start + 10);
    ps_builder_flow_of(b, call, k, ps_builder_str(b, "launch", 6));
}

/* Size and communicator come from the payload; a group of several calls is no transfer between two, a group of one is that
 * one. */
static void from_ranges_of_nccl(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    (void)nccl_call(b, "ncclRecv", 100, 4096);
    launched(b, 102, 200);
    for (int64_t at = 300; at <= 500; at += 200) {
        (void)nccl_call(b, "ncclGroupStart", at, 0);
        (void)nccl_call(b, "ncclSend", at + 10, 64);
        if (at == 300) {
            (void)nccl_call(b, "ncclRecv", at + 20, 64);
        }
        (void)nccl_call(b, "ncclGroupEnd", at + 30, 0);
        launched(b, at + 32, at + 100);
    }
    ps_trace *t = small_seal(b);
    collected c;
    collect(&c, t);
    assert_int_equal(c.list.n, 3);
    const ps_comm_op *op = c.list.ops;
    expect_texts(&c.list, 0, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "ncclRecv",
                 "255", "");
    assert_true(op[0].look->is_p2p && !op[0].look->is_send);
    assert_int_equal(op[0].look->size_bytes, 4096);
    assert_string_equal(ps_comm_text(&c.list, op[1].look->type), "ncclGroupEnd");
    assert_true(op[1].look->is_group && !op[1].look->is_p2p);
    assert_int_equal(op[1].look->size_bytes, -1);
    assert_string_equal(ps_comm_text(&c.list, op[2].look->type), "ncclSend");
    assert_true(op[2].look->is_p2p && op[2].look->is_send);
    assert_int_equal(op[2].look->size_bytes, 64);
    collected_fini(&c);
    ps_trace_free(t);
}

/* All lists of a job are held until they are reduced: what operators have in common is there once. */
static void equal_operators_share_a_look(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    for (int64_t i = 0; i < 6; i++) {
        (void)kernel(b, i < 4 ? "dispatch" : "combine", NULL, 1000 * i);
    }
    ps_trace *t = small_seal(b);
    collected c;
    collect(&c, t);
    assert_int_equal(c.list.n, 6);
    assert_int_equal(c.list.n_looks, 2);
    assert_ptr_equal(c.list.ops[0].look, c.list.ops[3].look);
    assert_ptr_equal(c.list.ops[4].look, &c.list.looks[1]);
    assert_true(sizeof(ps_comm_op) <= 56);
    collected_fini(&c);
    ps_trace_free(t);
}

/* Functions of other libraries are told apart by their own name. */
static void from_kernels_of_others(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    (void)kernel(b, "void deep_ep::internode::notify_dispatch<false, 8>(int const*)", NULL, 0);
    (void)kernel(b, "void deep_ep::internode::dispatch<false, 8>(int4*)", NULL, 20);
    ps_trace *t = small_seal(b);
    collected c;
    collect(&c, t);
    assert_string_equal(ps_comm_text(&c.list, c.list.ops[0].look->type), "notify_dispatch");
    assert_string_equal(ps_comm_text(&c.list, c.list.ops[1].look->type), "dispatch");
    assert_false(c.list.ops[1].look->is_p2p);
    collected_fini(&c);
    ps_trace_free(t);
}

static uint32_t gloo_range(ps_builder *b, const char *name, int64_t start) {
    return small_slice(b, PS_SLICE_ANNOTATION, small_thread(b, 3), name, start, start + 40);
}

static ps_trace *gloo_trace(bool has_kernel) {
    ps_builder *b = ps_builder_new();
    ps_builder_meta(b, "distributedInfo",
                    "{\"backend\": \"gloo\", \"rank\": 1, \"world_size\": 2, \"pg_config\": "
                    "[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"pg_size\": 2, \"ranks\": "
                    "[0, 1]}]}");
    (void)gloo_range(b, "gloo:all_reduce", 100);
    (void)gloo_range(b, "gloo:recvAnySource", 200);
    (void)gloo_range(b, "gloo:all_reduce_of_mine", 300);
    (void)gloo_range(b, "my gloo:send", 400);
    if (has_kernel) {
        (void)small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "gemm", 500, 510);
    }
    return small_seal(b);
}

/* Without a device gloo's own ranges are the communication, and no other name is. */
static void from_gloo_on_the_host(void **state) {
    (void)state;
    ps_trace *t = gloo_trace(false);
    collected c;
    collect(&c, t);
    assert_int_equal(ps_host_comm_count(t), 2);
    assert_int_equal(c.list.n, 2);
    expect_texts(&c.list, 0, "gloo:all_reduce", "gloo:all_reduce", "0", "");
    assert_string_equal(ps_comm_text(&c.list, c.list.ops[0].look->members), "[0, 2 in all]");
    assert_false(c.list.ops[0].look->is_p2p);
    assert_true(c.list.ops[1].look->is_p2p && !c.list.ops[1].look->is_send);
    assert_int_equal(c.list.ops[1].look->peer, -1);
    collected_fini(&c);
    ps_trace_free(t);
    t = gloo_trace(true); /* there the host only waits for the device, or for files */
    collect(&c, t);
    assert_int_equal(c.list.n, 0);
    collected_fini(&c);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_operators),
        cmocka_unit_test(numbered_groups),
        cmocka_unit_test(from_kernels),
        cmocka_unit_test(from_ranges_of_nccl),
        cmocka_unit_test(equal_operators_share_a_look),
        cmocka_unit_test(from_kernels_of_others),
        cmocka_unit_test(from_gloo_on_the_host),
        cmocka_unit_test(who_is_at_the_other_end),
        cmocka_unit_test(data_types),
        cmocka_unit_test(nothing),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
