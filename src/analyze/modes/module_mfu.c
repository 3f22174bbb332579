#include "analyze/modes/module_mfu.h"

#include <stdio.h>
#include <string.h>

#include "analyze/derived/derived.h"
#include "analyze/modules/module_rows.h"
#include "analyze/modules/module_tree.h"
#include "base/alloc.h"
#include "base/buf.h"

#define MAX_ROWS ((size_t)1 << 28)
#define MAX_PATH 4096

/* --- texts ------------------------------------------------------------------------------------------------------ */

/* Per cent with two decimals at most and one at least, as Python prints round(100 * x, 2). */
static void add_module_mfu_percent(ps_buf *out, double share) {
    char text[400];
    int n = snprintf(text, sizeof text, "%.2f", 100 * share);
    if (n > 1 && text[n - 1] == '0') {
        text[n - 1] = '\0';
    }
    ps_buf_addf(out, "%s%%", text);
}

static ps_str keep_module_mfu(ps_module_mfu *m, const char *text) {
    return ps_strpool_add(&m->texts, text, strlen(text));
}

static ps_str parent_of(ps_module_mfu *m, const ps_module_tree *tree, uint32_t node) {
    char path[MAX_PATH] = "";
    if (tree->nodes[node].parent != PS_NONE) {
        ps_module_path(tree, tree->nodes[node].parent, path, sizeof path);
    }
    return keep_module_mfu(m, path);
}

/* "[Recompute]Layer_1": the number where a module ran different operators. */
static ps_str module_of(ps_module_mfu *m, const ps_module_tree *tree, const ps_module_rows *rows,
                        const ps_module_row *r, ps_buf *scratch) {
    ps_buf_clear(scratch);
    ps_buf_add_str(scratch, r->pass == PS_MODULE_RECOMPUTE ? "[Recompute]" : "");
    ps_buf_add_str(scratch, ps_strpool_get(&tree->names, tree->nodes[r->node].name));
    if (rows->n_variants[(size_t)PS_N_MODULE_PASSES * r->node + r->pass] > 1) {
        ps_buf_addf(scratch, "_%u", r->variant);
    }
    return ps_buf_ok(scratch) ? keep_module_mfu(m, ps_buf_str(scratch)) : PS_STR_NONE;
}

static ps_str kernels_of(ps_module_mfu *m, const ps_module_rows *rows, const ps_module_row *r,
                         ps_buf *scratch) {
    ps_buf_clear(scratch);
    for (uint32_t k = 0; k < r->n_kernels; k++) {
        ps_buf_add_str(scratch, k > 0 ? ", " : "");
        ps_buf_add_str(scratch,
                       ps_strpool_get(&rows->strings, rows->kernels[r->first_kernel + k].name));
    }
    return ps_buf_ok(scratch) ? keep_module_mfu(m, ps_buf_str(scratch)) : PS_STR_NONE;
}

/* Of each kernel the mean over the calls; those without a value are left out. */
static ps_str shares_of(ps_module_mfu *m, const ps_module_rows *rows, const ps_module_row *r,
                        ps_buf *scratch) {
    ps_buf_clear(scratch);
    for (uint32_t k = 0; k < r->n_kernels; k++) {
        const ps_module_kernel *kernel = &rows->kernels[r->first_kernel + k];
        if (kernel->n_mfu > 0) {
            ps_buf_add_str(scratch, scratch->len > 0 ? "," : "");
            add_module_mfu_percent(scratch, kernel->mfu / kernel->n_mfu);
            m->any_mfu = true;
        }
    }
    return ps_buf_ok(scratch) ? keep_module_mfu(m, ps_buf_str(scratch)) : PS_STR_NONE;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

static bool take_module_mfu_row(ps_module_mfu *m, const ps_module_tree *tree,
                                const ps_module_rows *rows, const ps_module_row *r,
                                ps_buf *scratch) {
    if (!ps_grow(&m->rows, &m->cap, m->n + 1, MAX_ROWS, sizeof *m->rows)) {
        return false;
    }
    ps_module_mfu_row *row = &m->rows[m->n++];
    *row = (ps_module_mfu_row){.parent = parent_of(m, tree, r->node),
                               .module = module_of(m, tree, rows, r, scratch),
                               .op = keep_module_mfu(m, ps_strpool_get(&rows->strings, r->op)),
                               .kernels = kernels_of(m, rows, r, scratch),
                               .mfu = shares_of(m, rows, r, scratch),
                               .total_ns = r->total_ns,
                               .count = r->count};
    return !ps_str_is_none(row->parent) && !ps_str_is_none(row->module) &&
           !ps_str_is_none(row->op) && !ps_str_is_none(row->kernels) && !ps_str_is_none(row->mfu);
}

static ps_code collect_module_mfu(const ps_module_tree *tree, const ps_mfu *mfu, int64_t step,
                                  ps_module_mfu *out, ps_err *err) {
    ps_module_rows rows = {0};
    ps_buf scratch;
    ps_buf_init(&scratch, 0);
    uint8_t *wanted = ps_calloc(tree->n_calls + 1, 1);
    ps_code code = wanted != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < tree->n_calls; i++) {
        const ps_module_call *call = &tree->calls[i];
        bool is_in =
            step < 0 || ps_step_of(&tree->links->steps, call->start_ns, call->start_ns) == step;
        wanted[i] = call->pass != PS_MODULE_BACKWARD && is_in;
    }
    if (code == PS_OK) {
        const ps_module_scope scope = {wanted, step, PS_ASKED_ALL};
        code = ps_module_rows_collect(tree, &scope, mfu, &rows, err);
        for (size_t i = 0; code == PS_OK && i < rows.n; i++) {
            code = take_module_mfu_row(out, tree, &rows, &rows.rows[i], &scratch)
                       ? PS_OK
                       : ps_fail_nomem(err);
        }
        ps_module_rows_fini(&rows);
    }
    ps_free(wanted);
    ps_buf_fini(&scratch);
    return code;
}

ps_code ps_module_mfu_collect(const ps_map_input *in, ps_module_mfu *out, ps_err *err) {
    *out = (ps_module_mfu){0};
    if (!ps_strpool_init(&out->texts)) {
        return ps_fail_nomem(err);
    }
    const ps_module_tree *tree = NULL;
    const ps_mfu *mfu = ps_derived_mfu(in->derived, err);
    ps_err none = PS_ERR_INIT;
    ps_code code = mfu != NULL ? ps_derived_modules(in->derived, false, &tree, &none) : PS_NOMEM;
    if (code == PS_OK) {
        return collect_module_mfu(tree, mfu, in->opts->step_id, out, err);
    }
    return code == PS_NOTHING ? PS_OK : ps_fail_nomem(err);
}

void ps_module_mfu_fini(ps_module_mfu *m) {
    ps_free(m->rows);
    ps_strpool_fini(&m->texts);
    *m = (ps_module_mfu){0};
}

/* --- table ------------------------------------------------------------------------------------------------------ */

typedef struct mfu_row {
    int64_t rank;
    const char *parent, *module, *op, *kernels, *mfu;
    double mean_ns;
    ps_module_mfu_row of;
} mfu_row;

static const ps_column COLUMNS[] = {
    {.name = "rank_id", PS_FIELD(mfu_row, rank), .header = "Rank ID", .width = 10},
    {.name = "parent_module",
     PS_FIELD(mfu_row, parent),
     .header = "Parent Module",
     .width = 40,
     .merged = true},
    {.name = "module", PS_FIELD(mfu_row, module), .header = "Module", .width = 40, .merged = true},
    {.name = "op_name", PS_FIELD(mfu_row, op), .header = "Op Name", .width = 40},
    {.name = "kernel_list", PS_FIELD(mfu_row, kernels), .header = "Kernel List", .width = 50},
    {.name = "total_kernel_duration(ns)",
     PS_FIELD_AS(PS_COL_REAL, mfu_row, of.total_ns),
     .header = "Total Kernel Duration(ns)",
     .width = 10},
    {.name = "avg_kernel_duration(ns)",
     PS_FIELD(mfu_row, mean_ns),
     .header = "Avg Kernel Duration(ns)",
     .width = 10},
    {.name = "op_count", PS_FIELD(mfu_row, of.count), .header = "Op Count", .width = 10},
    {.name = "avg_mfu", PS_FIELD(mfu_row, mfu), .header = "Avg MFU", .width = 10}, /* the last */
};
#define N_COLUMNS (sizeof COLUMNS / sizeof *COLUMNS)

ps_table *ps_module_mfu_table(const char *name, bool any_mfu) {
    return ps_table_new(name, "", COLUMNS, N_COLUMNS - (any_mfu ? 0 : 1));
}

void ps_module_mfu_put(ps_table *t, int64_t rank, const ps_module_mfu *m) {
    for (size_t i = 0; i < m->n; i++) {
        const ps_module_mfu_row *r = &m->rows[i];
        ps_table_put(t, &(mfu_row){.rank = rank,
                                   .parent = ps_strpool_get(&m->texts, r->parent),
                                   .module = ps_strpool_get(&m->texts, r->module),
                                   .op = ps_strpool_get(&m->texts, r->op),
                                   .kernels = ps_strpool_get(&m->texts, r->kernels),
                                   .mfu = ps_strpool_get(&m->texts, r->mfu),
                                   .mean_ns = (double)r->total_ns / (double)r->count,
                                   .of = *r});
    }
}

static void module_mfu_row_archive(ps_archive *a, void *row) {
    ps_module_mfu_row *x = row;
    PS_ARCHIVE(a, x, parent, module, op, kernels, mfu, total_ns, count);
}

void ps_module_mfu_archive(ps_archive *a, void *mfu) {
    ps_module_mfu *x = mfu;
    ps_strpool *before = ps_archive_use_pool(a, &x->texts);
    PS_ARCHIVE_ARRAY(a, x, rows, n, module_mfu_row_archive);
    (void)ps_archive_use_pool(a, before);
    PS_ARCHIVE(a, x, any_mfu);
}
