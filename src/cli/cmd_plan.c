/* pipescope plan PATH: how many layers each stage should have, by what the stages were measured to take. Reads only. */
#include "base/fs.h"
#include "cli/chart_file.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "cli/whatif_run.h"
#include "run/cluster.h"
#include "run/run.h"
#include "run/run_whatif.h"
#include "write/report/plan_text.h"

static ps_plan_view plan_view_of(ps_lang lang, const ps_run *run) {
    const ps_result *r = &run->results[0];
    return (ps_plan_view){.lang = lang,
                          .lacks = run->lacks,
                          .plan = ps_result_table(r, "plan"),
                          .memory = ps_result_table(r, "plan_memory"),
                          .stages = ps_result_table(r, "plan_stages"),
                          .schedules = ps_result_table(r, "plan_schedules"),
                          .schedule_stages = ps_result_table(r, "plan_schedule_stages"),
                          .schedule_lines = ps_result_table(r, "plan_schedule_lines"),
                          .left_out = ps_result_table(r, "plan_left_out")};
}

static bool is_chart_file(const char *path) {
    return ps_ends_with(path, ".svg") || ps_ends_with(path, ".html");
}

/* The measured step, and the plan below it. */
static int store_plan_chart(ps_cli *cli, const ps_result *r, const char *path) {
    if (r->chart == NULL || r->chart->n_ops == 0 || r->against == NULL) {
        ps_cli_warn(cli, "there is no plan of a schedule to draw");
        return PS_EXIT_NOTHING;
    }
    const ps_table *tables[] = {ps_result_table(r, "plan_schedules"),
                                ps_result_table(r, "plan_schedule_stages"),
                                ps_result_table(r, "plan_schedule_lines")};
    size_t n = PS_N(tables) - (tables[2] == NULL || tables[2]->n_rows == 0);
    ps_chart_file file = {.chart = r->chart,
                          .against = r->against,
                          .tables = tables,
                          .n_tables = n,
                          .step = ps_chart_usual_step(r->chart),
                          .pipeline = -1};
    return ps_cli_write_chart_file(cli, path, &file);
}

static int show_plan(ps_cli *cli, const ps_run *run, const ps_cluster *cluster) {
    (void)cluster;
    int status = ps_cli_whatif_failed(cli, run);
    const char *path = ps_cli_text(cli, "output");
    const ps_plan_view view = plan_view_of(cli->lang, run);
    if (status != PS_EXIT_OK || view.plan == NULL || view.stages == NULL) {
        return status != PS_EXIT_OK ? status : PS_EXIT_NOTHING; /* the ranks have said why */
    }
    if (path != NULL && is_chart_file(path)) {
        return store_plan_chart(cli, &run->results[0], path);
    }
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    ps_text_style style = ps_cli_style(cli);
    bool is_json = path != NULL || ps_cli_flag(cli, "json");
    ps_code code = is_json ? ps_write_plan_json(&view, &out, &err)
                           : ps_write_plan_text(&view, &style, &out, &err);
    return ps_cli_end_output(cli, path, &out, code, &err);
}

static int check_plan(ps_cli *cli, ps_analysis_opts *o) {
    const char *path = ps_cli_text(cli, "output");
    o->with_timeline = path != NULL && is_chart_file(path);
    if (o->split == NULL) {
        return ps_cli_usage(
            cli, "--layers is missing: those of each stage (8,8,8,8), or of the model (32)");
    }
    if (path != NULL && !is_chart_file(path) && !ps_ends_with(path, ".json")) {
        return ps_cli_usage(
            cli, "-o %s: end it in .svg, .html or .json (the text goes to the terminal)", path);
    }
    return PS_EXIT_OK;
}

static int run_plan_command(ps_cli *cli) {
    static const ps_ranks_command PLAN = {.begin = ps_run_whatif, .show = show_plan};
    ps_run_opts opts;
    int status = ps_cli_run_options(cli, &opts);
    status = status == PS_EXIT_OK ? check_plan(cli, &opts.analysis) : status;
    return status == PS_EXIT_OK ? ps_cli_over_ranks(cli, &opts, &PLAN) : status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'l', PS_ROW_ANALYSIS(split)},
    {PS_ROW_ANALYSIS(most_layers)},
    {PS_ROW_ANALYSIS(empty_stages)},
    {PS_ROW_ANALYSIS(max_activations)},
    {PS_ROW_ANALYSIS(memory_bytes)},
    {PS_ROW_ANALYSIS(activation_bytes)},
    {PS_ROW_ANALYSIS(layer_bytes)},
    {PS_ROW_ANALYSIS(embedding_bytes)},
    {PS_ROW_ANALYSIS(head_bytes)},
    {PS_ROW_ANALYSIS(weight_share)},
    {PS_ROW_ANALYSIS(plan_row)},
    {PS_ROW_ANALYSIS(lang)},
    {.short_name = 'o',
     .or_terminal = true,
     PS_ROW_PATH(NULL, "output", "FILE", NULL,
                 "the measured step and the plan below it (.svg, .html), or the data "
                 "(.json), instead of text")},
    {PS_ROW_FLAG(NULL, "json", "JSON on the terminal")},
    PS_INPUT_OPTION,
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_CACHE_OPTIONS,
    PS_CREW_OPTIONS,
    PS_CLOCK_OPTIONS,
    PS_JOB_OPTIONS,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_plan = {
    .name = "plan",
    .summary =
        "how many layers each stage should have, under which schedule, with the lines to paste",
    .usage = "PATH --layers N[,N...] [--row N] [-o FILE.{svg,html,json}] [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 1,
    .max_positionals = 1,
    .notes =
        "Finds what a layer takes from the measured stages, simulates the step of other splits in the graph of what "
        "ran and under every other schedule that can run its stages and microbatches, and prints the best ones. Reads "
        "any format that whatif reads; never writes to its input.",
    .run = run_plan_command,
};
