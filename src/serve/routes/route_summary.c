/* GET /api/summary: the parallel sizes of a job, what is wrong with them, and where its ranks stand. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "model/layout.h"
#include "serve/cluster/cluster_views.h"
#include "serve/cluster/modes.h"
#include "serve/http/route.h"

typedef struct asked {
    ps_lang lang;
    size_t cluster;
    ps_layout layout;
    bool is_given;        /* the layout, or sizes: a job of its own, as charts and tables take it */
    ps_layout_dims given; /* 0: not given */
    ps_layout_dims collected; /* 0: not said */
    bool is_collected;
    int64_t world_size;   /* that the capture says, 0 none */
    char problem[160];    /* what contradicts that in the capture, "" nothing */
    ps_layout_dims sizes; /* what counts: given, else collected, else 1 */
    int64_t n_ranks;      /* of the capture */
} asked;

static bool ask_summary_reply(const ps_request *q, ps_reply *r, asked *a) {
    const char *layout = ps_param_text(q, "algorithm");
    a->is_given = layout != NULL;
    int64_t cluster = 0;
    if (layout != NULL && !ps_layout_find(layout, &a->layout)) {
        ps_reply_fail(r, 400, "algorithm: megatron, megatron-pp-dp, mindspeed, mindie or vllm");
        return false;
    }
    bool ok = ps_ask_int(q, r, "cluster", 0, INT32_MAX, ps_store_first(q->store), &cluster) &&
              ps_ask_int(q, r, "tp", 1, PS_LAYOUT_MOST, 0, &a->given.tp) &&
              ps_ask_int(q, r, "cp", 1, PS_LAYOUT_MOST, 0, &a->given.cp) &&
              ps_ask_int(q, r, "dp", 1, PS_LAYOUT_MOST, 0, &a->given.dp) &&
              ps_ask_int(q, r, "pp", 1, PS_LAYOUT_MOST, 0, &a->given.pp) &&
              ps_ask_int(q, r, "ep", 1, PS_LAYOUT_MOST, 0, &a->given.ep) &&
              ps_ask_int(q, r, "moe_tp", 1, PS_LAYOUT_MOST, 0, &a->given.moe_tp);
    a->cluster = (size_t)cluster;
    a->is_given = a->is_given || a->given.tp + a->given.cp + a->given.dp + a->given.pp > 0;
    if (ok && !ps_store_is_open(q->store, a->cluster)) {
        ps_reply_fail(r, 404, "cluster: there is no cluster %zu", a->cluster);
        ok = false;
    }
    return ok;
}

static int64_t size_of(int64_t given, int64_t collected) {
    return given > 0 ? given : collected > 0 ? collected : 1;
}

static void take_collected(const ps_request *q, const ps_modes *m, asked *a) {
    const ps_cluster_source of = {q, a->cluster, m};
    const ps_job_source from = ps_cluster_source_of(&of);
    ps_job_sizes job = ps_job_sizes_of(&from);
    const ps_layout_dims *c = &job.dims;
    a->collected = job.dims;
    a->world_size = job.world_size;
    a->is_collected = c->tp + c->cp + c->dp + c->pp + c->ep > 0;
    if (!a->is_given) {
        a->layout = job.layout;
        (void)snprintf(a->problem, sizeof a->problem, "%s", job.problem != NULL ? job.problem : "");
    }
}

/* A capture without metadata still has places: sizes are then what was given. */
static ps_code collect_summary_reply(const ps_request *q, asked *a, ps_err *err) {
    ps_modes_ask modes = {.cluster = a->cluster, .opts = {.step_id = -1, .lang = a->lang}};
    const ps_modes *m = NULL;
    ps_view_set_analyses(q, PS_SET_LAYOUT, &modes);
    ps_code code = ps_modes_get(q, &modes, &m, err);
    if (code == PS_OK) {
        take_collected(q, m, a);
        ps_cache_release(q->cache, (void *)(uintptr_t)m);
    } else if (code == PS_NOTHING) {
        code = PS_OK;
    }
    const ps_cluster *c = ps_store_cluster(q->store, a->cluster);
    for (size_t i = 0; i < ps_store_n_ranks(q->store); i++) {
        a->n_ranks += ps_store_rank(q->store, i)->cluster == c ? 1 : 0;
    }
    a->sizes = (ps_layout_dims){.tp = size_of(a->given.tp, a->collected.tp),
                                .cp = size_of(a->given.cp, a->collected.cp),
                                .dp = size_of(a->given.dp, a->collected.dp),
                                .pp = size_of(a->given.pp, a->collected.pp),
                                .ep = size_of(a->given.ep, a->collected.ep),
                                .moe_tp = size_of(a->given.moe_tp, a->collected.moe_tp)};
    a->sizes.cp = ps_layout_has_cp(a->layout) ? a->sizes.cp : 1;
    return code;
}

/* Sizes that are given must be ones that tables and charts take. Those of the capture must make its job, and place its ranks as their
 * groups do. One more sentence in `out` where they do not. */
static size_t check_collected(const asked *a, ps_layout_problem *out) {
    const ps_layout_dims *given = &a->given;
    int64_t n = ps_layout_ranks(a->layout, &a->sizes);
    bool is_own = given->tp + given->cp + given->dp + given->pp > 0;
    if (!is_own && a->is_collected && a->world_size > 0 && n != a->world_size) {
        out->kind = "world-size";
        (void)snprintf(out->text, sizeof out->text,
                       PS_SAY(a->lang,
                              "the sizes in the capture make %" PRId64
                              " ranks, and its world_size is %" PRId64 ": give them",
                              "采集数据中的并行规模得出 %" PRId64
                              " 个 rank，而其 world_size 为 %" PRId64 "：请给出它们"),
                       n, a->world_size);
        return 1;
    }
    const ps_layout_dims *d = &a->sizes;
    ps_layout_sizes own = {
        .tp = given->tp, .cp = given->cp, .dp = given->dp, .pp = given->pp, .world = a->world_size};
    ps_layout_sizes known = {.tp = d->tp, .cp = d->cp, .dp = d->dp, .pp = d->pp};
    if (is_own && ps_layout_contradicts(a->lang, a->layout, &own, &known, a->n_ranks, out->text)) {
        out->kind = "world-size";
        return 1;
    }
    out->kind = "groups";
    (void)snprintf(out->text, sizeof out->text, "%s", a->problem);
    return a->problem[0] != '\0';
}

/* --- the reply ---------------------------------------------------------------------------------------------------------- */

#define put_size(j, key, size)                                                                     \
    do {                                                                                           \
        if ((size) > 0) {                                                                          \
            ps_json_key_int(j, key, size);                                                         \
        }                                                                                          \
    } while (0)

static void put_sizes(ps_json *j, const ps_layout_dims *p) {
    ps_json_object(j);
    put_size(j, "tp", p->tp);
    put_size(j, "cp", p->cp);
    put_size(j, "dp", p->dp);
    put_size(j, "pp", p->pp);
    put_size(j, "ep", p->ep);
    put_size(j, "moe_tp", p->moe_tp);
    ps_json_close(j);
}

static void put_layouts(ps_json *j) {
    ps_json_key_array(j, "algorithms");
    for (size_t i = 0; i < PS_N_LAYOUTS; i++) {
        ps_layout l = (ps_layout)i;
        ps_json_object(j);
        ps_json_key_str(j, "name", ps_layout_name(l));
        ps_json_key_str(j, "title", ps_layout_title(l));
        ps_json_key_bool(j, "has_cp", ps_layout_has_cp(l));
        ps_json_key_bool(j, "has_moe_tp", ps_layout_has_moe_tp(l));
        ps_json_close(j);
    }
    ps_json_close(j);
}

static void put_problems(ps_json *j, const ps_layout_problem *problems, size_t n) {
    ps_json_key_array(j, "problems");
    for (size_t i = 0; i < n; i++) {
        ps_json_str(j, problems[i].text);
    }
    ps_json_close(j);
    ps_json_key_array(j, "problem_kinds");
    for (size_t i = 0; i < n; i++) {
        ps_json_str(j, problems[i].kind);
    }
    ps_json_close(j);
}

/* "dp0-pp1": the dimensions that have more than one place. */
static void put_name(ps_json *j, const asked *a, const ps_layout_coordinates *at) {
    const struct {
        const char *name;
        int64_t size, place;
    } PARTS[] = {{"dp", a->sizes.dp, at->dp},
                 {"pp", a->sizes.pp, at->pp},
                 {"cp", a->sizes.cp, at->cp},
                 {"tp", a->sizes.tp, at->tp}};
    char name[128] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        if (PARTS[i].size > 1) {
            n += (size_t)snprintf(name + n, sizeof name - n, "%s%s%" PRId64, n > 0 ? "-" : "",
                                  PARTS[i].name, PARTS[i].place);
        }
    }
    ps_json_key_str(j, "name", name);
}

static void put_summary_reply_place(ps_json *j, const asked *a, int64_t rank, const char *key) {
    ps_layout_coordinates at = ps_layout_coordinates_of(a->layout, &a->sizes, rank);
    int64_t x = 0;
    int64_t y = 0;
    ps_layout_position(a->layout, &a->sizes, &at, &x, &y);
    if (rank > 0) {
        ps_json_line(j, 0);
    }
    ps_json_object(j);
    ps_json_key_int(j, "rank", rank);
    ps_json_key_str(j, "key", key);
    ps_json_key_int(j, "x", x);
    ps_json_key_int(j, "y", y);
    put_name(j, a, &at);
    ps_json_key_int(j, "dp", at.dp);
    ps_json_key_int(j, "pp", at.pp);
    ps_json_key_int(j, "cp", at.cp);
    ps_json_key_int(j, "tp", at.tp);
    ps_json_key_int(j, "ep", at.ep);
    ps_json_close(j);
}

/* The key of each rank of the job, by number; "" where the capture has none or several of it. */
static const char **list_keys(const ps_request *q, const asked *a, int64_t n) {
    const ps_cluster *c = ps_store_cluster(q->store, a->cluster);
    const char **keys = ps_calloc((size_t)n + 1, sizeof *keys);
    for (size_t i = 0; keys != NULL && i < ps_store_n_ranks(q->store); i++) {
        const ps_rank_entry *e = ps_store_rank(q->store, i);
        if (e->cluster == c && e->rank->rank >= 0 && e->rank->rank < n) {
            const char **key = &keys[e->rank->rank];
            *key = *key == NULL ? e->key : "";
        }
    }
    return keys;
}

static void put_groups(ps_json *j, const asked *a, int64_t n) {
    ps_json_key_object(j, "groups");
    for (size_t k = 0; k < PS_N_GROUP_KINDS; k++) {
        ps_group_kind kind = (ps_group_kind)k;
        if (!ps_layout_has_group(a->layout, &a->sizes, kind)) {
            continue;
        }
        ps_json_name(j, ps_group_kind_name(kind), strlen(ps_group_kind_name(kind)));
        ps_json_array(j);
        for (int64_t rank = 0; rank < n; rank++) {
            ps_json_int(j, ps_layout_group_of(a->layout, &a->sizes, kind, rank));
        }
        ps_json_close(j);
    }
    ps_json_close(j);
}

static bool put_summary_reply_places(const ps_request *q, const asked *a, ps_json *j) {
    int64_t n = ps_layout_ranks(a->layout, &a->sizes);
    const char **keys = list_keys(q, a, n);
    ps_json_key_array(j, "places");
    for (int64_t rank = 0; keys != NULL && rank < n; rank++) {
        put_summary_reply_place(j, a, rank, keys[rank] != NULL ? keys[rank] : "");
    }
    ps_json_close(j);
    put_groups(j, a, n);
    ps_free(keys);
    return keys != NULL;
}

static void answer_summary_reply(const ps_request *q, ps_reply *r) {
    asked a = {.lang = ps_param_lang(q), .layout = PS_LAYOUT_MEGATRON};
    ps_err err = PS_ERR_INIT;
    ps_layout_problem problems[PS_LAYOUT_PROBLEMS];
    if (!ask_summary_reply(q, r, &a)) {
        return;
    }
    if (collect_summary_reply(q, &a, &err) != PS_OK) {
        ps_reply_err(r, &err);
        return;
    }
    size_t n = ps_layout_check(a.lang, a.layout, &a.sizes, a.n_ranks, problems);
    n += n == 0 ? check_collected(&a, &problems[n]) : 0;
    ps_json w = ps_json_to(&r->body);
    ps_json *j = &w;
    ps_json_object(j);
    ps_json_key_str(j, "algorithm", ps_layout_name(a.layout));
    ps_json_key_int(j, "ranks", a.n_ranks);
    ps_json_key(j, "sizes");
    put_sizes(j, &a.sizes);
    ps_json_key(j, "collected");
    if (a.is_collected) {
        put_sizes(j, &a.collected);
    } else {
        ps_json_null(j);
    }
    ps_json_key_int(j, "world_size", a.world_size);
    put_layouts(j);
    put_problems(j, problems, n);
    if (n == 0 && !put_summary_reply_places(q, &a, j)) {
        ps_reply_fail(r, 507, "not enough memory for this reply");
        return;
    }
    ps_json_close(j);
}

const ps_route ps_route_summary = {
    .path = "/api/summary", .method = "GET", .is_slow = true, .answer = answer_summary_reply};
