#include "run/run_report.h"

#include <string.h>

#include "base/alloc.h"
#include "base/runs.h"
#include "run/run_pipeline.h"

ps_run *ps_run_report(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    /* The report says itself whether there is a pipeline. */
    static const bool OPTIONAL[PS_REPORT_MAKERS] = {true, true};
    const ps_analysis *analyses[PS_REPORT_MAKERS + 1];
    bool optional[PS_REPORT_MAKERS + 1] = {false};
    size_t n = ps_run_report_plan(cluster, analyses);
    ps_run_opts own = *opts;
    memcpy(optional, OPTIONAL, (n - 1) * sizeof *optional);
    own.optional = optional;
    return ps_run_all_ranks(analyses, n, cluster, &own, err);
}

/* The chart that the report took: the first one that there is. */
static void add_report_chart(ps_report_view *view, const ps_run *run, const ps_cluster *cluster,
                             const int64_t *step) {
    for (size_t a = 0; a + 1 < run->n_analyses && view->chart == NULL; a++) {
        const ps_result *r = &run->results[a];
        if (r->chart == NULL || r->chart->n_ops == 0) {
            continue;
        }
        ps_run_name_chart(r->chart, cluster);
        r->chart->lacks = NULL; /* the report says it itself */
        view->chart = r->chart;
        view->chart_step = step != NULL ? *step : ps_chart_usual_step(r->chart);
        view->n_pipelines = ps_pipeline_tables(r, view->pipelines);
    }
}

/* Of a chart those that it has ops of: what is drawn. */
static bool has_report_step(const ps_table *steps, const ps_chart *chart, int64_t step) {
    bool found = false;
    for (size_t i = 0; chart != NULL && i < chart->n_ops && !found; i++) {
        found = chart->ops[i].step == step;
    }
    for (size_t r = 0; chart == NULL && r < steps->n_rows && !found; r++) {
        found = ps_table_cell(steps, r, 0)->u.i == step;
    }
    return found;
}

static ps_code say_report_steps(const ps_table *steps, int64_t step, ps_err *err) {
    int64_t *there = ps_calloc(steps->n_rows + 1, sizeof *there);
    for (size_t r = 0; there != NULL && r < steps->n_rows; r++) {
        there[r] = ps_table_cell(steps, r, 0)->u.i;
    }
    ps_code code = there != NULL
                       ? ps_fail_no_such(err, PS_RANGE, "step", step, there, steps->n_rows)
                       : ps_fail_nomem(err);
    ps_free(there);
    return code;
}

static void view_of_job(ps_report_view *view, const ps_table *job) {
    view->step_ns = ps_view_int(job, 0, "step");
    view->period_ns = ps_view_int(job, 0, "period");
    view->n_cut_steps = (size_t)ps_view_int(job, 0, "cut_steps");
    view->n_steps = (size_t)ps_view_int(job, 0, "steps");
    view->job_ranks = ps_view_int(job, 0, "job_ranks");
    view->job_ranks_are_least = strcmp(ps_view_text(job, 0, "job_ranks_are"), "at least") == 0;
    view->has_host_times = strcmp(ps_view_text(job, 0, "device_times"), "host") == 0;
    view->has_no_device = strcmp(ps_view_text(job, 0, "device_times"), "none") == 0;
    view->comm_from_marks = ps_view_text(job, 0, "comm_from_marks");
    view->missing_timeline = ps_view_text(job, 0, "missing_timeline");
    view->n_without_timeline = (size_t)ps_view_int(job, 0, "ranks_without_timeline");
}

ps_code ps_run_report_view(const ps_run *run, const ps_cluster *cluster, const int64_t *step,
                           ps_report_view *out, ps_err *err) {
    const ps_result *result = &run->results[run->n_analyses - 1];
    const ps_err *failed = &run->errors[run->n_analyses - 1];
    const ps_table *job = ps_result_table(result, "job");
    const ps_table *steps = ps_result_table(result, "steps");
    if (failed->code != PS_OK && failed->code != PS_NOTHING) {
        *err = *failed;
        return failed->code;
    }
    *out = (ps_report_view){.title = ps_cluster_name(cluster),
                            .n_ranks = run->n_ranks,
                            .lacks = run->lacks,
                            .findings = ps_result_table(result, "findings"),
                            .evidence = ps_result_table(result, "evidence"),
                            .shared = ps_result_table(result, "shared"),
                            .sections = ps_result_table(result, "sections"),
                            .verdict = ps_result_table(result, "verdict"),
                            .overview = ps_result_table(result, "overview"),
                            .overview_stages = ps_result_table(result, "overview_stages"),
                            .kernels = ps_result_table(result, "kernels"),
                            .pipeline = -1};
    if (out->findings == NULL || out->evidence == NULL || job == NULL || steps == NULL) {
        const char *reason = ps_run_first_reason(PS_ENGLISH, run);
        return reason == NULL
                   ? ps_fail_said(err, PS_NOTHING, "nothing to report on", "没有可报告的内容")
                   : ps_fail_said(err, PS_NOTHING, "%.480s%.0s", "%.0s%.480s", reason,
                                  ps_run_first_reason(PS_CHINESE, run));
    }
    view_of_job(out, job);
    add_report_chart(out, run, cluster, step);
    return step == NULL || has_report_step(steps, out->chart, *step)
               ? PS_OK
               : say_report_steps(steps, *step, err);
}
