/* Counters seen from afar: of the values that were set in a bucket of time the last, the least and the most. Buckets and tiles
 * are those of lod.h. A tile costs its buckets, not the values in them. */
#ifndef PS_MODEL_COUNTER_LOD_H
#define PS_MODEL_COUNTER_LOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/trace.h"

typedef struct ps_counter_lod ps_counter_lod;

typedef struct ps_counter_point {
    double last, least, most; /* values that are no numbers count only when there are no others */
    int32_t bucket;           /* of the tile; -1: the value that holds where the tile begins */
} ps_counter_point;

typedef struct ps_counter_points {
    ps_counter_point *at; /* by bucket */
    size_t n, cap;
} ps_counter_points;

/* About a third of a byte a value. Does not keep `counters`, which must be given again below. NULL: PS_NOMEM. */
ps_counter_lod *ps_counter_lod_new(const ps_counters *counters, ps_err *err);
void ps_counter_lod_free(ps_counter_lod *lod); /* NULL is fine */
size_t ps_counter_lod_bytes(const ps_counter_lod *lod);

/* Adds what a tile of a track holds to `out` (zeroed at first; end with ps_counter_points_fini). Threads may call it at
 * once. */
PS_MUST_USE ps_code ps_counter_lod_tile(const ps_counter_lod *lod, const ps_counters *counters,
                                        uint32_t track, unsigned level, int64_t tile,
                                        ps_counter_points *out, ps_err *err);
void ps_counter_points_fini(ps_counter_points *points);

#endif
