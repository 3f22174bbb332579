/* kernel_figures: what the profiler measured inside of each kernel, a row each: the columns that kernel_details has behind its own, for
 * those who ask by name. Rows are made when they are read. */
#include "analyze/rank/kernel_pmu.h"
#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/order.h"

enum { C_SLICE, C_NAME, C_FIGURE, C_VALUE, C_TEXT, N_COLUMNS };

static const ps_column COLUMNS[N_COLUMNS] = {
    {.name = "slice", .type = PS_COL_INT},   {.name = "name", .type = PS_COL_TEXT},
    {.name = "figure", .type = PS_COL_TEXT}, {.name = "value", .type = PS_COL_REAL},
    {.name = "text", .type = PS_COL_TEXT},
};

typedef struct figures {
    const ps_trace *trace;
    const ps_slices *s;
    ps_kernel_keys keys;
    ps_pmu pmu;
    uint32_t *kernels; /* that have any */
    size_t *first;     /* [n + 1] rows before each of them */
    size_t n;
} figures;

static void free_figures(void *context) {
    figures *f = context;
    if (f != NULL) {
        ps_pmu_fini(&f->pmu);
        ps_kernel_keys_fini(&f->keys);
        ps_free(f->kernels);
        ps_free(f->first);
        ps_free(f);
    }
}

/* The cells of a kernel, and how many are there. */
static size_t figures_of(const figures *f, uint32_t kernel, ps_value cells[PS_PMU_MAX],
                         char room[PS_ROW_ROOM]) {
    size_t n = 0;
    for (size_t c = 0; c < f->pmu.n; c++) {
        cells[c] = (ps_value){.is_null = true};
    }
    ps_pmu_cells(&f->pmu, kernel, cells, room);
    for (size_t c = 0; c < f->pmu.n; c++) {
        n += !cells[c].is_null;
    }
    return n;
}

static void make_figure_row(const void *context, size_t row, ps_value *out,
                            char room[PS_ROW_ROOM]) {
    const figures *f = context;
    ps_value cells[PS_PMU_MAX];
    PS_PLACE(size_t, above, 0, f->n + 1, i, f->first[i] <= row)
    uint32_t kernel = f->kernels[above - 1];
    size_t left = row - f->first[above - 1];
    (void)figures_of(f, kernel, cells, room);
    size_t c = 0;
    while (cells[c].is_null || left-- > 0) {
        c++;
    }
    const ps_pmu_column *column = &f->pmu.at[c];
    ps_cell_int_set(&out[C_SLICE], kernel);
    ps_cell_text_set(&out[C_NAME], ps_trace_text(f->trace, f->s->name[kernel]));
    ps_cell_text_set(&out[C_FIGURE], column->name);
    if (column->type == PS_COL_TEXT) {
        ps_cell_text_set(&out[C_TEXT], cells[c].u.text);
    } else {
        ps_cell_real_set(&out[C_VALUE],
                         column->type == PS_COL_INT ? (double)cells[c].u.i : cells[c].u.r);
    }
}

/* First which columns there are, then which kernels have any. */
static bool list_figures(figures *f, const ps_view_input *in) {
    ps_value cells[PS_PMU_MAX];
    char room[PS_ROW_ROOM];
    f->kernels = ps_alloc(((size_t)f->s->n + 1) * sizeof *f->kernels);
    f->first = ps_calloc((size_t)f->s->n + 2, sizeof *f->first);
    bool ok = f->kernels != NULL && f->first != NULL;
    for (uint32_t i = 0; ok && i < f->s->n; i++) {
        ok = f->s->kind[i] != PS_SLICE_KERNEL || ps_pmu_learn(&f->pmu, i);
    }
    for (uint32_t i = 0; ok && i < f->s->n; i++) {
        bool is_in = f->s->kind[i] == PS_SLICE_KERNEL &&
                     ps_view_touches(in, f->s->start_ns[i], f->s->dur_ns[i]);
        size_t n = is_in ? figures_of(f, i, cells, room) : 0;
        if (n > 0) {
            f->kernels[f->n++] = i;
            f->first[f->n] = f->first[f->n - 1] + n;
        }
    }
    return ok;
}

static ps_table *make_kernel_figures(const ps_view_input *in, ps_err *err) {
    figures *f = ps_calloc(1, sizeof *f);
    bool ok = f != NULL;
    if (ok) {
        f->trace = in->trace;
        f->s = ps_trace_slices(in->trace);
        ok = ps_kernel_keys_init(&f->keys, in->trace);
        ok = ps_pmu_init(&f->pmu, &f->keys, in->trace) && ok && list_figures(f, in);
    }
    if (!ok || f->n == 0) {
        free_figures(f);
        (void)(ok ? ps_fail(
                        err, PS_NOTHING, "%s",
                        PS_SAY(
                            in->lang,
                            "nothing was measured inside of kernels in this span: record counters "
                            "of the cores (Ascend: aic_metrics with profiler_level Level1)",
                            "该时间段内没有核函数内部的测量值：请采集核内计数器（Ascend：profiler_level Level1 及 aic_metrics）"))
                  : ps_fail_nomem(err));
        return NULL;
    }
    ps_table *t = ps_table_new_made(
        ps_view_kernel_figures.name, ps_view_kernel_figures.title, COLUMNS, N_COLUMNS,
        f->first[f->n],
        (ps_row_maker){.make = make_figure_row, .context = f, .free_context = free_figures});
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    }
    return t;
}

const ps_view ps_view_kernel_figures = {.name = "kernel_figures",
                                        .title = "Figures of kernels",
                                        .tab = PS_TAB_OPERATOR,
                                        .uses = PS_VIEW_ROWS,
                                        .make = make_kernel_figures};
