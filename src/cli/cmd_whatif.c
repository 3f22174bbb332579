/* pipescope whatif PATH: who makes the steps of a job slower than they could be, and what would help. Reads only. */
#include <stdio.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/whatif/question.h"
#include "analyze/whatif/whatif_causes.h"
#include "base/fs.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "cli/thresholds.h"
#include "cli/whatif_run.h"
#include "run/cluster.h"
#include "run/run.h"
#include "run/run_whatif.h"
#include "write/report/whatif_text.h"
#include "write/trace/ops_trace.h"

static bool wants_json(const ps_cli *cli) {
    const char *path = ps_cli_text(cli, "output");
    return path != NULL ? ps_ends_with(path, ".json") : ps_cli_flag(cli, "json");
}

/* What convert writes for timeline viewers, but for plain JSON, which is the data here. */
static bool is_timeline(const char *path) {
    return ps_ends_with(path, ".pftrace") || ps_ends_with(path, ".json.gz");
}

static int store_timeline(ps_cli *cli, const ps_table *timeline, const ps_table *lacks,
                          const char *path) {
    ps_err err = PS_ERR_INIT;
    if (ps_write_ops_trace(timeline, lacks, path, &err) != PS_OK) {
        return ps_cli_fail(cli, &err);
    }
    ps_cli_print(cli, "wrote %s\n", path);
    return PS_EXIT_OK;
}

static int show_whatif(ps_cli *cli, const ps_run *run, const ps_cluster *cluster) {
    int status = ps_cli_whatif_failed(cli, run);
    const ps_table *timeline = ps_result_table(&run->results[0], "whatif_timeline");
    const char *path = ps_cli_text(cli, "output");
    ps_whatif_view view = ps_run_whatif_view(run, cluster);
    view.lang = cli->lang;
    if (status != PS_EXIT_OK || view.job == NULL) {
        return status != PS_EXIT_OK ? status : PS_EXIT_NOTHING; /* the ranks have said why */
    }
    if (timeline != NULL) {
        return store_timeline(cli, timeline, run->lacks, path);
    }
    ps_text_style style =
        path != NULL ? (ps_text_style){.width = 100, .utf8 = true} : ps_cli_style(cli);
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    bool is_page = path != NULL && ps_ends_with(path, ".html");
    bool is_map = path != NULL && ps_ends_with(path, ".svg");
    ps_code code = is_page           ? ps_write_whatif_html(&view, &out, &err)
                   : is_map          ? ps_write_whatif_svg(&view, &out, &err)
                   : wants_json(cli) ? ps_write_whatif_json(&view, &out, &err)
                                     : ps_write_whatif_text(&view, &style, &out, &err);
    return ps_cli_end_output(cli, path, &out, code, &err);
}

static int check_whatif(ps_cli *cli, ps_run_opts *opts) {
    static const char *const ENDINGS[] = {".txt",     ".json",    ".html", ".svg",
                                          ".pftrace", ".json.gz", NULL};
    int status = ps_cli_run_options(cli, opts);
    const char *path = ps_cli_text(cli, "output");
    status = status == PS_EXIT_OK ? ps_cli_check_ending(cli, path, ENDINGS, "") : status;
    if (status != PS_EXIT_OK) {
        return status;
    }
    opts->analysis.with_timeline = path != NULL && is_timeline(path);
    ps_question asked;
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_question_read(opts->analysis.without, opts->analysis.scale,
                                    opts->analysis.set, NULL, &asked, &err);
    ps_question_fini(&asked);
    return code != PS_OK ? ps_cli_usage(cli, "%s", ps_err_text(cli->lang, &err)) : PS_EXIT_OK;
}

static int run_whatif_command(ps_cli *cli) {
    static const ps_ranks_command WHATIF = {.begin = ps_run_whatif, .show = show_whatif};
    ps_run_opts opts;
    double thresholds[PS_N_WHATIF_THRESHOLDS];
    ps_whatif_thresholds_default(thresholds);
    int status = check_whatif(cli, &opts);
    opts.analysis.cause_thresholds = thresholds;
    status = status == PS_EXIT_OK
                 ? ps_cli_thresholds(cli, "cause", ps_whatif_threshold_names(),
                                     PS_N_WHATIF_THRESHOLDS, "worker=0.4", thresholds)
                 : status;
    return status == PS_EXIT_OK ? ps_cli_over_ranks(cli, &opts, &WHATIF) : status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'o',
     .or_terminal = true,
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID,
                 "a page (.html), the data (.json), the text (.txt), the map of workers (.svg), or "
                 "the ops as they would run (.pftrace, .json.gz: the answer of --without and "
                 "--scale, else the ideal steps) instead of text on the terminal")},
    {PS_ROW_FLAG(NULL, "json", "JSON on the terminal")},
    {PS_ROW_ANALYSIS(lang)},
    {PS_ROW_ANALYSIS(without)},
    {PS_ROW_ANALYSIS(scale)},
    {PS_ROW_ANALYSIS(set)},
    {PS_ROW_TEXT(NULL, "threshold", "NAME=VALUE,...", PS_UNSAID,
                 "when a cause holds: slow=1.05, worker=0.5, stage=0.5, links=0.5, lengths=0.95, "
                 "host=1.05, drift=0.05")},
    PS_INPUT_OPTION,
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_MEMORY_OPTION,
    PS_CACHE_OPTIONS,
    PS_CREW_OPTIONS,
    PS_CLOCK_OPTIONS,
    PS_JOB_OPTIONS,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_whatif = {
    .name = "whatif",
    .summary = "who makes steps slower than they could be, and what would help how much",
    .usage =
        "PATH [--without PART] [--scale PART:FACTOR] [-o FILE.{txt,json,html,svg,pftrace,json.gz}] [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 1,
    .max_positionals = 1,
    .notes =
        "Replays the steps of a job from what its ops took by themselves and who waited for whom, and asks what they "
        "would be without each part. Reads any format; timelines of workers (NDTimeline) tell most. Never writes to "
        "its input.",
    .run = run_whatif_command,
};
