/* What tiles, coverage and counters are asked for with: a rank, lanes, a level and a tile. */
#ifndef PS_SERVE_TILE_ASK_H
#define PS_SERVE_TILE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/http/route.h"
#include "serve/rank/loaded.h"

#define PS_ASK_MAX_LANES 65536

/* Lanes have numbers below this, merged ones too. */
uint32_t ps_lanes_end(const ps_loaded *l);

/* Parameter `lanes` (required): numbers of lanes. Whether `is_fixed`: none of them is merged. The number of a merged lane
 * depends on what was merged before, so an answer about it is not for keeping. */
bool ps_ask_lanes(const ps_request *q, ps_reply *r, const ps_loaded *l, uint32_t **lanes, size_t *n,
                  bool *is_fixed);

typedef struct ps_tile_ask {
    ps_loaded *loaded; /* release it */
    uint32_t *lanes;   /* [n_lanes] */
    size_t n_lanes;
    unsigned level;
    int64_t tile;
    int64_t start_ns; /* of the tile; of none that can hold anything: far away */
} ps_tile_ask;

/* So many lanes that gathering their tiles may take milliseconds: for ps_route.is_large. */
bool ps_asks_many_lanes(const ps_request *q);

/* False with the reply filled, and nothing to release. Sets the reply's is_immutable. */
bool ps_ask_tile(const ps_request *q, ps_reply *r, ps_tile_ask *out);

/* The reply's body becomes `size` zeroed bytes behind a head of four numbers and a pair for each lane, (lane, 0); NULL, with the
 * reply filled, when memory is out. Numbers are little endian, as on all machines that this program is built for. */
char *ps_tile_body(ps_reply *r, const ps_tile_ask *ask, uint32_t magic, size_t n, size_t size,
                   size_t align);

#endif
