#include "serve/cluster/cluster_views.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "serve/cluster/summary.h"

/* --- sets ------------------------------------------------------------------------------------------------------------- */

void ps_view_set_analyses(const ps_request *q, ps_view_set set, ps_modes_ask *ask) {
    static const char *const NAMES[PS_N_SETS][PS_MODES_MOST] = {
        [PS_SET_STEPS] = {"step_trace_time", "cluster_time_summary"},
        [PS_SET_COMMUNICATION] = {"communication_time_sum", "communication_matrix_sum"},
        [PS_SET_LATE] = {"slow_link", "slow_rank", "hccl_sum"},
    };
    if (set == PS_SET_REPORT) {
        ps_modes_ask_report(q, ask);
        return;
    }
    ask->n_analyses = 0;
    for (size_t i = 0; i < PS_MODES_MOST && NAMES[set][i] != NULL; i++) {
        ask->analyses[ask->n_analyses++] = ps_analysis_find(NAMES[set][i]);
    }
}

const char *ps_cluster_rank_key(const ps_request *q, size_t cluster, int64_t rank) {
    const ps_cluster *c = ps_store_cluster(q->store, cluster);
    const char *key = "";
    for (size_t i = 0; i < ps_store_n_ranks(q->store); i++) {
        const ps_rank_entry *e = ps_store_rank(q->store, i);
        if (e->cluster == c && e->rank->rank == rank) {
            if (key[0] != '\0') {
                return "";
            }
            key = e->key;
        }
    }
    return key;
}

/* --- time of steps --------------------------------------------------------------------------------------------------- */

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
} rank_time;

typedef struct rank_times {
    rank_time *at;
    size_t n, cap;
    ps_idmap rows; /* rank -> row, until they are sorted */
} rank_times;

static void times_fini(rank_times *times) {
    ps_free(times->at);
    ps_idmap_fini(&times->rows);
}

static double e2e_us(const rank_time *t) {
    return t->us[T_COMPUTING] + t->us[T_EXPOSED] + t->us[T_FREE] +
           (t->us[T_PREPARING] > 0 ? t->us[T_PREPARING] : 0);
}

static const char *cluster_view_text_at(const ps_table *t, size_t row, const char *column) {
    size_t at = ps_table_column(t, column);
    const ps_value *v = at != SIZE_MAX ? ps_table_cell(t, row, at) : NULL;
    return v != NULL && !v->is_null ? v->u.text : "";
}

static rank_time *rank_of(rank_times *times, int64_t rank) {
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

static bool take_cluster_view_row(rank_times *times, const ps_table *t, size_t row) {
    static const char *const INDICES[3] = {"dp_index", "pp_index", "tp_index"};
    const char *index = cluster_view_text_at(t, row, "index");
    int64_t rank = -1;
    if (!ps_parse_i64(index, strlen(index), &rank)) {
        return true;
    }
    rank_time *x = rank_of(times, rank);
    if (x == NULL) {
        return false;
    }
    for (size_t k = 0; k < N_TIMES; k++) {
        size_t at = ps_table_column(t, TIME_COLUMNS[k]);
        const ps_value *v = at != SIZE_MAX ? ps_table_cell(t, row, at) : NULL;
        x->us[k] += v != NULL && !v->is_null ? v->u.r : 0;
    }
    for (size_t k = 0; k < 3; k++) {
        size_t at = ps_table_column(t, INDICES[k]);
        const ps_value *v = at != SIZE_MAX ? ps_table_cell(t, row, at) : NULL;
        x->indices[k] = v != NULL && !v->is_null ? v->u.i : x->indices[k];
    }
    x->n_steps++;
    return true;
}

static int by_rank(const void *a, const void *b) {
    return ps_compare_i64(&((const rank_time *)a)->rank, &((const rank_time *)b)->rank);
}

static ps_code gather_times(const ps_modes *m, const char *step, rank_times *out, ps_err *err) {
    const ps_table *t = ps_modes_table(m, "ClusterStepTraceTime");
    ps_idmap_init(&out->rows);
    bool all = strcmp(step, "all") == 0;
    for (size_t row = 0; t != NULL && row < t->n_rows; row++) {
        bool wanted = strcmp(cluster_view_text_at(t, row, "type"), "rank") == 0 &&
                      (all || strcmp(cluster_view_text_at(t, row, "step"), step) == 0);
        if (wanted && !take_cluster_view_row(out, t, row)) {
            return ps_fail_nomem(err);
        }
    }
    if (out->n == 0) {
        return all ? ps_fail(
                         err, PS_NOTHING,
                         "no rank has work on a device: collect with the activities of the device "
                         "(pipescope record: --backend cupti, or pipescope.record_ops() on the CPU)")
                   : ps_fail(err, PS_USAGE, "step: no rank has a step '%.40s'", step);
    }
    for (size_t i = 0; i < out->n; i++) {
        for (size_t k = 0; k < N_TIMES; k++) {
            out->at[i].us[k] /= (double)out->at[i].n_steps;
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

static void set_us(ps_table *t, size_t column, double us) {
    if (fabs(us) < 9e15) {
        ps_table_set_int(t, column, (int64_t)llround(us * 1000));
    }
}

static bool put_cluster_view_overview(ps_table *t, const char *key, const rank_time *x) {
    if (!ps_table_add_row(t) || !ps_table_set_text(t, O_KEY, key)) {
        return false;
    }
    double e2e = e2e_us(x);
    ps_table_set_int(t, O_RANK, x->rank);
    ps_table_set_int(t, O_STEPS, x->n_steps);
    set_us(t, O_PREPARING, x->us[T_PREPARING]);
    set_us(t, O_PURE, x->us[T_COMPUTING] - x->us[T_OVERLAPPED]);
    set_us(t, O_OVERLAPPED, x->us[T_OVERLAPPED]);
    set_us(t, O_EXPOSED, x->us[T_EXPOSED]);
    set_us(t, O_FREE, x->us[T_FREE]);
    set_us(t, O_E2E, e2e);
    if (e2e > 0) {
        ps_table_set_real(t, O_COMPUTING_RATIO, 100 * x->us[T_COMPUTING] / e2e);
        ps_table_set_real(t, O_COMMUNICATION_RATIO, 100 * x->us[T_EXPOSED] / e2e);
        ps_table_set_real(t, O_FREE_RATIO, 100 * x->us[T_FREE] / e2e);
    }
    set_us(t, O_COMPUTING, x->us[T_COMPUTING]);
    set_us(t, O_COMMUNICATION, x->us[T_COMMUNICATION]);
    set_us(t, O_NO_RECEIVE, x->us[T_NO_RECEIVE]);
    set_us(t, O_STAGE, x->us[T_STAGE]);
    set_us(t, O_BUBBLE, x->us[T_BUBBLE]);
    for (size_t k = 0; k < 3; k++) {
        if (x->indices[k] >= 0) {
            ps_table_set_int(t, O_DP + k, x->indices[k]);
        }
    }
    return true;
}

static ps_table *make_overview(const ps_request *q, size_t cluster, const ps_modes *m,
                               const char *step, ps_err *err) {
    rank_times times = {0};
    ps_table *t = NULL;
    ps_code code = gather_times(m, step, &times, err);
    if (code == PS_OK) {
        t = ps_table_new("overview", "time of a step by rank", OVERVIEW, N_OVERVIEW);
        code = t != NULL ? PS_OK : ps_fail_nomem(err);
    }
    for (size_t i = 0; code == PS_OK && i < times.n; i++) {
        const char *key = ps_cluster_rank_key(q, cluster, times.at[i].rank);
        code = put_cluster_view_overview(t, key, &times.at[i]) ? PS_OK : ps_fail_nomem(err);
    }
    times_fini(&times);
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

static bool put_cluster_view_spread(ps_table *t, const rank_times *times, const char *metric,
                                    size_t time) {
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
    set_us(t, S_SPREAD, spread);
    ps_table_set_real(t, S_SHARE, share);
    ps_table_set_real(t, S_THRESHOLD, LARGEST_SPREAD_PERCENT);
    ps_table_set_int(t, S_MOST_RANK, most->rank);
    set_us(t, S_MOST, most->us[time]);
    ps_table_set_int(t, S_LEAST_RANK, least->rank);
    set_us(t, S_LEAST, least->us[time]);
    return true;
}

static ps_table *make_spread(const ps_request *q, size_t cluster, const ps_modes *m,
                             const char *step, ps_err *err) {
    (void)q;
    (void)cluster;
    rank_times times = {0};
    ps_table *t = NULL;
    ps_code code = gather_times(m, step, &times, err);
    if (code == PS_OK) {
        t = ps_table_new("spread", "how far ranks differ", SPREAD, N_SPREAD);
        bool ok = t != NULL && put_cluster_view_spread(t, &times, "Computing", T_COMPUTING) &&
                  put_cluster_view_spread(t, &times, "Communication (not overlapped)", T_EXPOSED) &&
                  put_cluster_view_spread(t, &times, "Free", T_FREE);
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    times_fini(&times);
    if (code != PS_OK) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}

/* --- findings of communication -------------------------------------------------------------------------------------------- */

static bool copy_row(const ps_table *from, size_t row, ps_table *to) {
    bool ok = ps_table_add_row(to);
    for (size_t c = 0; ok && c < from->n_columns; c++) {
        const ps_value *v = ps_table_cell(from, row, c);
        if (v->is_null) {
            continue;
        }
        if (from->columns[c].type == PS_COL_INT) {
            ps_table_set_int(to, c, v->u.i);
        } else if (from->columns[c].type == PS_COL_REAL) {
            ps_table_set_real(to, c, v->u.r);
        } else {
            ok = ps_table_set_text(to, c, v->u.text);
        }
    }
    return ok;
}

/* Its columns are those of the report, static. */
static ps_table *make_communication_advice(const ps_request *q, size_t cluster, const ps_modes *m,
                                           const char *step, ps_err *err) {
    (void)q;
    (void)cluster;
    (void)step;
    const ps_table *findings = ps_modes_table(m, "findings");
    if (findings == NULL) {
        (void)ps_fail(err, PS_NOTHING, "no rank ran anything on a device");
        return NULL;
    }
    ps_table *t = ps_table_new("communication_advice", "findings about communication",
                               findings->columns, findings->n_columns);
    bool ok = t != NULL;
    for (size_t row = 0; ok && row < findings->n_rows; row++) {
        ok = strcmp(cluster_view_text_at(findings, row, "section"), "communication") != 0 ||
             copy_row(findings, row, t);
    }
    if (!ok) {
        ps_table_free(t);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return t;
}

/* --- evidence with the keys of ranks ------------------------------------------------------------------------------------------ */

enum { E_FINDING, E_RANK, E_KEY, E_STEP, E_TIME, E_DURATION, E_NAME, E_NOTE, N_EVIDENCE };
static const ps_column EVIDENCE[N_EVIDENCE] = {
    [E_FINDING] = {.name = "finding", .type = PS_COL_INT},
    [E_RANK] = {.name = "rank_id", .type = PS_COL_INT},
    [E_KEY] = {.name = "key", .type = PS_COL_TEXT},
    [E_STEP] = {.name = "step", .type = PS_COL_INT},
    [E_TIME] = {.name = "time", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    [E_DURATION] = NS("duration"),
    [E_NAME] = {.name = "name", .type = PS_COL_TEXT},
    [E_NOTE] = {.name = "note", .type = PS_COL_TEXT},
};

static bool cluster_view_int_at(const ps_table *t, size_t row, const char *column, int64_t *out) {
    size_t at = ps_table_column(t, column);
    const ps_value *v = at != SIZE_MAX ? ps_table_cell(t, row, at) : NULL;
    *out = v != NULL && !v->is_null ? v->u.i : 0;
    return v != NULL && !v->is_null;
}

static bool put_cluster_view_evidence(const ps_request *q, size_t cluster, const ps_table *from,
                                      size_t row, ps_table *to) {
    static const struct {
        const char *name;
        int column;
    } NUMBERS[] = {{"finding", E_FINDING},
                   {"rank", E_RANK},
                   {"step", E_STEP},
                   {"at", E_TIME},
                   {"duration", E_DURATION}};
    int64_t number = 0;
    bool ok = ps_table_add_row(to) &&
              ps_table_set_text(to, E_NAME, cluster_view_text_at(from, row, "name")) &&
              ps_table_set_text(to, E_NOTE, cluster_view_text_at(from, row, "note"));
    for (size_t i = 0; ok && i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        if (cluster_view_int_at(from, row, NUMBERS[i].name, &number)) {
            ps_table_set_int(to, (size_t)NUMBERS[i].column, number);
        }
    }
    return ok && (!cluster_view_int_at(from, row, "rank", &number) ||
                  ps_table_set_text(to, E_KEY, ps_cluster_rank_key(q, cluster, number)));
}

static ps_table *make_evidence(const ps_request *q, size_t cluster, const ps_modes *m,
                               const char *step, ps_err *err) {
    (void)step;
    const ps_table *evidence = ps_modes_table(m, "evidence");
    if (evidence == NULL) {
        (void)ps_fail(err, PS_NOTHING, "no rank ran anything on a device");
        return NULL;
    }
    ps_table *t = ps_table_new("evidence", "where to look", EVIDENCE, N_EVIDENCE);
    bool ok = t != NULL;
    for (size_t row = 0; ok && row < evidence->n_rows; row++) {
        ok = put_cluster_view_evidence(q, cluster, evidence, row, t);
    }
    if (!ok) {
        ps_table_free(t);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return t;
}

/* --- the list ------------------------------------------------------------------------------------------------------------- */

const ps_cluster_view ps_cluster_views[] = {{.name = "base_info",
                                             .title = "Base information",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_STEPS,
                                             .params = "",
                                             .make = ps_summary_base_info},
                                            {.name = "overview",
                                             .title = "Time of a step by rank",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_STEPS,
                                             .params = "step",
                                             .make = make_overview},
                                            {.name = "spread",
                                             .title = "How far ranks differ",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_STEPS,
                                             .params = "step",
                                             .make = make_spread},
                                            {.name = "step_times",
                                             .title = "Time of steps by rank and stage",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_STEPS,
                                             .table = "ClusterStepTraceTime",
                                             .params = ""},
                                            {.name = "time_summary",
                                             .title = "Time of steps, transmitting and waiting",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_STEPS,
                                             .table = "ClusterTimeSummary",
                                             .params = ""},
                                            {.name = "hosts",
                                             .title = "Hosts",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_STEPS,
                                             .table = "HostInfo",
                                             .params = ""},
                                            {.name = "rank_devices",
                                             .title = "Devices of ranks",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_STEPS,
                                             .table = "RankDeviceMap",
                                             .params = ""},
                                            {.name = "cluster_advice",
                                             .title = "Findings",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_REPORT,
                                             .table = "findings",
                                             .params = ""},
                                            {.name = "cluster_verdict",
                                             .title = "What costs most",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_REPORT,
                                             .table = "verdict",
                                             .params = ""},
                                            {.name = "cluster_evidence",
                                             .title = "Where to look",
                                             .tab = PS_TAB_SUMMARY,
                                             .set = PS_SET_REPORT,
                                             .params = "",
                                             .make = make_evidence},
                                            {.name = "communication_time",
                                             .title = "Time of communication operators by rank",
                                             .tab = PS_TAB_COMMUNICATION,
                                             .set = PS_SET_COMMUNICATION,
                                             .table = "ClusterCommunicationTime",
                                             .params = ""},
                                            {.name = "communication_bandwidth",
                                             .title = "Bandwidth and packets by transport",
                                             .tab = PS_TAB_COMMUNICATION,
                                             .set = PS_SET_COMMUNICATION,
                                             .table = "ClusterCommunicationBandwidth",
                                             .params = ""},
                                            {.name = "communication_matrix",
                                             .title = "Communication between ranks",
                                             .tab = PS_TAB_COMMUNICATION,
                                             .set = PS_SET_COMMUNICATION,
                                             .table = "ClusterCommunicationMatrix",
                                             .params = ""},
                                            {.name = "communication_groups",
                                             .title = "Communicators",
                                             .tab = PS_TAB_COMMUNICATION,
                                             .set = PS_SET_COMMUNICATION,
                                             .table = "CommunicationGroupMapping",
                                             .params = ""},
                                            {.name = "communication_stats",
                                             .title = "Communication operators by type and rank",
                                             .tab = PS_TAB_COMMUNICATION,
                                             .set = PS_SET_LATE,
                                             .table = "HcclPerRankStats",
                                             .params = ""},
                                            {.name = "communication_links",
                                             .title = "Links slower than others of their kind",
                                             .tab = PS_TAB_COMMUNICATION,
                                             .set = PS_SET_LATE,
                                             .table = "SlowLinkMatrix",
                                             .params = ""},
                                            {.name = "communication_late",
                                             .title = "How late ranks came",
                                             .tab = PS_TAB_COMMUNICATION,
                                             .set = PS_SET_LATE,
                                             .table = "SlowRankLateness",
                                             .params = ""},
                                            {.name = "communication_advice",
                                             .title = "Findings about communication",
                                             .tab = PS_TAB_COMMUNICATION,
                                             .set = PS_SET_REPORT,
                                             .params = "",
                                             .make = make_communication_advice},
                                            {.name = NULL}};

const ps_cluster_view *ps_cluster_view_find(const char *name) {
    for (const ps_cluster_view *v = ps_cluster_views; v->name != NULL; v++) {
        if (strcmp(v->name, name) == 0) {
            return v;
        }
    }
    return NULL;
}
