/* Queries over the profiles of a cluster: one SELECT at a time, answered by virtual tables (schema.h) that read the columns of traces,
 * the chart and tables of modes in place. Nothing is written, no file is opened but the profiles; time and memory are bounded. */
#ifndef PS_QUERY_SQL_H
#define PS_QUERY_SQL_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "query/lender.h"
#include "query/result.h"
#include "run/cluster.h"
#include "run/run.h"

typedef struct ps_sql ps_sql;

typedef struct ps_sql_opts {
    ps_run_opts run;   /* of modes and the chart: writes nothing */
    int64_t timeout_s; /* of a query with all that is read for it; 0: none */
    int64_t
        max_bytes; /* what SQLite may hold (sorting, grouping, texts), and the rows that are kept for a table; 0: none */
    const char *timeout_name, *memory_name; /* what sets them, for messages; NULL: nothing */
    const ps_watch *asker; /* when it is stopped, the statement that runs is ended; or NULL */
    ps_sql_lender lender;  /* of traces in memory; `lend` NULL: there are none */
} ps_sql_opts;

/* NULL on failure. One with a limit of memory at a time in a process, since that is one of the whole SQLite library; without one any number,
 * each asked by one thread at a time. The cluster must outlive it. The caller frees it with ps_sql_close(). */
ps_sql *ps_sql_open(const ps_cluster *cluster, const ps_sql_opts *opts, ps_err *err);
void ps_sql_close(ps_sql *s); /* NULL is fine */

/* Runs the one statement in `text`, which is called `name` in messages. PS_USAGE with line and byte: no SQL, unknown names, what is not
 * allowed here. PS_RANGE: too large or too deep; PS_BUSY: the time was over; PS_NOMEM: its memory or ours. PS_NOTHING: a table of which the
 * capture has nothing. Or what `take` says. */
PS_MUST_USE ps_code ps_sql_run(ps_sql *s, const char *text, const char *name, ps_sql_take *take,
                               void *context, ps_err *err);

/* Ends the statement that runs, with PS_BUSY; the next one runs as usual. From another thread, or a handler of a signal. */
void ps_sql_stop(ps_sql *s);

/* --- what the queries so far read -------------------------------------------------------------------------------- */

/* The reason why a profile could not be read; PS_OK: it could, or nobody wanted to. */
const ps_err *ps_sql_unread(const ps_sql *s, size_t rank);
size_t ps_sql_n_read(const ps_sql *s); /* profiles that were */
/* What the rows of the last statement do not hold because it could not be read, or looked at (model/lacks.h). The caller frees it; NULL when
 * memory is out. */
ps_table *ps_sql_lacks(ps_sql *s, ps_err *err);
const ps_diag *ps_sql_diag(const ps_sql *s);
size_t ps_sql_n_runs(const ps_sql *s); /* of modes; one may be NULL */
const ps_run *ps_sql_run_at(const ps_sql *s, size_t i);

#endif
