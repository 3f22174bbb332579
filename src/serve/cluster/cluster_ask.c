#include "serve/cluster/cluster_ask.h"

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
    bool ok = ps_ask_int(q, r, "cluster", 0, INT32_MAX, 0, &number);
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
    ps_code code = cluster < ps_store_n_clusters(q->store)
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

size_t ps_result_bytes(const ps_result *result) {
    size_t bytes = 0;
    for (size_t i = 0; i < result->n_tables; i++) {
        bytes += ps_table_bytes(result->tables[i]);
    }
    return bytes;
}
