/* pipescope compare NEW BASE: what a step lost or gained between two captures of one model. Reads only. */
#include <string.h>

#include "analyze/core/analysis.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "run/run.h"
#include "write/out/sink.h"
#include "write/report/comparison.h"
#include "write/table/table_xlsx.h"

static int check_compare_output(ps_cli *cli, const char *path) {
    static const char *const ENDS[] = {".txt", ".json", ".xlsx"};
    for (size_t i = 0; path != NULL && i < PS_N(ENDS); i++) {
        if (ps_ends_with(path, ENDS[i])) {
            return PS_EXIT_OK;
        }
    }
    return path == NULL ? PS_EXIT_OK
                        : ps_cli_usage(cli, "-o %s: end it in .txt, .json or .xlsx", path);
}

static ps_code compare_render(const ps_comparison *c, const char *path, size_t top, ps_buf *out,
                              ps_err *err) {
    if (ps_ends_with(path, ".json")) {
        return ps_write_comparison_json(c, out, err);
    }
    ps_text_style style = {.width = 120, .utf8 = true};
    return ps_write_comparison_text(c, top, &style, out, err);
}

static ps_code store(const ps_comparison *c, const char *path, size_t top, ps_err *err) {
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_code code = compare_render(c, path, top, &out, err);
    code = code == PS_OK ? ps_sink_store(path, &out, err) : code;
    ps_buf_fini(&out);
    return code;
}

static int write_compare_file(ps_cli *cli, const ps_comparison *c, const char *path, size_t top) {
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_ends_with(path, ".xlsx")
                       ? ps_write_tables_xlsx((const ps_table *const *)c->tables, c->n_tables, path,
                                              NULL, &err)
                       : store(c, path, top, &err);
    if (code != PS_OK) {
        return ps_cli_fail(cli, &err);
    }
    ps_cli_print(cli, "wrote %s\n", path);
    return PS_EXIT_OK;
}

static int print_compare(ps_cli *cli, const ps_comparison *c, size_t top) {
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    ps_text_style style = ps_cli_style(cli);
    ps_code code = ps_write_comparison_text(c, top, &style, &out, &err);
    if (code == PS_OK) {
        ps_cli_put(cli, ps_buf_str(&out), out.len);
    }
    ps_buf_fini(&out);
    return code == PS_OK ? PS_EXIT_OK : ps_cli_fail(cli, &err);
}

static int show_compare(ps_cli *cli, const ps_run *run) {
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
    size_t top = (size_t)ps_cli_int(cli, "top_num");
    const char *path = ps_cli_text(cli, "output");
    return path != NULL ? write_compare_file(cli, &c, path, top) : print_compare(cli, &c, top);
}

static int compare_cmd_compare(ps_cli *cli, const ps_cluster *cluster, const ps_run_opts *opts) {
    ps_err err = PS_ERR_INIT;
    const ps_analysis *analyses[] = {ps_analysis_find("compare")};
    ps_run *run = ps_run_all_ranks(analyses, PS_N(analyses), cluster, opts, &err);
    if (run == NULL) {
        return ps_cli_fail(cli, &err);
    }
    return ps_report_end(cli, run, cluster, show_compare(cli, run));
}

static int run_compare(ps_cli *cli) {
    int status = check_compare_output(cli, ps_cli_text(cli, "output"));
    if (status != PS_EXIT_OK) {
        return status;
    }
    ps_run_opts opts = {.baseline_path = ps_cli_positional(cli, 1),
                        .export_type = PS_EXPORT_NOTHING,
                        .n_threads = (size_t)ps_cli_int(cli, "jobs"),
                        .analysis = {.step_id = -1}};
    return ps_cli_over_ranks(cli, &opts, compare_cmd_compare);
}

static const ps_option OPTIONS[] = {
    {.name = "output",
     .short_name = 'o',
     .kind = PS_OPTION_PATH,
     .arg = "FILE",
     .help = "every row into a file (.json, .xlsx), or the text (.txt)"},
    {.name = "top_num",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .fallback = "10",
     .min = 1,
     .max = 1 << 20,
     .help = "rows of each table in the text"},
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
