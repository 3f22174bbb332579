/* pipescope report PATH: the tuning flow that people follow by hand, as findings with evidence. Reads only. */
#include <stdio.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/report/report_rules.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "cli/thresholds.h"
#include "run/cluster.h"
#include "run/run.h"
#include "run/run_pipeline.h"
#include "write/out/wrap.h"
#include "write/out/writers.h"
#include "write/report/report_view.h"

/* --- thresholds ------------------------------------------------------------------------------------------------------ */

static int read_thresholds(ps_cli *cli, double out[PS_N_RULES]) {
    const char *names[PS_N_RULES];
    for (size_t i = 0; i < PS_N_RULES; i++) {
        names[i] = ps_rule_of((ps_rule_id)i)->name;
    }
    ps_thresholds_default(out);
    return ps_cli_thresholds(cli, "rule", names, PS_N_RULES, "free-share=15", out);
}

static int list_rules(ps_cli *cli, const double *thresholds) {
    ps_table *rules = ps_rules_table(thresholds);
    if (rules == NULL) {
        return ps_cli_fail_nomem(cli);
    }
    int status = ps_cli_flag(cli, "json") ? ps_cli_put_json(cli, rules) : PS_EXIT_OK;
    const char *section = "";
    for (size_t r = 0; !ps_cli_flag(cli, "json") && r < rules->n_rows; r++) {
        if (strcmp(section, ps_view_text(rules, r, "section")) != 0) {
            section = ps_view_text(rules, r, "section");
            ps_cli_print(cli, "%s%s\n", r > 0 ? "\n" : "", section);
        }
        ps_buf line = {0};
        ps_wrap(&line, ps_view_text(rules, r, "fires when"), 32, 32, cli->term.width);
        ps_cli_print(cli, "  %-18s  %-9s %s\n", ps_view_text(rules, r, "rule"),
                     ps_view_text(rules, r, "threshold"), ps_buf_str(&line));
        ps_buf_fini(&line);
    }
    ps_table_free(rules);
    return status;
}

/* --- output ------------------------------------------------------------------------------------------------------------ */

/* Into the file, or onto the terminal. */
static int write_report(ps_cli *cli, const ps_report_view *view) {
    const char *path = ps_cli_text(cli, "output");
    ps_text_style style =
        path != NULL ? (ps_text_style){.width = 100, .utf8 = true} : ps_cli_style(cli);
    bool is_page = path != NULL && ps_ends_with(path, ".html");
    bool is_json = path != NULL ? ps_ends_with(path, ".json") : ps_cli_flag(cli, "json");
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    ps_code code = is_page   ? ps_write_report_html(view, &out, &err)
                   : is_json ? ps_write_report_json(view, &out, &err)
                             : ps_write_report_text(view, &style, &out, &err);
    return ps_cli_end_output(cli, path, &out, code, &err);
}

/* --- the run ----------------------------------------------------------------------------------------------------------- */

typedef struct plan {
    const ps_analysis *analyses[PS_REPORT_MAKERS + 1];
    bool optional[PS_REPORT_MAKERS + 1];
    size_t n;
} plan;

static plan plan_for(const ps_cluster *cluster) {
    plan p = {.n = 0};
    p.n = ps_run_report_plan(cluster, p.analyses);
    for (size_t i = 0; i + 1 < p.n; i++) {
        p.optional[i] = true;
    }
    return p;
}

/* The chart that the report took: the first one that there is. */
static void add_report_command_chart(ps_cli *cli, ps_report_view *view, const ps_run *run,
                                     const ps_cluster *cluster) {
    for (size_t a = 0; a + 1 < run->n_analyses && view->chart == NULL; a++) {
        const ps_result *r = &run->results[a];
        if (r->chart == NULL || r->chart->n_ops == 0) {
            continue;
        }
        ps_run_name_chart(r->chart, cluster);
        view->chart = r->chart;
        view->chart_step =
            ps_cli_given(cli, "step") ? ps_cli_int(cli, "step") : ps_chart_usual_step(r->chart);
        for (size_t i = 0; i < r->n_tables && view->n_pipelines < PS_N(view->pipelines); i++) {
            const ps_table *t = r->tables[i];
            if (t->home == PS_HOME_CLUSTER && strncmp(t->name, "Pipeline", 8) == 0 &&
                t->n_rows > 0) {
                view->pipelines[view->n_pipelines++] = t;
            }
        }
    }
}

/* Of a chart those that it has ops of: what is drawn. */
static bool has_report_command_step(const ps_table *steps, const ps_chart *chart, int64_t step) {
    bool found = false;
    for (size_t i = 0; chart != NULL && i < chart->n_ops && !found; i++) {
        found = chart->ops[i].step == step;
    }
    for (size_t r = 0; chart == NULL && r < steps->n_rows && !found; r++) {
        found = ps_table_cell(steps, r, 0)->u.i == step;
    }
    return found;
}

enum { MAX_STEPS_SAID = 16 };

static int say_steps(ps_cli *cli, const ps_table *steps, int64_t step) {
    char there[512] = "the profile has no steps";
    size_t at = 0;
    for (size_t r = 0; r < steps->n_rows && r < MAX_STEPS_SAID; r++) {
        int n = snprintf(there + at, sizeof there - at, "%s%lld",
                         r > 0 ? ", " : "there are: ", (long long)ps_table_cell(steps, r, 0)->u.i);
        at += n > 0 ? (size_t)n : 0;
    }
    ps_cli_warn(cli, "--step %lld: no such step; %s%s", (long long)step, there,
                steps->n_rows > MAX_STEPS_SAID ? ", ..." : "");
    return PS_EXIT_NOTHING;
}

static int show_report_command(ps_cli *cli, const ps_run *run, const ps_cluster *cluster) {
    const ps_result *result = &run->results[run->n_analyses - 1];
    const ps_err *failed = &run->errors[run->n_analyses - 1];
    if (failed->code != PS_OK && failed->code != PS_NOTHING) {
        return ps_cli_fail(cli, failed);
    }
    ps_report_view view = {.title = ps_cluster_name(cluster),
                           .n_ranks = run->n_ranks,
                           .findings = ps_result_table(result, "findings"),
                           .evidence = ps_result_table(result, "evidence"),
                           .shared = ps_result_table(result, "shared"),
                           .sections = ps_result_table(result, "sections"),
                           .verdict = ps_result_table(result, "verdict"),
                           .overview = ps_result_table(result, "overview"),
                           .overview_stages = ps_result_table(result, "overview_stages"),
                           .kernels = ps_result_table(result, "kernels"),
                           .pipeline = -1};
    const ps_table *job = ps_result_table(result, "job");
    const ps_table *steps = ps_result_table(result, "steps");
    if (view.findings == NULL || view.evidence == NULL || job == NULL || steps == NULL) {
        return PS_EXIT_NOTHING; /* the ranks have said why */
    }
    view.step_ns = ps_view_int(job, 0, "step");
    view.period_ns = ps_view_int(job, 0, "period");
    view.n_cut_steps = (size_t)ps_view_int(job, 0, "cut_steps");
    view.n_steps = (size_t)ps_view_int(job, 0, "steps");
    view.job_ranks = ps_view_int(job, 0, "job_ranks");
    view.job_ranks_are_least = strcmp(ps_view_text(job, 0, "job_ranks_are"), "at least") == 0;
    view.has_host_times = strcmp(ps_view_text(job, 0, "device_times"), "host") == 0;
    view.comm_from_marks = ps_view_text(job, 0, "comm_from_marks");
    view.missing_timeline = ps_view_text(job, 0, "missing_timeline");
    view.n_without_timeline = (size_t)ps_view_int(job, 0, "ranks_without_timeline");
    add_report_command_chart(cli, &view, run, cluster);
    if (ps_cli_given(cli, "step") &&
        !has_report_command_step(steps, view.chart, ps_cli_int(cli, "step"))) {
        return say_steps(cli, steps, ps_cli_int(cli, "step"));
    }
    return write_report(cli, &view);
}

/* What only the makers of the chart miss is no news: the report says whether there is a pipeline. */
static void say_report_command_ranks(ps_cli *cli, const ps_run *run, const plan *p) {
    bool fine = run->errors[run->n_analyses - 1].code == PS_OK;
    for (size_t r = 0; fine && r < run->n_ranks; r++) {
        ps_rank_report *report = &run->ranks[r];
        report->err = report->status == PS_RANK_DONE ? PS_ERR_INIT : report->err;
    }
    if (fine) {
        ps_report_ranks(cli, run);
    } else {
        /* The command has ended with its own failure, and told it. */
        ps_report_modes(cli, run, p->analyses, p->optional, &run->errors[run->n_analyses - 1]);
    }
}

static ps_run *begin_report(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    plan p = plan_for(cluster);
    return ps_run_all_ranks(p.analyses, p.n, cluster, opts, err);
}

static int end_report(ps_cli *cli, ps_run *run, const ps_cluster *cluster, int shown) {
    plan p = plan_for(cluster);
    say_report_command_ranks(cli, run, &p);
    int ranks_status = ps_report_status(run, cluster, p.optional);
    ps_run_free(run);
    return ps_report_shown(shown, ranks_status);
}

static int run_report_command(ps_cli *cli) {
    static const char *const ENDINGS[] = {".txt", ".json", ".html", NULL};
    static const ps_ranks_command REPORT = {begin_report, show_report_command, end_report};
    double thresholds[PS_N_RULES];
    ps_run_opts opts;
    int status = read_thresholds(cli, thresholds);
    if (status == PS_EXIT_OK && ps_cli_flag(cli, "rules")) {
        return list_rules(cli, thresholds);
    }
    if (status == PS_EXIT_OK && ps_cli_n_positionals(cli) == 0) {
        status = ps_cli_usage(cli, "PATH is missing");
    }
    status = status == PS_EXIT_OK
                 ? ps_cli_check_ending(cli, ps_cli_text(cli, "output"), ENDINGS, "")
                 : status;
    status = status == PS_EXIT_OK ? ps_cli_run_options(cli, &opts) : status;
    if (status != PS_EXIT_OK) {
        return status;
    }
    opts.analysis.in_full = true;
    opts.analysis.thresholds = thresholds;
    return ps_cli_over_ranks(cli, &opts, &REPORT);
}

static const ps_option OPTIONS[] = {
    {.short_name = 'o',
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID,
                 "a page (.html), the data (.json) or the text (.txt) instead of text on the "
                 "terminal")},
    {PS_ROW_FLAG(NULL, "rules", "list the rules and their thresholds")},
    {PS_ROW_TEXT(NULL, "threshold", "NAME=VALUE,...", PS_UNSAID,
                 "other thresholds than those that --rules lists")},
    {PS_ROW_FLAG(NULL, "json", "JSON on the terminal, also of --rules")},
    {PS_ROW_INT(NULL, "step", "N", PS_SHOWN("the first full one"), 0, INT64_MAX,
                "step of the pipeline to draw; findings are means of all steps")},
    {PS_ROW_ANALYSIS(max_activations)},
    {PS_ROW_ANALYSIS(peak_tflops), .group = "Options",
     .help = "peak of 16-bit types, in 10^12 operations a second, for the MFU"},
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_CACHE_OPTIONS,
    PS_CLOCK_OPTIONS,
    PS_JOB_OPTIONS,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_report = {
    .name = "report",
    .summary = "findings with evidence: dispatch, compute, communication, pipeline",
    .usage = "PATH [-o FILE.{txt,json,html}] [options]\n--rules",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 0,
    .max_positionals = 1,
    .notes =
        "Reads profiles of any format and never writes to them. Every finding names its figure, its rule with the "
        "threshold, where to look in the trace, and one thing to try.",
    .run = run_report_command,
};
