/* Slices of a row start one after the other and do not overlap (but for those in the last row of a lane that is too deep).
 * So of the slices that start in a bucket only the last can reach beyond it: it is drawn as it is when it is at least a
 * bucket long, and a node keeps it apart from the others.
 *
 * A row is cut into chunks of 65,536 slices. A chunk's finest level, its *base*, is the smallest one at which at most one
 * bucket in 18 slices has anything in it: 3,640 in a full chunk. Above it a level is stored when it has at most a quarter of
 * the nodes of the one stored below, so that all together hold at most 4/3 of the base's. A level that is not stored has
 * more than a quarter of the buckets that the stored one below has: that one is read for it.
 *
 * What a tile costs, per row:
 *   - chunks that lie in one bucket are one step each: n / 65,536 at most;
 *   - chunks whose base is at or below the level: at most four nodes for each bucket that has anything, plus two chunks'
 *     searches;
 *   - chunks whose base is above: their slices in the tile are read. Such a chunk has more than n / 18 buckets with
 *     something in them at this level. A full one has more than 3,640, and a tile has 1,024: it cannot lie inside of one, so
 *     at most two of them reach into a tile; the short chunk at the end of the row may be a third.
 * Hence no mixture of densities makes a tile read more than some 131,072 slices, and even density at most 18,432 (18 in
 * each bucket), mostly half of that.
 *
 * Durations in nodes are floats: which of two is longer is asked of the slices when floats cannot tell. */
#include "model/lod_pyramid.h"

#include <string.h>

#include "base/alloc.h"
#include "base/order.h"

enum {
    SLICES_PER_NODE = 18, /* at the base, on average */
    NARROWING = 4,        /* least ratio of nodes between stored levels */
    MIN_INDEXED = 1024,   /* shorter rows are read as they are */
    BUCKET_BITS = 32      /* of ps_lod_node.bucket */
};

/* What is known of slices that start in one bucket, being gathered. */
typedef struct gather {
    int64_t bucket;
    uint32_t first, longest, last; /* places in the row; `longest` of all but the last */
    uint32_t n;
    float longest_ns; /* below 0: none */
    float last_ns;
    double busy_ns; /* of all but the last */
} gather;

static int64_t start_at(const ps_lod_row_view *v, uint32_t place) {
    return v->slices->start_ns[v->order[place]];
}

static int64_t dur_at(const ps_lod_row_view *v, uint32_t place) {
    return v->slices->dur_ns[v->order[place]];
}

static inline void take_longer(const ps_lod_row_view *v, gather *g, uint32_t place, float ns) {
    bool longer = ns > g->longest_ns;
    if (__builtin_expect(ns == g->longest_ns && ns > (float)(1 << 24), 0)) {
        longer = dur_at(v, place) > dur_at(v, g->longest);
    }
    g->longest = longer ? place : g->longest;
    g->longest_ns = longer ? ns : g->longest_ns;
}

/* The last slice is no longer the last: others follow it in the bucket. */
static inline void close_last(const ps_lod_row_view *v, gather *g) {
    take_longer(v, g, g->last, g->last_ns);
    g->busy_ns += (double)g->last_ns;
}

/* Adds what comes after what is there, in the same bucket. */
static inline void join_pyramid(const ps_lod_row_view *v, gather *a, const gather *b) {
    close_last(v, a);
    take_longer(v, a, b->longest, b->longest_ns);
    a->busy_ns += b->busy_ns;
    a->n += b->n;
    a->last = b->last;
    a->last_ns = b->last_ns;
}

/* As many slices as a chunk has are together no longer than a number can say, if none is longer than this. Longer ones can
 * overlap in the last row only. */
#define MAX_SUMMED_NS (INT64_MAX / PS_LOD_CHUNK)

/* How long slices [place, end) are together. */
static double pyramid_sum_of(const ps_lod_row_view *v, uint32_t place, uint32_t end) {
    double sum = 0;
    for (uint32_t i = place; i < end; i++) {
        sum += (double)dur_at(v, i);
    }
    return sum;
}

/* The slices from `place` on, before `end`, that start in the bucket of the first. */
static inline gather gather_slices(const ps_lod_row_view *v, unsigned level, uint32_t place,
                                   uint32_t end) {
    const int64_t *starts = v->slices->start_ns;
    const int64_t *durs = v->slices->dur_ns;
    uint32_t slice = v->order[place];
    gather g = {.bucket = starts[slice] >> level, .first = place, .longest = place};
    int64_t last_ns = durs[slice];
    int64_t longest_ns = -1;
    uint64_t busy_ns = 0;
    uint32_t i = place + 1;
    for (; i < end && starts[v->order[i]] >> level == g.bucket; i++) {
        g.longest = last_ns > longest_ns ? i - 1 : g.longest;
        longest_ns = last_ns > longest_ns ? last_ns : longest_ns;
        busy_ns += (uint64_t)last_ns;
        last_ns = durs[v->order[i]];
    }
    g.last = i - 1;
    g.n = i - place;
    g.longest_ns = (float)longest_ns;
    g.last_ns = (float)last_ns;
    g.busy_ns = longest_ns > MAX_SUMMED_NS ? pyramid_sum_of(v, place, g.last) : (double)busy_ns;
    return g;
}

/* --- building ---------------------------------------------------------------------------------------- */

size_t ps_lod_n_chunks(uint32_t n) {
    return n < MIN_INDEXED ? 0 : ((size_t)n + PS_LOD_CHUNK - 1) / PS_LOD_CHUNK;
}

/* n_at[l]: buckets of 2^l in which a slice of the chunk starts. Two starts are in different ones up to the highest bit in
 * which they differ. */
static void count_buckets(const ps_lod_row_view *v, uint32_t n_at[64]) {
    memset(n_at, 0, 64 * sizeof *n_at);
    uint64_t before = (uint64_t)start_at(v, 0);
    for (uint32_t i = 1; i < v->n; i++) {
        uint64_t start = (uint64_t)start_at(v, i);
        if (start != before) {
            n_at[63 - __builtin_clzll(start ^ before)]++;
        }
        before = start;
    }
    for (int l = 62; l >= 0; l--) {
        n_at[l] += n_at[l + 1];
    }
    for (int l = 0; l < 64; l++) {
        n_at[l]++;
    }
}

/* Which levels are stored, and the room for them. */
static size_t choose_levels(ps_lod_chunk *c, const uint32_t n_at[64], uint32_t n) {
    uint64_t span_ns = (uint64_t)c->last_start_ns - (uint64_t)c->first_start_ns;
    /* The last level has two buckets at most: what is before the origin, and what is after it. */
    uint32_t most = n / SLICES_PER_NODE > 2 ? n / SLICES_PER_NODE : 2;
    unsigned l = 0;
    while (n_at[l] > most || (l < 63 && (span_ns >> l) >> BUCKET_BITS != 0)) {
        l++;
    }
    c->base = (uint8_t)l;
    size_t n_nodes = 0;
    for (uint32_t below = UINT32_MAX; l < 64 && n_at[l] > 1; l++) {
        if (n_at[l] <= below / NARROWING) {
            c->level[c->n_levels] = (uint8_t)l;
            c->level_at[c->n_levels++] = (uint16_t)n_nodes;
            n_nodes += n_at[l];
            below = n_at[l];
        }
    }
    c->level_at[c->n_levels] = (uint16_t)n_nodes;
    return n_nodes;
}

static ps_lod_node node_of(const gather *g, int64_t first_bucket) {
    return (ps_lod_node){.bucket = (uint32_t)(g->bucket - first_bucket),
                         .first = (uint16_t)g->first,
                         .longest = (uint16_t)g->longest,
                         .longest_ns = g->longest_ns,
                         .busy_ns = (float)g->busy_ns,
                         .last_ns = g->last_ns};
}

/* Node k of a level that has nodes [.., stop): the slices in it, with places from `first_place` on. */
static inline gather gather_of(const ps_lod_node *k, const ps_lod_node *stop, uint32_t first_place,
                               uint32_t n_in_chunk) {
    uint32_t end = k + 1 < stop ? k[1].first : n_in_chunk;
    return (gather){.bucket = k->bucket,
                    .first = first_place + k->first,
                    .longest = first_place + k->longest,
                    .last = first_place + end - 1,
                    .n = end - k->first,
                    .longest_ns = k->longest_ns,
                    .last_ns = k->last_ns,
                    .busy_ns = (double)k->busy_ns};
}

/* Base nodes from the slices; `v` is the chunk alone. */
static void fill_base(const ps_lod_row_view *v, ps_lod_node *out, unsigned level) {
    int64_t first_bucket = start_at(v, 0) >> level;
    for (uint32_t i = 0; i < v->n;) {
        gather g = gather_slices(v, level, i, v->n);
        *out++ = node_of(&g, first_bucket);
        i = g.last + 1;
    }
}

static void fill_level(const ps_lod_row_view *v, const ps_lod_chunk *c, size_t i,
                       ps_lod_node *out) {
    const ps_lod_node *k = c->nodes + c->level_at[i - 1];
    const ps_lod_node *stop = c->nodes + c->level_at[i];
    unsigned level = c->level[i];
    unsigned up = level - c->level[i - 1];
    int64_t below = c->first_start_ns >> c->level[i - 1];
    int64_t first_bucket = c->first_start_ns >> level;
    gather open = gather_of(k, stop, 0, v->n);
    open.bucket = first_bucket;
    while (++k < stop) {
        gather next = gather_of(k, stop, 0, v->n);
        next.bucket = (below + k->bucket) >> up;
        if (next.bucket == open.bucket) {
            join_pyramid(v, &open, &next);
        } else {
            *out++ = node_of(&open, first_bucket);
            open = next;
        }
    }
    *out = node_of(&open, first_bucket);
}

/* The whole chunk, of its coarsest level, or of its slices when it has none. */
static void fill_all(const ps_lod_row_view *v, ps_lod_chunk *c) {
    if (c->n_levels == 0) {
        fill_base(v, &c->all, 63);
        return;
    }
    const ps_lod_node *k = c->nodes + c->level_at[c->n_levels - 1];
    const ps_lod_node *stop = c->nodes + c->level_at[c->n_levels];
    gather open = gather_of(k, stop, 0, v->n);
    while (++k < stop) {
        gather next = gather_of(k, stop, 0, v->n);
        join_pyramid(v, &open, &next);
    }
    c->all = node_of(&open, 0);
}

static bool chunk_init(ps_lod_chunk *c, const ps_lod_row_view *v, size_t *bytes) {
    uint32_t n_at[64];
    c->first_start_ns = start_at(v, 0);
    c->last_start_ns = start_at(v, v->n - 1);
    count_buckets(v, n_at);
    size_t n_nodes = choose_levels(c, n_at, v->n);
    c->nodes = ps_alloc(n_nodes * sizeof *c->nodes);
    if (c->nodes == NULL) {
        return false;
    }
    *bytes += sizeof *c + n_nodes * sizeof *c->nodes;
    for (size_t i = 0; i < c->n_levels; i++) {
        if (i == 0) {
            fill_base(v, c->nodes, c->level[0]);
        } else {
            fill_level(v, c, i, c->nodes + c->level_at[i]);
        }
    }
    fill_all(v, c);
    return true;
}

bool ps_lod_chunks_init(ps_lod_chunk *chunks, const ps_slices *s, const uint32_t *order, uint32_t n,
                        size_t *bytes) {
    size_t n_chunks = ps_lod_n_chunks(n);
    for (size_t i = 0; i < n_chunks; i++) {
        uint32_t first = (uint32_t)i * PS_LOD_CHUNK;
        ps_lod_row_view v = {.slices = s,
                             .order = order + first,
                             .n = n - first < PS_LOD_CHUNK ? n - first : PS_LOD_CHUNK};
        if (!chunk_init(&chunks[i], &v, bytes)) {
            return false;
        }
    }
    return true;
}

void ps_lod_chunks_fini(ps_lod_chunk *chunks, size_t n) {
    for (size_t i = 0; chunks != NULL && i < n; i++) {
        ps_free(chunks[i].nodes);
    }
}

/* --- reading ----------------------------------------------------------------------------------------- */

/* The first place of [low, high) that starts at or after `ns`. */
static uint32_t lower_in(const ps_lod_row_view *v, uint32_t low, uint32_t high, int64_t ns) {
    PS_PLACE(uint32_t, place, low, high, i, start_at(v, i) < ns)
    return place;
}

/* The first chunk whose last slice starts at or after `ns`. */
static size_t lower_chunk(const ps_lod_row_view *v, int64_t ns) {
    PS_PLACE(size_t, low, 0, ps_lod_n_chunks(v->n), middle, v->chunks[middle].last_start_ns < ns)
    return low;
}

static uint32_t chunk_end(const ps_lod_row_view *v, size_t chunk) {
    uint64_t end = ((uint64_t)chunk + 1) * PS_LOD_CHUNK;
    return end < v->n ? (uint32_t)end : v->n;
}

uint32_t ps_lod_lower(const ps_lod_row_view *v, int64_t ns) {
    if (ps_lod_n_chunks(v->n) == 0) {
        return lower_in(v, 0, v->n, ns);
    }
    size_t chunk = lower_chunk(v, ns);
    if (chunk == ps_lod_n_chunks(v->n)) {
        return v->n;
    }
    return lower_in(v, (uint32_t)chunk * PS_LOD_CHUNK, chunk_end(v, chunk), ns);
}

/* Buckets that are gathered wait in a ring before they are drawn, while what they need of the columns is fetched: first
 * their places in the order, then the slices there. Else every entry would wait for memory several times. */
enum { AHEAD = 8, RING = 2 * AHEAD };

/* A row's way into a tile. */
typedef struct walk {
    const ps_lod_row_view *v;
    unsigned level;
    int64_t from_ns, to_ns;
    gather ring[RING]; /* the last n_begun of them; the very last is being gathered */
    size_t n_begun;
    ps_lod_entries *out; /* or: */
    int64_t *busy_ns;    /* [PS_LOD_TILE] of each bucket */
    bool failed;
} walk;

/* Room for the entries of a bucket, or NULL when memory is out. */
static inline ps_lod_entry *room(walk *w) {
    ps_lod_entries *out = w->out;
    if (out->cap - out->n < 2 &&
        !ps_grow(&out->at, &out->cap, out->n + 2, SIZE_MAX / sizeof *out->at, sizeof *out->at)) {
        w->failed = true;
        return NULL;
    }
    return &out->at[out->n];
}

static inline void set_exactly(ps_lod_entry *e, const ps_lod_row_view *v, uint32_t place) {
    uint32_t slice = v->order[place];
    e->start_ns = v->slices->start_ns[slice];
    e->busy_ns = v->slices->dur_ns[slice];
    e->end_ns = e->start_ns + e->busy_ns;
    e->slice = slice;
    e->count = 1;
    e->row = v->row;
}

/* The others of a bucket as one: `n` of them, the last of which is at `last`. */
static inline void set_others(ps_lod_entry *e, const walk *w, const gather *g, uint32_t last) {
    const ps_lod_row_view *v = w->v;
    int64_t bucket_end_ns = (int64_t)(((uint64_t)g->bucket + 1) << w->level);
    int64_t end_ns = start_at(v, last) + dur_at(v, last);
    e->start_ns = start_at(v, g->first);
    e->end_ns = end_ns < bucket_end_ns ? end_ns : bucket_end_ns;
    int64_t most_ns = e->end_ns - e->start_ns;
    e->busy_ns = g->busy_ns < (double)most_ns ? (int64_t)(g->busy_ns + 0.5) : most_ns;
    e->slice = v->order[g->longest];
    e->count = last + 1 - g->first;
    e->row = v->row;
}

/* The entries of what was gathered: the last slice when it is long, the others as one. */
static void draw_pyramid(walk *w, gather *g) {
    const ps_lod_row_view *v = w->v;
    ps_lod_entry *e = room(w);
    if (e == NULL) {
        return;
    }
    bool is_long = dur_at(v, g->last) >= INT64_C(1) << w->level;
    if (g->n > 1 && !is_long) {
        close_last(v, g);
        set_others(e++, w, g, g->last);
    } else {
        if (g->n == 2) {
            set_exactly(e++, v, g->first);
        } else if (g->n > 2) {
            set_others(e++, w, g, g->last - 1);
        }
        set_exactly(e++, v, g->last);
    }
    w->out->n = (size_t)(e - w->out->at);
}

/* Adds the part of a slice that lies in the tile to the buckets it covers; one without length is a nanosecond: it is seen. */
static void pyramid_spread(const walk *w, int64_t start_ns, int64_t dur_ns) {
    unsigned level = w->level;
    start_ns -= w->from_ns;
    int64_t end_ns = start_ns + (dur_ns > 0 ? dur_ns : 1);
    const int64_t tile_ns = (int64_t)PS_LOD_TILE << level;
    start_ns = start_ns > 0 ? start_ns : 0;
    end_ns = end_ns < tile_ns ? end_ns : tile_ns;
    for (int64_t b = start_ns >> level; b < PS_LOD_TILE && b << level < end_ns; b++) {
        int64_t in_ns = b << level > start_ns ? b << level : start_ns;
        int64_t out_ns = (b + 1) << level < end_ns ? (b + 1) << level : end_ns;
        w->busy_ns[b] += out_ns - in_ns;
    }
}

static void cover_pyramid(walk *w, const gather *g) {
    if (g->n > 1) {
        double most_ns = (double)(INT64_C(1) << w->level);
        double busy_ns = g->busy_ns < most_ns ? g->busy_ns : most_ns;
        w->busy_ns[g->bucket - (w->from_ns >> w->level)] +=
            busy_ns > 1 ? (int64_t)(busy_ns + 0.5) : 1;
    }
    pyramid_spread(w, start_at(w->v, g->last), dur_at(w->v, g->last));
}

static inline void finish_pyramid(walk *w, gather *g) {
    if (w->busy_ns != NULL) {
        cover_pyramid(w, g);
    } else {
        draw_pyramid(w, g);
    }
}

/* What is being gathered has all that there is of its bucket; the next one takes the place of the one that waited longest. */
static gather *next_gather(walk *w) {
    const ps_lod_row_view *v = w->v;
    size_t n = w->n_begun++;
    if (n > 0) {
        const gather *g = &w->ring[(n - 1) % RING];
        __builtin_prefetch(&v->order[g->first]);
        __builtin_prefetch(&v->order[g->last]);
        __builtin_prefetch(&v->order[g->longest]);
    }
    if (n > AHEAD) {
        const gather *g = &w->ring[(n - 1 - AHEAD) % RING];
        uint32_t last = v->order[g->last];
        __builtin_prefetch(&v->slices->start_ns[v->order[g->first]]);
        __builtin_prefetch(&v->slices->start_ns[last]);
        __builtin_prefetch(&v->slices->dur_ns[last]);
    }
    if (n >= RING) {
        finish_pyramid(w, &w->ring[n % RING]);
    }
    return &w->ring[n % RING];
}

static void finish_rest(walk *w) {
    size_t n = w->n_begun;
    for (size_t i = n < RING ? 0 : n - RING; i < n; i++) {
        finish_pyramid(w, &w->ring[i % RING]);
    }
}

static inline void feed_pyramid(walk *w, const gather *g) {
    gather *open = &w->ring[(w->n_begun - 1) % RING];
    if (w->n_begun > 0 && open->bucket == g->bucket) {
        join_pyramid(w->v, open, g);
    } else {
        *next_gather(w) = *g;
    }
}

static void feed_slices(walk *w, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end;) {
        gather g = gather_slices(w->v, w->level, i, end);
        feed_pyramid(w, &g);
        i = g.last + 1;
    }
}

/* The coarsest stored level that is not above the tile's; the nodes of it that lie in the tile. */
static void feed_nodes(walk *w, size_t chunk) {
    const ps_lod_chunk *c = &w->v->chunks[chunk];
    size_t i = c->n_levels - 1u;
    while (c->level[i] > w->level) {
        i--;
    }
    unsigned level = c->level[i];
    int64_t first_bucket = c->first_start_ns >> level;
    int64_t from = w->from_ns >> level;
    int64_t to = ((w->to_ns - 1) >> level) + 1;
    const ps_lod_node *k = c->nodes + c->level_at[i];
    const ps_lod_node *stop = c->nodes + c->level_at[i + 1];
    for (size_t n = (size_t)(stop - k); n > 0 && first_bucket < from;) {
        size_t half = n / 2;
        bool below = first_bucket + k[half].bucket < from;
        k += below ? half + 1 : 0;
        n = below ? n - half - 1 : half;
    }
    uint32_t first_place = (uint32_t)chunk * PS_LOD_CHUNK;
    uint32_t n_in_chunk = chunk_end(w->v, chunk) - first_place;
    for (; k < stop && first_bucket + k->bucket < to; k++) {
        gather g = gather_of(k, stop, first_place, n_in_chunk);
        g.bucket = (first_bucket + k->bucket) >> (w->level - level);
        feed_pyramid(w, &g);
    }
}

static void feed_chunk(walk *w, size_t chunk) {
    const ps_lod_chunk *c = &w->v->chunks[chunk];
    uint32_t first = (uint32_t)chunk * PS_LOD_CHUNK;
    uint32_t end = chunk_end(w->v, chunk);
    if (c->first_start_ns >> w->level == c->last_start_ns >> w->level) {
        gather g = gather_of(&c->all, &c->all, first, end - first);
        g.bucket = c->first_start_ns >> w->level;
        feed_pyramid(w, &g);
    } else if (w->level >= c->base) {
        feed_nodes(w, chunk);
    } else {
        first = c->first_start_ns < w->from_ns ? lower_in(w->v, first, end, w->from_ns) : first;
        end = c->last_start_ns >= w->to_ns ? lower_in(w->v, first, end, w->to_ns) : end;
        feed_slices(w, first, end);
    }
}

/* The slice that started before the tile and reaches into it, when it is drawn as it is. */
static void feed_reaching(walk *w) {
    const ps_lod_row_view *v = w->v;
    uint32_t place = ps_lod_lower(v, w->from_ns);
    if (place == 0) {
        return;
    }
    ps_lod_entry *e = room(w);
    if (e == NULL) {
        return;
    }
    set_exactly(e, v, place - 1);
    bool alone = place == 1 || start_at(v, place - 2) >> w->level != e->start_ns >> w->level;
    w->out->n += e->end_ns > w->from_ns && (alone || e->busy_ns >= INT64_C(1) << w->level);
}

/* All that starts in the tile. */
static void feed_row(walk *w) {
    const ps_lod_row_view *v = w->v;
    size_t n_chunks = ps_lod_n_chunks(v->n);
    if (n_chunks == 0) {
        uint32_t first = ps_lod_lower(v, w->from_ns);
        feed_slices(w, first, lower_in(v, first, v->n, w->to_ns));
    }
    for (size_t i = n_chunks > 0 ? lower_chunk(v, w->from_ns) : 0;
         i < n_chunks && v->chunks[i].first_start_ns < w->to_ns; i++) {
        feed_chunk(w, i);
    }
    finish_rest(w);
}

/* The ring is not set: it is not read before it is filled. */
static void begin_pyramid(walk *w, const ps_lod_row_view *v, unsigned level, int64_t from_ns,
                          int64_t to_ns) {
    w->v = v;
    w->level = level;
    w->from_ns = from_ns;
    w->to_ns = to_ns;
    w->n_begun = 0;
    w->out = NULL;
    w->busy_ns = NULL;
    w->failed = false;
}

ps_code ps_lod_row_tile(const ps_lod_row_view *v, unsigned level, int64_t from_ns, int64_t to_ns,
                        ps_lod_entries *out, ps_err *err) {
    walk w;
    begin_pyramid(&w, v, level, from_ns, to_ns);
    w.out = out;
    feed_reaching(&w);
    feed_row(&w);
    return w.failed ? ps_fail_nomem(err) : PS_OK;
}

void ps_lod_row_cover(const ps_lod_row_view *v, unsigned level, int64_t from_ns, int64_t to_ns,
                      int64_t busy_ns[PS_LOD_TILE]) {
    walk w;
    begin_pyramid(&w, v, level, from_ns, to_ns);
    w.busy_ns = busy_ns;
    uint32_t place = ps_lod_lower(v, from_ns);
    if (place > 0 && start_at(v, place - 1) + dur_at(v, place - 1) > from_ns) {
        pyramid_spread(&w, start_at(v, place - 1), dur_at(v, place - 1));
    }
    feed_row(&w);
}
