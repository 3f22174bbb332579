/* GET /api/call_tree: the call tree of a rank, of a span, or of a box; with `node` the slices of one of its nodes. */
#include <string.h>

#include "analyze/views/view_calls.h"
#include "base/alloc.h"
#include "serve/rank/cache.h"
#include "serve/select/slice_table.h"

typedef struct calls_ask {
    const ps_request *q;
    const ps_loaded *l;
    ps_call_ask tree;
    const char *by;
    const ps_slice_set *chosen; /* NULL: all of the rank */
    int64_t node;               /* whose slices are asked for; -1: the tree */
} calls_ask;

static bool is_chosen(const void *context, uint32_t slice) {
    return ps_slice_set_next(context, PS_LAYER_PROFILE, slice) == slice;
}

static void free_calls_table(void *table) {
    ps_table_free(table);
}

static ps_code make_calls_reply(void *context, ps_cached *out, ps_err *err) {
    const calls_ask *a = context;
    ps_call_tree t = {0};
    ps_code code = ps_view_calls_build(&a->tree, a->by, &t, err);
    ps_table *table = code == PS_OK ? ps_view_calls_table(&t, ps_param_lang(a->q), err) : NULL;
    ps_call_tree_fini(&t);
    if (table == NULL) {
        return code != PS_OK ? code : err->code;
    }
    *out = (ps_cached){.value = table,
                       .bytes = sizeof *table +
                                table->n_rows * table->n_columns * sizeof *table->cells +
                                table->arena.size_bytes,
                       .free_value = free_calls_table};
    return PS_OK;
}

static void put_calls_key(const calls_ask *a, const ps_slice_box *box, ps_buf *key) {
    if (a->chosen != NULL) {
        ps_slice_box_key(a->q, box, "calls", key);
    } else {
        const char *rank = ps_param_text(a->q, "rank");
        ps_buf_addf(key, "calls of %s %lld %lld ", rank, (long long)a->tree.span.from_ns,
                    (long long)a->tree.span.to_ns);
    }
    ps_buf_addf(key, "%lld %s", (long long)a->tree.step, a->by);
}

static ps_code put_calls(ps_reply *r, calls_ask *a, const ps_slice_box *box, ps_err *err) {
    ps_buf key = {0};
    void *table = NULL;
    put_calls_key(a, box, &key);
    ps_code code = ps_buf_ok(&key) ? ps_cache_get(a->q->cache, ps_buf_str(&key), make_calls_reply,
                                                  a, a->q->watch, &table, err)
                                   : ps_fail_nomem(err);
    ps_buf_fini(&key);
    if (code == PS_OK) {
        ps_put_table(a->q, r, table);
        ps_cache_release(a->q->cache, table);
    }
    return code;
}

/* Whether the number of `node` counts a slice that is in the node `at`: from the bottom, whatever called its callers. */
static bool counts_at(const calls_ask *a, const ps_call_tree *t, uint32_t at) {
    if (strcmp(a->by, "callees") == 0) {
        while (at != PS_NONE && at > a->node) {
            at = t->nodes[at].parent;
        }
    }
    return at == a->node;
}

static ps_code put_slices_of_call(ps_reply *r, calls_ask *a, ps_err *err) {
    uint32_t n = ps_trace_slices(a->tree.links->trace)->n;
    ps_call_tree t = {0};
    ps_slice_set set = {0};
    a->tree.node_of = ps_alloc(((size_t)n + 1) * sizeof *a->tree.node_of);
    ps_code code = a->tree.node_of != NULL ? ps_view_calls_build(&a->tree, a->by, &t, err)
                                           : ps_fail_nomem(err);
    code = code == PS_OK ? ps_slice_set_init(&set, a->l, err) : code;
    for (uint32_t i = 0; code == PS_OK && i < n; i++) {
        if (a->tree.node_of[i] != PS_NONE && counts_at(a, &t, a->tree.node_of[i])) {
            (void)ps_slice_set_add(&set, PS_LAYER_PROFILE, i);
        }
    }
    code = code == PS_OK ? ps_slice_set_close(&set, err) : code;
    ps_table *table =
        code == PS_OK ? ps_slice_table_new(r, "slices", a->l, &set, false, err) : NULL;
    if (table != NULL) {
        ps_put_table_with(a->q, r, table, &(ps_table_extra){.from_origin = true});
    } else {
        code = code == PS_OK ? PS_NOMEM : code;
    }
    ps_table_free(table);
    ps_free(a->tree.node_of);
    ps_slice_set_fini(&set);
    ps_call_tree_fini(&t);
    return code;
}

static ps_code answer_calls_of(const ps_request *q, ps_reply *r, calls_ask *a,
                               const ps_slice_box *box, ps_err *err) {
    ps_slice_set *chosen = NULL;
    a->tree.links = ps_loaded_links(a->l, err);
    ps_code code = a->tree.links != NULL ? PS_OK : PS_NOMEM;
    if (code == PS_OK && ps_param_text(q, "lanes") != NULL) {
        code = ps_slice_set_of_box(q, a->l, box, NULL, &chosen, err);
        a->chosen = chosen;
        a->tree.takes = is_chosen;
        a->tree.context = chosen;
    }
    if (code == PS_OK) {
        code = a->node >= 0 ? put_slices_of_call(r, a, err) : put_calls(r, a, box, err);
    }
    ps_cache_release(q->cache, chosen);
    return code;
}

static void answer_calls(const ps_request *q, ps_reply *r) {
    static const ps_view_value NOTHING = {"", ""};
    const char *by = ps_param_text(q, "by");
    const ps_view_value value = by != NULL ? (ps_view_value){"by", by} : NOTHING;
    const ps_view_input in = {.values = &value, .n_values = 1};
    ps_err err = PS_ERR_INIT;
    ps_slice_box box = {0};
    ps_loaded *l = NULL;
    calls_ask a = {.q = q, .tree = {.step = -1, .rank = -1, .watch = q->watch}};
    a.by = ps_view_param_of(&in, &ps_view_calls, "by", &err);
    if (a.by == NULL) {
        ps_reply_err(r, &err);
        return;
    }
    if (!ps_ask_span(q, r, &a.tree.span.from_ns, &a.tree.span.to_ns) ||
        !ps_ask_int(q, r, "step_id", 0, INT64_MAX, -1, &a.tree.step) ||
        !ps_ask_int(q, r, "node", 0, UINT32_MAX - 1, -1, &a.node) || !ps_ask_rank(q, r, &l)) {
        return;
    }
    a.l = l;
    bool has_box = ps_param_text(q, "lanes") == NULL || ps_ask_box(q, r, l, &box);
    if (has_box && answer_calls_of(q, r, &a, &box, &err) != PS_OK) {
        ps_reply_err(r, &err);
    }
    ps_loaded_release(l);
}

const ps_route ps_route_call_tree = {
    .path = "/api/call_tree", .method = "GET", .is_slow = true, .answer = answer_calls};
