/* Which kernels get which FLOPs, on traces small enough to see it. The peak is 1 TFLOPS: a kernel of 1000 ns with
 * 1,000,000 FLOPs reaches 100 %. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/small_runs.h"

static const ps_analysis_opts ONE_TFLOPS = {.step_id = -1, .peak_tflops = 1};

static ps_trace *run(small_run *o, ps_builder *b) {
    ps_trace *t = small_seal(b);
    small_run_mode(o, "operator_mfu", &t, 1, &ONE_TFLOPS);
    return t;
}

static void end(small_run *o, ps_trace *t) {
    small_run_fini(o);
    ps_trace_free(t);
}

static void launch(ps_builder *b, uint32_t from, uint32_t to) {
    ps_builder_flow_of(b, from, to, ps_builder_str(b, "async_npu", 9));
}

static uint32_t mark(ps_builder *b, ps_slice_kind kind, uint32_t track, const char *domain,
                     const char *text, int64_t start_ns, int64_t end_ns) {
    return ps_builder_slice_in(b, kind, track, ps_builder_str(b, text, strlen(text)),
                               ps_builder_str(b, domain, strlen(domain)), SMALL_EPOCH_NS + start_ns,
                               SMALL_EPOCH_NS + end_ns, 0);
}

/* A kernel of an Ascend database. */
static uint32_t kernel(ps_builder *b, const char *name, const char *type, const char *inputs,
                       const char *output, int64_t start_ns, int64_t end_ns) {
    uint32_t k = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), name, start_ns, end_ns);
    small_arg(b, k, "opType", type);
    small_arg(b, k, "inputShapes", inputs);
    small_arg(b, k, "inputDataTypes", "DT_BF16;DT_BF16");
    small_arg(b, k, "inputFormats", "ND;ND");
    small_arg(b, k, "outputShapes", output);
    return k;
}

/* Range [0 100] "1000000-linear" { op [10 20] -> Cast, op [30 40] -> MatMul 600 ns, op [100 101] -> MatMul 400 ns }.
 * The FLOPs go to both products, 600000 and 400000, and none to the cast: both reach 1 TFLOPS. What shapes say
 * (2 x 10 x 10 x 10) does not count. The operator at 101 is outside: its kernel has the FLOPs of its shapes. */
static void a_record_is_divided(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    mark(b, PS_SLICE_MARK_HOST, host, "mfu_flops", "1000000-linear", 0, 100);
    uint32_t cast = small_slice(b, PS_SLICE_HOST_OP, host, "cast", 10, 20);
    uint32_t one = small_slice(b, PS_SLICE_HOST_OP, host, "one", 30, 40);
    uint32_t two = small_slice(b, PS_SLICE_HOST_OP, host, "two", 100, 101);
    uint32_t three = small_slice(b, PS_SLICE_HOST_OP, host, "three", 102, 110);
    launch(b, cast, kernel(b, "k_cast", "Cast", "10,10", "10,10", 1000, 1500));
    launch(b, one, kernel(b, "k_one", "MatMulV2", "10,10;10,10", "10,10", 2000, 2600));
    launch(b, two, kernel(b, "k_two", "MatMulV3", "N/A", "N/A", 3000, 3400));
    launch(b, three, kernel(b, "k_three", "MatMulV3", "10,10;10,10", "10,10", 4000, 4100));
    small_run o;
    ps_trace *t = run(&o, b);
    small_expect(&o, "OperatorMFU",
                 "0|one|k_one|1700000000000002000|1700000000000002600|600|1|1|1|600000|linear|"
                 "10,10;10,10|10,10\n"
                 "0|two|k_two|1700000000000003000|1700000000000003400|400|1|1|1|400000|linear|"
                 "NULL|NULL\n"
                 "0|three|k_three|1700000000000004000|1700000000000004100|100|0.02|0.02|1|2000|"
                 "MatMulV3|10,10;10,10|10,10\n");
    small_expect(&o, "KernelFlops",
                 "0|k_one|linear|recorded|1|600000\n"
                 "0|k_three|MatMulV3|shapes|1|2000\n"
                 "0|k_two|linear|recorded|1|400000\n");
    /* 1002000 FLOPs in 1100 ns */
    small_expect(&o, "OperatorMfuSummary",
                 "0|2|1|0|1100|1.002e-06|0.9109090909|1|91.09090909|--peak-tflops\n");
    end(&o, t);
}

/* Ranges on another thread do not count, nor does one that says nothing. The inner of two ranges has its kernel; the outer one
 * keeps what is left for the other kernel: 1500 - 500. */
static void records_nest(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t other = small_thread(b, 2);
    mark(b, PS_SLICE_MARK_HOST, other, "mfu_flops", "77-elsewhere", 0, 1000);
    mark(b, PS_SLICE_MARK_HOST, host, "mfu_flops", "1500-outer", 0, 1000);
    mark(b, PS_SLICE_MARK_HOST, host, "mfu_flops", "500-inner", 100, 200);
    mark(b, PS_SLICE_MARK_HOST, host, "mfu_flops", "1.5-odd", 100, 200);
    mark(b, PS_SLICE_MARK_HOST, host, "mfu_flops", "0-zero", 100, 200);
    mark(b, PS_SLICE_MARK_HOST, host, "other", "9-mark", 100, 200);
    uint32_t in = small_slice(b, PS_SLICE_HOST_OP, host, "in", 110, 120);
    uint32_t out = small_slice(b, PS_SLICE_HOST_OP, host, "out", 210, 220);
    launch(b, in, kernel(b, "k_in", "MatMulV2", "N/A", "N/A", 5000, 5001));
    launch(b, out, kernel(b, "k_out", "Conv2D", "N/A", "N/A", 6000, 6002));
    small_run o;
    ps_trace *t = run(&o, b);
    small_expect(&o, "KernelFlops",
                 "0|k_in|inner|recorded|1|500\n"
                 "0|k_out|outer|recorded|1|1000\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_FLOPS_RECORD],
                     2); /* 1.5, and elsewhere without a kernel */
    end(&o, t);
}

/* Markers at 0 and 50 both reach the attention operator at 100: the later one (mode 0) counts. The one at 3,000,101 before
 * the next operator at 6,000,102 is too far away. One on another thread does not count.
 *   b 1, n 1, s 10, d 10: 2 x 10 x 10 x 20 = 4000. */
static void markers(void **state) {
    (void)state;
    static const char CAUSAL[] = "{\"is_causal\": true}";
    static const char ALL[] = "{\"is_causal\": false}";
    static const char SHAPES[] = "1,1,10,10;1,1,10,10;1,1,10,10";
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t other = small_thread(b, 2);
    mark(b, PS_SLICE_INSTANT, host, "flash_attn_args", CAUSAL, 0, 0);
    mark(b, PS_SLICE_INSTANT, host, "flash_attn_args", ALL, 50, 50);
    mark(b, PS_SLICE_INSTANT, other, "flash_attn_args", CAUSAL, 60, 60);
    mark(b, PS_SLICE_INSTANT, host, "flash_attn_args", ALL, 3000101, 3000101);
    uint32_t near = small_slice(b, PS_SLICE_HOST_OP, host, "near", 100, 200);
    uint32_t far = small_slice(b, PS_SLICE_HOST_OP, host, "far", 6000102, 6000200);
    uint32_t k = kernel(b, "k_near", "FlashAttentionScore", SHAPES, "1,1,10,10", 1000, 1100);
    launch(b, near, k);
    launch(b, far,
           kernel(b, "k_far", "FlashAttentionScore", SHAPES, "1,1,10,10", 7000000, 7000100));
    /* backward of the first, known by the flow between the operators around them: 2.5 x 4000 */
    uint32_t back = small_slice(b, PS_SLICE_HOST_OP, other, "back", 8000000, 8000100);
    uint32_t inner = small_slice(b, PS_SLICE_HOST_OP, other, "back_inner", 8000010, 8000090);
    ps_builder_flow_of(b, near, back, ps_builder_str(b, "fwdbwd", 6));
    launch(b, inner,
           kernel(b, "k_back", "FlashAttentionScoreGrad", "N/A", "N/A", 9000000, 9000100));
    small_run o;
    ps_trace *t = run(&o, b);
    small_expect(&o, "KernelFlops",
                 "0|k_back|FlashAttentionScoreGrad|shapes|1|10000\n"
                 "0|k_near|FlashAttentionScore|shapes|1|4000\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_FLOPS_ATTENTION], 1);
    end(&o, t);
}

/* The backward of an attention operator, known by the number of its node. */
static void backward_by_number(void **state) {
    (void)state;
    static const char SHAPES[] = "1,1,10,10;1,1,10,10;1,1,10,10";
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    mark(b, PS_SLICE_INSTANT, host, "flash_attn_args", "{\"is_causal\": false}", 50, 50);
    uint32_t forward = small_slice(b, PS_SLICE_HOST_OP, host, "forward", 100, 200);
    ps_builder_arg_int(b, forward, "sequenceNumber", 7);
    launch(b, forward,
           kernel(b, "k_forward", "FlashAttentionScore", SHAPES, "1,1,10,10", 1000, 1100));
    uint32_t back = small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 2), "back", 8000, 8100);
    ps_builder_arg_int(b, back, "sequenceNumber", 7);
    ps_builder_arg_int(b, back, "fwdThreadId", 1);
    launch(b, back, kernel(b, "k_back", "FlashAttentionScoreGrad", "N/A", "N/A", 9000, 9100));
    small_run o;
    ps_trace *t = run(&o, b);
    small_expect(&o, "KernelFlops",
                 "0|k_back|FlashAttentionScoreGrad|shapes|1|10000\n"
                 "0|k_forward|FlashAttentionScore|shapes|1|4000\n");
    end(&o, t);
}

/* A record around the call of backward() on the thread that waits; a worker's kernel in its time is not its own. */
static void a_record_that_waits(void **state) {
    (void)state;
    static const char SHAPES[] = "8,4;4,2";
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t engine = small_thread(b, 2);
    mark(b, PS_SLICE_MARK_HOST, host, "mfu_flops", "1000000-backward", 0, 100);
    small_slice(b, PS_SLICE_HOST_OP, engine, "autograd::engine::evaluate_function: MmBackward0", 10,
                30);
    uint32_t op = small_slice(b, PS_SLICE_HOST_OP, engine, "op", 12, 20);
    launch(b, op, kernel(b, "k_back", "MatMulV2", SHAPES, "8,2", 1000, 1500));
    uint32_t other = small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 3), "other", 40, 50);
    launch(b, other, kernel(b, "k_other", "MatMulV2", SHAPES, "8,2", 2000, 2500));
    small_run o;
    ps_trace *t = run(&o, b);
    small_expect(&o, "KernelFlops",
                 "0|k_back|backward|recorded|1|1000000\n"
                 "0|k_other|MatMulV2|shapes|1|128\n");
    end(&o, t);
}

static uint32_t gpu_kernel(ps_builder *b, uint32_t call, const char *name, int64_t start_ns,
                           int64_t end_ns) {
    uint32_t k = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), name, start_ns, end_ns);
    ps_builder_flow_of(b, call, k, ps_builder_str(b, "ac2g", 4));
    return k;
}

/* aten::linear { aten::addmm { three launches } }: the longest kernel of matrix class has all FLOPs of the innermost
 * operator that is known, 2 x 4 x 2 x 8 = 128; the split sum and the element-wise kernel, though longer, have none. */
static void operators(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t linear = small_slice(b, PS_SLICE_HOST_OP, host, "aten::linear", 0, 100);
    small_arg(b, linear, "Input Dims", "[[40, 8], [2, 8], [2]]");
    uint32_t addmm = small_slice(b, PS_SLICE_HOST_OP, host, "aten::addmm", 10, 90);
    small_arg(b, addmm, "Input Dims", "[[2], [4, 8], [8, 2], [], []]");
    small_arg(b, addmm, "Input type", "[\"float\", \"c10::Half\", \"c10::Half\", \"\", \"\"]");
    gpu_kernel(b, small_slice(b, PS_SLICE_CALL, host, "call1", 20, 21), "sm80_xmma_gemm_f16", 1000,
               1100);
    gpu_kernel(b, small_slice(b, PS_SLICE_CALL, host, "call2", 30, 31), "ampere_h16816gemm", 1100,
               1300);
    gpu_kernel(b, small_slice(b, PS_SLICE_CALL, host, "call3", 40, 41),
               "cublasLt::splitKreduce_kernel", 1300, 1900);
    gpu_kernel(b, small_slice(b, PS_SLICE_CALL, host, "call4", 50, 51),
               "void vectorized_elementwise_kernel<fbgemm_gpu::convert>", 1900, 2900);
    uint32_t add = small_slice(b, PS_SLICE_HOST_OP, host, "aten::add", 200, 210);
    small_arg(b, add, "Input Dims", "[[4, 8], [4, 8]]");
    gpu_kernel(b, small_slice(b, PS_SLICE_CALL, host, "call5", 201, 202), "gemm_of_nobody", 3000,
               3100);
    small_run o;
    ps_trace *t = run(&o, b);
    small_expect(&o, "OperatorMFU",
                 "0|aten::addmm|ampere_h16816gemm|1700000000000001100|1700000000000001300|200|"
                 "0.0006|0|1|128|aten::addmm|[[2], [4, 8], [8, 2], [], []]|NULL\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_FLOPS_SHAPE], 1);
    end(&o, t);
}

/* cuDNN's own names are those of convolutions, but for few that say what else they do, also where nobody knows who launched them. Conversions
 * and partial sums that a convolution launches are no products. */
static void kernels_of_cudnn(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "aten::conv2d", 0, 100);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "aten::cudnn_convolution", 10, 90);
    gpu_kernel(b, small_slice(b, PS_SLICE_CALL, host, "call1", 20, 21),
               "cudnn_infer_ampere_scudnn_128x64_relu_xregs_large_nn_v1", 1000, 1100);
    gpu_kernel(b, small_slice(b, PS_SLICE_CALL, host, "call2", 30, 31),
               "void cudnn::ops::nchwToNhwcKernel<float, float>(int)", 1100, 1300);
    gpu_kernel(
        b, small_slice(b, PS_SLICE_CALL, host, "call3", 40, 41),
        "void cutlass_cudnn_train::Kernel<cutlass_cudnn_train::reduction::kernel::ReduceSplitK<1>>(int)",
        1300, 1400);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "aten::cudnn_batch_norm", 200, 210);
    gpu_kernel(b, small_slice(b, PS_SLICE_CALL, host, "call4", 201, 202), "cudnn_infer_bn_fw", 1400,
               1500);
    (void)small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "ampere_scudnn_128x128_relu_nn", 1500,
                      1600);
    small_run o;
    ps_trace *t = run(&o, b);
    assert_int_equal(o.diags[0].counts[PS_ODD_FLOPS_SHAPE], 2);
    end(&o, t);
}

/* Where nothing knows of kernels but what the framework runs, the kernel of an operator has its name: 2 x 4 x 2 x 8 FLOPs of
 * the product, none of the rest. */
static void kernels_called_as_operators(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    static const struct {
        const char *name, *shapes;
    } OPS[] = {{"aten::mm", "4,8;8,2"}, {"aten::relu", "4,2"}};
    for (int i = 0; i < 2; i++) {
        uint32_t op = small_slice(b, PS_SLICE_HOST_OP, host, OPS[i].name, 100 * i, 100 * i + 50);
        small_arg(b, op, "inputShapes", OPS[i].shapes);
        uint32_t k =
            small_slice(b, PS_SLICE_KERNEL, small_stream(b, 1), OPS[i].name, 100 * i, 100 * i + 50);
        small_arg(b, k, "opType", OPS[i].name);
        launch(b, op, k);
    }
    small_run o;
    ps_trace *t = run(&o, b);
    small_expect(&o, "KernelFlops", "0|aten::mm|aten::mm|shapes|1|128\n");
    end(&o, t);
}

/* What a kernel is follows from its type, or from the last part of its name: of those that a convolution launches only one is one. */
static void kernels_that_only_bear_the_name(void **state) {
    (void)state;
    static const struct {
        const char *name, *type;
        bool multiplies;
    } KERNELS[] = {{"Conv2DBackpropFilter6", NULL, true},
                   {"Conv2DBackpropFilter6_MemSet", NULL, false},
                   {"aclnnMm_MatMulCommon_MemSet", NULL, false},
                   {"aclnnAdaptiveAvgPool2dBackward_X_AdaptiveAvgPool3dGrad", NULL, false},
                   {"k", "AdaptiveAvgPool3dGrad", false},
                   {"k", "Conv2DBackpropInput", true},
                   {"trans_TransData_24", "TransData", false},
                   {"sm80_xmma_dgrad_implicit_gemm_f16f16", NULL, true},
                   {"_ZN5cudnn3cnn12wgrad2d_direct_kernelE", NULL, true}};
    for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++) {
        ps_builder *b = ps_builder_new();
        uint32_t k = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), KERNELS[i].name, 0, 100);
        if (KERNELS[i].type != NULL) {
            small_arg(b, k, "opType", KERNELS[i].type);
        }
        small_run o;
        ps_trace *t = run(&o, b);
        assert_int_equal(o.diags[0].counts[PS_ODD_FLOPS_SHAPE], KERNELS[i].multiplies);
        small_run_fini(&o);
        ps_trace_free(t);
    }
}

/* A type without a peak has FLOPs and a rate, but no MFU; a trace whose device nobody knows likewise. */
static void unknown_peaks(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t k = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "k", 1000, 1100);
    small_arg(b, k, "opType", "MatMulV2");
    small_arg(b, k, "inputShapes", "10,10;10,10");
    small_arg(b, k, "inputDataTypes", "DOUBLE;DOUBLE");
    small_arg(b, k, "outputShapes", "10,10");
    small_run o;
    ps_trace *t = run(&o, b);
    static const char ROW[] = "0|NULL|k|1700000000000001000|1700000000000001100|100|NULL|0.02|NULL|"
                              "2000|MatMulV2|10,10;10,10|10,10\n";
    small_expect(&o, "OperatorMFU", ROW);
    assert_int_equal(o.diags[0].counts[PS_ODD_FLOPS_TYPE], 1);
    small_run_fini(&o);
    small_run_mode(&o, "operator_mfu", &t, 1, NULL);
    small_expect(&o, "OperatorMFU", ROW);
    small_expect(&o, "OperatorMfuSummary", "0|0|1|0|100|2e-09|0.02|NULL|NULL|not in the profile\n");
    end(&o, t);
}

/* 24 cores at 1800 MHz: 24 x 1800e6 x 8192 = 353.8944 TFLOPS; 268435456 FLOPs in 100 us are 0.0076 of it. */
static void cores_and_frequency(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    ps_builder_meta(b, "ai_core_num", "24");
    ps_builder_meta(b, "aic_frequency_mhz", "1800");
    kernel(b, "k", "MatMulV2", "\"1024,512;512,256\"", "\"1024,256\"", 0, 100000);
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "operator_mfu", &t, 1, NULL);
    small_expect(&o, "OperatorMFU",
                 "0|NULL|k|1700000000000000000|1700000000000100000|100000|0.0076|2.68|353.89|"
                 "268435456|MatMulV2|1024,512;512,256|1024,256\n");
    small_expect(&o, "operator_mfu_kernel_0",
                 "0|NULL|k|1700000000000000000|1700000000000100000|100000|0.0076|2.68|353.89|"
                 "268435456|MatMulV2|1024,512;512,256|1024,256\n");
    assert_int_equal(small_table(&o, "operator_mfu_kernel_0")->columns[3].type, PS_COL_TEXT);
    end(&o, t);
}

static void nothing(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "add", 0, 10);
    small_run o;
    ps_trace *t = run(&o, b);
    assert_int_equal(o.map_codes[0], PS_NOTHING);
    end(&o, t);
    b = ps_builder_new();
    small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "a_gemm", 0, 10);
    t = run(&o, b);
    assert_int_equal(o.map_codes[0], PS_NOTHING);
    assert_non_null(strstr(o.err.msg, "record_shapes"));
    end(&o, t);
}

/* Whatever allocation fails, the answer is PS_NOMEM and nothing leaks. */
static void out_of_memory(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    mark(b, PS_SLICE_MARK_HOST, host, "mfu_flops", "1000000-linear", 0, 100);
    mark(b, PS_SLICE_INSTANT, host, "flash_attn_args", "{\"is_causal\": true}", 5, 5);
    uint32_t op = small_slice(b, PS_SLICE_HOST_OP, host, "op", 10, 20);
    uint32_t back = small_slice(b, PS_SLICE_HOST_OP, host, "back", 110, 120);
    uint32_t mm = small_slice(b, PS_SLICE_HOST_OP, host, "aten::mm", 130, 140);
    small_arg(b, mm, "Input Dims", "[[4, 8], [8, 2]]");
    ps_builder_flow_of(b, op, back, ps_builder_str(b, "fwdbwd", 6));
    launch(b, op,
           kernel(b, "k", "FlashAttentionScore", "1,1,10,10;1,1,10,10;1,1,10,10", "1", 1000, 1500));
    launch(b, back, kernel(b, "g", "FlashAttentionScoreGrad", "N/A", "N/A", 2000, 2500));
    launch(b, mm, small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "gemm", 3000, 3500));
    ps_builder_meta(b, "deviceProperties", "[{\"id\": 0, \"name\": \"NVIDIA A100\"}]");
    ps_trace *t = small_seal(b);
    bool ended = false;
    for (int64_t n = 0; !ended && n < 1000; n++) {
        small_run o;
        (void)ps_alloc_fail_at(n);
        small_run_mode(&o, "operator_mfu", &t, 1, NULL);
        (void)ps_alloc_fail_at(-1);
        ended = o.map_codes[0] == PS_OK && o.code == PS_OK;
        assert_true(ended || o.map_codes[0] == PS_NOMEM || o.code == PS_NOMEM);
        if (ended) {
            small_expect(&o, "KernelFlops",
                         "0|g|FlashAttentionScoreGrad|shapes|1|5000\n"
                         "0|gemm|aten::mm|shapes|1|128\n"
                         "0|k|linear|recorded|1|1000000\n");
        }
        small_run_fini(&o);
    }
    assert_true(ended);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_divided),
        cmocka_unit_test(records_nest),
        cmocka_unit_test(markers),
        cmocka_unit_test(backward_by_number),
        cmocka_unit_test(a_record_that_waits),
        cmocka_unit_test(operators),
        cmocka_unit_test(kernels_of_cudnn),
        cmocka_unit_test(kernels_called_as_operators),
        cmocka_unit_test(kernels_that_only_bear_the_name),
        cmocka_unit_test(unknown_peaks),
        cmocka_unit_test(cores_and_frequency),
        cmocka_unit_test(nothing),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
