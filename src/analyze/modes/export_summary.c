/* export_summary: two lists of each rank as csv files, <rank>/api_statistic and <rank>/kernel_details.
 *
 * The tables are made while the trace is at hand and handed on as they are. */
#include <stdio.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/modes/call_sums.h"
#include "analyze/modes/kernel_details.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"

typedef struct partial {
    ps_table *kernels, *calls; /* NULL: nothing of it */
} partial;

static void free_export_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_table_free(part->kernels);
        ps_table_free(part->calls);
        ps_free(part);
    }
}

/* --- calls ---------------------------------------------------------------------------------------------- */

static const ps_column CALLS[] = {
    {.name = "API Name", PS_FIELD(ps_sum_row, keys[0])},
    {.name = "Total Time(ns)", PS_FIELD(ps_sum_row, stats.sum)},
    {.name = "Count", PS_FIELD(ps_sum_row, stats.n)},
    {.name = "Avg Time(ns)", PS_FIELD(ps_sum_row, stats.mean)},
    {.name = "Min Time(ns)", PS_FIELD(ps_sum_row, stats.min)},
    {.name = "Max Time(ns)", PS_FIELD(ps_sum_row, stats.max)},
};

static ps_code make_calls(const ps_map_input *in, ps_table **out, ps_err *err) {
    ps_value_adder adder = {.trace = in->trace};
    ps_value_sums sums = {0};
    ps_sum_rows rows = {0};
    const ps_value_sums *all[] = {&sums};
    ps_code code = ps_call_sums_collect(in, &adder, err);
    code = code == PS_OK ? ps_value_adder_finish(&adder, &sums, err) : code;
    code = code == PS_OK ? ps_value_sums_join(all, 1, 1, false, &rows, err) : code;
    if (code == PS_OK && rows.n > 0) {
        ps_sum_rows_by_sum(&rows);
        *out = ps_table_new("api_statistic", "calls of the driver and runtime", PS_COLUMNS(CALLS));
        ps_table_put_all(*out, rows.rows, rows.n, sizeof *rows.rows);
        *out = ps_table_end(*out);
        code = *out != NULL ? PS_OK : ps_fail_nomem(err);
    }
    ps_value_adder_fini(&adder);
    ps_value_sums_fini(&sums);
    ps_sum_rows_fini(&rows);
    return code;
}

/* --- all together --------------------------------------------------------------------------------------- */

static ps_code fill_export_tables(partial *part, const ps_map_input *in, ps_err *err) {
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    code = code == PS_OK ? make_calls(in, &part->calls, err) : code;
    code = code == PS_OK ? ps_kernel_details_list(in, &part->kernels, err) : code;
    if (code == PS_OK && part->kernels == NULL && part->calls == NULL) {
        code = ps_fail_said(
            err, PS_NOTHING,
            "no kernels and no calls of the driver or runtime%s%.0s: neither was recorded",
            "%.0s%s没有核函数，也没有驱动或运行时调用：两者都未采集",
            PS_IN_THIS_STEP(in->opts->step_id));
    }
    return code;
}

static ps_code map_export(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    ps_code code = part != NULL ? fill_export_tables(part, in, err) : ps_fail_nomem(err);
    if (code != PS_OK) {
        free_export_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* "3/kernel_details"; ranks that share a number are told apart by their place in the run. */
static bool name_file(ps_table *t, const ps_reduce_input *in, size_t r) {
    size_t n_same = 0;
    for (size_t i = 0; i < in->n_ranks; i++) {
        n_same += in->ranks[i].rank == in->ranks[r].rank;
    }
    char file[96];
    int n =
        n_same > 1
            ? snprintf(file, sizeof file, "%lld_%zu/%s", (long long)in->ranks[r].rank, r, t->name)
            : snprintf(file, sizeof file, "%lld/%s", (long long)in->ranks[r].rank, t->name);
    t->file = ps_arena_strndup(&t->arena, file, (size_t)n);
    t->names_fixed = true;
    t->to = PS_TO_FILES | PS_TO_BESIDE_DB;
    return t->file != NULL;
}

static ps_code reduce_export(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_code code = PS_OK;
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        partial *part = in->partials[r];
        ps_table **tables[] = {part != NULL ? &part->calls : NULL,
                               part != NULL ? &part->kernels : NULL};
        for (size_t i = 0; code == PS_OK && part != NULL && i < 2; i++) {
            ps_table *t = *tables[i];
            *tables[i] = NULL;
            if (t == NULL) {
                continue;
            }
            if (name_file(t, in, r)) {
                code = ps_result_add(in->result, t, err);
            } else {
                ps_table_free(t);
                code = ps_fail_nomem(err);
            }
        }
    }
    return code;
}

static void archive_export_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        ps_kernel_details_archive(a, &x->kernels);
        ps_table_archive(a, &x->calls);
    }
}

static const ps_round ROUNDS[] = {{.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES |
                                            PS_NEED_FLOWS | PS_NEED_ARGS | PS_NEED_COMM_OPS,
                                   .map = map_export,
                                   .reduce = reduce_export}};

const ps_analysis ps_analysis_export_summary = {
    .name = "export_summary",
    .folder = "ExportSummary",
    .summary = "api_statistic.csv and kernel_details.csv of each rank",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_export_partial,
    .archive = archive_export_partial,
};
