/* What an output does not hold because something could not be read: ranks that failed, parts that a mode found no input for, folders
 * that could not be searched. A run makes the list once; every output that comes of it says it inside. */
#ifndef PS_MODEL_LACKS_H
#define PS_MODEL_LACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/diag.h"
#include "model/table.h"

/* Columns: rank (NULL: of no rank, or of one without a number), what ("rank 3", "baseline, rank 3", "the search"), mode (NULL: all of the
 * run), reason. NULL when memory is out. The caller frees it with ps_table_free(). */
ps_table *ps_lacks_new(const char *name);

/* Texts are copied, in one line. `rank` -1: none; `mode` may be NULL. */
void ps_lacks_add(ps_table *lacks, int64_t rank, const char *what, const char *mode,
                  const char *reason);
/* What could not be looked at while profiles were searched for: counted errors. `what` as above. */
void ps_lacks_add_search(ps_lang lang, ps_table *lacks, const ps_diag *diag, const char *what);
#define PS_LACKS_SEARCH(lang) PS_SAY(lang, "the search", "查找")
/* Those of one mode, with those of all, as a table of that name. */
ps_table *ps_lacks_of_mode(const ps_table *lacks, const char *mode, const char *name);

/* False for NULL, too: nothing is lacking. */
bool ps_lacks_any(const ps_table *lacks);

/* For people: "Not in it: rank 3: cannot be read", each between `before` and `after`; of many the first few and how many more there
 * are; so many lines. Nothing where nothing is lacking. */
size_t ps_lacks_n_lines(const ps_table *lacks);
void ps_lacks_say(ps_lang lang, const ps_table *lacks, const char *before, const char *after,
                  ps_buf *out);

#endif
