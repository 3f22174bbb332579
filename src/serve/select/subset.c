#include "serve/select/subset.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

/* One layer on its way into the new trace. */
typedef struct copy {
    const ps_loaded *l;
    const ps_subset *what;
    const ps_layer *layer;
    const ps_trace *t;
    const ps_slices *s;
    ps_builder *b;
    int64_t origin_ns;
    uint8_t *is_lane;  /* [lanes of the layer] a byte; NULL: all */
    uint8_t *in_lanes; /* a bit a slice, where merged lanes are wanted; NULL: none are */
    uint32_t *strings; /* [texts] ids of the new trace, 0 unknown */
    uint32_t *tracks;  /* [tracks] rows there, PS_NONE */
    uint32_t *slices;  /* [slices] rows there, PS_NONE */
    uint32_t n;        /* slices so far, of all layers */
} copy;

/* --- pieces --------------------------------------------------------------------------------------------------- */

static ps_str subset_text_of(copy *c, ps_str s) {
    if (ps_str_is_none(s)) {
        return s;
    }
    if (c->strings[s.id] == 0) {
        c->strings[s.id] =
            ps_builder_str(c->b, ps_trace_text(c->t, s), ps_trace_text_len(c->t, s)).id;
    }
    return (ps_str){c->strings[s.id]};
}

static void copy_process(copy *c, int64_t pid) {
    const ps_process *p = ps_trace_process(c->t, pid);
    if (p != NULL) {
        ps_process to = *p;
        to.name = subset_text_of(c, p->name);
        to.labels = subset_text_of(c, p->labels);
        ps_builder_process(c->b, to);
    }
}

static uint32_t subset_track_of(copy *c, uint32_t row) {
    if (c->tracks[row] == PS_NONE) {
        const ps_track *from = &ps_trace_tracks(c->t, &(size_t){0})[row];
        ps_track to = *from;
        to.name = subset_text_of(c, from->name);
        c->tracks[row] = ps_builder_track(c->b, to);
        ps_builder_track_label(c->b, c->tracks[row], subset_text_of(c, from->label), from->order);
        if (c->tracks[row] != PS_NONE) {
            ps_builder_track_unit(c->b, c->tracks[row], subset_text_of(c, from->unit));
        }
        copy_process(c, from->pid);
    }
    return c->tracks[row];
}

static void copy_args(copy *c, uint32_t from, uint32_t to) {
    ps_arg_iter iter = ps_trace_args(c->t, from);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        arg.key = subset_text_of(c, arg.key);
        if (arg.type == PS_ARG_TIME) {
            arg.u.i += c->origin_ns;
        } else if (arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER || arg.type == PS_ARG_JSON) {
            arg.u.s = subset_text_of(c, arg.u.s);
        }
        ps_builder_arg(c->b, to, arg);
    }
}

/* --- slices and flows ----------------------------------------------------------------------------------------- */

static bool is_subset_wanted(const copy *c, uint32_t i) {
    int64_t start = c->s->start_ns[i];
    if (start + c->s->dur_ns[i] <= c->what->from_ns && start < c->what->from_ns) {
        return false;
    }
    if (c->is_lane == NULL) {
        return true;
    }
    uint32_t lane = ps_lanes_of(c->layer->lanes, c->t, i);
    return (lane != PS_NONE && c->is_lane[lane] != 0) ||
           (c->in_lanes != NULL && (c->in_lanes[i >> 3] >> (i & 7) & 1) != 0);
}

static ps_code copy_slices(copy *c, ps_err *err) {
    for (uint32_t i = 0; i < c->s->n && c->s->start_ns[i] < c->what->to_ns; i++) {
        if (!is_subset_wanted(c, i)) {
            continue;
        }
        if (c->n >= PS_SUBSET_MAX_SLICES) {
            return ps_fail_said(err, PS_RANGE,
                                "the span holds more than %u slices; choose a shorter one, "
                                "or fewer lanes",
                                "该区间的切片超过 %u 个；请选择更短的区间或更少的泳道",
                                PS_SUBSET_MAX_SLICES);
        }
        int64_t start = c->s->start_ns[i] + c->origin_ns;
        uint32_t to = ps_builder_slice_in(
            c->b, (ps_slice_kind)c->s->kind[i], subset_track_of(c, c->s->track[i]),
            subset_text_of(c, c->s->name[i]), subset_text_of(c, c->s->category[i]), start,
            start + c->s->dur_ns[i], c->s->source_row[i]);
        if (to == PS_NONE) {
            return ps_fail_nomem(err);
        }
        c->slices[i] = to;
        c->n++;
        copy_args(c, i, to);
    }
    return PS_OK;
}

static void copy_flows(copy *c) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(c->t, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t from = c->slices[flows[i].from];
        uint32_t to = c->slices[flows[i].to];
        if (from != PS_NONE && to != PS_NONE) {
            ps_builder_flow_of(c->b, from, to, subset_text_of(c, flows[i].kind));
        }
    }
}

/* --- counters and the rest ------------------------------------------------------------------------------------ */

/* Tracks of counters that are wanted; NULL: no memory. */
static bool *wanted_counters(const copy *c) {
    size_t n = 0;
    (void)ps_trace_tracks(c->t, &n);
    bool *wanted = ps_calloc(n + 1, sizeof *wanted);
    for (size_t k = 0; wanted != NULL && c->is_lane == NULL && k < n; k++) {
        wanted[k] = true;
    }
    for (size_t k = 0; wanted != NULL && c->is_lane != NULL && k < c->layer->lanes->n_nodes; k++) {
        const ps_lane_node *node = &c->layer->lanes->nodes[k];
        if (node->kind == PS_NODE_COUNTER && node->lane != PS_NONE && c->is_lane[node->lane] != 0 &&
            node->track != PS_NONE) {
            wanted[node->track] = true;
        }
    }
    return wanted;
}

static ps_code copy_counters(copy *c, ps_err *err) {
    const ps_counters *v = ps_trace_counters(c->t);
    bool *wanted = wanted_counters(c);
    if (wanted == NULL) {
        return ps_fail_nomem(err);
    }
    for (uint32_t i = 0; i < v->n; i++) {
        bool is_last_before =
            i + 1 == v->n || v->track[i + 1] != v->track[i] || v->time_ns[i + 1] > c->what->from_ns;
        bool is_inside = v->time_ns[i] >= c->what->from_ns || is_last_before;
        if (wanted[v->track[i]] && is_inside && v->time_ns[i] < c->what->to_ns) {
            (void)ps_builder_counter(c->b, subset_track_of(c, v->track[i]),
                                     v->time_ns[i] + c->origin_ns, v->value[i]);
        }
    }
    ps_free(wanted);
    return PS_OK;
}

static void copy_facts(copy *c) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(c->t, &n);
    for (size_t i = 0; i < n; i++) {
        if (steps[i].end_ns > c->what->from_ns && steps[i].start_ns < c->what->to_ns) {
            ps_builder_step(c->b, steps[i].id, steps[i].start_ns + c->origin_ns,
                            steps[i].end_ns + c->origin_ns);
        }
    }
    const ps_meta *metas = ps_trace_metas(c->t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_builder_meta(c->b, metas[i].key, metas[i].value);
    }
    ps_builder_has(c->b, ps_trace_has(c->t));
}

/* --- lanes ---------------------------------------------------------------------------------------------------- */

static ps_code mark_merged(copy *c, uint32_t lane, ps_err *err) {
    if (c->in_lanes == NULL) {
        c->in_lanes = ps_calloc((size_t)c->s->n / 8 + 1, 1);
    }
    ps_code code =
        c->in_lanes != NULL ? ps_lod_build(c->layer->lod, lane, err) : ps_fail_nomem(err);
    for (uint32_t row = 0; code == PS_OK && row < ps_lod_n_rows(c->layer->lod, lane); row++) {
        uint32_t n = 0;
        const uint32_t *slices = ps_lod_row(c->layer->lod, lane, row, &n);
        for (uint32_t i = 0; i < n; i++) {
            c->in_lanes[slices[i] >> 3] |= (uint8_t)(1u << (slices[i] & 7));
        }
    }
    return code;
}

static ps_code mark_subset_lanes(copy *c, ps_err *err) {
    c->is_lane = ps_calloc((size_t)c->layer->lanes->n_lanes + 1, 1);
    ps_code code = c->is_lane != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < c->what->n_lanes; i++) {
        const ps_layer *layer = NULL;
        uint32_t lane = PS_NONE;
        if (!ps_loaded_lane(c->l, c->what->lanes[i], &layer, &lane) || layer != c->layer) {
            continue;
        }
        if (lane < c->layer->lanes->n_lanes) {
            c->is_lane[lane] = 1;
        } else {
            code = mark_merged(c, lane, err);
        }
    }
    return code;
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

static uint32_t *new_subset_column(size_t n, uint32_t value) {
    uint32_t *column = ps_alloc((n + 1) * sizeof *column);
    for (size_t i = 0; column != NULL && i < n; i++) {
        column[i] = value;
    }
    return column;
}

static ps_code copy_layer(copy *c, ps_err *err) {
    size_t n_tracks = 0;
    (void)ps_trace_tracks(c->t, &n_tracks);
    c->strings = new_subset_column(ps_trace_n_texts(c->t), 0);
    c->tracks = new_subset_column(n_tracks, PS_NONE);
    c->slices = new_subset_column(c->s->n, PS_NONE);
    bool ok = c->strings != NULL && c->tracks != NULL && c->slices != NULL;
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK && c->what->n_lanes > 0) {
        code = mark_subset_lanes(c, err);
    }
    code = code == PS_OK ? copy_slices(c, err) : code;
    code = code == PS_OK ? copy_counters(c, err) : code;
    if (code == PS_OK) {
        copy_flows(c);
    }
    ps_free(c->strings);
    ps_free(c->tracks);
    ps_free(c->slices);
    ps_free(c->is_lane);
    ps_free(c->in_lanes);
    return code;
}

ps_trace *ps_subset_trace(const ps_loaded *l, const ps_subset *what, ps_err *err) {
    ps_builder *b = ps_builder_new();
    ps_code code = b != NULL ? PS_OK : ps_fail_nomem(err);
    uint32_t n = 0;
    for (int i = 0; code == PS_OK && i < (what->n_lanes > 0 ? PS_N_LAYERS : 1); i++) {
        const ps_layer *layer = ps_loaded_layer(l, i);
        copy c = {.l = l,
                  .what = what,
                  .layer = layer,
                  .t = layer->trace,
                  .s = ps_trace_slices(layer->trace),
                  .b = b,
                  .origin_ns = ps_trace_origin_ns(layer->trace),
                  .n = n};
        code = copy_layer(&c, err);
        n = c.n;
        if (code == PS_OK && i == PS_LAYER_PROFILE) {
            copy_facts(&c);
        }
    }
    if (code != PS_OK) {
        ps_builder_free(b);
        return NULL;
    }
    return ps_builder_seal(b, err);
}
