/* Level of detail: what of a lane is worth drawing when a pixel covers many slices.
 *
 * A *lane* is a set of slices that are drawn together, in *rows*: slices by start, longer first, each in the lowest row that
 * is free then. The caller says which lane a slice belongs to; rows and the index of a lane are built when it is first
 * looked at, each once, from any thread.
 *
 * Time is cut into buckets of 2^level ns from the trace's origin, and those into tiles of PS_LOD_TILE buckets: tile t of
 * level l covers [t, t + 1) * PS_LOD_TILE * 2^l. A tile holds, for each row,
 *   - every slice that is at least one bucket long, exactly, also when it only reaches into the tile;
 *   - for each bucket the others that start in it as one entry: how many, how long together, and the longest of them; a
 *     single one is exact, also when it only reaches into the tile.
 * So nothing disappears: density is drawn. Counts of what starts in tiles that lie side by side add up to the row's slices.
 *
 * Index: the slices of a row in order (4 bytes a slice), the row of each slice (1), and for every 65,536 slices of a row a
 * pyramid of buckets, from the level with 18 slices a bucket upwards (at most 1.5). A tile costs its entries, not the slices
 * below it; see lod_pyramid.c for why no mixture of densities changes that. In the last row of a lane that is too deep slices
 * overlap: of those that started before a tile only the last is looked at. */
#ifndef PS_MODEL_LOD_H
#define PS_MODEL_LOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/trace.h"

#define PS_LOD_TILE 1024
#define PS_LOD_MAX_LEVEL 52    /* one bucket of 52 days */
#define PS_LOD_MAX_ROWS 65535u /* deeper slices share the last row, and are counted */

typedef struct ps_lod ps_lod;

/* What is drawn of one slice or of several in a bucket. Times are from the trace's origin. */
typedef struct ps_lod_entry {
    int64_t start_ns,
        end_ns; /* of the slice; of several: the first start and the last end, within the bucket */
    int64_t busy_ns; /* of them together, at most end - start of the bucket */
    uint32_t slice;  /* the slice, or the longest of several */
    uint32_t count;  /* 1: exactly this slice */
    uint32_t row;
} ps_lod_entry;

typedef struct ps_lod_entries {
    ps_lod_entry *at; /* by row, then start */
    size_t n, cap;
} ps_lod_entries;

/* `lane_of`[n slices of the trace] is copied into the grouping and not kept; PS_NONE: in no lane. Groups the slices in one
 * pass, builds nothing else. The trace must outlive it. NULL: PS_NOMEM. */
ps_lod *ps_lod_new(const ps_trace *trace, const uint32_t *lane_of, uint32_t n_lanes, ps_err *err);
void ps_lod_free(ps_lod *lod); /* NULL is fine */

uint32_t ps_lod_n_lanes(const ps_lod *lod);
uint32_t ps_lod_n_slices(const ps_lod *lod, uint32_t lane);
/* First start and last end in a lane; false when it is empty. */
bool ps_lod_span(const ps_lod *lod, uint32_t lane, int64_t *start_ns, int64_t *end_ns);

/* A lane made of others (streams drawn as one; n > 0, merged ones may be among them); its number, or the one that was made of
 * the same lanes before. The slices keep their own lanes too. PS_NONE with `err`: PS_NOMEM. */
uint32_t ps_lod_merge(ps_lod *lod, const uint32_t *lanes, size_t n, ps_err *err);

/* The functions below build the lane's rows when they are not there (PS_NOMEM is all that can fail). Threads may call them
 * at once; one builds, the others wait for that lane. */

PS_MUST_USE ps_code ps_lod_build(ps_lod *lod, uint32_t lane, ps_err *err);
/* The rows of all lanes, on `n_threads` (0: one per processor). */
PS_MUST_USE ps_code ps_lod_build_all(ps_lod *lod, size_t n_threads, ps_err *err);

/* Of a lane that is built: rows, and the slices of one row in order of start. */
uint32_t ps_lod_n_rows(const ps_lod *lod, uint32_t lane);
const uint32_t *ps_lod_row(const ps_lod *lod, uint32_t lane, uint32_t row, uint32_t *n);
/* The row of a slice in its own lane, which is built. (In a merged lane: ps_lod_row_in.) */
uint32_t ps_lod_row_of(const ps_lod *lod, uint32_t slice);
uint32_t ps_lod_row_in(const ps_lod *lod, uint32_t lane, uint32_t slice); /* PS_NONE: not in it */
/* Slices of a row that end after `from_ns` (or start there) and start before `to_ns`: positions [*first, *end) in
 * ps_lod_row. */
void ps_lod_row_range(const ps_lod *lod, uint32_t lane, uint32_t row, int64_t from_ns,
                      int64_t to_ns, uint32_t *first, uint32_t *end);

/* Adds a tile's entries to `out` (zeroed at first; end with ps_lod_entries_fini). */
PS_MUST_USE ps_code ps_lod_tile(ps_lod *lod, uint32_t lane, unsigned level, int64_t tile,
                                ps_lod_entries *out, ps_err *err);
void ps_lod_entries_fini(ps_lod_entries *entries);

/* How busy each bucket of a tile is over several lanes, as the busiest of their rows: 0..255 each, at least 1 where
 * anything is. For collapsed processes and the minimap. */
PS_MUST_USE ps_code ps_lod_coverage(ps_lod *lod, const uint32_t *lanes, size_t n_lanes,
                                    unsigned level, int64_t tile, uint8_t out[PS_LOD_TILE],
                                    ps_err *err);

/* Bytes of the index as built so far. */
size_t ps_lod_bytes(const ps_lod *lod);

#endif
