#include "serve/select/slice_tree.h"

#include <stdbool.h>

#include "model/trace.h"

/* A slice with its place. */
typedef struct spot {
    const ps_layer *layer;
    const ps_slices *s;
    uint32_t slice; /* of the layer */
    int64_t start_ns, end_ns;
    bool is_host; /* on a host thread of the profile */
} spot;

static spot spot_of(const ps_loaded *l, uint32_t slice) {
    ps_ref ref = {0};
    (void)ps_loaded_ref(l, slice, &ref);
    const ps_slices *s = ps_trace_slices(ref.layer->trace);
    const ps_track *tracks = ps_trace_tracks(ref.layer->trace, &(size_t){0});
    return (spot){.layer = ref.layer,
                  .s = s,
                  .slice = ref.slice,
                  .start_ns = s->start_ns[ref.slice],
                  .end_ns = s->start_ns[ref.slice] + s->dur_ns[ref.slice],
                  .is_host = ref.layer == ps_loaded_layer(l, PS_LAYER_PROFILE) &&
                             tracks[s->track[ref.slice]].kind == PS_TRACK_HOST_THREAD};
}

/* Lane of the layer and row of a slice; the lane's rows are there then. */
static ps_code around_place_of(const ps_loaded *l, const spot *p, uint32_t *lane, uint32_t *row,
                               ps_err *err) {
    ps_code code = ps_loaded_place(l, p->layer->first_slice + p->slice, lane, row, err);
    *lane -= code == PS_OK && *lane != PS_NONE ? p->layer->first_lane : 0;
    return code;
}

/* --- communication -------------------------------------------------------------------------------------------- */

static const ps_track *around_track_of(const spot *p, uint32_t slice) {
    return &ps_trace_tracks(p->layer->trace, &(size_t){0})[p->s->track[slice]];
}

/* Operators of a communicator stand on its own track, their tasks on its planes. */
static bool is_task_of(const ps_track *plane, const ps_track *group) {
    return plane->kind == PS_TRACK_COMM_PLANE && group->kind == PS_TRACK_COMM_GROUP &&
           ps_str_eq(plane->name, group->name) && plane->device == group->device &&
           plane->pid == group->pid;
}

static uint32_t holder_in_lane(const spot *p, uint32_t lane);

/* The operator that a task is of. */
static ps_code operator_of_task(const spot *p, uint32_t *out, ps_err *err) {
    *out = PS_NONE;
    const ps_track *plane = around_track_of(p, p->slice);
    const ps_track *tracks = ps_trace_tracks(p->layer->trace, &(size_t){0});
    const ps_lanes *lanes = p->layer->lanes;
    for (size_t i = 0; plane->kind == PS_TRACK_COMM_PLANE && i < lanes->n_nodes; i++) {
        const ps_lane_node *node = &lanes->nodes[i];
        if (node->lane != PS_NONE && node->track != PS_NONE &&
            is_task_of(plane, &tracks[node->track])) {
            ps_code code = ps_lod_build(p->layer->lod, node->lane, err);
            *out = code == PS_OK ? holder_in_lane(p, node->lane) : PS_NONE;
            return code;
        }
    }
    return PS_OK;
}

/* The tasks of an operator, as ps_slice_children(). */
static void tasks_of_operator(const spot *p, uint32_t *first, size_t max, size_t *n) {
    const ps_track *group = around_track_of(p, p->slice);
    if (group->kind != PS_TRACK_COMM_GROUP) {
        return;
    }
    uint32_t i = p->slice; /* of equal starts some may stand before it */
    while (i > 0 && p->s->start_ns[i - 1] == p->start_ns) {
        i--;
    }
    for (; i < p->s->n && p->s->start_ns[i] <= p->end_ns; i++) {
        if (p->s->start_ns[i] + p->s->dur_ns[i] <= p->end_ns &&
            is_task_of(around_track_of(p, i), group)) {
            if (*n < max) {
                first[*n] = p->layer->first_slice + i;
            }
            ++*n;
        }
    }
}

/* --- above ---------------------------------------------------------------------------------------------------- */

/* The last slice of a row that begins no later and ends no earlier; PS_NONE. */
static uint32_t holder_in_row(const spot *p, uint32_t lane, uint32_t row) {
    uint32_t first = 0;
    uint32_t end = 0;
    uint32_t n = 0;
    ps_lod_row_range(p->layer->lod, lane, row, p->start_ns - 1, p->start_ns + 1, &first, &end);
    const uint32_t *slices = ps_lod_row(p->layer->lod, lane, row, &n);
    while (end > first) {
        uint32_t i = slices[--end];
        if (p->s->start_ns[i] <= p->start_ns && ps_slice_end(p->s, i) >= p->end_ns) {
            return i;
        }
    }
    return PS_NONE;
}

static uint32_t holder_in_lane(const spot *p, uint32_t lane) {
    uint32_t found = PS_NONE;
    for (uint32_t row = ps_lod_n_rows(p->layer->lod, lane); found == PS_NONE && row > 0; row--) {
        found = holder_in_row(p, lane, row - 1);
    }
    return found;
}

ps_code ps_slice_parents(const ps_loaded *l, uint32_t slice, uint32_t *parents, size_t max,
                         size_t *n, ps_err *err) {
    spot p = spot_of(l, slice);
    *n = 0;
    if (p.is_host) {
        const ps_links *links = ps_loaded_links(l, err);
        if (links == NULL) {
            return ps_fail_nomem(err);
        }
        for (uint32_t i = ps_links_enclosing(links, p.slice); i != PS_NONE && *n < max;
             i = ps_links_enclosing(links, i)) {
            parents[(*n)++] = p.layer->first_slice + i;
        }
        return PS_OK;
    }
    uint32_t lane = PS_NONE;
    uint32_t row = 0;
    ps_code code = around_place_of(l, &p, &lane, &row, err);
    while (code == PS_OK && lane != PS_NONE && row > 0 && *n < max) {
        uint32_t i = holder_in_row(&p, lane, --row);
        if (i != PS_NONE) {
            parents[(*n)++] = p.layer->first_slice + i;
        }
    }
    uint32_t operator= PS_NONE;
    code = code == PS_OK ? operator_of_task(&p, &operator, err) : code;
    if (operator!= PS_NONE && * n<max) {
        parents[(*n)++] = p.layer->first_slice + operator;
    }
    return code;
}

/* --- below ---------------------------------------------------------------------------------------------------- */

static void children_on_thread(const ps_links *links, const spot *p, uint32_t *first, size_t max,
                               size_t *n) {
    for (uint32_t i = p->slice + 1; i < p->s->n && p->s->start_ns[i] <= p->end_ns; i++) {
        if (links->parent[i] == p->slice) {
            if (*n < max) {
                first[*n] = p->layer->first_slice + i;
            }
            ++*n;
        }
    }
}

/* Positions in a row of the slices that reach into this one's time. */
static const uint32_t *row_below(const spot *p, uint32_t lane, uint32_t row, uint32_t *first,
                                 uint32_t *end) {
    *first = 0;
    *end = 0;
    if (lane == PS_NONE || row + 1 >= ps_lod_n_rows(p->layer->lod, lane)) {
        return NULL;
    }
    uint32_t n = 0;
    ps_lod_row_range(p->layer->lod, lane, row + 1, p->start_ns, p->end_ns, first, end);
    return ps_lod_row(p->layer->lod, lane, row + 1, &n);
}

ps_code ps_slice_children(const ps_loaded *l, uint32_t slice, uint32_t *first, size_t max,
                          size_t *n, ps_err *err) {
    spot p = spot_of(l, slice);
    *n = 0;
    if (p.is_host) {
        const ps_links *links = ps_loaded_links(l, err);
        if (links == NULL) {
            return ps_fail_nomem(err);
        }
        children_on_thread(links, &p, first, max, n);
        return PS_OK;
    }
    uint32_t lane = PS_NONE;
    uint32_t row = 0;
    ps_code code = around_place_of(l, &p, &lane, &row, err);
    uint32_t at = 0;
    uint32_t end = 0;
    const uint32_t *slices = code == PS_OK ? row_below(&p, lane, row, &at, &end) : NULL;
    for (; slices != NULL && at < end; at++) {
        uint32_t i = slices[at];
        if (p.s->start_ns[i] >= p.start_ns && ps_slice_end(p.s, i) <= p.end_ns) {
            if (*n < max) {
                first[*n] = p.layer->first_slice + i;
            }
            ++*n;
        }
    }
    if (code == PS_OK && *n == 0) {
        tasks_of_operator(&p, first, max, n);
    }
    return code;
}

ps_code ps_slice_self_ns(const ps_loaded *l, uint32_t slice, int64_t *self_ns, ps_err *err) {
    spot p = spot_of(l, slice);
    uint32_t lane = PS_NONE;
    uint32_t row = 0;
    *self_ns = p.end_ns - p.start_ns;
    ps_code code = around_place_of(l, &p, &lane, &row, err);
    uint32_t at = 0;
    uint32_t end = 0;
    const uint32_t *slices = code == PS_OK ? row_below(&p, lane, row, &at, &end) : NULL;
    int64_t covered_to_ns = p.start_ns;
    for (; slices != NULL && at < end; at++) {
        int64_t from = p.s->start_ns[slices[at]];
        int64_t to = ps_slice_end(p.s, slices[at]);
        from = from > covered_to_ns ? from : covered_to_ns;
        to = to < p.end_ns ? to : p.end_ns;
        if (to > from) {
            *self_ns -= to - from;
            covered_to_ns = to;
        }
    }
    return code;
}
