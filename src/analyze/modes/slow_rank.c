/* slow_rank: who keeps the others waiting. In a collective all end together, so the one that came last has the shortest
 * duration: the test for outliers votes for it, collective by collective. Groups of two and three ranks, which that test
 * cannot judge, vote by lateness. Besides the votes, how late in microseconds: SlowRankLateness.
 *
 * Occurrences are paired by skew.h, so that a name that repeats in every step is not one sample. */
#include <math.h>
#include <stdio.h>

#include "analyze/comm/comm_list.h"
#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/comm_roster.h"
#include "analyze/derived/job_skew.h"
#include "analyze/stats/dixon.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

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
    const ps_skew *skew;
    int64_t *durations; /* room for the parts of one collective */
    vote *votes;
    size_t n_votes;
} judging;

static const ps_comm_op *op_of(const judging *j, const ps_collective_part *p) {
    return &j->lists[p->rank]->ops[p->op];
}

/* --- votes ---------------------------------------------------------------------------------------------------- */

static size_t take_durations(judging *j, const ps_matched_collective *m) {
    for (uint32_t i = 0; i < m->n; i++) {
        j->durations[i] = ps_comm_op_ns(op_of(j, &j->skew->parts[m->first + i]));
    }
    return m->n;
}

static const ps_collective_part *find_shortest(const judging *j, const ps_matched_collective *m) {
    const ps_collective_part *shortest = &j->skew->parts[m->first];
    for (uint32_t i = 1; i < m->n; i++) {
        const ps_collective_part *p = &j->skew->parts[m->first + i];
        shortest = ps_comm_op_ns(op_of(j, p)) < ps_comm_op_ns(op_of(j, shortest)) ? p : shortest;
    }
    return shortest;
}

/* The slow one of a collective, or NULL. */
static const ps_collective_part *judge_slow_rank(judging *j, const ps_matched_collective *m) {
    if (m->n <= SMALL_GROUP) {
        bool is_late = m->late_ns >= LEAST_LATE_NS && m->late_ns > m->longest_ns / 2;
        return is_late ? &j->skew->parts[m->last] : NULL;
    }
    size_t n = take_durations(j, m);
    ps_sort(j->durations, n, sizeof *j->durations, ps_compare_i64);
    return ps_smallest_is_outlier(j->durations, n) ? find_shortest(j, m) : NULL;
}

PS_COMPARE(compare_votes, vote,
           PS_BY(op->start_ns) PS_BY(collective)) /* collectives: in one array, sorted */

static bool judge_all(judging *j) {
    j->votes = ps_calloc(j->skew->n_collectives + 1, sizeof *j->votes);
    j->durations = ps_calloc(j->in->n_ranks + 1, sizeof *j->durations);
    if (j->votes == NULL || j->durations == NULL) {
        return false;
    }
    for (size_t i = 0; i < j->skew->n_collectives; i++) {
        const ps_matched_collective *m = &j->skew->collectives[i];
        const ps_collective_part *slow = judge_slow_rank(j, m);
        if (slow != NULL) {
            j->votes[j->n_votes++] = (vote){m, op_of(j, slow), slow->rank};
        }
    }
    ps_sort(j->votes, j->n_votes, sizeof *j->votes, compare_votes);
    return true;
}

/* --- tables --------------------------------------------------------------------------------------------------- */

static const ps_column RANK_COLUMNS[] = {
    {.name = "rankId", PS_FIELD(count, rank), .is_key = true},
    {.name = "slowAffectCount", PS_FIELD(count, n), .unit = PS_UNIT_COUNT}};

static void give_slow_rank_counts(const judging *j) {
    static const ps_sort_key KEYS[] = {PS_DOWN(count, n), PS_UP(count, rank)};
    size_t n = j->in->n_ranks;
    size_t n_slow = 0;
    count *counts = ps_calloc(n + 1, sizeof *counts);
    ps_table *t = ps_table_new("SlowRank", "collectives in which a rank kept the others waiting",
                               PS_COLUMNS(RANK_COLUMNS));
    for (size_t r = 0; counts != NULL && r < n; r++) {
        counts[r].rank = j->in->ranks[r].rank;
    }
    for (size_t i = 0; counts != NULL && i < j->n_votes; i++) {
        n_slow += counts[j->votes[i].rank].n++ == 0;
    }
    ps_sort_by(counts, n, sizeof *counts, PS_KEYS(KEYS));
    ps_table_put_all(t, counts, n_slow, sizeof *counts);
    ps_free(counts);
    ps_result_finish_table(j->in->result, t, "rank_stats", PS_TO_ALL);
}

typedef struct vote_row {
    char rank[32];
    const char *name, *group;
    int64_t start_ns;
    ps_stats stats;
} vote_row;

static const ps_column OP_COLUMNS[] = {
    {.name = "SlowRank", PS_FIELD(vote_row, rank)},
    {.name = "OpName", PS_FIELD(vote_row, name)},
    {.name = "GroupName", PS_FIELD(vote_row, group)},
    {.name = "Timestamp", PS_FIELD(vote_row, start_ns), .unit = PS_UNIT_NS, .exact = true},
    PS_STATS_COLUMNS(vote_row, stats)};

static void give_slow_rank_ops(judging *j) {
    ps_table *t = ps_table_new("SlowOpStats", "these collectives: durations over the ranks",
                               PS_COLUMNS(OP_COLUMNS));
    for (size_t i = 0; i < j->n_votes; i++) {
        const vote *v = &j->votes[i];
        const ps_comm_list *list = j->lists[v->rank];
        vote_row row = {.name = ps_comm_text(list, v->op->name),
                        .group = ps_text_or_null(ps_comm_text(list, v->op->look->group)),
                        .start_ns = v->op->start_ns,
                        .stats = ps_stats_of(j->durations, take_durations(j, v->collective))};
        (void)snprintf(row.rank, sizeof row.rank, "%lld", (long long)j->in->ranks[v->rank].rank);
        ps_table_put(t, &row);
    }
    ps_result_finish_table(j->in->result, t, "slow_op_stats", PS_TO_DB | PS_TO_FILES);
}

typedef struct late_row {
    int64_t rank, n, n_last, late_ns, clock_rank;
    const char *group, *label, *kind;
    double late_us, mean_us, longest_us, waited_us, offset_us;
    size_t place; /* in ps_skew.rows */
} late_row;

static const ps_column LATE_COLUMNS[] = {
    {.name = "rankId", PS_FIELD(late_row, rank)},
    {.name = "groupName", PS_FIELD(late_row, group)},
    {.name = "pgName", PS_FIELD(late_row, label)},
    {.name = "kind", PS_FIELD(late_row, kind)},
    {.name = "operators", PS_FIELD(late_row, n), .unit = PS_UNIT_COUNT},
    {.name = "cameLast", PS_FIELD(late_row, n_last), .unit = PS_UNIT_COUNT},
    {.name = "lateTime(us)", PS_FIELD(late_row, late_us)},
    {.name = "meanLateness(us)", PS_FIELD(late_row, mean_us)},
    {.name = "maxLateness(us)", PS_FIELD(late_row, longest_us)},
    {.name = "waitTime(us)", PS_FIELD(late_row, waited_us)},
    {.name = "clockOffset(us)", PS_FIELD(late_row, offset_us)},
    {.name = "clockOfRank", PS_FIELD(late_row, clock_rank)},
};

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

static late_row late_row_of(const judging *j, size_t place) {
    const ps_skew_row *row = &j->skew->rows[place];
    const ps_rank_clock *clock = &j->skew->clocks[row->rank];
    const char *group = ps_strpool_get(&j->skew->strings, row->group);
    size_t n_known = row->n - row->n_unknown;
    bool is_known = n_known > 0 || row->n == 0; /* else how late it was is not known of any */
    bool waits_known = row->n_waits_unknown < row->n_waits || row->n_waits == 0;
    return (late_row){
        .rank = j->in->ranks[row->rank].rank,
        .group = ps_text_or_null(group),
        .label = ps_text_or_null(slow_rank_label_of(j, group)),
        .kind = row->is_p2p ? "p2p" : "collective",
        .n = (int64_t)row->n,
        .n_last = is_known ? (int64_t)row->n_last : PS_UNKNOWN_INT,
        .late_ns = row->late_ns,
        .late_us = is_known ? slow_rank_us(row->late_ns) : NAN,
        .mean_us = !is_known     ? NAN
                   : n_known > 0 ? slow_rank_us(row->behind_ns) / (double)n_known
                                 : 0,
        .longest_us = is_known ? slow_rank_us(row->most_behind_ns) : NAN,
        .waited_us = waits_known ? slow_rank_us(row->waited_ns) : NAN,
        .offset_us = slow_rank_us(clock->offset_ns),
        .clock_rank = j->in->ranks[clock->reference].rank,
        .place = place,
    };
}

static void give_lateness(const judging *j) {
    static const ps_sort_key KEYS[] = {PS_DOWN(late_row, late_ns), PS_UP(late_row, place)};
    size_t n = j->skew->n_rows;
    late_row *rows = ps_calloc(n + 1, sizeof *rows);
    ps_table *t = ps_table_new("SlowRankLateness", "how late ranks came, latest first",
                               PS_COLUMNS(LATE_COLUMNS));
    for (size_t i = 0; rows != NULL && i < n; i++) {
        rows[i] = late_row_of(j, i);
    }
    ps_sort_by(rows, n, sizeof *rows, PS_KEYS(KEYS));
    ps_table_put_all(t, rows, n, sizeof *rows);
    ps_free(rows);
    ps_result_finish_table(j->in->result, t, "rank_lateness", PS_TO_ALL);
}

/* --- the rounds ----------------------------------------------------------------------------------------------- */

static ps_code map_slow_rank(const ps_map_input *in, void **out, ps_err *err) {
    return ps_comm_part_map(in, 0, out, err);
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

/* Sends and receives of ranks none of whose were matched, for nobody tells with whom they met. False: memory is out. */
static bool count_without_peer(const judging *j) {
    bool *has_row = ps_calloc(j->in->n_ranks + 1, sizeof *has_row);
    if (has_row == NULL) {
        return false;
    }
    for (size_t i = 0; i < j->skew->n_rows; i++) {
        has_row[j->skew->rows[i].rank] |= j->skew->rows[i].is_p2p;
    }
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        const ps_comm_list *list = has_row[r] ? NULL : j->lists[r];
        size_t n = 0;
        for (size_t i = 0; list != NULL && i < list->n; i++) {
            n += list->ops[i].look->is_p2p && list->ops[i].look->peer < 0;
        }
        ps_diag_count(j->in->diags[r], PS_ODD_P2P_PEER, n);
    }
    ps_free(has_row);
    return true;
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
        return ps_fail(
            err, PS_NOTHING, "%s",
            PS_SAY(in->opts->lang,
                   "ranks are compared with one another, and only one of those read "
                   "communicates: name the directory of all ranks of the job",
                   "该分析需要比较多个 rank，而读取的数据中只有一个 rank 有通信：请指定作业全部 "
                   "rank 所在的目录"));
    }
    const ps_comm_list **lists = ps_comm_lists(in);
    judging j = {.in = in, .lists = lists};
    if (lists == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_job_skew_of(in, (ps_comm_part *const *)in->partials, -1, &j.skew, err);
    if (code == PS_OK) {
        code = ps_comm_roster_build(in, &j.roster, err);
    }
    if (code == PS_OK) {
        count_unmatched(in, j.skew->n_unmatched);
        count_apart(in, j.skew);
        code = count_without_peer(&j) && judge_all(&j) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        give_slow_rank_counts(&j);
        give_lateness(&j);
        give_slow_rank_ops(&j);
        code = ps_result_code(in->result, err);
    }
    ps_free(j.votes);
    ps_free(j.durations);
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
    .archive = ps_comm_part_archive,
};
