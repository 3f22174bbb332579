/* The tables that are made of one profile at a time: `kernel`, and the viewer's views of a rank under their own names. */
#ifndef PS_QUERY_PROFILE_TABLES_H
#define PS_QUERY_PROFILE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/views/view.h"
#include "base/err.h"
#include "model/table.h"
#include "query/parts.h"

/* What a view is asked beside the profile. */
typedef struct ps_profile_ask {
    const char *values[4];  /* of its parameters in their order; NULL: the fallback */
    int64_t from_ns, to_ns; /* since 1970; INT64_MIN and INT64_MAX: everything */
    ps_lang lang;           /* of sentences */
} ps_profile_ask;

#define PS_PROFILE_ASK_ALL ((ps_profile_ask){.from_ns = INT64_MIN, .to_ns = INT64_MAX})

/* The table of a view, or (NULL) `kernel`, of a part in memory that was read with PS_VIEW_NEEDS and links. Kept with the part as long as
 * that is in memory. PS_NOTHING when the profile has none of it, PS_USAGE for a parameter, PS_NOMEM. */
PS_MUST_USE ps_code ps_profile_table(ps_sql_part *part, const ps_view *view,
                                     const ps_profile_ask *ask, const ps_table **out, ps_err *err);

/* Whether a column of a view counts from the trace's origin. */
bool ps_is_view_moment(const ps_column *column);

#endif
