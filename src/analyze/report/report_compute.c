/* Compute: which kernels, how far from the peak, and whether equal ones take equal time, on one rank and between ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/report/report_advice.h"
#include "analyze/report/report_compute.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

typedef ps_compute_kind kind;
typedef ps_compute compute;

typedef struct ps_compute_entry {
    const ps_report_kernel *kernel;
    size_t member;
    int32_t stage;
} entry;

PS_COMPARE(compare_compute_entries, entry,
           PS_BY_TEXT(kernel->type) PS_BY_TEXT(kernel->shapes) PS_BY(stage) PS_BY(member))

static bool same_kind(const entry *a, const entry *b) {
    return strcmp(a->kernel->type, b->kernel->type) == 0 &&
           strcmp(a->kernel->shapes, b->kernel->shapes) == 0;
}

PS_COMPARE(compare_compute_kinds, kind,
           PS_BY_DOWN(sum_ns) PS_BY_TEXT(one->type) PS_BY_TEXT(one->shapes))

/* The first of several ranks stands for them: their clocks are not asked. */
static void join_odd_flops(kind *k, const ps_report_odd_flops *odd, const ps_report_member *where) {
    if (odd->n == 0) {
        return;
    }
    if (k->odd.n == 0) {
        k->odd = *odd;
        k->odd_where = where;
        return;
    }
    k->odd.n += odd->n;
    k->odd.recorded += odd->recorded;
    k->odd.by_shapes += odd->by_shapes;
    k->odd.times = odd->times > k->odd.times ? odd->times : k->odd.times;
}

static bool join_compute(compute *c) {
    const ps_report *r = c->report;
    size_t n = 0;
    for (size_t m = 0; m < r->n_members; m++) {
        n += r->members[m].facts->n_kernels;
        c->sum_ns = ps_i64_plus(c->sum_ns, r->members[m].facts->kernels_ns);
    }
    c->entries = ps_calloc(n + 1, sizeof *c->entries);
    c->kinds = ps_calloc(n + 1, sizeof *c->kinds);
    if (c->entries == NULL || c->kinds == NULL) {
        return false;
    }
    for (size_t m = 0; m < r->n_members; m++) {
        for (size_t k = 0; k < r->members[m].facts->n_kernels; k++) {
            c->entries[c->n_entries++] =
                (entry){&r->members[m].facts->kernels[k], m, r->members[m].stage};
        }
    }
    ps_sort(c->entries, c->n_entries, sizeof *c->entries, compare_compute_entries);
    for (size_t i = 0; i < c->n_entries; i++) {
        const entry *e = &c->entries[i];
        if (i == 0 || !same_kind(e, &c->entries[i - 1])) {
            c->kinds[c->n_kinds++] =
                (kind){.one = e->kernel, .where = &r->members[e->member], .first_entry = i};
        }
        kind *k = &c->kinds[c->n_kinds - 1];
        k->n_entries++;
        bool is_next = k->n_ranks == 0 || e->member != c->entries[i - 1].member;
        k->n_ranks += is_next; /* the entries of a member stand together */
        k->n += e->kernel->n;
        k->sum_ns = ps_i64_plus(k->sum_ns, e->kernel->sum_ns);
        k->pays_ns = ps_i64_plus(k->pays_ns, e->kernel->pays_ns);
        k->conversion_pays_ns = ps_i64_plus(k->conversion_pays_ns, e->kernel->conversion_pays_ns);
        k->conversion_launches_ns =
            ps_i64_plus(k->conversion_launches_ns, e->kernel->conversion_launches_ns);
        k->n_flops += e->kernel->n_flops;
        k->flops_ns = ps_i64_plus(k->flops_ns, e->kernel->flops_ns);
        k->flops += e->kernel->flops;
        k->peak_flops += e->kernel->peak_flops;
        k->memory_ns = ps_i64_plus(k->memory_ns, e->kernel->memory_ns);
        k->unknown_roofline_ns =
            ps_i64_plus(k->unknown_roofline_ns, e->kernel->unknown_roofline_ns);
        k->memory_bytes += e->kernel->memory_bytes;
        k->memory_flops += e->kernel->memory_flops;
        for (size_t what = 0; what < PS_N_CONVERSIONS; what++) {
            k->conversion_ns[what] =
                ps_i64_plus(k->conversion_ns[what], e->kernel->conversion_ns[what]);
            k->n_conversions[what] += e->kernel->n_conversions[what];
        }
        join_odd_flops(k, &e->kernel->odd, &r->members[e->member]);
        if (e->kernel->longest_ns > k->one->longest_ns) {
            k->one = e->kernel;
            k->where = &r->members[e->member];
        }
    }
    ps_sort(c->kinds, c->n_kinds, sizeof *c->kinds, compare_compute_kinds);
    return true;
}

/* --- one kernel ------------------------------------------------------------------------------------------------------ */

static size_t n_steps_of_all(const compute *c) {
    size_t n = 0;
    for (size_t m = 0; m < c->report->n_members; m++) {
        n += c->report->members[m].facts->n_steps;
    }
    return n;
}

int64_t ps_compute_mean_step_ns(const compute *c, int64_t sum_ns) {
    size_t n = n_steps_of_all(c);
    return n > 0 ? sum_ns / (int64_t)n : sum_ns;
}

double ps_compute_mean_count(const compute *c, int64_t n) {
    size_t n_steps = n_steps_of_all(c);
    return (double)n / (double)(n_steps > 0 ? n_steps : 1);
}

void ps_compute_show_kind(compute *c, const kind *k, const char *note) {
    ps_findings_evidence(&c->report->findings, (ps_evidence){.rank = k->where->rank,
                                                             .step = k->one->longest_step,
                                                             .start_ns = k->one->longest_start_ns,
                                                             .dur_ns = k->one->longest_ns,
                                                             .name = k->one->name,
                                                             .note = note});
}

void ps_compute_show_mfu(compute *c, const kind *k) {
    const ps_lang lang = c->report->findings.lang;
    char note[128];
    double mfu = 100 * k->flops / k->peak_flops;
    if (k->n_flops == k->n) {
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "longest of %lld, whose mean MFU is %.1f %%",
                              "%lld 个中最长的一个，平均 MFU 为 %.1f %%"),
                       (long long)k->n, mfu);
    } else {
        (void)snprintf(
            note, sizeof note,
            PS_SAY(lang, "longest of %lld; the mean MFU of the %lld whose FLOPs count is %.1f %%",
                   "%lld 个中最长的一个；其中计入 FLOPs 的 %lld 个平均 MFU 为 %.1f %%"),
            (long long)k->n, (long long)k->n_flops, mfu);
    }
    ps_compute_show_kind(c, k, note);
}

const char *ps_compute_unpaid_text(ps_lang lang, int64_t claimed_ns, int64_t gain_ns,
                                   const char *why, char out[PS_UNPAID_TEXT]) {
    out[0] = '\0';
    if (claimed_ns - gain_ns > claimed_ns / 10) {
        (void)snprintf(out, PS_UNPAID_TEXT,
                       PS_SAY(lang,
                              " %s of that lies %s: it shortens no step and is not in the gain.",
                              "其中 %s 位于%s：不会缩短任何 step，不计入收益。"),
                       ps_ns_text_of(claimed_ns - gain_ns).text, why);
    }
    return out;
}

void ps_compute_claim_kind(compute *c, const kind *k, double share) {
    ps_findings *f = &c->report->findings;
    for (size_t i = k->first_entry; i < k->first_entry + k->n_entries; i++) {
        const ps_report_kernel *kernel = c->entries[i].kernel;
        for (size_t r = 0; r < kernel->n_runs; r++) {
            const ps_report_kernel_run *run = &kernel->runs[r];
            int64_t ns = (int64_t)((double)run->pays_ns * share);
            ps_findings_span_on(f, c->entries[i].member, run->end_ns - ns, run->end_ns);
        }
    }
}

bool ps_compute_is_odd(const kind *k) {
    return k->odd.n > 0;
}

/* `otherwise` where it is not known, or records and shapes contradict. */
static double mfu_of(const kind *k, double otherwise) {
    return k->peak_flops > 0 && !ps_compute_is_odd(k) ? 100 * k->flops / k->peak_flops : otherwise;
}

/* What helps depends on what is multiplied, so each has a rule of its own. */
static ps_rule_id mfu_rule_of(const kind *k) {
    switch (k->one->product) {
    case PS_PRODUCT_GROUPED:
        return PS_RULE_LOW_MFU_GROUPED;
    case PS_PRODUCT_ATTENTION:
        return PS_RULE_LOW_MFU_ATTENTION;
    case PS_PRODUCT_CONVOLUTION:
        return PS_RULE_LOW_MFU_CONVOLUTION;
    case PS_PRODUCT_MATRICES:
    case PS_PRODUCT_OTHER:
        break;
    }
    return PS_RULE_LOW_MFU;
}

static bool is_low(const compute *c, ps_rule_id rule, const kind *k) {
    double limit = c->report->findings.thresholds[rule];
    return mfu_rule_of(k) == rule && mfu_of(k, limit) < limit && !ps_compute_is_memory_bound(k) &&
           ps_percent(k->flops_ns, c->sum_ns) > 1;
}

/* Of all its kernels' time: what they would save at the threshold, on average. */
static double share_saved(const kind *k, double limit) {
    return (double)k->flops_ns / (double)k->sum_ns * (1 - mfu_of(k, limit) / limit);
}

const char *ps_compute_shape_text(ps_lang lang, const kind *k, char out[PS_SHAPE_TEXT]) {
    out[0] = '\0';
    if (k->one->shapes[0] != '\0') {
        (void)snprintf(out, PS_SHAPE_TEXT, PS_SAY(lang, " of %.80s", "（%.80s）"), k->one->shapes);
    }
    return out;
}

/* With the threshold's share of the peak instead, the work would take ratio / threshold of its time. */
static void find_mfu(compute *c, ps_rule_id rule) {
    const ps_lang lang = c->report->findings.lang;
    ps_findings *f = &c->report->findings;
    double limit = f->thresholds[rule];
    int64_t gain_ns = 0;
    int64_t paid_ns = 0;
    const kind *worst = NULL;
    int64_t worst_ns = 0;
    size_t n_low = 0;
    bool is_unknown = false;
    for (size_t i = 0; i < c->n_kinds; i++) {
        const kind *k = &c->kinds[i];
        if (!is_low(c, rule, k)) {
            continue;
        }
        is_unknown = is_unknown || k->unknown_roofline_ns > 0;
        double saved = (double)k->sum_ns * share_saved(k, limit);
        int64_t ns = saved < 9e18 ? (int64_t)saved : INT64_MAX;
        gain_ns = ps_i64_plus(gain_ns, ns);
        double paid = saved * (double)k->pays_ns / (double)(k->sum_ns > 0 ? k->sum_ns : 1);
        paid_ns = ps_i64_plus(paid_ns, paid < 9e18 ? (int64_t)paid : INT64_MAX);
        n_low++;
        if (ns > worst_ns) {
            worst = k;
            worst_ns = ns;
        }
    }
    if (worst == NULL) {
        return;
    }
    double mfu = 100 * worst->flops / worst->peak_flops;
    gain_ns = ps_compute_mean_step_ns(c, gain_ns);
    paid_ns = ps_compute_mean_step_ns(c, paid_ns);
    char unpaid[PS_UNPAID_TEXT] = "";
    char less[96] = "";
    char shape[PS_SHAPE_TEXT];
    if (!f->is_of_part) { /* else there are more of them */
        (void)snprintf(less, sizeof less,
                       PS_SAY(lang, " At %.4g %% they would take %s less in each step.",
                              "若达到 %.4g %%，每个 step 可少用 %s。"),
                       limit, ps_ns_text_of(gain_ns).text);
        (void)ps_compute_unpaid_text(lang, gain_ns, paid_ns, PS_UNPAID_IF_FASTER(lang), unpaid);
    }
    ps_findings_add(
        f, (ps_finding){.rule = rule, .rank = -1, .stage = -1, .gain_ns = paid_ns, .value = mfu},
        PS_SAY(
            lang,
            "%zu kind%s of kernels reach%s less than %.4g %% of the peak, %.100s%s %.1f %%.%s%s%s",
            "%zu 类%.0s核函数%.0s低于峰值的 %.4g %%，其中 %.100s%s为 %.1f %%。%s%s%s"),
        n_low, n_low == 1 ? "" : "s", n_low == 1 ? "es" : "", limit, worst->one->type,
        ps_compute_shape_text(lang, worst, shape), mfu, less, unpaid,
        is_unknown
            ? PS_SAY(
                  lang,
                  " Whether memory bounds them is not known: the bandwidth of the chip (by the name of a "
                  "known one) or the types of the tensors are not.",
                  "是否受内存带宽限制不得而知：芯片带宽（需识别芯片名称）或张量类型未知。")
            : "");
    char advice[PS_ADVICE_TEXT];
    const char *remedy = ps_report_mfu_advice(c->report, rule, worst->one, advice, sizeof advice);
    if (remedy != NULL) {
        ps_findings_remedy(f, remedy);
    }
    for (size_t i = 0; i < c->n_kinds; i++) {
        const kind *k = &c->kinds[i];
        if (is_low(c, rule, k)) {
            ps_compute_show_mfu(c, k);
            ps_compute_claim_kind(c, k, share_saved(k, limit));
        }
    }
}

/* Which of the types of its inputs the AI core does not take: "DT_INT64"; "" for none. */
static const char *slow_type_of(const ps_report_kernel *k) {
    static const char *const TYPES[] = {"INT64",     "UINT64",     "DOUBLE",
                                        "COMPLEX64", "COMPLEX128", "FLOAT64"};
    for (const char *at = k->aicpu_types; at != NULL && *at != '\0';) {
        at += strspn(at, "\";, ");
        size_t n = strcspn(at, "\";, ");
        const char *bare = strncmp(at, "DT_", 3) == 0 ? at + 3 : at;
        size_t len = n - (size_t)(bare - at);
        for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
            if (strlen(TYPES[i]) == len && memcmp(TYPES[i], bare, len) == 0) {
                return TYPES[i];
            }
        }
        at += n;
    }
    return "";
}

static void find_aicpu(compute *c) {
    const ps_lang lang = c->report->findings.lang;
    ps_findings *f = &c->report->findings;
    int64_t sum_ns = 0;
    int64_t paid_ns = 0;
    int64_t n = 0;
    char unpaid[PS_UNPAID_TEXT];
    for (size_t i = 0; i < c->n_kinds; i++) {
        sum_ns = ps_i64_plus(sum_ns, c->kinds[i].one->is_aicpu ? c->kinds[i].sum_ns : 0);
        paid_ns = ps_i64_plus(paid_ns, c->kinds[i].one->is_aicpu ? c->kinds[i].pays_ns : 0);
        n += c->kinds[i].one->is_aicpu ? c->kinds[i].n : 0;
    }
    double share = ps_percent(sum_ns, c->sum_ns);
    if (!ps_rule_fires(f, PS_RULE_AICPU, share)) {
        return;
    }
    ps_findings_add(
        f,
        (ps_finding){.rule = PS_RULE_AICPU,
                     .rank = -1,
                     .stage = -1,
                     .gain_ns = ps_compute_mean_step_ns(c, paid_ns),
                     .value = share},
        PS_SAY(
            lang,
            "Kernels on the AI CPU take %.1f %% of the computing. On average over ranks and steps "
            "that is %s in a step, in %.4g kernels.%s",
            "AI CPU 上的核函数占计算的 %.1f %%。按 rank 与 step 平均，每个 step 用时 %s，%.4g 个核函数。%s"),
        share, ps_ns_text_of(ps_compute_mean_step_ns(c, sum_ns)).text, ps_compute_mean_count(c, n),
        ps_compute_unpaid_text(lang, ps_compute_mean_step_ns(c, sum_ns),
                               ps_compute_mean_step_ns(c, paid_ns), PS_UNPAID_IF_FASTER(lang),
                               unpaid));
    for (size_t i = 0; i < c->n_kinds; i++) {
        char note[64];
        const char *type = slow_type_of(c->kinds[i].one);
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "longest of %lld in all%s%s", "共 %lld 个中最长的一个%s%s"),
                       (long long)c->kinds[i].n,
                       type[0] != '\0' ? PS_SAY(lang, "; an input is ", "；有一个输入为 ") : "",
                       type);
        if (c->kinds[i].one->is_aicpu) {
            ps_compute_show_kind(c, &c->kinds[i], note);
            ps_compute_claim_kind(c, &c->kinds[i], 1);
        }
    }
}

/* --- equal kernels ----------------------------------------------------------------------------------------------------- */

PS_COMPARE_POINTERS(more_excess, ps_report_kernel,
                    PS_BY_DOWN(excess_ns) PS_BY_TEXT(type) PS_BY_TEXT(shapes))

/* Without shapes, kernels of one name may be of different sizes. */
static int64_t counted_excess(const ps_report_kernel *k, bool with_shapes) {
    return (k->shapes[0] != '\0') == with_shapes ? k->excess_ns : 0;
}

static int64_t excess_of(const ps_report_member *m, bool with_shapes) {
    int64_t sum = 0;
    for (size_t k = 0; k < m->facts->n_kernels; k++) {
        sum = ps_i64_plus(sum, counted_excess(&m->facts->kernels[k], with_shapes));
    }
    return m->facts->n_steps > 0 ? sum / (int64_t)m->facts->n_steps : sum;
}

/* Of it what pays, at most: that of each kind is no more than what of the kind pays. */
static int64_t paid_excess_of(const ps_report_member *m, bool with_shapes) {
    int64_t sum = 0;
    for (size_t k = 0; k < m->facts->n_kernels; k++) {
        const ps_report_kernel *kernel = &m->facts->kernels[k];
        int64_t ns = counted_excess(kernel, with_shapes);
        sum = ps_i64_plus(sum, ns < kernel->pays_ns ? ns : kernel->pays_ns);
    }
    return m->facts->n_steps > 0 ? sum / (int64_t)m->facts->n_steps : sum;
}

static void show_varying(ps_report *report, const ps_report_member *m, bool with_shapes) {
    const ps_lang lang = report->findings.lang;
    const ps_report_kernel **order = ps_calloc(m->facts->n_kernels + 1, sizeof *order);
    if (order == NULL) {
        report->findings.failed = true;
        return;
    }
    for (size_t k = 0; k < m->facts->n_kernels; k++) {
        order[k] = &m->facts->kernels[k];
    }
    qsort(order, m->facts->n_kernels, sizeof *order, more_excess);
    for (size_t k = 0; k < m->facts->n_kernels && order[k]->excess_ns > 0; k++) {
        char note[128];
        if (counted_excess(order[k], with_shapes) == 0) {
            continue;
        }
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "median %s; %lld of %lld are slow",
                              "中位数 %s；%lld 个（共 %lld 个）较慢"),
                       ps_ns_text_of(order[k]->median_ns).text, (long long)order[k]->n_excess,
                       (long long)order[k]->n);
        ps_findings_evidence(&report->findings,
                             (ps_evidence){.rank = m->rank,
                                           .step = order[k]->longest_step,
                                           .start_ns = order[k]->longest_start_ns,
                                           .dur_ns = order[k]->longest_ns,
                                           .name = order[k]->name,
                                           .note = note});
    }
    ps_free(order);
}

/* On all ranks: the rule counts the same of each. What a kernel took too long is taken to be its end. */
static void claim_excess(ps_report *report, bool with_shapes) {
    for (size_t m = 0; m < report->n_members; m++) {
        const ps_report_rank *facts = report->members[m].facts;
        for (size_t k = 0; k < facts->n_kernels; k++) {
            const ps_report_kernel *kernel = &facts->kernels[k];
            bool counts = counted_excess(kernel, with_shapes) > 0;
            for (size_t i = 0; counts && i < kernel->n_runs; i++) {
                const ps_report_kernel_run *run = &kernel->runs[i];
                int64_t ns = run->excess_ns < run->pays_ns ? run->excess_ns : run->pays_ns;
                ps_findings_span_on(&report->findings, m, run->end_ns - ns, run->end_ns);
            }
        }
    }
}

static double excess_share(const ps_report *report, const ps_report_member *m,
                           const void *with_shapes) {
    return ps_percent(excess_of(m, *(const bool *)with_shapes), report->step_ns);
}

static bool find_varying(compute *c, bool with_shapes) {
    const ps_lang lang = c->report->findings.lang;
    ps_report *r = c->report;
    ps_worst all = ps_report_worst(r, PS_RULE_KERNEL_VARIES, excess_share, &with_shapes);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return false;
    }
    int64_t most_ns = excess_of(worst, with_shapes);
    char unpaid[PS_UNPAID_TEXT];
    int64_t paid_ns = paid_excess_of(worst, with_shapes);
    ps_findings_add(
        &r->findings,
        (ps_finding){.rule = PS_RULE_KERNEL_VARIES,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .gain_ns = with_shapes ? paid_ns : 0,
                     .value = all.value,
                     .n_over = all.n_over},
        PS_SAY(
            lang,
            "On rank %s kernels that took more than 1.5 times the median of their like cost %s in each step "
            "(%.1f %%).%s%s",
            "rank %s 上，用时超过同类中位数 1.5 倍的核函数每个 step 多花 %s（%.1f %%）。%s%s"),
        PS_RANK(worst->rank), ps_ns_text_of(most_ns).text, all.value,
        with_shapes
            ? ps_compute_unpaid_text(lang, most_ns, paid_ns, PS_UNPAID_IF_FASTER(lang), unpaid)
            : "",
        with_shapes
            ? ""
            : PS_SAY(lang, " Their shapes were not recorded: they may be of different sizes.",
                     "未记录其形状：大小可能不同。"));
    show_varying(r, worst, with_shapes);
    claim_excess(r, with_shapes);
    return true;
}

/* What a rank's kernels of one kind took longer than with the median of its peers' means; 0 when it is not slower, or
 * fewer than two peers ran it. */
typedef struct slower {
    size_t member;
    const ps_report_kernel *kernel;
    int64_t net_ns, extra_ns; /* in a step: than the peers; where it is longer */
    int64_t peer_ns;          /* mean of the peers */
} slower;

/* Rows [from, to) are one kind on one stage: the mean of each rank, sorted; `means` has room for them. */
static void sort_means(const compute *c, size_t from, size_t to, int64_t *means) {
    for (size_t i = from; i < to; i++) {
        const ps_report_kernel *k = c->entries[i].kernel;
        means[i - from] = k->sum_ns / k->n;
    }
    qsort(means, to - from, sizeof *means, ps_compare_i64);
}

/* The median of the means of the other ranks; 0 when there is none. */
static int64_t peers_median_ns(const int64_t *means, size_t n, int64_t own_ns) {
    size_t own = 0;
    while (own < n && means[own] != own_ns) {
        own++;
    }
    if (n < 2) {
        return 0;
    }
    size_t low = (n - 2) / 2;
    size_t high = (n - 1) / 2;
    return ps_midpoint_i64(means[low + (low >= own)], means[high + (high >= own)]);
}

static slower slower_of(const compute *c, const entry *e, int64_t peer_ns) {
    const ps_report_member *m = &c->report->members[e->member];
    slower out = {.member = e->member, .kernel = e->kernel, .peer_ns = peer_ns};
    int64_t like_peers = 0;
    if (__builtin_mul_overflow(peer_ns, e->kernel->n, &like_peers)) {
        like_peers = INT64_MAX;
    }
    bool counts = peer_ns > 0 && m->facts->n_steps > 0;
    out.net_ns = counts ? (e->kernel->sum_ns - like_peers) / (int64_t)m->facts->n_steps : 0;
    out.extra_ns = out.net_ns > 0 ? out.net_ns : 0;
    return out;
}

PS_COMPARE(most_extra, slower,
           PS_BY_DOWN(extra_ns) PS_BY_TEXT(kernel->type) PS_BY_TEXT(kernel->shapes))

/* Of kernels without shapes: nobody knows whether the peers' are of the same size. */
static int64_t extra_without_shapes(const slower *all, size_t n, size_t member) {
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        bool counts = all[i].member == member && all[i].kernel->shapes[0] == '\0';
        sum = ps_i64_plus(sum, counts ? all[i].extra_ns : 0);
    }
    return sum;
}

/* Of each of its kernels as large a part as of all of its kind, at its end. */
static void claim_slower(ps_report *report, const slower *all, size_t n, size_t member) {
    for (size_t i = 0; i < n; i++) {
        const ps_report_kernel *k = all[i].kernel;
        double mean_ns = k != NULL && k->n > 0 ? (double)k->sum_ns / (double)k->n : 0;
        bool is_slower = all[i].member == member && all[i].extra_ns > 0 && mean_ns > 0;
        double share = is_slower ? 1 - (double)all[i].peer_ns / mean_ns : 0;
        for (size_t r = 0; is_slower && r < k->n_runs; r++) {
            const ps_report_kernel_run *run = &k->runs[r];
            int64_t ns = (int64_t)((double)run->dur_ns * share);
            ps_findings_span(&report->findings, run->end_ns - ns, run->end_ns);
        }
    }
}

/* `extra`: of each member, in a step. */
static void say_slow(compute *c, slower *all, size_t n, size_t member, const int64_t *extra) {
    const ps_lang lang = c->report->findings.lang;
    ps_report *r = c->report;
    int64_t extra_ns = extra[member];
    size_t n_over = 0;
    for (size_t i = 0; i < r->n_members; i++) {
        double here = ps_percent(extra[i], r->step_ns);
        n_over += ps_rule_fires(&r->findings, PS_RULE_SLOW_KERNEL, here);
    }
    const ps_report_member *m = &r->members[member];
    double share = ps_percent(extra_ns, r->step_ns);
    if (!ps_rule_fires(&r->findings, PS_RULE_SLOW_KERNEL, share)) {
        return;
    }
    char partial[PS_PARTIAL_TEXT];
    bool is_unsure = extra_without_shapes(all, n, member) > extra_ns / 2;
    ps_findings_add(
        &r->findings,
        (ps_finding){.rule = PS_RULE_SLOW_KERNEL,
                     .rank = m->rank,
                     .stage = m->stage,
                     .gain_ns = r->job.is_partial ? 0 : extra_ns,
                     .value = share,
                     .n_over = n_over,
                     .is_assumed = is_unsure},
        PS_SAY(
            lang,
            "The kernels of rank %s take %s longer in each step (%.1f %%) than the median of the same ones of the "
            "other ranks of its stage.%s%s%s",
            "rank %s 的核函数每个 step 比同阶段其他 rank 相同核函数的中位数多用 %s（%.1f %%）。%s%s%s"),
        PS_RANK(m->rank), ps_ns_text_of(extra_ns).text, share,
        is_unsure
            ? PS_SAY(
                  lang,
                  " For most of it shapes were not recorded: that the sizes are equal is assumed.",
                  "其中大部分未记录形状：假定大小相同。")
            : "",
        ps_report_partial_text(r, partial), r->job.is_partial ? PS_OTHERS_UNKNOWN(lang) : "");
    qsort(all, n, sizeof *all, most_extra);
    for (size_t i = 0; i < n && all[i].extra_ns > 0; i++) {
        char note[128];
        if (all[i].member != member) {
            continue;
        }
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "mean %s, of the peers %s; %s in a step",
                              "平均 %s，其他 rank 平均 %s；每个 step %s"),
                       ps_ns_text_of(all[i].kernel->sum_ns / all[i].kernel->n).text,
                       ps_ns_text_of(all[i].peer_ns).text, ps_ns_text_of(all[i].extra_ns).text);
        ps_findings_evidence(&r->findings,
                             (ps_evidence){.rank = m->rank,
                                           .step = all[i].kernel->longest_step,
                                           .start_ns = all[i].kernel->longest_start_ns,
                                           .dur_ns = all[i].kernel->longest_ns,
                                           .name = all[i].kernel->name,
                                           .note = note});
    }
    claim_slower(r, all, n, member);
}

static void find_slow(compute *c) {
    ps_report *r = c->report;
    int64_t *means = ps_calloc(c->n_entries + 1, sizeof *means);
    int64_t *extra = ps_calloc(r->n_members + 1, sizeof *extra);
    int64_t *net = ps_calloc(r->n_members + 1, sizeof *net); /* less what others take longer */
    slower *all = ps_calloc(c->n_entries + 1, sizeof *all);
    bool ok = means != NULL && extra != NULL && net != NULL && all != NULL;
    for (size_t i = 0; ok && i < c->n_entries;) {
        size_t end = i + 1;
        while (end < c->n_entries && c->entries[end].stage == c->entries[i].stage &&
               same_kind(&c->entries[end], &c->entries[i])) {
            end++;
        }
        sort_means(c, i, end, means);
        for (size_t k = i; k < end; k++) {
            const ps_report_kernel *own = c->entries[k].kernel;
            int64_t peer_ns = peers_median_ns(means, end - i, own->sum_ns / own->n);
            all[k] = slower_of(c, &c->entries[k], peer_ns);
            extra[all[k].member] = ps_i64_plus(extra[all[k].member], all[k].extra_ns);
            net[all[k].member] = ps_i64_plus(net[all[k].member], all[k].net_ns);
        }
        i = end;
    }
    for (size_t m = 0; ok && m < r->n_members; m++) {
        int64_t most_ns = net[m] > 0 ? net[m] : 0;
        extra[m] = extra[m] < most_ns ? extra[m] : most_ns;
    }
    size_t worst = 0;
    for (size_t m = 1; ok && m < r->n_members; m++) {
        worst = extra[m] > extra[worst] ? m : worst;
    }
    if (ok && r->n_members > 1) {
        say_slow(c, all, c->n_entries, worst, extra);
    }
    r->findings.failed = r->findings.failed || !ok;
    ps_free(means);
    ps_free(extra);
    ps_free(net);
    ps_free(all);
}

/* --- frequency --------------------------------------------------------------------------------------------------------- */

static double compute_below_share(const ps_report *report, const ps_report_member *m,
                                  const void *none) {
    const ps_report_frequency *d = &m->facts->device_frequency;
    (void)report;
    (void)none;
    return d->is_known ? ps_percent(d->below_ns, d->all_ns) : 0;
}

static void find_frequency(compute *c) {
    const ps_lang lang = c->report->findings.lang;
    ps_report *r = c->report;
    ps_worst all = ps_report_worst(r, PS_RULE_FREQUENCY_DROP, compute_below_share, NULL);
    const ps_report_member *worst = all.member;
    if (worst == NULL) {
        return;
    }
    const ps_report_frequency *d = &worst->facts->device_frequency;
    ps_findings_add(
        &r->findings,
        (ps_finding){.rule = PS_RULE_FREQUENCY_DROP,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .value = all.value,
                     .n_over = all.n_over},
        PS_SAY(
            lang,
            "The device of rank %s was below 0.95 of its usual %.0f MHz for %.1f %% of the time, down to "
            "%.0f MHz.",
            "rank %s 的设备频率低于通常频率（%.0f MHz）的 0.95 倍，占时间的 %.1f %%，最低 %.0f MHz。"),
        PS_RANK(worst->rank), d->usual_mhz, all.value, d->lowest_mhz);
    ps_findings_evidence(
        &r->findings,
        (ps_evidence){.rank = worst->rank,
                      .step = PS_STEP_OUTSIDE,
                      .start_ns = d->longest_start_ns,
                      .dur_ns = d->longest_ns,
                      .name = d->series,
                      .note = PS_SAY(lang, "the longest stretch below", "低于该值的最长一段")});
}

/* --- the table ----------------------------------------------------------------------------------------------------------- */

typedef struct kernel_row {
    const char *type, *shapes;
    int64_t n_ranks, step_ns, mean_ns, longest_ns;
    double calls, share, mfu;
} kernel_row;

static const ps_column KERNELS[] = {
    {.name = "kernel", PS_FIELD(kernel_row, type)},
    {.name = "shapes", PS_FIELD(kernel_row, shapes)},
    {.name = "ranks", PS_FIELD(kernel_row, n_ranks)},
    {.name = "calls a step", PS_FIELD(kernel_row, calls), .unit = PS_UNIT_COUNT},
    {.name = "in a step", PS_FIELD(kernel_row, step_ns), .unit = PS_UNIT_NS},
    {.name = "computing", PS_FIELD(kernel_row, share), .unit = PS_UNIT_PERCENT},
    {.name = "mean", PS_FIELD(kernel_row, mean_ns), .unit = PS_UNIT_NS},
    {.name = "longest", PS_FIELD(kernel_row, longest_ns), .unit = PS_UNIT_NS},
    {.name = "MFU", PS_FIELD(kernel_row, mfu), .unit = PS_UNIT_PERCENT},
};

static ps_code add_compute_table(compute *c, ps_err *err) {
    const ps_lang lang = c->report->findings.lang;
    bool is_of_part = c->report->findings.is_of_part;
    bool has_several = c->report->n_members > 1; /* a mean over ranks may be that of one */
    ps_table *t = ps_table_new(
        "kernels",
        is_of_part
            ? PS_SAY(lang,
                     "top computing kernels of the events that are left, mean of ranks and steps",
                     "剩余事件中用时最多的计算核函数，各 rank 与 step 的平均")
            : PS_SAY(lang, "top computing kernels, mean of ranks and steps",
                     "用时最多的计算核函数，各 rank 与 step 的平均"),
        PS_COLUMNS(KERNELS));
    for (size_t i = 0; i < c->n_kinds && i < 10; i++) {
        const kind *k = &c->kinds[i];
        bool has_mfu = k->peak_flops > 0 && !ps_compute_is_odd(k);
        ps_table_put(t, &(kernel_row){.type = k->one->type,
                                      .shapes = k->one->shapes,
                                      .n_ranks = has_several ? (int64_t)k->n_ranks : PS_UNKNOWN_INT,
                                      .step_ns = ps_compute_mean_step_ns(c, k->sum_ns),
                                      .mean_ns = k->n > 0 ? k->sum_ns / k->n : 0,
                                      .longest_ns = k->one->longest_ns,
                                      .calls = ps_compute_mean_count(c, k->n),
                                      .share = is_of_part ? NAN : ps_percent(k->sum_ns, c->sum_ns),
                                      .mfu = has_mfu ? mfu_of(k, 0) : NAN});
    }
    return ps_result_add(c->report->in->result, t, err);
}

ps_code ps_report_compute(ps_report *report, ps_err *err) {
    compute c = {.report = report};
    ps_report_environment(report);
    ps_code code = join_compute(&c) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK && c.n_kinds > 0) {
        ps_compute_find_top(&c);
        ps_compute_find_conversion(&c);
        find_mfu(&c, PS_RULE_LOW_MFU);
        find_mfu(&c, PS_RULE_LOW_MFU_ATTENTION);
        find_mfu(&c, PS_RULE_LOW_MFU_CONVOLUTION);
        find_mfu(&c, PS_RULE_LOW_MFU_GROUPED);
        ps_compute_find_memory_bound(&c);
        ps_compute_find_doubtful_flops(&c);
        if (!find_varying(&c, true)) {
            (void)find_varying(&c, false);
        }
        find_aicpu(&c);
        find_slow(&c);
    }
    if (code == PS_OK) {
        find_frequency(&c);
        code = c.n_kinds > 0 ? add_compute_table(&c, err) : PS_OK;
    }
    ps_free(c.entries);
    ps_free(c.kinds);
    return code;
}
