/* The views overview and spread: what the steps of each rank are made of, and how far ranks differ. Of ClusterStepTraceTime. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/views/job_view.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"

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
    double us[N_TIMES];
    int64_t n_known[N_TIMES]; /* steps that tell it; none: it is not known */
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

static double e2e_us(const rank_time *t) {
    return t->us[T_COMPUTING] + t->us[T_EXPOSED] + t->us[T_FREE] +
           (t->us[T_PREPARING] > 0 ? t->us[T_PREPARING] : 0);
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

static int by_rank(const void *a, const void *b) {
    return ps_compare_i64(&((const rank_time *)a)->rank, &((const rank_time *)b)->rank);
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
        return ps_fail(err, PS_USAGE, "stage: no rank of stage %" PRId64 " has such a step",
                       in->stage);
    }
    if (out->n == 0) {
        return strcmp(in->step, "all") == 0
                   ? ps_fail(
                         err, PS_NOTHING,
                         "no rank has work on a device: collect with the activities of the device "
                         "(pipescope record: --backend cupti, or pipescope.record_ops() on the CPU)")
                   : ps_fail(err, PS_USAGE, "step: no rank has a step '%.40s'", in->step);
    }
    for (size_t i = 0; i < out->n; i++) {
        for (size_t k = 0; k < N_TIMES; k++) {
            int64_t n = out->at[i].n_known[k];
            out->at[i].us[k] /= (double)(n > 0 ? n : 1);
        }
    }
    if (out->n > 1) {
        qsort(out->at, out->n, sizeof *out->at, by_rank);
    }
    return PS_OK;
}

#define NS(text)                                                                                   \
    { .name = (text), .type = PS_COL_INT, .unit = PS_UNIT_NS }
#define PERCENT(text)                                                                              \
    { .name = (text), .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT }
enum {
    O_RANK,
    O_KEY,
    O_STEPS,
    O_PREPARING,
    O_PURE,
    O_OVERLAPPED,
    O_EXPOSED,
    O_FREE,
    O_E2E,
    O_COMPUTING_RATIO,
    O_COMMUNICATION_RATIO,
    O_FREE_RATIO,
    O_COMPUTING,
    O_COMMUNICATION,
    O_NO_RECEIVE,
    O_STAGE,
    O_BUBBLE,
    O_DP,
    O_PP,
    O_TP,
    N_OVERVIEW
};
static const ps_column OVERVIEW[N_OVERVIEW] = {
    [O_RANK] = {.name = "rank_id", .type = PS_COL_INT},
    [O_KEY] = {.name = "key", .type = PS_COL_TEXT},
    [O_STEPS] = {.name = "steps", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [O_PREPARING] = NS("preparing"),
    [O_PURE] = NS("pure computing"),
    [O_OVERLAPPED] = NS("overlapped"),
    [O_EXPOSED] = NS("not overlapped"),
    [O_FREE] = NS("free"),
    [O_E2E] = NS("e2e"),
    [O_COMPUTING_RATIO] = PERCENT("computing ratio"),
    [O_COMMUNICATION_RATIO] = PERCENT("communication ratio"),
    [O_FREE_RATIO] = PERCENT("free ratio"),
    [O_COMPUTING] = NS("computing"),
    [O_COMMUNICATION] = NS("communication"),
    [O_NO_RECEIVE] = NS("not overlapped without receive"),
    [O_STAGE] = NS("stage"),
    [O_BUBBLE] = NS("bubble"),
    [O_DP] = {.name = "dp", .type = PS_COL_INT},
    [O_PP] = {.name = "pp", .type = PS_COL_INT},
    [O_TP] = {.name = "tp", .type = PS_COL_INT},
};

static void set_view_us(ps_table *t, size_t column, double us) {
    if (fabs(us) < 9e15) {
        ps_table_set_int(t, column, (int64_t)llround(us * 1000));
    }
}

static bool put_overview_row(ps_table *t, const char *key, const rank_time *x) {
    if (!ps_table_add_row(t) || !ps_table_set_text(t, O_KEY, key)) {
        return false;
    }
    double e2e = e2e_us(x);
    ps_table_set_int(t, O_RANK, x->rank);
    ps_table_set_int(t, O_STEPS, x->n_steps);
    if (x->n_known[T_PREPARING] > 0) {
        set_view_us(t, O_PREPARING, x->us[T_PREPARING]);
    }
    set_view_us(t, O_PURE, x->us[T_COMPUTING] - x->us[T_OVERLAPPED]);
    set_view_us(t, O_OVERLAPPED, x->us[T_OVERLAPPED]);
    set_view_us(t, O_EXPOSED, x->us[T_EXPOSED]);
    set_view_us(t, O_FREE, x->us[T_FREE]);
    set_view_us(t, O_E2E, e2e);
    if (e2e > 0) {
        ps_table_set_real(t, O_COMPUTING_RATIO, 100 * x->us[T_COMPUTING] / e2e);
        ps_table_set_real(t, O_COMMUNICATION_RATIO, 100 * x->us[T_EXPOSED] / e2e);
        ps_table_set_real(t, O_FREE_RATIO, 100 * x->us[T_FREE] / e2e);
    }
    set_view_us(t, O_COMPUTING, x->us[T_COMPUTING]);
    set_view_us(t, O_COMMUNICATION, x->us[T_COMMUNICATION]);
    set_view_us(t, O_NO_RECEIVE, x->us[T_NO_RECEIVE]);
    set_view_us(t, O_STAGE, x->us[T_STAGE]);
    set_view_us(t, O_BUBBLE, x->us[T_BUBBLE]);
    for (size_t k = 0; k < 3; k++) {
        if (x->indices[k] >= 0) {
            ps_table_set_int(t, O_DP + k, x->indices[k]);
        }
    }
    return true;
}

ps_table *ps_job_view_overview(const ps_job_view_input *in, ps_err *err) {
    rank_times times = {0};
    ps_table *t = NULL;
    ps_code code = gather_times(in, &times, err);
    if (code == PS_OK) {
        t = ps_table_new("overview", "time of a step by rank", OVERVIEW, N_OVERVIEW);
        code = t != NULL ? PS_OK : ps_fail_nomem(err);
    }
    for (size_t i = 0; code == PS_OK && i < times.n; i++) {
        const char *key = in->from->key(in->from->context, times.at[i].rank);
        code = put_overview_row(t, key, &times.at[i]) ? PS_OK : ps_fail_nomem(err);
    }
    rank_times_fini(&times);
    if (code != PS_OK) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}

/* --- how far ranks differ ----------------------------------------------------------------------------------------------- */

#define LARGEST_SPREAD_PERCENT 5.0 /* of the mean E2E */

enum {
    S_METRIC,
    S_SPREAD,
    S_SHARE,
    S_THRESHOLD,
    S_MOST_RANK,
    S_MOST,
    S_LEAST_RANK,
    S_LEAST,
    S_WHAT,
    N_SPREAD
};
static const ps_column SPREAD[N_SPREAD] = {
    [S_METRIC] = {.name = "metric", .type = PS_COL_TEXT},
    [S_SPREAD] = NS("spread"),
    [S_SHARE] = PERCENT("share of mean e2e"),
    [S_THRESHOLD] = PERCENT("threshold"),
    [S_MOST_RANK] = {.name = "rank of max", .type = PS_COL_INT},
    [S_MOST] = NS("max"),
    [S_LEAST_RANK] = {.name = "rank of min", .type = PS_COL_INT},
    [S_LEAST] = NS("min"),
    [S_WHAT] = {.name = "what", .type = PS_COL_TEXT},
};

static bool put_spread_row(ps_table *t, const rank_times *times, const char *metric, size_t time) {
    const rank_time *most = &times->at[0];
    const rank_time *least = &times->at[0];
    double mean = 0;
    for (size_t i = 0; i < times->n; i++) {
        const rank_time *x = &times->at[i];
        most = x->us[time] > most->us[time] ? x : most;
        least = x->us[time] < least->us[time] ? x : least;
        mean += e2e_us(x) / (double)times->n;
    }
    double spread = most->us[time] - least->us[time];
    double share = mean > 0 ? 100 * spread / mean : 0;
    char what[200];
    if (share > LARGEST_SPREAD_PERCENT) {
        (void)snprintf(what, sizeof what,
                       "%s differs by %.3f us between ranks %" PRId64 " and %" PRId64
                       ": look for unequal work, a slow device or a late host there",
                       metric, spread, most->rank, least->rank);
    } else {
        (void)snprintf(what, sizeof what, "%s is alike in all ranks", metric);
    }
    if (!ps_table_add_row(t) || !ps_table_set_text(t, S_METRIC, metric) ||
        !ps_table_set_text(t, S_WHAT, what)) {
        return false;
    }
    set_view_us(t, S_SPREAD, spread);
    ps_table_set_real(t, S_SHARE, share);
    ps_table_set_real(t, S_THRESHOLD, LARGEST_SPREAD_PERCENT);
    ps_table_set_int(t, S_MOST_RANK, most->rank);
    set_view_us(t, S_MOST, most->us[time]);
    ps_table_set_int(t, S_LEAST_RANK, least->rank);
    set_view_us(t, S_LEAST, least->us[time]);
    return true;
}

ps_table *ps_job_view_spread(const ps_job_view_input *in, ps_err *err) {
    rank_times times = {0};
    ps_table *t = NULL;
    ps_code code = gather_times(in, &times, err);
    if (code == PS_OK) {
        t = ps_table_new("spread", "how far ranks differ", SPREAD, N_SPREAD);
        bool ok = t != NULL && put_spread_row(t, &times, "Computing", T_COMPUTING) &&
                  put_spread_row(t, &times, "Communication (not overlapped)", T_EXPOSED) &&
                  put_spread_row(t, &times, "Free", T_FREE);
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    rank_times_fini(&times);
    if (code != PS_OK) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}
