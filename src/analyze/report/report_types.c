/* Kernels by type, whatever their shapes: which type takes most of the computing, and what conversions take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report_advice.h"
#include "analyze/report/report_compute.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/text.h"

/* Kinds of one type. */
typedef struct kernel_type {
    const ps_compute_kind *top; /* the shape that takes most */
    size_t n_shapes;
    int64_t n, sum_ns;
} kernel_type;

/* By type, within one by time. */
PS_COMPARE_POINTERS(compare_by_type, ps_compute_kind,
                    PS_BY_TEXT(one->type) PS_BY_DOWN(sum_ns) PS_BY_TEXT(one->shapes))

PS_COMPARE(compare_types, kernel_type, PS_BY_DOWN(sum_ns) PS_BY_TEXT(top->one->type))

/* The types, the one that takes most first; NULL when memory is out. The caller frees it with ps_free(). */
static kernel_type *types_of(const ps_compute *c, size_t *n) {
    const ps_compute_kind **order = ps_calloc(c->n_kinds + 1, sizeof *order);
    kernel_type *types = order != NULL ? ps_calloc(c->n_kinds + 1, sizeof *types) : NULL;
    *n = 0;
    if (types == NULL) {
        ps_free(order);
        return NULL;
    }
    for (size_t i = 0; i < c->n_kinds; i++) {
        order[i] = &c->kinds[i];
    }
    qsort(order, c->n_kinds, sizeof *order, compare_by_type);
    for (size_t i = 0; i < c->n_kinds; i++) {
        if (i == 0 || strcmp(order[i]->one->type, order[i - 1]->one->type) != 0) {
            types[(*n)++].top = order[i];
        }
        kernel_type *t = &types[*n - 1];
        t->n_shapes++;
        t->n += order[i]->n;
        t->sum_ns = ps_i64_plus(t->sum_ns, order[i]->sum_ns);
    }
    ps_free(order);
    qsort(types, *n, sizeof *types, compare_types);
    return types;
}

#define LARGE_TILE 128

/* By the type, or by the call that it is named after where no type was collected. */
static bool is_foreach(const char *type) {
    return ps_begins_with(type, "Foreach") || ps_begins_with(type, "aclnnForeach");
}

/* Tiles are those of products; what takes no product takes as long as its tensors are large, each time that it is launched. */
static const char *advice_of_top(ps_lang lang, const ps_report_kernel *k) {
    switch (k->family) {
    case PS_FAMILY_TENSOR_MOVE:
        return PS_SAY(
            lang,
            "It computes nothing: look at the operators that launch it, and which of its copies are needed.",
            "它不做计算：看哪些算子下发它，以及哪些拷贝是必需的。");
    case PS_FAMILY_OTHER:
        return k->is_vector && is_foreach(k->type)
                   ? PS_SAY(
                         lang,
                         "It takes many tensors at once already: what counts is how often their bytes are read and written. A "
                         "fused optimiser reads and writes each once a step; narrower types; fewer parameters that are trained.",
                         "它已一次处理多个张量：关键在于其字节被读写多少次。融合优化器每个 step 只读写一次；使用更窄的类型；减少训练的参数。")
               : k->is_vector
                   ? PS_SAY(
                         lang,
                         "It multiplies no matrices: what counts is how often it reads and writes its tensors. One kernel "
                         "for several of them (fused operators, foreach or fused optimisers), narrower types, fewer calls.",
                         "它不做矩阵乘：关键在于读写张量的次数。用一个核函数处理多个张量（融合算子、foreach 或融合优化器），更窄的类型，更少的调用。")
                   : NULL;
    default:
        return k->shapes[0] != '\0' && !ps_report_has_odd_size(k->shapes, LARGE_TILE)
                   ? PS_SAY(
                         lang,
                         "Any gain here counts most: a fused or tuned kernel, another layout. Its sizes are multiples of a "
                         "tile already.",
                         "此处的任何收益都最有价值：融合或调优的核函数、另一种布局。其大小已是分块的整数倍。")
                   : NULL;
    }
}

static void say_top(ps_compute *c, const kernel_type *t, double share) {
    const ps_lang lang = c->report->findings.lang;
    const char *shapes = t->top->one->shapes;
    char most[192] = "";
    if (t->n_shapes > 1) {
        (void)snprintf(most, sizeof most,
                       PS_SAY(lang, " %zu shapes; most of it %.80s%s: %.1f %%.",
                              "共 %zu 种形状；其中最多的是 %.80s%s：%.1f %%。"),
                       t->n_shapes,
                       shapes[0] != '\0' ? shapes : PS_SAY(lang, "without a shape", "没有形状"),
                       strlen(shapes) > 80 ? "..." : "", ps_percent(t->top->sum_ns, c->sum_ns));
    }
    bool one = t->n_shapes == 1 && shapes[0] != '\0';
    ps_findings_add(
        &c->report->findings,
        (ps_finding){.rule = PS_RULE_TOP_KERNEL, .rank = -1, .stage = -1, .value = share},
        PS_SAY(
            lang,
            "%.100s%s%.80s%s takes %.1f %% of the computing. On average over ranks and steps that is %s in a step, "
            "in %.4g kernel%s.%s",
            "%.100s%s%.80s%s占计算的 %.1f %%。按 rank 与 step 平均，每个 step 用时 %s，%.4g 个核函数%.0s。%s"),
        t->top->one->type, one ? PS_SAY(lang, " of ", "，形状 ") : "", one ? shapes : "",
        one && strlen(shapes) > 80 ? "..." : "", share,
        ps_ns_text_of(ps_compute_mean_step_ns(c, t->sum_ns)).text, ps_compute_mean_count(c, t->n),
        ps_compute_mean_count(c, t->n) == 1 ? "" : "s", most);
    const char *advice = advice_of_top(lang, t->top->one);
    if (advice != NULL) {
        ps_findings_remedy(&c->report->findings, advice);
    }
}

/* No gain: that it takes long is no fault. */
void ps_compute_find_top(ps_compute *c) {
    const ps_lang lang = c->report->findings.lang;
    size_t n = 0;
    kernel_type *types = types_of(c, &n);
    if (types == NULL) {
        c->report->findings.failed = true;
        return;
    }
    double share = n > 0 ? ps_percent(types[0].sum_ns, c->sum_ns) : 0;
    if (c->n_kinds > 1 && ps_rule_fires(&c->report->findings, PS_RULE_TOP_KERNEL, share)) {
        say_top(c, &types[0], share);
        double least = c->report->findings.thresholds[PS_RULE_TOP_KERNEL];
        for (size_t i = 0; i < n && i < PS_EVIDENCE_MAX; i++) {
            if (ps_percent(types[i].sum_ns, c->sum_ns) <= least) {
                break; /* the most first */
            }
            char note[128];
            char shapes[48] = "";
            if (types[i].n_shapes > 1) {
                (void)snprintf(shapes, sizeof shapes,
                               PS_SAY(lang, " in %zu shapes", "，%zu 种形状"), types[i].n_shapes);
            }
            (void)snprintf(note, sizeof note,
                           PS_SAY(lang, "one of %.4g in a step%s, %.1f %% of the computing",
                                  "每个 step %.4g 个之一%s，占计算的 %.1f %%"),
                           ps_compute_mean_count(c, types[i].n), shapes,
                           ps_percent(types[i].sum_ns, c->sum_ns));
            ps_compute_show_kind(c, types[i].top, note);
        }
    }
    ps_free(types);
}

/* --- conversions ----------------------------------------------------------------------------------------------------- */

static int64_t conversions_ns(const ps_compute_kind *k) {
    return ps_i64_plus(k->conversion_ns[PS_CONVERSION_LAYOUT],
                       k->conversion_ns[PS_CONVERSION_NUMBERS]);
}

PS_COMPARE_POINTERS(compare_conversions, ps_compute_kind,
                    PS_BY_VALUE_DOWN(conversions_ns) PS_BY_TEXT(one->type) PS_BY_TEXT(one->shapes))

static void show_conversions(ps_compute *c) {
    const ps_lang lang = c->report->findings.lang;
    const ps_compute_kind **order = ps_calloc(c->n_kinds + 1, sizeof *order);
    if (order == NULL) {
        c->report->findings.failed = true;
        return;
    }
    for (size_t i = 0; i < c->n_kinds; i++) {
        order[i] = &c->kinds[i];
    }
    qsort(order, c->n_kinds, sizeof *order, compare_conversions);
    for (size_t i = 0; i < c->n_kinds && i < PS_EVIDENCE_MAX && conversions_ns(order[i]) > 0; i++) {
        char note[200];
        int64_t n = order[i]->n_conversions[PS_CONVERSION_LAYOUT] +
                    order[i]->n_conversions[PS_CONVERSION_NUMBERS];
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "%.80s: %.4g conversions in a step, %.1f %% of the computing",
                              "%.80s：每个 step %.4g 次转换，占计算的 %.1f %%"),
                       order[i]->one->shapes[0] != '\0' ? order[i]->one->shapes
                                                        : PS_SAY(lang, "shape unknown", "形状未知"),
                       ps_compute_mean_count(c, n),
                       ps_percent(conversions_ns(order[i]), c->sum_ns));
        ps_compute_show_kind(c, order[i], note);
    }
    ps_free(order);
}

enum { UNPAID_CONVERSIONS_TEXT = 400 };

/* What of the conversions is in the gain, in a step, where that is not all of them; else "". */
static const char *unpaid_conversions_text(ps_lang lang, int64_t all_ns, int64_t pays_ns,
                                           int64_t launches_ns, char out[UNPAID_CONVERSIONS_TEXT]) {
    char launches[240] = "";
    out[0] = '\0';
    if (launches_ns > 0) {
        (void)snprintf(
            launches, sizeof launches,
            PS_SAY(
                lang,
                " and, for the kernels behind which the device waits for the host, the %s of their launch "
                "calls alone (what the host prepares between calls may go, too: no record says for what it is)",
                "；以及设备在其后等待主机的核函数，仅其下发调用的 %s（主机在调用之间的准备也可能省去：没有记录说明其用途）"),
            ps_ns_text_of(launches_ns).text);
    }
    if (pays_ns < all_ns) {
        (void)snprintf(
            out, UNPAID_CONVERSIONS_TEXT,
            PS_SAY(
                lang,
                " In the gain are %s of them%s: what lies beside communication shortens no step.",
                "收益中计入其中 %s%s：与通信并行的部分不会缩短任何 step。"),
            ps_ns_text_of(pays_ns).text, launches);
    }
    return out;
}

void ps_compute_find_conversion(ps_compute *c) {
    const ps_lang lang = c->report->findings.lang;
    int64_t sums[PS_N_CONVERSIONS] = {0};
    int64_t n[PS_N_CONVERSIONS] = {0};
    int64_t pays_ns = 0;
    int64_t launches_ns = 0;
    char unpaid[UNPAID_CONVERSIONS_TEXT];
    for (size_t i = 0; i < c->n_kinds; i++) {
        for (size_t what = 0; what < PS_N_CONVERSIONS; what++) {
            sums[what] = ps_i64_plus(sums[what], c->kinds[i].conversion_ns[what]);
            n[what] += c->kinds[i].n_conversions[what];
        }
        pays_ns = ps_i64_plus(pays_ns, c->kinds[i].conversion_pays_ns);
        launches_ns = ps_i64_plus(launches_ns, c->kinds[i].conversion_launches_ns);
    }
    int64_t all_ns = ps_i64_plus(sums[PS_CONVERSION_LAYOUT], sums[PS_CONVERSION_NUMBERS]);
    double share = ps_percent(all_ns, c->sum_ns);
    if (!ps_rule_fires(&c->report->findings, PS_RULE_CONVERSION, share)) {
        return;
    }
    ps_findings_add(
        &c->report->findings,
        (ps_finding){.rule = PS_RULE_CONVERSION,
                     .rank = -1,
                     .stage = -1,
                     .gain_ns = ps_compute_mean_step_ns(c, ps_i64_plus(pays_ns, launches_ns)),
                     .launches_ns = ps_compute_mean_step_ns(c, launches_ns),
                     .value = share},
        PS_SAY(
            lang,
            "Conversions take %.1f %% of the computing. On average over ranks and steps that is %s in a step: %.1f %% "
            "for layout in %.4g kernels, %.1f %% for types of numbers in %.4g.%s",
            "转换占计算的 %.1f %%。按 rank 与 step 平均，每个 step 用时 %s：布局转换 %.1f %%（%.4g 个核函数），数值类型转换 %.1f %%（%.4g 个）。%s"),
        share, ps_ns_text_of(ps_compute_mean_step_ns(c, all_ns)).text,
        ps_percent(sums[PS_CONVERSION_LAYOUT], c->sum_ns),
        ps_compute_mean_count(c, n[PS_CONVERSION_LAYOUT]),
        ps_percent(sums[PS_CONVERSION_NUMBERS], c->sum_ns),
        ps_compute_mean_count(c, n[PS_CONVERSION_NUMBERS]),
        unpaid_conversions_text(lang, ps_compute_mean_step_ns(c, all_ns),
                                ps_compute_mean_step_ns(c, pays_ns),
                                ps_compute_mean_step_ns(c, launches_ns), unpaid));
    char advice[PS_ADVICE_TEXT];
    ps_findings_remedy(&c->report->findings,
                       ps_report_conversion_advice(c->report, sums[PS_CONVERSION_LAYOUT],
                                                   sums[PS_CONVERSION_NUMBERS], advice,
                                                   sizeof advice));
    show_conversions(c);
    for (size_t m = 0; m < c->report->n_members; m++) {
        const ps_intervals *spans = &c->report->members[m].facts->conversion_spans;
        for (size_t i = 0; i < spans->n; i++) {
            ps_findings_span_on(&c->report->findings, m, spans->at[i].start_ns,
                                spans->at[i].end_ns);
        }
    }
}
