/* Queries in SQL over the ranks of a cluster that is served (query/sql.h): ranks in memory are not read again, others from their files, those
 * that a query excludes not at all. One query runs at a time; its rows are kept in the cache under its text and options, so that a page
 * may sort and leaf through them; not where a rank could not be read, which may be there the next time. */
#ifndef PS_SERVE_QUERIES_H
#define PS_SERVE_QUERIES_H

#include "analyze/core/analysis.h"
#include "base/arena.h"
#include "base/err.h"
#include "model/table.h"
#include "serve/cluster/cluster_ask.h"

enum {
    PS_QUERY_NOTES = 16,
    PS_QUERY_TIMEOUT_S = 60, /* where a request does not say */
    PS_QUERY_MOST_TIMEOUT_S = 600,
    PS_QUERY_MOST_ROWS = 100000 /* that are kept */
};
#define PS_QUERY_MOST_BYTES ((int64_t)512 << 20) /* of sorting, grouping, texts and rows */

typedef struct ps_query_ask {
    size_t cluster;
    const char *sql; /* borrowed from whoever asks, as texts of the options */
    int64_t timeout_s;
    ps_analysis_opts opts;
} ps_query_ask;

typedef struct ps_query_rows {
    ps_table *table;                   /* the first PS_QUERY_MOST_ROWS of them */
    size_t n_rows;                     /* all */
    int64_t elapsed_ns;                /* with all that was read for it */
    const char *notes[PS_QUERY_NOTES]; /* what could not be read; in `arena` */
    size_t n_notes;
    ps_arena arena;
} ps_query_rows;

/* Release with ps_cache_release(). As ps_sql_run(), and PS_NOT_FOUND: no such cluster; PS_BUSY: also when another query does not end. */
PS_MUST_USE ps_code ps_query_get(const ps_request *q, const ps_query_ask *ask,
                                 const ps_query_rows **out, ps_err *err);

#endif
