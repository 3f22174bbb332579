/* Rows as columns of Apache Arrow (https://arrow.apache.org/docs/format/Columnar.html), which pandas, polars and DuckDB take without copying: as a
 * file (the IPC file format), or in memory through the C data interface (arrow_stream.h). Columns are int64, double or large_utf8, each nullable, named
 * as in files; the unit of a column is in the metadata of its field ("unit"). */
#ifndef PS_WRITE_ARROW_H
#define PS_WRITE_ARROW_H

#include <stddef.h>

#include "base/err.h"
#include "model/table.h"

typedef struct ps_arrow ps_arrow;

/* NULL when memory is out. The caller frees it with ps_arrow_free(). */
ps_arrow *ps_arrow_new(void);
void ps_arrow_free(ps_arrow *a); /* NULL is fine */

/* Keeps rows [first, end) of the table, whose columns have the same names in every call, but perhaps other types: a column has the narrowest type that
 * holds all its values; of numbers and texts that is text. One without a value has the type it has in the first call. */
PS_MUST_USE ps_code ps_arrow_add(ps_arrow *a, const ps_table *t, size_t first, size_t end,
                                 ps_err *err);
/* Gives column `i` another name; after the first ps_arrow_add(). */
PS_MUST_USE ps_code ps_arrow_rename(ps_arrow *a, size_t i, const char *name, ps_err *err);
/* What stands in the metadata of the schema, under a key; a later one takes its place. */
PS_MUST_USE ps_code ps_arrow_note(ps_arrow *a, const char *key, const char *text, ps_err *err);
size_t ps_arrow_n_rows(const ps_arrow *a);

/* Writes the file, piece by piece in order. */
typedef ps_code ps_arrow_put(void *context, const void *bytes, size_t n, ps_err *err);
PS_MUST_USE ps_code ps_arrow_write(const ps_arrow *a, ps_arrow_put *put, void *context,
                                   ps_err *err);

#endif
