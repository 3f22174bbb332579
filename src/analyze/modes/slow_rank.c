/* slow_rank: who keeps the others waiting. In a collective all end together, so the one that came last has the shortest
 * duration: the test for outliers votes for it, collective by collective. Groups of two and three ranks, which that test
 * cannot judge, vote by lateness. Besides the votes, how late in microseconds: SlowRankLateness.
 *
 * Occurrences are paired by skew.h, so that a name that repeats in every step is not one sample. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/comm_roster.h"
#include "analyze/stats/dixon.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"
#include "base/num.h"

/* Of two or three ranks the last one is slow when the others spent more than half of their time waiting for it alone, and
 * the wait is more than what clocks and launches are good for. */
enum { LEAST_LATE_NS = 10000, SMALL_GROUP = 3 };

typedef struct vote {
    const ps_matched_collective *collective;
    const ps_comm_op *op; /* of the slow rank */
    uint32_t rank;
} vote;

typedef struct count {
    int64_t rank, n;
} count;

typedef struct judging {
    const ps_reduce_input *in;
    ps_comm_roster roster; /* for the names of groups */
    const ps_comm_list *const *lists;
    ps_skew skew;
    int64_t *durations; /* room for the parts of one collective */
    vote *votes;
    size_t n_votes;
} judging;

static const ps_comm_op *op_of(const judging *j, const ps_collective_part *p) {
    return &j->lists[p->rank]->ops[p->op];
}

/* --- votes ---------------------------------------------------------------------------------------------------- */

static int64_t slow_rank_duration_of(const ps_comm_op *op) {
    return op->end_ns - op->start_ns;
}

static size_t take_durations(judging *j, const ps_matched_collective *m) {
    for (uint32_t i = 0; i < m->n; i++) {
        j->durations[i] = slow_rank_duration_of(op_of(j, &j->skew.parts[m->first + i]));
    }
    return m->n;
}

static const ps_collective_part *find_shortest(const judging *j, const ps_matched_collective *m) {
    const ps_collective_part *shortest = &j->skew.parts[m->first];
    for (uint32_t i = 1; i < m->n; i++) {
        const ps_collective_part *p = &j->skew.parts[m->first + i];
        shortest = slow_rank_duration_of(op_of(j, p)) < slow_rank_duration_of(op_of(j, shortest))
                       ? p
                       : shortest;
    }
    return shortest;
}

/* The slow one of a collective, or NULL. */
static const ps_collective_part *judge_slow_rank(judging *j, const ps_matched_collective *m) {
    if (m->n <= SMALL_GROUP) {
        bool is_late = m->late_ns >= LEAST_LATE_NS && m->late_ns > m->longest_ns / 2;
        return is_late ? &j->skew.parts[m->last] : NULL;
    }
    size_t n = take_durations(j, m);
    qsort(j->durations, n, sizeof *j->durations, ps_compare_i64);
    return ps_smallest_is_outlier(j->durations, n) ? find_shortest(j, m) : NULL;
}

static int compare_votes(const void *a, const void *b) {
    const vote *x = a;
    const vote *y = b;
    if (x->op->start_ns != y->op->start_ns) {
        return x->op->start_ns < y->op->start_ns ? -1 : 1;
    }
    return x->collective < y->collective ? -1
                                         : x->collective > y->collective; /* in one array, sorted */
}

static bool judge_all(judging *j) {
    j->votes = ps_calloc(j->skew.n_collectives + 1, sizeof *j->votes);
    j->durations = ps_calloc(j->in->n_ranks + 1, sizeof *j->durations);
    if (j->votes == NULL || j->durations == NULL) {
        return false;
    }
    for (size_t i = 0; i < j->skew.n_collectives; i++) {
        const ps_matched_collective *m = &j->skew.collectives[i];
        const ps_collective_part *slow = judge_slow_rank(j, m);
        if (slow != NULL) {
            j->votes[j->n_votes++] = (vote){m, op_of(j, slow), slow->rank};
        }
    }
    if (j->n_votes > 1) {
        qsort(j->votes, j->n_votes, sizeof *j->votes, compare_votes);
    }
    return true;
}

/* --- tables --------------------------------------------------------------------------------------------------- */

static const ps_column RANK_COLUMNS[] = {
    {.name = "rankId", .type = PS_COL_INT, .is_key = true},
    {.name = "slowAffectCount", .type = PS_COL_INT, .unit = PS_UNIT_COUNT}};

static int compare_counts(const void *a, const void *b) {
    const count *x = a;
    const count *y = b;
    if (x->n != y->n) {
        return x->n > y->n ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static ps_code add_slow_rank_ranks(const judging *j, ps_err *err) {
    size_t n = j->in->n_ranks;
    count *counts = ps_calloc(n + 1, sizeof *counts);
    ps_table *t = ps_table_new("SlowRank", "collectives in which a rank kept the others waiting",
                               RANK_COLUMNS, 2);
    bool ok = counts != NULL && t != NULL;
    for (size_t r = 0; ok && r < n; r++) {
        counts[r].rank = j->in->ranks[r].rank;
    }
    for (size_t i = 0; ok && i < j->n_votes; i++) {
        counts[j->votes[i].rank].n++;
    }
    if (ok && n > 1) {
        qsort(counts, n, sizeof *counts, compare_counts);
    }
    for (size_t r = 0; ok && r < n && counts[r].n > 0; r++) {
        ok = ps_table_add_row(t);
        if (ok) {
            ps_table_set_int(t, 0, counts[r].rank);
            ps_table_set_int(t, 1, counts[r].n);
        }
    }
    ps_free(counts);
    return ps_result_finish_table(j->in->result, t, ok, "rank_stats", PS_TO_ALL, err);
}

enum { O_RANK, O_NAME, O_GROUP, O_TIME, O_STATS };

static const ps_column OP_COLUMNS[] = {
    [O_RANK] = {.name = "SlowRank", .type = PS_COL_TEXT},
    [O_NAME] = {.name = "OpName", .type = PS_COL_TEXT},
    [O_GROUP] = {.name = "GroupName", .type = PS_COL_TEXT},
    [O_TIME] = {.name = "Timestamp", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    PS_STATS_COLUMNS};

static bool put_vote(ps_table *t, judging *j, const vote *v) {
    const ps_comm_list *list = j->lists[v->rank];
    char rank[32];
    (void)snprintf(rank, sizeof rank, "%lld", (long long)j->in->ranks[v->rank].rank);
    if (!ps_table_add_row(t) || !ps_table_set_text(t, O_RANK, rank) ||
        !ps_table_set_text(t, O_NAME, ps_comm_text(list, v->op->name)) ||
        !ps_table_set_text(t, O_GROUP, ps_comm_text(list, v->op->group))) {
        return false;
    }
    ps_table_set_int(t, O_TIME, v->op->start_ns);
    ps_stats stats = ps_stats_of(j->durations, take_durations(j, v->collective));
    ps_stats_put(t, O_STATS, &stats);
    return true;
}

static ps_code add_slow_rank_ops(judging *j, ps_err *err) {
    ps_table *t = ps_table_new("SlowOpStats", "these collectives: durations over the ranks",
                               OP_COLUMNS, sizeof OP_COLUMNS / sizeof *OP_COLUMNS);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < j->n_votes; i++) {
        ok = put_vote(t, j, &j->votes[i]);
    }
    return ps_result_finish_table(j->in->result, t, ok, "slow_op_stats", PS_TO_DB | PS_TO_FILES,
                                  err);
}

enum {
    L_RANK,
    L_GROUP,
    L_LABEL,
    L_KIND,
    L_N,
    L_LAST,
    L_LATE,
    L_MEAN,
    L_MAX,
    L_WAITED,
    L_OFFSET,
    L_CLOCK,
    N_L
};

static const ps_column LATE_COLUMNS[N_L] = {
    [L_RANK] = {.name = "rankId", .type = PS_COL_INT},
    [L_GROUP] = {.name = "groupName", .type = PS_COL_TEXT},
    [L_LABEL] = {.name = "pgName", .type = PS_COL_TEXT},
    [L_KIND] = {.name = "kind", .type = PS_COL_TEXT},
    [L_N] = {.name = "operators", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [L_LAST] = {.name = "cameLast", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [L_LATE] = {.name = "lateTime(us)", .type = PS_COL_REAL},
    [L_MEAN] = {.name = "meanLateness(us)", .type = PS_COL_REAL},
    [L_MAX] = {.name = "maxLateness(us)", .type = PS_COL_REAL},
    [L_WAITED] = {.name = "waitTime(us)", .type = PS_COL_REAL},
    [L_OFFSET] = {.name = "clockOffset(us)", .type = PS_COL_REAL},
    [L_CLOCK] = {.name = "clockOfRank", .type = PS_COL_INT},
};

static int compare_late(const void *a, const void *b) {
    const ps_skew_row *const *x = a;
    const ps_skew_row *const *y = b;
    if ((*x)->late_ns != (*y)->late_ns) {
        return (*x)->late_ns > (*y)->late_ns ? -1 : 1;
    }
    return *x < *y ? -1 : *x > *y; /* in one array, by rank */
}

static double slow_rank_us(int64_t ns) {
    return (double)ns / 1e3;
}

/* "dp", "" unknown. */
static const char *slow_rank_label_of(const judging *j, const char *group) {
    char key[PS_COMM_KEY_SIZE];
    ps_comm_key(group, key, sizeof key);
    const ps_comm_group *fact = ps_comm_roster_fact(&j->roster, key);
    return fact != NULL ? fact->label : "";
}

static bool put_late(ps_table *t, const judging *j, const ps_skew_row *row) {
    const ps_rank_clock *clock = &j->skew.clocks[row->rank];
    const char *group = ps_strpool_get(&j->skew.strings, row->group);
    if (!ps_table_add_row(t) || !ps_table_set_text(t, L_GROUP, group) ||
        !ps_table_set_text(t, L_LABEL, slow_rank_label_of(j, group)) ||
        !ps_table_set_text(t, L_KIND, row->is_p2p ? "p2p" : "collective")) {
        return false;
    }
    ps_table_set_int(t, L_RANK, j->in->ranks[row->rank].rank);
    ps_table_set_int(t, L_N, (int64_t)row->n);
    size_t n_known = row->n - row->n_unknown;
    if (n_known > 0 || row->n == 0) { /* else how late it was is not known of any */
        ps_table_set_int(t, L_LAST, (int64_t)row->n_last);
        ps_table_set_real(t, L_LATE, slow_rank_us(row->late_ns));
        ps_table_set_real(t, L_MEAN,
                          n_known > 0 ? slow_rank_us(row->behind_ns) / (double)n_known : 0);
        ps_table_set_real(t, L_MAX, slow_rank_us(row->most_behind_ns));
    }
    if (row->n_waits_unknown < row->n_waits || row->n_waits == 0) {
        ps_table_set_real(t, L_WAITED, slow_rank_us(row->waited_ns));
    }
    ps_table_set_real(t, L_OFFSET, slow_rank_us(clock->offset_ns));
    ps_table_set_int(t, L_CLOCK, j->in->ranks[clock->reference].rank);
    return true;
}

static ps_code add_lateness(const judging *j, ps_err *err) {
    size_t n = j->skew.n_rows;
    const ps_skew_row **rows = ps_calloc(n + 1, sizeof *rows);
    ps_table *t =
        ps_table_new("SlowRankLateness", "how late ranks came, latest first", LATE_COLUMNS, N_L);
    bool ok = rows != NULL && t != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        rows[i] = &j->skew.rows[i];
    }
    if (ok && n > 1) {
        qsort(rows, n, sizeof *rows, compare_late);
    }
    for (size_t i = 0; ok && i < n; i++) {
        ok = put_late(t, j, rows[i]);
    }
    ps_free(rows);
    return ps_result_finish_table(j->in->result, t, ok, "rank_lateness", PS_TO_ALL, err);
}

/* --- the rounds ----------------------------------------------------------------------------------------------- */

static ps_code map_slow_rank(const ps_map_input *in, void **out, ps_err *err) {
    ps_comm_part *part = NULL;
    ps_code code = ps_comm_part_read(in, 0, &part, err);
    if (code != PS_OK) {
        ps_comm_part_free(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

static void count_unmatched(const ps_reduce_input *in, size_t n) {
    for (size_t r = 0; n > 0 && r < in->n_ranks; r++) {
        if (in->partials[r] != NULL) {
            ps_diag_count(in->diags[r], PS_ODD_COMM_UNMATCHED, n);
            return;
        }
    }
}

/* On the receiver, which does not know how long it waited. */
static void count_apart(const ps_reduce_input *in, const ps_skew *skew) {
    for (size_t i = 0; i < skew->n_receives; i++) {
        const ps_skew_receive *r = &skew->receives[i];
        ps_diag_count(in->diags[r->receiver], PS_ODD_TRANSFER_APART, !r->is_known);
    }
}

static size_t count_parts(const ps_reduce_input *in) {
    size_t n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        n += in->partials[r] != NULL;
    }
    return n;
}

static ps_code reduce_slow_rank(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    if (count_parts(in) < 2) {
        return ps_fail(err, PS_NOTHING,
                       "ranks are compared with one another, and only one of those read "
                       "communicates: name the directory of all ranks of the job");
    }
    const ps_comm_list **lists = ps_comm_lists(in);
    judging j = {.in = in, .lists = lists};
    ps_skew_input input = {.lists = lists, .ranks = in->ranks, .n_ranks = in->n_ranks, .step = -1};
    if (lists == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_skew_measure(&input, &j.skew, err);
    if (code == PS_OK) {
        code = ps_comm_roster_build(in, &j.roster, err);
    }
    if (code == PS_OK) {
        count_unmatched(in, j.skew.n_unmatched);
        count_apart(in, &j.skew);
        code = judge_all(&j) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code = add_slow_rank_ranks(&j, err);
    }
    if (code == PS_OK) {
        code = add_lateness(&j, err);
    }
    if (code == PS_OK) {
        code = add_slow_rank_ops(&j, err);
    }
    ps_free(j.votes);
    ps_free(j.durations);
    ps_skew_fini(&j.skew);
    ps_comm_roster_fini(&j.roster);
    ps_free(lists);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_slow_rank, .reduce = reduce_slow_rank}};

const ps_analysis ps_analysis_slow_rank = {
    .name = "slow_rank",
    .folder = "SlowRank",
    .summary = "ranks that keep others waiting: votes by collective, and how late they came",
    .sets = PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
};
