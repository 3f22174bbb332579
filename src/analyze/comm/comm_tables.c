#include "analyze/comm/comm_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"

#define NO_COLUMN SIZE_MAX
enum { MAX_COLUMNS = 12 };

/* One side table, and where its columns are. */
typedef struct source {
    const ps_table *table;
    size_t columns[MAX_COLUMNS];
    ps_comm_tables *out;
    size_t row;
    bool failed; /* memory is out */
} source;

/* --- cells ---------------------------------------------------------------------------------------------------- */

/* "transit_size" is also "transit_size(MB)". */
static size_t find_column(const ps_table *t, const char *name) {
    size_t n = strlen(name);
    for (size_t c = 0; c < t->n_columns; c++) {
        const char *other = t->columns[c].name;
        if (strncmp(other, name, n) == 0 && (other[n] == '\0' || other[n] == '(')) {
            return c;
        }
    }
    return NO_COLUMN;
}

static const ps_value *comm_cell_cell(const source *s, size_t column, ps_col_type *type) {
    size_t c = s->columns[column];
    if (c == NO_COLUMN) {
        return NULL;
    }
    *type = s->table->columns[c].type;
    const ps_value *v = ps_table_cell(s->table, s->row, c);
    return v->is_null ? NULL : v;
}

static double number_comm_cell(const source *s, size_t column) {
    ps_col_type type = PS_COL_INT;
    const ps_value *v = comm_cell_cell(s, column, &type);
    if (v == NULL) {
        return (double)NAN;
    }
    if (type == PS_COL_INT || type == PS_COL_REAL) {
        return type == PS_COL_INT ? (double)v->u.i : v->u.r;
    }
    char *end = NULL;
    double value = strtod(v->u.text, &end);
    return end != v->u.text && *end == '\0' ? value : (double)NAN;
}

static int64_t comm_cell_whole(const source *s, size_t column, int64_t fallback) {
    ps_col_type type = PS_COL_INT;
    const ps_value *v = comm_cell_cell(s, column, &type);
    int64_t value = fallback;
    if (v == NULL) {
        return fallback;
    }
    if (type == PS_COL_REAL) {
        return fabs(v->u.r) < 9e18 ? (int64_t)v->u.r : fallback;
    }
    if (type == PS_COL_INT) {
        return v->u.i;
    }
    return ps_parse_i64(v->u.text, strlen(v->u.text), &value) ? value : fallback;
}

static ps_str comm_cell_text(source *s, size_t column) {
    ps_col_type type = PS_COL_INT;
    const ps_value *v = comm_cell_cell(s, column, &type);
    char digits[32] = "";
    if (v != NULL && type == PS_COL_INT) {
        (void)snprintf(digits, sizeof digits, "%lld", (long long)v->u.i);
    }
    const char *t =
        v != NULL && (type == PS_COL_TEXT || type == PS_COL_STRING_ID) ? v->u.text : digits;
    ps_str id = ps_strpool_add(&s->out->strings, t, strlen(t));
    s->failed = s->failed || ps_str_is_none(id);
    return id;
}

bool ps_comm_is_total(const char *op) {
    static const char TOTAL[] = "Total Op Info";
    size_t n = strcspn(op, "@");
    bool is_bare = n == 5 && memcmp(op, "total", 5) == 0;
    bool is_of_kind = n > 6 && memcmp(op + n - 6, "-total", 6) == 0;
    return is_bare || is_of_kind || (n == sizeof TOTAL - 1 && memcmp(op, TOTAL, n) == 0);
}

const char *ps_comm_tables_text(const ps_comm_tables *t, ps_str s) {
    return ps_strpool_get(&t->strings, s);
}

static bool is_comm_cell_text(const source *s, size_t column, const char *expected) {
    ps_col_type type = PS_COL_INT;
    const ps_value *v = comm_cell_cell(s, column, &type);
    return v != NULL && type == PS_COL_TEXT && strcmp(v->u.text, expected) == 0;
}

/* --- one row -------------------------------------------------------------------------------------------------- */

enum { T_OP, T_GROUP, T_STEP, T_TYPE, T_START, T_ELAPSED, T_TRANSIT, T_WAIT, T_SYNC, T_IDLE };
static const char *const TIME_COLUMNS[] = {
    "hccl_op_name",         "group_name",  "step",         "type",
    "start_timestamp",      "elapse_time", "transit_time", "wait_time",
    "synchronization_time", "idle_time"};

static bool take_comm_cell_time(source *s) {
    ps_comm_tables *out = s->out;
    if (!ps_grow(&out->times, &out->cap_times, out->n_times + 1, UINT32_MAX - 1,
                 sizeof *out->times)) {
        return false;
    }
    size_t start = s->columns[T_START];
    bool in_ns = start != NO_COLUMN && s->table->columns[start].unit == PS_UNIT_NS;
    out->times[out->n_times++] = (ps_comm_time){
        .op = comm_cell_text(s, T_OP),
        .group = comm_cell_text(s, T_GROUP),
        .step = comm_cell_text(s, T_STEP),
        .is_p2p = is_comm_cell_text(s, T_TYPE, "p2p"),
        .start_us = in_ns ? number_comm_cell(s, T_START) / 1000 : number_comm_cell(s, T_START),
        .elapsed = number_comm_cell(s, T_ELAPSED),
        .transit = number_comm_cell(s, T_TRANSIT),
        .wait = number_comm_cell(s, T_WAIT),
        .synchronization = number_comm_cell(s, T_SYNC),
        .idle = number_comm_cell(s, T_IDLE)};
    return !s->failed;
}

enum {
    B_OP,
    B_GROUP,
    B_STEP,
    B_TRANSPORT,
    B_SIZE,
    B_TIME,
    B_BANDWIDTH,
    B_LARGE,
    B_PACKAGE,
    B_COUNT,
    B_TOTAL
};
static const char *const BANDWIDTH_COLUMNS[] = {
    "hccl_op_name", "group_name",   "step",          "transport_type",
    "transit_size", "transit_time", "bandwidth",     "large_packet_ratio",
    "package_size", "count",        "total_duration"};

static bool take_bandwidth(source *s) {
    ps_comm_tables *out = s->out;
    if (!ps_grow(&out->bandwidths, &out->cap_bandwidths, out->n_bandwidths + 1, UINT32_MAX - 1,
                 sizeof *out->bandwidths)) {
        return false;
    }
    out->bandwidths[out->n_bandwidths++] =
        (ps_comm_bandwidth){.op = comm_cell_text(s, B_OP),
                            .group = comm_cell_text(s, B_GROUP),
                            .step = comm_cell_text(s, B_STEP),
                            .transport = comm_cell_text(s, B_TRANSPORT),
                            .size = number_comm_cell(s, B_SIZE),
                            .time = number_comm_cell(s, B_TIME),
                            .bandwidth = number_comm_cell(s, B_BANDWIDTH),
                            .large_ratio = number_comm_cell(s, B_LARGE),
                            .package_size = number_comm_cell(s, B_PACKAGE),
                            .count = comm_cell_whole(s, B_COUNT, 0),
                            .total_time = number_comm_cell(s, B_TOTAL)};
    return !s->failed;
}

enum {
    L_OP,
    L_GROUP,
    L_STEP,
    L_TYPE,
    L_SOURCE,
    L_DESTINATION,
    L_TRANSPORT,
    L_OP_NAME,
    L_SIZE,
    L_TIME,
    L_BANDWIDTH
};
static const char *const LINK_COLUMNS[] = {
    "hccl_op_name",   "group_name", "step",         "type",         "src_rank", "dst_rank",
    "transport_type", "op_name",    "transit_size", "transit_time", "bandwidth"};

static bool take_link(source *s) {
    ps_comm_tables *out = s->out;
    if (!ps_grow(&out->links, &out->cap_links, out->n_links + 1, UINT32_MAX - 1,
                 sizeof *out->links)) {
        return false;
    }
    out->links[out->n_links++] =
        (ps_comm_link){.op = comm_cell_text(s, L_OP),
                       .group = comm_cell_text(s, L_GROUP),
                       .step = comm_cell_text(s, L_STEP),
                       .transport = comm_cell_text(s, L_TRANSPORT),
                       .op_name = comm_cell_text(s, L_OP_NAME),
                       .is_p2p = is_comm_cell_text(s, L_TYPE, "p2p"),
                       .source = comm_cell_whole(s, L_SOURCE, -1),
                       .destination = comm_cell_whole(s, L_DESTINATION, -1),
                       .size = number_comm_cell(s, L_SIZE),
                       .time = number_comm_cell(s, L_TIME),
                       .bandwidth = number_comm_cell(s, L_BANDWIDTH)};
    return !s->failed;
}

/* --- tables --------------------------------------------------------------------------------------------------- */

/* Column 0 is the operator, column 2 the step in all of them. */
static bool take_rows(source *s, int64_t step_id, bool (*take)(source *)) {
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "step%lld", (long long)step_id);
    for (s->row = 0; s->row < s->table->n_rows; s->row++) {
        bool is_total =
            is_comm_cell_text(s, 0, "Total Op Info"); /* of communication.json: sums of the rest */
        bool is_wanted = !is_total && (step_id < 0 || is_comm_cell_text(s, 2, wanted) ||
                                       is_comm_cell_text(s, 2, wanted + 4));
        if (is_wanted && !take(s)) {
            return false;
        }
    }
    return true;
}

static const ps_table *side_table(const ps_trace *trace, const char *in_db, const char *in_text) {
    const ps_table *t = ps_trace_side_table(trace, in_db);
    return t != NULL ? t : ps_trace_side_table(trace, in_text);
}

ps_code ps_comm_tables_read(const ps_trace *trace, uint32_t which, int64_t step_id,
                            ps_comm_tables *out, ps_err *err) {
    static const struct {
        uint32_t bit;
        const char *in_db, *in_text;
        const char *const *columns;
        size_t n;
        bool (*take)(source *);
    } TABLES[] = {
        {PS_COMM_TIMES, "CommAnalyzerTime", "communication", TIME_COLUMNS,
         sizeof TIME_COLUMNS / sizeof *TIME_COLUMNS, take_comm_cell_time},
        {PS_COMM_BANDWIDTHS, "CommAnalyzerBandwidth", "communication_bandwidth", BANDWIDTH_COLUMNS,
         sizeof BANDWIDTH_COLUMNS / sizeof *BANDWIDTH_COLUMNS, take_bandwidth},
        {PS_COMM_LINKS, "CommAnalyzerMatrix", "communication_matrix", LINK_COLUMNS,
         sizeof LINK_COLUMNS / sizeof *LINK_COLUMNS, take_link},
    };
    *out = (ps_comm_tables){0};
    bool ok = ps_strpool_init(&out->strings);
    for (size_t i = 0; ok && i < sizeof TABLES / sizeof *TABLES; i++) {
        source s = {.table = side_table(trace, TABLES[i].in_db, TABLES[i].in_text), .out = out};
        if ((which & TABLES[i].bit) == 0 || s.table == NULL) {
            continue;
        }
        out->has_times = out->has_times || TABLES[i].bit == PS_COMM_TIMES;
        out->has_bandwidths = out->has_bandwidths || TABLES[i].bit == PS_COMM_BANDWIDTHS;
        out->has_links = out->has_links || TABLES[i].bit == PS_COMM_LINKS;
        for (size_t c = 0; c < TABLES[i].n; c++) {
            s.columns[c] = find_column(s.table, TABLES[i].columns[c]);
        }
        ok = take_rows(&s, step_id, TABLES[i].take);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_comm_tables_fini(ps_comm_tables *t) {
    ps_free(t->times);
    ps_free(t->bandwidths);
    ps_free(t->links);
    ps_strpool_fini(&t->strings);
    *t = (ps_comm_tables){0};
}

static void comm_time_archive(ps_archive *a, void *time) {
    ps_comm_time *x = time;
    PS_ARCHIVE(a, x, op, group, step, is_p2p, start_us, elapsed, transit, wait, synchronization,
               idle);
}

static void comm_bandwidth_archive(ps_archive *a, void *bandwidth) {
    ps_comm_bandwidth *x = bandwidth;
    PS_ARCHIVE(a, x, op, group, step, transport, size, time, bandwidth, large_ratio, package_size,
               total_time, count);
}

static void comm_link_archive(ps_archive *a, void *link) {
    ps_comm_link *x = link;
    PS_ARCHIVE(a, x, op, group, step, transport, op_name, is_p2p, source, destination, size, time,
               bandwidth);
}

void ps_comm_tables_archive(ps_archive *a, void *tables) {
    ps_comm_tables *x = tables;
    ps_strpool *before = ps_archive_use_pool(a, &x->strings);
    PS_ARCHIVE_ARRAY(a, x, times, n_times, comm_time_archive);
    PS_ARCHIVE_ARRAY(a, x, bandwidths, n_bandwidths, comm_bandwidth_archive);
    PS_ARCHIVE_ARRAY(a, x, links, n_links, comm_link_archive);
    PS_ARCHIVE(a, x, has_times, has_bandwidths, has_links);
    (void)ps_archive_use_pool(a, before);
}
