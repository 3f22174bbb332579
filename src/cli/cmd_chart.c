/* pipescope chart PATH: the pipeline of a step in numbers and as a picture. Reads only. */
#include <stdio.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/pipeline/host_labels.h"
#include "analyze/pipeline/replay.h"
#include "base/alloc.h"
#include "cli/chart_file.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "run/cluster.h"
#include "run/run.h"
#include "run/run_pipeline.h"
#include "schedule/schedule.h"
#include "write/chart/chart_rows.h"
#include "write/out/writers.h"

typedef struct drawing {
    const ps_run *run;
    const ps_chart *chart;
    ps_chart *against; /* theory, or NULL; owned */
    int64_t step;
    int32_t pipeline;
} drawing;

/* --- output ------------------------------------------------------------------------------------------------------ */

/* Where a screen is full of ranks, names of schedules that could not be replayed are enough. */
static int put_pipeline_table(ps_cli *cli, const ps_table *t, int64_t step) {
    if (cli->fold_near <= 0 || strcmp(t->name, PS_NOT_REPLAYED_TABLE) != 0) {
        ps_cli_print(cli, "\n");
        return ps_cli_put_step_rows(cli, t, step);
    }
    ps_cli_print(cli, "not replayed:");
    for (size_t r = 0; r < t->n_rows; r++) {
        ps_cli_print(cli, "%s %s", r > 0 ? "," : "", ps_table_cell(t, r, 0)->u.text);
    }
    ps_cli_print(cli, " (--all says why)\n");
    return PS_EXIT_OK;
}

/* Below the table of other schedules, in the words of the report: what of it was not measured. */
static void say_assumed_weights(ps_cli *cli, const drawing *d, const ps_table *t) {
    bool any = false;
    for (size_t r = 0; strcmp(t->name, "PipelineReplay") == 0 && r < t->n_rows; r++) {
        any = any || ps_replay_assumes_weights(d->chart, t, r);
    }
    if (any) {
        ps_cli_print(
            cli, "%s\n",
            PS_SAY(d->chart->lang,
                   "Weight gradients were not measured apart: where backwards are split they are "
                   "taken as half of the backward.",
                   "权重梯度没有单独测量：拆分反向的调度中取反向的一半。"));
    }
}

static int print_chart_text(ps_cli *cli, const drawing *d) {
    int status = ps_cli_put_chart(cli, d->chart, d->step, d->pipeline);
    if (status == PS_EXIT_OK && d->against != NULL) {
        ps_cli_print(cli, "\n");
        status = ps_cli_put_chart(cli, d->against, PS_FIRST_STEP, -1);
    }
    const ps_result *result = &d->run->results[0];
    for (size_t i = 0; status == PS_EXIT_OK && i < result->n_tables; i++) {
        if (ps_is_pipeline_table(result->tables[i])) {
            status = put_pipeline_table(cli, result->tables[i], d->step);
            say_assumed_weights(cli, d, result->tables[i]);
        }
    }
    ps_cli_print(cli, "\n");
    return status == PS_EXIT_OK ? ps_cli_say_what_else(cli, d->chart, d->step, d->pipeline)
                                : status;
}

static int write_chart_file(ps_cli *cli, const drawing *d, const char *path) {
    const ps_table *tables[PS_MAX_PIPELINE_TABLES];
    size_t n = ps_pipeline_tables(&d->run->results[0], tables);
    ps_chart_file file = {d->chart,    d->against,           tables, n, d->step,
                          d->pipeline, ps_cli_shows_all(cli)};
    return ps_cli_write_chart_file(cli, path, &file);
}

/* --- the command ------------------------------------------------------------------------------------------------- */

static int draw_chart(ps_cli *cli, const ps_run *run, const ps_cluster *cluster) {
    (void)cluster;
    drawing d = {.run = run, .chart = run->results[0].chart, .pipeline = -1};
    ps_err err = PS_ERR_INIT;
    if (d.chart == NULL || d.chart->n_ops == 0) {
        return PS_EXIT_NOTHING; /* the ranks have said why */
    }
    d.step = ps_cli_given(cli, "step") ? ps_cli_int(cli, "step") : ps_chart_usual_step(d.chart);
    d.pipeline = ps_cli_given(cli, "pipeline") ? (int32_t)ps_cli_int(cli, "pipeline") : -1;
    int64_t step = d.step;
    int32_t pipeline = d.pipeline;
    ps_code chosen = ps_chart_choose(d.chart, &step, &pipeline, &err);
    if (chosen == PS_NOMEM) {
        return ps_cli_fail_nomem(cli);
    }
    if (chosen != PS_OK) {
        return ps_cli_usage(cli, "--%s", ps_err_text(cli->lang, &err));
    }
    const char *against = ps_cli_text(cli, "against");
    if (against != NULL &&
        (d.against = ps_theory_of(d.chart, ps_schedule_find(against), &err)) == NULL) {
        ps_err_prefix(&err, "--against");
        return ps_cli_fail(cli, &err);
    }
    const char *path = ps_cli_text(cli, "output");
    bool is_file = path != NULL || ps_cli_flag(cli, "json");
    int status = is_file ? write_chart_file(cli, &d, path) : print_chart_text(cli, &d);
    ps_chart_free(d.against);
    return status;
}

/* The rules for names of ranges; wrong ones are said before anything is read. */
static int check_rules(ps_cli *cli, const ps_analysis_opts *opts) {
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_label_rules_check(opts, &err);
    return code == PS_OK ? PS_EXIT_OK : ps_cli_fail_run(cli, &err);
}

static int check_chart(ps_cli *cli, ps_run_opts *opts) {
    int status = ps_cli_run_options(cli, opts);
    const char *against = ps_cli_text(cli, "against");
    const char *path = ps_cli_text(cli, "output");
    if (status == PS_EXIT_OK && against != NULL && ps_schedule_find(against) == NULL) {
        return ps_cli_usage(cli, "--against %s: no such schedule (see: pipescope schedules)",
                            against);
    }
    status = status == PS_EXIT_OK ? ps_cli_check_chart_file(cli, path) : status;
    opts->analysis.in_full = true;
    return status == PS_EXIT_OK ? check_rules(cli, &opts->analysis) : status;
}

static int run(ps_cli *cli) {
    static const ps_ranks_command CHART = {.begin = ps_run_pipeline, .show = draw_chart};
    ps_run_opts opts;
    int status = check_chart(cli, &opts);
    return status == PS_EXIT_OK ? ps_cli_over_ranks(cli, &opts, &CHART) : status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'o',
     .or_terminal = true,
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID, PS_CHART_FILE_HELP)},
    {PS_ROW_FLAG(NULL, "json", "JSON on the terminal")},
    {PS_ROW_INT(NULL, "step", "N", PS_SHOWN("the first full one"), 0, INT64_MAX, "step to draw")},
    {PS_ROW_INT(NULL, "pipeline", "N", PS_SHOWN("the longest"), 0, INT32_MAX, "pipeline to draw")},
    {PS_ROW_TEXT(NULL, "against", "SCHEDULE", PS_UNSAID,
                 "draw the theory of this schedule below the measured step")},
    PS_ALL_ROWS_OPTION,
    {PS_ROW_ANALYSIS(lang)},
    PS_OPS_OPTIONS,
    PS_CLOCK_OPTIONS,
    PS_INPUT_OPTION,
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_MEMORY_OPTION,
    PS_CACHE_OPTIONS,
    PS_CREW_OPTIONS,
    PS_JOB_OPTIONS,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_chart = {
    .name = "chart",
    .summary = "the pipeline of a step: picture, bubble by cause, critical path, other schedules",
    .usage = "PATH [-o FILE.{svg,html,json}] [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 1,
    .max_positionals = 1,
    .notes =
        "Reads marks, labels of frameworks, jobs, or what follows from forward-backward flows (docs/marks.md), and never "
        "writes to its input. docs/bubble.md explains every figure.",
    .run = run,
};
