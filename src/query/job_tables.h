/* The tables of a query that the whole job makes: communication of all ranks, ops and bubbles of its chart, what modes of `cluster` make,
 * and the viewer's views of all ranks. Each is made when a query first names it, over all ranks, without writing anything. */
#ifndef PS_QUERY_JOB_TABLES_H
#define PS_QUERY_JOB_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/views/job_view.h"
#include "base/err.h"
#include "model/table.h"
#include "query/context.h"
#include "query/schema.h"

typedef struct ps_mode_table {
    const char *name, *mode, *table; /* name: in SQL; table: of the mode */
    const char *text, *example;
} ps_mode_table;

/* mode_tables.def, ended by one without a mode. */
extern const ps_mode_table ps_mode_tables[];

/* NULL when memory is out. */
struct ps_job_tables *ps_job_tables_new(void);
void ps_job_tables_free(struct ps_job_tables *job); /* NULL is fine */

/* Borrowed until the query ends. PS_NOTHING with a sentence that says what the capture lacks. */
PS_MUST_USE ps_code ps_job_table(ps_sql_context *c, ps_sql_table_id id, const ps_table **out,
                                 ps_err *err);
PS_MUST_USE ps_code ps_job_mode_table(ps_sql_context *c, const ps_mode_table *which,
                                      const ps_table **out, ps_err *err);
/* Of all steps and stages. */
PS_MUST_USE ps_code ps_job_view_table(ps_sql_context *c, const ps_job_view *view,
                                      const ps_table **out, ps_err *err);

/* The runs there were, for those who tell what their ranks did. */
size_t ps_job_runs(const struct ps_job_tables *job);
const ps_run *ps_job_run(const struct ps_job_tables *job, size_t i);

/* Another statement begins: it asks no run so far. */
void ps_job_begin(struct ps_job_tables *job);
/* Whether the statement that runs, or the last one, asked for a table of this run. */
bool ps_job_was_asked(const struct ps_job_tables *job, size_t i);

#endif
