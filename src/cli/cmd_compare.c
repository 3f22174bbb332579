/* pipescope compare NEW BASE: what a step lost or gained between two captures of one model. Reads only. */
#include <string.h>

#include "analyze/core/analysis.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "run/run.h"
#include "write/report/comparison.h"
#include "write/table/table_xlsx.h"

static int write_compare_sheets(ps_cli *cli, const ps_comparison *c, const char *path) {
    ps_workbook book = {.tables = (const ps_table *const *)c->tables,
                        .n_tables = c->n_tables,
                        .names_sheets = true,
                        .path = path};
    ps_err err = PS_ERR_INIT;
    if (ps_write_workbook(&book, &err) != PS_OK) {
        return ps_cli_fail(cli, &err);
    }
    ps_cli_print(cli, "wrote %s\n", path);
    return PS_EXIT_OK;
}

/* Into the file, or onto the terminal. */
static int write_compare(ps_cli *cli, const ps_comparison *c, const char *path) {
    size_t top = (size_t)ps_cli_int(cli, "top_num");
    ps_text_style style =
        path != NULL ? (ps_text_style){.width = 120, .utf8 = true} : ps_cli_style(cli);
    ps_err err = PS_ERR_INIT;
    ps_buf out = {0};
    ps_code code = path != NULL && ps_ends_with(path, ".json")
                       ? ps_write_comparison_json(c, &out, &err)
                       : ps_write_comparison_text(c, top, &style, &out, &err);
    return ps_cli_end_output(cli, path, &out, code, &err);
}

static int show_compare(ps_cli *cli, const ps_run *run, const ps_cluster *cluster) {
    (void)cluster;
    ps_table *tables[64];
    ps_comparison c = {.new_name = ps_cli_positional(cli, 0),
                       .base_name = ps_cli_positional(cli, 1),
                       .tables = tables,
                       .n_ranks = {run->n_done, run->baseline != NULL ? run->baseline->n_done : 0}};
    for (size_t a = 0; a < run->n_analyses; a++) {
        const ps_result *result = &run->results[a];
        for (size_t i = 0; i < result->n_tables && c.n_tables < PS_N(tables); i++) {
            tables[c.n_tables++] = result->tables[i];
        }
    }
    if (c.n_tables == 0) {
        return PS_EXIT_NOTHING; /* the ranks have said why */
    }
    const char *path = ps_cli_text(cli, "output");
    return path != NULL && ps_ends_with(path, ".xlsx") ? write_compare_sheets(cli, &c, path)
                                                       : write_compare(cli, &c, path);
}

static ps_run *begin_compare(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    const ps_analysis *analyses[] = {ps_analysis_find("compare")};
    return ps_run_all_ranks(analyses, PS_N(analyses), cluster, opts, err);
}

static int run_compare(ps_cli *cli) {
    static const char *const ENDINGS[] = {".txt", ".json", ".xlsx", NULL};
    static const ps_ranks_command COMPARE = {.begin = begin_compare, .show = show_compare};
    ps_run_opts opts;
    int status = ps_cli_run_options(cli, &opts);
    status = status == PS_EXIT_OK
                 ? ps_cli_check_ending(cli, ps_cli_text(cli, "output"), ENDINGS, "")
                 : status;
    opts.baseline_path = ps_cli_positional(cli, 1);
    return status == PS_EXIT_OK ? ps_cli_over_ranks(cli, &opts, &COMPARE) : status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'o',
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID,
                 "every row into a file (.json, .xlsx), or the text (.txt)")},
    {PS_ROW_INT(NULL, "top_num", "N", PS_IS("10"), 1, 1 << 20, "rows of each table in the text")},
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_compare = {
    .name = "compare",
    .summary = "two captures of one model: what a step lost, by kernels, operators and calls",
    .usage = "NEW BASE [-o FILE.{txt,json,xlsx}] [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "NEW BASE",
    .min_positionals = 2,
    .max_positionals = 2,
    .notes =
        "Each side is a capture of any format, of one rank or many; times are a rank and step. Steps are matched by "
        "their order. A positive loss means that NEW is slower.",
    .run = run_compare,
};
