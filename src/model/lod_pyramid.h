/* The index of one row of a lane: chunks of its slices, each with a pyramid of buckets. lod_pyramid.c says how it works. */
#ifndef PS_MODEL_LOD_PYRAMID_H
#define PS_MODEL_LOD_PYRAMID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/lod.h"
#include "model/trace.h"

#define PS_LOD_CHUNK 65536u
#define PS_LOD_CHUNK_LEVELS 6

/* The slices of a chunk that start in one bucket. All but the last of them, and the last. */
typedef struct ps_lod_node {
    uint32_t bucket;         /* from that of the chunk's first slice */
    uint16_t first, longest; /* places in the chunk; of all but the last */
    float longest_ns;        /* of all but the last; below 0: there is no other */
    float busy_ns;           /* of all but the last, together */
    float last_ns;
} ps_lod_node;

typedef struct ps_lod_chunk {
    int64_t first_start_ns, last_start_ns;
    ps_lod_node *nodes; /* of all levels, the finest first, each ending with the next one's start */
    ps_lod_node all;    /* of the whole chunk; `bucket` is not used */
    uint16_t level_at[PS_LOD_CHUNK_LEVELS + 1]; /* where a level's nodes begin; and the end */
    uint8_t level[PS_LOD_CHUNK_LEVELS];         /* as log2 of ns */
    uint8_t n_levels;
    uint8_t base; /* below this level the slices themselves are read */
} ps_lod_chunk;

/* A row as it is read. */
typedef struct ps_lod_row_view {
    const ps_slices *slices;
    const uint32_t *order; /* [n] */
    uint32_t n, row;
    const ps_lod_chunk *chunks; /* [ps_lod_n_chunks(n)] */
} ps_lod_row_view;

/* 0 for rows so short that they are read as they are. */
size_t ps_lod_n_chunks(uint32_t n);
/* Fills `chunks` (zeroed) for `order`; adds what it takes to *bytes. False when memory is out; ps_lod_chunks_fini() ends what
 * is there. */
bool ps_lod_chunks_init(ps_lod_chunk *chunks, const ps_slices *s, const uint32_t *order, uint32_t n,
                        size_t *bytes);
void ps_lod_chunks_fini(ps_lod_chunk *chunks, size_t n);

/* The first place in the row whose slice starts at or after `ns`. */
uint32_t ps_lod_lower(const ps_lod_row_view *v, int64_t ns);
/* Adds the entries of [from_ns, to_ns), which begins and ends with a bucket of 2^level, to `out`. */
PS_MUST_USE ps_code ps_lod_row_tile(const ps_lod_row_view *v, unsigned level, int64_t from_ns,
                                    int64_t to_ns, ps_lod_entries *out, ps_err *err);
/* Adds how long the row is busy in each bucket of the tile. */
void ps_lod_row_cover(const ps_lod_row_view *v, unsigned level, int64_t from_ns, int64_t to_ns,
                      int64_t busy_ns[PS_LOD_TILE]);

#endif
