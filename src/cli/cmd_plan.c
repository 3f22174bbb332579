/* pipescope plan PATH: how many layers each stage should have, by what the stages were measured to take. Reads only. */
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "cli/whatif_run.h"
#include "run/cluster.h"
#include "run/run.h"
#include "run/run_whatif.h"
#include "write/report/plan_text.h"

static int show_plan(ps_cli *cli, const ps_run *run, const ps_cluster *cluster) {
    (void)cluster;
    int status = ps_cli_whatif_failed(cli, run);
    const ps_table *plan = ps_result_table(&run->results[0], "plan");
    const ps_table *stages = ps_result_table(&run->results[0], "plan_stages");
    if (status != PS_EXIT_OK || plan == NULL || stages == NULL) {
        return status != PS_EXIT_OK ? status : PS_EXIT_NOTHING; /* the ranks have said why */
    }
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    ps_text_style style = ps_cli_style(cli);
    ps_code code = ps_cli_flag(cli, "json") ? ps_write_plan_json(plan, stages, &out, &err)
                                            : ps_write_plan_text(plan, stages, &style, &out, &err);
    return ps_cli_end_output(cli, NULL, &out, code, &err);
}

static int run_plan_command(ps_cli *cli) {
    static const ps_ranks_command PLAN = {.begin = ps_run_whatif, .show = show_plan};
    ps_run_opts opts;
    int status = ps_cli_run_options(cli, &opts);
    if (status == PS_EXIT_OK && opts.analysis.split == NULL) {
        return ps_cli_usage(
            cli, "--layers is missing: those of each stage (8,8,8,8), or of the model (32)");
    }
    return status == PS_EXIT_OK ? ps_cli_over_ranks(cli, &opts, &PLAN) : status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'l', PS_ROW_ANALYSIS(split)},
    {PS_ROW_ANALYSIS(most_layers)},
    {PS_ROW_FLAG(NULL, "json", "JSON on the terminal")},
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_CLOCK_OPTIONS,
    PS_JOB_OPTIONS,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_plan = {
    .name = "plan",
    .summary = "how many layers each stage should have, with the lines to paste",
    .usage = "PATH --layers N[,N...] [--max-layers N] [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 1,
    .max_positionals = 1,
    .notes =
        "Finds what a layer takes from the measured stages, simulates the step of other splits in the graph of what "
        "ran, and prints the best one. Reads any format that whatif reads; never writes to its input.",
    .run = run_plan_command,
};
