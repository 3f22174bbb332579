/* What the steps of a served cluster would take with other ops, and which split of layers would be better: `pipescope
 * whatif` and `plan` for the page. Kept in the cache under the job and the question. */
#ifndef PS_SERVE_WHATIFS_H
#define PS_SERVE_WHATIFS_H

#include "serve/cluster/pipelines.h"
#include "serve/cluster/run_notes.h"

/* Release with ps_cache_release(). */
typedef struct ps_whatifs {
    ps_result result; /* the tables of analyze/whatif/whatif_tables.h */
    ps_run_notes notes;
    bool lacks_ranks; /* some could not be read */
} ps_whatifs;

/* The question lies in ask->opts (without, scale, with_timeline; split, most_layers). A job without timelines of its workers
 * is asked through its chart, which the cache shares with /api/chart. PS_NOT_FOUND: no such cluster; PS_USAGE: a question
 * that the job does not know; PS_NOTHING with a sentence that says what is missing. */
PS_MUST_USE ps_code ps_whatifs_get(const ps_request *q, const ps_pipelines_ask *ask,
                                   const ps_whatifs **out, ps_err *err);

#endif
