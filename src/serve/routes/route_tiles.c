/* GET /api/tiles: what is drawn of lanes in a tile. The form of the reply stands in docs/serve-api.md.
 *
 * Names are numbers of texts in the trace of their layer; outside they are number * 2 + layer (route_names.c). */
#include <string.h>

#include "base/alloc.h"
#include "serve/select/tile_ask.h"

enum { MAGIC = 0x31545350 };

static uint8_t look_of(const ps_layer *layer, bool is_overlap, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(layer->trace);
    uint8_t tint = ps_loaded_tint(layer, s->name[slice]);
    if (is_overlap) {
        uint8_t look = ps_overlap_look(ps_trace_text(layer->trace, s->name[slice]));
        return look != PS_LOOK_NONE ? look : tint;
    }
    if (s->kind[slice] == PS_SLICE_SYNC) {
        return PS_LOOK_SYNC;
    }
    return s->dur_ns[slice] == 0 ? PS_LOOK_INSTANT : tint;
}

static uint8_t busy_of(const ps_lod_entry *e) {
    int64_t length_ns = e->end_ns - e->start_ns;
    if (e->count == 1 || length_ns <= 0) {
        return 255;
    }
    double part = (double)e->busy_ns / (double)length_ns;
    return part <= 1.0 / 255 ? 1 : part >= 1 ? 255 : (uint8_t)(part * 255);
}

static bool is_overlap_lane(const ps_layer *layer, uint32_t lane) {
    const ps_lanes *lanes = layer->lanes;
    return lane < lanes->n_lanes && lanes->nodes[lanes->node_of_lane[lane]].kind == PS_NODE_OVERLAP;
}

/* Where the columns of a reply begin. */
typedef struct columns {
    float *start, *end;
    uint32_t *slice, *name, *count;
    uint16_t *row;
    uint8_t *look, *busy;
} columns;

enum { ENTRY_BYTES = 5 * 4 + 2 + 1 + 1 };

static columns columns_at(char *at, size_t n) {
    columns c;
    c.start = (float *)(void *)at;
    c.end = c.start + n;
    c.slice = (uint32_t *)(void *)(c.end + n);
    c.name = c.slice + n;
    c.count = c.name + n;
    c.row = (uint16_t *)(void *)(c.count + n);
    c.look = (uint8_t *)(c.row + n);
    c.busy = c.look + n;
    return c;
}

static void fill_tiles(const columns *c, const ps_tile_ask *ask, const ps_lod_entry *entries,
                       const size_t *ends) {
    const double bucket = 1 / (double)(INT64_C(1) << ask->level);
    size_t i = 0;
    for (size_t k = 0; k < ask->n_lanes; k++) {
        const ps_layer *layer = NULL;
        uint32_t lane = 0;
        (void)ps_loaded_lane(ask->loaded, ask->lanes[k], &layer, &lane);
        const ps_slices *s = ps_trace_slices(layer->trace);
        bool is_overlap = is_overlap_lane(layer, lane);
        uint32_t layer_bit = layer == ps_loaded_layer(ask->loaded, PS_LAYER_DERIVED);
        for (; i < ends[k]; i++) {
            const ps_lod_entry *e = &entries[i];
            c->start[i] = (float)((double)(e->start_ns - ask->start_ns) * bucket);
            c->end[i] = (float)((double)(e->end_ns - ask->start_ns) * bucket);
            c->slice[i] = layer->first_slice + e->slice;
            c->name[i] = s->name[e->slice].id * 2 + layer_bit;
            c->count[i] = e->count;
            c->row[i] = (uint16_t)e->row;
            c->look[i] = look_of(layer, is_overlap, e->slice);
            c->busy[i] = busy_of(e);
        }
    }
}

static ps_code gather_tiles(const ps_tile_ask *ask, ps_lod_entries *entries, size_t *ends,
                            ps_err *err) {
    ps_code code = PS_OK;
    for (size_t k = 0; code == PS_OK && k < ask->n_lanes; k++) {
        const ps_layer *layer = NULL;
        uint32_t lane = 0;
        (void)ps_loaded_lane(ask->loaded, ask->lanes[k], &layer, &lane);
        code = ps_lod_tile(layer->lod, lane, ask->level, ask->tile, entries, err);
        ends[k] = entries->n;
    }
    return code;
}

static void answer_tiles(const ps_request *q, ps_reply *r) {
    ps_tile_ask ask;
    if (!ps_ask_tile(q, r, &ask)) {
        return;
    }
    ps_err err = PS_ERR_INIT;
    ps_lod_entries entries = {0};
    size_t *ends = ps_arena_alloc(&r->arena, ask.n_lanes * sizeof *ends);
    ps_code code = ends != NULL ? gather_tiles(&ask, &entries, ends, &err) : ps_fail_nomem(&err);
    if (code != PS_OK) {
        ps_reply_err(r, &err);
    } else {
        char *at = ps_tile_body(r, &ask, MAGIC, entries.n, entries.n * ENTRY_BYTES, 4);
        if (at != NULL) {
            columns c = columns_at(at, entries.n);
            fill_tiles(&c, &ask, entries.at, ends);
            uint32_t *pairs = (uint32_t *)(void *)r->body.data + 4;
            for (size_t k = 0; k < ask.n_lanes; k++) {
                pairs[2 * k + 1] = (uint32_t)(ends[k] - (k > 0 ? ends[k - 1] : 0));
            }
        }
    }
    ps_lod_entries_fini(&entries);
    ps_loaded_release(ask.loaded);
}

const ps_route ps_route_tiles = {
    .path = "/api/tiles", .method = "GET", .is_large = ps_asks_many_lanes, .answer = answer_tiles};
