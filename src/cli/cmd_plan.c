/* pipescope plan PATH: how many layers each stage should have, by what the stages were measured to take. Reads only. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "run/cluster.h"
#include "run/run.h"
#include "run/run_whatif.h"
#include "write/report/plan_text.h"

static const ps_table *find_plan_table(const ps_run *run, const char *name) {
    for (size_t i = 0; i < run->results[0].n_tables; i++) {
        if (strcmp(run->results[0].tables[i]->name, name) == 0) {
            return run->results[0].tables[i];
        }
    }
    return NULL;
}

static int show_plan(ps_cli *cli, const ps_run *run) {
    const ps_table *plan = find_plan_table(run, "plan");
    const ps_table *stages = find_plan_table(run, "plan_stages");
    const ps_err *failed = &run->errors[0];
    if (plan == NULL || stages == NULL) {
        if (failed->code == PS_NOTHING) {
            ps_cli_warn(cli, "%s", failed->msg);
        }
        return failed->code == PS_USAGE ? ps_cli_usage(cli, "%s", failed->msg)
               : failed->code == PS_OK || failed->code == PS_NOTHING ? PS_EXIT_NOTHING
                                                                     : ps_cli_fail(cli, failed);
    }
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    ps_text_style style = ps_cli_style(cli);
    ps_code code = ps_cli_flag(cli, "json") ? ps_write_plan_json(plan, stages, &out, &err)
                                            : ps_write_plan_text(plan, stages, &style, &out, &err);
    if (code == PS_OK) {
        ps_cli_put(cli, ps_buf_str(&out), out.len);
    }
    ps_buf_fini(&out);
    return code == PS_OK ? PS_EXIT_OK : ps_cli_fail(cli, &err);
}

static int analyse_plan(ps_cli *cli, const ps_cluster *cluster, const ps_run_opts *opts) {
    ps_err err = PS_ERR_INIT;
    ps_run *run = ps_run_whatif(cluster, opts, &err);
    if (run == NULL) {
        return err.code == PS_USAGE ? ps_cli_usage(cli, "%s", err.msg) : ps_cli_fail(cli, &err);
    }
    int status = show_plan(cli, run);
    ps_report_ranks(cli, run);
    int ranks_status = ps_report_status(run, cluster, NULL);
    ps_run_free(run);
    return ps_report_shown(status, ranks_status);
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
    ps_cluster *cluster = ps_cli_find_ranks(cli, ps_cli_positional(cli, 0), &status);
    if (cluster == NULL) {
        return status;
    }
    ps_report_cluster(cli, cluster);
    status = cluster->n_ranks > 0 ? analyse_plan(cli, cluster, &opts)
                                  : ps_report_no_profile(cli, cluster);
    ps_cluster_free(cluster);
    return status;
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
    {.name = "jobs",
     .short_name = 'j',
     .kind = PS_OPTION_INT,
     .arg = "N",
     .fallback = "0",
     .fallback_shown = "one per processor",
     .min = 0,
     .max = 4096,
     .help = "threads"},
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
