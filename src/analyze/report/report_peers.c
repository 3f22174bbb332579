/* Which ranks the job has, which of them are here, and for which others the tasks of collectives wait.
 *
 * Tasks name a rank by its place in the communicator. Which rank that is, is told by (the first that knows)
 *   its own tasks, if it was captured: they name their own place;
 *   the metadata of the communicator;
 *   captured ranks whose place is their number: ranks stand in a communicator in their order, so where number p is at place p all
 *   before it are, too; that those behind p go on like that is assumed, and said. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report.h"
#include "analyze/report/report_gains.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/strpool.h"

/* --- the job ----------------------------------------------------------------------------------------------------------- */

/* By what the rank says of communicators: how many ranks one has, or the highest number in it. */
static int64_t ranks_of_groups(const ps_report_rank *r) {
    int64_t n = r->comm_waits.n_places;
    for (size_t i = 0; i < r->facts.n_groups; i++) {
        n = ps_larger(n, r->facts.groups[i].n_ranks);
    }
    for (size_t i = 0; r->part != NULL && i < r->part->n_groups; i++) {
        const ps_int_runs *ranks = &r->part->groups[i].ranks;
        int64_t highest = ranks->n > 0 ? ps_int_runs_largest(ranks) : -1;
        n = ps_larger(n, highest < INT32_MAX ? highest + 1 : 0);
    }
    const ps_comm_tables *t = r->part != NULL ? &r->part->tables : NULL;
    for (size_t i = 0; t != NULL && i < t->n_links; i++) {
        int64_t place = ps_larger(t->links[i].source, t->links[i].destination);
        n = ps_larger(n, place < INT32_MAX ? place + 1 : 0);
    }
    return n;
}

static ps_report_job job_of(const ps_report *report) {
    ps_report_job job = {.n_here = report->in->n_ranks};
    int64_t of_groups = 0;
    for (size_t i = 0; i < report->in->n_ranks; i++) {
        const ps_report_rank *r = report->in->partials[i];
        if (r != NULL) {
            job.n_ranks = ps_larger(job.n_ranks, r->facts.world_size);
            of_groups = ps_larger(of_groups, ranks_of_groups(r));
        }
    }
    job.is_least = of_groups > job.n_ranks;
    job.n_ranks = ps_larger(job.n_ranks, of_groups);
    job.is_partial = job.n_ranks > (int64_t)job.n_here && !report->in->opts->one_of_several;
    return job;
}

bool ps_report_rank_is_here(const ps_report *report, int64_t rank) {
    if (ps_idmap_get(&report->member_at, (uint64_t)rank) != PS_IDMAP_NONE) {
        return true; /* all but those of which nothing could be read */
    }
    for (size_t i = 0; i < report->in->n_ranks; i++) {
        if (report->in->ranks[i].rank == rank) {
            return true;
        }
    }
    return false;
}

const char *ps_report_partial_text(const ps_report *report, char out[PS_PARTIAL_TEXT]) {
    const ps_lang lang = report->findings.lang;
    out[0] = '\0';
    if (report->job.is_partial) {
        (void)snprintf(out, PS_PARTIAL_TEXT,
                       PS_SAY(lang, " Of %s %lld ranks of the job %zu %s here",
                              "作业%s %lld 个 rank 中此处有 %zu 个%.0s"),
                       report->job.is_least ? PS_SAY(lang, "at least", "至少")
                                            : PS_SAY(lang, "the", "共"),
                       (long long)report->job.n_ranks, report->job.n_here,
                       report->job.n_here == 1 ? "is" : "are");
    }
    return out;
}

/* --- whose place it is ---------------------------------------------------------------------------------------------------- */

/* What the captured ranks say of a communicator. */
typedef struct group_places {
    const char *name;
    int64_t highest;  /* captured rank whose place is its number, -1 none */
    bool is_contrary; /* one is at another place */
} group_places;

typedef struct peers {
    ps_report *report;
    ps_strpool names;
    group_places *groups; /* [names.n] by the id of the name */
    size_t n_groups, cap_groups;
    ps_idmap rank_at; /* id << 32 | place -> index of the member */
    ps_idmap row_of;  /* rank, or NO_RANK | id << 32 | place -> row of waited */
    size_t cap;
    bool all_tell; /* every member names its places */
} peers;

#define NO_RANK (UINT64_C(1) << 63)

static bool find_group(peers *p, const ps_report_member *m, ps_str group, uint32_t *id) {
    const char *name = ps_comm_text(&m->facts->comm, group);
    ps_str s = ps_strpool_add(&p->names, name, strlen(name));
    *id = s.id;
    if (ps_str_is_none(s) ||
        !ps_grow(&p->groups, &p->cap_groups, (size_t)s.id + 1, UINT32_MAX, sizeof *p->groups)) {
        return false;
    }
    for (; p->n_groups <= s.id; p->n_groups++) {
        p->groups[p->n_groups] = (group_places){.highest = -1};
    }
    p->groups[s.id].name = ps_strpool_get(&p->names, s);
    return true;
}

static bool note_places(peers *p, size_t member) {
    const ps_report_member *m = &p->report->members[member];
    const ps_comm_waits *w = &m->facts->comm_waits;
    p->all_tell = p->all_tell && w->n_own_places > 0;
    for (size_t i = 0; i < w->n_own_places; i++) {
        int32_t own = w->places[i].place;
        uint32_t id = 0;
        if (!find_group(p, m, w->places[i].group, &id) ||
            (own >= 0 &&
             !ps_idmap_put(&p->rank_at, (uint64_t)id << 32 | (uint32_t)own, (uint32_t)member))) {
            return false;
        }
        group_places *g = &p->groups[id];
        g->is_contrary = g->is_contrary || (own >= 0 && own != m->rank);
        g->highest = own == m->rank ? ps_larger(g->highest, own) : g->highest;
    }
    return true;
}

/* The rank at a place by the metadata of any rank, -1 unknown. */
static int64_t rank_of_metadata(const ps_report *report, const char *group, int32_t place) {
    char key[PS_COMM_KEY_SIZE];
    ps_comm_key(group, key, sizeof key);
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_comm_part *part = report->members[i].facts->part;
        for (size_t k = 0; part != NULL && k < part->n_groups; k++) {
            const ps_comm_group *g = &part->groups[k];
            if ((size_t)place < g->ranks.n && strcmp(g->key, key) == 0) {
                return ps_int_runs_at(&g->ranks, (size_t)place);
            }
        }
    }
    return -1;
}

static void find_rank(peers *p, uint32_t id, int32_t place, ps_report_waited *out) {
    const group_places *g = &p->groups[id];
    uint32_t member = ps_idmap_get(&p->rank_at, (uint64_t)id << 32 | (uint32_t)place);
    *out = (ps_report_waited){.rank = -1, .place = place, .group = g->name};
    if (member != PS_IDMAP_NONE) {
        out->rank = p->report->members[member].rank;
    } else {
        out->rank = rank_of_metadata(p->report, g->name, place);
        bool by_place = out->rank < 0 && !g->is_contrary && (place <= g->highest || g->highest > 0);
        out->rank = by_place ? place : out->rank;
        out->is_assumed = by_place && place > g->highest;
    }
    bool is_absent = out->rank >= 0 ? !ps_report_rank_is_here(p->report, out->rank) : p->all_tell;
    out->is_absent = is_absent && !p->report->in->opts->one_of_several;
}

/* --- who is waited for ----------------------------------------------------------------------------------------------------- */

static bool find_peer_row(peers *p, uint32_t id, int32_t place, uint32_t *row) {
    ps_report *report = p->report;
    ps_report_waited found;
    find_rank(p, id, place, &found);
    uint64_t key =
        found.rank >= 0 ? (uint64_t)found.rank : NO_RANK | (uint64_t)id << 32 | (uint32_t)place;
    *row = ps_idmap_get(&p->row_of, key);
    if (*row != PS_IDMAP_NONE) {
        return true;
    }
    size_t n = strlen(found.group);
    found.group = ps_arena_strndup(&report->findings.arena, found.group, n);
    *row = (uint32_t)report->n_waited;
    if (found.group == NULL ||
        !ps_grow(&report->waited, &p->cap, report->n_waited + 1, UINT32_MAX - 1,
                 sizeof *report->waited) ||
        !ps_idmap_put(&p->row_of, key, *row)) {
        return false;
    }
    report->waited[report->n_waited++] = found;
    return true;
}

/* Means per step, as all times of a member. */
static bool sum_member(peers *p, ps_report_member *m) {
    const ps_comm_waits *w = &m->facts->comm_waits;
    int64_t n_steps = m->facts->n_steps > 0 ? (int64_t)m->facts->n_steps : 1;
    uint32_t *rows = ps_arena_alloc(&p->report->findings.arena, (w->n_peers + 1) * sizeof *rows);
    for (size_t i = 0; rows != NULL && i < w->n_peers; i++) {
        const ps_peer_wait *peer = &w->peers[i];
        uint32_t id = 0;
        rows[i] = PS_NO_PEER;
        if (peer->peer < 0) {
            continue;
        }
        if (!find_group(p, m, peer->group, &id) || !find_peer_row(p, id, peer->peer, &rows[i])) {
            return false;
        }
        ps_report_waited *x = &p->report->waited[rows[i]];
        int64_t alone_ns = peer->alone_ns / n_steps;
        x->alone_ns = ps_i64_plus(x->alone_ns, alone_ns);
        x->n_members += alone_ns > 0;
        if (x->worst == NULL || alone_ns > x->worst_alone_ns) {
            x->worst = m;
            x->worst_alone_ns = alone_ns;
        }
    }
    m->waited_of = rows; /* whole, or not at all */
    return rows != NULL;
}

void ps_report_find_peers(ps_report *report) {
    peers p = {.report = report, .all_tell = true};
    ps_idmap_init(&p.rank_at);
    ps_idmap_init(&p.row_of);
    bool ok = ps_strpool_init(&p.names);
    report->job = job_of(report);
    for (size_t i = 0; ok && i < report->n_members; i++) {
        ok = note_places(&p, i);
    }
    for (size_t i = 0; ok && i < report->n_members; i++) {
        ok = sum_member(&p, &report->members[i]);
    }
    report->findings.failed = report->findings.failed || !ok;
    ps_free(p.groups);
    ps_idmap_fini(&p.rank_at);
    ps_idmap_fini(&p.row_of);
    ps_strpool_fini(&p.names);
}

const char *ps_report_waited_text(ps_lang lang, const ps_report_waited *x,
                                  char out[PS_WAITED_TEXT]) {
    if (x->rank >= 0) {
        (void)snprintf(
            out, PS_WAITED_TEXT, PS_SAY(lang, "rank %lld%s", "rank %lld%s"), (long long)x->rank,
            x->is_absent ? PS_SAY(lang, ", which was not captured,", "（未采集）") : ",");
    } else {
        (void)snprintf(out, PS_WAITED_TEXT,
                       PS_SAY(lang, "the rank at place %d of group %.80s%s",
                              "第 %d 位的 rank（通信组 %.80s）%s"),
                       (int)x->place, x->group,
                       x->is_absent ? PS_SAY(lang, ", which was not captured,", "（未采集）")
                                    : ",");
    }
    return out;
}

const ps_report_waited *ps_report_waited_by(const ps_report *report, const ps_report_member *m,
                                            uint32_t peer) {
    uint32_t row = peer != PS_NO_PEER && m->waited_of != NULL ? m->waited_of[peer] : PS_NO_PEER;
    return row != PS_NO_PEER ? &report->waited[row] : NULL;
}

/* --- who waits for whom ----------------------------------------------------------------------------------------------- */

void ps_report_measure_skew(ps_report *report) {
    size_t n = report->in->n_ranks;
    const ps_comm_list **lists = ps_calloc(n + 1, sizeof *lists);
    ps_err err = PS_ERR_INIT;
    if (lists == NULL) {
        report->findings.failed = true;
        return;
    }
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_rank *facts = report->members[i].facts;
        /* Of parts of two captures the n-th operators are not the same one. */
        lists[report->members[i].index] = report->findings.is_of_part ? NULL : &facts->comm;
    }
    ps_skew_input in = {.lists = lists,
                        .ranks = report->in->ranks,
                        .n_ranks = n,
                        .step = -1,
                        .in_steps = true}; /* what is told is told of a step */
    report->has_skew = ps_skew_measure(&in, &report->skew, &err) == PS_OK;
    if (report->has_skew) {
        ps_report_note_waits(report, &report->skew);
        ps_report_find_absent(report, &report->skew);
        ps_report_note_yields(report, &report->skew);
    } else {
        report->findings.failed = true;
    }
    ps_free(lists);
}

/* --- a rank that was not captured ------------------------------------------------------------------------------------------- */

static const ps_report_waited *most_waited_absent(const ps_report *report) {
    const ps_report_waited *most = NULL;
    for (size_t i = 0; i < report->n_waited; i++) {
        const ps_report_waited *x = &report->waited[i];
        bool is_more = most == NULL || x->alone_ns > most->alone_ns;
        most = x->is_absent && x->alone_ns > 0 && is_more ? x : most;
    }
    return most;
}

/* The operators of the member that waited longest for it. */
static void show_waits(ps_report *report, const ps_report_member *m, const ps_report_waited *x) {
    const ps_lang lang = report->findings.lang;
    const ps_comm_waits *w = &m->facts->comm_waits;
    size_t top[PS_EVIDENCE_MAX];
    size_t n = 0;
    for (size_t i = 0; i < m->facts->comm.n; i++) {
        if (m->facts->comm.ops[i].look->is_p2p || w->ops[i].most_exposed_ns == 0 ||
            ps_report_waited_by(report, m, w->ops[i].most) != x) {
            continue;
        }
        size_t at = n;
        while (at > 0 && w->ops[i].most_exposed_ns > w->ops[top[at - 1]].most_exposed_ns) {
            at--;
        }
        n += n < PS_EVIDENCE_MAX;
        for (size_t k = n; k > at + 1; k--) {
            top[k - 1] = top[k - 2];
        }
        if (at < n) {
            top[at] = i;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const ps_comm_op *op = &m->facts->comm.ops[top[i]];
        char note[144];
        (void)snprintf(
            note, sizeof note,
            PS_SAY(
                lang,
                "its longest wait for it, with nothing computed beside, is %s; it transfers for %s",
                "对它的最长等待（其间没有计算）为 %s；传输 %s"),
            ps_ns_text_of(w->ops[top[i]].most_exposed_ns).text,
            ps_ns_text_of(w->ops[top[i]].transfer_ns).text);
        ps_findings_evidence(&report->findings,
                             (ps_evidence){.rank = m->rank,
                                           .step = op->step,
                                           .start_ns = op->start_ns,
                                           .dur_ns = op->end_ns - op->start_ns,
                                           .name = ps_comm_text(&m->facts->comm, op->name),
                                           .note = note});
    }
}

static int64_t waited_ns_of(const ps_report *report, const ps_report_member *m,
                            const ps_report_waited *x) {
    const ps_comm_waits *w = &m->facts->comm_waits;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < w->n_peers; i++) {
        bool is_it = ps_report_waited_by(report, m, (uint32_t)i) == x;
        sum_ns = ps_i64_plus(sum_ns, is_it ? w->peers[i].waited_ns : 0);
    }
    return m->facts->n_steps > 0 ? sum_ns / (int64_t)m->facts->n_steps : sum_ns;
}

/* What a step gains at most where nobody waits for it alone: each rank that does takes as long as it does without. */
static int64_t gain_without_ns(const ps_report *report, const ps_report_waited *x) {
    int64_t left_ns = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        const ps_comm_waits *w = &m->facts->comm_waits;
        int64_t alone_ns = 0;
        for (size_t k = 0; k < w->n_peers; k++) {
            bool is_it = ps_report_waited_by(report, m, (uint32_t)k) == x;
            alone_ns = ps_i64_plus(alone_ns, is_it ? w->peers[k].alone_ns : 0);
        }
        alone_ns /= m->facts->n_steps > 0 ? (int64_t)m->facts->n_steps : 1;
        bool is_longest = alone_ns > 0 && m->step_ns - alone_ns > left_ns;
        left_ns = is_longest ? m->step_ns - alone_ns : left_ns;
    }
    return report->step_ns > left_ns ? report->step_ns - left_ns : 0;
}

void ps_report_absent_rank(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    const ps_report_waited *x = most_waited_absent(report);
    const ps_report_member *m = x != NULL ? x->worst : NULL;
    double share = m != NULL ? ps_percent(x->worst_alone_ns, report->step_ns) : 0;
    if (m == NULL || !ps_rule_fires(&report->findings, PS_RULE_ABSENT_RANK, share)) {
        (void)ps_report_absent_ranks(report);
        return;
    }
    char who[PS_WAITED_TEXT];
    char partial[PS_PARTIAL_TEXT];
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_ABSENT_RANK,
                     .rank = m->rank,
                     .stage = m->stage,
                     .gain_ns = gain_without_ns(report, x),
                     .value = share},
        PS_SAY(
            lang,
            "On rank %s collectives wait %s in each step, with nothing computed beside them, for %s %s of it (%.1f %% of the step) for no other "
            "rank at the same time. So it is for %zu of %zu ranks.%s%s%s Why it comes late only its own capture tells.",
            "rank %s 上集合通信每个 step 等待 %s（其间没有计算），等的是%s其中 %s（step 的 %.1f %%）同时不等任何其他 rank。这样的 rank 有 %zu 个（共 %zu 个）。%s%s%s为何迟到只有它自己的采集数据能说明。"),
        PS_RANK(m->rank), ps_ns_text_of(waited_ns_of(report, m, x)).text,
        ps_report_waited_text(lang, x, who), ps_ns_text_of(x->worst_alone_ns).text, share,
        x->n_members, report->n_members, ps_report_partial_text(report, partial),
        report->job.is_partial ? PS_SAY(lang, ".", "。") : "",
        x->is_assumed
            ? PS_SAY(
                  lang,
                  " Its number is not recorded: it is taken to be its place in the group, as it is for "
                  "the ranks that are here.",
                  "其编号未记录：取其在通信组中的位置，与此处各 rank 一致。")
            : "");
    show_waits(report, m, x);
}

/* --- what communication that nothing hides waits for ------------------------------------------------------------------------ */

const ps_report_waited *ps_report_most_waited(const ps_report *report, const ps_report_member *m,
                                              int64_t *most_ns) {
    const ps_report_waited *most = NULL;
    *most_ns = 0;
    for (size_t i = 0; i < m->facts->comm_waits.n_peers; i++) {
        const ps_report_waited *x = ps_report_waited_by(report, m, (uint32_t)i);
        int64_t ns = x != NULL ? waited_ns_of(report, m, x) : 0;
        most = ns > *most_ns ? x : most;
        *most_ns = ns > *most_ns ? ns : *most_ns;
    }
    return most;
}

void ps_report_say_waits(const ps_report *report, const ps_report_member *m, char *out,
                         size_t size) {
    const ps_lang lang = report->findings.lang;
    const ps_comm_waits *w = &m->facts->comm_waits;
    int64_t n_steps = m->facts->n_steps > 0 ? (int64_t)m->facts->n_steps : 1;
    int64_t most_ns = 0;
    const ps_report_waited *most = ps_report_most_waited(report, m, &most_ns);
    char rest[64] = "";
    int64_t exposed_ns = m->exposed_ns - m->receive_ns;
    int64_t rest_ns = exposed_ns - ps_i64_plus(w->transfer_ns, w->wait_ns) / n_steps;
    if (rest_ns > 0) {
        (void)snprintf(rest, sizeof rest,
                       PS_SAY(lang, " For %s none of them runs.", "其中 %s 没有任何任务在运行。"),
                       ps_ns_text_of(rest_ns).text);
    }
    char who[PS_WAITED_TEXT];
    char whom[PS_WAITED_TEXT + 64] = "";
    if (most != NULL) {
        (void)snprintf(whom, sizeof whom, PS_SAY(lang, "; longest for %s %s", "；最久的是等%s %s"),
                       ps_report_waited_text(lang, most, who), ps_ns_text_of(most_ns).text);
    }
    (void)snprintf(
        out, size,
        PS_SAY(
            lang,
            " The tasks of its collectives transfer for %s of it and wait for other ranks for %s%s.%s "
            "Waiting is not in the gain.",
            "其集合通信的任务中传输 %s，等待其他 rank %s%s。%s等待不计入收益。"),
        ps_ns_text_of(w->transfer_ns / n_steps).text, ps_ns_text_of(w->wait_ns / n_steps).text,
        whom, rest);
}
