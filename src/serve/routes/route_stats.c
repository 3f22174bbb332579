/* GET /api/stats: what lies in a box, by name; with `name` the slices of that name.
 *
 * Only what of a slice lies inside of the box counts. Sums are given twice: plain, and as the union of the time covered,
 * since rows and lanes lie above one another. The walk over rows gathers counts and self times; a second walk in order of
 * start, over the set of the slices, gathers the unions without keeping their spans. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/overlap.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "serve/rank/cache.h"
#include "serve/select/slice_table.h"

enum { C_NAME, C_WALL, C_UNION, C_SELF, C_AVERAGE, C_MAX, C_MIN, C_N, N_COLUMNS };

static const ps_column COLUMNS[N_COLUMNS] = {
    {.name = "name", .type = PS_COL_TEXT},
    {.name = "wall time", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "union time", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "self time", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "average", .type = PS_COL_REAL, .unit = PS_UNIT_NS},
    {.name = "max", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "min", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "occurrences", .type = PS_COL_INT, .unit = PS_UNIT_COUNT}};

/* Of one name, or of all together. */
typedef struct sums {
    int64_t wall_ns, union_ns, self_ns, least_ns, most_ns;
    int64_t covered_ns; /* the union goes up to here */
    uint64_t n;
    const char *name;
    bool names_idle; /* as lanes call time without work */
} sums;

typedef struct measure {
    const ps_loaded *l;
    const ps_slice_box *box;
    ps_slice_set set;
    ps_idmap
        groups[PS_N_LAYERS]; /* id of a text -> group; both layers by the same text share one */
    sums *at;
    size_t n, cap;
    sums all;
    sums work;      /* of all but time without work; only its union */
    uint64_t n_cut; /* slices that reach beyond the box */
} measure;

static bool names_idle(const char *name) {
    size_t i = 0;
    while (i < PS_N_SHARES && strcmp(name, ps_share_names[i]) != 0) {
        i++;
    }
    return i < PS_N_SHARES;
}

/* A slice of the lanes of overlap that stands for time without work. */
static bool is_idle(const ps_layer *layer, const sums *g, uint32_t slice) {
    if (!g->names_idle) {
        return false;
    }
    const ps_lanes *lanes = layer->lanes;
    uint32_t lane = ps_lanes_of(lanes, layer->trace, slice);
    return lane < lanes->n_lanes && lanes->nodes[lanes->node_of_lane[lane]].kind == PS_NODE_OVERLAP;
}

/* NULL when memory is out. */
static sums *box_stats_group_of(measure *m, int layer, ps_str name) {
    uint32_t group = ps_idmap_get(&m->groups[layer], name.id);
    if (group != PS_IDMAP_NONE) {
        return &m->at[group];
    }
    const char *text = ps_trace_text(ps_loaded_layer(m->l, layer)->trace, name);
    int other = layer == PS_LAYER_PROFILE ? PS_LAYER_DERIVED : PS_LAYER_PROFILE;
    ps_str there = ps_trace_find_text(ps_loaded_layer(m->l, other)->trace, text);
    group = ps_str_is_none(there) ? PS_IDMAP_NONE : ps_idmap_get(&m->groups[other], there.id);
    if (group == PS_IDMAP_NONE) {
        if (!ps_grow(&m->at, &m->cap, m->n + 1, PS_IDMAP_NONE - 1, sizeof *m->at)) {
            return NULL;
        }
        m->at[m->n] = (sums){.name = text,
                             .names_idle = names_idle(text),
                             .least_ns = INT64_MAX,
                             .covered_ns = INT64_MIN};
        group = (uint32_t)m->n++;
    }
    return ps_idmap_put(&m->groups[layer], name.id, group) ? &m->at[group] : NULL;
}

/* How much of [start, end) the row below covers; *at moves on to where the next slice of the row must look from. */
static int64_t covered_below(const ps_box_row *row, const ps_slices *s, uint32_t *at,
                             int64_t start_ns, int64_t end_ns) {
    int64_t covered = 0;
    for (; *at < row->below_end; ++*at) {
        uint32_t slice = row->below[*at];
        int64_t below_end_ns = s->start_ns[slice] + s->dur_ns[slice];
        if (s->start_ns[slice] >= end_ns) {
            break;
        }
        int64_t from = ps_larger(s->start_ns[slice], start_ns);
        int64_t to = ps_smaller(below_end_ns, end_ns);
        covered = to > from ? ps_i64_plus(covered, to - from) : covered;
        if (below_end_ns > end_ns) { /* reaches into the next one */
            break;
        }
    }
    return covered;
}

static void count_box_stats(sums *g, int64_t wall_ns, int64_t self_ns) {
    g->n++;
    g->wall_ns = ps_i64_plus(g->wall_ns, wall_ns);
    g->self_ns = ps_i64_plus(g->self_ns, self_ns);
    g->least_ns = ps_smaller(g->least_ns, wall_ns);
    g->most_ns = ps_larger(g->most_ns, wall_ns);
}

static ps_code add_box_stats_row(void *context, const ps_box_row *row, ps_err *err) {
    measure *m = context;
    const ps_slices *s = ps_trace_slices(row->layer->trace);
    int layer =
        row->layer == ps_loaded_layer(m->l, PS_LAYER_DERIVED) ? PS_LAYER_DERIVED : PS_LAYER_PROFILE;
    uint32_t below = row->below_first;
    for (uint32_t i = row->first; i < row->end; i++) {
        uint32_t slice = row->order[i];
        int64_t start_ns = s->start_ns[slice];
        int64_t end_ns = start_ns + s->dur_ns[slice];
        bool is_cut = start_ns < m->box->from_ns || end_ns > m->box->to_ns;
        start_ns = ps_larger(start_ns, m->box->from_ns);
        end_ns = ps_smaller(end_ns, m->box->to_ns);
        int64_t covered_ns = covered_below(row, s, &below, start_ns, end_ns);
        if (!ps_slice_set_add(&m->set, layer, slice)) {
            continue; /* in a merged lane and in its own */
        }
        sums *g = box_stats_group_of(m, layer, s->name[slice]);
        if (g == NULL) {
            return ps_fail_nomem(err);
        }
        m->n_cut += is_cut;
        int64_t wall_ns = end_ns - start_ns;
        int64_t self_ns = covered_ns < wall_ns ? wall_ns - covered_ns : 0;
        count_box_stats(g, wall_ns, self_ns);
        count_box_stats(&m->all, wall_ns, self_ns);
    }
    return PS_OK;
}

static void cover_box_stats(sums *g, int64_t start_ns, int64_t end_ns) {
    int64_t more_ns = end_ns > g->covered_ns ? end_ns - ps_larger(start_ns, g->covered_ns) : 0;
    g->union_ns = ps_i64_plus(g->union_ns, more_ns);
    g->covered_ns = ps_larger(g->covered_ns, end_ns);
}

/* All slices of the set by start, those of both layers together. */
static bool add_unions(measure *m) {
    uint32_t at[PS_N_LAYERS];
    const ps_slices *s[PS_N_LAYERS];
    for (int i = 0; i < PS_N_LAYERS; i++) {
        at[i] = ps_slice_set_next(&m->set, i, 0);
        s[i] = ps_trace_slices(ps_loaded_layer(m->l, i)->trace);
    }
    for (;;) {
        int next = -1;
        for (int i = 0; i < PS_N_LAYERS; i++) {
            if (at[i] != PS_NONE &&
                (next < 0 || s[i]->start_ns[at[i]] < s[next]->start_ns[at[next]])) {
                next = i;
            }
        }
        if (next < 0) {
            return true;
        }
        uint32_t slice = at[next];
        int64_t start_ns = ps_larger(s[next]->start_ns[slice], m->box->from_ns);
        int64_t end_ns =
            ps_smaller(s[next]->start_ns[slice] + s[next]->dur_ns[slice], m->box->to_ns);
        sums *g = box_stats_group_of(m, next, s[next]->name[slice]);
        if (g == NULL) {
            return false;
        }
        cover_box_stats(g, start_ns, end_ns);
        cover_box_stats(&m->all, start_ns, end_ns);
        if (!is_idle(ps_loaded_layer(m->l, next), g, slice)) {
            cover_box_stats(&m->work, start_ns, end_ns);
        }
        at[next] = ps_slice_set_next(&m->set, next, slice + 1);
    }
}

/* --- the table ----------------------------------------------------------------------------------------------- */

/* What the cache keeps. */
typedef struct stats {
    ps_table *table;
    ps_buf totals;  /* members of the reply */
    uint64_t n_cut; /* slices that reach beyond the box */
} stats;

static void free_stats(void *value) {
    stats *x = value;
    ps_table_free(x->table);
    ps_buf_fini(&x->totals);
    ps_free(x);
}

static bool put_box_stats_sums(ps_table *t, const sums *g) {
    if (!ps_table_add_row(t) || !ps_table_set_text(t, C_NAME, g->name)) {
        return false;
    }
    ps_table_set_int(t, C_WALL, g->wall_ns);
    ps_table_set_int(t, C_UNION, g->union_ns);
    ps_table_set_int(t, C_SELF, g->self_ns);
    ps_table_set_real(t, C_AVERAGE, (double)g->wall_ns / (double)g->n);
    ps_table_set_int(t, C_MAX, g->most_ns);
    ps_table_set_int(t, C_MIN, g->least_ns);
    ps_table_set_int(t, C_N, (int64_t)g->n);
    return true;
}

static void put_totals(ps_buf *out, const measure *m) {
    ps_json j = ps_json_members_to(out);
    ps_json_key_object(&j, "totals");
    ps_json_key_int(&j, "wall_ns", m->all.wall_ns);
    ps_json_key_int(&j, "union_ns", m->all.union_ns);
    ps_json_key_int(&j, "work_ns", m->work.union_ns);
    ps_json_key_uint(&j, "n", m->all.n);
    ps_json_close(&j);
}

static stats *stats_of(const measure *m) {
    stats *x = ps_calloc(1, sizeof *x);
    if (x == NULL) {
        return NULL;
    }
    put_totals(&x->totals, m);
    x->table = ps_table_new("stats", "", COLUMNS, N_COLUMNS);
    bool ok = x->table != NULL && ps_buf_ok(&x->totals);
    for (size_t i = 0; ok && i < m->n; i++) {
        ok = put_box_stats_sums(x->table, &m->at[i]);
    }
    if (!ok) {
        free_stats(x);
        return NULL;
    }
    x->n_cut = m->n_cut;
    return x;
}

static ps_code make_stats(void *context, ps_cached *out, ps_err *err) {
    measure *m = context;
    ps_code code = ps_slice_set_init(&m->set, m->l, err);
    code = code == PS_OK ? ps_box_walk(m->l, m->box, add_box_stats_row, m, err) : code;
    code = code == PS_OK && !add_unions(m) ? ps_fail_nomem(err) : code;
    stats *x = code == PS_OK ? stats_of(m) : NULL;
    if (x == NULL) {
        return code == PS_OK ? ps_fail_nomem(err) : code;
    }
    *out = (ps_cached){.value = x,
                       .bytes = sizeof *x + m->n * (N_COLUMNS * sizeof(ps_value) + 64),
                       .free_value = free_stats};
    return PS_OK;
}

static void put_stats(const ps_request *q, ps_reply *r, const ps_loaded *l,
                      const ps_slice_box *box) {
    measure m = {.l = l,
                 .box = box,
                 .all = {.least_ns = INT64_MAX, .covered_ns = INT64_MIN},
                 .work = {.covered_ns = INT64_MIN}};
    ps_buf key = {0};
    ps_slice_box_key(q, box, "stats", &key);
    for (int i = 0; i < PS_N_LAYERS; i++) {
    }
    ps_err err = PS_ERR_INIT;
    void *value = NULL;
    ps_code code = ps_buf_ok(&key) ? ps_cache_get(q->cache, ps_buf_str(&key), make_stats, &m,
                                                  q->watch, &value, &err)
                                   : ps_fail_nomem(&err);
    if (code == PS_OK) {
        const stats *x = value;
        char text[160];
        const char *note = text;
        (void)snprintf(text, sizeof text,
                       PS_SAY(r->lang,
                              "%llu of these reach beyond the box: what lies inside counts",
                              "其中 %llu 个超出选框：只计入框内部分"),
                       (unsigned long long)x->n_cut);
        ps_table_extra extra = {
            .notes = &note, .n_notes = x->n_cut > 0, .members = ps_buf_str(&x->totals)};
        ps_put_table_with(q, r, x->table, &extra);
    } else {
        ps_reply_err(r, &err);
    }
    ps_cache_release(q->cache, value);
    for (int i = 0; i < PS_N_LAYERS; i++) {
        ps_idmap_fini(&m.groups[i]);
    }
    ps_free(m.at);
    ps_slice_set_fini(&m.set);
    ps_buf_fini(&key);
}

static void answer_box_stats(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    ps_slice_box box;
    if (!ps_ask_rank(q, r, &l)) {
        return;
    }
    if (ps_ask_box(q, r, l, &box)) {
        const char *name = ps_param_text(q, "name");
        if (name != NULL) {
            ps_put_slices_of_box(q, r, l, &box, name);
        } else {
            put_stats(q, r, l, &box);
        }
    }
    ps_loaded_release(l);
}

const ps_route ps_route_stats = {
    .path = "/api/stats", .method = "GET", .is_slow = true, .answer = answer_box_stats};
