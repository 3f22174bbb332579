/* Every analysis over two ranks whose work spans all the time that a trace can hold, many times over: sums and
 * differences leave 64 bits. What comes out means nothing; the sanitizers watch how. */
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/derived.h"
#include "support/profile.h"

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

/* All rounds of an analysis. */
static void run(job *j, const ps_analysis *a, const ps_result *baseline, ps_result *out) {
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
            assert_true(mapped != PS_NOMEM);
        }
        ps_reduce_input in = {.ranks = j->ranks,
                              .partials = partials,
                              .diags = j->diags,
                              .n_ranks = N_RANKS,
                              .opts = &opts,
                              .shared = shared,
                              .result = out};
        code = a->rounds[k].reduce != NULL ? a->rounds[k].reduce(&in, &shared, NULL) : PS_OK;
    }
    for (int r = 0; r < N_RANKS; r++) {
        if (partials[r] != NULL && a->free_partial != NULL) {
            a->free_partial(partials[r]);
        }
    }
    if (shared != NULL && a->free_shared != NULL) {
        a->free_shared(shared);
    }
}

static void every_analysis_survives_all_of_time(void **state) {
    (void)state;
    job j;
    make_job(&j);
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL; a++) {
        ps_result base = {0};
        ps_result out = {0};
        if ((*a)->baseline != NULL) {
            run(&j, ps_analysis_find((*a)->baseline), NULL, &base);
        }
        run(&j, *a, (*a)->baseline != NULL ? &base : NULL, &out);
        ps_result_fini(&base);
        ps_result_fini(&out);
    }
    job_fini(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_analysis_survives_all_of_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
