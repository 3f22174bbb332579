/* Analyses of `pipescope modes` over a cluster that is served: run when first asked for, over the files of its ranks, without
 * writing anything; kept in the cache under their names and options. */
#ifndef PS_SERVE_MODES_H
#define PS_SERVE_MODES_H

#include "analyze/core/analysis.h"
#include "base/err.h"
#include "run/run.h"
#include "serve/cluster/cluster_ask.h"
#include "serve/cluster/run_notes.h"

#define PS_MODES_MOST 8 /* analyses of one run */

typedef struct ps_modes_ask {
    size_t cluster;
    const ps_analysis *analyses[PS_MODES_MOST];
    size_t n_analyses;
    size_t
        n_makers; /* the first so many only give what the last one takes: what they miss is no news */
    const char
        *rank_list;  /* which ranks (rank_selection.h), NULL: all; borrowed, as all texts here */
    size_t baseline; /* of analyses that compare: the cluster they compare with; SIZE_MAX: none */
    const char *baseline_ranks; /* of it; NULL: all */
    int64_t baseline_step;      /* negative: all */
    ps_analysis_opts opts;      /* texts are borrowed from whoever asks */
} ps_modes_ask;

typedef struct ps_modes {
    ps_run *run;
    ps_run_notes notes;
} ps_modes;

/* Release with ps_cache_release(). PS_NOT_FOUND: no such cluster; PS_NOTHING with a sentence that says what is missing:
 * none of the analyses made anything. */
PS_MUST_USE ps_code ps_modes_get(const ps_request *q, const ps_modes_ask *ask, const ps_modes **out,
                                 ps_err *err);

/* The table of that name that an analysis of the run made for the cluster, or NULL. */
const ps_table *ps_modes_table(const ps_modes *m, const char *name);

/* The analyses of a comparison of the ask's cluster, as `pipescope compare` runs them; its ranks must be known. */
void ps_modes_ask_compare(const ps_request *q, ps_modes_ask *ask);
/* The analyses of the report of the ask's cluster, as `pipescope report` runs them. */
void ps_modes_ask_report(const ps_request *q, ps_modes_ask *ask);

#endif
