/* FLOPs that cannot be: more than the chip's peak, or recorded ones that contradict the shapes. That is told, and not judged. */
#include <stdio.h>

#include "analyze/report/report_compute.h"

static double raw_mfu(const ps_compute_kind *k) {
    return k->peak_flops > 0 ? 100 * k->flops / k->peak_flops : 0;
}

/* Of several kernels the first that differs stands for them. */
static void show_odd_flops(ps_compute *c, const ps_compute_kind *k) {
    const ps_lang lang = c->report->findings.lang;
    char note[160];
    char first[64] = "";
    if (k->odd.n > 1) {
        (void)snprintf(
            first, sizeof first,
            PS_SAY(lang, "first of %lld that differ: together ", "%lld 个不一致者中的第一个：合计"),
            (long long)k->odd.n);
    }
    (void)snprintf(note, sizeof note,
                   PS_SAY(lang, "%srecorded %.3g FLOPs, by %s shapes %.3g",
                          "%s记录为 %.3g FLOPs，按%s形状为 %.3g"),
                   first, k->odd.recorded,
                   k->odd.n > 1 ? PS_SAY(lang, "their", "各自") : PS_SAY(lang, "its", "其"),
                   k->odd.by_shapes);
    ps_findings_evidence(&c->report->findings, (ps_evidence){.rank = k->odd_where->rank,
                                                             .step = k->odd.step,
                                                             .start_ns = k->odd.start_ns,
                                                             .dur_ns = k->odd.dur_ns,
                                                             .name = k->odd.name,
                                                             .note = note});
}

static void show_doubtful_flops(ps_compute *c, double limit) {
    for (size_t i = 0; i < c->n_kinds; i++) {
        if (raw_mfu(&c->kinds[i]) > limit) {
            ps_compute_show_mfu(c, &c->kinds[i]);
        }
        if (ps_compute_is_odd(&c->kinds[i])) {
            show_odd_flops(c, &c->kinds[i]);
        }
    }
}

/* What is over its limit: an MFU, a factor, or both. */
static void say_here(ps_lang lang, double mfu, bool is_over, double times, char *out, size_t size) {
    char factor[32] = "";
    if (times > 0) {
        (void)snprintf(factor, sizeof factor, PS_SAY(lang, "%s%.4g times", "%s%.4g 倍"),
                       is_over ? PS_SAY(lang, " and ", "，") : "", times);
    }
    if (is_over) {
        (void)snprintf(out, size, "%.4g %%%s", mfu, factor);
    } else {
        (void)snprintf(out, size, "%s", factor);
    }
}

void ps_compute_find_doubtful_flops(ps_compute *c) {
    const ps_lang lang = c->report->findings.lang;
    ps_findings *f = &c->report->findings;
    double limit = f->thresholds[PS_RULE_FLOPS_DOUBT];
    double most = 0;
    double times = 0;
    size_t n_over = 0;
    size_t n_odd = 0;
    for (size_t i = 0; i < c->n_kinds; i++) {
        const ps_compute_kind *k = &c->kinds[i];
        most = raw_mfu(k) > most ? raw_mfu(k) : most;
        times = k->odd.times > times ? k->odd.times : times;
        n_over += raw_mfu(k) > limit;
        n_odd += ps_compute_is_odd(k);
    }
    if (n_over + n_odd == 0) {
        return;
    }
    char over[128] = "";
    char odd[160] = "";
    char here[64];
    if (n_over > 0) {
        (void)snprintf(over, sizeof over,
                       PS_SAY(lang, "%zu kind%s of kernels would have an MFU of up to %.1f %%. ",
                              "%zu 类%.0s核函数的 MFU 将达到 %.1f %%。"),
                       n_over, n_over == 1 ? "" : "s", most);
    }
    if (n_odd > 0) {
        (void)snprintf(
            odd, sizeof odd,
            PS_SAY(lang,
                   "The recorded FLOPs of kernels of %zu kind%s differ from those of the shapes "
                   "by more than 1.5 times. ",
                   "%zu 类%.0s核函数所记录的 FLOPs 与按形状计算的相差 1.5 倍以上。"),
            n_odd, n_odd == 1 ? "" : "s");
    }
    ps_findings_add(
        f, (ps_finding){.rule = PS_RULE_FLOPS_DOUBT, .rank = -1, .stage = -1, .value = most},
        PS_SAY(lang, "%s%sHow near the peak these come is not judged.",
               "%s%s它们离峰值多远不作判断。"),
        over, odd);
    say_here(lang, most, n_over > 0, times, here, sizeof here);
    ps_findings_here(f, here);
    show_doubtful_flops(c, limit);
}
