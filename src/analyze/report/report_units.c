/* Which units bound the kernels, which kernels use a part of the cores, and which of graphs run with dynamic shapes. */
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

/* A kind of kernels on one rank, by what of its time the rule counts. */
typedef struct unit_row {
    const ps_report_kernel *kernel;
    int64_t rank, ns;
} unit_row;

static int64_t moving_ns(const ps_report_kernel *k) {
    return k->bound_ns[PS_BOUND_MEMORY];
}
static int64_t counting_ns(const ps_report_kernel *k) {
    return k->bound_ns[PS_BOUND_SCALAR];
}
static int64_t dynamic_ns(const ps_report_kernel *k) {
    return k->dynamic_ns;
}
static int64_t few_blocks_ns(const ps_report_kernel *k) {
    return k->few_blocks_ns;
}

PS_COMPARE(compare_units, unit_row,
           PS_BY_DOWN(ns) PS_BY_TEXT(kernel->type) PS_BY_TEXT(kernel->shapes) PS_BY(rank))

/* The kinds of which anything counts, the most first; NULL when memory is out. */
static unit_row *rank_units(const ps_report *r, int64_t (*of)(const ps_report_kernel *),
                            size_t *n) {
    size_t most = 0;
    for (size_t m = 0; m < r->n_members; m++) {
        most += r->members[m].facts->n_kernels;
    }
    unit_row *rows = ps_calloc(most + 1, sizeof *rows);
    *n = 0;
    for (size_t m = 0; rows != NULL && m < r->n_members; m++) {
        for (size_t k = 0; k < r->members[m].facts->n_kernels; k++) {
            const ps_report_kernel *kernel = &r->members[m].facts->kernels[k];
            if (of(kernel) > 0) {
                rows[(*n)++] = (unit_row){kernel, r->members[m].rank, of(kernel)};
            }
        }
    }
    ps_sort(rows, *n, sizeof *rows, compare_units);
    return rows;
}

static int64_t sum_computing_ns(const ps_report *r) {
    int64_t sum_ns = 0;
    for (size_t m = 0; m < r->n_members; m++) {
        sum_ns = ps_i64_plus(sum_ns, r->members[m].facts->kernels_ns);
    }
    return sum_ns;
}

static void show_unit(ps_report *r, const unit_row *row, const char *note) {
    ps_findings_evidence(&r->findings, (ps_evidence){.rank = row->rank,
                                                     .step = row->kernel->longest_step,
                                                     .start_ns = row->kernel->longest_start_ns,
                                                     .dur_ns = row->kernel->longest_ns,
                                                     .name = row->kernel->name,
                                                     .note = note});
}

/* --- units ----------------------------------------------------------------------------------------------------------- */

static const char *const UNITS[PS_N_REPORT_BOUNDS][PS_N_LANGS] = {
    [PS_BOUND_CUBE] = {"the cube unit", "cube 单元"},
    [PS_BOUND_VECTOR] = {"the vector unit", "vector 单元"},
    [PS_BOUND_MEMORY] = {"moving data", "数据搬运"},
    [PS_BOUND_SCALAR] = {"the scalar unit", "scalar 单元"},
    [PS_BOUND_NONE] = {"no unit", "没有单元"},
};

static void sum_bounds(const ps_report *r, int64_t out[PS_N_REPORT_BOUNDS]) {
    for (size_t m = 0; m < r->n_members; m++) {
        for (size_t k = 0; k < r->members[m].facts->n_kernels; k++) {
            for (size_t b = 0; b < PS_N_REPORT_BOUNDS; b++) {
                out[b] = ps_i64_plus(out[b], r->members[m].facts->kernels[k].bound_ns[b]);
            }
        }
    }
}

static void say_bounds(ps_lang lang, const int64_t ns[PS_N_REPORT_BOUNDS], int64_t all_ns,
                       char *out, size_t size) {
    size_t n = 0;
    for (size_t b = 0; b < PS_N_REPORT_BOUNDS && n < size; b++) {
        int more =
            snprintf(out + n, size - n, "%s%s %.1f %%", b > 0 ? PS_SAY(lang, ", ", "、") : "",
                     UNITS[b][lang], ps_percent(ns[b], all_ns));
        n += more > 0 ? (size_t)more : 0;
    }
}

static void find_units(ps_report *r, int64_t all_ns) {
    const ps_lang lang = r->findings.lang;
    int64_t ns[PS_N_REPORT_BOUNDS] = {0};
    sum_bounds(r, ns);
    bool is_scalar = ns[PS_BOUND_SCALAR] > ns[PS_BOUND_MEMORY];
    double share = ps_percent(ns[is_scalar ? PS_BOUND_SCALAR : PS_BOUND_MEMORY], all_ns);
    if (!ps_rule_fires(&r->findings, PS_RULE_UNIT_BOUND, share)) {
        return;
    }
    char units[240] = "";
    size_t n = 0;
    unit_row *rows = rank_units(r, is_scalar ? counting_ns : moving_ns, &n);
    r->findings.failed = r->findings.failed || rows == NULL;
    say_bounds(lang, ns, all_ns, units, sizeof units);
    ps_findings_add(
        &r->findings,
        (ps_finding){.rule = PS_RULE_UNIT_BOUND,
                     .title = is_scalar ? PS_SAY(lang, "Kernels whose scalar unit is the busiest",
                                                 "scalar 单元最忙的核函数")
                                        : NULL,
                     .rank = -1,
                     .stage = -1,
                     .value = share},
        PS_SAY(
            lang,
            "By the counters of the kernels their busiest unit is, in shares of the computing: %s (none works for half of "
            "the time).",
            "按核函数的计数器，其最忙的单元占计算的比例为：%s（“没有单元”指没有单元工作超过一半时间）。"),
        units);
    if (is_scalar) {
        ps_findings_remedy(
            &r->findings,
            PS_SAY(
                lang,
                "Scalar work is that of small or odd shapes: larger ones, and last dimensions that are "
                "multiples of 32 bytes.",
                "scalar 工作来自小的或不规则的形状：使用更大的形状，末维取 32 字节的整数倍。"));
    }
    for (size_t i = 0; rows != NULL && i < n && i < PS_EVIDENCE_MAX; i++) {
        const ps_report_kernel *k = rows[i].kernel;
        char note[160];
        (void)snprintf(
            note, sizeof note,
            PS_SAY(lang, "longest of %lld of its shape on the rank, together %s; busiest is %s",
                   "该 rank 上同形状 %lld 个中最长的一个，合计 %s；最忙的是%s"),
            (long long)k->n, ps_ns_text_of(k->sum_ns).text,
            UNITS[is_scalar ? PS_BOUND_SCALAR : PS_BOUND_MEMORY][lang]);
        show_unit(r, &rows[i], note);
    }
    ps_free(rows);
}

/* --- blocks ---------------------------------------------------------------------------------------------------------- */

static void find_few_blocks(ps_report *r, int64_t all_ns) {
    const ps_lang lang = r->findings.lang;
    int64_t sum_ns = 0;
    size_t n = 0;
    unit_row *rows = rank_units(r, few_blocks_ns, &n);
    r->findings.failed = r->findings.failed || rows == NULL;
    for (size_t i = 0; rows != NULL && i < n; i++) {
        sum_ns = ps_i64_plus(sum_ns, rows[i].ns);
    }
    double share = ps_percent(sum_ns, all_ns);
    if (rows == NULL || n == 0 || !ps_rule_fires(&r->findings, PS_RULE_FEW_BLOCKS, share)) {
        ps_free(rows);
        return;
    }
    ps_findings_add(
        &r->findings,
        (ps_finding){.rule = PS_RULE_FEW_BLOCKS, .rank = -1, .stage = -1, .value = share},
        PS_SAY(
            lang,
            "Kernels with fewer blocks than the %lld cores of the chip take %.1f %% of the computing.",
            "块数少于芯片核数（%lld）的核函数占计算的 %.1f %%。"),
        (long long)rows[0].kernel->n_cores, share);
    for (size_t i = 0; i < n && i < PS_EVIDENCE_MAX; i++) {
        char note[160];
        (void)snprintf(
            note, sizeof note,
            PS_SAY(lang,
                   "%lld block%s at most; longest of %lld of its shape on the rank, together %s",
                   "最多 %lld 块%.0s；该 rank 上同形状 %lld 个中最长的一个，合计 %s"),
            (long long)rows[i].kernel->n_blocks, rows[i].kernel->n_blocks == 1 ? "" : "s",
            (long long)rows[i].kernel->n, ps_ns_text_of(rows[i].kernel->sum_ns).text);
        show_unit(r, &rows[i], note);
    }
    ps_free(rows);
}

/* --- states ---------------------------------------------------------------------------------------------------------- */

static void find_dynamic(ps_report *r, int64_t all_ns) {
    const ps_lang lang = r->findings.lang;
    int64_t sum_ns = 0;
    int64_t in_graphs_ns = 0;
    size_t n = 0;
    unit_row *rows = rank_units(r, dynamic_ns, &n);
    r->findings.failed = r->findings.failed || rows == NULL;
    for (size_t i = 0; rows != NULL && i < n; i++) {
        sum_ns = ps_i64_plus(sum_ns, rows[i].ns);
    }
    double share = ps_percent(sum_ns, all_ns);
    if (n == 0 || !ps_rule_fires(&r->findings, PS_RULE_DYNAMIC_SHAPES, share)) {
        ps_free(rows);
        return;
    }
    for (size_t m = 0; m < r->n_members; m++) {
        for (size_t k = 0; k < r->members[m].facts->n_kernels; k++) {
            in_graphs_ns = ps_i64_plus(in_graphs_ns, r->members[m].facts->kernels[k].in_graph_ns);
        }
    }
    ps_findings_add(
        &r->findings,
        (ps_finding){.rule = PS_RULE_DYNAMIC_SHAPES, .rank = -1, .stage = -1, .value = share},
        PS_SAY(
            lang,
            "Kernels of graphs that ran with dynamic shapes take %.1f %% of the computing, and %.1f %% of that of graphs.",
            "以动态形状运行的图的核函数占计算的 %.1f %%，占图内计算的 %.1f %%。"),
        share, ps_percent(sum_ns, in_graphs_ns));
    for (size_t i = 0; i < n && i < PS_EVIDENCE_MAX; i++) {
        const ps_report_kernel *k = rows[i].kernel;
        char note[220];
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "%.80s: %lld dynamic of %lld, %s of %s",
                              "%.80s：%lld 个动态（共 %lld 个），%s（共 %s）"),
                       k->type, (long long)k->n_dynamic, (long long)k->n,
                       ps_ns_text_of(k->dynamic_ns).text, ps_ns_text_of(k->sum_ns).text);
        show_unit(r, &rows[i], note);
    }
    ps_free(rows);
}

void ps_report_units(ps_report *report) {
    int64_t all_ns = sum_computing_ns(report);
    find_units(report, all_ns);
    find_dynamic(report, all_ns);
    find_few_blocks(report, all_ns);
}
