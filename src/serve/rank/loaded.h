/* A rank in memory, and what is worked out of it when first asked for. All of it is read-only for callers and lives until
 * the rank is released. Functions that build say so; they may be called from any thread, one builds, the others wait. */
#ifndef PS_SERVE_LOADED_H
#define PS_SERVE_LOADED_H

#include "analyze/rank/links.h"
#include "analyze/rank/overlap.h"
#include "base/err.h"
#include "model/lod.h"
#include "model/trace.h"
#include "serve/rank/flows.h"
#include "serve/rank/lanes.h"
#include "write/out/theme.h"

typedef struct ps_loaded ps_loaded;

/* The profile, and the trace of what pipescope derives from it (overlap lanes; may have no slices). Same origin. */
enum { PS_LAYER_PROFILE, PS_LAYER_DERIVED, PS_N_LAYERS };

typedef struct ps_layer {
    const ps_trace *trace;
    ps_lod *lod;
    const ps_lanes *lanes;
    uint32_t first_slice, first_lane; /* numbers of its first slice and lane in the rank */
} ps_layer;

/* A slice as the outside counts them, taken apart. */
typedef struct ps_ref {
    const ps_layer *layer;
    uint32_t slice; /* row of the layer's trace */
} ps_ref;

const ps_layer *ps_loaded_layer(const ps_loaded *l, int layer);
uint32_t ps_loaded_n_slices(const ps_loaded *l); /* of all layers */
uint32_t ps_loaded_n_lanes(
    const ps_loaded *l); /* merged ones are of the profile's lod, and have numbers from here on */
bool ps_loaded_ref(const ps_loaded *l, uint32_t slice, ps_ref *out); /* false: no such slice */
bool ps_loaded_lane(const ps_loaded *l, uint32_t lane, const ps_layer **layer,
                    uint32_t *lane_in_layer);
/* Number of the lane of a slice, and its row in it (builds that lane). */
PS_MUST_USE ps_code ps_loaded_place(const ps_loaded *l, uint32_t slice, uint32_t *lane,
                                    uint32_t *row, ps_err *err);
/* The number of a lane made of others of the profile layer. */
uint32_t ps_loaded_merge(ps_loaded *l, const uint32_t *lanes, size_t n, ps_err *err);

/* The colour of a name, 0..PS_N_TINTS - 1: by its text alone, the same in every rank. Precomputed for all texts of a layer. */
uint8_t ps_loaded_tint(const ps_layer *layer, ps_str name);

/* Built when first asked for; NULL with PS_NOMEM. */
const ps_links *ps_loaded_links(const ps_loaded *l, ps_err *err);
const ps_overlaps *ps_loaded_overlaps(const ps_loaded *l, ps_err *err); /* with spans */
const ps_flow_index *ps_loaded_flows(const ps_loaded *l, ps_err *err);  /* of the profile layer */
const struct ps_shown_lanes *ps_loaded_shown_lanes(const ps_loaded *l, ps_err *err);

/* What the profile holds, counted once when it was read. */
typedef struct ps_loaded_facts {
    uint32_t n_of_kind[PS_N_SLICE_KINDS];
    int64_t start_ns,
        end_ns; /* first and last time of slices and counter values; both 0 when there is none */
} ps_loaded_facts;
const ps_loaded_facts *ps_loaded_facts_of(const ps_loaded *l);

/* Bytes in memory, apart. */
typedef struct ps_loaded_bytes {
    size_t columns, index, args, names, flows, counters, tables;
} ps_loaded_bytes;
ps_loaded_bytes ps_loaded_size(const ps_loaded *l);

#endif
