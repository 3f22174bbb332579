/* Ranks that were not captured, where tasks of collectives wait and name nobody (collection level 0).
 *
 * A collective goes on when what it waits for has come. While all ranks that are here, and stand in it, do nothing but wait in it,
 * none of them can bring that: it comes from a rank that is not here.
 *
 * That is told only where all of a communicator that are here are known to stand in the operator: they were matched in it
 * (skew.h), or no other rank here has the communicator at all. Where the metadata say that all of its ranks are here nobody is
 * absent. Clocks that nothing connects tell of no common moment. Ranks of several machines are not judged: what one sent by RDMA is on its
 * way while both wait, and no task says that it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/comm/skew_match.h"
#include "analyze/rank/marks.h"
#include "analyze/report/report.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/strpool.h"

/* A communicator, as far as ranks are here. */
typedef struct group_here {
    size_t n_ranks; /* that communicate in it */
    bool is_whole;  /* by the metadata no other has it */
    const ps_report_member *last;
} group_here;

typedef struct absence {
    ps_report *report;
    const ps_skew *skew;
    const ps_report_member **by_index; /* [n_ranks] of the run; NULL: none */
    ps_intervals *waits;               /* [n_ranks] while all wait, on the rank's clock */
    bool **is_met;                     /* [n_ranks][ops] */
    ps_strpool names;
    group_here *groups; /* by the id of the name */
    size_t n_groups, cap_groups;
} absence;

/* --- who stands in a communicator ---------------------------------------------------------------------------------------- */

static bool is_whole_here(const ps_report *report, const char *group) {
    char key[PS_COMM_KEY_SIZE];
    ps_comm_key(group, key, sizeof key);
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_comm_part *part = report->members[i].facts->part;
        for (size_t k = 0; part != NULL && k < part->n_groups; k++) {
            const ps_comm_group *g = &part->groups[k];
            bool is_whole = g->ranks.n > 0 && strcmp(g->key, key) == 0;
            int64_t rank = 0;
            for (ps_int_walk w = {0}; is_whole && ps_int_runs_next(&g->ranks, &w, &rank);) {
                is_whole = ps_report_rank_is_here(report, rank);
            }
            if (is_whole) {
                return true;
            }
        }
    }
    return false;
}

/* NULL: memory is out. Operators without a communicator are of one without a name. */
static group_here *absent_group_of(absence *a, const ps_report_member *m, const ps_comm_op *op) {
    const char *name = ps_comm_text(&m->facts->comm, op->look->group);
    ps_str s = ps_strpool_add(&a->names, name, strlen(name));
    if (ps_str_is_none(s) ||
        !ps_grow(&a->groups, &a->cap_groups, (size_t)s.id + 1, UINT32_MAX, sizeof *a->groups)) {
        return NULL;
    }
    for (; a->n_groups <= s.id; a->n_groups++) {
        a->groups[a->n_groups] = (group_here){0};
    }
    group_here *g = &a->groups[s.id];
    if (g->n_ranks == 0) {
        g->is_whole = is_whole_here(a->report, name);
    }
    return g;
}

static bool count_groups(absence *a) {
    bool ok = true;
    for (size_t i = 0; ok && i < a->report->n_members; i++) {
        const ps_report_member *m = &a->report->members[i];
        for (size_t k = 0; ok && k < m->facts->comm.n; k++) {
            group_here *g = absent_group_of(a, m, &m->facts->comm.ops[k]);
            ok = g != NULL;
            if (ok && g->last != m) {
                g->last = m;
                g->n_ranks++;
            }
        }
    }
    return ok;
}

/* --- while all wait -------------------------------------------------------------------------------------------------------- */

/* The waits of one operator, on the clock that its ranks share. */
static bool add_waits(const absence *a, const ps_report_member *m, uint32_t op, ps_intervals *out) {
    const ps_comm_waits *w = &m->facts->comm_waits;
    size_t low = 0;
    for (size_t high = w->n_nameless; low < high;) {
        size_t mid = low + (high - low) / 2;
        if (w->nameless[mid].op < op) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    uint32_t rank = (uint32_t)m->index;
    bool ok = true;
    for (; ok && low < w->n_nameless && w->nameless[low].op == op; low++) {
        ok = ps_intervals_add(out, ps_skew_time(a->skew, rank, w->nameless[low].start_ns),
                              ps_skew_time(a->skew, rank, w->nameless[low].end_ns));
    }
    return ok;
}

static bool note_common(absence *a, uint32_t rank, const ps_intervals *common) {
    int64_t offset_ns = a->skew->clocks[rank].offset_ns;
    bool ok = true;
    for (size_t i = 0; ok && i < common->n; i++) {
        ok = ps_intervals_add(&a->waits[rank], ps_i64_plus(common->at[i].start_ns, offset_ns),
                              ps_i64_plus(common->at[i].end_ns, offset_ns));
    }
    return ok;
}

/* By the number that the job gives it, else by what the captures call it. */
static bool on_one_machine(const absence *a, uint32_t x, uint32_t y) {
    const ps_rank_info *ranks = a->report->in->ranks;
    if (ranks[x].machine >= 0 || ranks[y].machine >= 0) {
        return ranks[x].machine == ranks[y].machine;
    }
    const char *host = a->by_index[x]->facts->host;
    const char *other = a->by_index[y]->facts->host;
    return host != NULL && other != NULL && strcmp(host, other) == 0;
}

/* Whether all that are here, and have the communicator, stand in the collective, on one machine and one clock. */
static bool is_all_of_group(absence *a, const ps_matched_collective *x, bool *ok) {
    const ps_collective_part *parts = &a->skew->parts[x->first];
    const ps_rank_clock *clocks = a->skew->clocks;
    uint32_t first = parts[0].rank;
    bool is_together = true;
    for (uint32_t i = 0; is_together && i < x->n; i++) {
        uint32_t rank = parts[i].rank;
        is_together = a->by_index[rank] != NULL && on_one_machine(a, rank, first) &&
                      clocks[rank].reference == clocks[first].reference;
    }
    if (!is_together) {
        return false;
    }
    const ps_report_member *m = a->by_index[first];
    const group_here *g = absent_group_of(a, m, &m->facts->comm.ops[parts[0].op]);
    *ok = g != NULL;
    return g != NULL && g->n_ranks == x->n && !g->is_whole;
}

static bool take_absent_collective(absence *a, const ps_matched_collective *x) {
    const ps_collective_part *parts = &a->skew->parts[x->first];
    ps_intervals common = {0};
    bool ok = true;
    for (uint32_t i = 0; i < x->n; i++) {
        if (a->is_met[parts[i].rank] != NULL) {
            a->is_met[parts[i].rank][parts[i].op] = true;
        }
    }
    if (!is_all_of_group(a, x, &ok)) {
        return ok;
    }
    for (uint32_t i = 0; ok && i < x->n && (i == 0 || common.n > 0); i++) {
        ps_intervals own = {0};
        ps_intervals both = {0};
        ok = add_waits(a, a->by_index[parts[i].rank], parts[i].op, &own);
        ps_intervals_unite(&own);
        ok = ok && (i == 0 || ps_intervals_both(&common, &own, &both));
        ps_intervals_fini(&common);
        common = i == 0 ? own : both;
        ps_intervals_fini(i == 0 ? &both : &own);
    }
    for (uint32_t i = 0; ok && i < x->n; i++) {
        ok = note_common(a, parts[i].rank, &common);
    }
    ps_intervals_fini(&common);
    return ok;
}

/* Operators of communicators that no other rank here has. */
static bool take_lone_ops(absence *a, const ps_report_member *m) {
    const ps_comm_waits *w = &m->facts->comm_waits;
    bool ok = true;
    for (size_t i = 0; ok && i < w->n_nameless; i++) {
        const ps_wait_span *x = &w->nameless[i];
        const group_here *g = absent_group_of(a, m, &m->facts->comm.ops[x->op]);
        ok = g != NULL;
        if (ok && g->n_ranks == 1 && !g->is_whole && !a->is_met[m->index][x->op]) {
            ok = ps_intervals_add(&a->waits[m->index], x->start_ns, x->end_ns);
        }
    }
    return ok;
}

/* --- what it costs ----------------------------------------------------------------------------------------------------------- */

/* Of what all waited what nothing hides on the rank, and so the member's time per step. */
static bool note_member(absence *a, ps_report_member *m) {
    ps_intervals *waits = &a->waits[m->index];
    ps_intervals exposed = {0};
    ps_intervals_unite(waits);
    bool ok = ps_intervals_both(waits, &m->facts->comm_waits.nameless_exposed, &exposed);
    int64_t sum_ns = ps_intervals_length_ns(&exposed);
    m->absent_ns = m->facts->n_steps > 0 ? sum_ns / (int64_t)m->facts->n_steps : sum_ns;
    ps_intervals_fini(&m->absent);
    m->absent = exposed;
    return ok;
}

static bool begin_absent(absence *a) {
    size_t n = a->report->in->n_ranks + 1;
    a->by_index = ps_calloc(n, sizeof *a->by_index);
    a->waits = ps_calloc(n, sizeof *a->waits);
    a->is_met = ps_calloc(n, sizeof *a->is_met);
    bool ok =
        ps_strpool_init(&a->names) && a->by_index != NULL && a->waits != NULL && a->is_met != NULL;
    for (size_t i = 0; ok && i < a->report->n_members; i++) {
        const ps_report_member *m = &a->report->members[i];
        a->by_index[m->index] = m;
        a->is_met[m->index] = ps_calloc(m->facts->comm.n + 1, sizeof **a->is_met);
        ok = a->is_met[m->index] != NULL;
    }
    return ok;
}

static void absent_fini(absence *a) {
    for (size_t i = 0; i < a->report->in->n_ranks; i++) {
        if (a->waits != NULL) {
            ps_intervals_fini(&a->waits[i]);
        }
        if (a->is_met != NULL) {
            ps_free(a->is_met[i]);
        }
    }
    ps_free(a->by_index);
    ps_free(a->waits);
    ps_free(a->is_met);
    ps_free(a->groups);
    ps_strpool_fini(&a->names);
}

static bool any_nameless(const ps_report *report) {
    for (size_t i = 0; i < report->n_members; i++) {
        if (report->members[i].facts->comm_waits.n_nameless > 0) {
            return true;
        }
    }
    return false;
}

/* Whether the job is known to have no rank that is not here. */
static bool is_whole_job(const ps_report *report) {
    return report->job.n_ranks > 0 && !report->job.is_least && !report->job.is_partial;
}

static const ps_report_member *longest_waiting(const ps_report *report) {
    const ps_report_member *worst = NULL;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        worst = m->absent_ns > (worst != NULL ? worst->absent_ns : 0) ? m : worst;
    }
    return worst;
}

static bool tells_of_absent(const ps_report *report, const ps_report_member *m) {
    return m != NULL && ps_rule_fires(&report->findings, PS_RULE_ABSENT_RANK,
                                      ps_percent(m->absent_ns, m->step_ns));
}

/* One is missing, at least. */
static void note_job(ps_report *report) {
    ps_report_job *job = &report->job;
    if (job->n_ranks <= (int64_t)job->n_here) {
        job->n_ranks = (int64_t)job->n_here + 1;
        job->is_least = true;
    }
    job->is_partial = true;
}

void ps_report_find_absent(ps_report *report, const ps_skew *skew) {
    absence a = {.report = report, .skew = skew};
    if (report->in->opts->one_of_several || report->findings.is_of_part || is_whole_job(report) ||
        !any_nameless(report)) {
        return;
    }
    bool ok = begin_absent(&a) && count_groups(&a);
    for (size_t i = 0; ok && i < skew->n_collectives; i++) {
        ok = take_absent_collective(&a, &skew->collectives[i]);
    }
    for (size_t i = 0; ok && i < report->n_members; i++) {
        ok = take_lone_ops(&a, &report->members[i]) && note_member(&a, &report->members[i]);
    }
    absent_fini(&a);
    report->findings.failed = report->findings.failed || !ok;
    if (ok && tells_of_absent(report, longest_waiting(report))) {
        note_job(report);
    }
}

int64_t ps_report_absent_within_ns(const ps_report_member *m, const ps_comm_op *op) {
    return op->look->is_p2p ? 0 : ps_intervals_within_ns(&m->absent, op->start_ns, op->end_ns);
}

/* --- the finding -------------------------------------------------------------------------------------------------------------- */

typedef struct waiting_op {
    size_t op;
    int64_t ns;
} waiting_op;

PS_COMPARE(absent_longest_first, waiting_op, PS_BY_DOWN(ns) PS_BY(op))

static void show_ops(ps_report *report, const ps_report_member *m) {
    const ps_lang lang = report->findings.lang;
    const ps_comm_list *list = &m->facts->comm;
    waiting_op *all = ps_calloc(list->n + 1, sizeof *all);
    if (all == NULL) {
        report->findings.failed = true;
        return;
    }
    for (size_t i = 0; i < list->n; i++) {
        all[i] = (waiting_op){i, ps_report_absent_within_ns(m, &list->ops[i])};
    }
    qsort(all, list->n, sizeof *all, absent_longest_first);
    for (size_t i = 0; i < list->n && i < PS_EVIDENCE_MAX && all[i].ns > 0; i++) {
        const ps_comm_op *op = &list->ops[all[i].op];
        char note[128];
        (void)snprintf(note, sizeof note,
                       PS_SAY(lang, "waits %s for ranks that are not here, transfers for %s",
                              "等待未采集的 rank %s，传输 %s"),
                       ps_ns_text_of(all[i].ns).text,
                       ps_ns_text_of(m->facts->comm_waits.ops[all[i].op].transfer_ns).text);
        ps_findings_evidence(&report->findings, (ps_evidence){.rank = m->rank,
                                                              .step = op->step,
                                                              .start_ns = op->start_ns,
                                                              .dur_ns = op->end_ns - op->start_ns,
                                                              .name = ps_comm_text(list, op->name),
                                                              .note = note});
    }
    for (size_t i = 0; i < m->absent.n; i++) {
        ps_findings_span(&report->findings, m->absent.at[i].start_ns, m->absent.at[i].end_ns);
    }
    ps_free(all);
}

bool ps_report_absent_ranks(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *m = longest_waiting(report);
    if (!tells_of_absent(report, m)) {
        return false;
    }
    double share = ps_percent(m->absent_ns, m->step_ns);
    char partial[PS_PARTIAL_TEXT];
    char at_once[96] = "";
    char on[64] = "";
    size_t n = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        n += report->members[i].absent_ns > 0;
    }
    if (report->n_members > 1) {
        (void)snprintf(
            on, sizeof on,
            PS_SAY(lang, " So it is for %zu of %zu ranks.", "有 %zu 个（共 %zu 个）rank 如此。"), n,
            report->n_members);
    }
    if (m->facts->comm_waits.n_at_once > 1) {
        (void)snprintf(
            at_once, sizeof at_once,
            PS_SAY(lang, " Up to %u of their tasks wait at once.", "其任务最多有 %u 个同时等待。"),
            (unsigned)m->facts->comm_waits.n_at_once);
    }
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_ABSENT_RANK,
                     .title = PS_SAY(lang, "Ranks wait for others that were not captured",
                                     "各 rank 在等待未采集的 rank"),
                     .rank = m->rank,
                     .stage = m->stage,
                     .gain_ns = m->absent_ns,
                     .value = share},
        PS_SAY(
            lang,
            "On rank %s collectives wait %s in each step (%.1f %%), with nothing computed beside them, for ranks that were not captured: %s."
            "%s%s%s. Their tasks do not say for whom (collection level 0): "
            "which ranks come late, and why, only their own captures tell.",
            "rank %s 上集合通信每个 step 等待 %s（%.1f %%），其间没有计算，等的是未采集的 rank：%s。%s%s%s其任务没有说明在等谁（采集级别 0）：哪些 rank 迟到、为何迟到，只有它们自己的采集数据能说明。"),
        PS_RANK(m->rank), ps_ns_text_of(m->absent_ns).text, share,
        report->n_members > 1
            ? PS_SAY(lang,
                     "the collectives of all that were captured and take part only wait meanwhile",
                     "所有已采集且参与其中的 rank，此时集合通信全都只在等待")
            : PS_SAY(lang, "nobody else of them is here", "参与其中的没有其他已采集的 rank"),
        on, at_once, ps_report_partial_text(report, partial));
    ps_findings_remedy(
        &report->findings,
        PS_SAY(
            lang,
            "Capture the other ranks of the group, too (or read them with these), at level 1, where tasks "
            "name the rank that they wait for; then look at what the late one did before: its host and "
            "launches, its kernels, its share of the work.",
            "同时采集该组的其他 rank（或与这些一起读取），级别为 1，任务会写明在等哪个 rank；再看迟到的 rank 此前做了什么：主机与下发、核函数、工作量份额。"));
    show_ops(report, m);
    return true;
}
