#include "analyze/modes/time_summary.h"

#include <math.h>
#include <string.h>

#include "analyze/comm/topology.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/derived.h"
#include "analyze/derived/job_skew.h"
#include "analyze/rank/links.h"
#include "analyze/rank/overlap.h"
#include "analyze/rank/step_index.h"
#include "analyze/rank/work.h"
#include "analyze/stats/stats.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/recording.h"

#define MAX_ROWS ((size_t)1 << 28)

/* One rank, device and step. */
typedef struct summary_row {
    ps_overlap o;
    ps_stats delays; /* of launches, ns */
    double delay_p99_ns;
    int64_t wait_ns, transmit_ns;
    int64_t n_matched, n_unmatched;
} summary_row;

typedef struct partial {
    ps_comm_part *comm;
    uint8_t *is_matched; /* [operators] with what other ranks have */
    summary_row *rows;   /* by device, then step start */
    ps_idmap row_of;     /* step -> its row, of several devices the first */
    size_t n_rows;
    bool has_no_ends, has_no_copies; /* of steps, of memory: slices made of tables do not tell */
    bool has_no_computing;
} partial;

void ps_time_summary_free(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_comm_part_free(part->comm);
        ps_idmap_fini(&part->row_of);
        ps_free(part->is_matched);
        ps_free(part->rows);
        ps_free(part);
    }
}

/* --- steps of one rank ------------------------------------------------------------------------------------- */

static bool index_rows(partial *part) {
    bool ok = true;
    for (size_t i = 0; ok && i < part->n_rows; i++) {
        uint64_t step = (uint64_t)part->rows[i].o.step;
        bool is_first = ps_idmap_get(&part->row_of, step) == PS_IDMAP_NONE;
        ok = !is_first || ps_idmap_put(&part->row_of, step, (uint32_t)i);
    }
    return ok;
}

static void summary_row_archive(ps_archive *a, void *row) {
    summary_row *x = row;
    ps_overlap_archive(a, &x->o);
    ps_stats_archive(a, &x->delays);
    PS_ARCHIVE(a, x, delay_p99_ns, wait_ns, transmit_ns, n_matched, n_unmatched);
}

void ps_time_summary_archive(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x == NULL) {
        return;
    }
    void *comm = x->comm;
    ps_comm_part_archive(a, &comm);
    x->comm = comm;
    if (ps_archive_is_reading(a) && x->comm == NULL) {
        ps_archive_refuse(a, "comm");
    }
    size_t n = x->comm != NULL ? x->comm->list.n : 0;
    PS_ARCHIVE_ARRAY_OF(a, x, is_matched, n, ps_archive_u8);
    PS_ARCHIVE_ARRAY(a, x, rows, n_rows, summary_row_archive);
    PS_ARCHIVE(a, x, has_no_ends, has_no_copies, has_no_computing);
    if (ps_archive_is_reading(a) && !index_rows(x)) {
        ps_archive_nomem(a);
    }
}

/* From the start of the call to the start of the work. */
typedef struct delay {
    int64_t device, step, ns;
} delay;

/* Where the row of a device and step is: `at` like a delay, for one order of both. */
typedef struct place {
    delay at;
    size_t row;
} place;

PS_COMPARE(by_device_and_step, delay, PS_BY(device) PS_BY(step))

static delay *list_delays(const ps_links *links, size_t *n) {
    ps_work work = ps_work_of(links);
    delay *delays = ps_calloc((size_t)work.s->n + 1, sizeof *delays);
    *n = 0;
    for (uint32_t i = 0; delays != NULL && i < work.s->n; i++) {
        ps_part part = links->call[i] != PS_NONE ? ps_work_part(&work, i) : PS_PART_NONE;
        if (part != PS_PART_NONE && part != PS_PART_COPYING) {
            delays[(*n)++] = (delay){ps_work_device(&work, i), ps_links_step(links, i),
                                     work.s->start_ns[i] - work.s->start_ns[links->call[i]]};
        }
    }
    ps_sort(delays, *n, sizeof *delays, by_device_and_step);
    return delays;
}

PS_COMPARE(compare_places, place, PS_BY(at.device) PS_BY(at.step))

static place *list_places(const partial *part) {
    place *places = ps_calloc(part->n_rows + 1, sizeof *places);
    for (size_t r = 0; places != NULL && r < part->n_rows; r++) {
        const ps_overlap *o = &part->rows[r].o;
        places[r] = (place){.at = {.device = o->device, .step = o->step}, .row = r};
    }
    ps_sort(places, part->n_rows, sizeof *places, compare_places);
    return places;
}

/* Both lists come by device and step. */
static bool set_delays(const ps_links *links, partial *part) {
    size_t n = 0;
    delay *delays = list_delays(links, &n);
    place *places = list_places(part);
    int64_t *values = ps_calloc(n + 1, sizeof *values);
    bool ok = delays != NULL && places != NULL && values != NULL;
    for (size_t i = 0, end = 0, p = 0; ok && i < n; i = end) {
        for (end = i; end < n && by_device_and_step(&delays[i], &delays[end]) == 0; end++) {
            values[end - i] = delays[end].ns;
        }
        while (p < part->n_rows && by_device_and_step(&places[p].at, &delays[i]) < 0) {
            p++;
        }
        if (p < part->n_rows && by_device_and_step(&places[p].at, &delays[i]) == 0) {
            summary_row *row = &part->rows[places[p].row];
            row->delays = ps_stats_of(values, end - i);
            row->delay_p99_ns = ps_stats_quantile(values, end - i, 0.99);
        }
    }
    ps_free(delays);
    ps_free(places);
    ps_free(values);
    return ok;
}

static ps_code collect_rows(const ps_map_input *in, const ps_links *links, partial *part,
                            ps_err *err) {
    const ps_overlaps *overlaps = ps_derived_overlaps(in->derived, err);
    if (overlaps == NULL) {
        return PS_NOMEM;
    }
    part->has_no_computing = !overlaps->knows_computing;
    part->rows = ps_calloc(overlaps->n + 1, sizeof *part->rows);
    bool ok = part->rows != NULL;
    for (size_t i = 0; ok && i < overlaps->n; i++) {
        part->rows[part->n_rows++].o = overlaps->at[i];
    }
    ok = ok && index_rows(part) && set_delays(links, part);
    return ok ? PS_OK : ps_fail_nomem(err);
}

static bool has_copies(const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    return s->n > 0 && memchr(s->kind, PS_SLICE_COPY, s->n) != NULL;
}

static ps_code read_time_row_rank(const ps_map_input *in, partial *part, ps_err *err) {
    const ps_links *links = ps_derived_links(in->derived, err);
    ps_code code = links != NULL ? PS_OK : PS_NOMEM;
    code = code == PS_OK ? collect_rows(in, links, part, err) : code;
    part->has_no_ends = ps_trace_meta(in->trace, PS_STEP_ENDS_KEY) != NULL;
    part->has_no_copies = ps_trace_missing_timeline(in->trace) != NULL && !has_copies(in->trace);
    if (code == PS_OK && part->n_rows == 0) {
        code = ps_check_step(in->trace, in->opts->step_id, err);
        code = code == PS_OK ? ps_fail(err, PS_NOTHING, "%s", PS_OVERLAP_NO_WORK(in->opts->lang))
                             : code;
    }
    code = code == PS_OK ? ps_comm_part_whole(in, &part->comm, err) : code;
    if (code == PS_OK) {
        part->is_matched = ps_calloc(part->comm->list.n + 1, sizeof *part->is_matched);
        code = part->is_matched != NULL ? PS_OK : ps_fail_nomem(err);
    }
    return code;
}

ps_code ps_time_summary_map(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_idmap_init(&part->row_of);
    ps_code code = read_time_row_rank(in, part, err);
    if (code != PS_OK) {
        ps_time_summary_free(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* --- wait and transmission --------------------------------------------------------------------------------- */

/* The row of an operator's step; NULL when the device did nothing in it. */
static summary_row *row_of_step(const partial *part, int64_t step) {
    uint32_t row = ps_idmap_get(&part->row_of, (uint64_t)step);
    return row != PS_IDMAP_NONE ? &part->rows[row] : NULL;
}

/* The operator took `transmit_ns` of its time to send, as long as the shortest of those that it is matched with; all else it
 * waited. */
static void note_matched(partial *part, uint32_t op, int64_t transmit_ns) {
    const ps_comm_op *o = &part->comm->list.ops[op];
    summary_row *row = o->step != PS_STEP_OUTSIDE ? row_of_step(part, o->step) : NULL;
    part->is_matched[op] = 1;
    if (row != NULL) {
        row->n_matched++;
        row->transmit_ns = ps_i64_plus(row->transmit_ns, transmit_ns);
        row->wait_ns = ps_i64_plus(row->wait_ns, o->end_ns - o->start_ns - transmit_ns);
    }
}

/* Without a known size all ranks that took part are the group. */
static void note_collective(const ps_reduce_input *in, const ps_skew *skew,
                            const ps_matched_collective *m) {
    const ps_collective_part *parts = &skew->parts[m->first];
    partial *first = in->partials[parts[0].rank];
    int64_t size = first->comm->list.ops[parts[0].op].look->group_size;
    for (uint32_t i = 0; i < m->n && (size < 0 || size == (int64_t)m->n); i++) {
        note_matched(in->partials[parts[i].rank], parts[i].op, m->shortest_ns);
    }
}

/* Where neither names the other, only what lasted at the same time on one clock belongs together. */
static void note_transfer(const ps_reduce_input *in, const ps_skew *skew,
                          const ps_skew_receive *r) {
    partial *sender = in->partials[r->sender];
    partial *receiver = in->partials[r->receiver];
    const ps_comm_op *send = &sender->comm->list.ops[r->send_op];
    const ps_comm_op *receive = &receiver->comm->list.ops[r->receive_op];
    int64_t sent_ns = send->end_ns - send->start_ns;
    int64_t received_ns = receive->end_ns - receive->start_ns;
    bool is_named = send->look->peer >= 0 || receive->look->peer >= 0;
    bool is_one_clock = skew->clocks[r->sender].reference == skew->clocks[r->receiver].reference;
    if (r->is_known && (is_named || is_one_clock)) {
        int64_t shortest_ns = sent_ns < received_ns ? sent_ns : received_ns;
        note_matched(sender, r->send_op, shortest_ns);
        note_matched(receiver, r->receive_op, shortest_ns);
    }
}

static void count_unmatched(partial *part) {
    for (size_t i = 0; i < part->comm->list.n; i++) {
        int64_t step = part->comm->list.ops[i].step;
        summary_row *row = step != PS_STEP_OUTSIDE ? row_of_step(part, step) : NULL;
        if (row != NULL) {
            row->n_unmatched += part->is_matched[i] == 0;
        }
    }
}

static ps_code match_all(const ps_reduce_input *in, ps_err *err) {
    const ps_skew *skew = NULL;
    ps_comm_part **parts = ps_calloc(in->n_ranks + 1, sizeof(ps_comm_part *));
    for (size_t r = 0; parts != NULL && r < in->n_ranks; r++) {
        partial *part = in->partials[r];
        parts[r] = part != NULL ? part->comm : NULL;
    }
    ps_code code = parts != NULL ? ps_job_skew_of(in, parts, in->opts->step_id, &skew, err)
                                 : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < skew->n_collectives; i++) {
        note_collective(in, skew, &skew->collectives[i]);
    }
    for (size_t i = 0; code == PS_OK && i < skew->n_receives; i++) {
        note_transfer(in, skew, &skew->receives[i]);
    }
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        if (in->partials[r] != NULL) {
            count_unmatched(in->partials[r]);
        }
    }
    ps_free(parts);
    return code;
}

/* --- tables -------------------------------------------------------------------------------------------------- */

typedef struct time_row {
    int64_t rank, step;
    double us[PS_TIME_SUMMARY_N_TIMES];
} time_row;

#define TIME_COLUMN(column, time)                                                                  \
    { .name = (column), PS_FIELD(time_row, us[time]), .unit = PS_UNIT_US }

const ps_column ps_time_summary_columns[PS_TIME_SUMMARY_N_COLUMNS] = {
    {.name = "rank", PS_FIELD(time_row, rank), .is_member = true},
    {.name = "step", PS_FIELD(time_row, step)},
    TIME_COLUMN("stepTime", 0),
    TIME_COLUMN("computation", 1),
    TIME_COLUMN("communicationNotOverlapComputation", 2),
    TIME_COLUMN("communicationOverlapComputation", 3),
    TIME_COLUMN("communication", 4),
    TIME_COLUMN("free", 5),
    TIME_COLUMN("communicationWaitStageTime", 6),
    TIME_COLUMN("communicationTransmitStageTime", 7),
    TIME_COLUMN("memory", 8),
    TIME_COLUMN("memoryNotOverlapComputationCommunication", 9)};

typedef struct extra_row {
    int64_t rank, step;
    double delay_ns, delay_p50_ns, delay_p99_ns;
    summary_row of;
} extra_row;

#define DELAY_COLUMN(column, member)                                                               \
    { .name = (column), PS_FIELD(extra_row, member), .divisor = 1000, .unit = PS_UNIT_US }
#define NUMBER_COLUMN(column, member)                                                              \
    { .name = (column), PS_FIELD(extra_row, member), .unit = PS_UNIT_COUNT }
static const ps_column EXTRA[] = {{.name = "rank", PS_FIELD(extra_row, rank), .is_member = true},
                                  {.name = "step", PS_FIELD(extra_row, step)},
                                  NUMBER_COLUMN("launchedTasks", of.delays.n),
                                  DELAY_COLUMN("taskLaunchDelayAvgTime", delay_ns),
                                  DELAY_COLUMN("taskLaunchDelayP50", delay_p50_ns),
                                  DELAY_COLUMN("taskLaunchDelayP99", delay_p99_ns),
                                  NUMBER_COLUMN("matchedOperators", of.n_matched),
                                  NUMBER_COLUMN("unmatchedOperators", of.n_unmatched)};

enum { /* of the times */
       WHOLE,
       COMPUTING,
       NOT_OVERLAPPED,
       OVERLAPPED,
       COMMUNICATION,
       FREE,
       WAIT,
       TRANSMIT,
       MEMORY,
       MEMORY_ALONE
};

/* Free here is without copies, so it is unknown where they are. */
static bool is_unknown(const partial *part, size_t time) {
    bool needs_computing = time == COMPUTING || time == NOT_OVERLAPPED || time == OVERLAPPED ||
                           time == FREE || time == MEMORY_ALONE;
    return (part->has_no_ends && time == WHOLE) || (part->has_no_computing && needs_computing) ||
           (part->has_no_copies && (time == FREE || time == MEMORY || time == MEMORY_ALONE));
}

static void put_time_row(ps_table *t, int64_t rank, const partial *part, const summary_row *row) {
    const ps_overlap *o = &row->o;
    const int64_t ns[PS_TIME_SUMMARY_N_TIMES] = {[WHOLE] = ps_overlap_whole_ns(o),
                                                 [COMPUTING] = o->computing_ns,
                                                 [NOT_OVERLAPPED] = o->not_overlapped_ns,
                                                 [OVERLAPPED] = ps_overlap_overlapped_ns(o),
                                                 [COMMUNICATION] = o->communication_ns,
                                                 [FREE] = o->free_ns - o->copies_ns[PS_SHARE_FREE],
                                                 [WAIT] = row->wait_ns,
                                                 [TRANSMIT] = row->transmit_ns,
                                                 [MEMORY] = o->memory_ns,
                                                 [MEMORY_ALONE] = ps_overlap_copies_ns(o)};
    time_row out = {.rank = rank, .step = o->has_step ? o->step : PS_UNKNOWN_INT};
    for (size_t c = 0; c < PS_TIME_SUMMARY_N_TIMES; c++) {
        out.us[c] = is_unknown(part, c) ? NAN : (double)ns[c] / 1000;
    }
    ps_table_put(t, &out);
}

static void put_extra(ps_table *t, int64_t rank, const summary_row *row) {
    bool any = row->delays.n > 0;
    ps_table_put(t, &(extra_row){.rank = rank,
                                 .step = row->o.has_step ? row->o.step : PS_UNKNOWN_INT,
                                 .delay_ns = any ? row->delays.mean : NAN,
                                 .delay_p50_ns = any ? row->delays.median : NAN,
                                 .delay_p99_ns = any ? row->delay_p99_ns : NAN,
                                 .of = *row});
}

static void put_time_rows(int64_t rank, partial *part, ps_table *summary, ps_table *extra) {
    static const ps_sort_key KEYS[] = {PS_UP(summary_row, o.step), PS_UP(summary_row, o.device)};
    ps_sort_by(part->rows, part->n_rows, sizeof *part->rows, PS_KEYS(KEYS));
    for (size_t i = 0; i < part->n_rows; i++) {
        put_time_row(summary, rank, part, &part->rows[i]);
        put_extra(extra, rank, &part->rows[i]);
    }
}

ps_code ps_time_summary_tables(const ps_reduce_input *in, ps_table **summary, ps_table **extra,
                               ps_err *err) {
    ps_code code = match_all(in, err);
    if (code != PS_OK) {
        return code;
    }
    *summary = ps_table_new("ClusterTimeSummary", "time of steps by rank",
                            PS_COLUMNS(ps_time_summary_columns));
    if (extra != NULL) {
        *extra = ps_table_new("ClusterTimeSummaryExtra",
                              "launch delay and matched communication by rank", PS_COLUMNS(EXTRA));
    }
    for (size_t r = 0; r < in->n_ranks; r++) {
        if (in->partials[r] != NULL) {
            put_time_rows(in->ranks[r].rank, in->partials[r], *summary,
                          extra != NULL ? *extra : NULL);
        }
    }
    return PS_OK;
}
