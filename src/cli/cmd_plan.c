/* pipescope plan PATH: how many layers each stage should have, by what the stages were measured to take. Reads only. */
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "cli/whatif_run.h"
#include "run/cluster.h"
#include "run/run.h"
#include "run/run_whatif.h"
#include "write/report/plan_text.h"

static int show_plan(ps_cli *cli, const ps_run *run) {
    int status = ps_cli_whatif_failed(cli, run);
    const ps_table *plan = ps_result_table(&run->results[0], "plan");
    const ps_table *stages = ps_result_table(&run->results[0], "plan_stages");
    if (status != PS_EXIT_OK || plan == NULL || stages == NULL) {
        return status != PS_EXIT_OK ? status : PS_EXIT_NOTHING; /* the ranks have said why */
    }
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    ps_text_style style = ps_cli_style(cli);
    ps_code code = ps_cli_flag(cli, "json") ? ps_write_plan_json(plan, stages, &out, &err)
                                            : ps_write_plan_text(plan, stages, &style, &out, &err);
    return ps_cli_end_output(cli, NULL, &out, code, &err);
}

static int analyse_plan(ps_cli *cli, const ps_cluster *cluster, const ps_run_opts *opts) {
    ps_err err = PS_ERR_INIT;
    ps_run *run = ps_run_whatif(cluster, opts, &err);
    if (run == NULL) {
        return ps_cli_fail_question(cli, &err);
    }
    return ps_report_end(cli, run, cluster, show_plan(cli, run));
}

static int run_plan_command(ps_cli *cli) {
    ps_run_opts opts = {.export_type = PS_EXPORT_NOTHING,
                        .n_threads = (size_t)ps_cli_int(cli, "jobs")};
    int status = ps_cli_job(cli, &opts.analysis, NULL);
    status = status == PS_EXIT_OK ? ps_cli_clocks(cli, &opts.analysis) : status;
    opts.analysis.step_id = -1;
    opts.analysis.split = ps_cli_text(cli, "layers");
    opts.analysis.most_layers = (int32_t)ps_cli_int(cli, "max-layers");
    if (status == PS_EXIT_OK && opts.analysis.split == NULL) {
        return ps_cli_usage(
            cli, "--layers is missing: those of each stage (8,8,8,8), or of the model (32)");
    }
    if (status != PS_EXIT_OK) {
        return status;
    }
    return ps_cli_over_ranks(cli, &opts, analyse_plan);
}

static const ps_option OPTIONS[] = {
    {.name = "layers",
     .short_name = 'l',
     .kind = PS_OPTION_TEXT,
     .arg = "N[,N...]",
     .help =
         "layers of each stage as the job ran, or of the whole model where all stages have as many"},
    {.name = "max-layers",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 1,
     .max = 4096,
     .help = "no stage gets more, for its memory"},
    {.name = "json", .kind = PS_OPTION_FLAG, .help = "JSON on the terminal"},
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
