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

static ps_plan_view plan_view_of(const ps_result *r) {
    return (ps_plan_view){.plan = ps_result_table(r, "plan"),
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
    ps_chart_file file = {r->chart, r->against, tables, n, ps_chart_usual_step(r->chart), -1};
    return ps_cli_write_chart_file(cli, path, &file);
}

static int show_plan(ps_cli *cli, const ps_run *run) {
    int status = ps_cli_whatif_failed(cli, run);
    const char *path = ps_cli_text(cli, "output");
    const ps_plan_view view = plan_view_of(&run->results[0]);
    if (status != PS_EXIT_OK || view.plan == NULL || view.stages == NULL) {
        return status != PS_EXIT_OK ? status : PS_EXIT_NOTHING; /* the ranks have said why */
    }
    if (path != NULL && is_chart_file(path)) {
        return store_plan_chart(cli, &run->results[0], path);
    }
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    ps_text_style style = ps_cli_style(cli);
    bool is_json = path != NULL || ps_cli_flag(cli, "json");
    ps_code code = is_json ? ps_write_plan_json(&view, &out, &err)
                           : ps_write_plan_text(&view, &style, &out, &err);
    return ps_cli_end_output(cli, path, &out, code, &err);
}

static int analyse_plan(ps_cli *cli, const ps_cluster *cluster, const ps_run_opts *opts) {
    ps_err err = PS_ERR_INIT;
    ps_run *run = ps_run_whatif(cluster, opts, &err);
    if (run == NULL) {
        return ps_cli_fail_question(cli, &err);
    }
    return ps_report_end(cli, run, cluster, show_plan(cli, run));
}

/* What a device may hold and pieces take there. */
static int read_plan_sizes(ps_cli *cli, ps_analysis_opts *o) {
    static const int64_t MOST_EACH = INT64_C(1) << 34; /* times layers and microbatches */
    static const int64_t MOST = INT64_C(1) << 44;
    const struct {
        const char *option;
        int64_t most, *out;
    } SIZES[] = {{"memory", MOST, &o->memory_bytes},
                 {"activation-bytes", MOST_EACH, &o->activation_bytes},
                 {"layer-bytes", MOST, &o->layer_bytes},
                 {"embedding-bytes", MOST, &o->embedding_bytes},
                 {"head-bytes", MOST, &o->head_bytes}};
    for (size_t i = 0; i < PS_N(SIZES); i++) {
        const char *text = ps_cli_text(cli, SIZES[i].option);
        bool ok = text == NULL ||
                  (ps_cli_parse_size(text, SIZES[i].out) && *SIZES[i].out <= SIZES[i].most);
        if (!ok) {
            return ps_cli_usage(cli, "--%s %s: bytes are wanted, such as 64GiB or 1.5GB",
                                SIZES[i].option, text);
        }
    }
    if (o->memory_bytes > 0 && (o->activation_bytes == 0 || o->layer_bytes == 0)) {
        return ps_cli_usage(
            cli, "--memory needs --activation-bytes and --layer-bytes: the capture does not tell "
                 "what a layer takes");
    }
    return PS_EXIT_OK;
}

static int check_plan(ps_cli *cli, ps_run_opts *opts) {
    ps_analysis_opts *o = &opts->analysis;
    const char *path = ps_cli_text(cli, "output");
    o->step_id = -1;
    o->split = ps_cli_text(cli, "layers");
    o->most_layers = (int32_t)ps_cli_int(cli, "max-layers");
    o->max_activations = ps_cli_int(cli, "max-activations");
    o->weight_share = (double)ps_cli_int(cli, "weight-share") / 100;
    o->plan_row = ps_cli_int(cli, "row");
    o->with_timeline = path != NULL && is_chart_file(path);
    if (o->split == NULL) {
        return ps_cli_usage(
            cli, "--layers is missing: those of each stage (8,8,8,8), or of the model (32)");
    }
    if (path != NULL && !is_chart_file(path) && !ps_ends_with(path, ".json")) {
        return ps_cli_usage(
            cli, "-o %s: end it in .svg, .html or .json (the text goes to the terminal)", path);
    }
    return read_plan_sizes(cli, o);
}

static int run_plan_command(ps_cli *cli) {
    ps_run_opts opts = {.export_type = PS_EXPORT_NOTHING,
                        .n_threads = (size_t)ps_cli_int(cli, "jobs")};
    int status = ps_cli_job(cli, &opts.analysis, NULL);
    status = status == PS_EXIT_OK ? ps_cli_clocks(cli, &opts.analysis) : status;
    status = status == PS_EXIT_OK ? check_plan(cli, &opts) : status;
    return status == PS_EXIT_OK ? ps_cli_over_ranks(cli, &opts, analyse_plan) : status;
}

#define PS_MEMORY_GROUP "What a device may hold"

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
     .help = "no stage gets more, for its memory",
     .group = PS_MEMORY_GROUP},
    {.name = "max-activations",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 1,
     .max = 1 << 30,
     .help = "only schedules that hold no more activations on a stage (in microbatches)",
     .group = PS_MEMORY_GROUP},
    {.name = "memory",
     .kind = PS_OPTION_TEXT,
     .arg = "BYTES",
     .help = "only splits that keep every device below it (64GiB)",
     .group = PS_MEMORY_GROUP},
    {.name = "activation-bytes",
     .kind = PS_OPTION_TEXT,
     .arg = "BYTES",
     .help = "what a layer keeps of one microbatch for its backward",
     .group = PS_MEMORY_GROUP},
    {.name = "layer-bytes",
     .kind = PS_OPTION_TEXT,
     .arg = "BYTES",
     .help = "parameters, gradients and optimizer of a layer, on one device",
     .group = PS_MEMORY_GROUP},
    {.name = "embedding-bytes",
     .kind = PS_OPTION_TEXT,
     .arg = "BYTES",
     .help = "the same of the embedding",
     .group = PS_MEMORY_GROUP},
    {.name = "head-bytes",
     .kind = PS_OPTION_TEXT,
     .arg = "BYTES",
     .help = "the same of the output head",
     .group = PS_MEMORY_GROUP},
    {.name = "weight-share",
     .kind = PS_OPTION_INT,
     .arg = "PCT",
     .min = 1,
     .max = 99,
     .help =
         "what weight gradients are of a backward, for schedules that split it, where that was not measured"},
    {.name = "row",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 1,
     .max = 1024,
     .fallback_shown = "1, the best",
     .help = "the plan whose stages, lines to paste and picture are shown"},
    {.name = "output",
     .short_name = 'o',
     .kind = PS_OPTION_PATH,
     .arg = "FILE",
     .help =
         "the measured step and the plan below it (.svg, .html), or the data (.json), instead of text"},
    {.name = "json", .kind = PS_OPTION_FLAG, .help = "JSON on the terminal"},
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
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
