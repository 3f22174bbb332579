/* Which kernels communicate and what they do, by the function that they are; rules of the user; what operators and calls
 * say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "model/comm_kernels.h"
#include "support/scratch.h"

static void expect_kernel(const char *name, ps_comm_what what, const char *library) {
    const char *found = NULL;
    assert_string_equal(ps_comm_what_name(ps_comm_of_kernel(name, &found)),
                        ps_comm_what_name(what));
    if (library == NULL) {
        assert_null(found);
    } else {
        assert_string_equal(found, library);
    }
}

static void by_the_table(void **state) {
    (void)state;
    expect_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  PS_COMM_ALL_REDUCE, "NCCL");
    expect_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
                  PS_COMM_SEND_RECEIVE, "NCCL");
    expect_kernel("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>) [clone .kd]",
                  PS_COMM_UNTOLD, "NCCL");
    expect_kernel("ncclDevKernel_Generic_1.kd", PS_COMM_UNTOLD, "NCCL");
    expect_kernel("void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)",
                  PS_COMM_UNTOLD, "RCCL");
    expect_kernel("void deep_ep::internode::dispatch<false, 8, false, 8192>(int4*, float*)",
                  PS_COMM_DISPATCH, "DeepEP");
    expect_kernel("void dpsk::ep::internode::combine_ll<3, 10>(void*, int)", PS_COMM_COMBINE,
                  "DeepEP");
    expect_kernel("_ZN7deep_ep9internode8dispatchILb0ELi8EEEvP4int4PfPlS3_", PS_COMM_DISPATCH,
                  "DeepEP");
    expect_kernel("deep_ep::internode::cached_notify", PS_COMM_BARRIER, "DeepEP");
    expect_kernel("void deep_ep::internode::get_dispatch_layout<256, 32, 8>(long const*)",
                  PS_COMM_COMPUTING, "DeepEP");
    expect_kernel("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)",
                  PS_COMM_ALL_REDUCE, "PyTorch");
    expect_kernel("void <unnamed>::one_shot_all_reduce_kernel<float, 16, 8>(float**)",
                  PS_COMM_ALL_REDUCE, "PyTorch");
    expect_kernel("_ZN52_GLOBAL__N__abcdef_10_CUDASymmetricMemoryOps_cu_12345626two_shot_all_reduce_kernelIf",
                  PS_COMM_UNKNOWN, NULL); /* its length is wrong */
    expect_kernel("_ZL26two_shot_all_reduce_kernelIfLi16EEvPPT_", PS_COMM_ALL_REDUCE, "PyTorch");
    expect_kernel("void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*)",
                  PS_COMM_ALL_REDUCE, "vLLM");
    expect_kernel("c10d::symmetric_memory::barrier_kernel(unsigned int**)", PS_COMM_BARRIER,
                  "PyTorch");
    expect_kernel("nvshmemi_init_array_kernel<long>(long*, int, long)", PS_COMM_COMPUTING, "NVSHMEM");
    expect_kernel("void mscclpp::collective::allreduceAllPairs<(mscclpp::ReduceOp)0, float>(float*)",
                  PS_COMM_ALL_REDUCE, "MSCCL++");
    expect_kernel("_ZTS26oneccl_kernel_memcpy_typed", PS_COMM_UNTOLD, "oneCCL");
}

/* A name that merely holds such a word somewhere is another function. */
static void not_by_a_part_of_the_name(void **state) {
    (void)state;
    expect_kernel("void my::pack<ncclDevKernel_AllReduce>(float*)", PS_COMM_UNKNOWN, NULL);
    expect_kernel("void pack_for_ncclKernel(float*)", PS_COMM_UNKNOWN, NULL);
    expect_kernel("barrier_kernel(int*)", PS_COMM_UNKNOWN, NULL);
    expect_kernel("void mine::dispatch<3>(deep_ep::internode::SourceMeta*)", PS_COMM_UNKNOWN, NULL);
    expect_kernel("gemm_one_shot_all_reduce_kernel", PS_COMM_UNKNOWN, NULL);
    expect_kernel("void at::native::reduce_kernel<512, 1>(int)", PS_COMM_COMPUTING, "PyTorch");
    expect_kernel("mscclpp", PS_COMM_UNKNOWN, NULL);
    expect_kernel("", PS_COMM_UNKNOWN, NULL);
    expect_kernel("<(", PS_COMM_UNKNOWN, NULL);
    expect_kernel("_Z", PS_COMM_UNKNOWN, NULL);
    expect_kernel("_ZN99999999999999999999a", PS_COMM_UNKNOWN, NULL);
}

static void by_calls(void **state) {
    (void)state;
    static const struct {
        const char *name;
        ps_comm_what what;
    } CALLS[] = {{"nccl:_all_gather_base", PS_COMM_ALL_GATHER},
                 {"ncclAllReduce", PS_COMM_ALL_REDUCE},
                 {"nccl:recv 0<-1", PS_COMM_RECEIVE},
                 {"hcom_allReduce__648_0_1", PS_COMM_ALL_REDUCE},
                 {"hcom_batchSendRecv__648_0_1", PS_COMM_SEND_RECEIVE},
                 {"hcom_receive__795_0_1", PS_COMM_RECEIVE},
                 {"HcclSend", PS_COMM_SEND},
                 {"c10d::allreduce_", PS_COMM_ALL_REDUCE},
                 {"_reduce_scatter_base", PS_COMM_REDUCE_SCATTER},
                 {"reduce_scatter_tensor_coalesced", PS_COMM_REDUCE_SCATTER},
                 {"all_to_allv", PS_COMM_ALL_TO_ALL},
                 {"barrier", PS_COMM_BARRIER},
                 {"wait", PS_COMM_UNKNOWN},
                 {"ncclGroupEnd", PS_COMM_UNKNOWN},
                 {"resend_all", PS_COMM_UNKNOWN},
                 {"aten::mm", PS_COMM_UNKNOWN}};
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
        assert_string_equal(ps_comm_what_name(ps_comm_of_call(CALLS[i].name)),
                            ps_comm_what_name(CALLS[i].what));
    }
    assert_true(ps_comm_is_group_call("ncclGroupStart"));
    assert_true(ps_comm_is_group_call("nccl:coalesced"));
    assert_false(ps_comm_is_group_call("nccl:all_reduce"));
    assert_true(ps_comm_is_library_call("c10d::alltoall_base_"));
    assert_false(ps_comm_is_library_call("aten::copy_"));
}

static ps_code read_rules(const char *text, ps_comm_rules **out, ps_err *err) {
    char dir[SCRATCH_BYTES];
    char path[SCRATCH_BYTES + 16];
    scratch_make(dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/rules.txt", dir);
    assert_int_equal(ps_write_file(path, text, strlen(text), NULL), PS_OK);
    ps_code code = ps_comm_rules_read(path, out, err);
    scratch_remove(dir);
    return code;
}

static void by_rules(void **state) {
    (void)state;
    ps_comm_rules *rules = NULL;
    expect_kernel("void mine::exchange<3>(int*)", PS_COMM_UNKNOWN, NULL);
    assert_int_equal(read_rules("# ours\n\nmine::exchange*  all-to-all\r\n"
                                "warm::**, computing # a comment\n"
                                "deep_ep::internode::combine*\tcomputing",
                                &rules, NULL),
                     PS_OK);
    assert_true(ps_comm_rules_hash() == 0);
    ps_comm_rules_use(rules);
    assert_true(ps_comm_rules_hash() != 0);
    expect_kernel("void mine::exchange<3>(int*)", PS_COMM_ALL_TO_ALL, "rule");
    expect_kernel("void mine::exchange_tokens<3>(int*)", PS_COMM_ALL_TO_ALL, "rule");
    expect_kernel("void warm::a::up(int*)", PS_COMM_COMPUTING, "rule");
    expect_kernel("void warm(int*)", PS_COMM_UNKNOWN, NULL);
    expect_kernel("void deep_ep::internode::combine<3>(int*)", PS_COMM_COMPUTING, "rule");
    ps_comm_rules_free(rules);
    expect_kernel("void deep_ep::internode::combine<3>(int*)", PS_COMM_COMBINE, "DeepEP");
}

static void expect_fault(const char *text, uint32_t line, const char *says) {
    ps_comm_rules *rules = NULL;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(read_rules(text, &rules, &err), PS_USAGE);
    assert_null(rules);
    assert_int_equal(err.line, line);
    assert_non_null(strstr(err.file, "rules.txt"));
    assert_non_null(strstr(err.msg, says));
}

static void faulty_rules(void **state) {
    (void)state;
    expect_fault("a send\n\nb sned\n", 3, "sned");
    expect_fault("a\n", 1, "nothing stands behind");
    expect_fault("a send receive\n", 1, "PATTERN KIND");
    expect_fault("* send\n", 1, "every kernel");
    expect_fault(":: send\n", 1, "every kernel");
    expect_fault("a*b send\n", 1, "ends a component");
    expect_fault("f<int> send\n", 1, "without template arguments");
    ps_comm_rules *rules = NULL;
    assert_int_equal(ps_comm_rules_read("/nowhere/rules", &rules, NULL), PS_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_table), cmocka_unit_test(not_by_a_part_of_the_name),
        cmocka_unit_test(by_calls),     cmocka_unit_test(by_rules),
        cmocka_unit_test(faulty_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
