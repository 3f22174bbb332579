/* Queries over a capture that is in memory: queries CAPTURE
 *
 * Reads the capture with a first query, then asks each of the list three times and prints the shortest time, of the processor. Below them what
 * SQLite itself takes for count and sum by name: the statement over a table whose rows cost nothing. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "query/sql.h"
#include "run/cluster.h"

enum { RUNS = 3 };

/* Of the processor, so that what else the machine does counts less. */
static double now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void die(const ps_err *err) {
    char text[1024];
    ps_err_format(err, text, sizeof text);
    fprintf(stderr, "queries: %s\n", text);
    exit(1);
}

static ps_code count_rows(void *context, const ps_table *table, size_t first, size_t end,
                          ps_err *err) {
    (void)table;
    (void)first;
    (void)err;
    *(size_t *)context = end;
    return PS_OK;
}

static double ask(ps_sql *sql, const char *text, size_t *n_rows) {
    double least = 0;
    for (int i = 0; i < RUNS; i++) {
        ps_err err = PS_ERR_INIT;
        double start = now_ms();
        if (ps_sql_run(sql, text, "query", count_rows, n_rows, &err) != PS_OK) {
            die(&err);
        }
        double ms = now_ms() - start;
        least = i == 0 || ms < least ? ms : least;
    }
    return least;
}

/* --- what SQLite takes ----------------------------------------------------------------------------------------- */

enum { FLOOR_ROWS = 10 * 1000 * 1000, FLOOR_NAMES = 1000 };

typedef struct floor_cursor {
    sqlite3_vtab_cursor base;
    int64_t row;
} floor_cursor;

static char floor_names[FLOOR_NAMES][24];

static int connect_floor(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **message) {
    (void)aux;
    (void)argc;
    (void)argv;
    (void)message;
    *out = calloc(1, sizeof **out);
    return *out != NULL ? sqlite3_declare_vtab(db, "CREATE TABLE x(name TEXT, dur_ns INTEGER)")
                        : SQLITE_NOMEM;
}

static int disconnect_floor(sqlite3_vtab *table) {
    free(table);
    return SQLITE_OK;
}

/* In the order of names, as slices come. */
static int plan_floor(sqlite3_vtab *table, sqlite3_index_info *info) {
    (void)table;
    info->orderByConsumed = 1;
    return SQLITE_OK;
}

static int open_floor(sqlite3_vtab *table, sqlite3_vtab_cursor **out) {
    (void)table;
    floor_cursor *c = calloc(1, sizeof *c);
    *out = c != NULL ? &c->base : NULL;
    return c != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

static int close_floor(sqlite3_vtab_cursor *c) {
    free(c);
    return SQLITE_OK;
}

static int start_floor(sqlite3_vtab_cursor *c, int plan, const char *text, int argc,
                       sqlite3_value **argv) {
    (void)plan;
    (void)text;
    (void)argc;
    (void)argv;
    ((floor_cursor *)c)->row = 0;
    return SQLITE_OK;
}

static int step_floor(sqlite3_vtab_cursor *c) {
    ((floor_cursor *)c)->row++;
    return SQLITE_OK;
}

static int is_floor_over(sqlite3_vtab_cursor *c) {
    return ((floor_cursor *)c)->row >= FLOOR_ROWS;
}

static int put_floor_cell(sqlite3_vtab_cursor *c, sqlite3_context *to, int column) {
    int64_t row = ((floor_cursor *)c)->row;
    if (column == 0) {
        sqlite3_result_text(to, floor_names[row / (FLOOR_ROWS / FLOOR_NAMES)], 10, SQLITE_STATIC);
    } else {
        sqlite3_result_int64(to, row & 1023);
    }
    return SQLITE_OK;
}

static int put_floor_id(sqlite3_vtab_cursor *c, sqlite3_int64 *out) {
    *out = ((floor_cursor *)c)->row;
    return SQLITE_OK;
}

static double floor_ms(void) {
    static const sqlite3_module FLOOR = {.xConnect = connect_floor,
                                         .xBestIndex = plan_floor,
                                         .xDisconnect = disconnect_floor,
                                         .xOpen = open_floor,
                                         .xClose = close_floor,
                                         .xFilter = start_floor,
                                         .xNext = step_floor,
                                         .xEof = is_floor_over,
                                         .xColumn = put_floor_cell,
                                         .xRowid = put_floor_id};
    for (int i = 0; i < FLOOR_NAMES; i++) {
        (void)snprintf(floor_names[i], sizeof floor_names[i], "name%06d", i);
    }
    double least = 0;
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
        sqlite3_create_module(db, "x", &FLOOR, NULL) != SQLITE_OK) {
        exit(1);
    }
    for (int i = 0; i < RUNS; i++) {
        double start = now_ms();
        if (sqlite3_exec(db, "SELECT name, count(*), sum(dur_ns) FROM x GROUP BY name", NULL, NULL,
                         NULL) != SQLITE_OK) {
            exit(1);
        }
        double ms = now_ms() - start;
        least = i == 0 || ms < least ? ms : least;
    }
    (void)sqlite3_close(db);
    return least;
}

int main(int argc, char **argv) {
    static const char *const QUERIES[] = {
        "SELECT count(*) FROM slice",
        "SELECT name, count(*), sum(dur_ns) FROM slice GROUP BY name",
        "SELECT kind, count(*), sum(dur_ns) FROM slice GROUP BY kind",
        "SELECT count(*), sum(dur_ns) FROM slice WHERE name = 'MatMul' AND start_ns BETWEEN "
        "(SELECT start_ns + (end_ns - start_ns) / 2 FROM rank) AND "
        "(SELECT start_ns + (end_ns - start_ns) / 2 + 100000000 FROM rank)",
        "SELECT count(*) FROM slice WHERE end_ns > (SELECT end_ns - 1000000 FROM rank)",
        "SELECT count(*), max(dur_ns) FROM slice WHERE kind = 'communication'",
        "SELECT name, dur_ns FROM slice ORDER BY dur_ns DESC LIMIT 10",
    };
    ps_err err = PS_ERR_INIT;
    ps_cluster *cluster = ps_cluster_find(argc > 1 ? argv[1] : ".", &err);
    ps_sql_opts opts = {0};
    ps_analysis_opts_init(&opts.run.analysis);
    ps_sql *sql = cluster != NULL ? ps_sql_open(cluster, &opts, &err) : NULL;
    if (sql == NULL) {
        die(&err);
    }
    size_t n_rows = 0;
    double start = now_ms();
    if (ps_sql_run(sql, "SELECT slices, start_ns FROM rank", "query", count_rows, &n_rows, &err) !=
        PS_OK) {
        die(&err);
    }
    printf("%10.1f ms  reading\n", now_ms() - start);
    for (size_t i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
        double ms = ask(sql, QUERIES[i], &n_rows);
        printf("%10.1f ms  %zu rows: %s\n", ms, n_rows, QUERIES[i]);
    }
    printf("%10.1f ms  SQLite's own part of 10 million rows by name\n", floor_ms());
    ps_sql_close(sql);
    ps_cluster_free(cluster);
    return 0;
}
