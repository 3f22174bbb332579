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

/* What the tables of a result hold. */
size_t ps_result_bytes(const ps_result *result);

#endif
