#include "analyze/report/report_gains.h"

#include <stdio.h>
#include <string.h>

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
    int64_t n_steps = m->facts->n_steps > 0 ? (int64_t)m->facts->n_steps : 1;
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

/* --- what a rule counts ------------------------------------------------------------------------------------------------ */

/* What part of a rank's time a rule counts: two rules of one kind may count the same time. */
typedef enum time_kind {
    TIME_OTHER,
    TIME_OF_RANK, /* whatever one rank did, which others waited for */
    TIME_IDLE,
    TIME_COMPUTING,
    TIME_COMMUNICATION,
    TIME_COPIES,
    TIME_BUBBLE
} time_kind;

/* Whose work gets less without the cause. */
typedef enum time_scope {
    FREES_ALL,  /* that of every rank, which may have the cause, too */
    FREES_RANK, /* that of the finding's rank alone */
    FREES_NONE  /* nobody's: they wait less */
} time_scope;

typedef struct rule_time {
    time_kind kind;
    time_scope scope;
} rule_time;

static rule_time time_of_rule(ps_rule_id rule) {
    static const rule_time TIMES[PS_N_RULES] = {
        [PS_RULE_FREE_SHARE] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_IDLE_DEVICE] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_BEFORE_FIRST_WORK] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_BLOCKING_COPY] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_BLOCKING_SYNC] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_GC_PAUSE] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_DATA_LOADING] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_HOST_OPTIMIZER] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_MODEL_BUFFERS] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_BUCKET_COPIES] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_OTHER_WORK] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_OPTIMISER_LAUNCHES] = {TIME_OTHER, FREES_NONE},
        [PS_RULE_JIT_COMPILE] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_ALLOCATION] = {TIME_IDLE, FREES_NONE},
        [PS_RULE_CONVERSION] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_LOW_MFU_ATTENTION] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_LOW_MFU_CONVOLUTION] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_LOW_MFU_GROUPED] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_EXPOSED_COPIES] = {TIME_COPIES, FREES_ALL},
        [PS_RULE_TOP_KERNEL] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_LOW_MFU] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_KERNEL_VARIES] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_AICPU] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_UNIT_BOUND] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_FEW_BLOCKS] = {TIME_COMPUTING, FREES_ALL},
        [PS_RULE_SLOW_KERNEL] = {TIME_COMPUTING, FREES_RANK},
        [PS_RULE_HOST_WAITS_COMM] = {TIME_COMMUNICATION, FREES_ALL},
        [PS_RULE_COMM_EXPOSED] = {TIME_COMMUNICATION, FREES_ALL},
        [PS_RULE_COMM_OUTLIER] = {TIME_COMMUNICATION, FREES_ALL},
        [PS_RULE_SLOW_LINK] = {TIME_COMMUNICATION, FREES_ALL},
        [PS_RULE_ABSENT_RANK] = {TIME_OTHER, FREES_NONE}, /* waiting is in no other gain */
        [PS_RULE_LATE_ARRIVAL] = {TIME_OF_RANK, FREES_RANK},
        [PS_RULE_SLOW_RANK] = {TIME_OF_RANK, FREES_RANK},
        [PS_RULE_BUBBLE] = {TIME_BUBBLE, FREES_NONE}, /* what stages have to do stays with them */
        [PS_RULE_STAGE_IMBALANCE] = {TIME_BUBBLE, FREES_ALL},
        [PS_RULE_STAGE_WAIT] = {TIME_BUBBLE, FREES_NONE},
        [PS_RULE_TRANSFER_WAIT] = {TIME_BUBBLE, FREES_NONE},
        [PS_RULE_OTHER_STALL] = {TIME_BUBBLE, FREES_NONE},
        [PS_RULE_OTHER_SCHEDULE] = {TIME_BUBBLE, FREES_NONE},
    };
    return TIMES[rule];
}

/* --- the bound ------------------------------------------------------------------------------------------------------- */

int64_t ps_report_own_ns(const ps_report_member *m) {
    int64_t work_ns = ps_i64_plus(ps_i64_plus(m->computing_ns, m->exposed_ns), m->copies_ns);
    return work_ns > m->waits_ns ? work_ns - m->waits_ns : 0;
}

/* What of its exposed communication computing may stand beside once the host is in time, at most. The device does not do itself
 * what it waits there for other ranks. */
static int64_t hidden_in_time_ns(const ps_report_member *m) {
    int64_t own_ns = m->exposed_ns - m->waits_ns;
    return m->late_comm_ns < own_ns ? m->late_comm_ns : own_ns;
}

/* What the device of the member works less without the cause, at most. */
static int64_t removed_ns(const ps_finding *f, const ps_report_member *m) {
    rule_time time = time_of_rule(f->rule);
    if (time.kind == TIME_IDLE) {
        return hidden_in_time_ns(m);
    }
    int64_t most_ns = time.kind == TIME_COMPUTING       ? m->computing_ns
                      : time.kind == TIME_COMMUNICATION ? m->exposed_ns
                      : time.kind == TIME_COPIES        ? m->copies_ns
                                                        : ps_report_own_ns(m);
    bool is_other_rank = time.scope == FREES_RANK && f->rank != m->rank;
    return time.scope == FREES_NONE || is_other_rank ? 0
           : f->gain_ns < most_ns                    ? f->gain_ns
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
    int64_t own_ns =
        replay != NULL && replay->n_rows > 0 ? ps_column_int(replay, 0, "step time", 0) : 0;
    int64_t tenth_ns = report->chart_step_ns / 10;
    return own_ns > 0 && own_ns >= report->chart_step_ns - tenth_ns &&
           own_ns <= ps_i64_plus(report->chart_step_ns, tenth_ns);
}

/* The step of the fastest schedule that was replayed; 0: none, or the replay is not like this job. */
static int64_t fastest_replay_ns(const ps_report *report, const char **schedule) {
    const ps_table *replay = ps_report_chart_table(report, "PipelineReplay");
    int64_t fastest_ns = 0;
    for (size_t r = 0; ps_report_replay_is_like(report) && r < replay->n_rows; r++) {
        int64_t ns = ps_column_int(replay, r, "step time", 0);
        if (ns > 0 && (fastest_ns == 0 || ns < fastest_ns)) {
            fastest_ns = ns;
            *schedule = ps_column_text(replay, r, "schedule");
        }
    }
    return fastest_ns;
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

/* A bound that takes less than a tenth off is not worth a sentence. */
static void say_bound(ps_findings *list, ps_finding *f, int64_t claimed_ns,
                      const ps_report_member *longest, int64_t left_ns) {
    char more[192];
    if (claimed_ns - f->gain_ns <= claimed_ns / 10) {
        return;
    }
    bool waits = ps_report_other_idle_ns(longest, f->rule) > 0;
    (void)snprintf(more, sizeof more,
                   " Without that cause the device of rank %s would still work%s for %s in a step.",
                   PS_RANK(longest->rank), waits ? ", or wait for other work of its host," : "",
                   ps_ns_text_of(left_ns).text);
    append_text(list, f, more);
}

/* No rearrangement that was replayed is faster: what a bubble costs beyond that nobody knows how to win. */
static void bound_by_replay(ps_report *report, ps_finding *f) {
    const char *schedule = NULL;
    int64_t fastest_ns = fastest_replay_ns(report, &schedule);
    int64_t most_ns = report->chart_step_ns > fastest_ns ? report->chart_step_ns - fastest_ns : 0;
    if (time_of_rule(f->rule).kind != TIME_BUBBLE || fastest_ns == 0 || f->gain_ns <= most_ns) {
        return;
    }
    char more[160];
    (void)snprintf(
        more, sizeof more,
        " Of the schedules that were replayed with these durations none takes less than %s from its first "
        "to its last op.",
        ps_ns_text_of(fastest_ns).text);
    f->gain_ns = most_ns;
    f->replayed = schedule;
    append_text(&report->findings, f, more);
}

/* The finding was made before it was known what its rank waits for others. */
static void bound_comm(const ps_report *report, ps_finding *f) {
    for (size_t i = 0; f->gain_ns > 0 && f->comm_ns > 0 && i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        int64_t most_ns = hidden_in_time_ns(m);
        if (m->rank == f->rank && f->comm_ns > most_ns) {
            f->gain_ns -= f->comm_ns - most_ns;
            f->comm_ns = most_ns;
        }
    }
}

/* Whether what the finding counts may lie before a wait. */
static bool may_be_absorbed(time_kind kind) {
    return kind == TIME_IDLE || kind == TIME_COMPUTING || kind == TIME_COPIES;
}

/* A tenth of the gain that depends on others is not worth a sentence. */
static void say_absorbed(ps_report *report, ps_finding *f) {
    char more[192];
    if (f->gain_ns <= 0 || !may_be_absorbed(time_of_rule(f->rule).kind)) {
        return;
    }
    f->absorbed_ns = ps_report_absorbed_ns(report, f);
    if (f->absorbed_ns > f->gain_ns / 10) {
        (void)snprintf(
            more, sizeof more,
            " %s of the gain is won only once ranks that were not captured come earlier: it lies "
            "before or beside waits for them.",
            ps_ns_text_of(f->absorbed_ns).text);
        append_text(&report->findings, f, more);
    } else if (f->spans.n == 0 && ps_report_all_absorb(report)) {
        append_text(
            &report->findings, f,
            " What of it lies before waits for ranks that were not captured is won only once those "
            "come earlier.");
    }
}

static void bound_gain(ps_report *report, ps_finding *f) {
    int64_t left_ns = 0;
    if (report->findings.is_of_part) {
        f->gain_ns = 0; /* how much more of it there is nobody knows */
    }
    bound_comm(report, f);
    const ps_report_member *longest = f->gain_ns > 0 ? longest_without(report, f, &left_ns) : NULL;
    int64_t most_ns = report->step_ns > left_ns ? report->step_ns - left_ns : 0;
    most_ns = most_ns < report->step_ns ? most_ns : report->step_ns;
    if (longest != NULL && most_ns < f->gain_ns) {
        int64_t claimed_ns = f->gain_ns;
        f->gain_ns = most_ns;
        say_bound(&report->findings, f, claimed_ns, longest, left_ns);
    }
    f->gain_ns = f->gain_ns < report->step_ns ? f->gain_ns : report->step_ns;
    bound_by_replay(report, f);
}

/* --- the order ------------------------------------------------------------------------------------------------------- */

/* By rule, so that the order does not depend on the threads; rules add their findings in the order of ranks. */
static const ps_sort_key FINDING_ORDER[] = {PS_DOWN(ps_finding, gain_ns), PS_UP(ps_finding, rule),
                                            PS_UP(ps_finding, first_evidence)};

/* --- time that several findings count --------------------------------------------------------------------------------- */

static int64_t n_steps_of(const ps_report *report, int64_t rank) {
    for (size_t i = 0; i < report->n_members; i++) {
        if (report->members[i].rank == rank && report->members[i].facts->n_steps > 0) {
            return (int64_t)report->members[i].facts->n_steps;
        }
    }
    return 1;
}

/* Of one rule about links and one about the communication of a rank: no slow link is in a communicator of that rank. */
static bool are_of_other_links(const ps_report *report, const ps_finding *x, const ps_finding *y) {
    const ps_finding *link = x->rule == PS_RULE_SLOW_LINK ? x : y;
    const ps_finding *other = link == x ? y : x;
    return link->rule == PS_RULE_SLOW_LINK && other->rank >= 0 && report->n_slow_links > 0 &&
           ps_report_slow_link_of(report, other->rank) == NULL;
}

/* Whether both may count the same time, by what their rules look at. */
static bool may_share(const ps_report *report, const ps_finding *x, const ps_finding *y) {
    time_kind kx = time_of_rule(x->rule).kind;
    time_kind ky = time_of_rule(y->rule).kind;
    bool of_one_rank = x->rank >= 0 && x->rank == y->rank;
    if (are_of_other_links(report, x, y)) {
        return false;
    }
    if ((x->comm_ns > 0 && ky == TIME_COMMUNICATION) ||
        (y->comm_ns > 0 && kx == TIME_COMMUNICATION)) {
        return x->rank < 0 || y->rank < 0 || of_one_rank;
    }
    return (kx == TIME_OF_RANK || ky == TIME_OF_RANK) ? of_one_rank : kx == ky && kx != TIME_OTHER;
}

/* What both count in a step, as their spans say; -1 where they do not. */
static int64_t shared_ns(ps_report *report, const ps_finding *x, const ps_finding *y) {
    ps_intervals both = {0};
    if (x->rank < 0 || x->rank != y->rank || x->spans.n == 0 || y->spans.n == 0) {
        return -1;
    }
    if (!ps_intervals_both(&x->spans, &y->spans, &both)) {
        report->findings.failed = true;
    }
    int64_t ns = ps_intervals_length_ns(&both) / n_steps_of(report, x->rank);
    ps_intervals_fini(&both);
    ns = ns < x->gain_ns ? ns : x->gain_ns;
    return ns < y->gain_ns ? ns : y->gain_ns;
}

/* The finding before it with which it shares most, else the first one that counts the same kind of time. */
static void tell_shared(ps_report *report, size_t at) {
    ps_finding *x = &report->findings.all[at];
    size_t alike = 0;
    for (size_t k = 0; k < at && x->gain_ns > 0; k++) {
        const ps_finding *y = &report->findings.all[k];
        int64_t ns = shared_ns(report, x, y);
        if (ns > x->shared_ns) {
            x->shared_ns = ns;
            x->shared_with = k + 1;
        }
        alike = alike == 0 && ns < 0 && may_share(report, x, y) ? k + 1 : alike;
    }
    x->shared_with = x->shared_with > 0 ? x->shared_with : alike;
}

static bool is_of_collectives(const ps_finding *f) {
    return f->rule == PS_RULE_COMM_EXPOSED || f->rule == PS_RULE_COMM_OUTLIER ||
           f->rule == PS_RULE_COMM_OVER_COMPUTE;
}

/* Slow collectives and the slow link that they cross name one another. */
static void tell_links(ps_report *report) {
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
                " A link of its communicators is slow, from rank %lld to rank %s (finding %zu).",
                (long long)l->source, PS_RANK(l->destination), at);
            append_text(list, f, text);
            first = first == 0 ? i + 1 : first;
        }
    }
    if (first > 0) {
        char text[96];
        (void)snprintf(text, sizeof text, " The collectives of finding %zu cross it.", first);
        append_text(list, &list->all[at - 1], text);
    }
}

void ps_report_bound_gains(ps_report *report) {
    ps_findings *f = &report->findings;
    ps_report_find_absorbed(report);
    for (size_t i = 0; i < f->n; i++) {
        bound_gain(report, &f->all[i]);
        ps_intervals_unite(&f->all[i].spans);
        say_absorbed(report, &f->all[i]);
    }
    ps_sort_by(f->all, f->n, sizeof *f->all, PS_KEYS(FINDING_ORDER));
    for (size_t i = 0; i < f->n; i++) {
        tell_shared(report, i);
    }
    tell_links(report);
}
