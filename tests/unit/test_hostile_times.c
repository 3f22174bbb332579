/* Every analysis over two ranks whose work spans all the time that a trace can hold, many times over: sums and
 * differences leave 64 bits. What the numbers are means nothing; but each analysis says what it makes of it and in how many rows,
 * twice the same, without a number that is none, and the sanitizers watch how. */
#include <math.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/derived.h"
#include "analyze/derived/job_skew.h"
#include "support/profile.h"
#include "write/out/writers.h"

enum { N_RANKS = 2, N_DEVICES = 3, N_EACH = 4 };

/* The latest time that a trace holds. */
#define LATEST (((int64_t)1 << 61) - 1)

static ps_str text(ps_builder *b, const char *s) {
    return ps_builder_str(b, s, strlen(s));
}

/* One slice as long as time itself, launched by an operator and a call. */
static void add_work(ps_builder *b, uint32_t host, ps_slice_kind kind, uint32_t track,
                     const char *name, int64_t start, int64_t end) {
    uint32_t op = ps_builder_slice(b, PS_SLICE_HOST_OP, host, text(b, "aten::item"), start, end, 1);
    uint32_t call = ps_builder_slice(b, PS_SLICE_CALL, host, text(b, "launch"), start, end, 2);
    uint32_t to = ps_builder_slice(b, kind, track, text(b, name), start, end, 3);
    ps_builder_arg_str(b, to, "opType", text(b, "MatMul"));
    ps_builder_arg_int(b, to, "count", INT64_MAX);
    ps_builder_arg_str(b, to, "dataType", text(b, "FP32"));
    ps_builder_arg_int(b, to, "srcRank", 0);
    ps_builder_arg_int(b, to, "dstRank", 1);
    ps_builder_arg_time(b, to, "hostStart", -LATEST);
    ps_builder_flow(b, op, to);
    ps_builder_flow(b, call, to);
}

static void add_device(ps_builder *b, uint32_t host, int64_t device) {
    uint32_t stream =
        ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2, .device = device});
    uint32_t group = ps_builder_track(b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                                    .device = device,
                                                    .name = text(b, "127.0.0.1%en0_60000_0_1")});
    static const int64_t SPANS[][2] = {
        {-LATEST, LATEST}, {-LATEST, -LATEST + 1}, {LATEST - 1, LATEST}};
    for (int i = 0; i < N_EACH; i++) {
        for (size_t s = 0; s < 3; s++) {
            int64_t from = SPANS[s][0];
            int64_t to = SPANS[s][1];
            add_work(b, host, PS_SLICE_KERNEL, stream, "MatMul", from, to);
            add_work(b, host, PS_SLICE_COPY, stream, "MEMCPY", from, to);
            add_work(b, host, PS_SLICE_SYNC, stream, "EVENT_WAIT", from, to);
            add_work(b, host, PS_SLICE_COMM_OP, group, "hcom_allReduce__1_1", from, to);
            add_work(b, host, PS_SLICE_COMM_OP, group, i % 2 == 0 ? "hcom_send_" : "hcom_receive_",
                     from, to);
            add_work(b, host, PS_SLICE_MARK_DEVICE, stream, "mark", from, to);
            uint32_t alone = ps_builder_slice(b, PS_SLICE_COMM_OP, group,
                                              text(b, "hcom_allGather_"), from, to, 6);
            ps_builder_arg_int(b, alone, "hostStart", INT64_MIN); /* a number, and no time */
            (void)ps_builder_slice(b, PS_SLICE_MARK_HOST, host, text(b, "mark"), from, to, 4);
            (void)ps_builder_slice(b, PS_SLICE_PYTHON, host, text(b, "nn.Module: Linear_0"), from,
                                   to, 5);
        }
    }
    uint32_t clock = ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_COUNTER, .device = device, .name = text(b, "AI Core Freq")});
    assert_true(ps_builder_counter(b, clock, -LATEST, 1e300));
    assert_true(ps_builder_counter(b, clock, LATEST, -1e300));
}

static void add_step_table(ps_builder *b) {
    static const ps_column COLUMNS[] = {{.name = "step", .type = PS_COL_TEXT},
                                        {.name = "computing", .type = PS_COL_REAL},
                                        {.name = "bubble", .type = PS_COL_INT}};
    ps_table *t = ps_table_new("StepTraceTime", "", COLUMNS, 3);
    assert_non_null(t);
    for (int i = 0; i < N_EACH; i++) {
        assert_true(ps_table_add_row(t) && ps_table_set_text(t, 0, "9223372036854775807"));
        ps_table_set_real(t, 1, i % 2 == 0 ? 1e308 : -1e308);
        ps_table_set_int(t, 2, INT64_MIN);
    }
    ps_builder_side_table(b, t);
}

static ps_trace *make_trace(int64_t first_device) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t host =
        ps_builder_track(b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = 1, .device = -1});
    ps_builder_step(b, 1, -LATEST, LATEST);
    ps_builder_step(b, INT64_MAX, -LATEST, LATEST);
    ps_builder_step(b, 3, -LATEST, -LATEST + 2);
    ps_builder_step(b, 4, LATEST - 2, LATEST);
    for (int d = 0; d < N_DEVICES; d++) {
        add_device(b, host, first_device + d);
    }
    add_step_table(b);
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    return t;
}

typedef struct job {
    ps_trace *traces[N_RANKS];
    ps_rank_info ranks[N_RANKS];
    ps_diag *diags[N_RANKS];
} job;

static void make_job(job *j) {
    for (int r = 0; r < N_RANKS; r++) {
        j->traces[r] = make_trace(7 * r);
        j->ranks[r] = (ps_rank_info){.rank = r, .machine = r, .profiler = "Ascend", .dir = "."};
        j->diags[r] = test_calloc(1, sizeof(ps_diag));
    }
}

static void job_fini(job *j) {
    for (int r = 0; r < N_RANKS; r++) {
        ps_trace_free(j->traces[r]);
        test_free(j->diags[r]);
    }
}

/* All rounds of an analysis; what the last one said. */
static ps_code run(job *j, const ps_analysis *a, const ps_result *baseline, ps_result *out) {
    ps_analysis_opts opts = {.step_id = -1, .baseline = baseline};
    void *partials[N_RANKS] = {0};
    void *shared = NULL;
    ps_code code = PS_OK;
    for (size_t k = 0; code == PS_OK && k < a->n_rounds; k++) {
        for (int r = 0; r < N_RANKS; r++) {
            ps_map_input in = {.trace = j->traces[r],
                               .rank = &j->ranks[r],
                               .opts = &opts,
                               .partial = partials[r],
                               .shared = shared,
                               .diag = j->diags[r]};
            ps_code mapped = ps_round_map(&a->rounds[k], &in, &partials[r], NULL);
            assert_true(mapped == PS_OK || mapped == PS_NOTHING);
        }
        ps_reduce_input in = {.ranks = j->ranks,
                              .partials = partials,
                              .diags = j->diags,
                              .n_ranks = N_RANKS,
                              .opts = &opts,
                              .shared = shared,
                              .result = out,
                              .job_skew = ps_job_skew_new()};
        assert_non_null(in.job_skew);
        code = a->rounds[k].reduce != NULL ? a->rounds[k].reduce(&in, &shared, NULL) : PS_OK;
        ps_job_skew_free(in.job_skew);
    }
    for (int r = 0; r < N_RANKS; r++) {
        if (partials[r] != NULL && a->free_partial != NULL) {
            a->free_partial(partials[r]);
        }
    }
    if (shared != NULL && a->free_shared != NULL) {
        a->free_shared(shared);
    }
    return code;
}

/* --- what comes out ------------------------------------------------------------------------------------------------- */

/* Its rows, each number among them one that JSON can hold; all of it as text. */
static void put_table_text(const ps_table *table, ps_buf *out) {
    ps_err err = PS_ERR_INIT;
    for (size_t r = 0; r < table->n_rows; r++) {
        for (size_t c = 0; c < table->n_columns; c++) {
            const ps_value *v = ps_table_cell(table, r, c);
            if (table->columns[c].type == PS_COL_REAL && !v->is_null && !isfinite(v->u.r)) {
                fail_msg("%s: %s of row %zu is no number", table->name, table->columns[c].name, r);
            }
        }
    }
    assert_int_equal(ps_write_table_csv(table, out, &err), PS_OK);
}

/* "name code table=rows ..." of a run into `said`, the bytes of its tables into `bytes`. */
static void tell(job *j, const ps_analysis *a, ps_buf *said, ps_buf *bytes) {
    ps_result base = {0};
    ps_result out = {0};
    if (a->baseline != NULL) {
        assert_int_equal(run(j, ps_analysis_find(a->baseline), NULL, &base), PS_OK);
    }
    ps_code code = run(j, a, a->baseline != NULL ? &base : NULL, &out);
    ps_buf_addf(said, "%s %s", a->name, code == PS_OK ? "ok" : ps_code_text(PS_ENGLISH, code));
    for (size_t i = 0; i < out.n_tables; i++) {
        ps_buf_addf(said, " %s=%zu", out.tables[i]->name, out.tables[i]->n_rows);
        put_table_text(out.tables[i], bytes);
    }
    ps_buf_addf(said, " ops=%zu\n", out.chart != NULL ? out.chart->n_ops : 0);
    ps_result_fini(&base);
    ps_result_fini(&out);
}

/* Of two ranks with 36 kernels, 36 marks on each side and 108 communication operators each; without pipelines, groups over several
 * ranks, sizes of messages or forwards and backwards. */
static const char EXPECTED[] =
    "pp_chart ok PPChart=0 ops=0\n"
    "p2p_pairing ok P2PPairing=0 ops=0\n"
    "mstx2commop ok Mstx2Commop=0 ops=0\n"
    "step_trace_time ok ClusterStepTraceTime=12 RankDeviceMap=2 ops=0\n"
    "cluster_time_summary ok ClusterTimeSummary=12 ClusterTimeSummaryExtra=12 ops=0\n"
    "cluster_time_compare_summary ok ClusterTimeCompareSummary=12 ClusterTimeCompareMeans=10 "
    "ops=0\n"
    "free_analysis ok FreeAnalysis=0 FreeSummary=14 FreeGaps=0 ops=0\n"
    "communication_group_map ok CommunicationGroupMapping=2 ops=0\n"
    "communication_time_sum ok CommunicationGroupMapping=2 ClusterCommunicationTime=220 "
    "ClusterCommunicationBandwidth=0 ops=0\n"
    "communication_time ok CommunicationGroupMapping=2 ClusterCommunicationTime=220 "
    "ClusterCommunicationBandwidth=0 ops=0\n"
    "communication_matrix_sum ok ClusterCommunicationMatrix=0 ops=0\n"
    "communication_matrix ok ClusterCommunicationMatrix=0 ops=0\n"
    "hccl_sum ok HcclAllRankStats=2 HcclPerRankStats=4 HcclTopOpStats=4 HcclGroupNameMap=1 "
    "ops=0\n"
    "slow_rank ok SlowRank=0 SlowRankLateness=2 SlowOpStats=0 ops=0\n"
    "slow_link ok SlowLinkSum=0 SlowLinkOps=0 SlowLinkMatrix=0 ops=0\n"
    "communication_bottleneck ok CommunicationBottleneck=10 ops=0\n"
    "computational_op_masking ok ComputationalOperatorMaskingLinearity=0 "
    "ComputationalOperatorMaskingByRank=0 ops=0\n"
    "compute_op_sum ok ComputeOpSpread=1 ComputeOpAllRankStats=1 "
    "ComputeOpPerRankStatsByOpType=2 ComputeOpPerRankStatsByOpName=2 ops=0\n"
    "cann_api_sum ok CannApiSum=1 CannApiSumRank=2 ops=0\n"
    "mstx_sum ok MSTXAllFrameworkStats=36 MSTXAllCannStats=36 MSTXAllDeviceStats=36 "
    "MSTXMarkStats=72 ops=0\n"
    "freq_analysis ok FreeFrequencyRanks=0 AbnormalFrequencyRanks=0 FrequencyShare=0 ops=0\n"
    "ep_load_balance ok EPTokensSummary=0 TopEPTokensInfo=0 ops=0\n"
    "calibrate_npu_gpu ok CompareProfileReportRank0=24 CompareProfileReportRank1=24 ops=0\n"
    "export_summary ok api_statistic=1 kernel_details=144 api_statistic=1 kernel_details=144 "
    "ops=0\n"
    "pp_labels ok ops=0\n"
    "whatif nothing to analyse ops=0\n"
    "memory_facts ok MemoryFacts=0 ops=0\n"
    "report ok kernels=1 sections=3 verdict=1 findings=1 evidence=0 shared=0 job=1 steps=2 overview=2 "
    "overview_stages=1 ops=0\n"
    "capture_facts ok CaptureSums=33 CaptureSteps=2 CaptureSize=1 CaptureGroups=1 CaptureStages=0 ops=0\n"
    "job_layout ok JobLayout=1 ops=0\n"
    "compare ok OverallCompare=10 StepCompare=2 CompareNotes=0 ModuleCompare=24 KernelTypeCompare=1 "
    "KernelCompare=1 OperatorCompare=1 OperatorHostCompare=1 CommunicationCompare=2 "
    "CopyCompare=1 ApiCompare=1 ops=0\n"
    "module_statistic ok Modules=24 ModuleTree=48 ModuleStatistic=192 ModuleStatistic=96 "
    "ModuleStatistic=96 ModuleOp=192 ModuleInstance=72 ModuleStep=72 ModuleCoverage=10 "
    "ops=0\n"
    "call_tree ok CallTree=435 CallTreeCallees=972 CallTreeModules=196 ops=0\n"
    "operator_mfu ok OperatorMfuSummary=0 OperatorMFU=0 KernelFlops=0 ops=0\n";

static void every_analysis_tells_the_same_of_all_of_time(void **state) {
    (void)state;
    ps_buf said[2] = {{0}};
    ps_buf bytes[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        job j;
        make_job(&j);
        for (const ps_analysis *const *a = ps_analyses(); *a != NULL; a++) {
            tell(&j, *a, &said[i], &bytes[i]);
        }
        job_fini(&j);
    }
    assert_string_equal(ps_buf_str(&said[0]), EXPECTED);
    assert_string_equal(ps_buf_str(&bytes[0]), ps_buf_str(&bytes[1]));
    for (int i = 0; i < 2; i++) {
        ps_buf_fini(&said[i]);
        ps_buf_fini(&bytes[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_analysis_tells_the_same_of_all_of_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
