/* Rows of kernel_details.csv (msprof: op_summary) and the slices they describe. The file repeats start, duration and
 * name of a slice, rounded another way: the start may differ by 1 ns, the duration has two or three decimals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "read/ascend_text/ascend_text.h"

#define START_SLACK_NS 1
#define DURATION_SLACK_NS 10
#define MAX_CANDIDATES 1024 /* rows that start together; more are no recording */

static size_t first_column(const ps_table *t, const char *const *names) {
    size_t column = PS_NO_COLUMN;
    for (; *names != NULL && column == PS_NO_COLUMN; names++) {
        column = ps_ascend_csv_column(t, *names);
    }
    return column;
}

static bool find_columns(ps_ascend_kernels *k) {
    k->name = first_column(k->table, (const char *const[]){"Name", "Op Name", "kernel_name", NULL});
    k->start = first_column(
        k->table, (const char *const[]){"Start Time", "Task Start Time", "task_start", NULL});
    k->duration = first_column(
        k->table, (const char *const[]){"Duration", "Task Duration", "task_time", NULL});
    k->stream =
        first_column(k->table, (const char *const[]){"Stream ID", "Stream Id", "stream_id", NULL});
    k->core = first_column(
        k->table, (const char *const[]){"Accelerator Core", "Task Type", "kernel_type", NULL});
    k->type = first_column(k->table, (const char *const[]){"Type", "OP Type", NULL});
    k->step = first_column(k->table, (const char *const[]){"Step Id", "Step ID", NULL});
    k->device = first_column(k->table, (const char *const[]){"Device_id", "Device ID", NULL});
    k->task = first_column(k->table, (const char *const[]){"Task ID", "Task Id", "task_id", NULL});
    k->model = first_column(k->table, (const char *const[]){"Model ID", "Model Id", NULL});
    if (k->name == PS_NO_COLUMN || k->start == PS_NO_COLUMN || k->duration == PS_NO_COLUMN) {
        return false;
    }
    const ps_column *c = k->table->columns;
    if (k->stream != PS_NO_COLUMN && c[k->stream].type != PS_COL_INT) {
        k->stream = PS_NO_COLUMN;
    }
    return c[k->name].type == PS_COL_TEXT && c[k->start].type == PS_COL_INT &&
           c[k->duration].type == PS_COL_REAL;
}

/* What the slice says itself is not said twice. */
static bool is_known_to_slice(const ps_ascend_kernels *k, size_t column) {
    static const char *const KNOWN[] = {"Model ID",  "Model Name", "Task ID",
                                        "Task Type", "Device_id",  "Device ID",
                                        "task_id",   "task_stop",  "kernel_type"};
    bool is_known =
        column == k->name || column == k->start || column == k->duration || column == k->stream;
    for (size_t i = 0; !is_known && i < sizeof KNOWN / sizeof *KNOWN; i++) {
        is_known = strcmp(k->table->columns[column].name, KNOWN[i]) == 0;
    }
    return is_known;
}

PS_COMPARE(compare_csv_kernel_rows, ps_ascend_kernel_row, PS_BY(start_ns) PS_BY(row))

static bool fill_csv_kernel(ps_ascend_kernels *k, const ps_ascend_csv *csv, ps_builder *b) {
    const ps_table *t = k->table;
    k->rows = ps_alloc((t->n_rows + 1) * sizeof *k->rows);
    k->keys = ps_calloc(t->n_columns, sizeof *k->keys);
    if (k->rows == NULL || k->keys == NULL || t->n_rows >= PS_NONE) {
        return false;
    }
    bool is_of_tasks = strcmp(t->name, "task_time") == 0; /* what is no kernel has a type alone */
    for (uint32_t row = 0; row < t->n_rows; row++) {
        const ps_value *start = ps_table_cell(t, row, k->start);
        bool has_name = is_of_tasks || !ps_table_cell(t, row, k->name)->is_null;
        if (!start->is_null && has_name) {
            k->rows[k->n_rows++] = (ps_ascend_kernel_row){start->u.i, row, false};
        }
    }
    ps_sort(k->rows, k->n_rows, sizeof *k->rows, compare_csv_kernel_rows);
    for (size_t c = 0; c < t->n_columns; c++) {
        if (!is_known_to_slice(k, c)) {
            k->keys[c] = ps_builder_str(b, csv->headers[c], strlen(csv->headers[c]));
        }
    }
    return !ps_builder_failed(b);
}

ps_ascend_kernels *ps_ascend_kernels_new(const ps_ascend_csv *csv, ps_builder *b,
                                         bool *is_useless) {
    *is_useless = false;
    ps_ascend_kernels *k = ps_calloc(1, sizeof *k);
    if (k == NULL) {
        return NULL;
    }
    k->table = csv->table;
    *is_useless = !find_columns(k);
    if (*is_useless || !fill_csv_kernel(k, csv, b)) {
        ps_ascend_kernels_free(k);
        return NULL;
    }
    return k;
}

void ps_ascend_kernels_free(ps_ascend_kernels *k) {
    if (k != NULL) {
        ps_free(k->rows);
        ps_free(k->keys);
        ps_free(k);
    }
}

/* --- joining ------------------------------------------------------------------------------------------------ */

/* MindSpore may append the call stack to the name. */
static bool csv_kernel_same_name(const char *in_table, const char *of_slice) {
    size_t n = strlen(of_slice);
    return n > 0 && strncmp(in_table, of_slice, n) == 0 &&
           (in_table[n] == '\0' || strchr(" \t\r\n;:/|@", in_table[n]) != NULL);
}

/* Lower is better, -1: another slice. */
static int64_t csv_kernel_misfit(const ps_ascend_kernels *k, const ps_ascend_kernel_row *row,
                                 const char *name, int64_t start_ns, int64_t dur_ns,
                                 int64_t stream) {
    const ps_value *duration = ps_table_cell(k->table, row->row, k->duration);
    double dur = duration->is_null ? 0 : duration->u.r * 1000;
    if (row->is_taken || !(fabs(dur - (double)dur_ns) <= DURATION_SLACK_NS) ||
        !csv_kernel_same_name(ps_table_cell(k->table, row->row, k->name)->u.text, name)) {
        return -1;
    }
    const ps_value *on =
        k->stream != PS_NO_COLUMN ? ps_table_cell(k->table, row->row, k->stream) : NULL;
    bool is_elsewhere = on != NULL && !on->is_null && on->u.i != stream;
    return (is_elsewhere ? 100 : 0) + 20 * llabs(row->start_ns - start_ns) +
           (int64_t)fabs(dur - (double)dur_ns);
}

static ps_ascend_kernel_row *find_csv_kernel_row(ps_ascend_kernels *k, const char *name,
                                                 int64_t start_ns, int64_t dur_ns, int64_t stream) {
    PS_PLACE(size_t, low, 0, k->n_rows, middle,
             k->rows[middle].start_ns < start_ns - START_SLACK_NS);
    ps_ascend_kernel_row *best = NULL;
    int64_t least = INT64_MAX;
    for (size_t i = low; i < k->n_rows && i - low < MAX_CANDIDATES &&
                         k->rows[i].start_ns <= start_ns + START_SLACK_NS;
         i++) {
        int64_t m = csv_kernel_misfit(k, &k->rows[i], name, start_ns, dur_ns, stream);
        if (m >= 0 && m < least) {
            least = m;
            best = &k->rows[i];
        }
    }
    return best;
}

void ps_ascend_kernels_join(ps_ascend_kernels *k, ps_builder *b, uint32_t slice, int64_t stream) {
    int64_t start = ps_builder_slice_start_ns(b, slice);
    const char *name = ps_builder_text(b, ps_builder_slice_name(b, slice));
    ps_ascend_kernel_row *found =
        find_csv_kernel_row(k, name, start, ps_builder_slice_end_ns(b, slice) - start, stream);
    if (found == NULL) {
        return;
    }
    found->is_taken = true;
    ps_ascend_kernels_add_args(k, b, slice, found->row);
}

void ps_ascend_kernels_add_args(const ps_ascend_kernels *k, ps_builder *b, uint32_t slice,
                                uint32_t row) {
    for (size_t c = 0; c < k->table->n_columns; c++) {
        const ps_value *v = ps_table_cell(k->table, row, c);
        if (v->is_null || ps_str_is_none(k->keys[c])) {
            continue;
        }
        ps_arg arg = {.key = k->keys[c], .type = PS_ARG_INT, .u.i = v->u.i};
        if (k->table->columns[c].type == PS_COL_REAL) {
            arg.type = PS_ARG_REAL;
            arg.u.r = v->u.r;
        } else if (k->table->columns[c].type != PS_COL_INT) {
            arg.type = PS_ARG_STR;
            arg.u.s = ps_builder_str(b, v->u.text, strlen(v->u.text));
        } else if (k->table->columns[c].unit == PS_UNIT_NS) {
            arg.type = PS_ARG_TIME;
        }
        ps_builder_arg(b, slice, arg);
    }
}

void ps_ascend_kernels_finish(const ps_ascend_kernels *k, ps_diag *diag, const char *file) {
    for (size_t i = 0; i < k->n_rows; i++) {
        if (!k->rows[i].is_taken) {
            ps_diag_add(diag, PS_ODD_UNJOINED, "%s: %.80s", file,
                        ps_table_cell(k->table, k->rows[i].row, k->name)->u.text);
        }
    }
}
