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
#include "run/run_report.h"
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

/* Of more ranks than MANY_RANKS the terminal gets two screens, unless all was asked for. */
enum { MANY_RANKS = 32, TWO_SCREENS = 100 };

/* Into the file, or onto the terminal. */
static int write_report(ps_cli *cli, const ps_report_view *view) {
    const char *path = ps_cli_text(cli, "output");
    ps_text_style style =
        path != NULL ? (ps_text_style){.width = 100, .utf8 = true} : ps_cli_style(cli);
    bool is_long = path != NULL || ps_cli_shows_all(cli) || view->n_ranks <= MANY_RANKS;
    style.max_lines = is_long ? 0 : TWO_SCREENS;
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

static int show_report_command(ps_cli *cli, const ps_run *run, const ps_cluster *cluster) {
    ps_report_view view;
    ps_err err = PS_ERR_INIT;
    int64_t step = ps_cli_given(cli, "step") ? ps_cli_int(cli, "step") : 0;
    ps_code code =
        ps_run_report_view(run, cluster, ps_cli_given(cli, "step") ? &step : NULL, &view, &err);
    view.lang = cli->lang;
    if (code == PS_RANGE) {
        return ps_cli_usage(cli, "--%s", ps_err_text(cli->lang, &err));
    }
    return code == PS_OK        ? write_report(cli, &view)
           : code == PS_NOTHING ? PS_EXIT_NOTHING /* else the ranks have said why */
                                : ps_cli_fail(cli, &err);
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

static int end_report(ps_cli *cli, ps_run *run, const ps_cluster *cluster, int shown) {
    plan p = plan_for(cluster);
    say_report_command_ranks(cli, run, &p);
    int status = ps_report_shown(run, cluster, p.optional, shown);
    ps_run_free(run);
    return status;
}

static int run_report_command(ps_cli *cli) {
    static const char *const ENDINGS[] = {".txt", ".json", ".html", NULL};
    static const ps_ranks_command REPORT = {ps_run_report, show_report_command, end_report};
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
     .or_terminal = true,
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID,
                 "a page (.html), the data (.json) or the text (.txt) instead of text on the "
                 "terminal")},
    {PS_ROW_FLAG(NULL, "rules", "list the rules and their thresholds")},
    {PS_ROW_TEXT(NULL, "threshold", "NAME=VALUE,...", PS_UNSAID,
                 "other thresholds than those that --rules lists")},
    PS_ALL_ROWS_OPTION,
    {PS_ROW_FLAG(NULL, "json", "JSON on the terminal, also of --rules")},
    {PS_ROW_INT(NULL, "step", "N", PS_SHOWN("the first full one"), 0, INT64_MAX,
                "step of the pipeline to draw; findings are means of all steps")},
    {PS_ROW_ANALYSIS(max_activations)},
    {PS_ROW_ANALYSIS(lang), .help = "language of the report (en, zh)"},
    {PS_ROW_ANALYSIS(peak_tflops), .group = "Options",
     .help = "peak of 16-bit types, in 10^12 operations a second, for the MFU"},
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
