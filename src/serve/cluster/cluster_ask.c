#include "serve/cluster/cluster_ask.h"

#include "base/alloc.h"
#include "run/run_memory.h"

/* --- options ----------------------------------------------------------------------------------------------------- */

/* An absent parameter leaves what ps_analysis_opts_init() said. */
static bool ask_option(const ps_request *q, ps_reply *r, const ps_analysis_option *o,
                       ps_analysis_opts *out) {
    char name[PS_OPTION_PARAM];
    ps_err err = PS_ERR_INIT;
    ps_analysis_option_param(o, name);
    const char *text = ps_param_text(q, name);
    bool ok = text == NULL || ps_analysis_option_set(o, text, out, &err) == PS_OK;
    if (!ok) {
        ps_reply_fail(r, 400, "%s", err.msg);
    }
    return ok;
}

bool ps_ask_analysis(const ps_request *q, ps_reply *r, uint32_t of, size_t *cluster,
                     ps_analysis_opts *out) {
    int64_t number = 0;
    bool is_named = ps_param_text(q, "cluster") != NULL;
    bool ok =
        ps_ask_int(q, r, "cluster", 0, INT32_MAX, is_named ? 0 : ps_store_first(q->store), &number);
    *cluster = (size_t)number;
    ps_analysis_opts_init(out);
    out->watch = q->watch;
    for (int id = PS_NO_ANALYSIS_OPTION + 1; ok && id < PS_ANALYSIS_OPTIONS_END; id++) {
        const ps_analysis_option *o = ps_analysis_option_of((ps_analysis_option_id)id);
        if (o->name != NULL && (o->of & of) != 0) {
            ok = ask_option(q, r, o, out);
        }
    }
    return ok;
}

/* --- results ------------------------------------------------------------------------------------------------------- */

ps_code ps_cluster_get(const ps_request *q, size_t cluster, ps_buf *key, ps_make_fn *make,
                       void *context, void **out, ps_err *err) {
    ps_err mine = PS_ERR_INIT;
    err = err != NULL ? err : &mine;
    *out = NULL;
    ps_code code = ps_store_is_open(q->store, cluster)
                       ? PS_OK
                       : ps_fail(err, PS_NOT_FOUND, "cluster: there is no cluster %zu", cluster);
    if (code == PS_OK && !ps_buf_ok(key)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code = ps_cache_get(q->cache, ps_buf_str(key), make, context, q->watch, out, err);
    }
    ps_buf_fini(key);
    return code;
}

ps_code ps_cluster_say_empty(ps_err *err) {
    return ps_fail_said(err, PS_NOTHING, "No profile was found under this path.",
                        "该路径下未找到采集数据。");
}

/* --- runs ------------------------------------------------------------------------------------------------------------ */

static size_t largest_rank(const ps_cluster *cluster) {
    int64_t *bytes = ps_ranks_bytes(cluster, PS_NEED_SLICES);
    int64_t most = 0;
    for (size_t i = 0; bytes != NULL && i < cluster->n_ranks; i++) {
        most = bytes[i] > most ? bytes[i] : most;
    }
    ps_free(bytes);
    return (size_t)most;
}

void ps_cluster_run_begin(ps_cluster_run *run, const ps_request *q,
                          const ps_analysis_opts *analysis, size_t cluster, size_t baseline) {
    size_t max = ps_store_max_bytes(q->store);
    size_t own = largest_rank(ps_store_cluster(q->store, cluster));
    size_t other = baseline != SIZE_MAX ? largest_rank(ps_store_cluster(q->store, baseline)) : 0;
    size_t most = own > other ? own : other;
    *run = (ps_cluster_run){.opts = {.export_type = PS_EXPORT_NOTHING,
                                     .memory_bytes = max < INT64_MAX ? (int64_t)max : INT64_MAX,
                                     .analysis = *analysis},
                            .store = q->store,
                            .held_bytes = most < max ? most : max};
    ps_store_hold(run->store, run->held_bytes);
}

void ps_cluster_run_end(ps_cluster_run *run) {
    ps_store_unhold(run->store, run->held_bytes);
    run->held_bytes = 0;
}

size_t ps_result_bytes(const ps_result *result) {
    size_t bytes = 0;
    for (size_t i = 0; i < result->n_tables; i++) {
        bytes += ps_table_bytes(result->tables[i]);
    }
    return bytes;
}
