/* operator_mfu: FLOPs, rate and share of the chip's peak of every kernel that multiplies matrices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/derived.h"
#include "analyze/mfu/mfu.h"
#include "analyze/modes/module_mfu.h"
#include "analyze/rank/kernel_facts.h"
#include "analyze/rank/links.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/strpool.h"
#include "model/recording.h"

#define MAX_ROWS ((size_t)1 << 28)

typedef struct row {
    int64_t start_ns, end_ns; /* epoch */
    ps_kernel_flops f;
    ps_str op, kernel, flops_name, in_shapes, out_shapes; /* of the partial's texts */
} row;

/* Kernels of a rank whose FLOPs are known from the same source, by name. */
typedef struct source_sum {
    ps_str kernel, flops_name;
    ps_flops_source source;
    int64_t n;
    double flops;
} source_sum;

typedef struct partial {
    ps_strpool texts;
    row *rows; /* by start */
    size_t n, cap;
    source_sum *sums; /* by names and source */
    size_t n_sums, cap_sums;
    size_t n_users; /* the run, and tables that make their rows from it */
    ps_module_mfu modules;
    int64_t n_unknown;
    double peak_flop_s;
    char peak_from[160];
} partial;

static void free_op_mfu_partial(void *p) {
    partial *part = p;
    if (part != NULL && --part->n_users == 0) {
        ps_strpool_fini(&part->texts);
        ps_module_mfu_fini(&part->modules);
        ps_free(part->rows);
        ps_free(part->sums);
        ps_free(part);
    }
}

/* --- one rank ------------------------------------------------------------------------------------------------- */

/* Keeps a text without the quotes that Ascend puts around shapes; none for NULL. False when memory is out. */
static bool keep_op_mfu(partial *part, const char *text, ps_str *out) {
    size_t n = 0;
    *out = PS_STR_NONE;
    if (text == NULL) {
        return true;
    }
    while (*text == '"') {
        text++;
    }
    for (n = 0; text[n] != '\0'; n++) {
    }
    while (n > 0 && text[n - 1] == '"') {
        n--;
    }
    *out = ps_strpool_add(&part->texts, text, n);
    return !ps_str_is_none(*out);
}

static bool take_op_mfu_kernel(partial *part, const ps_links *links, const ps_mfu *mfu,
                               uint32_t slice) {
    const ps_slices *s = ps_trace_slices(links->trace);
    int64_t start = s->start_ns[slice] + ps_trace_origin_ns(links->trace);
    row r = {.start_ns = start, .end_ns = start + s->dur_ns[slice], .f = ps_mfu_of(mfu, slice)};
    if (r.f.flops <= 0) {
        part->n_unknown++;
        return true;
    }
    uint32_t op = links->op[slice];
    const char *op_name = op != PS_NONE ? ps_trace_text(links->trace, s->name[op]) : NULL;
    const char *in = ps_kernel_shapes(links, slice);
    const char *out = ps_output_shapes(links->trace, slice);
    if (!keep_op_mfu(part, op_name, &r.op) ||
        !keep_op_mfu(part, ps_trace_text(links->trace, s->name[slice]), &r.kernel) ||
        !keep_op_mfu(part, ps_mfu_name_of(mfu, slice), &r.flops_name) ||
        !keep_op_mfu(part, in, &r.in_shapes) || !keep_op_mfu(part, out, &r.out_shapes) ||
        !ps_grow(&part->rows, &part->cap, part->n + 1, MAX_ROWS, sizeof *part->rows)) {
        return false;
    }
    part->rows[part->n++] = r;
    return true;
}

static ps_code take_all_op_mfu(ps_lang lang, partial *part, const ps_links *links,
                               const ps_mfu *mfu, int64_t step, ps_err *err) {
    const ps_slices *s = ps_trace_slices(links->trace);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_KERNEL && ps_mfu_is_matrix(mfu, i) &&
            (step < 0 || ps_links_step(links, i) == step)) {
            ok = take_op_mfu_kernel(part, links, mfu, i);
        }
    }
    const char *how = "";
    part->peak_flop_s = ps_mfu_peak_flop_s(mfu, &how);
    (void)snprintf(part->peak_from, sizeof part->peak_from, "%s",
                   how[0] != '\0' ? how : PS_SAY(lang, "not in the profile", "采集数据中没有"));
    return ok ? PS_OK : ps_fail_nomem(err);
}

static int compare_sums(const void *a, const void *b, void *context) {
    const ps_strpool *texts = context;
    const source_sum *x = a;
    const source_sum *y = b;
    int order = strcmp(ps_strpool_get(texts, x->kernel), ps_strpool_get(texts, y->kernel));
    order = order != 0 ? order
                       : strcmp(ps_strpool_get(texts, x->flops_name),
                                ps_strpool_get(texts, y->flops_name));
    return order != 0 ? order : (x->source > y->source) - (x->source < y->source);
}

/* False when memory is out. */
static bool sum_one(partial *part, ps_idmap *rows, const row *r) {
    uint64_t key = ((uint64_t)r->kernel.id << 32) | r->flops_name.id;
    uint32_t at = ps_idmap_get(rows, key);
    if (at == PS_IDMAP_NONE) {
        at = (uint32_t)part->n_sums;
        if (!ps_grow(&part->sums, &part->cap_sums, part->n_sums + 1, MAX_ROWS,
                     sizeof *part->sums) ||
            !ps_idmap_put(rows, key, at)) {
            return false;
        }
        part->sums[part->n_sums++] = (source_sum){r->kernel, r->flops_name, r->f.source, 0, 0};
    }
    part->sums[at].n++;
    part->sums[at].flops += r->f.flops;
    return true;
}

static ps_code sum_sources(partial *part, ps_err *err) {
    bool ok = true;
    for (int source = PS_FLOPS_RECORDED; ok && source <= PS_FLOPS_SHAPES; source++) {
        ps_idmap rows; /* both names -> row in sums */
        ps_idmap_init(&rows);
        for (size_t i = 0; ok && i < part->n; i++) {
            ok = (int)part->rows[i].f.source != source || sum_one(part, &rows, &part->rows[i]);
        }
        ps_idmap_fini(&rows);
    }
    if (part->n_sums > 0) {
        qsort_r(part->sums, part->n_sums, sizeof *part->sums, compare_sums, &part->texts);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

static ps_code nothing(const partial *part, const ps_trace *trace, ps_err *err) {
    bool ours = ps_trace_is_recording(trace);
    if (part->n_unknown == 0 && ours) {
        return ps_fail_said(
            err, PS_NOTHING,
            "no kernel that multiplies matrices was recorded: record operators with "
            "pipescope.record_ops(), or kernels with pipescope record --backend cupti",
            "没有录制到矩阵乘核函数：请用 pipescope.record_ops() 录制算子，或用 pipescope record --backend cupti "
            "录制核函数");
    }
    if (part->n_unknown == 0) {
        return ps_fail_said(err, PS_NOTHING, "no kernel that multiplies matrices was recorded",
                            "没有采集到矩阵乘核函数");
    }
    return ps_fail_said(
        err, PS_NOTHING,
        "nothing tells the FLOPs of %lld kernel%s: record shapes (%s%.0s) or mark operators with "
        "ranges of domain mfu_flops",
        "没有信息说明 %lld 个核函数%.0s的 FLOPs：请记录形状（%.0s%s），或用 mfu_flops 域的 range 标出算子",
        (long long)part->n_unknown, part->n_unknown == 1 ? "" : "s",
        ours ? "pipescope.record_ops(shapes=True)"
             : "PyTorch: record_shapes=True; Ascend: profiler level 1 or higher",
        ours ? "pipescope.record_ops(shapes=True)"
             : "PyTorch：record_shapes=True；昇腾：profiler level 1 及以上");
}

static ps_code map_op_mfu(const ps_map_input *in, void **out, ps_err *err) {
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    if (code != PS_OK) {
        return code;
    }
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL || !ps_strpool_init(&part->texts)) {
        ps_free(part);
        return ps_fail_nomem(err);
    }
    part->n_users = 1;
    const ps_links *links = ps_derived_links(in->derived, err);
    const ps_mfu *mfu = links != NULL ? ps_derived_mfu(in->derived, err) : NULL;
    code = mfu != NULL ? take_all_op_mfu(in->opts->lang, part, links, mfu, in->opts->step_id, err)
                       : PS_NOMEM;
    code = code == PS_OK ? sum_sources(part, err) : code;
    if (code == PS_OK && part->n > 0) {
        code = ps_module_mfu_collect(in, &part->modules, err);
    }
    code = code == PS_OK && part->n == 0 ? nothing(part, in->trace, err) : code;
    if (code != PS_OK) {
        free_op_mfu_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* --- tables --------------------------------------------------------------------------------------------------- */

typedef struct kernel_row {
    int64_t rank, start_ns, end_ns, dur_ns;
    char start_text[24], end_text[24];
    const char *op, *kernel, *flops_name, *in_shapes, *out_shapes;
    double mfu, tflops, peak_tflops, flops;
} kernel_row;

/* The column names are those of msprof-analyze. Stamps in files are text: a spreadsheet's numbers have 53 bits. */
#define COLUMNS(start, end)                                                                        \
    {                                                                                              \
        {.name = "rank_id", PS_FIELD(kernel_row, rank), .header = "Rank ID", .width = 10},         \
            {.name = "op_name", PS_FIELD(kernel_row, op), .header = "Op Name", .width = 40},       \
            {.name = "kernel_name",                                                                \
             PS_FIELD(kernel_row, kernel),                                                         \
             .header = "Kernel Name",                                                              \
             .width = 50},                                                                         \
            {.name = "kernel_start(ns)",                                                           \
             PS_FIELD(kernel_row, start),                                                          \
             .header = "Kernel Start(ns)",                                                         \
             .width = 22},                                                                         \
            {.name = "kernel_end(ns)",                                                             \
             PS_FIELD(kernel_row, end),                                                            \
             .header = "Kernel End(ns)",                                                           \
             .width = 22},                                                                         \
            {.name = "kernel_duration(ns)",                                                        \
             PS_FIELD_AS(PS_COL_REAL, kernel_row, dur_ns),                                         \
             .header = "Kernel Duration(ns)",                                                      \
             .width = 20},                                                                         \
            {.name = "mfu", PS_FIELD(kernel_row, mfu), .header = "MFU", .width = 10},              \
            {.name = "actual_tflops", PS_FIELD(kernel_row, tflops), .width = 15},                  \
            {.name = "chip_peak_tflops", PS_FIELD(kernel_row, peak_tflops), .width = 15},          \
            {.name = "flops", PS_FIELD(kernel_row, flops), .width = 15},                           \
            {.name = "flops_op_name", PS_FIELD(kernel_row, flops_name), .width = 40},              \
            {.name = "input_shapes", PS_FIELD(kernel_row, in_shapes), .width = 40}, {              \
            .name = "output_shapes", PS_FIELD(kernel_row, out_shapes), .width = 40                 \
        }                                                                                          \
    }

static const ps_column IN_DB[] = COLUMNS(start_ns, end_ns);
static const ps_column IN_FILES[] = COLUMNS(start_text, end_text);
#define N_COLUMNS (sizeof IN_DB / sizeof *IN_DB)

typedef struct source_row {
    int64_t rank, n;
    const char *kernel, *flops_name, *source;
    double flops;
} source_row;

static const ps_column SOURCES[] = {
    {.name = "rank_id", PS_FIELD(source_row, rank)},
    {.name = "kernel_name", PS_FIELD(source_row, kernel)},
    {.name = "flops_op_name", PS_FIELD(source_row, flops_name)},
    {.name = "source", PS_FIELD(source_row, source)},
    {.name = "kernel_count", PS_FIELD(source_row, n)},
    {.name = "flops", PS_FIELD(source_row, flops)},
};

typedef struct summary_row {
    int64_t rank, n_recorded, n_shapes, n_unknown, time_ns;
    double tflop, tflops, peak_tflops, mfu_percent;
    const char *peak_from;
} summary_row;

static const ps_column SUMMARY[] = {
    {.name = "rank", PS_FIELD(summary_row, rank)},
    {.name = "recorded", PS_FIELD(summary_row, n_recorded)},
    {.name = "from shapes", PS_FIELD(summary_row, n_shapes)},
    {.name = "unknown", PS_FIELD(summary_row, n_unknown)},
    {.name = "kernel time", PS_FIELD(summary_row, time_ns), .unit = PS_UNIT_NS},
    {.name = "TFLOP", PS_FIELD(summary_row, tflop)},
    {.name = "rate", PS_FIELD(summary_row, tflops), .unit = PS_UNIT_TFLOPS},
    {.name = "peak", PS_FIELD(summary_row, peak_tflops), .unit = PS_UNIT_TFLOPS},
    {.name = "MFU", PS_FIELD(summary_row, mfu_percent), .unit = PS_UNIT_PERCENT},
    {.name = "peak from", PS_FIELD(summary_row, peak_from)},
};

/* As Python's round(): the decimal that is nearest to the number itself. */
static double rounded(double value, int digits) {
    static const double POWERS[] = {1, 10, 100, 1000, 10000};
    double scaled = value * POWERS[digits];
    double whole = floor(scaled);
    if (value >= 0 && scaled < 1e9 && fabs(scaled - whole - 0.5) > 1e-6) { /* no matter of digits */
        return (scaled - whole > 0.5 ? whole + 1 : whole) / POWERS[digits];
    }
    char text[400];
    (void)snprintf(text, sizeof text, "%.*f", digits, value);
    return strtod(text, NULL);
}

static const char *op_mfu_text(const partial *part, ps_str text) {
    return ps_str_is_none(text) ? NULL : ps_strpool_get(&part->texts, text);
}

static void put_kernel(int64_t rank, const partial *part, const row *r, kernel_row *out) {
    int64_t dur = r->end_ns - r->start_ns;
    bool has_peak = r->f.peak_flop_s > 0;
    *out = (kernel_row){
        .rank = rank,
        .start_ns = r->start_ns,
        .end_ns = r->end_ns,
        .dur_ns = dur,
        .op = op_mfu_text(part, r->op),
        .kernel = op_mfu_text(part, r->kernel),
        .mfu = has_peak && dur > 0 ? rounded(ps_mfu_ratio(r->f, dur), 4) : NAN,
        .tflops = dur > 0 ? rounded(r->f.flops / (double)dur * 1e-3, 2) : NAN,
        .peak_tflops = has_peak ? rounded(r->f.peak_flop_s * 1e-12, 2) : NAN,
        .flops = r->f.flops,
        .flops_name = op_mfu_text(part, r->flops_name),
        .in_shapes = op_mfu_text(part, r->in_shapes),
        .out_shapes = op_mfu_text(part, r->out_shapes),
    };
    (void)snprintf(out->start_text, sizeof out->start_text, "%lld", (long long)r->start_ns);
    (void)snprintf(out->end_text, sizeof out->end_text, "%lld", (long long)r->end_ns);
}

static void put_sources(ps_table *t, int64_t rank, const partial *part) {
    for (size_t i = 0; i < part->n_sums; i++) {
        const source_sum *s = &part->sums[i];
        ps_table_put(t,
                     &(source_row){.rank = rank,
                                   .n = s->n,
                                   .kernel = ps_strpool_get(&part->texts, s->kernel),
                                   .flops_name = ps_strpool_get(&part->texts, s->flops_name),
                                   .source = s->source == PS_FLOPS_RECORDED ? "recorded" : "shapes",
                                   .flops = s->flops});
    }
}

/* Rate and MFU are sums over sums: FLOPs by time, FLOPs by time times peak. */
static void put_op_mfu_summary(ps_table *t, int64_t rank, const partial *part) {
    int64_t n_recorded = 0;
    int64_t time_ns = 0;
    double flops = 0;
    double measured = 0; /* FLOPs of kernels with a peak */
    double possible = 0;
    for (size_t i = 0; i < part->n; i++) {
        const row *r = &part->rows[i];
        int64_t dur = r->end_ns - r->start_ns;
        n_recorded += r->f.source == PS_FLOPS_RECORDED;
        time_ns = ps_i64_plus(time_ns, dur);
        flops += r->f.flops;
        measured += r->f.peak_flop_s > 0 ? r->f.flops : 0;
        possible += r->f.peak_flop_s * (double)dur * 1e-9;
    }
    bool has_peak = part->peak_flop_s > 0;
    ps_table_put(t, &(summary_row){.rank = rank,
                                   .n_recorded = n_recorded,
                                   .n_shapes = (int64_t)part->n - n_recorded,
                                   .n_unknown = part->n_unknown,
                                   .time_ns = time_ns,
                                   .tflop = flops * 1e-12,
                                   .tflops = time_ns > 0 ? flops / (double)time_ns * 1e-3 : NAN,
                                   .peak_tflops = has_peak ? part->peak_flop_s * 1e-12 : NAN,
                                   .mfu_percent = possible > 0 ? 100 * measured / possible : NAN,
                                   .peak_from = part->peak_from});
}

/* --- rows on demand ------------------------------------------------------------------------------------------- */

/* The kernels of some ranks as rows of one table. */
typedef struct kernel_rows {
    partial **parts;
    int64_t *ranks;
    size_t *ends; /* rows up to the end of each part */
    size_t n_parts;
} kernel_rows;

static void free_kernel_rows(void *context) {
    kernel_rows *k = context;
    if (k != NULL) {
        for (size_t i = 0; i < k->n_parts; i++) {
            free_op_mfu_partial(k->parts[i]);
        }
        ps_free(k->parts);
        ps_free(k->ranks);
        ps_free(k->ends);
        ps_free(k);
    }
}

static void fill_op_mfu_row(const void *context, size_t at, void *out) {
    const kernel_rows *k = context;
    size_t p = 0; /* the first that ends behind it */
    for (size_t high = k->n_parts - 1; p < high;) {
        size_t middle = p + (high - p) / 2;
        if (at < k->ends[middle]) {
            high = middle;
        } else {
            p = middle + 1;
        }
    }
    const partial *part = k->parts[p];
    put_kernel(k->ranks[p], part, &part->rows[at - (k->ends[p] - part->n)], out);
}

/* Of ranks first .. end; NULL when memory is out. */
static ps_table *kernel_table(const ps_reduce_input *in, const char *name, size_t first, size_t end,
                              bool as_text) {
    kernel_rows *k = ps_calloc(1, sizeof *k);
    if (k == NULL) {
        return NULL;
    }
    k->parts = ps_calloc(end - first + 1, sizeof *k->parts);
    k->ranks = ps_calloc(end - first + 1, sizeof *k->ranks);
    k->ends = ps_calloc(end - first + 1, sizeof *k->ends);
    if (k->parts == NULL || k->ranks == NULL || k->ends == NULL) {
        free_kernel_rows(k);
        return NULL;
    }
    size_t n = 0;
    for (size_t i = first; i < end; i++) {
        partial *part = in->partials[i];
        if (part != NULL) {
            part->n_users++;
            n += part->n;
            k->parts[k->n_parts] = part;
            k->ranks[k->n_parts] = in->ranks[i].rank;
            k->ends[k->n_parts++] = n;
        }
    }
    return ps_table_new_made(name, "", as_text ? IN_FILES : IN_DB, N_COLUMNS, n,
                             (ps_row_maker){.fill = fill_op_mfu_row,
                                            .row_size = sizeof(kernel_row),
                                            .context = k,
                                            .free_context = free_kernel_rows});
}

/* --- all ranks ------------------------------------------------------------------------------------------------ */

static void give_op_mfu(const ps_reduce_input *in, ps_table *t, uint32_t to, bool is_sheet) {
    if (t != NULL) {
        t->to = to;
        t->names_fixed = true;
        t->is_sheet = is_sheet;
    }
    ps_result_give(in->result, t);
}

/* What each rank has of two tables. */
static void give_op_mfu_sums(const ps_reduce_input *in, ps_table *t, uint32_t to, bool names_fixed,
                             void (*put)(ps_table *t, int64_t rank, const partial *part)) {
    for (size_t k = 0; k < in->n_ranks; k++) {
        if (in->partials[k] != NULL) {
            put(t, in->ranks[k].rank, in->partials[k]);
        }
    }
    if (t != NULL) {
        t->to = to;
        t->names_fixed = names_fixed;
    }
    ps_result_give(in->result, t);
}

static void give_rank_sheet(const ps_reduce_input *in, size_t k) {
    char name[64];
    (void)snprintf(name, sizeof name, "operator_mfu_kernel_%lld", (long long)in->ranks[k].rank);
    give_op_mfu(in, kernel_table(in, name, k, k + 1, true), PS_TO_FILES, true);
}

/* Of all ranks, or of rank `only`; none without modules. */
static void give_module_mfu(const ps_reduce_input *in, size_t only, bool is_sheet) {
    char name[64] = "ModuleMFU";
    bool any = false;
    bool any_mfu = false;
    for (size_t k = 0; k < in->n_ranks; k++) {
        const partial *part = in->partials[k];
        bool counts = part != NULL && (!is_sheet || k == only) && part->modules.n > 0;
        any = any || counts;
        any_mfu = any_mfu || (counts && part->modules.any_mfu);
    }
    if (!any) {
        return;
    }
    if (is_sheet) {
        (void)snprintf(name, sizeof name, "operator_mfu_module_%lld",
                       (long long)in->ranks[only].rank);
    }
    ps_table *t = ps_module_mfu_table(name, any_mfu);
    for (size_t k = 0; k < in->n_ranks; k++) {
        const partial *part = in->partials[k];
        if (part != NULL && (!is_sheet || k == only)) {
            ps_module_mfu_put(t, in->ranks[k].rank, &part->modules);
        }
    }
    give_op_mfu(in, t, is_sheet ? PS_TO_FILES : PS_TO_DB, is_sheet);
}

static ps_code reduce_op_mfu(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_table *summary =
        ps_table_new("OperatorMfuSummary", "kernels that multiply matrices", PS_COLUMNS(SUMMARY));
    ps_table *sources = ps_table_new("KernelFlops", "", PS_COLUMNS(SOURCES));
    give_op_mfu_sums(in, summary, PS_TO_ALL, false, put_op_mfu_summary);
    give_op_mfu(in, kernel_table(in, "OperatorMFU", 0, in->n_ranks, false), PS_TO_DB, false);
    give_op_mfu_sums(in, sources, PS_TO_DB | PS_TO_FILES, true, put_sources);
    give_module_mfu(in, 0, false);
    for (size_t k = 0; k < in->n_ranks; k++) {
        if (in->partials[k] != NULL) {
            give_rank_sheet(in, k);
        }
        give_module_mfu(in, k, true);
    }
    return ps_result_code(in->result, err);
}

static void op_mfu_row_archive(ps_archive *a, void *of) {
    row *x = of;
    PS_ARCHIVE(a, x, start_ns, end_ns, f.flops, f.shape_flops, f.peak_flop_s, f.bytes, f.bytes_s,
               f.source, op, kernel, flops_name, in_shapes, out_shapes);
}

static void source_sum_archive(ps_archive *a, void *sum) {
    source_sum *x = sum;
    PS_ARCHIVE(a, x, kernel, flops_name, source, n, flops);
}

static void archive_op_mfu_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x == NULL) {
        return;
    }
    x->n_users = ps_archive_is_reading(a) ? 1 : x->n_users;
    (void)ps_archive_use_pool(a, &x->texts);
    PS_ARCHIVE_ARRAY(a, x, rows, n, op_mfu_row_archive);
    PS_ARCHIVE_ARRAY(a, x, sums, n_sums, source_sum_archive);
    ps_module_mfu_archive(a, &x->modules);
    PS_ARCHIVE(a, x, n_unknown, peak_flop_s, peak_from);
}

static const ps_round ROUNDS[] = {{.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES |
                                            PS_NEED_FLOWS | PS_NEED_ARGS | PS_NEED_MARKS |
                                            PS_NEED_STATISTICS,
                                   .map = map_op_mfu,
                                   .reduce = reduce_op_mfu}};

const ps_analysis ps_analysis_operator_mfu = {
    .name = "operator_mfu",
    .folder = "OperatorMfu",
    .summary = "FLOPs and share of the chip's peak of kernels that multiply matrices",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_op_mfu_partial,
    .archive = archive_op_mfu_partial,
};
