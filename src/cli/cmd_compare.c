/* pipescope compare NEW BASE: what a step lost or gained between two captures of one model. Reads only. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "model/lacks.h"
#include "run/rank_selection.h"
#include "run/run_compare.h"
#include "write/report/comparison.h"
#include "write/table/table_xlsx.h"

enum { MAX_TABLES = 64 };

static int write_compare_sheets(ps_cli *cli, const ps_comparison *c, const char *path) {
    const ps_table *sheets[MAX_TABLES + 1];
    ps_workbook book = {.tables = sheets, .names_sheets = true, .path = path};
    for (size_t i = 0; i < c->n_tables; i++) {
        if (!c->is_hidden[i]) {
            sheets[book.n_tables++] = c->tables[i];
        }
    }
    if (ps_lacks_any(c->lacks)) {
        sheets[book.n_tables++] = c->lacks;
    }
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
    bool is_json = path != NULL ? ps_ends_with(path, ".json") : ps_cli_flag(cli, "json");
    ps_code code = is_json ? ps_write_comparison_json(c, &out, &err)
                           : ps_write_comparison_text(c, top, &style, &out, &err);
    return ps_cli_end_output(cli, path, &out, code, &err);
}

/* --- what is shown ------------------------------------------------------------------------------------------- */

/* The switches of msprof-analyze and the tables they speak of. */
static const struct {
    const char *table, *with;
} PARTS[] = {
    {"OverallCompare", "enable_profiling_compare"},
    {"StepCompare", "enable_profiling_compare"},
    {"StageCompare", "enable_profiling_compare"},
    {"CompareNotes", "enable_profiling_compare"},
    {"ModuleCompare", "enable_operator_compare"},
    {"OperatorCompare", "enable_operator_compare"},
    {"OperatorHostCompare", "enable_operator_compare"},
    {"KernelTypeCompare", "enable_kernel_compare"},
    {"KernelCompare", "enable_kernel_compare"},
    {"CommunicationCompare", "enable_communication_compare"},
    {"ApiCompare", "enable_api_compare"},
};

static const char *switch_of(const ps_table *t) {
    for (size_t i = 0; i < PS_N(PARTS); i++) {
        if (strcmp(PARTS[i].table, t->name) == 0) {
            return PARTS[i].with;
        }
    }
    return NULL;
}

static bool is_part_wanted(const ps_cli *cli, const ps_table *t) {
    const char *own = switch_of(t);
    bool any = false;
    for (size_t i = 0; i < PS_N(PARTS); i++) {
        any = any || ps_cli_flag(cli, PARTS[i].with);
    }
    bool is_overview = own != NULL && strcmp(own, "enable_profiling_compare") == 0;
    bool is_left_out =
        (ps_cli_flag(cli, "disable_details") && !is_overview) ||
        (ps_cli_flag(cli, "disable_module") && strcmp(t->name, "ModuleCompare") == 0) ||
        (ps_cli_flag(cli, "use_kernel_type") && strcmp(t->name, "KernelCompare") == 0);
    return !is_left_out && (!any || (own != NULL && ps_cli_flag(cli, own)));
}

/* What msprof-analyze can be asked that is otherwise here; an exit status. */
static int check_switches(ps_cli *cli) {
    static const char *const REFUSED[][2] = {
        {"enable_memory_compare",
         "memory of operators is not compared (cluster -m memory_facts tells that of each)"},
        {"op_name_map", "names are compared as they are, and no other ones taken for the same"},
    };
    static const char *const IGNORED[][2] = {
        {"max_kernel_num", "all kernels of an operator count"},
        {"use_input_shape", "kernels are always told apart by their shapes"},
        {"gpu_flow_cat", "links from calls to kernels are found by what they hold"},
        {"force", "there are no limits of size to lift"},
    };
    for (size_t i = 0; i < PS_N(REFUSED); i++) {
        if (ps_cli_given(cli, REFUSED[i][0])) {
            return ps_cli_usage(cli, "--%s: %s", REFUSED[i][0], REFUSED[i][1]);
        }
    }
    ps_cli_say_ignored(cli, IGNORED, PS_N(IGNORED));
    return PS_EXIT_OK;
}

/* --- the two sides ------------------------------------------------------------------------------------------- */

/* What the option of a side names, NULL: it is not given. NEW is 0, BASE 1. */
static const char *side_by_option(const ps_cli *cli, size_t side) {
    static const char *const OF_BASE[] = {"baseline", "bp", "benchmark_profiling_path"};
    const char *path = side == 0 ? ps_cli_text(cli, "profiling_path") : NULL;
    for (size_t i = 0; side == 1 && path == NULL && i < PS_N(OF_BASE); i++) {
        path = ps_cli_text(cli, OF_BASE[i]);
    }
    return path;
}

/* A word, or what its option names; a part of NEW where BASE is no other capture. NULL: not given. */
static const char *side_of(const ps_cli *cli, size_t side) {
    const char *by_option = side_by_option(cli, side);
    const char *path = by_option != NULL ? by_option : ps_cli_positional(cli, side);
    bool has_part = ps_cli_given(cli, "base_rank_list") || ps_cli_given(cli, "base_step");
    return path == NULL && side == 1 && has_part ? side_of(cli, 0) : path;
}

static bool is_one_capture(const ps_cli *cli) {
    char paths[2][PATH_MAX];
    return realpath(side_of(cli, 0), paths[0]) != NULL &&
           realpath(side_of(cli, 1), paths[1]) != NULL && strcmp(paths[0], paths[1]) == 0;
}

/* Which ranks and step of each side. An exit status. */
static int take_parts(ps_cli *cli, ps_run_opts *opts, int64_t *base_step) {
    opts->dashes = "--";
    opts->rank_list = ps_cli_text(cli, "rank_list");
    opts->baseline_ranks = ps_cli_text(cli, "base_rank_list");
    if (ps_cli_given(cli, "comparison_step")) {
        opts->analysis.step_id = ps_cli_int(cli, "comparison_step");
    }
    if (ps_cli_given(cli, "base_step")) {
        *base_step = ps_cli_int(cli, "base_step");
        opts->baseline_step = base_step;
    }
    ps_err err = PS_ERR_INIT;
    return ps_compare_check_parts(opts, is_one_capture(cli), &err) == PS_OK
               ? PS_EXIT_OK
               : ps_cli_fail_run(cli, &err);
}

static int check_sides(ps_cli *cli) {
    bool is_base_named = ps_cli_given(cli, "baseline");
    bool is_drop_in = ps_cli_given(cli, "profiling_path") || ps_cli_given(cli, "bp") ||
                      ps_cli_given(cli, "benchmark_profiling_path");
    size_t n_words = ps_cli_n_positionals(cli);
    if ((is_drop_in && n_words > 0) || (is_base_named && n_words > 1)) {
        return ps_cli_usage(
            cli, "give both sides as NEW BASE, as NEW --baseline BASE or as -d NEW -bp BASE");
    }
    if (side_of(cli, 0) == NULL || side_of(cli, 1) == NULL) {
        return ps_cli_usage(cli,
                            "two captures are compared: NEW BASE, or -d NEW -bp BASE; of one its "
                            "parts: NEW --rank_list 1 --base_rank_list 0, or NEW --step_id 2 "
                            "--base_step 1");
    }
    return PS_EXIT_OK;
}

static const char *output_word(const ps_cli *cli) {
    const char *path = ps_cli_text(cli, "output");
    return path != NULL ? path : ps_cli_text(cli, "output_path");
}

/* -o DIR as in msprof-analyze: a workbook in it. */
static const char *output_of(ps_cli *cli, ps_buf *name) {
    const char *path = output_word(cli);
    if (path == NULL || !ps_is_dir(path)) {
        return path;
    }
    ps_buf_addf(name, "%s/performance_comparison_result.xlsx", path);
    return ps_buf_str(name);
}

/* Which ranks and step of a side the user wants. */
static ps_comparison_part part_of(const ps_cli *cli, size_t side) {
    static const char *const NAMES[][2] = {{"rank_list", "step_id"},
                                           {"base_rank_list", "base_step"}};
    const char *ranks = ps_cli_text(cli, NAMES[side][0]);
    const char *step =
        side == 0 && ps_cli_given(cli, "comparison_step") ? "comparison_step" : NAMES[side][1];
    return (ps_comparison_part){.ranks = ps_is_all_ranks(ranks) ? NULL : ranks,
                                .has_step = ps_cli_given(cli, step) && ps_cli_int(cli, step) >= 0,
                                .step = ps_cli_given(cli, step) ? ps_cli_int(cli, step) : -1};
}

static int show_compare(ps_cli *cli, const ps_run *run, const ps_cluster *cluster) {
    (void)cluster;
    ps_table *tables[MAX_TABLES];
    bool is_hidden[MAX_TABLES];
    ps_comparison c = {.lang = cli->lang,
                       .new_name = side_of(cli, 0),
                       .base_name = side_of(cli, 1),
                       .tables = tables,
                       .is_hidden = is_hidden,
                       .lacks = run->lacks,
                       .n_ranks = {run->n_done, run->baseline != NULL ? run->baseline->n_done : 0}};
    for (size_t side = 0; side < PS_N(c.part); side++) {
        c.part[side] = part_of(cli, side);
    }
    const ps_result *result = &run->results[run->n_analyses - 1];
    for (size_t i = 0; i < result->n_tables && c.n_tables < PS_N(tables); i++) {
        is_hidden[c.n_tables] = !is_part_wanted(cli, result->tables[i]);
        tables[c.n_tables++] = result->tables[i];
    }
    if (c.n_tables == 0) {
        return PS_EXIT_NOTHING; /* the ranks have said why */
    }
    ps_buf name = {0};
    const char *path = output_of(cli, &name);
    int status = path != NULL && ps_ends_with(path, ".xlsx") ? write_compare_sheets(cli, &c, path)
                                                             : write_compare(cli, &c, path);
    ps_buf_fini(&name);
    return status;
}

static int run_compare(ps_cli *cli) {
    static const char *const ENDINGS[] = {".txt", ".json", ".xlsx", NULL};
    static const ps_ranks_command COMPARE = {.begin = ps_run_compare, .show = show_compare};
    ps_run_opts opts;
    int64_t base_step = -1;
    const char *output = output_word(cli);
    bool is_book = output != NULL && (ps_is_dir(output) || ps_ends_with(output, ".xlsx"));
    output = output != NULL && ps_is_dir(output) ? NULL : output;
    int status = ps_cli_run_options(cli, &opts);
    status = status == PS_EXIT_OK && is_book && !ps_build_has(PS_PART_xlsx)
                 ? ps_cli_left_out(cli, PS_PART_xlsx)
                 : status;
    status = status == PS_EXIT_OK ? check_sides(cli) : status;
    status = status == PS_EXIT_OK ? check_switches(cli) : status;
    status = status == PS_EXIT_OK ? ps_cli_check_ending(cli, output, ENDINGS, "") : status;
    opts.baseline_path = side_of(cli, 1);
    status = status == PS_EXIT_OK ? take_parts(cli, &opts, &base_step) : status;
    return status == PS_EXIT_OK ? ps_cli_over_ranks_of(cli, side_of(cli, 0), &opts, &COMPARE)
                                : status;
}

#define DROP_IN "As in msprof-analyze"
#define PARTS_GROUP "Parts of the captures, or of one"
static const ps_option OPTIONS[] = {
    {.short_name = 'o',
     .or_terminal = true,
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID,
                 "every row into a file (.json, .xlsx), or the text (.txt); a folder: "
                 "performance_comparison_result.xlsx in it")},
    {PS_ROW_FLAG(NULL, "json", "JSON on the terminal")},
    {PS_ROW_INT(NULL, "top_num", "N", PS_IS("10"), 1, 1 << 20, "rows of each table in the text")},
    {PS_ROW_PATH(NULL, "baseline", "BASE", PS_UNSAID, "instead of the second word, as of serve")},
    {PS_ROW_ANALYSIS(lang)},
    {.also = "rank",
     PS_ROW_TEXT(PARTS_GROUP, "rank_list", "LIST", PS_IS("all"), "ranks of NEW, as in 0,1,5")},
    {.also = "step",
     PS_ROW_ANALYSIS(step_id),
     .group = PARTS_GROUP,
     .help = "only this step of NEW"},
    {.also = "base_rank",
     PS_ROW_TEXT(PARTS_GROUP, "base_rank_list", "LIST", PS_IS("all"),
                 "ranks of BASE; without BASE those of NEW")},
    {.also = "base_step_id",
     PS_ROW_INT(PARTS_GROUP, "base_step", "N", PS_UNSAID, -1, INT64_MAX,
                "only this step of BASE; without BASE of NEW")},
    {.short_name = 'd',
     PS_ROW_PATH(DROP_IN, "profiling_path", "NEW", PS_UNSAID, "instead of the first word")},
    {PS_ROW_PATH(DROP_IN, "bp", "BASE", PS_UNSAID, "instead of the second word"),
     .one_hyphen = true},
    {.hidden = true, PS_ROW_PATH(NULL, "benchmark_profiling_path", "BASE", PS_UNSAID, NULL)},
    {PS_ROW_FLAG(DROP_IN, "enable_profiling_compare",
                 "with one of these only its tables: parts of a step, steps, stages")},
    {PS_ROW_FLAG(DROP_IN, "enable_operator_compare", "operators and modules")},
    {PS_ROW_FLAG(DROP_IN, "enable_kernel_compare", "kernels and their types")},
    {PS_ROW_FLAG(DROP_IN, "enable_communication_compare", "communication")},
    {PS_ROW_FLAG(DROP_IN, "enable_api_compare", "calls into the driver or runtime")},
    {PS_ROW_FLAG(DROP_IN, "disable_details", "parts of a step, steps and stages alone")},
    {PS_ROW_FLAG(DROP_IN, "disable_module", "no modules")},
    {PS_ROW_FLAG(DROP_IN, "use_kernel_type", "kernels by type alone")},
    {.hidden = true, PS_ROW_PATH(NULL, "output_path", "DIR", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_FLAG(NULL, "enable_memory_compare", NULL)},
    {.hidden = true, PS_ROW_TEXT(NULL, "max_kernel_num", "N", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_TEXT(NULL, "op_name_map", "MAP", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_FLAG(NULL, "use_input_shape", NULL)},
    {.hidden = true, PS_ROW_TEXT(NULL, "gpu_flow_cat", "TEXT", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_INT(NULL, "comparison_step", "N", PS_UNSAID, -1, INT64_MAX, NULL)},
    {.hidden = true, PS_ROW_FLAG(NULL, "force", NULL)},
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_MEMORY_OPTION,
    PS_CACHE_OPTIONS,
    PS_CREW_OPTIONS,
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_compare = {
    .name = "compare",
    .summary = "two captures of one model: what a step lost, by kernels, operators and calls",
    .usage = "NEW BASE [-o FILE.{txt,json,xlsx}] [options]\nNEW --rank_list 1 --base_rank_list 0 "
             "[options]\n-d NEW -bp BASE [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "NEW BASE",
    .min_positionals = 0,
    .max_positionals = 2,
    .notes =
        "Each side is a capture of any format, of one rank or many, or some ranks or a step of one; times are a rank "
        "and step. Steps are matched by their order. A positive loss means that NEW is slower.",
    .run = run_compare,
};
