/* Values come by track, then time. Over them stands a pyramid of extremes: one pair for each 64 values, then one for each 16
 * pairs, and so on, whatever the tracks: a bucket is a range of places, and the extremes of a range are put together of at
 * most some 190 values and pairs. The end of a bucket is found by steps that double. */
#include "model/counter_lod.h"

#include <math.h>

#include "base/alloc.h"
#include "base/order.h"
#include "model/lod.h"

enum { BASE = 64, FACTOR = 16, MAX_LEVELS = 8 };

typedef struct extremes {
    double least, most;
} extremes;

struct ps_counter_lod {
    extremes *at; /* of all levels, the finest first */
    size_t level_at[MAX_LEVELS + 1];
    size_t n_levels;
};

static const extremes NOTHING = {NAN, NAN};

static extremes joined(extremes a, extremes b) {
    return (extremes){fmin(a.least, b.least), fmax(a.most, b.most)};
}

static extremes of_values(const double *values, size_t n) {
    extremes e = NOTHING;
    for (size_t i = 0; i < n; i++) {
        e = joined(e, (extremes){values[i], values[i]});
    }
    return e;
}

static extremes of_pairs(const extremes *at, size_t n) {
    extremes e = NOTHING;
    for (size_t i = 0; i < n; i++) {
        e = joined(e, at[i]);
    }
    return e;
}

ps_counter_lod *ps_counter_lod_new(const ps_counters *counters, ps_err *err) {
    ps_counter_lod *lod = ps_calloc(1, sizeof *lod);
    if (lod == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    size_t n = (size_t)counters->n / BASE; /* whole ones only: the rest is read as it is */
    size_t total = 0;
    for (; n > 0 && lod->n_levels < MAX_LEVELS; n /= FACTOR) {
        lod->level_at[lod->n_levels++] = total;
        total += n;
    }
    lod->level_at[lod->n_levels] = total;
    lod->at = ps_alloc(total * sizeof *lod->at);
    if (lod->at == NULL) {
        ps_free(lod);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    for (size_t l = 0; l < lod->n_levels; l++) {
        extremes *out = lod->at + lod->level_at[l];
        for (size_t i = 0; i < lod->level_at[l + 1] - lod->level_at[l]; i++) {
            out[i] = l == 0 ? of_values(counters->value + i * BASE, BASE)
                            : of_pairs(lod->at + lod->level_at[l - 1] + i * FACTOR, FACTOR);
        }
    }
    return lod;
}

void ps_counter_lod_free(ps_counter_lod *lod) {
    if (lod != NULL) {
        ps_free(lod->at);
        ps_free(lod);
    }
}

size_t ps_counter_lod_bytes(const ps_counter_lod *lod) {
    return sizeof *lod + lod->level_at[lod->n_levels] * sizeof *lod->at;
}

void ps_counter_points_fini(ps_counter_points *points) {
    ps_free(points->at);
    *points = (ps_counter_points){0};
}

/* Of nodes [first, end) of a level and all above it. */
static extremes of_nodes(const ps_counter_lod *lod, size_t level, size_t first, size_t end) {
    extremes e = NOTHING;
    for (; level + 1 < lod->n_levels && end - first > 2 * FACTOR; level++) {
        const extremes *at = lod->at + lod->level_at[level];
        size_t up = (first + FACTOR - 1) / FACTOR;
        size_t up_end = end / FACTOR;
        e = joined(e, of_pairs(at + first, up * FACTOR - first));
        e = joined(e, of_pairs(at + up_end * FACTOR, end - up_end * FACTOR));
        first = up;
        end = up_end;
    }
    return joined(e, of_pairs(lod->at + lod->level_at[level] + first, end - first));
}

static extremes of_range(const ps_counter_lod *lod, const double *values, size_t first,
                         size_t end) {
    if (end - first < 2 * BASE) {
        return of_values(values + first, end - first);
    }
    size_t up = (first + BASE - 1) / BASE;
    size_t up_end = end / BASE;
    extremes e = joined(of_values(values + first, up * BASE - first),
                        of_values(values + up_end * BASE, end - up_end * BASE));
    return joined(e, of_nodes(lod, 0, up, up_end));
}

/* The values of a track: places [*first, *end). */
static void track_range(const ps_counters *c, uint32_t track, uint32_t *first, uint32_t *end) {
    for (int side = 0; side < 2; side++) {
        PS_PLACE(uint32_t, low, 0, c->n, middle,
                 c->track[middle] < track || (side == 1 && c->track[middle] == track))
        *(side == 0 ? first : end) = low;
    }
}

/* The first place of [first, end) at or after `ns`; near `first`, mostly. */
static uint32_t seek(const ps_counters *c, uint32_t first, uint32_t end, int64_t ns) {
    uint32_t step = 1;
    uint32_t low = first; /* all before it are earlier than ns */
    while (step < end - low && c->time_ns[low + step - 1] < ns) {
        low += step;
        step = step < UINT32_MAX / 2 ? step * 2 : step;
    }
    PS_PLACE(uint32_t, place, low, step < end - low ? low + step : end, i, c->time_ns[i] < ns)
    return place;
}

static bool put_extreme(ps_counter_points *out, double last, extremes e, int32_t bucket) {
    if (out->n == out->cap &&
        !ps_grow(&out->at, &out->cap, out->n + 1, SIZE_MAX / sizeof *out->at, sizeof *out->at)) {
        return false;
    }
    out->at[out->n++] = (ps_counter_point){last, e.least, e.most, bucket};
    return true;
}

ps_code ps_counter_lod_tile(const ps_counter_lod *lod, const ps_counters *c, uint32_t track,
                            unsigned level, int64_t tile, ps_counter_points *out, ps_err *err) {
    uint32_t first = 0;
    uint32_t end = 0;
    track_range(c, track, &first, &end);
    const int64_t limit_ns = INT64_C(1) << 62;
    int64_t length_ns = (int64_t)PS_LOD_TILE << level;
    if (first == end || tile >= limit_ns / length_ns || tile < -limit_ns / length_ns) {
        return PS_OK;
    }
    int64_t from_ns = tile * length_ns;
    uint32_t at = seek(c, first, end, from_ns);
    bool ok = true;
    if (at > first) {
        double value = c->value[at - 1];
        ok = put_extreme(out, value, (extremes){value, value}, -1);
    }
    while (ok && at < end && c->time_ns[at] - from_ns < length_ns) {
        int64_t bucket = (c->time_ns[at] - from_ns) >> level;
        uint32_t next = seek(c, at, end, from_ns + ((bucket + 1) << level));
        ok = put_extreme(out, c->value[next - 1], of_range(lod, c->value, at, next),
                         (int32_t)bucket);
        at = next;
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}
