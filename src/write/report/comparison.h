/* Two captures side by side (tables of the analysis `compare`), for people and for programs. */
#ifndef PS_WRITE_COMPARISON_H
#define PS_WRITE_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/lang.h"
#include "model/table.h"
#include "write/out/text_style.h"

/* What of a capture is compared. */
typedef struct ps_comparison_part {
    const char *ranks; /* as the user listed them; NULL: all */
    bool has_step;     /* else all */
    int64_t step;
} ps_comparison_part;

typedef struct ps_comparison {
    const char *new_name, *base_name; /* as the user gave them */
    ps_table *const *tables;          /* rows by lost time, largest first; borrowed */
    size_t n_tables;
    const bool *
        is_hidden; /* [n_tables]: not written, though the sentence on the whole comes of it; NULL: none is */
    const ps_table *lacks; /* what is not in it because it failed (model/lacks.h), or NULL */
    ps_lang lang;
    ps_comparison_part part[2]; /* of new and base */
    size_t n_ranks[2];          /* of new and base, as far as they were compared; 0: not told */
} ps_comparison;

/* A sentence on the whole, the parts of a step, then of each table the `top` rows that lost most and a few that gained;
 * a line says how many more there are. Appends; PS_NOMEM only. */
PS_MUST_USE ps_code ps_write_comparison_text(const ps_comparison *c, size_t top,
                                             const ps_text_style *style, ps_buf *out, ps_err *err);

/* {"format":"pipescope-compare","version":1,"new":..,"base":..,"tables":{"OverallCompare":[..],..}}: every row. Of a part of a
 * capture also "new_part":{"rank_list":"0,1","step_id":3}, of base likewise.
 * Appends; PS_NOMEM only. */
PS_MUST_USE ps_code ps_write_comparison_json(const ps_comparison *c, ps_buf *out, ps_err *err);

#endif
