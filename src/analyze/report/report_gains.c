#include "analyze/report/report_gains.h"

#include <stdio.h>
#include <string.h>

#include "analyze/report/report_claims.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

/* --- waits ----------------------------------------------------------------------------------------------------------- */

/* What one rank waited, over all steps. */
typedef struct rank_waits {
    int64_t collectives_ns, receives_ns;
} rank_waits;

/* A wait that computing hides is none: no more than what is exposed. Where tasks wait they say how long, and that for ranks that
 * are not here, too; else the starts of the ranks that are here do. */
static void note_member_waits(ps_report_member *m, const rank_waits *w) {
    const ps_comm_waits *tasks = &m->facts->comm_waits;
    int64_t n_steps = ps_report_steps_of(m);
    int64_t sum_ns = tasks->n_peers > 0 ? tasks->wait_ns : w->collectives_ns;
    int64_t collectives_ns = sum_ns / n_steps;
    int64_t all_ns = ps_i64_plus(sum_ns, w->receives_ns) / n_steps;
    m->collective_waits_ns = collectives_ns < m->exposed_ns ? collectives_ns : m->exposed_ns;
    m->waits_ns = all_ns < m->exposed_ns ? all_ns : m->exposed_ns;
}

void ps_report_note_waits(ps_report *report, const ps_skew *skew) {
    rank_waits *waits = ps_calloc(report->in->n_ranks + 1, sizeof *waits);
    if (waits == NULL) {
        report->findings.failed = true;
        return;
    }
    for (size_t r = 0; r < skew->n_rows; r++) {
        const ps_skew_row *row = &skew->rows[r];
        rank_waits *w = &waits[row->rank];
        int64_t *sum_ns = row->is_p2p ? &w->receives_ns : &w->collectives_ns;
        *sum_ns = ps_i64_plus(*sum_ns, row->waited_ns);
    }
    for (size_t i = 0; i < report->n_members; i++) {
        note_member_waits(&report->members[i], &waits[report->members[i].index]);
    }
    ps_free(waits);
}

/* A collective for which the last captured rank itself waits for one that is not here: that the captured ones come earlier is no help. */
bool ps_report_is_overtaken(const ps_report *report, const ps_matched_collective *x,
                            const ps_report_member *last, uint32_t op) {
    const ps_comm_op_waits *w = &last->facts->comm_waits.ops[op];
    const ps_report_waited *whom = ps_report_waited_by(report, last, w->most);
    bool is_named = whom != NULL && whom->is_absent && w->most_ns > x->late_ns / 10;
    return is_named ||
           ps_report_absent_within_ns(last, &last->facts->comm.ops[op]) > x->late_ns / 10;
}

/* Waits in collectives for the last of the captured ranks. */
static void sum_yields(const ps_report *report, const ps_skew *skew,
                       ps_report_member *const *by_index) {
    for (size_t i = 0; i < skew->n_collectives; i++) {
        const ps_matched_collective *x = &skew->collectives[i];
        const ps_collective_part *last = &skew->parts[x->last];
        const ps_report_member *m = by_index[last->rank];
        if (m == NULL || ps_report_is_overtaken(report, x, m, last->op)) {
            continue;
        }
        for (uint32_t k = 0; k < x->n; k++) {
            const ps_collective_part *part = &skew->parts[x->first + k];
            ps_report_member *other = by_index[part->rank];
            if (other != NULL && part != last) {
                const ps_comm_op *op = &other->facts->comm.ops[part->op];
                int64_t ns = last->late_ns - part->late_ns;
                ns = ns < op->end_ns - op->start_ns ? ns : op->end_ns - op->start_ns;
                other->yields_ns = ps_i64_plus(other->yields_ns, ns);
            }
        }
    }
}

void ps_report_note_yields(ps_report *report, const ps_skew *skew) {
    ps_report_member **by_index = ps_calloc(report->in->n_ranks + 1, sizeof *by_index);
    if (by_index == NULL) {
        report->findings.failed = true;
        return;
    }
    for (size_t i = 0; i < report->n_members; i++) {
        by_index[report->members[i].index] = &report->members[i];
    }
    sum_yields(report, skew, by_index);
    for (size_t i = 0; i < report->n_members; i++) {
        ps_report_member *m = &report->members[i];
        int64_t most_ns = m->exposed_ns - m->receive_ns;
        m->yields_ns /= ps_report_steps_of(m);
        m->yields_ns = m->yields_ns < most_ns ? m->yields_ns : most_ns;
        m->yields_ns = ps_i64_plus(ps_i64_plus(m->yields_ns, m->receive_ns),
                                   ps_i64_plus(m->bubble_ns, m->edge_bubble_ns));
    }
    ps_free(by_index);
}

/* --- the bound ------------------------------------------------------------------------------------------------------- */

int64_t ps_report_own_ns(const ps_report_member *m) {
    int64_t work_ns = ps_i64_plus(ps_i64_plus(m->computing_ns, m->exposed_ns), m->copies_ns);
    return work_ns > m->waits_ns ? work_ns - m->waits_ns : 0;
}

/* What the device of the member works less without the cause, at most. */
static int64_t removed_ns(const ps_finding *f, const ps_report_member *m) {
    const ps_rule *rule = ps_rule_of(f->rule);
    if (rule->time == PS_TIME_IDLE) {
        return ps_report_hidden_in_time_ns(m);
    }
    int64_t gain_ns =
        ps_report_claims(f->rule) ? ps_report_claim_of(m, f->rule).gain_ns : f->gain_ns;
    int64_t most_ns = rule->time == PS_TIME_COMPUTING       ? m->computing_ns
                      : rule->time == PS_TIME_COMMUNICATION ? m->exposed_ns
                      : rule->time == PS_TIME_COPIES        ? m->copies_ns
                                                            : ps_report_own_ns(m);
    bool is_other_rank = rule->frees == PS_FREES_RANK && f->rank != m->rank;
    return rule->frees == PS_FREES_NONE || is_other_rank ? 0
           : gain_ns < most_ns                           ? gain_ns
                                                         : most_ns;
}

/* How long a step takes at least without the cause, by the rank that then has most to do; NULL: no rank is known. */
static const ps_report_member *longest_without(const ps_report *report, const ps_finding *f,
                                               int64_t *left_ns) {
    const ps_report_member *longest = NULL;
    *left_ns = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        int64_t left = ps_report_own_ns(m) - removed_ns(f, m);
        left = ps_i64_plus(left, ps_report_other_idle_ns(m, f->rule));
        left = left > 0 ? left : 0;
        if (m->computing_ns > 0 && (longest == NULL || left > *left_ns)) {
            *left_ns = left;
            longest = m;
        }
    }
    return longest;
}

bool ps_report_replay_is_like(const ps_report *report) {
    const ps_table *replay = ps_report_chart_table(report, "PipelineReplay");
    return replay != NULL && replay->n_rows > 0 && ps_column_int(replay, 0, "gain", -1) == 0;
}

static void append_text(ps_findings *list, ps_finding *f, const char *more) {
    size_t n = strlen(f->text);
    size_t n_more = strlen(more);
    char *text = ps_arena_alloc(&list->arena, n + n_more + 1);
    if (text == NULL) {
        list->failed = true;
        return;
    }
    memcpy(text, f->text, n);
    memcpy(text + n, more, n_more + 1);
    f->text = text;
}

static bool is_stall_rule(ps_rule_id rule) {
    return rule == PS_RULE_STAGE_WAIT || rule == PS_RULE_TRANSFER_WAIT ||
           rule == PS_RULE_OTHER_STALL;
}

/* A bound that takes less than a twentieth off is not worth a sentence; stalls have one of their own (say_bubble_bound). */
static void say_bound(ps_findings *list, ps_finding *f, int64_t claimed_ns,
                      const ps_report_member *longest, int64_t left_ns) {
    const ps_lang lang = list->lang;
    char more[192];
    if (is_stall_rule(f->rule) || claimed_ns - f->gain_ns <= claimed_ns / 20) {
        return;
    }
    bool waits = ps_report_other_idle_ns(longest, f->rule) > 0;
    (void)snprintf(
        more, sizeof more,
        PS_SAY(lang,
               " Without that cause the device of rank %s would still work%s for %s in a step.",
               "没有该原因，rank %s 的设备%s每个 step 仍需工作 %s。"),
        PS_RANK(longest->rank),
        waits ? PS_SAY(lang, ", or wait for other work of its host,", "（或等待其主机的其他工作）")
              : "",
        ps_ns_text_of(left_ns).text);
    append_text(list, f, more);
}

/* The rank whose step takes longest without the cause; NULL: none. Each saves what it claims itself; where it waits for others it may
 * come to save as much as the one that saves most. */
static const ps_report_member *longest_step_without(const ps_report *report, ps_rule_id rule,
                                                    int64_t *left_ns) {
    const ps_report_member *longest = NULL;
    int64_t most_ns = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        int64_t ns = ps_report_claim_of(&report->members[i], rule).gain_ns;
        most_ns = report->members[i].computing_ns > 0 && ns > most_ns ? ns : most_ns;
    }
    *left_ns = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        int64_t own_ns = ps_report_claim_of(m, rule).gain_ns;
        int64_t more_ns = most_ns > own_ns ? most_ns - own_ns : 0;
        more_ns = m->yields_ns < more_ns ? m->yields_ns : more_ns;
        int64_t left = m->step_ns - ps_i64_plus(own_ns, more_ns);
        left = left > 0 ? left : 0;
        if (m->computing_ns > 0 && (longest == NULL || left > *left_ns)) {
            *left_ns = left;
            longest = m;
        }
    }
    return longest;
}

static int64_t longest_step_ns(const ps_report *report) {
    int64_t longest_ns = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        longest_ns = m->computing_ns > 0 && m->step_ns > longest_ns ? m->step_ns : longest_ns;
    }
    return longest_ns;
}

/* By what a step is shorter, by what single ranks save of theirs: the finding tells of the rank that is worst, and another one may have
 * less to save of a step as long, or more of a longer one. */
static const ps_report_member *bound_by_steps(const ps_report *report, ps_finding *f,
                                              int64_t *left_ns) {
    const ps_report_member *longest = longest_step_without(report, f->rule, left_ns);
    int64_t step_ns = longest_step_ns(report);
    f->gain_ns = longest != NULL && step_ns > *left_ns ? step_ns - *left_ns : 0;
    return longest;
}

/* Where the rank that the finding tells of could save something else. */
static void say_step_bound(ps_findings *list, ps_finding *f, int64_t claimed_ns,
                           const ps_report_member *longest, int64_t left_ns) {
    const ps_lang lang = list->lang;
    char more[192];
    int64_t differs_ns =
        f->gain_ns > claimed_ns ? f->gain_ns - claimed_ns : claimed_ns - f->gain_ns;
    f->gain_rank = differs_ns > 0 ? longest->rank : f->rank;
    if (longest->rank == f->rank || differs_ns <= claimed_ns / 100) {
        return;
    }
    (void)snprintf(
        more, sizeof more,
        PS_SAY(lang,
               " Rank %s bounds the gain: without that cause its step of %s would still take %s.",
               "收益受 rank %s 限制：没有该原因，其 step 的 %s仍需 %s。"),
        PS_RANK(longest->rank), ps_ns_text_of(longest->step_ns).text, ps_ns_text_of(left_ns).text);
    append_text(list, f, more);
}

/* Whether what the finding counts may lie before a wait. */
static bool may_be_absorbed(ps_rule_time kind) {
    return kind == PS_TIME_IDLE || kind == PS_TIME_COMPUTING || kind == PS_TIME_COPIES;
}

/* A tenth of the gain that depends on others is not worth a sentence. */
static void say_absorbed(ps_report *report, ps_finding *f) {
    const ps_lang lang = report->findings.lang;
    char more[192];
    if (f->gain_ns <= 0 || !may_be_absorbed(ps_rule_of(f->rule)->time)) {
        return;
    }
    f->absorbed_ns = ps_report_absorbed_ns(report, f);
    if (f->absorbed_ns > f->gain_ns / 10) {
        (void)snprintf(
            more, sizeof more,
            PS_SAY(
                lang,
                " %s of the gain is won only once ranks that were not captured come earlier: it lies "
                "before or beside waits for them.",
                "收益中的 %s 只有在未采集的 rank 更早到达后才能获得：它位于对它们的等待之前或与之并行。"),
            ps_ns_text_of(f->absorbed_ns).text);
        append_text(&report->findings, f, more);
    } else if (f->spans.n == 0 && ps_report_all_absorb(report)) {
        append_text(
            &report->findings, f,
            PS_SAY(
                lang,
                " What of it lies before waits for ranks that were not captured is won only once those "
                "come earlier.",
                "位于等待未采集 rank 之前的部分，只有在它们更早到达后才能获得。"));
    }
}

/* Stalls are parts of the bubble, whose finding stands before theirs: without one of them a step saves no more than without all. NULL:
 * the bubble is no finding. */
static const ps_finding *bound_by_bubble(const ps_report *report, ps_finding *f) {
    for (size_t i = 0; is_stall_rule(f->rule) && i < report->findings.n; i++) {
        const ps_finding *bubble = &report->findings.all[i];
        if (bubble->rule == PS_RULE_BUBBLE) {
            f->gain_ns = f->gain_ns < bubble->gain_ns ? f->gain_ns : bubble->gain_ns;
            return bubble;
        }
    }
    return NULL;
}

/* What bounds the bubble bounds its stalls, and is told there. */
static void say_bubble_bound(ps_findings *list, ps_finding *f, const ps_finding *bubble) {
    char more[160];
    if (f->claimed_ns - f->gain_ns <= f->claimed_ns / 20) {
        return;
    }
    (void)snprintf(more, sizeof more,
                   PS_SAY(list->lang,
                          " It is a part of the bubble: without all of that a step saves %s.",
                          "它是空泡的一部分：去掉全部空泡，一个 step 可省 %s。"),
                   ps_ns_text_of(bubble->gain_ns).text);
    append_text(list, f, more);
}

/* What the rank does between the first and the last op of a step: all that is no bubble. */
static int64_t busy_in_chart_ns(const ps_report *report, const ps_report_member *m) {
    int64_t busy_ns =
        report->chart_step_ns - ps_report_per_step(m, ps_intervals_length_ns(&m->bubbles));
    return m->bubbles.n > 0 ? busy_ns : ps_report_own_ns(m);
}

/* A stage that nobody keeps waiting still begins behind the first forwards of those before it, and has its own work to do. Whether that
 * takes anything off the gain. */
static bool bound_by_warmup(ps_report *report, ps_finding *f) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *longest = NULL;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        int64_t ns = ps_i64_plus(m->warmup_ns, busy_in_chart_ns(report, m));
        if (ns > longest_ns) {
            longest_ns = ns;
            longest = m;
        }
    }
    int64_t step_ns = report->chart_step_ns > 0 ? report->chart_step_ns : report->step_ns;
    int64_t most_ns = step_ns > longest_ns ? step_ns - longest_ns : 0;
    if (longest == NULL || f->gain_ns <= most_ns) {
        return false;
    }
    char more[192];
    (void)snprintf(
        more, sizeof more,
        PS_SAY(
            lang,
            " With the work as it is rank %s bounds the gain: its warm-up of %s, in which no stall "
            "is, and its work take %s.",
            "在工作不变时，收益受 rank %s 限制：其预热 %s（其中没有停顿）加上工作共需 %s。"),
        PS_RANK(longest->rank), ps_ns_text_of(longest->warmup_ns).text,
        ps_ns_text_of(longest_ns).text);
    append_text(&report->findings, f, more);
    f->gain_ns = most_ns;
    return true;
}

/* Of a rule on one rank or link: the rank whose step takes longest once that is as usual. The others save what they wait for others and no
 * more, where their waits are recorded; what they do not, and the time in which nothing is launched for them, is their own. NULL: none. */
static const ps_report_member *longest_beside(const ps_report *report, const ps_finding *f,
                                              int64_t *left_ns) {
    const ps_report_member *longest = NULL;
    bool is_of_one = ps_rule_of(f->rule)->frees == PS_FREES_RANK || f->rule == PS_RULE_SLOW_LINK;
    *left_ns = 0;
    for (size_t i = 0; is_of_one && i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        bool is_own =
            m->rank == f->rank || m->exposed_ns == 0 ||
            (f->rule == PS_RULE_SLOW_LINK && ps_report_slow_link_of(report, m->rank) != NULL);
        int64_t most_ns = is_own || m->yields_ns > f->gain_ns ? f->gain_ns : m->yields_ns;
        int64_t ns = m->step_ns > most_ns ? m->step_ns - most_ns : 0;
        if (m->computing_ns > 0 && (longest == NULL || ns > *left_ns)) {
            *left_ns = ns;
            longest = m;
        }
    }
    return longest;
}

static int64_t above_zero(int64_t ns) {
    return ns > 0 ? ns : 0;
}

/* What the cause alone saves, where another rank whose step does not depend on it takes as long. */
static void say_beside(ps_report *report, ps_finding *f) {
    const ps_lang lang = report->findings.lang;
    int64_t left_ns = 0;
    const ps_report_member *longest = f->gain_ns > 0 ? longest_beside(report, f, &left_ns) : NULL;
    int64_t alone_ns = above_zero(longest_step_ns(report) - left_ns);
    if (longest != NULL && alone_ns < f->gain_ns - f->gain_ns / 10) {
        char more[256];
        (void)snprintf(
            more, sizeof more,
            PS_SAY(
                lang,
                " By itself that saves %s%s: rank %s waits for %s and would still take %s. The rest is "
                "won only once the step of that rank gets shorter, too.",
                "单独来看可省 %s%s：rank %s 在等%s，仍需 %s。其余只有在该 rank 的 step 也变短后才能获得。"),
            alone_ns > 0 ? PS_SAY(lang, "at most ", "最多 ") : PS_SAY(lang, "nothing", "零"),
            alone_ns > 0 ? ps_ns_text_of(alone_ns).text : "", PS_RANK(longest->rank),
            alone_ns > 0 ? PS_SAY(lang, "others no longer than that", "其他 rank（不会更久）")
                         : PS_SAY(lang, "nobody", "任何 rank（没有等待）"),
            ps_ns_text_of(left_ns).text);
        append_text(&report->findings, f, more);
    }
}

static void bound_gain(ps_report *report, ps_finding *f) {
    int64_t left_ns = 0;
    if (report->findings.is_of_part) {
        f->gain_ns = 0; /* how much more of it there is nobody knows */
    }
    f->claimed_ns = f->gain_ns;
    int64_t step_left_ns = 0;
    bool by_steps = f->gain_ns > 0 && ps_report_claims(f->rule);
    const ps_report_member *step = by_steps ? bound_by_steps(report, f, &step_left_ns) : NULL;
    const ps_report_member *longest = f->gain_ns > 0 ? longest_without(report, f, &left_ns) : NULL;
    int64_t most_ns = above_zero(report->step_ns - left_ns);
    if (longest != NULL && most_ns < f->gain_ns) {
        f->gain_ns = most_ns;
        say_bound(&report->findings, f, f->claimed_ns, longest, left_ns);
    } else if (step != NULL) {
        say_step_bound(&report->findings, f, f->claimed_ns, step, step_left_ns);
    }
    f->gain_ns = f->gain_ns < report->step_ns ? f->gain_ns : report->step_ns;
    const ps_finding *bubble = bound_by_bubble(report, f);
    bool by_warmup = f->gain_ns > 0 && f->rule == PS_RULE_STAGE_WAIT && bound_by_warmup(report, f);
    if (bubble != NULL && !by_warmup) {
        say_bubble_bound(&report->findings, f, bubble);
    }
    say_beside(report, f);
}

/* Where the steps of the job can be replayed that says what a step takes without the cause: no bound by sums is wanted. */
static void settle_gain(ps_report *report, ps_finding *f) {
    char text[192];
    int64_t gain_ns = 0;
    if (!report->findings.is_of_part &&
        ps_report_replay_gain(report, f, &gain_ns, text, sizeof text)) {
        f->gain_ns = is_stall_rule(f->rule) && f->gain_ns < gain_ns ? f->gain_ns : gain_ns;
        f->claimed_ns = f->gain_ns;
        f->is_replayed = true;
        append_text(&report->findings, f, text);
        return;
    }
    bound_gain(report, f);
    if (ps_report_replay_bound(report, f, &gain_ns, text, sizeof text)) {
        f->gain_ns = gain_ns;
        append_text(&report->findings, f, text);
    }
}

/* --- the order ------------------------------------------------------------------------------------------------------- */

/* By rule, so that the order does not depend on the threads; rules add their findings in the order of ranks. */
static const ps_sort_key FINDING_ORDER[] = {PS_DOWN(ps_finding, gain_ns), PS_UP(ps_finding, rule),
                                            PS_UP(ps_finding, first_evidence)};

static bool names_who_is_slow(const ps_finding *f) {
    return f->rule == PS_RULE_STAGE_IMBALANCE || ps_rule_of(f->rule)->time == PS_TIME_OF_RANK;
}

/* Whether the one is about time in which ranks wait, which may be for who is slow. */
static bool is_about_waiting(const ps_finding *f, const ps_finding *slow) {
    const ps_rule *rule = ps_rule_of(f->rule);
    int64_t rank = slow->rule == PS_RULE_STAGE_IMBALANCE ? -1 : slow->rank;
    return (rule->time == PS_TIME_BUBBLE && rule->frees == PS_FREES_NONE) ||
           ps_finding_may_wait_for(f, rank, slow->stage);
}

/* Who is slow stands before those that wait, for what they wait is made by it: where its gain is at least half of theirs. */
static void put_slow_first(ps_findings *list) {
    for (size_t i = 0; i < list->n; i++) {
        ps_finding f = list->all[i];
        size_t to = 0;
        while (to < i && !(is_about_waiting(&list->all[to], &f) &&
                           f.gain_ns >= list->all[to].gain_ns - f.gain_ns)) {
            to++;
        }
        if (f.gain_ns > 0 && names_who_is_slow(&f) && to < i) {
            memmove(&list->all[to + 1], &list->all[to], (i - to) * sizeof f);
            list->all[to] = f;
        }
    }
}

/* --- time that several findings count --------------------------------------------------------------------------------- */

/* Of one rule about links and one about the communication of a rank: no slow link is in a communicator of that rank. */
static bool are_of_other_links(const ps_report *report, const ps_finding *x, const ps_finding *y) {
    const ps_finding *link = x->rule == PS_RULE_SLOW_LINK ? x : y;
    const ps_finding *other = link == x ? y : x;
    return link->rule == PS_RULE_SLOW_LINK && other->rank >= 0 && report->n_slow_links > 0 &&
           ps_report_slow_link_of(report, other->rank) == NULL;
}

/* Whether both may count the same time, by what their rules look at. */
static bool may_share(const ps_report *report, const ps_finding *x, const ps_finding *y) {
    ps_rule_time kx = ps_rule_of(x->rule)->time;
    ps_rule_time ky = ps_rule_of(y->rule)->time;
    const ps_report_member *m = ps_report_member_of(report, x->rank);
    bool of_one_rank = m != NULL && m == ps_report_member_of(report, y->rank);
    if (are_of_other_links(report, x, y)) {
        return false;
    }
    if ((x->launches_ns > 0 && ky == PS_TIME_IDLE) || (y->launches_ns > 0 && kx == PS_TIME_IDLE)) {
        return true;
    }
    if ((x->comm_ns > 0 && ky == PS_TIME_COMMUNICATION) ||
        (y->comm_ns > 0 && kx == PS_TIME_COMMUNICATION)) {
        bool is_claimed = x->comm_ns > 0 ? ps_report_claims(x->rule) : ps_report_claims(y->rule);
        return x->rank < 0 || y->rank < 0 || of_one_rank || is_claimed; /* on each rank */
    }
    return (kx == PS_TIME_OF_RANK || ky == PS_TIME_OF_RANK) ? of_one_rank
                                                            : kx == ky && kx != PS_TIME_OTHER;
}

/* All that launches are in a gain for is a wait for the host, and a late host's finding has all of these. */
static int64_t shared_launches_ns(const ps_finding *x, const ps_finding *y) {
    return x->rule == PS_RULE_FREE_SHARE   ? y->launches_ns
           : y->rule == PS_RULE_FREE_SHARE ? x->launches_ns
                                           : 0;
}

/* Where the cause of the finding held on the rank; NULL: not known. `room` is used where its rule claims on each rank. */
static const ps_intervals *spans_on(ps_report *report, const ps_finding *f,
                                    const ps_report_member *m, ps_intervals *room) {
    static const ps_intervals NOWHERE = {0};
    bool is_its = m == ps_report_member_of(report, f->rank);
    const ps_rule *rule = ps_rule_of(f->rule);
    if (f->n_spans_on > 0) {
        return &f->spans_on[m - report->members];
    }
    if (is_its) {
        return f->spans.n > 0 ? &f->spans : NULL;
    }
    if (rule->time == PS_TIME_COMPUTING && rule->frees == PS_FREES_RANK && f->spans.n > 0) {
        return &NOWHERE;
    }
    if (!ps_report_claim_spans(m, f->rule, room)) {
        report->findings.failed = true;
    }
    ps_intervals_unite(room);
    return room->n > 0 ? room : NULL;
}

/* Of them, over all steps: what lies beside communication that stands alone because the host is late. */
static int64_t late_comm_in_ns(const ps_report_member *m, const ps_intervals *list) {
    int64_t sum_ns = 0;
    for (int cause = 0; cause < PS_N_IDLE_CAUSES; cause++) {
        for (size_t i = 0; i < list->n; i++) {
            sum_ns += ps_intervals_within_ns(&m->facts->late_comm_spans[cause],
                                             list->at[i].start_ns, list->at[i].end_ns);
        }
    }
    return sum_ns;
}

bool ps_report_add_common(const ps_report_member *m, const ps_intervals *own,
                          const ps_intervals *others, ps_common_time *sum) {
    ps_intervals both = {0};
    bool ok = ps_intervals_both(own, others, &both);
    sum->both_ns = ps_i64_plus(sum->both_ns, ps_intervals_length_ns(&both));
    sum->own_ns = ps_i64_plus(sum->own_ns, ps_intervals_length_ns(own));
    sum->both_comm_ns = ps_i64_plus(sum->both_comm_ns, late_comm_in_ns(m, &both));
    sum->own_comm_ns = ps_i64_plus(sum->own_comm_ns, late_comm_in_ns(m, own));
    sum->n_steps += ps_report_steps_of(m);
    ps_intervals_fini(&both);
    return ok;
}

int64_t ps_report_least_common_ns(const ps_common_time *sum, int64_t claimed_ns, int64_t gain_ns) {
    int64_t both_comm_ns = sum->both_comm_ns / sum->n_steps;
    int64_t both_idle_ns = sum->both_ns / sum->n_steps - both_comm_ns;
    int64_t own_comm_ns = sum->own_comm_ns / sum->n_steps;
    int64_t spare_ns = above_zero(sum->own_ns / sum->n_steps - claimed_ns);
    int64_t spare_comm_ns = spare_ns < own_comm_ns ? spare_ns : own_comm_ns;
    int64_t bound_ns = above_zero(claimed_ns - gain_ns);
    return above_zero(above_zero(both_comm_ns - spare_comm_ns) +
                      above_zero(both_idle_ns - (spare_ns - spare_comm_ns)) - bound_ns);
}

/* False where spans of one of them are not known on the member. */
static bool add_findings(ps_report *report, const ps_finding *x, const ps_finding *y,
                         const ps_report_member *m, ps_common_time *sum) {
    ps_intervals own_room = {0};
    ps_intervals room = {0};
    const ps_intervals *own = spans_on(report, x, m, &own_room);
    const ps_intervals *others = own != NULL ? spans_on(report, y, m, &room) : NULL;
    if (others != NULL && !ps_report_add_common(m, own, others, sum)) {
        report->findings.failed = true;
    }
    ps_intervals_fini(&own_room);
    ps_intervals_fini(&room);
    return others != NULL;
}

/* What both count in a step, as their spans say, on the rank of the first; where that is about all ranks on that of the second, and where
 * both are on the mean rank. -1 where spans do not say. */
static int64_t shared_ns(ps_report *report, const ps_finding *x, const ps_finding *y) {
    const ps_report_member *m = ps_report_member_of(report, x->rank);
    bool is_of_all = x->n_spans_on > 0;
    m = m == NULL && is_of_all ? ps_report_member_of(report, y->rank) : m;
    ps_common_time sum = {0};
    bool is_known = m != NULL || is_of_all;
    for (size_t i = 0; is_known && i < report->n_members; i++) {
        if (m == NULL || m == &report->members[i]) {
            is_known = add_findings(report, x, y, &report->members[i], &sum);
        }
    }
    if (!is_known || sum.n_steps == 0) {
        return -1;
    }
    int64_t launches_ns = shared_launches_ns(x, y);
    int64_t ns = ps_report_least_common_ns(&sum, x->claimed_ns, x->gain_ns);
    ns = ns > launches_ns ? ns : launches_ns;
    ns = ns < x->gain_ns ? ns : x->gain_ns;
    return ns < y->gain_ns ? ns : y->gain_ns;
}

static void add_shared(ps_finding *x, size_t with, int64_t ns) {
    if (x->n_shared < PS_SHARED_MAX) {
        x->shared[x->n_shared++] = (ps_shared_time){with, ns};
    }
    x->shared_with = ns > x->shared_ns ? with : x->shared_with;
    x->shared_ns = ns > x->shared_ns ? ns : x->shared_ns;
}

/* The findings before it that count a part of its time; where spans tell of none, those that count the same kind of time. */
static void tell_shared(ps_report *report, size_t at) {
    ps_finding *x = &report->findings.all[at];
    size_t alike[PS_SHARED_MAX];
    size_t n_alike = 0;
    for (size_t k = 0; k < at && x->gain_ns > 0; k++) {
        const ps_finding *y = &report->findings.all[k];
        int64_t ns = shared_ns(report, x, y);
        if (ns > x->gain_ns / 100) {
            add_shared(x, k + 1, ns);
        } else if (ns < 0 && n_alike < PS_SHARED_MAX && may_share(report, x, y)) {
            alike[n_alike++] = k + 1;
        }
    }
    for (size_t i = 0; x->n_shared == 0 && i < n_alike; i++) {
        x->shared_with = x->shared_with > 0 ? x->shared_with : alike[i];
        x->shared[i] = (ps_shared_time){alike[i], 0};
    }
    x->n_shared = x->n_shared > 0 ? x->n_shared : n_alike;
}

static bool is_of_collectives(const ps_finding *f) {
    return f->rule == PS_RULE_COMM_EXPOSED || f->rule == PS_RULE_COMM_OUTLIER ||
           f->rule == PS_RULE_COMM_OVER_COMPUTE;
}

/* Slow collectives and the slow link that they cross name one another. */
static void tell_links(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    ps_findings *list = &report->findings;
    size_t at = 0; /* the finding of the links, from 1 */
    for (size_t i = 0; i < list->n; i++) {
        at = list->all[i].rule == PS_RULE_SLOW_LINK ? i + 1 : at;
    }
    size_t first = 0; /* the finding whose collectives cross one */
    for (size_t i = 0; at > 0 && i < list->n; i++) {
        ps_finding *f = &list->all[i];
        const ps_report_slow_link *l =
            is_of_collectives(f) && f->rank >= 0 ? ps_report_slow_link_of(report, f->rank) : NULL;
        if (l != NULL) {
            char text[160];
            (void)snprintf(
                text, sizeof text,
                PS_SAY(
                    lang,
                    " A link of its communicators is slow, from rank %lld to rank %s (finding %zu).",
                    "其通信组中有一条慢链路：rank %lld 到 rank %s（发现 %zu）。"),
                (long long)l->source, PS_RANK(l->destination), at);
            append_text(list, f, text);
            first = first == 0 ? i + 1 : first;
        }
    }
    if (first > 0) {
        char text[96];
        (void)snprintf(text, sizeof text,
                       PS_SAY(lang, " The collectives of finding %zu cross it.",
                              "发现 %zu 的集合通信经过它。"),
                       first);
        append_text(list, &list->all[at - 1], text);
    }
}

/* The first finding of what one rank does that is about this one, from 1; 0: none is. */
static size_t finding_about(const ps_findings *list, int64_t rank) {
    for (size_t i = 0; i < list->n; i++) {
        const ps_finding *f = &list->all[i];
        const ps_rule *rule = ps_rule_of(f->rule);
        bool is_of_rank = rule->time == PS_TIME_OF_RANK ||
                          (rule->time == PS_TIME_COMPUTING && rule->frees == PS_FREES_RANK);
        if (is_of_rank && f->rank == rank) {
            return i + 1;
        }
    }
    return 0;
}

/* What says to mend a rank says which finding is about it. */
static void tell_what_to_mend(ps_findings *list) {
    const ps_lang lang = list->lang;
    for (size_t i = 0; i < list->n; i++) {
        ps_finding *f = &list->all[i];
        size_t about = f->mend_at > 0 ? finding_about(list, f->mend_rank) : 0;
        size_t size = about > 0 ? strlen(f->remedy) + 40 : 0;
        char *text = size > 0 ? ps_arena_alloc(&list->arena, size) : NULL;
        if (text != NULL) {
            (void)snprintf(text, size, PS_SAY(lang, "%.*s (finding %zu)%s", "%.*s（发现 %zu）%s"),
                           (int)f->mend_at, f->remedy, about, f->remedy + f->mend_at);
            f->remedy = text;
        }
        list->failed = list->failed || (size > 0 && text == NULL);
    }
}

void ps_report_bound_gains(ps_report *report) {
    ps_findings *f = &report->findings;
    ps_report_find_absorbed(report);
    for (size_t i = 0; i < f->n; i++) {
        settle_gain(report, &f->all[i]);
        ps_intervals_unite(&f->all[i].spans);
        for (size_t m = 0; m < f->all[i].n_spans_on; m++) {
            ps_intervals_unite(&f->all[i].spans_on[m]);
        }
        say_absorbed(report, &f->all[i]);
    }
    ps_sort_by(f->all, f->n, sizeof *f->all, PS_KEYS(FINDING_ORDER));
    put_slow_first(f);
    for (size_t i = 0; i < f->n; i++) {
        tell_shared(report, i);
    }
    tell_links(report);
    tell_what_to_mend(f);
}
