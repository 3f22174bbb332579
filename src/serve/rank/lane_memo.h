/* The lanes of many slices, one after the other: what was told last of each track is kept. One thread. */
#ifndef PS_SERVE_LANE_MEMO_H
#define PS_SERVE_LANE_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "serve/rank/loaded.h"

typedef struct ps_lane_memo_entry {
    uint32_t category, lane;
    uint8_t kind;
    bool is_set;
} ps_lane_memo_entry;

typedef struct ps_lane_memo {
    const ps_layer *layer;
    const ps_slices *s;
    ps_lane_memo_entry *at; /* [tracks] NULL: nothing is kept */
} ps_lane_memo;

/* False when memory is out; then it works all the same, but slowly. */
static inline bool ps_lane_memo_init(ps_lane_memo *m, const ps_layer *layer) {
    size_t n = 0;
    (void)ps_trace_tracks(layer->trace, &n);
    *m = (ps_lane_memo){.layer = layer, .s = ps_trace_slices(layer->trace)};
    m->at = ps_calloc(n + 1, sizeof *m->at);
    return m->at != NULL;
}

static inline void ps_lane_memo_fini(ps_lane_memo *m) {
    ps_free(m->at);
    m->at = NULL;
}

/* As ps_lanes_of(). Slices of one track, kind and category lie in one lane, but for marks of a stream, whose host ranges tell
 * it, and what is told by its name. */
static inline uint32_t ps_lane_memo_of(ps_lane_memo *m, uint32_t slice) {
    uint8_t kind = m->s->kind[slice];
    if (m->at == NULL || kind == PS_SLICE_MARK_DEVICE || kind == PS_SLICE_HOST_OTHER) {
        return ps_lanes_of(m->layer->lanes, m->layer->trace, slice);
    }
    ps_lane_memo_entry *e = &m->at[m->s->track[slice]];
    uint32_t category = m->s->category[slice].id;
    if (!e->is_set || e->kind != kind || e->category != category) {
        *e = (ps_lane_memo_entry){category, ps_lanes_of(m->layer->lanes, m->layer->trace, slice),
                                  kind, true};
    }
    return e->lane;
}

#endif
