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
#include "write/out/writers.h"

typedef struct drawing {
    const ps_run *run;
    const ps_chart *chart;
    ps_chart *against; /* theory, or NULL; owned */
    int64_t step;
    int32_t pipeline;
} drawing;

/* --- output ------------------------------------------------------------------------------------------------------ */

static int print_chart_text(ps_cli *cli, const drawing *d) {
    int status = ps_cli_put_chart(cli, d->chart, d->step, d->pipeline);
    if (status == PS_EXIT_OK && d->against != NULL) {
        ps_cli_print(cli, "\n");
        status = ps_cli_put_chart(cli, d->against, PS_FIRST_STEP, -1);
    }
    const ps_result *result = &d->run->results[0];
    for (size_t i = 0; status == PS_EXIT_OK && i < result->n_tables; i++) {
        if (!ps_is_pipeline_table(result->tables[i])) {
            continue;
        }
        ps_cli_print(cli, "\n");
        status = ps_cli_put_step_rows(cli, result->tables[i], d->step);
    }
    ps_cli_print(cli, "\n");
    ps_cli_say_what_else(cli, d->chart, d->step, d->pipeline);
    return status;
}

static int write_chart_file(ps_cli *cli, const drawing *d, const char *path) {
    const ps_table *tables[PS_MAX_PIPELINE_TABLES];
    size_t n = ps_pipeline_tables(&d->run->results[0], tables);
    ps_chart_file file = {d->chart, d->against, tables, n, d->step, d->pipeline};
    return ps_cli_write_chart_file(cli, path, &file);
}

/* --- the command ------------------------------------------------------------------------------------------------- */

static bool has_chart_step(const ps_chart *chart, int64_t step) {
    for (size_t i = 0; i < chart->n_ops; i++) {
        if (chart->ops[i].step == step) {
            return true;
        }
    }
    return false;
}

static int draw_chart(ps_cli *cli, const ps_run *run) {
    drawing d = {.run = run, .chart = run->results[0].chart, .pipeline = -1};
    ps_err err = PS_ERR_INIT;
    if (d.chart == NULL || d.chart->n_ops == 0) {
        return PS_EXIT_NOTHING; /* the ranks have said why */
    }
    d.step = ps_cli_given(cli, "step") ? ps_cli_int(cli, "step") : ps_chart_usual_step(d.chart);
    d.pipeline = ps_cli_given(cli, "pipeline") ? (int32_t)ps_cli_int(cli, "pipeline") : -1;
    if (!has_chart_step(d.chart, d.step)) {
        return ps_cli_usage(cli, "--step %lld: the chart has no such step (see: pipescope info)",
                            (long long)d.step);
    }
    const char *against = ps_cli_text(cli, "against");
    if (against != NULL &&
        (d.against = ps_theory_of(d.chart, ps_schedule_find(against), &err)) == NULL) {
        ps_err_prefix(&err, "--against");
        return ps_cli_fail(cli, &err);
    }
    const char *path = ps_cli_text(cli, "output");
    int status = path != NULL ? write_chart_file(cli, &d, path) : print_chart_text(cli, &d);
    ps_chart_free(d.against);
    return status;
}

static int chart_analyse(ps_cli *cli, const ps_cluster *cluster, const ps_run_opts *opts) {
    ps_err err = PS_ERR_INIT;
    ps_run *run = ps_run_pipeline(cluster, opts, &err);
    if (run == NULL) {
        return ps_cli_fail(cli, &err);
    }
    return ps_report_end(cli, run, cluster, draw_chart(cli, run));
}

/* The rules for names of ranges; wrong ones are said before anything is read. */
static int check_rules(ps_cli *cli, ps_analysis_opts *opts) {
    opts->forward_re = ps_cli_text(cli, "forward-re");
    opts->backward_re = ps_cli_text(cli, "backward-re");
    opts->microbatch_re = ps_cli_text(cli, "microbatch-re");
    opts->unexplained = ps_cli_int(cli, "unexplained");
    if (opts->microbatch_re != NULL && !ps_label_rules_given(opts)) {
        return ps_cli_usage(
            cli,
            "--microbatch-re numbers what --forward-re and --backward-re match: give those too");
    }
    ps_label_rules rules;
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_label_rules_init(&rules, opts, &err);
    ps_label_rules_fini(&rules);
    if (code == PS_USAGE) {
        return ps_cli_usage(cli, "%s", err.msg);
    }
    return code == PS_OK ? PS_EXIT_OK : ps_cli_fail(cli, &err);
}

static int check_chart(ps_cli *cli, ps_run_opts *opts) {
    int status = ps_cli_job(cli, &opts->analysis, "step");
    status = status == PS_EXIT_OK ? ps_cli_clocks(cli, &opts->analysis) : status;
    const char *against = ps_cli_text(cli, "against");
    const char *path = ps_cli_text(cli, "output");
    if (status == PS_EXIT_OK && against != NULL && ps_schedule_find(against) == NULL) {
        return ps_cli_usage(cli, "--against %s: no such schedule (see: pipescope schedules)",
                            against);
    }
    if (status == PS_EXIT_OK && path != NULL) {
        status = ps_cli_check_chart_file(cli, path);
    }
    opts->export_type = PS_EXPORT_NOTHING;
    opts->n_threads = (size_t)ps_cli_int(cli, "jobs");
    opts->analysis.step_id = -1; /* the whole chart is read; --step chooses what is drawn */
    opts->analysis.in_full = true;
    opts->analysis.max_activations = ps_cli_int(cli, "max-activations");
    return status == PS_EXIT_OK ? check_rules(cli, &opts->analysis) : status;
}

static int run(ps_cli *cli) {
    ps_run_opts opts = {0};
    int status = check_chart(cli, &opts);
    if (status != PS_EXIT_OK) {
        return status;
    }
    return ps_cli_over_ranks(cli, &opts, chart_analyse);
}

#define PS_RULES_GROUP "Ranges that no framework named (regular expressions)"

static const ps_option OPTIONS[] = {
    {.name = "output",
     .short_name = 'o',
     .kind = PS_OPTION_PATH,
     .arg = "FILE",
     .help = "a picture (.svg), a page (.html) or the data (.json) instead of text"},
    {.name = "step",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 0,
     .max = INT64_MAX,
     .fallback_shown = "the first full one",
     .help = "step to draw"},
    {.name = "pipeline",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 0,
     .max = INT32_MAX,
     .fallback_shown = "the first",
     .help = "pipeline to draw"},
    {.name = "against",
     .kind = PS_OPTION_TEXT,
     .arg = "SCHEDULE",
     .help = "draw the theory of this schedule below the measured step"},
    {.name = "max-activations",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 1,
     .max = 1 << 30,
     .help = "replay only schedules that hold no more activations on a stage (in microbatches)"},
    {.name = "unexplained",
     .kind = PS_OPTION_INT,
     .arg = "PCT",
     .fallback = "20",
     .min = 1,
     .max = 100,
     .help = "no bubble where more of what a rank's device did is in no op of the chart"},
    PS_CLOCK_OPTIONS,
    {.name = "forward-re",
     .kind = PS_OPTION_TEXT,
     .arg = "RE",
     .help = "ranges whose name matches are forwards; a group gives the microbatch",
     .group = PS_RULES_GROUP},
    {.name = "backward-re",
     .kind = PS_OPTION_TEXT,
     .arg = "RE",
     .help = "the same for backwards",
     .group = PS_RULES_GROUP},
    {.name = "microbatch-re",
     .kind = PS_OPTION_TEXT,
     .arg = "RE",
     .help = "where the microbatch stands in the names of both",
     .group = PS_RULES_GROUP},
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
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
