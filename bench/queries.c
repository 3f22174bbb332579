/* Queries over a capture that is in memory: queries CAPTURE
 *
 * Reads the capture with a first query, then asks each of the list three times and prints the shortest time, of the processor. */
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
    ps_sql_close(sql);
    ps_cluster_free(cluster);
    return 0;
}
