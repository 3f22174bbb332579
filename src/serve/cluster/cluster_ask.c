#include "serve/cluster/cluster_ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schedule/schedule.h"

/* --- options ----------------------------------------------------------------------------------------------------- */

static bool ask_real(const ps_request *q, ps_reply *r, const char *name, double most, double *out) {
    const char *text = ps_param_text(q, name);
    char *end = NULL;
    if (text == NULL) {
        return true;
    }
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out > 0 && *out <= most)) {
        ps_reply_fail(r, 400, "%s: a number above 0 and up to %g", name, most);
        return false;
    }
    return true;
}

static bool ask_schedule(const ps_request *q, ps_reply *r, const char *name, const char **out) {
    *out = ps_param_text(q, name);
    bool is_one = *out == NULL || ps_schedule_find(*out) != NULL;
    if (!is_one) {
        ps_reply_fail(r, 400, "%s: there is no schedule '%.64s'", name, *out);
    }
    return is_one;
}

static bool ask_rank_order(const ps_request *q, ps_reply *r, const char *name, ps_rank_order *out) {
    const char *order = ps_param_text(q, name);
    if (order == NULL) {
        return true;
    }
    out->is_given = ps_layout_find(order, &out->layout);
    if (!out->is_given) {
        ps_reply_fail(r, 400, "no order of ranks is called '%.40s'; those known begin with %s",
                      order, ps_layout_names[0]);
    }
    return out->is_given;
}

/* 1: all clocks are brought together; 0: none; absent: those that were measured. */
static bool ask_clocks(const ps_request *q, ps_reply *r, const char *name, ps_clock_use *out) {
    bool is_given = ps_param_text(q, name) != NULL;
    bool align = false;
    bool ok = ps_ask_flag(q, r, name, &align);
    *out = align ? PS_CLOCKS_ALL : is_given ? PS_CLOCKS_RAW : PS_CLOCKS_MEASURED;
    return ok;
}

static bool ask_bytes(const ps_request *q, ps_reply *r, const char *name, int64_t most,
                      int64_t *out) {
    const char *text = ps_param_text(q, name);
    bool ok = text == NULL || (ps_parse_size(text, out) && *out <= most);
    if (!ok) {
        ps_reply_fail(r, 400, "'%s': bytes are wanted, such as 64GiB or 1.5GB", name);
    }
    return ok;
}

static bool ask_option(const ps_request *q, ps_reply *r, const ps_analysis_option *o, void *field) {
    char name[32] = "";
    for (size_t i = 0; o->name[i] != '\0' && i + 1 < sizeof name; i++) {
        name[i] = (char)(o->name[i] == '-' ? '_' : o->name[i]);
    }
    switch (o->kind) {
    case PS_ANALYSIS_FLAG:
        return ps_ask_flag(q, r, name, field);
    case PS_ANALYSIS_INT:
        return ps_param_text(q, name) == NULL ||
               ps_ask_int(q, r, name, o->least, o->most, 0, field);
    case PS_ANALYSIS_BYTES:
        return ask_bytes(q, r, name, o->most, field);
    case PS_ANALYSIS_REAL:
        return ask_real(q, r, name, (double)o->most, field);
    case PS_ANALYSIS_TEXT:
        *(const char **)field = ps_param_text(q, name);
        return true;
    case PS_ANALYSIS_SCHEDULE:
        return ask_schedule(q, r, name, field);
    case PS_ANALYSIS_ORDER:
        return ask_rank_order(q, r, name, field);
    case PS_ANALYSIS_CLOCKS:
        return ask_clocks(q, r, name, field);
    }
    return true;
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
            ok = ask_option(q, r, o, ps_analysis_option_field(o, out));
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
