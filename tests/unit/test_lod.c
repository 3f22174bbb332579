/* Rows and levels of detail against the plainest way to work them out. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "model/lod.h"
#include "support/sanitized.h"

#define LENGTH_OF(a) (sizeof(a) / sizeof *(a))

/* --- lanes of all sorts -------------------------------------------------------------------------------- */

typedef enum shape {
    NESTED,    /* calls within calls */
    OVERLAPS,  /* anything with anything */
    TOUCHING,  /* one row, dense */
    BURSTS,    /* short ones close together, then nothing for hours */
    INSTANTS,  /* no length, many at one time */
    MIXED,     /* one row: dense parts, sparse parts, long ones */
    ONE_TIME,  /* all at once, without length */
    FAR_APART, /* days between */
    N_SHAPES
} shape;

static int64_t pick(ps_rng *rng, int64_t n) {
    return (int64_t)ps_rng_below(rng, (uint64_t)n);
}

static void next_slice(shape kind, ps_rng *rng, uint32_t i, int64_t *now, int64_t *start,
                       int64_t *end) {
    static const int64_t DENSITY[] = {2, 50, 3000, 1000000};
    *start = *now;
    switch (kind) {
    case TOUCHING:
        *end = *start + 1 + pick(rng, 9);
        *now = *end;
        return;
    case BURSTS:
        *end = *start + pick(rng, 3);
        *now = *end + (i % 1000 == 999 ? INT64_C(3600000000000) : pick(rng, 2));
        return;
    case INSTANTS:
        *end = *start + (pick(rng, 4) == 0 ? pick(rng, 10) : 0);
        *now = *start + (pick(rng, 3) == 0 ? pick(rng, 20) : 0);
        return;
    case MIXED: {
        int64_t density = DENSITY[i / 20000 % LENGTH_OF(DENSITY)];
        *end = *start + pick(rng, pick(rng, 50) == 0 ? 100 * density : density);
        *now = *end + pick(rng, density);
        return;
    }
    case ONE_TIME:
        *end = *start;
        return;
    case FAR_APART:
        *end = *start + pick(rng, 1000);
        *now += INT64_C(1) << pick(rng, 46);
        return;
    default: /* OVERLAPS */
        *end = *start + pick(rng, pick(rng, 30) == 0 ? 100000 : 300);
        *now += pick(rng, 60);
        return;
    }
}

/* Calls within calls, in any order of building. */
static void add_nested(ps_builder *b, ps_rng *rng, uint32_t track, int64_t start, int64_t end,
                       int depth, uint32_t *left) {
    if (*left == 0) {
        return;
    }
    (*left)--;
    (void)ps_builder_slice(b, PS_SLICE_PYTHON, track, PS_STR_NONE, start, end, 0);
    int64_t at = start;
    while (depth < 40 && end - at > 3 && *left > 0) {
        int64_t child = at + pick(rng, (end - at) / 3 + 1);
        int64_t child_end = child + pick(rng, (end - child) / 2 + 2);
        add_nested(b, rng, track, child, child_end < end ? child_end : end, depth + 1, left);
        at = child_end + 1;
    }
}

/* `n` slices of a shape, in lane 0; every tenth in lane 1, every eleventh in none. */
static ps_trace *make(shape kind, uint32_t n, uint64_t seed, uint32_t **lane_of) {
    ps_rng rng = ps_rng_seed(seed);
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t track = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 1});
    int64_t now = pick(&rng, 5000);
    if (kind == NESTED) {
        for (uint32_t left = n; left > 0; now += 2000000) {
            add_nested(b, &rng, track, now, now + 1900000, 0, &left);
        }
    } else {
        for (uint32_t i = 0; i < n; i++) {
            int64_t start = 0;
            int64_t end = 0;
            next_slice(kind, &rng, i, &now, &start, &end);
            (void)ps_builder_slice(b, PS_SLICE_KERNEL, track, PS_STR_NONE, start, end, 0);
        }
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    *lane_of = calloc(n, sizeof **lane_of);
    assert_non_null(*lane_of);
    for (uint32_t i = 0; i < n; i++) {
        (*lane_of)[i] = i % 11 == 7 ? PS_NONE : i % 10 == 3;
    }
    return t;
}

/* --- the plainest way ---------------------------------------------------------------------------------- */

typedef struct plain {
    const ps_slices *s;
    uint32_t *slices; /* of the lane, in order */
    uint32_t *row;    /* of each */
    uint32_t n, n_rows;
    uint32_t *of_rows;    /* the same slices, row after row */
    uint32_t *row_begins; /* n_rows + 1: where each row begins in of_rows */
} plain;

static plain plain_of(const ps_trace *t, const uint32_t *lane_of, uint32_t lane, bool any_lane) {
    plain p = {.s = ps_trace_slices(t)};
    p.slices = calloc(p.s->n + 1, sizeof *p.slices);
    p.row = calloc(p.s->n + 1, sizeof *p.row);
    int64_t *ends = calloc(p.s->n + 1, sizeof *ends);
    assert_true(p.slices != NULL && p.row != NULL && ends != NULL);
    for (uint32_t i = 0; i < p.s->n; i++) {
        if (any_lane ? lane_of[i] == PS_NONE : lane_of[i] != lane) {
            continue;
        }
        uint32_t row = 0;
        while (row < p.n_rows && ends[row] > p.s->start_ns[i]) {
            row++;
        }
        p.n_rows = row == p.n_rows ? row + 1 : p.n_rows;
        ends[row] = p.s->start_ns[i] + p.s->dur_ns[i];
        p.slices[p.n] = i;
        p.row[p.n++] = row;
    }
    free(ends);
    p.of_rows = calloc(p.n + 1, sizeof *p.of_rows);
    p.row_begins = calloc(p.n_rows + 2, sizeof *p.row_begins);
    assert_true(p.of_rows != NULL && p.row_begins != NULL);
    for (uint32_t i = 0; i < p.n; i++) {
        p.row_begins[p.row[i] + 2]++;
    }
    for (uint32_t row = 0; row < p.n_rows; row++) {
        p.row_begins[row + 2] += p.row_begins[row + 1];
    }
    for (uint32_t i = 0; i < p.n; i++) {
        p.of_rows[p.row_begins[p.row[i] + 1]++] = p.slices[i];
    }
    return p;
}

static void plain_end(plain *p) {
    free(p->slices);
    free(p->row);
    free(p->of_rows);
    free(p->row_begins);
}

static int64_t end_of(const ps_slices *s, uint32_t i) {
    return s->start_ns[i] + s->dur_ns[i];
}

/* Slices of a row that start in one bucket: bucket[0..n). Appends what is drawn of them in [from, to). */
static size_t plain_bucket(const plain *p, const uint32_t *bucket, size_t n, unsigned level,
                           uint32_t row, int64_t from, int64_t to, ps_lod_entry *out) {
    const ps_slices *s = p->s;
    int64_t length = INT64_C(1) << level;
    size_t n_short = n - (s->dur_ns[bucket[n - 1]] >= length ? 1 : 0);
    size_t n_out = 0;
    bool starts_here = s->start_ns[bucket[0]] >= from;
    if (n_short > 1 && starts_here) {
        ps_lod_entry e = {.start_ns = s->start_ns[bucket[0]], .row = row};
        e.slice = bucket[0];
        for (size_t i = 0; i < n_short; i++) {
            e.busy_ns += s->dur_ns[bucket[i]];
            e.slice = s->dur_ns[bucket[i]] > s->dur_ns[e.slice] ? bucket[i] : e.slice;
        }
        int64_t bucket_end = ((e.start_ns >> level) + 1) * length;
        int64_t end = end_of(s, bucket[n_short - 1]);
        e.end_ns = end < bucket_end ? end : bucket_end;
        e.busy_ns = e.busy_ns < e.end_ns - e.start_ns ? e.busy_ns : e.end_ns - e.start_ns;
        e.count = (uint32_t)n_short;
        out[n_out++] = e;
    }
    for (size_t i = 0; i < n; i++) {
        bool exact = n_short == 1 || i >= n_short;
        if (exact && (starts_here || end_of(s, bucket[i]) > from)) {
            out[n_out++] = (ps_lod_entry){s->start_ns[bucket[i]],
                                          end_of(s, bucket[i]),
                                          s->dur_ns[bucket[i]],
                                          bucket[i],
                                          1,
                                          row};
        }
    }
    (void)to;
    return n_out;
}

static size_t plain_tile(const plain *p, unsigned level, int64_t from, int64_t to,
                         ps_lod_entry *out) {
    size_t n_out = 0;
    for (uint32_t row = 0; row < p->n_rows; row++) {
        const uint32_t *at = p->of_rows + p->row_begins[row];
        const uint32_t *end = p->of_rows + p->row_begins[row + 1];
        while (at < end && p->s->start_ns[*at] < to) {
            const uint32_t *bucket = at++;
            while (at < end && p->s->start_ns[*at] < to &&
                   p->s->start_ns[*at] >> level == p->s->start_ns[*bucket] >> level) {
                at++;
            }
            n_out +=
                plain_bucket(p, bucket, (size_t)(at - bucket), level, row, from, to, out + n_out);
        }
    }
    return n_out;
}

/* --- comparing ----------------------------------------------------------------------------------------- */

static void expect_tile(ps_lod *lod, uint32_t lane, const plain *p, unsigned level, int64_t tile,
                        ps_lod_entry *room) {
    int64_t length = (int64_t)PS_LOD_TILE << level;
    size_t n = plain_tile(p, level, tile * length, tile * length + length, room);
    ps_lod_entries got = {0};
    assert_int_equal(ps_lod_tile(lod, lane, level, tile, &got, NULL), PS_OK);
    assert_int_equal(got.n, n);
    for (size_t i = 0; i < n; i++) {
        const ps_lod_entry *g = &got.at[i];
        assert_int_equal(g->row, room[i].row);
        assert_true(g->start_ns == room[i].start_ns);
        assert_true(g->end_ns == room[i].end_ns);
        assert_int_equal(g->count, room[i].count);
        assert_int_equal(g->slice, room[i].slice);
        double off = fabs((double)(g->busy_ns - room[i].busy_ns));
        assert_true(off <= 1 + 1e-5 * (double)room[i].busy_ns);
    }
    ps_lod_entries_fini(&got);
}

static void expect_rows(const ps_lod *lod, uint32_t lane, const plain *p, bool own) {
    assert_int_equal(ps_lod_n_slices(lod, lane), p->n);
    assert_int_equal(ps_lod_n_rows(lod, lane), p->n_rows);
    uint32_t *next = calloc(p->n_rows + 1, sizeof *next);
    assert_non_null(next);
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t n = 0;
        const uint32_t *row = ps_lod_row(lod, lane, p->row[i], &n);
        assert_true(next[p->row[i]] < n);
        assert_int_equal(row[next[p->row[i]]++], p->slices[i]);
        if (own) {
            assert_int_equal(ps_lod_row_of(lod, p->slices[i]), p->row[i]);
        } else if (i % 97 == 0) {
            assert_int_equal(ps_lod_row_in(lod, lane, p->slices[i]), p->row[i]);
        }
    }
    free(next);
}

/* Tiles at the first, the last and some other slices, at each level. */
static void expect_lane(ps_lod *lod, uint32_t lane, const plain *p, uint64_t seed) {
    ps_rng rng = ps_rng_seed(seed);
    ps_lod_entry *room = calloc(2 * (size_t)p->n + 1, sizeof *room);
    assert_non_null(room);
    for (unsigned level = 0; level <= PS_LOD_MAX_LEVEL; level++) {
        uint32_t at[] = {0, (uint32_t)pick(&rng, p->n), (uint32_t)pick(&rng, p->n), p->n - 1};
        size_t n_at = p->n > 10000 && level % 3 != 0 ? 2 : LENGTH_OF(at);
        for (size_t i = 0; i < n_at; i++) {
            int64_t tile = p->s->start_ns[p->slices[at[i]]] >> level >> 10;
            expect_tile(lod, lane, p, level, tile, room);
            if (i == 1 && level < PS_LOD_MAX_LEVEL) { /* their ends fit */
                expect_tile(lod, lane, p, level, tile + 1, room);
                expect_tile(lod, lane, p, level, tile - 1, room);
            }
        }
    }
    free(room);
}

static void check_shape(shape kind, uint32_t n, uint64_t seed) {
    uint32_t *lane_of = NULL;
    ps_trace *t = make(kind, n, seed, &lane_of);
    ps_lod *lod = ps_lod_new(t, lane_of, 2, NULL);
    assert_non_null(lod);
    for (uint32_t lane = 0; lane < 2; lane++) {
        plain p = plain_of(t, lane_of, lane, false);
        assert_int_equal(ps_lod_build(lod, lane, NULL), PS_OK);
        expect_rows(lod, lane, &p, true);
        expect_lane(lod, lane, &p, seed + lane);
        plain_end(&p);
    }
    uint32_t merged = ps_lod_merge(lod, (uint32_t[]){1, 0, 1}, 3, NULL);
    assert_int_equal(merged, 2);
    assert_int_equal(ps_lod_merge(lod, (uint32_t[]){0, 1}, 2, NULL), 2);
    assert_int_equal(ps_lod_merge(lod, (uint32_t[]){merged, 1}, 2, NULL), 2);
    assert_int_equal(ps_lod_merge(lod, (uint32_t[]){1, 1}, 2, NULL), 1);
    assert_int_equal(ps_lod_n_lanes(lod), 3);
    assert_int_equal(ps_lod_build(lod, merged, NULL), PS_OK);
    plain both = plain_of(t, lane_of, 0, true);
    expect_rows(lod, merged, &both, false);
    if (n < 10000) {
        expect_lane(lod, merged, &both, seed);
    }
    plain_end(&both);
    ps_lod_free(lod);
    ps_trace_free(t);
    free(lane_of);
}

static void small_lanes_of_all_shapes(void **state) {
    (void)state;
    for (int kind = 0; kind < N_SHAPES; kind++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            check_shape((shape)kind, seed == 1 ? 60 : 1500, seed);
        }
    }
}

/* Several chunks: pyramids, buckets over their edges. */
static void long_rows_of_all_shapes(void **state) {
    (void)state;
    static const shape LONG[] = {TOUCHING, BURSTS, INSTANTS, MIXED, ONE_TIME, FAR_APART};
    for (size_t i = 0; i < LENGTH_OF(LONG); i++) {
        check_shape(LONG[i], PS_ROUNDS(160000, 66000), 10 + i);
    }
    check_shape(NESTED, 40000, 30);
}

/* Each slice is counted once, in the tile in which it starts, whatever the level. */
static void counts_add_up(void **state) {
    (void)state;
    for (int kind = 0; kind < N_SHAPES; kind++) {
        uint32_t *lane_of = NULL;
        ps_trace *t = make((shape)kind, PS_ROUNDS(80000, 20000), 77, &lane_of);
        ps_lod *lod = ps_lod_new(t, lane_of, 2, NULL);
        assert_non_null(lod);
        int64_t start = 0;
        int64_t end = 0;
        assert_true(ps_lod_span(lod, 0, &start, &end));
        for (unsigned level = 0; level <= PS_LOD_MAX_LEVEL; level++) {
            int64_t first = start >> level >> 10;
            int64_t last = end >> level >> 10;
            uint64_t n = 0;
            for (int64_t tile = first; last - first < 200 && tile <= last; tile++) {
                ps_lod_entries got = {0};
                assert_int_equal(ps_lod_tile(lod, 0, level, tile, &got, NULL), PS_OK);
                for (size_t i = 0; i < got.n; i++) {
                    n += got.at[i].start_ns >> level >> 10 == tile ? got.at[i].count : 0;
                }
                ps_lod_entries_fini(&got);
            }
            assert_true(last - first >= 200 || n == ps_lod_n_slices(lod, 0));
        }
        ps_lod_free(lod);
        ps_trace_free(t);
        free(lane_of);
    }
}

/* --- by hand --------------------------------------------------------------------------------------------- */

typedef struct span {
    int64_t start, end;
} span;

static ps_lod *of_spans(const span *spans, uint32_t n, ps_trace **t) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t track = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM});
    for (uint32_t i = 0; i < n; i++) {
        (void)ps_builder_slice(b, PS_SLICE_KERNEL, track, PS_STR_NONE, spans[i].start, spans[i].end,
                               i);
    }
    *t = ps_builder_seal(b, NULL);
    uint32_t *lane_of = calloc(n + 1, sizeof *lane_of);
    assert_true(*t != NULL && lane_of != NULL);
    ps_lod *lod = ps_lod_new(*t, lane_of, 1, NULL);
    assert_non_null(lod);
    free(lane_of);
    return lod;
}

/* Level 4, buckets of 16:  [0,3) [5,8) in bucket 0, [16,40) long, [50,51) alone. */
static void entries_by_hand(void **state) {
    (void)state;
    ps_trace *t = NULL;
    ps_lod *lod = of_spans((span[]){{0, 3}, {5, 8}, {9, 9}, {16, 40}, {50, 51}}, 5, &t);
    ps_lod_entries got = {0};
    assert_int_equal(ps_lod_tile(lod, 0, 4, 0, &got, NULL), PS_OK);
    assert_int_equal(got.n, 3);
    assert_int_equal(got.at[0].count, 3);
    assert_int_equal(got.at[0].start_ns, 0);
    assert_int_equal(got.at[0].end_ns, 9);
    assert_int_equal(got.at[0].busy_ns, 6);
    assert_int_equal(got.at[0].slice, 0);
    assert_int_equal(got.at[1].count, 1);
    assert_int_equal(got.at[1].end_ns, 40);
    assert_int_equal(got.at[2].slice, 4);
    assert_int_equal(got.at[2].busy_ns, 1);
    ps_lod_entries_fini(&got);
    ps_lod_free(lod);
    ps_trace_free(t);
}

/* A slice over several tiles is in each of them, and in no other; far away there is nothing. */
static void what_reaches_in_is_there(void **state) {
    (void)state;
    ps_trace *t = NULL;
    ps_lod *lod = of_spans((span[]){{0, 1}, {1000, 5000}, {5000, 5001}}, 3, &t);
    for (int64_t tile = -1; tile < 8; tile++) {
        ps_lod_entries got = {0};
        assert_int_equal(ps_lod_tile(lod, 0, 0, tile, &got, NULL), PS_OK);
        static const size_t N[] = {0, 2, 1, 1, 1, 2, 0, 0, 0};
        assert_int_equal(got.n, N[tile + 1]);
        ps_lod_entries_fini(&got);
    }
    ps_lod_entries got = {0};
    assert_int_equal(ps_lod_tile(lod, 0, 52, INT64_MAX, &got, NULL), PS_OK);
    assert_int_equal(ps_lod_tile(lod, 0, 52, INT64_MIN, &got, NULL), PS_OK);
    assert_int_equal(ps_lod_tile(lod, 0, 0, INT64_MAX, &got, NULL), PS_OK);
    assert_int_equal(ps_lod_tile(lod, 0, 0, INT64_MIN, &got, NULL), PS_OK);
    assert_int_equal(got.n, 0);
    assert_int_equal(ps_lod_tile(lod, 0, 52, 0, &got, NULL), PS_OK);
    assert_int_equal(got.n, 1);
    assert_int_equal(got.at[0].count, 3);
    assert_int_equal(got.at[0].slice, 1);
    ps_lod_entries_fini(&got);
    ps_lod_free(lod);
    ps_trace_free(t);
}

static void ranges_of_a_row(void **state) {
    (void)state;
    ps_trace *t = NULL;
    ps_lod *lod = of_spans((span[]){{0, 10}, {10, 20}, {20, 20}, {30, 40}}, 4, &t);
    assert_int_equal(ps_lod_build(lod, 0, NULL), PS_OK);
    static const struct {
        int64_t from, to;
        uint32_t first, end;
    } CASES[] = {{0, 100, 0, 4}, {5, 6, 0, 1},   {10, 11, 1, 2}, {20, 21, 2, 3}, {21, 29, 3, 3},
                 {35, 99, 3, 4}, {40, 50, 4, 4}, {-9, 0, 0, 0},  {15, 30, 1, 3}};
    for (size_t i = 0; i < LENGTH_OF(CASES); i++) {
        uint32_t first = 0;
        uint32_t end = 0;
        ps_lod_row_range(lod, 0, 0, CASES[i].from, CASES[i].to, &first, &end);
        assert_int_equal(first, CASES[i].first);
        assert_int_equal(end, CASES[i].end);
    }
    ps_lod_free(lod);
    ps_trace_free(t);
}

/* Half a bucket of one row and a full one of another: the busiest counts; little is not nothing. */
static void coverage_is_the_busiest_row(void **state) {
    (void)state;
    ps_trace *t = NULL;
    ps_lod *lod =
        of_spans((span[]){{0, 48}, {0, 8}, {32, 36}, {64, 64}, {16 * 1024 - 1, 99999}}, 5, &t);
    uint8_t out[PS_LOD_TILE];
    assert_int_equal(ps_lod_coverage(lod, (uint32_t[]){0}, 1, 4, 0, out, NULL), PS_OK);
    assert_int_equal(out[0], 255);
    assert_int_equal(out[2], 255);
    assert_int_equal(out[3], 0);
    assert_true(out[4] >= 1 && out[4] < 32);
    assert_true(out[1023] >= 1 && out[1023] < 32);
    assert_int_equal(ps_lod_coverage(lod, (uint32_t[]){0}, 1, 4, 1, out, NULL), PS_OK);
    assert_int_equal(out[0], 255);
    assert_int_equal(ps_lod_coverage(lod, (uint32_t[]){0}, 1, 6, 0, out, NULL), PS_OK);
    assert_int_equal(out[0], 192); /* 48 of 64 */
    ps_lod_free(lod);
    ps_trace_free(t);
}

/* Of all lanes at some tiles: the busiest row to one 255th, and something where there is something. */
static void coverage_by_the_plainest_way(void **state) {
    (void)state;
    static const shape SHAPES[] = {NESTED, OVERLAPS, TOUCHING, MIXED, BURSTS, INSTANTS, FAR_APART};
    for (size_t k = 0; k < LENGTH_OF(SHAPES); k++) {
        uint32_t *lane_of = NULL;
        ps_trace *t = make(SHAPES[k], 20000, 50 + k, &lane_of);
        ps_lod *lod = ps_lod_new(t, lane_of, 2, NULL);
        assert_non_null(lod);
        plain p = plain_of(t, lane_of, 0, false);
        double *busy = calloc(((size_t)p.n_rows + 1) * PS_LOD_TILE, sizeof *busy);
        assert_non_null(busy);
        for (unsigned level = 0; level < 50; level += 3) {
            int64_t tile = p.s->start_ns[p.slices[p.n / 2]] >> level >> 10;
            int64_t from = tile * ((int64_t)PS_LOD_TILE << level);
            memset(busy, 0, (size_t)p.n_rows * PS_LOD_TILE * sizeof *busy);
            for (uint32_t i = 0; i < p.n; i++) {
                int64_t start = p.s->start_ns[p.slices[i]] - from;
                int64_t end = end_of(p.s, p.slices[i]) - from;
                end += end == start;
                for (int64_t b = start > 0 ? start >> level : 0;
                     b < PS_LOD_TILE && b << level < end; b++) {
                    int64_t in = start > b << level ? start : b << level;
                    int64_t out = end < (b + 1) << level ? end : (b + 1) << level;
                    busy[p.row[i] * PS_LOD_TILE + b] += (double)(out - in);
                }
            }
            uint8_t out[PS_LOD_TILE];
            assert_int_equal(ps_lod_coverage(lod, (uint32_t[]){0}, 1, level, tile, out, NULL),
                             PS_OK);
            for (size_t b = 0; b < PS_LOD_TILE; b++) {
                double most = 0;
                for (uint32_t r = 0; r < p.n_rows; r++) {
                    most = fmax(most, busy[r * PS_LOD_TILE + b]);
                }
                double part = 255 * fmin(1, most / (double)(INT64_C(1) << level));
                assert_int_equal(out[b] > 0, part > 0);
                /* Several instants in a bucket count as one nanosecond. */
                bool has_instants = SHAPES[k] == BURSTS || SHAPES[k] == INSTANTS;
                assert_true(has_instants || SHAPES[k] == MIXED || fabs(out[b] - part) < 2 ||
                            level < 6);
            }
        }
        free(busy);
        plain_end(&p);
        ps_lod_free(lod);
        ps_trace_free(t);
        free(lane_of);
    }
}

/* A row that is a few slices longer than a whole number of chunks: the last one has fewer slices than a node should. */
static void short_last_chunks(void **state) {
    (void)state;
    enum { CHUNK = 65536, MOST = CHUNK + 40 };
    static const uint32_t MORE[] = {1, 2, 17, 18, 35, 36, 40};
    span *spans = calloc(MOST, sizeof *spans);
    assert_non_null(spans);
    for (size_t k = 0; k < LENGTH_OF(MORE); k++) {
        uint32_t n = CHUNK + MORE[k];
        for (uint32_t i = 0; i < n; i++) {
            spans[i] = (span){(int64_t)i * 10, (int64_t)i * 10 + 4};
        }
        ps_trace *t = NULL;
        ps_lod *lod = of_spans(spans, n, &t);
        for (unsigned level = 0; level <= PS_LOD_MAX_LEVEL; level += 13) {
            int64_t tile = (int64_t)(n - 1) * 10 >> level >> 10; /* where the row ends */
            ps_lod_entries got = {0};
            assert_int_equal(ps_lod_tile(lod, 0, level, tile, &got, NULL), PS_OK);
            assert_true(got.n > 0);
            assert_int_equal(got.at[got.n - 1].end_ns, (int64_t)(n - 1) * 10 + 4);
            ps_lod_entries_fini(&got);
        }
        ps_lod_free(lod);
        ps_trace_free(t);
    }
    free(spans);
}

/* Slices that overlap in the last row are longer together than a number of ns can say. */
static void endless_slices_in_the_last_row(void **state) {
    (void)state;
    enum { N = PS_LOD_MAX_ROWS + 3000 };
    const int64_t far = (INT64_C(1) << 61) - 1;
    span *spans = calloc(N, sizeof *spans);
    assert_non_null(spans);
    for (int i = 0; i < N; i++) {
        spans[i] = (span){-far + i, far - i};
    }
    ps_trace *t = NULL;
    ps_lod *lod = of_spans(spans, N, &t);
    ps_lod_entries got = {0};
    assert_int_equal(ps_lod_tile(lod, 0, 30, 0, &got, NULL), PS_OK);
    for (size_t i = 0; i < got.n; i++) {
        assert_true(got.at[i].busy_ns > 0);
        assert_true(got.at[i].busy_ns <= got.at[i].end_ns - got.at[i].start_ns);
    }
    ps_lod_entries_fini(&got);
    uint8_t busy[PS_LOD_TILE];
    const uint32_t lanes[] = {0};
    for (unsigned level = 0; level <= PS_LOD_MAX_LEVEL; level += 26) {
        assert_int_equal(ps_lod_coverage(lod, lanes, 1, level, 0, busy, NULL), PS_OK);
        assert_int_equal(busy[0], 255);
    }
    ps_lod_free(lod);
    ps_trace_free(t);
    free(spans);
}

/* More at one time than there are rows: the rest shares the last one, and is counted. */
static void too_deep_lanes_share_the_last_row(void **state) {
    (void)state;
    enum { N = 66000 };
    span *spans = calloc(N, sizeof *spans);
    assert_non_null(spans);
    for (int nested = 0; nested < 2; nested++) {
        for (int i = 0; i < N; i++) {
            spans[i] = (span){i, nested ? 400000 - i : 200000 + i};
        }
        ps_trace *t = NULL;
        ps_lod *lod = of_spans(spans, N, &t);
        assert_int_equal(ps_lod_build(lod, 0, NULL), PS_OK);
        assert_int_equal(ps_lod_n_rows(lod, 0), PS_LOD_MAX_ROWS);
        uint32_t n = 0;
        (void)ps_lod_row(lod, 0, PS_LOD_MAX_ROWS - 1, &n);
        assert_int_equal(n, N - PS_LOD_MAX_ROWS + 1);
        ps_lod_entries got = {0};
        assert_int_equal(ps_lod_tile(lod, 0, 20, 0, &got, NULL), PS_OK);
        assert_int_equal(got.n, PS_LOD_MAX_ROWS);
        assert_int_equal(got.at[PS_LOD_MAX_ROWS - 1].count, N - PS_LOD_MAX_ROWS + 1);
        ps_lod_entries_fini(&got);
        ps_lod_free(lod);
        ps_trace_free(t);
    }
    free(spans);
}

static void empty_lanes(void **state) {
    (void)state;
    ps_trace *t = ps_builder_seal(ps_builder_new(), NULL);
    assert_non_null(t);
    ps_lod *lod = ps_lod_new(t, NULL, 2, NULL);
    assert_non_null(lod);
    int64_t start = 0;
    int64_t end = 0;
    uint32_t merged = ps_lod_merge(lod, (uint32_t[]){0, 1}, 2, NULL);
    for (uint32_t lane = 0; lane <= merged; lane++) {
        ps_lod_entries got = {0};
        assert_false(ps_lod_span(lod, lane, &start, &end));
        assert_int_equal(ps_lod_tile(lod, lane, 3, 0, &got, NULL), PS_OK);
        assert_int_equal(got.n, 0);
        assert_int_equal(ps_lod_n_rows(lod, lane), 0);
        ps_lod_entries_fini(&got);
    }
    uint8_t out[PS_LOD_TILE];
    assert_int_equal(ps_lod_coverage(lod, (uint32_t[]){0, merged}, 2, 0, 0, out, NULL), PS_OK);
    assert_int_equal(out[0], 0);
    ps_lod_free(lod);
    ps_trace_free(t);
}

/* Columns and index of a slice are at most 48 bytes; the columns are 41. */
static void the_index_is_small(void **state) {
    (void)state;
    for (int kind = TOUCHING; kind < N_SHAPES; kind++) {
        uint32_t *lane_of = NULL;
        ps_trace *t = make((shape)kind, 300000, 5, &lane_of);
        memset(lane_of, 0, 300000 * sizeof *lane_of);
        ps_lod *lod = ps_lod_new(t, lane_of, 1, NULL);
        assert_non_null(lod);
        assert_int_equal(ps_lod_build_all(lod, 2, NULL), PS_OK);
        assert_true((double)ps_lod_bytes(lod) <= 6.5 * 300000);
        ps_lod_free(lod);
        ps_trace_free(t);
        free(lane_of);
    }
}

/* --- threads and memory ------------------------------------------------------------------------------------ */

enum { N_LANES = 6 };

static void *ask(void *arg) {
    ps_lod *lod = arg;
    for (unsigned level = 0; level < 20; level++) {
        for (uint32_t lane = 0; lane < N_LANES; lane++) {
            ps_lod_entries got = {0};
            if (ps_lod_tile(lod, lane, level, 0, &got, NULL) != PS_OK) {
                return arg;
            }
            ps_lod_entries_fini(&got);
        }
        uint32_t merged =
            ps_lod_merge(lod, (uint32_t[]){level % N_LANES, (level + 1) % N_LANES}, 2, NULL);
        uint8_t out[PS_LOD_TILE];
        if (merged == PS_NONE || ps_lod_coverage(lod, &merged, 1, level, 0, out, NULL) != PS_OK) {
            return arg;
        }
    }
    return NULL;
}

static void threads_may_ask_at_once(void **state) {
    (void)state;
    uint32_t *lane_of = NULL;
    ps_trace *t = make(OVERLAPS, 20000, 3, &lane_of);
    for (uint32_t i = 0; i < 20000; i++) {
        lane_of[i] = i % N_LANES;
    }
    ps_lod *lod = ps_lod_new(t, lane_of, N_LANES, NULL);
    assert_non_null(lod);
    pthread_t threads[4];
    for (size_t i = 0; i < LENGTH_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, lod), 0);
    }
    for (size_t i = 0; i < LENGTH_OF(threads); i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(ps_lod_n_lanes(lod), N_LANES + N_LANES);
    ps_lod_free(lod);
    ps_trace_free(t);
    free(lane_of);
}

/* All that can be asked; 0 when something found no memory. A lane that could not be built can be built later. */
static int ask_all(const ps_trace *t, const uint32_t *lane_of, bool *failed) {
    ps_err err = PS_ERR_INIT;
    ps_lod *lod = ps_lod_new(t, lane_of, 2, &err);
    if (lod == NULL) {
        *failed = true;
        return (int)err.code;
    }
    uint32_t merged = ps_lod_merge(lod, (uint32_t[]){0, 1}, 2, &err);
    uint8_t out[PS_LOD_TILE];
    ps_lod_entries got = {0};
    bool ok = merged != PS_NONE && ps_lod_build(lod, 0, &err) == PS_OK &&
              ps_lod_coverage(lod, &merged, 1, 3, 0, out, &err) == PS_OK &&
              ps_lod_tile(lod, 1, 2, 0, &got, &err) == PS_OK;
    *failed = !ok;
    (void)ps_alloc_fail_at(-1);
    plain p = plain_of(t, lane_of, 0, false);
    assert_int_equal(ps_lod_build(lod, 0, NULL), PS_OK);
    expect_rows(lod, 0, &p, true);
    plain_end(&p);
    ps_lod_entries_fini(&got);
    ps_lod_free(lod);
    return ok ? PS_OK : (int)err.code;
}

static void no_memory_is_no_harm(void **state) {
    (void)state;
    static const shape KINDS[] = {NESTED, OVERLAPS, TOUCHING};
    for (size_t i = 0; i < LENGTH_OF(KINDS); i++) {
        uint32_t *lane_of = NULL;
        ps_trace *t = make(KINDS[i], 3000, 9, &lane_of);
        bool failed = true;
        for (int64_t n = 0; failed && n < 500; n++) {
            (void)ps_alloc_fail_at(n);
            int code = ask_all(t, lane_of, &failed);
            (void)ps_alloc_fail_at(-1);
            assert_int_equal(code, failed ? PS_NOMEM : PS_OK);
        }
        assert_false(failed);
        ps_trace_free(t);
        free(lane_of);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_by_hand),
        cmocka_unit_test(what_reaches_in_is_there),
        cmocka_unit_test(ranges_of_a_row),
        cmocka_unit_test(coverage_is_the_busiest_row),
        cmocka_unit_test(coverage_by_the_plainest_way),
        cmocka_unit_test(empty_lanes),
        cmocka_unit_test(small_lanes_of_all_shapes),
        cmocka_unit_test(long_rows_of_all_shapes),
        cmocka_unit_test(counts_add_up),
        cmocka_unit_test(too_deep_lanes_share_the_last_row),
        cmocka_unit_test(short_last_chunks),
        cmocka_unit_test(endless_slices_in_the_last_row),
        cmocka_unit_test(the_index_is_small),
        cmocka_unit_test(threads_may_ask_at_once),
        cmocka_unit_test(no_memory_is_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
