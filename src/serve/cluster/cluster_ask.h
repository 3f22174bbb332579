/* What requests about a cluster have in common: options of analyses as parameters, and results that are made once and kept in
 * the cache under all that they depend on. */
#ifndef PS_SERVE_CLUSTER_ASK_H
#define PS_SERVE_CLUSTER_ASK_H

#include "analyze/core/analysis.h"
#include "base/buf.h"
#include "run/run.h"
#include "serve/http/route.h"
#include "serve/rank/cache.h"

/* Parameter `cluster`, and the options that these analyses (PS_OF_*) listen to: each under its name in analysis_options.def, with
 * underscores. Texts are borrowed from the request. False with the reply filled. */
bool ps_ask_analysis(const ps_request *q, ps_reply *r, uint32_t of, size_t *cluster,
                     ps_analysis_opts *out);

typedef ps_code ps_make_fn(void *context, ps_cached *out, ps_err *err);

/* The value of that key, made where the cache has none; release it with ps_cache_release(). Ends the key. PS_NOT_FOUND: no such
 * cluster. */
PS_MUST_USE ps_code ps_cluster_get(const ps_request *q, size_t cluster, ps_buf *key,
                                   ps_make_fn *make, void *context, void **out, ps_err *err);

/* Of a cluster without ranks: PS_NOTHING. */
ps_code ps_cluster_say_empty(ps_err *err);

/* A run of analyses over files of clusters, beside the ranks that are in memory: within what the server may take, of which the largest
 * rank is set aside for as long as it runs. `baseline`: a further cluster that it reads, SIZE_MAX none. End it in any case. */
typedef struct ps_cluster_run {
    ps_run_opts opts; /* writes nothing */
    ps_store *store;
    size_t held_bytes;
} ps_cluster_run;
void ps_cluster_run_begin(ps_cluster_run *run, const ps_request *q,
                          const ps_analysis_opts *analysis, size_t cluster, size_t baseline);
void ps_cluster_run_end(ps_cluster_run *run);

/* What the tables of a result hold. */
size_t ps_result_bytes(const ps_result *result);

#endif
