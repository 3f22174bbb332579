/* GET /api/views: what views there are; GET /api/view: one of them. */
#include <string.h>

#include "analyze/core/analysis_options.h"
#include "analyze/views/view.h"
#include "serve/cluster/cluster_views.h"
#include "serve/cluster/modes.h"
#include "serve/http/route.h"
#include "serve/rank/loaded.h"

/* --- the list ------------------------------------------------------------------------------------------------------------ */

/* Open: its parameters follow. */
static void begin_view(ps_json *j, bool first, const char *name, const char *title, ps_view_tab tab,
                       const char *of) {
    if (!first) {
        ps_json_line(j, 0);
    }
    ps_json_object(j);
    ps_json_key_str(j, "name", name);
    ps_json_key_str(j, "title", title);
    ps_json_key_str(j, "tab", ps_view_tab_name(tab));
    ps_json_key_str(j, "of", of);
    ps_json_key_array(j, "params");
}

static void end_view(ps_json *j) {
    ps_json_close(j);
    ps_json_close(j);
}

static void answer_views(const ps_request *q, ps_reply *r) {
    (void)q;
    ps_json j = ps_json_to(&r->body);
    bool first = true;
    ps_json_object(&j);
    ps_json_key_array(&j, "views");
    for (const ps_view *const *v = ps_views(); *v != NULL; v++) {
        begin_view(&j, first, (*v)->name, (*v)->title, (*v)->tab, "rank");
        for (size_t i = 0; i < (*v)->n_params; i++) {
            ps_json_str(&j, (*v)->params[i].name);
        }
        end_view(&j);
        first = false;
    }
    for (const ps_job_view *v = ps_job_views; v->name != NULL; v++) {
        begin_view(&j, first, v->name, v->title, v->tab, "cluster");
        for (size_t i = 0; i < 2 && v->params[i] != NULL; i++) {
            ps_json_str(&j, v->params[i]);
        }
        end_view(&j);
        first = false;
    }
    ps_json_close(&j);
    ps_json_close(&j);
}

const ps_route ps_route_views = {.path = "/api/views", .method = "GET", .answer = answer_views};

/* --- of one rank ----------------------------------------------------------------------------------------------------------- */

/* Small tables are kept; those whose rows borrow from the rank are made anew, so that nothing holds a rank in memory. */
typedef struct making {
    const ps_view *view;
    const ps_view_input *in;
} making;

static void free_table(void *table) {
    ps_table_free(table);
}

static ps_code make_view_reply(void *context, ps_cached *out, ps_err *err) {
    const making *m = context;
    ps_table *t = m->view->make(m->in, err);
    if (t == NULL) {
        return err->code != PS_OK ? err->code : ps_fail_nomem(err);
    }
    *out = (ps_cached){.value = t,
                       .bytes = sizeof *t + t->n_rows * t->n_columns * sizeof *t->cells +
                                t->arena.size_bytes,
                       .free_value = free_table};
    return PS_OK;
}

static void put_view_reply_key(const ps_request *q, const ps_view_input *in, const ps_view *view,
                               ps_buf *out) {
    const char *rank = ps_param_text(q, "rank");
    ps_buf_addf(out, "view %s %s %lld %lld", view->name, rank, (long long)in->from_ns,
                (long long)in->to_ns);
    if ((view->uses & PS_VIEW_SAYS) != 0) {
        ps_buf_addf(out, " %s", ps_analysis_langs[in->lang]);
    }
    for (size_t i = 0; i < view->n_params; i++) {
        const char *value = ps_param_text(q, view->params[i].name);
        ps_buf_add_char(out, ' ');
        if (value != NULL) {
            ps_buf_add_json_str(out, value, strlen(value));
        }
    }
}

static ps_code put_kept(const ps_request *q, ps_reply *r, const ps_view *view,
                        const ps_view_input *in, ps_err *err) {
    ps_buf key = {0};
    put_view_reply_key(q, in, view, &key);
    making m = {view, in};
    void *table = NULL;
    ps_code code = ps_buf_ok(&key) ? ps_cache_get(q->cache, ps_buf_str(&key), make_view_reply, &m,
                                                  q->watch, &table, err)
                                   : ps_fail_nomem(err);
    ps_buf_fini(&key);
    if (code == PS_OK) {
        ps_put_table_with(q, r, table, &(ps_table_extra){.from_origin = true});
        ps_cache_release(q->cache, table);
    }
    return code;
}

static ps_code put_made(const ps_request *q, ps_reply *r, const ps_view *view,
                        const ps_view_input *in, ps_err *err) {
    ps_table *table = view->make(in, err);
    if (table == NULL) {
        return err->code != PS_OK ? err->code : ps_fail_nomem(err);
    }
    ps_put_table_with(q, r, table, &(ps_table_extra){.from_origin = true});
    ps_table_free(table);
    return PS_OK;
}

#define MAX_VALUES 8

static ps_code put_rank_view(const ps_request *q, ps_reply *r, const ps_view *view,
                             const ps_loaded *l, ps_view_input *in, ps_err *err) {
    ps_view_value values[MAX_VALUES];
    in->trace = ps_loaded_layer(l, PS_LAYER_PROFILE)->trace;
    in->values = values;
    for (size_t i = 0; i < view->n_params && in->n_values < MAX_VALUES; i++) {
        const char *value = ps_param_text(q, view->params[i].name);
        if (value != NULL) {
            values[in->n_values++] = (ps_view_value){view->params[i].name, value};
        }
    }
    if ((view->uses & (PS_VIEW_LINKS | PS_VIEW_OVERLAPS)) != 0 &&
        (in->links = ps_loaded_links(l, err)) == NULL) {
        return PS_NOMEM;
    }
    if ((view->uses & PS_VIEW_OVERLAPS) != 0 &&
        (in->overlaps = ps_loaded_overlaps(l, err)) == NULL) {
        return PS_NOMEM;
    }
    return (view->uses & PS_VIEW_ROWS) != 0 ? put_made(q, r, view, in, err)
                                            : put_kept(q, r, view, in, err);
}

static void answer_rank_view(const ps_request *q, ps_reply *r, const ps_view *view) {
    ps_view_input in = {.lang = ps_param_lang(q)};
    ps_loaded *l = NULL;
    if (!ps_ask_span(q, r, &in.from_ns, &in.to_ns) || !ps_ask_rank(q, r, &l)) {
        return;
    }
    bool whole = (view->uses & PS_VIEW_WHOLE) != 0;
    in.from_ns = !whole && ps_param_text(q, "from") != NULL ? in.from_ns : INT64_MIN;
    in.to_ns = !whole && ps_param_text(q, "to") != NULL ? in.to_ns : INT64_MAX;
    ps_err err = PS_ERR_INIT;
    if (put_rank_view(q, r, view, l, &in, &err) != PS_OK) {
        ps_reply_err(r, &err);
    }
    ps_loaded_release(l);
}

/* --- of a cluster ------------------------------------------------------------------------------------------------------------ */

/* Why a table is not there: what its analysis said. */
static void say_missing(ps_reply *r, const ps_modes *m, const char *table) {
    for (size_t a = 0; a < m->run->n_analyses; a++) {
        if (m->run->errors[a].code != PS_OK) {
            ps_reply_fail(r, 409, "%.400s", ps_err_text(r->lang, &m->run->errors[a]));
            return;
        }
    }
    for (size_t k = 0; k < m->run->n_ranks; k++) {
        if (m->run->ranks[k].err.msg[0] != '\0') {
            ps_reply_fail(r, 409, "%.400s", ps_err_text(r->lang, &m->run->ranks[k].err));
            return;
        }
    }
    ps_reply_say(r, 409, "the profiles have nothing for the table %s", "采集数据中没有表 %s 的内容",
                 table);
}

static void put_cluster_view(const ps_request *q, ps_reply *r, const ps_job_view *view,
                             size_t cluster, int64_t stage, const ps_modes *m) {
    ps_table_extra extra = {.notes = m->notes.texts, .n_notes = m->notes.n};
    if (view->table != NULL) {
        const ps_table *t = ps_modes_table(m, view->table);
        if (t != NULL) {
            ps_put_table_with(q, r, t, &extra);
        } else {
            say_missing(r, m, view->table);
        }
        return;
    }
    ps_err err = PS_ERR_INIT;
    const char *step = ps_param_text(q, "step");
    const ps_cluster_source of = {q, cluster, m};
    const ps_job_source from = ps_cluster_source_of(&of);
    const ps_job_view_input in = {&from, step != NULL ? step : "all", stage, ps_param_lang(q)};
    ps_table *t = view->make(&in, &err);
    if (t == NULL) {
        ps_reply_err(r, &err);
        return;
    }
    ps_put_table_with(q, r, t, &extra);
    ps_table_free(t);
}

static void answer_cluster_view(const ps_request *q, ps_reply *r, const ps_job_view *view) {
    int64_t stage = -1;
    ps_modes_ask ask = {0};
    const ps_modes *m = NULL;
    ps_err err = PS_ERR_INIT;
    if (!ps_ask_analysis(q, r, PS_OF_MODES, &ask.cluster, &ask.opts) ||
        !ps_ask_int(q, r, "stage", 0, INT32_MAX, -1, &stage)) {
        return;
    }
    ps_view_set_analyses(q, view->set, &ask);
    if (ps_modes_get(q, &ask, &m, &err) != PS_OK) {
        ps_reply_err(r, &err);
        return;
    }
    put_cluster_view(q, r, view, ask.cluster, stage, m);
    ps_cache_release(q->cache, (void *)(uintptr_t)m);
}

static void answer_view(const ps_request *q, ps_reply *r) {
    const char *name = ps_param_text(q, "name");
    if (name == NULL) {
        ps_reply_fail(r, 400, "parameter 'name' is missing: one of /api/views");
        return;
    }
    const ps_view *view = ps_view_find(name);
    const ps_job_view *of_cluster = ps_job_view_find(name);
    if (view != NULL) {
        answer_rank_view(q, r, view);
    } else if (of_cluster != NULL) {
        answer_cluster_view(q, r, of_cluster);
    } else {
        ps_reply_fail(r, 404, "there is no view '%.80s': see /api/views", name);
    }
}

const ps_route ps_route_view = {
    .path = "/api/view", .method = "GET", .is_slow = true, .answer = answer_view};
