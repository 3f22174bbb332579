/* Matrix kernels that memory bounds: their MFU is low whatever their shapes are tiled to. */
#include <stdio.h>

#include "analyze/report/report_compute.h"

bool ps_compute_is_memory_bound(const ps_compute_kind *k) {
    return k->memory_ns > k->sum_ns / 2;
}

static void show_memory_bound(ps_compute *c, const ps_compute_kind *k) {
    const ps_lang lang = c->report->findings.lang;
    char note[160];
    double seconds = (double)k->memory_ns / 1e9;
    (void)snprintf(
        note, sizeof note,
        PS_SAY(lang, "%.3g operations a byte; %.3g of %.3g GB/s reached, longest of %lld",
               "每字节 %.3g 次运算；达到 %.3g GB/s（峰值 %.3g GB/s），%lld 个中最长的一个"),
        k->memory_flops / k->memory_bytes, k->memory_bytes / seconds / 1e9, k->one->bytes_s / 1e9,
        (long long)k->n);
    ps_compute_show_kind(c, k, note);
}

void ps_compute_find_memory_bound(ps_compute *c) {
    const ps_lang lang = c->report->findings.lang;
    ps_findings *f = &c->report->findings;
    const ps_compute_kind *first = NULL;
    int64_t sum_ns = 0;
    size_t n = 0;
    for (size_t i = 0; i < c->n_kinds; i++) {
        const ps_compute_kind *k = &c->kinds[i];
        if (ps_compute_is_memory_bound(k)) {
            sum_ns = ps_i64_plus(sum_ns, k->memory_ns);
            first = first == NULL ? k : first; /* kinds stand by their time */
            n++;
        }
    }
    char shape[PS_SHAPE_TEXT];
    double share = ps_percent(sum_ns, c->sum_ns);
    if (first == NULL || !ps_rule_fires(f, PS_RULE_MEMORY_BOUND, share)) {
        return;
    }
    ps_findings_add(
        f, (ps_finding){.rule = PS_RULE_MEMORY_BOUND, .rank = -1, .stage = -1, .value = share},
        PS_SAY(
            lang,
            "Memory bounds %zu kind%s of matrix kernels, %.1f %% of the computing (%s in a step of the mean "
            "rank), most of it %.100s%s: its tensors have too few operations for each byte to keep "
            "the chip busy.",
            "%zu 类%.0s矩阵核函数受内存带宽限制，占计算的 %.1f %%（平均每个 rank 每个 step %s），其中最多的是 %.100s%s：其张量每字节的运算太少，无法使芯片满载。"),
        n, n == 1 ? "" : "s", share, ps_ns_text_of(ps_compute_mean_step_ns(c, sum_ns)).text,
        first->one->type, ps_compute_shape_text(lang, first, shape));
    for (size_t i = 0; i < c->n_kinds; i++) {
        if (ps_compute_is_memory_bound(&c->kinds[i])) {
            show_memory_bound(c, &c->kinds[i]);
        }
    }
}
