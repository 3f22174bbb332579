/* Sequences of kernels that one fused operator could replace: report_fusion.def. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/kernel_args.h"
#include "analyze/report/report.h"
#include "base/alloc.h"

static const struct {
    const char *types, *fused;
} SEQUENCES[PS_N_FUSIONS] = {
#define X(types_, fused_, from_, read_) {types_, fused_},
#include "analyze/report/report_fusion.def"
#undef X
};

/* --- one rank --------------------------------------------------------------------------------------------------------- */

#define LONGEST 8 /* kernels of a sequence */

/* The last kernels of one track, the newest behind. */
typedef struct tail {
    uint32_t slices[LONGEST];
    const char *types[LONGEST];
    size_t n;
} tail;

static void push_fusion(tail *t, uint32_t slice, const char *type) {
    if (t->n == LONGEST) {
        memmove(t->slices, t->slices + 1, (LONGEST - 1) * sizeof *t->slices);
        memmove(t->types, t->types + 1, (LONGEST - 1) * sizeof *t->types);
        t->n--;
    }
    t->slices[t->n] = slice;
    t->types[t->n++] = type;
}

/* How many kernels the sequence has if the tail ends with it, else 0. */
static size_t fusion_ends_with(const tail *t, const char *types) {
    size_t n = 1;
    for (const char *at = types; *at != '\0'; at++) {
        n += *at == ',';
    }
    const char *at = types;
    for (size_t i = 0; i < n && n <= t->n; i++) {
        size_t len = strcspn(at, ",");
        const char *type = t->types[t->n - n + i];
        if (strlen(type) != len || memcmp(type, at, len) != 0) {
            return 0;
        }
        at += len + 1;
    }
    return n <= t->n ? n : 0;
}

static void count_fusion(const ps_links *links, const tail *t, size_t n, ps_report_rank *r,
                         ps_report_fusion *f) {
    const ps_slices *s = ps_trace_slices(links->trace);
    int64_t sum_ns = 0;
    for (size_t i = t->n - n; i < t->n; i++) {
        sum_ns = ps_i64_plus(sum_ns, s->dur_ns[t->slices[i]]);
    }
    f->n++;
    f->ns = ps_i64_plus(f->ns, sum_ns);
    if (sum_ns > f->longest_ns || f->n == 1) {
        uint32_t first = t->slices[t->n - n];
        f->longest_ns = sum_ns;
        f->longest_start_ns = r->origin_ns + s->start_ns[first];
        f->longest_step = ps_links_step(links, first);
    }
}

bool ps_report_gather_fusions(const ps_links *links, ps_report_rank *r) {
    const ps_trace *trace = links->trace;
    const ps_slices *s = ps_trace_slices(trace);
    size_t n_tracks = 0;
    (void)ps_trace_tracks(trace, &n_tracks);
    tail *tails = ps_calloc(n_tracks + 1, sizeof *tails);
    for (uint32_t i = 0; tails != NULL && i < s->n; i++) {
        tail *t = &tails[s->track[i]];
        const char *type = s->kind[i] == PS_SLICE_KERNEL ? ps_kernel_type(trace, i) : NULL;
        if (type == NULL) {
            t->n = 0; /* something else came between, or nobody knows what */
            continue;
        }
        push_fusion(t, i, type);
        for (size_t k = 0; k < PS_N_FUSIONS; k++) {
            size_t n = fusion_ends_with(t, SEQUENCES[k].types);
            if (n > 0) {
                count_fusion(links, t, n, r, &r->fusions[k]);
                t->n = 0; /* a kernel is of one sequence */
                break;
            }
        }
    }
    bool ok = tails != NULL;
    ps_free(tails);
    return ok;
}

/* --- the finding ------------------------------------------------------------------------------------------------------ */

static int64_t fusion_sum_of(const ps_report *r, size_t k, int64_t *n,
                             const ps_report_member **most) {
    int64_t sum_ns = 0;
    for (size_t m = 0; m < r->n_members; m++) {
        const ps_report_fusion *f = &r->members[m].facts->fusions[k];
        sum_ns = ps_i64_plus(sum_ns, f->ns);
        *n += f->n;
        *most = f->n > 0 && (*most == NULL || f->longest_ns > (*most)->facts->fusions[k].longest_ns)
                    ? &r->members[m]
                    : *most;
    }
    return sum_ns;
}

/* The sequence with the most time that was not shown; PS_N_FUSIONS: there is none. */
static size_t next_most(const int64_t ns[PS_N_FUSIONS], const bool shown[PS_N_FUSIONS]) {
    size_t best = PS_N_FUSIONS;
    for (size_t k = 0; k < PS_N_FUSIONS; k++) {
        bool more = !shown[k] && ns[k] > 0 && (best == PS_N_FUSIONS || ns[k] > ns[best]);
        best = more ? k : best;
    }
    return best;
}

static void show_sequence(ps_report *r, size_t k, int64_t sum_ns, int64_t n,
                          const ps_report_member *m) {
    const ps_lang lang = r->findings.lang;
    const ps_report_fusion *f = &m->facts->fusions[k];
    char note[200];
    (void)snprintf(note, sizeof note,
                   PS_SAY(lang, "%s: the longest of %lld in all, together %s",
                          "%s：共 %lld 个中最长的一个，合计 %s"),
                   SEQUENCES[k].fused, (long long)n, ps_ns_text_of(sum_ns).text);
    ps_findings_evidence(&r->findings, (ps_evidence){.rank = m->rank,
                                                     .step = f->longest_step,
                                                     .start_ns = f->longest_start_ns,
                                                     .dur_ns = f->longest_ns,
                                                     .name = SEQUENCES[k].types,
                                                     .note = note});
}

void ps_report_fusions(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    int64_t ns[PS_N_FUSIONS];
    int64_t n[PS_N_FUSIONS] = {0};
    const ps_report_member *most[PS_N_FUSIONS] = {NULL};
    bool shown[PS_N_FUSIONS] = {false};
    int64_t all_ns = 0;
    int64_t sum_ns = 0;
    int64_t n_all = 0;
    for (size_t m = 0; m < report->n_members; m++) {
        all_ns = ps_i64_plus(all_ns, report->members[m].facts->kernels_ns);
    }
    for (size_t k = 0; k < PS_N_FUSIONS; k++) {
        ns[k] = fusion_sum_of(report, k, &n[k], &most[k]);
        sum_ns = ps_i64_plus(sum_ns, ns[k]);
        n_all += n[k];
    }
    double share = ps_percent(sum_ns, all_ns);
    if (!ps_rule_fires(&report->findings, PS_RULE_FUSIBLE, share)) {
        return;
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_FUSIBLE, .rank = -1, .stage = -1, .value = share},
        PS_SAY(
            lang,
            "%lld sequences of kernels, over all ranks and steps, that one fused operator could replace take %.1f %% of the "
            "computing. What that one would take is not in a capture.",
            "%lld 段核函数序列（全部 rank 与 step）可由一个融合算子代替，占计算的 %.1f %%。融合后需要多久不在采集数据中。"),
        (long long)n_all, share);
    for (size_t k = next_most(ns, shown); k < PS_N_FUSIONS; k = next_most(ns, shown)) {
        show_sequence(report, k, ns[k], n[k], most[k]);
        shown[k] = true;
    }
}
