/* A box over lanes: the slices of some rows that touch a span of time; and sets of slices, a bit each. */
#ifndef PS_SERVE_SLICE_BOX_H
#define PS_SERVE_SLICE_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/http/route.h"
#include "serve/rank/loaded.h"

/* Rows of a lane; UINT32_MAX as `last`: all from `first` on. */
typedef struct ps_box_lane {
    uint32_t lane, first_row, last_row;
} ps_box_lane;

typedef struct ps_slice_box {
    ps_box_lane *lanes; /* in the reply's arena */
    size_t n_lanes;
    int64_t from_ns, to_ns;
    bool is_fixed;         /* no lane is merged */
    const ps_watch *watch; /* of the request, or NULL */
} ps_slice_box;

/* Parameters lanes, from, to, and rows: "LANE:a-b,..." restricts those lanes to these rows. */
bool ps_ask_box(const ps_request *q, ps_reply *r, const ps_loaded *l, ps_slice_box *out);

/* Adds what tells this box of this rank from others, for the cache. */
void ps_slice_box_key(const ps_request *q, const ps_slice_box *box, const char *what, ps_buf *key);

/* The slices of one row in a box: order[first..end); the row below for self times, NULL when there is none. */
typedef struct ps_box_row {
    const ps_layer *layer;
    const uint32_t *order;
    uint32_t first, end;
    const uint32_t *below;
    uint32_t below_first, below_end;
} ps_box_row;

/* Row by row; builds the lanes. PS_NOMEM, PS_BUSY, or what `each` gives when it is not PS_OK. */
PS_MUST_USE ps_code ps_box_walk(const ps_loaded *l, const ps_slice_box *box,
                                ps_code (*each)(void *context, const ps_box_row *row, ps_err *err),
                                void *context, ps_err *err);

/* Slices of a rank, by layer, then start; about n / 7 bytes for n slices in the rank. */
typedef struct ps_slice_set {
    uint64_t *bits[PS_N_LAYERS];   /* [n_words] */
    uint32_t *before[PS_N_LAYERS]; /* how many are in the words before each block */
    size_t n_words[PS_N_LAYERS];
    uint32_t first_slice[PS_N_LAYERS], n[PS_N_LAYERS];
} ps_slice_set;

/* Empty, with room for all slices of the rank; end with ps_slice_set_fini(). */
PS_MUST_USE ps_code ps_slice_set_init(ps_slice_set *set, const ps_loaded *l, ps_err *err);
void ps_slice_set_fini(ps_slice_set *set);
size_t ps_slice_set_bytes(const ps_slice_set *set);

/* False: it was there. `slice` is that of the layer. */
bool ps_slice_set_add(ps_slice_set *set, int layer, uint32_t slice);
/* After the last one was added: what ps_slice_set_at() needs. */
PS_MUST_USE ps_code ps_slice_set_close(ps_slice_set *set, ps_err *err);
size_t ps_slice_set_n(const ps_slice_set *set);
/* Number i of them, as the rank counts slices. i < n. */
uint32_t ps_slice_set_at(const ps_slice_set *set, size_t i);
/* The first slice of a layer from `slice` on, PS_NONE when there is none. */
uint32_t ps_slice_set_next(const ps_slice_set *set, int layer, uint32_t slice);

#endif
