/* Which communicator of one capture is which of the other: formats name them differently. */
#ifndef PS_ANALYZE_COMPARE_GROUPS_H
#define PS_ANALYZE_COMPARE_GROUPS_H

#include <stdbool.h>

#include "analyze/core/analysis.h"

/* Of each name in the table CaptureGroups of the baseline the one that the other capture has for it: of the same purpose and sets of ranks where both
 * know them, else itself where it is there, else of the same purpose. */
typedef struct ps_compare_groups {
    const ps_table *base;
    const char *
        *here;        /* [rows of base] borrowed; the name itself where the other has none for it */
    bool has_renamed; /* some have two names */
    bool has_none;    /* both have communicators, and none is in both */
} ps_compare_groups;

/* Of results of ps_capture_tables, which must outlive it. PS_NOMEM only; end with ps_compare_groups_fini() in any case. */
PS_MUST_USE ps_code ps_compare_groups_init(ps_compare_groups *g, const ps_result *now,
                                           const ps_result *base, ps_err *err);
void ps_compare_groups_fini(ps_compare_groups *g);
/* What the name of a communicator of the baseline is called in the other capture. */
const char *ps_compare_groups_here(const ps_compare_groups *g, const char *base_name);

#endif
