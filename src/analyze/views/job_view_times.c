/* The views overview and spread: what the steps of each rank are made of, and how far ranks differ. Of ClusterStepTraceTime, and how
 * long steps are of ClusterTimeSummary: what lies behind their last work stands in no column of the former. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/views/job_view.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

/* --- time of steps ------------------------------------------------------------------------------------------------- */

enum {
    T_PREPARING,
    T_COMPUTING,
    T_OVERLAPPED,
    T_EXPOSED,
    T_FREE,
    T_COMMUNICATION,
    T_NO_RECEIVE,
    T_STAGE,
    T_BUBBLE,
    N_TIMES
};
static const char *const TIME_COLUMNS[N_TIMES] = {
    "preparing",
    "computing",
    "overlapped",
    "communication_not_overlapped",
    "free",
    "communication",
    "communication_not_overlapped_and_exclude_receive",
    "stage",
    "bubble"};

/* A rank, mean of the steps that are wanted. */
typedef struct rank_time {
    int64_t rank;
    int64_t indices[3]; /* dp, pp, tp; -1 unknown */
    int64_t n_steps;
    double us[N_TIMES];       /* NaN: not known */
    int64_t n_known[N_TIMES]; /* steps that tell it; none: it is not known */
    double whole_us;          /* of the steps; NaN: not known */
    int64_t n_whole;
} rank_time;

typedef struct rank_times {
    rank_time *at;
    size_t n, cap;
    ps_idmap rows; /* rank -> row, until they are sorted */
} rank_times;

static void rank_times_fini(rank_times *times) {
    ps_free(times->at);
    ps_idmap_fini(&times->rows);
}

/* All but what lies behind the last work of a step. NaN where no kernels were collected. */
static double parts_us(const rank_time *t) {
    return t->us[T_COMPUTING] + t->us[T_EXPOSED] + t->us[T_FREE] +
           (t->us[T_PREPARING] > 0 ? t->us[T_PREPARING] : 0);
}

/* How long a step takes of the device; where no table says so, what is known of its parts. */
static double e2e_us(const rank_time *t) {
    return !isnan(t->whole_us) ? t->whole_us : parts_us(t);
}

static rank_time *row_of_rank(rank_times *times, int64_t rank) {
    uint32_t row = ps_idmap_get(&times->rows, (uint64_t)rank);
    if (row != PS_IDMAP_NONE) {
        return &times->at[row];
    }
    if (!ps_grow(&times->at, &times->cap, times->n + 1, UINT32_MAX - 1, sizeof *times->at) ||
        !ps_idmap_put(&times->rows, (uint64_t)rank, (uint32_t)times->n)) {
        return NULL;
    }
    times->at[times->n] = (rank_time){.rank = rank, .indices = {-1, -1, -1}};
    return &times->at[times->n++];
}

static bool take_rank_time(rank_times *times, const ps_table *t, size_t row) {
    static const char *const INDICES[3] = {"dp_index", "pp_index", "tp_index"};
    const char *index = ps_job_view_text(t, row, "index");
    int64_t rank = -1;
    if (!ps_parse_i64(index, strlen(index), &rank)) {
        return true;
    }
    rank_time *x = row_of_rank(times, rank);
    if (x == NULL) {
        return false;
    }
    for (size_t k = 0; k < N_TIMES; k++) {
        const ps_value *v = ps_job_view_cell(t, row, TIME_COLUMNS[k]);
        x->us[k] += v != NULL ? v->u.r : 0;
        x->n_known[k] += v != NULL;
    }
    for (size_t k = 0; k < 3; k++) {
        const ps_value *v = ps_job_view_cell(t, row, INDICES[k]);
        x->indices[k] = v != NULL ? v->u.i : x->indices[k];
    }
    x->n_steps++;
    return true;
}

PS_COMPARE(by_rank, rank_time, PS_BY(rank))

static bool is_step(const ps_job_view_input *in, const ps_table *t, size_t row) {
    char text[24] = "";
    const ps_value *v = ps_job_view_cell(t, row, "step");
    if (v != NULL) {
        (void)snprintf(text, sizeof text, "%" PRId64, v->u.i);
    }
    return strcmp(in->step, "all") == 0 || strcmp(text, in->step) == 0;
}

/* Where a rank has a step of which nobody says how long it is, none of its steps counts. */
static void take_whole_steps(const ps_job_view_input *in, rank_times *times) {
    const ps_table *t = in->from->table(in->from->context, "ClusterTimeSummary");
    for (size_t row = 0; t != NULL && row < t->n_rows; row++) {
        const ps_value *rank = ps_job_view_cell(t, row, "rank");
        const ps_value *us = ps_job_view_cell(t, row, "stepTime");
        uint32_t at =
            rank != NULL ? ps_idmap_get(&times->rows, (uint64_t)rank->u.i) : PS_IDMAP_NONE;
        if (at != PS_IDMAP_NONE && us != NULL && is_step(in, t, row)) {
            times->at[at].whole_us += us->u.r;
            times->at[at].n_whole++;
        }
    }
    for (size_t i = 0; i < times->n; i++) {
        rank_time *x = &times->at[i];
        x->whole_us = x->n_whole == x->n_steps ? x->whole_us / (double)x->n_whole : NAN;
    }
}

static bool is_wanted(const ps_job_view_input *in, const ps_table *t, size_t row) {
    const ps_value *stage = ps_job_view_cell(t, row, "pp_index");
    return strcmp(ps_job_view_text(t, row, "type"), "rank") == 0 &&
           (strcmp(in->step, "all") == 0 ||
            strcmp(ps_job_view_text(t, row, "step"), in->step) == 0) &&
           (in->stage < 0 || (stage != NULL && stage->u.i == in->stage));
}

static ps_code gather_times(const ps_job_view_input *in, rank_times *out, ps_err *err) {
    const ps_table *t = in->from->table(in->from->context, "ClusterStepTraceTime");
    ps_idmap_init(&out->rows);
    for (size_t row = 0; t != NULL && row < t->n_rows; row++) {
        if (is_wanted(in, t, row) && !take_rank_time(out, t, row)) {
            return ps_fail_nomem(err);
        }
    }
    if (out->n == 0 && in->stage >= 0) {
        return ps_fail(err, PS_USAGE,
                       PS_SAY(in->lang, "stage: no rank of stage %" PRId64 " has such a step",
                              "stage：阶段 %" PRId64 " 没有 rank 含该 step"),
                       in->stage);
    }
    if (out->n == 0) {
        return strcmp(in->step, "all") == 0
                   ? ps_fail(
                         err, PS_NOTHING, "%s",
                         PS_SAY(in->lang,
                                "no rank has work on a device: collect with the activities of the "
                                "device (pipescope record: --backend cupti, or "
                                "pipescope.record_ops() on the CPU)",
                                "没有 rank 在设备上执行任何工作：请采集设备活动（pipescope record："
                                "--backend cupti，CPU 上可用 pipescope.record_ops()）"))
                   : ps_fail(err, PS_USAGE,
                             PS_SAY(in->lang, "step: no rank has a step '%.40s'",
                                    "step：没有 rank 含 step“%.40s”"),
                             in->step);
    }
    for (size_t i = 0; i < out->n; i++) {
        for (size_t k = 0; k < N_TIMES; k++) {
            int64_t n = out->at[i].n_known[k];
            out->at[i].us[k] = n > 0 ? out->at[i].us[k] / (double)n : NAN;
        }
    }
    take_whole_steps(in, out);
    ps_sort(out->at, out->n, sizeof *out->at, by_rank);
    return PS_OK;
}

/* Times in ns, rounded; unknown where there are none, or too long. */
typedef struct overview_row {
    int64_t rank, n_steps, preparing, pure, overlapped, exposed, free, after, e2e, computing,
        communication, no_receive, stage, receives, indices[3];
    const char *key;
    double computing_ratio, communication_ratio, free_ratio;
} overview_row;

#define NS(text, row, member)                                                                      \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_NS }
#define PERCENT(text, row, member)                                                                 \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_PERCENT }
#define INDEX(text, dimension)                                                                     \
    { .name = (text), PS_FIELD(overview_row, indices[dimension]), .unknown_below_zero = true }
static const ps_column OVERVIEW[] = {
    {.name = "rank_id", PS_FIELD(overview_row, rank)},
    {.name = "key", PS_FIELD(overview_row, key)},
    {.name = "steps", PS_FIELD(overview_row, n_steps), .unit = PS_UNIT_COUNT},
    NS("preparing", overview_row, preparing),
    NS("pure computing", overview_row, pure),
    NS("overlapped", overview_row, overlapped),
    NS("not overlapped", overview_row, exposed),
    NS("free", overview_row, free),
    NS("after", overview_row, after),
    NS("e2e", overview_row, e2e),
    PERCENT("computing ratio", overview_row, computing_ratio),
    PERCENT("communication ratio", overview_row, communication_ratio),
    PERCENT("free ratio", overview_row, free_ratio),
    NS("computing", overview_row, computing),
    NS("communication", overview_row, communication),
    NS("not overlapped without receive", overview_row, no_receive),
    NS("stage without receives", overview_row, stage),
    NS("receives", overview_row, receives),
    INDEX("dp", 0),
    INDEX("pp", 1),
    INDEX("tp", 2),
};

static int64_t ns_of_us(double us) {
    return fabs(us) < 9e15 ? (int64_t)llround(us * 1000) : PS_UNKNOWN_INT;
}

/* No time is negative: a profiler that writes one (what is left of communication when more receives than there is of it are taken
 * away) does not know it. */
static int64_t span_of_us(double us) {
    return us < 0 ? PS_UNKNOWN_INT : ns_of_us(us);
}

/* What is left of a step; sums of us may miss by their rounding. */
static int64_t after_of_us(double us) {
    return us < 0 && us > -0.01 ? 0 : span_of_us(us);
}

static overview_row overview_row_of(const rank_time *x, const char *key) {
    double e2e = e2e_us(x);
    const double *us = x->us;
    return (overview_row){
        .rank = x->rank,
        .key = key,
        .n_steps = x->n_steps,
        .preparing = span_of_us(us[T_PREPARING]),
        .pure = span_of_us(us[T_COMPUTING] - us[T_OVERLAPPED]),
        .overlapped = span_of_us(us[T_OVERLAPPED]),
        .exposed = span_of_us(us[T_EXPOSED]),
        .free = span_of_us(us[T_FREE]),
        .after = after_of_us(e2e - parts_us(x)),
        .e2e = span_of_us(e2e),
        .computing_ratio = e2e > 0 ? 100 * us[T_COMPUTING] / e2e : NAN,
        .communication_ratio = e2e > 0 ? 100 * us[T_EXPOSED] / e2e : NAN,
        .free_ratio = e2e > 0 ? 100 * us[T_FREE] / e2e : NAN,
        .computing = span_of_us(us[T_COMPUTING]),
        .communication = span_of_us(us[T_COMMUNICATION]),
        .no_receive = span_of_us(us[T_NO_RECEIVE]),
        .stage = span_of_us(us[T_STAGE]),
        .receives = span_of_us(us[T_BUBBLE]),
        .indices = {x->indices[0], x->indices[1], x->indices[2]},
    };
}

/* The table when the times are known; `code` says whether they are. */
static ps_table *end_times(ps_table *t, ps_code code, rank_times *times, ps_err *err) {
    rank_times_fini(times);
    if (code == PS_OK) {
        return ps_view_end(t, true, "", err);
    }
    ps_table_free(t);
    return NULL;
}

ps_table *ps_job_view_overview(const ps_job_view_input *in, ps_err *err) {
    rank_times times = {0};
    ps_code code = gather_times(in, &times, err);
    ps_table *t = ps_table_new("overview", "time of a step by rank", PS_COLUMNS(OVERVIEW));
    for (size_t i = 0; code == PS_OK && i < times.n; i++) {
        overview_row row =
            overview_row_of(&times.at[i], in->from->key(in->from->context, times.at[i].rank));
        ps_table_put(t, &row);
    }
    return end_times(t, code, &times, err);
}

/* --- how far ranks differ ----------------------------------------------------------------------------------------------- */

#define LARGEST_SPREAD_PERCENT 5.0 /* of the mean E2E */

typedef struct spread_row {
    const char *metric;
    int64_t spread, most_rank, most, least_rank, least;
    double share, threshold;
    char what[200];
} spread_row;

static const ps_column SPREAD[] = {
    {.name = "metric", PS_FIELD(spread_row, metric)},
    NS("spread", spread_row, spread),
    PERCENT("share of mean e2e", spread_row, share),
    PERCENT("threshold", spread_row, threshold),
    {.name = "rank of max", PS_FIELD(spread_row, most_rank)},
    NS("max", spread_row, most),
    {.name = "rank of min", PS_FIELD(spread_row, least_rank)},
    NS("min", spread_row, least),
    {.name = "what", PS_FIELD(spread_row, what)},
};

static void put_spread_row(ps_lang lang, ps_table *t, const rank_times *times, ps_said metric,
                           size_t time) {
    const rank_time *most = &times->at[0];
    const rank_time *least = &times->at[0];
    double mean = 0;
    bool is_known = true;
    for (size_t i = 0; i < times->n; i++) {
        const rank_time *x = &times->at[i];
        most = x->us[time] > most->us[time] ? x : most;
        least = x->us[time] < least->us[time] ? x : least;
        is_known = is_known && !isnan(x->us[time]);
        mean += e2e_us(x) / (double)times->n;
    }
    if (!is_known) {
        return;
    }
    double spread = most->us[time] - least->us[time];
    double share = mean > 0 ? 100 * spread / mean : 0;
    spread_row row = {.metric = metric.in[PS_ENGLISH],
                      .spread = ns_of_us(spread),
                      .share = share,
                      .threshold = LARGEST_SPREAD_PERCENT,
                      .most_rank = most->rank,
                      .most = ns_of_us(most->us[time]),
                      .least_rank = least->rank,
                      .least = ns_of_us(least->us[time])};
    if (share > LARGEST_SPREAD_PERCENT) {
        (void)snprintf(row.what, sizeof row.what,
                       PS_SAY(lang,
                              "%s differs by %s between ranks %" PRId64 " and %" PRId64
                              ": look for unequal work, a slow device or a late host there",
                              "%s相差 %s（rank %" PRId64 " 与 %" PRId64
                              " 之间）：请查看那里的工作是否不均、设备是否较慢或主机是否迟到"),
                       metric.in[lang], ps_ns_text_of(row.spread).text, most->rank, least->rank);
    } else {
        (void)snprintf(row.what, sizeof row.what,
                       PS_SAY(lang, "%s is alike in all ranks", "%s在全部 rank 上相近"),
                       metric.in[lang]);
    }
    ps_table_put(t, &row);
}

ps_table *ps_job_view_spread(const ps_job_view_input *in, ps_err *err) {
    rank_times times = {0};
    ps_code code = gather_times(in, &times, err);
    ps_table *t = ps_table_new("spread", "how far ranks differ", PS_COLUMNS(SPREAD));
    if (code == PS_OK) {
        put_spread_row(in->lang, t, &times, (ps_said){{"Computing", "计算"}}, T_COMPUTING);
        put_spread_row(in->lang, t, &times,
                       (ps_said){{"Communication (not overlapped)", "未掩盖通信"}}, T_EXPOSED);
        put_spread_row(in->lang, t, &times, (ps_said){{"Free", "空闲"}}, T_FREE);
    }
    return end_times(t, code, &times, err);
}
