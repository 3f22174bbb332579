/* A set of slices as a table with rows on demand. */
#ifndef PS_SERVE_SLICE_TABLE_H
#define PS_SERVE_SLICE_TABLE_H

#include "model/table.h"
#include "serve/select/slice_box.h"

/* Columns name, start, duration, lane, row, kind, category, then (when `with_args`) the arguments that many of the slices have,
 * then slice. Neither `set` nor `l` are kept longer than the table lives; columns and names are in the reply's arena. NULL:
 * PS_NOMEM. The caller frees it with ps_table_free(). */
ps_table *ps_slice_table_new(ps_reply *r, const char *name, const ps_loaded *l,
                             const ps_slice_set *set, bool with_args, ps_err *err);

/* The slices of a box, those of one name or (NULL) all; kept in the cache. Release with ps_cache_release(). */
PS_MUST_USE ps_code ps_slice_set_of_box(const ps_request *q, const ps_loaded *l,
                                        const ps_slice_box *box, const char *only_name,
                                        ps_slice_set **out, ps_err *err);

/* The reply: all slices of a box with their arguments, or (a name) those called so, without. */
void ps_put_slices_of_box(const ps_request *q, ps_reply *r, const ps_loaded *l,
                          const ps_slice_box *box, const char *only_name);

#endif
