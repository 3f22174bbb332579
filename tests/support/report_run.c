#include "support/report_run.h"
#include "analyze/derived/derived.h"

#include <string.h>

#include "support/travel.h"

rig rig_begin(int64_t end) {
    rig r = {.b = ps_builder_new()};
    assert_non_null(r.b);
    r.host = ps_builder_track(r.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .device = -1});
    r.stream = ps_builder_track(r.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2, .device = 0});
    r.group = ps_builder_track(r.b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                               .device = 0,
                                               .name = ps_builder_str(r.b, "world", 5)});
    ps_builder_step(r.b, 1, REPORT_EPOCH_NS, REPORT_EPOCH_NS + end * US);
    return r;
}

uint32_t rig_slice(rig *r, ps_slice_kind kind, uint32_t track, const char *name, int64_t start,
                   int64_t end) {
    uint32_t row = ps_builder_slice(r->b, kind, track, ps_builder_str(r->b, name, strlen(name)),
                                    REPORT_EPOCH_NS + start * US, REPORT_EPOCH_NS + end * US, 0);
    assert_true(row != PS_NONE);
    return row;
}

uint32_t rig_host(rig *r, ps_slice_kind kind, const char *name, int64_t start, int64_t end) {
    return rig_slice(r, kind, r->host, name, start, end);
}

void rig_text(rig *r, uint32_t slice, const char *key, const char *value) {
    ps_builder_arg_str(r->b, slice, key, ps_builder_str(r->b, value, strlen(value)));
}

uint32_t rig_kernel(rig *r, const char *type, const char *shapes, int64_t call, int64_t start,
                    int64_t end) {
    uint32_t from = rig_host(r, PS_SLICE_CALL, "launch", call, call + 1);
    uint32_t to =
        rig_slice(r, PS_SLICE_KERNEL, r->stream, type != NULL ? type : "kernel", start, end);
    if (type != NULL) {
        rig_text(r, to, "opType", type);
    }
    if (shapes != NULL) {
        rig_text(r, to, "inputShapes", shapes);
    }
    ps_builder_flow(r->b, from, to);
    return to;
}

uint32_t rig_comm(rig *r, const char *name, int64_t start, int64_t end, int64_t n_elements) {
    uint32_t row = rig_slice(r, PS_SLICE_COMM_OP, r->group, name, start, end);
    rig_text(r, row, "opType", "hcom_allReduce_");
    if (n_elements > 0) {
        rig_text(r, row, "dataType", "FP32");
        ps_builder_arg_int(r->b, row, "count", n_elements);
    }
    return row;
}

void rig_counter(rig *r, const char *series, int64_t at, double value) {
    uint32_t track =
        ps_builder_track(r->b, (ps_track){.kind = PS_TRACK_COUNTER,
                                          .device = 0,
                                          .name = ps_builder_str(r->b, series, strlen(series))});
    assert_true(ps_builder_counter(r->b, track, REPORT_EPOCH_NS + at * US, value));
}

ps_trace *rig_seal(rig *r) {
    ps_trace *t = ps_builder_seal(r->b, NULL);
    assert_non_null(t);
    return t;
}

static void run_report(report_run *out, ps_trace **traces, size_t n, const ps_analysis_opts *opts,
                       const ps_result *before, const int32_t *machines, int64_t first_rank) {
    const ps_analysis *analysis = ps_analysis_find("report");
    ps_analysis_opts usual = {.step_id = -1, .in_full = true};
    const ps_analysis_opts *used = opts != NULL ? opts : &usual;
    ps_rank_info infos[8] = {{0}};
    void *partials[8] = {NULL};
    ps_diag *diags[8];
    *out = (report_run){.err = PS_ERR_INIT};
    assert_non_null(analysis);
    assert_true(n <= 8);
    for (size_t round = 0; round < analysis->n_rounds; round++) {
        for (size_t r = 0; r < n; r++) {
            infos[r] = (ps_rank_info){.rank = first_rank + (int64_t)r,
                                      .machine = machines != NULL ? machines[r] : 0,
                                      .profiler = "Ascend"};
            diags[r] = &out->diags[r];
            ps_map_input in = {.trace = round == 0 ? traces[r] : NULL,
                               .rank = &infos[r],
                               .opts = used,
                               .partial = partials[r],
                               .diag = diags[r]};
            (void)ps_round_map(&analysis->rounds[round], &in, &partials[r], &out->err);
            ps_err lost = PS_ERR_INIT;
            (void)travel(analysis, analysis->archive, &partials[r], &lost);
        }
    }
    ps_reduce_input in = {.ranks = infos,
                          .partials = partials,
                          .diags = diags,
                          .n_ranks = n,
                          .opts = used,
                          .result = &out->result,
                          .before = before,
                          .n_before = before != NULL};
    void *shared = NULL;
    out->code = analysis->rounds[analysis->n_rounds - 1].reduce(&in, &shared, &out->err);
    for (size_t r = 0; r < n; r++) {
        analysis->free_partial(partials[r]);
        ps_trace_free(traces[r]);
        traces[r] = NULL;
    }
}

void report_over(report_run *out, ps_trace **traces, size_t n, const ps_analysis_opts *opts,
                 const ps_result *before) {
    run_report(out, traces, n, opts, before, NULL, 0);
}

void report_on_machines(report_run *out, ps_trace **traces, size_t n, const int32_t *machines) {
    run_report(out, traces, n, NULL, NULL, machines, 0);
}

void report_without_rank(report_run *out, ps_trace *trace) {
    run_report(out, &trace, 1, NULL, NULL, NULL, -1);
    assert_int_equal(out->code, PS_OK);
}

void report_fini(report_run *run) {
    ps_result_fini(&run->result);
}

const ps_table *report_table(const report_run *run, const char *name) {
    for (size_t i = 0; i < run->result.n_tables; i++) {
        if (strcmp(run->result.tables[i]->name, name) == 0) {
            return run->result.tables[i];
        }
    }
    return NULL;
}

size_t report_row(const report_run *run, ps_rule_id rule) {
    const ps_table *t = report_table(run, "findings");
    assert_non_null(t);
    for (size_t r = 0; r < t->n_rows; r++) {
        const ps_value *name = ps_table_cell(t, r, ps_table_column(t, "rule"));
        if (strcmp(name->u.text, ps_rule_of(rule)->name) == 0) {
            return r;
        }
    }
    return SIZE_MAX;
}

bool report_fired(const report_run *run, ps_rule_id rule) {
    return report_row(run, rule) != SIZE_MAX;
}

int64_t report_gain(const report_run *run, ps_rule_id rule) {
    const ps_table *t = report_table(run, "findings");
    size_t r = report_row(run, rule);
    assert_true(r != SIZE_MAX);
    const ps_value *gain = ps_table_cell(t, r, ps_table_column(t, "gain"));
    return gain->is_null ? 0 : gain->u.i;
}

const char *report_text(const report_run *run, ps_rule_id rule) {
    const ps_table *t = report_table(run, "findings");
    size_t r = report_row(run, rule);
    assert_true(r != SIZE_MAX);
    return ps_table_cell(t, r, ps_table_column(t, "what"))->u.text;
}
