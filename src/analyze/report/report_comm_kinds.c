/* Operators of communication by kind: groups that communicate longer than their ranks compute, and operators far slower than
 * their like. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/comm/comm_list.h"
#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "analyze/stats/alike.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

/* --- kinds of operators ------------------------------------------------------------------------------------------------ */

/* An operator and how long it takes without what it waits for other ranks, where its tasks say that. */
typedef struct own_op {
    const ps_comm_op *op;
    int64_t ns;
} own_op;

/* Operators of a rank, sorted so that what is alike stands together. */
typedef struct sorted {
    own_op *ops; /* no point-to-point ones */
    size_t n;
} sorted;

static own_op own_of(const ps_report_member *m, const ps_comm_op *op) {
    int64_t wait_ns = m->facts->comm_waits.ops[op - m->facts->comm.ops].wait_ns;
    return (own_op){op, ps_comm_op_ns(op) > wait_ns ? ps_comm_op_ns(op) - wait_ns : 0};
}

/* By ids, which differ from run to run: only neighbourhood is used, never the order. */
PS_COMPARE(by_comm_kind_group, own_op, PS_BY(op->look->group.id) PS_BY(op->slice))

PS_COMPARE(by_kind, own_op,
           PS_BY(op->look->group.id) PS_BY(op->look->type.id) PS_BY(op->look->size_bytes) PS_BY(ns)
               PS_BY(op->slice))

static ps_alike comm_kind_alike(const ps_comm_op *x, const ps_comm_op *y) {
    return ps_alike_of((ps_alike_facts){x->look->type.id, x->look->group.id, x->look->size_bytes},
                       (ps_alike_facts){y->look->type.id, y->look->group.id, y->look->size_bytes});
}

static bool sort_ops(const ps_report_member *m, int (*compare)(const void *, const void *),
                     sorted *out) {
    *out = (sorted){.ops = NULL};
    out->ops = ps_calloc(m->facts->comm.n + 1, sizeof *out->ops);
    for (size_t i = 0; out->ops != NULL && i < m->facts->comm.n; i++) {
        const ps_comm_op *op = &m->facts->comm.ops[i];
        if (!op->look->is_p2p && op->step != PS_STEP_OUTSIDE) {
            out->ops[out->n++] = own_of(m, op);
        }
    }
    ps_sort(out->ops, out->n, sizeof *out->ops, compare);
    return out->ops != NULL;
}

/* --- groups longer than computing ---------------------------------------------------------------------------------------- */

typedef struct heavy {
    const ps_report_member *member;
    const ps_comm_op *longest;
    int64_t sum_ns;
    double share;
    size_t n_over;
} heavy;

static void look_at_group(ps_report *report, const ps_report_member *m, const sorted *s,
                          size_t from, size_t to, heavy *worst) {
    int64_t computing = 0;
    int64_t sum = 0;
    own_op longest = s->ops[from];
    for (size_t i = 0; i < m->facts->n_steps; i++) {
        computing = ps_i64_plus(computing, m->facts->steps[i].computing_ns);
    }
    for (size_t i = from; i < to; i++) {
        sum = ps_i64_plus(sum, s->ops[i].ns);
        longest = s->ops[i].ns > longest.ns ? s->ops[i] : longest;
    }
    double share = ps_percent(sum, computing);
    worst->n_over += ps_rule_fires(&report->findings, PS_RULE_COMM_OVER_COMPUTE, share);
    if (share > worst->share) {
        *worst = (heavy){m, longest.op, sum, share, worst->n_over};
    }
}

#define WITHOUT_WAITS(lang)                                                                        \
    PS_SAY(lang, " without what they wait for other ranks", "（不含等待其他 rank 的时间）")

static void find_heavy(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    heavy worst = {0};
    for (size_t k = 0; k < report->n_members; k++) {
        sorted s;
        if (!sort_ops(&report->members[k], by_comm_kind_group, &s)) {
            report->findings.failed = true;
            return;
        }
        for (size_t i = 0; i < s.n;) {
            size_t end = i + 1;
            while (end < s.n && s.ops[end].op->look->group.id == s.ops[i].op->look->group.id) {
                end++;
            }
            if (!ps_str_is_none(s.ops[i].op->look->group)) { /* what names none may be several */
                look_at_group(report, &report->members[k], &s, i, end, &worst);
            }
            i = end;
        }
        ps_free(s.ops);
    }
    if (!ps_rule_fires(&report->findings, PS_RULE_COMM_OVER_COMPUTE, worst.share)) {
        return;
    }
    const ps_report_member *m = worst.member;
    const char *group = ps_comm_text(&m->facts->comm, worst.longest->look->group);
    char others[96] = "";
    if (worst.n_over > 1) { /* a group counts once on each of its ranks */
        (void)snprintf(others, sizeof others,
                       PS_SAY(lang, " So it is %zu times, each a group on a rank.",
                              "这样的情况有 %zu 处，每处是某个 rank 上的一个组。"),
                       worst.n_over);
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_COMM_OVER_COMPUTE,
                     .rank = m->rank,
                     .stage = m->stage,
                     .value = worst.share},
        PS_SAY(lang,
               "On rank %s the operators of group %.80s take %s in a step%s, computing takes %s.%s",
               "rank %s 上通信组 %.80s 的算子每个 step 用时 %s%s，计算用时 %s。%s"),
        PS_RANK(m->rank), group, ps_ns_text_of(ps_report_per_step(m, worst.sum_ns)).text,
        ps_report_knows_waits(m) ? WITHOUT_WAITS(lang) : "", ps_ns_text_of(m->computing_ns).text,
        others);
    ps_report_show_op(report, m, worst.longest, ps_comm_op_ns(worst.longest),
                      PS_SAY(lang, "the longest one", "最长的一个"));
}

/* --- outliers ------------------------------------------------------------------------------------------------------------ */

typedef struct outlier {
    own_op own;
    int64_t median_ns;
} outlier;

static int64_t excess_of(const outlier *o) {
    return o->own.ns - o->median_ns;
}

PS_COMPARE(comm_kind_longest_first, outlier, PS_BY_VALUE_DOWN(excess_of) PS_BY(own.op->slice))

/* Lengths of what is alike, and of what each is an outlier. */
typedef struct lengths {
    int64_t *ns, *like_ns;
} lengths;

/* Of an unknown size: what comes once or more in every step is there on purpose, and of another size. */
static bool comes_back(const ps_report_member *m, const outlier *all, size_t n) {
    size_t n_steps = 0;
    for (size_t s = 0; s < m->facts->n_steps; s++) {
        size_t i = 0;
        while (i < n && all[i].own.op->step != m->facts->steps[s].step) {
            i++;
        }
        n_steps += i < n;
    }
    return m->facts->n_steps > 1 && n_steps == m->facts->n_steps;
}

/* All of a rank where likeness is as certain as `sure`; *excess_ns is their time beyond the medians. */
static size_t outliers_of(const ps_report *report, const ps_report_member *m, const sorted *s,
                          ps_alike sure, lengths *l, outlier *out, int64_t *excess_ns) {
    double times = report->findings.thresholds[PS_RULE_COMM_OUTLIER];
    size_t n = 0;
    *excess_ns = 0;
    for (size_t i = 0, end = 0; i < s->n; i = end) {
        for (end = i + 1;
             end < s->n && comm_kind_alike(s->ops[end].op, s->ops[i].op) != PS_ALIKE_NOT;) {
            end++;
        }
        for (size_t k = i; k < end; k++) {
            l->ns[k] = s->ops[k].ns;
        }
        if (comm_kind_alike(s->ops[i].op, s->ops[i].op) != sure ||
            ps_outliers_find(l->ns + i, end - i, times, l->like_ns + i) == 0) {
            continue;
        }
        size_t before = n;
        for (size_t k = i; k < end; k++) {
            if (l->like_ns[k] > 0) {
                out[n++] = (outlier){s->ops[k], l->like_ns[k]};
            }
        }
        n = sure == PS_ALIKE_UNSURE && comes_back(m, out + before, n - before) ? before : n;
        for (size_t k = before; k < n; k++) {
            *excess_ns = ps_i64_plus(*excess_ns, out[k].own.ns - out[k].median_ns);
        }
    }
    return n;
}

/* The rank that loses most by them. */
typedef struct worst_outliers {
    const ps_report_member *member;
    outlier *all;
    size_t n;
    int64_t ns;    /* in a step */
    size_t n_over; /* ranks that lose enough by theirs */
} worst_outliers;

static void say_outliers(ps_report *report, const worst_outliers *worst, ps_alike sure) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *m = worst->member;
    outlier *all = worst->all;
    size_t n = worst->n;
    int64_t gain_ns = worst->ns;
    qsort(all, n, sizeof *all, comm_kind_longest_first);
    double times = (double)all[0].own.ns / (double)(all[0].median_ns > 0 ? all[0].median_ns : 1);
    const char *like = sure == PS_ALIKE_SURE
                           ? PS_SAY(lang, "kind, group and size", "种类、通信组与大小")
                       : ps_str_is_none(all[0].own.op->look->group)
                           ? PS_SAY(lang, "kind", "种类")
                           : PS_SAY(lang, "kind and group", "种类与通信组");
    const char *unsure =
        sure == PS_ALIKE_SURE ? ""
        : ps_str_is_none(all[0].own.op->look->group)
            ? PS_SAY(lang, " The profile does not name their group: they may be different things.",
                     "采集数据没有写明其通信组：可能是不同的算子。")
            : PS_SAY(lang, " Their size is unknown: they may be different things.",
                     "大小未知：可能是不同的算子。");
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_COMM_OUTLIER,
                     .rank = m->rank,
                     .stage = m->stage,
                     .gain_ns = sure == PS_ALIKE_SURE ? gain_ns : 0,
                     .value = times,
                     .n_over = worst->n_over},
        PS_SAY(
            lang,
            "On rank %s %zu operator%s of %zu step%s took far longer than the others of the same %s: %s in "
            "each step%s.%s",
            "rank %s 上有 %zu 个%.0s算子（共 %zu 个 step%.0s）远慢于%s相同的其他算子：每个 step 多 %s%s。%s"),
        PS_RANK(m->rank), n, n == 1 ? "" : "s", m->facts->n_steps,
        m->facts->n_steps == 1 ? "" : "s", like, ps_ns_text_of(gain_ns).text,
        ps_report_knows_waits(m) ? WITHOUT_WAITS(lang) : "", unsure);
    for (size_t i = 0; i < n; i++) {
        char note[96];
        (void)snprintf(note, sizeof note, PS_SAY(lang, "median of its like %s", "同类中位数 %s"),
                       ps_ns_text_of(all[i].median_ns).text);
        ps_report_show_op(report, m, all[i].own.op, all[i].own.ns, note);
    }
}

static bool look_for_outliers(const ps_report *report, const ps_report_member *m, ps_alike sure,
                              worst_outliers *worst) {
    size_t n_ops = m->facts->comm.n;
    sorted s = {0};
    lengths l = {ps_calloc(n_ops + 1, sizeof *l.ns), ps_calloc(n_ops + 1, sizeof *l.like_ns)};
    outlier *all = ps_calloc(n_ops + 1, sizeof *all);
    bool ok = sort_ops(m, by_kind, &s) && l.ns != NULL && l.like_ns != NULL && all != NULL;
    if (ok) {
        int64_t excess_ns = 0;
        size_t n = outliers_of(report, m, &s, sure, &l, all, &excess_ns);
        int64_t ns = ps_report_per_step(m, excess_ns);
        bool counts = n > 0 && ps_percent(ns, report->step_ns) > 1;
        worst->n_over += counts;
        if (counts && ns > worst->ns) {
            outlier *other = worst->all;
            *worst = (worst_outliers){m, all, n, ns, worst->n_over};
            all = other;
        }
    }
    ps_free(s.ops);
    ps_free(l.ns);
    ps_free(l.like_ns);
    ps_free(all);
    return ok;
}

/* True when there are any. */
static bool find_outliers(ps_report *report, ps_alike sure) {
    worst_outliers worst = {0};
    for (size_t k = 0; k < report->n_members; k++) {
        if (!look_for_outliers(report, &report->members[k], sure, &worst)) {
            report->findings.failed = true;
        }
    }
    if (worst.member != NULL) {
        say_outliers(report, &worst, sure);
    }
    ps_free(worst.all);
    return worst.member != NULL;
}

void ps_report_comm_kinds(ps_report *report) {
    find_heavy(report);
    if (!find_outliers(report, PS_ALIKE_SURE)) {
        (void)find_outliers(report, PS_ALIKE_UNSURE);
    }
}
