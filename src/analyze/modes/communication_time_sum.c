/* communication_time_sum: elapsed, transit and wait times of every operator, and what each transport carried, of all ranks
 * in one table, with totals for each rank, step and communicator. communication_time is the same under its older name.
 *
 * Ranks whose profile has no such statistics give what the operators themselves tell: elapsed times, and what these were made of by their
 * tasks; where there are none, how long each waited for the last one of its collective to begin, or as a receive for its send. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/comm_roster.h"
#include "analyze/derived/job_skew.h"
#include "analyze/modes/communication_group_map.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"

/* --- columns -------------------------------------------------------------------------------------------------- */

/* One operator, or the sums of one step and communicator of the rank at hand. */
typedef struct time_row {
    const char *step, *op, *group;
    int64_t rank;
    double start_us, elapsed, transit, wait, synchronization, idle; /* but for the start in ms */
    double synchronization_ratio, wait_ratio;
} time_row;

#define EXACT(text, row, member, in_unit)                                                          \
    { .name = (text), PS_FIELD(row, member), .unit = (in_unit), .exact = true }
#define WHOSE_COLUMNS(row)                                                                         \
    {.name = "step", PS_FIELD(row, step)}, {.name = "rank_id", PS_FIELD(row, rank)},               \
        {.name = "hccl_op_name", PS_FIELD(row, op)}, {                                             \
        .name = "group_name", PS_FIELD(row, group)                                                 \
    }

static const ps_column TIME_COLUMNS[] = {
    WHOSE_COLUMNS(time_row),
    EXACT("start_timestamp", time_row, start_us, PS_UNIT_US),
    EXACT("elapsed_time", time_row, elapsed, PS_UNIT_MS),
    EXACT("transit_time", time_row, transit, PS_UNIT_MS),
    EXACT("wait_time", time_row, wait, PS_UNIT_MS),
    EXACT("synchronization_time", time_row, synchronization, PS_UNIT_MS),
    EXACT("idle_time", time_row, idle, PS_UNIT_MS),
    {.name = "synchronization_time_ratio", PS_FIELD(time_row, synchronization_ratio)},
    {.name = "wait_time_ratio", PS_FIELD(time_row, wait_ratio)},
};

typedef struct bandwidth_row {
    const char *step, *op, *group, *transport;
    int64_t rank;
    ps_comm_bandwidth of;
} bandwidth_row;

static const ps_column BANDWIDTH_COLUMNS[] = {
    WHOSE_COLUMNS(bandwidth_row),
    {.name = "band_type", PS_FIELD(bandwidth_row, transport)},
    EXACT("transit_size", bandwidth_row, of.size, PS_UNIT_MB),
    EXACT("transit_time", bandwidth_row, of.time, PS_UNIT_MS),
    {.name = "bandwidth", PS_FIELD(bandwidth_row, of.bandwidth), .unit = PS_UNIT_GB_PER_S},
    /* whole in most profiles, and declared so by the public tool */
    {.name = "large_packet_ratio", PS_FIELD(bandwidth_row, of.large_ratio), .sql_type = "INTEGER"},
    EXACT("package_size", bandwidth_row, of.package_size, PS_UNIT_MB),
    {.name = "count", PS_FIELD(bandwidth_row, of.count), .unit = PS_UNIT_COUNT},
    EXACT("total_duration", bandwidth_row, of.total_time, PS_UNIT_MS),
};

static const char TOTAL[] = "Total Op Info";

/* Rounded to four decimals; 0 of nothing. */
static double comm_time_ratio(double part, double whole) {
    return isnan(part) || isnan(whole) ? (double)NAN
           : whole > 0                 ? round(part / whole * 1e4) / 1e4
                                       : 0;
}

/* --- times ---------------------------------------------------------------------------------------------------- */

typedef struct totals {
    ps_idmap index; /* step << 32 | group */
    time_row *all;
    size_t n, cap;
} totals;

static void totals_fini(totals *t) {
    ps_idmap_fini(&t->index);
    ps_free(t->all);
}

static time_row *total_for(totals *t, uint64_t key, const char *step, const char *group) {
    uint32_t row = ps_idmap_get(&t->index, key);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)t->n;
        if (!ps_grow(&t->all, &t->cap, t->n + 1, UINT32_MAX - 1, sizeof *t->all) ||
            !ps_idmap_put(&t->index, key, row)) {
            return NULL;
        }
        t->all[t->n++] = (time_row){.step = step, .group = group};
    }
    return &t->all[row];
}

static bool add_comm_time(ps_table *t, totals *sums, uint64_t key, const time_row *m) {
    time_row *sum = total_for(sums, key, m->step, m->group);
    if (sum == NULL) {
        return false;
    }
    ps_table_put(t, m);
    sum->elapsed += m->elapsed;
    sum->transit += m->transit;
    sum->wait += m->wait;
    sum->synchronization += m->synchronization;
    sum->idle += m->idle;
    return true;
}

static void put_totals(ps_table *t, const totals *sums, int64_t rank) {
    for (size_t i = 0; i < sums->n; i++) {
        time_row m = sums->all[i];
        m.op = TOTAL;
        m.rank = rank;
        m.synchronization_ratio = comm_time_ratio(m.synchronization, m.transit + m.synchronization);
        m.wait_ratio = comm_time_ratio(m.wait, m.transit + m.wait);
        ps_table_put(t, &m);
    }
}

static bool add_statistics(ps_table *t, totals *sums, const ps_comm_tables *from, int64_t rank) {
    bool ok = true;
    for (size_t i = 0; ok && i < from->n_times; i++) {
        const ps_comm_time *row = &from->times[i];
        time_row m = {.step = ps_comm_tables_text(from, row->step),
                      .op = ps_comm_tables_text(from, row->op),
                      .group = ps_text_or_null(ps_comm_tables_text(from, row->group)),
                      .rank = rank,
                      .start_us = row->start_us,
                      .elapsed = row->elapsed,
                      .transit = row->transit,
                      .wait = row->wait,
                      .synchronization = row->synchronization,
                      .idle = row->idle};
        ok = add_comm_time(t, sums, (uint64_t)row->step.id << 32 | row->group.id, &m);
    }
    return ok;
}

/* --- what the operators and their tasks tell -------------------------------------------------------------------- */

/* waits[rank][op] in ns, -1 unknown; in one block. */
typedef struct waits {
    int64_t **of_rank;
    int64_t *block;
} waits;

static void waits_fini(waits *w) {
    ps_free(w->of_rank);
    ps_free(w->block);
}

static void take_comm_time_collective(waits *w, const ps_skew *skew, const ps_matched_collective *m,
                                      const ps_comm_list *const *lists) {
    int64_t last = skew->parts[m->last].late_ns;
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        const ps_collective_part *p = &skew->parts[i];
        const ps_comm_op *op = &lists[p->rank]->ops[p->op];
        int64_t wait = last - p->late_ns;
        int64_t duration = op->end_ns - op->start_ns;
        w->of_rank[p->rank][p->op] = wait < duration ? wait : duration;
    }
}

static ps_code find_waits(const ps_reduce_input *in, const ps_comm_list *const *lists, waits *w,
                          ps_err *err) {
    size_t n = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        n += lists[r] != NULL ? lists[r]->n : 0;
    }
    w->of_rank = ps_calloc(in->n_ranks + 1, sizeof *w->of_rank);
    w->block = ps_calloc(n + 1, sizeof *w->block);
    if (w->of_rank == NULL || w->block == NULL) {
        return ps_fail_nomem(err);
    }
    size_t at = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        w->of_rank[r] = w->block + at;
        at += lists[r] != NULL ? lists[r]->n : 0;
    }
    for (size_t i = 0; i < n; i++) {
        w->block[i] = -1;
    }
    const ps_skew *skew = NULL;
    ps_code code = ps_job_skew_of(in, (ps_comm_part *const *)in->partials, -1, &skew, err);
    for (size_t i = 0; code == PS_OK && i < skew->n_collectives; i++) {
        take_comm_time_collective(w, skew, &skew->collectives[i], lists);
    }
    for (size_t i = 0; code == PS_OK && i < skew->n_receives; i++) {
        const ps_skew_receive *r = &skew->receives[i];
        w->of_rank[r->receiver][r->receive_op] = r->waited_ns;
    }
    return code;
}

/* A step as the profiler's statistics call it. */
static void step_name(const ps_comm_part *part, int64_t step, char *out, size_t size) {
    bool is_known = part->has_steps && step >= 0;
    (void)snprintf(out, size, is_known ? "step%lld" : "step", (long long)step);
}

/* By the tasks of the operator; where it has none, only for how long it waited for others may be known. */
static void split_time(const ps_comm_part *part, size_t op, int64_t others_ns, time_row *out) {
    const ps_comm_task_times *tasks = part->task_times != NULL ? &part->task_times[op] : NULL;
    int64_t rest_ns = ps_comm_op_ns(&part->list.ops[op]);
    out->transit = out->idle = (double)NAN;
    out->wait = others_ns >= 0 ? (double)others_ns / 1e6 : (double)NAN;
    if (tasks != NULL && tasks->wait_ns >= 0) {
        rest_ns -= ps_i64_plus(tasks->transfer_ns, tasks->wait_ns);
        out->transit = (double)tasks->transfer_ns / 1e6;
        out->wait = (double)tasks->wait_ns / 1e6;
        out->idle = rest_ns > 0 ? (double)rest_ns / 1e6 : 0;
    }
}

/* Texts of rows must live as long as the totals: they are kept in the part's own pool of statistics. */
static bool add_comm_time_operators(ps_table *t, totals *sums, ps_comm_part *part,
                                    const int64_t *wait_ns, int64_t rank) {
    ps_strpool *pool = &part->tables.strings;
    bool ok = true;
    for (size_t i = 0; ok && i < part->list.n; i++) {
        const ps_comm_op *op = &part->list.ops[i];
        char text[PS_COMM_KEY_SIZE + 8];
        step_name(part, op->step, text, sizeof text);
        ps_str step = ps_strpool_add(pool, text, strlen(text));
        ps_comm_key(ps_comm_text(&part->list, op->look->group), text, PS_COMM_KEY_SIZE);
        ps_str group = ps_strpool_add(pool, text, strlen(text));
        if (ps_str_is_none(step) || ps_str_is_none(group)) {
            return false;
        }
        time_row m = {.step = ps_strpool_get(pool, step),
                      .op = ps_comm_text(&part->list, op->name),
                      .group = ps_text_or_null(ps_strpool_get(pool, group)),
                      .rank = rank,
                      .start_us = (double)op->start_ns / 1e3,
                      .elapsed = (double)ps_comm_op_ns(op) / 1e6,
                      .synchronization = (double)NAN};
        split_time(part, i, wait_ns != NULL ? wait_ns[i] : -1, &m);
        ok = add_comm_time(t, sums, (uint64_t)step.id << 32 | group.id, &m);
    }
    return ok;
}

static bool lacks_statistics(const ps_comm_part *part) {
    return part->tables.n_times == 0 && part->list.n > 0;
}

/* Of some operator. */
static bool lacks_tasks(const ps_comm_part *part) {
    bool lacks = part->task_times == NULL;
    for (size_t i = 0; !lacks && i < part->list.n; i++) {
        lacks = part->task_times[i].wait_ns < 0;
    }
    return lacks;
}

static ps_code give_times(const ps_reduce_input *in, const ps_comm_list *const *lists,
                          ps_err *err) {
    ps_table *t = ps_table_new("ClusterCommunicationTime", "", PS_COLUMNS(TIME_COLUMNS));
    waits w = {0};
    bool needs_waits = false;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_comm_part *part = in->partials[r];
        needs_waits = needs_waits || (part != NULL && lacks_statistics(part) && lacks_tasks(part));
    }
    ps_code code = needs_waits ? find_waits(in, lists, &w, err) : PS_OK;
    bool ok = true;
    for (size_t r = 0; code == PS_OK && ok && r < in->n_ranks; r++) {
        ps_comm_part *part = in->partials[r];
        totals sums = {0};
        ps_idmap_init(&sums.index);
        int64_t rank = in->ranks[r].rank;
        if (part != NULL && lacks_statistics(part)) {
            ps_diag_add(in->diags[r], PS_ODD_COMM_STATISTICS, "rank %lld", (long long)rank);
            ok = add_comm_time_operators(t, &sums, part, needs_waits ? w.of_rank[r] : NULL, rank);
        } else if (part != NULL) {
            ok = add_statistics(t, &sums, &part->tables, rank);
        }
        put_totals(t, &sums, rank);
        totals_fini(&sums);
    }
    waits_fini(&w);
    if (!ok) {
        ps_table_fail(t);
    }
    ps_result_finish_table(in->result, t, "cluster_communication_time", PS_TO_DB | PS_TO_FILES);
    return code;
}

/* --- bandwidths ----------------------------------------------------------------------------------------------- */

/* One transport of one step and communicator of the rank at hand. */
typedef struct band {
    ps_str step, group, transport;
    double size, time;
} band;

/* The same for one packet size. */
typedef struct package {
    uint32_t band;
    double package_size, large_ratio, total_time;
    int64_t count;
} package;

typedef struct bands {
    ps_idmap groups, index, packages,
        ops; /* ways down: (step, group), transport, packet size; operators seen */
    uint32_t n_groups;
    band *all;
    size_t n, cap;
    package *sizes;
    size_t n_sizes, cap_sizes;
    ps_strpool digits; /* of packet sizes */
} bands;

static bool bands_init(bands *b) {
    *b = (bands){0};
    ps_idmap_init(&b->groups);
    ps_idmap_init(&b->index);
    ps_idmap_init(&b->packages);
    ps_idmap_init(&b->ops);
    return ps_strpool_init(&b->digits);
}

static void bands_fini(bands *b) {
    ps_idmap_fini(&b->groups);
    ps_idmap_fini(&b->index);
    ps_idmap_fini(&b->packages);
    ps_idmap_fini(&b->ops);
    ps_strpool_fini(&b->digits);
    ps_free(b->all);
    ps_free(b->sizes);
}

/* The row of a pair in a map, *next when it is new; PS_IDMAP_NONE when memory is out. */
static uint32_t comm_time_row_of(ps_idmap *map, uint32_t high, uint32_t low, uint32_t next) {
    uint64_t key = (uint64_t)high << 32 | low;
    uint32_t row = ps_idmap_get(map, key);
    if (row == PS_IDMAP_NONE && ps_idmap_put(map, key, next)) {
        row = next;
    }
    return row;
}

static uint32_t band_of(bands *b, const ps_comm_bandwidth *row) {
    uint32_t group = comm_time_row_of(&b->groups, row->step.id, row->group.id, b->n_groups);
    b->n_groups += group == b->n_groups;
    uint32_t at = group != PS_IDMAP_NONE
                      ? comm_time_row_of(&b->index, group, row->transport.id, (uint32_t)b->n)
                      : PS_IDMAP_NONE;
    if (at == b->n) {
        if (!ps_grow(&b->all, &b->cap, b->n + 1, UINT32_MAX - 1, sizeof *b->all)) {
            return PS_IDMAP_NONE;
        }
        b->all[b->n++] = (band){row->step, row->group, row->transport, 0, 0};
    }
    return at;
}

static bool sum_bandwidth(bands *b, const ps_comm_bandwidth *row) {
    uint32_t at = band_of(b, row);
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", row->package_size);
    ps_str size = ps_strpool_add(&b->digits, text, strlen(text));
    if (at == PS_IDMAP_NONE || ps_str_is_none(size)) {
        return false;
    }
    size_t n_ops = b->ops.n;
    uint32_t op = comm_time_row_of(&b->ops, at, row->op.id, (uint32_t)n_ops);
    uint32_t p = comm_time_row_of(&b->packages, at, size.id, (uint32_t)b->n_sizes);
    if (op == PS_IDMAP_NONE || p == PS_IDMAP_NONE) {
        return false;
    }
    if (b->ops.n > n_ops) { /* its other packet sizes repeat size and time */
        b->all[at].size += row->size;
        b->all[at].time += row->time;
    }
    if (p == b->n_sizes) {
        if (!ps_grow(&b->sizes, &b->cap_sizes, b->n_sizes + 1, UINT32_MAX - 1, sizeof *b->sizes)) {
            return false;
        }
        b->sizes[b->n_sizes++] = (package){
            .band = at, .package_size = row->package_size, .large_ratio = row->large_ratio};
    }
    b->sizes[p].count += row->count;
    b->sizes[p].total_time += row->total_time;
    return true;
}

static void put_bandwidth(ps_table *t, const ps_comm_tables *from, int64_t rank, const char *op,
                          const ps_comm_bandwidth *row) {
    ps_table_put(t,
                 &(bandwidth_row){.step = ps_comm_tables_text(from, row->step),
                                  .op = op,
                                  .group = ps_text_or_null(ps_comm_tables_text(from, row->group)),
                                  .transport = ps_comm_tables_text(from, row->transport),
                                  .rank = rank,
                                  .of = *row});
}

static void put_bandwidths(ps_table *t, const ps_comm_tables *from, int64_t rank) {
    bands b;
    bool ok = bands_init(&b);
    for (size_t i = 0; ok && i < from->n_bandwidths; i++) {
        const ps_comm_bandwidth *row = &from->bandwidths[i];
        put_bandwidth(t, from, rank, ps_comm_tables_text(from, row->op), row);
        ok = sum_bandwidth(&b, row);
    }
    for (size_t i = 0; ok && i < b.n_sizes; i++) {
        const package *p = &b.sizes[i];
        const band *of = &b.all[p->band];
        ps_comm_bandwidth row = {.step = of->step,
                                 .group = of->group,
                                 .transport = of->transport,
                                 .size = of->size,
                                 .time = of->time,
                                 .bandwidth = comm_time_ratio(of->size, of->time),
                                 .large_ratio = p->large_ratio,
                                 .package_size = p->package_size,
                                 .count = p->count,
                                 .total_time = p->total_time};
        put_bandwidth(t, from, rank, TOTAL, &row);
    }
    if (!ok) {
        ps_table_fail(t);
    }
    bands_fini(&b);
}

static void give_bandwidths(const ps_reduce_input *in) {
    ps_table *t = ps_table_new("ClusterCommunicationBandwidth", "", PS_COLUMNS(BANDWIDTH_COLUMNS));
    for (size_t r = 0; r < in->n_ranks; r++) {
        const ps_comm_part *part = in->partials[r];
        if (part != NULL) {
            put_bandwidths(t, &part->tables, in->ranks[r].rank);
        }
    }
    ps_result_finish_table(in->result, t, "cluster_communication_bandwidth",
                           PS_TO_DB | PS_TO_FILES);
}

/* --- the rounds ----------------------------------------------------------------------------------------------- */

static ps_code map_comm_time(const ps_map_input *in, void **out, ps_err *err) {
    return ps_comm_part_map(in, PS_COMM_TIMES | PS_COMM_BANDWIDTHS | PS_COMM_TASK_TIMES, out, err);
}

static ps_code reduce_comm_time(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_comm_roster roster;
    const ps_comm_list **lists = ps_comm_lists(in);
    ps_code code = ps_comm_roster_build(in, &roster, err);
    if (code == PS_OK && lists == NULL) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code = ps_comm_roster_table(&roster, in->result, err);
    }
    if (code == PS_OK) {
        code = give_times(in, lists, err);
    }
    if (code == PS_OK) {
        give_bandwidths(in);
        code = ps_result_code(in->result, err);
    }
    ps_comm_roster_fini(&roster);
    ps_free(lists);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_comm_time, .reduce = reduce_comm_time}};

const ps_analysis ps_analysis_communication_time_sum = {
    .name = "communication_time_sum",
    .folder = "CommunicationTimeSum",
    .summary = "times, waits and bandwidths of communication operators, with totals",
    .sets = PS_IN_ALL | PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
    .archive = ps_comm_part_archive,
};

const ps_analysis ps_analysis_communication_time = {
    .name = "communication_time",
    .folder = "CommunicationTimeSum",
    .summary = "the same as communication_time_sum",
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_comm_part_free,
    .archive = ps_comm_part_archive,
};
