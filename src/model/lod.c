/* Lanes are grouped by counting (slices come sorted, so each lane's are); rows (lod_rows.c) and chunks (lod_pyramid.c) of a
 * lane are made when it is first looked at. A merged lane has its own order and row chunks, of the slices of its members. */
#include "model/lod.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "model/lod_pyramid.h"
#include "model/lod_rows.h"

enum { UNBUILT, BUILDING, BUILT };

#define DEEP 255 /* row_of: this one or a deeper one */

/* Blocks of merged lanes, each twice as large as the one before: lanes never move while others read them. */
#define MERGED_BLOCKS 32

typedef struct lane {
    uint32_t *order; /* [n]; part of the whole order, or owned by a merged lane */
    uint32_t n;
    int64_t start_ns, end_ns;
    atomic_int state;
    uint32_t n_rows;
    uint32_t *row_first; /* [n_rows + 1], places in `order` */
    uint32_t *row_chunk; /* [n_rows + 1], in `chunks` */
    ps_lod_chunk *chunks;
    size_t n_chunks;
    uint32_t *members; /* of a merged lane: [n_members] lanes that are none, rising */
    size_t n_members;
} lane;

struct ps_lod {
    const ps_trace *trace;
    const ps_slices *slices;
    uint32_t n_base; /* lanes that are not merged */
    lane *base;      /* [n_base] */
    lane *merged[MERGED_BLOCKS];
    atomic_uint n_merged;
    uint32_t *order; /* of all slices in lanes, by lane */
    uint8_t *row_of; /* [n slices] in their own lanes; DEEP: look for it */
    atomic_size_t bytes;
    pthread_mutex_t mutex; /* states of lanes, merging */
    pthread_cond_t built;
};

/* Merged lane k is element k + 1 - 2^b of block b = floor(log2(k + 1)). */
static lane *merged_at(const ps_lod *lod, uint32_t k) {
    unsigned block = 31u - (unsigned)__builtin_clz(k + 1);
    return &lod->merged[block][k + 1 - (1u << block)];
}

static lane *lane_at(const ps_lod *lod, uint32_t i) {
    return i < lod->n_base ? &lod->base[i] : merged_at(lod, i - lod->n_base);
}

static bool is_merged(const lane *l) {
    return l->members != NULL;
}

/* --- grouping ---------------------------------------------------------------------------------------- */

static bool group(ps_lod *lod, const uint32_t *lane_of) {
    const ps_slices *s = lod->slices;
    for (uint32_t i = 0; i < s->n; i++) {
        if (lane_of[i] != PS_NONE) {
            lod->base[lane_of[i]].n++;
        }
    }
    size_t n_in_lanes = 0;
    for (uint32_t l = 0; l < lod->n_base; l++) {
        n_in_lanes += lod->base[l].n;
    }
    lod->order = ps_alloc(n_in_lanes * sizeof *lod->order);
    lod->row_of = ps_calloc((size_t)s->n + 1, sizeof *lod->row_of);
    if (lod->order == NULL || lod->row_of == NULL) {
        return false;
    }
    uint32_t *next = lod->order;
    for (uint32_t l = 0; l < lod->n_base; l++) {
        lod->base[l].order = next;
        next += lod->base[l].n;
        lod->base[l].n = 0;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        if (lane_of[i] == PS_NONE) {
            continue;
        }
        lane *l = &lod->base[lane_of[i]];
        int64_t end_ns = s->start_ns[i] + s->dur_ns[i];
        l->start_ns = l->n == 0 ? s->start_ns[i] : l->start_ns;
        l->end_ns = l->n == 0 || end_ns > l->end_ns ? end_ns : l->end_ns;
        l->order[l->n++] = i;
    }
    atomic_store(&lod->bytes, n_in_lanes * sizeof *lod->order + s->n * sizeof *lod->row_of +
                                  lod->n_base * sizeof *lod->base);
    return true;
}

ps_lod *ps_lod_new(const ps_trace *trace, const uint32_t *lane_of, uint32_t n_lanes, ps_err *err) {
    ps_lod *lod = ps_calloc(1, sizeof *lod);
    if (lod == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    lod->trace = trace;
    lod->slices = ps_trace_slices(trace);
    lod->n_base = n_lanes;
    atomic_init(&lod->n_merged, 0);
    atomic_init(&lod->bytes, 0);
    (void)pthread_mutex_init(&lod->mutex, NULL);
    (void)pthread_cond_init(&lod->built, NULL);
    lod->base = ps_calloc((size_t)n_lanes + 1, sizeof *lod->base);
    if (lod->base == NULL || !group(lod, lane_of)) {
        ps_lod_free(lod);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return lod;
}

static void drop_rows(lane *l) {
    ps_lod_chunks_fini(l->chunks, l->n_chunks);
    ps_free(l->chunks);
    ps_free(l->row_first);
    ps_free(l->row_chunk);
    l->chunks = NULL;
    l->row_first = NULL;
    l->row_chunk = NULL;
    l->n_chunks = 0;
    l->n_rows = 0;
}

void ps_lod_free(ps_lod *lod) {
    if (lod == NULL) {
        return;
    }
    uint32_t n_merged = atomic_load(&lod->n_merged);
    for (uint32_t i = 0; lod->base != NULL && i < lod->n_base + n_merged; i++) {
        lane *l = lane_at(lod, i);
        drop_rows(l);
        if (is_merged(l)) {
            ps_free(l->order);
            ps_free(l->members);
        }
    }
    for (size_t b = 0; b < MERGED_BLOCKS; b++) {
        ps_free(lod->merged[b]);
    }
    ps_free(lod->base);
    ps_free(lod->order);
    ps_free(lod->row_of);
    (void)pthread_cond_destroy(&lod->built);
    (void)pthread_mutex_destroy(&lod->mutex);
    ps_free(lod);
}

uint32_t ps_lod_n_lanes(const ps_lod *lod) {
    return lod->n_base + atomic_load(&lod->n_merged);
}

uint32_t ps_lod_n_slices(const ps_lod *lod, uint32_t lane_no) {
    return lane_at(lod, lane_no)->n;
}

bool ps_lod_span(const ps_lod *lod, uint32_t lane_no, int64_t *start_ns, int64_t *end_ns) {
    const lane *l = lane_at(lod, lane_no);
    *start_ns = l->start_ns;
    *end_ns = l->end_ns;
    return l->n > 0;
}

size_t ps_lod_bytes(const ps_lod *lod) {
    return atomic_load(&lod->bytes);
}

/* --- merging ----------------------------------------------------------------------------------------- */

static int compare_lod_numbers(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The lanes that are none merged below `lanes`, rising, each once; ps_free. NULL when memory is out. */
static uint32_t *members_of(const ps_lod *lod, const uint32_t *lanes, size_t n, size_t *n_members) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const lane *l = lane_at(lod, lanes[i]);
        most += is_merged(l) ? l->n_members : 1;
    }
    uint32_t *members = ps_alloc(most * sizeof *members);
    if (members == NULL) {
        return NULL;
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const lane *l = lane_at(lod, lanes[i]);
        if (is_merged(l)) {
            memcpy(members + at, l->members, l->n_members * sizeof *members);
            at += l->n_members;
        } else {
            members[at++] = lanes[i];
        }
    }
    qsort(members, most, sizeof *members, compare_lod_numbers);
    *n_members = 0;
    for (size_t i = 0; i < most; i++) {
        if (i == 0 || members[i] != members[i - 1]) {
            members[(*n_members)++] = members[i];
        }
    }
    return members;
}

static uint32_t find_merged(const ps_lod *lod, const uint32_t *members, size_t n) {
    uint32_t n_merged = atomic_load(&lod->n_merged);
    for (uint32_t i = 0; i < n_merged; i++) {
        const lane *l = merged_at(lod, i);
        if (l->n_members == n && memcmp(l->members, members, n * sizeof *members) == 0) {
            return lod->n_base + i;
        }
    }
    return PS_NONE;
}

/* Takes `members`. PS_NONE when memory is out. */
static uint32_t add_merged(ps_lod *lod, uint32_t *members, size_t n) {
    uint32_t k = atomic_load(&lod->n_merged);
    unsigned block = 31u - (unsigned)__builtin_clz(k + 1);
    if (lod->merged[block] == NULL) {
        lod->merged[block] = ps_calloc((size_t)1 << block, sizeof(lane));
        if (lod->merged[block] == NULL) {
            ps_free(members);
            return PS_NONE;
        }
    }
    lane *l = merged_at(lod, k);
    *l = (lane){.members = members, .n_members = n};
    for (size_t i = 0; i < n; i++) {
        const lane *m = &lod->base[members[i]];
        if (m->n > 0) {
            l->start_ns = l->n == 0 || m->start_ns < l->start_ns ? m->start_ns : l->start_ns;
            l->end_ns = l->n == 0 || m->end_ns > l->end_ns ? m->end_ns : l->end_ns;
        }
        l->n += m->n;
    }
    atomic_fetch_add(&lod->bytes, sizeof *l + n * sizeof *members);
    atomic_store(&lod->n_merged, k + 1);
    return lod->n_base + k;
}

uint32_t ps_lod_merge(ps_lod *lod, const uint32_t *lanes, size_t n, ps_err *err) {
    size_t n_members = 0;
    uint32_t *members = members_of(lod, lanes, n, &n_members);
    if (members == NULL) {
        (void)ps_fail_nomem(err);
        return PS_NONE;
    }
    if (n_members == 1) {
        uint32_t only = members[0];
        ps_free(members);
        return only;
    }
    (void)pthread_mutex_lock(&lod->mutex);
    uint32_t merged = find_merged(lod, members, n_members);
    bool is_new = merged == PS_NONE;
    if (is_new) {
        merged = add_merged(lod, members, n_members);
    }
    (void)pthread_mutex_unlock(&lod->mutex);
    if (!is_new) {
        ps_free(members);
    }
    if (merged == PS_NONE) {
        (void)ps_fail_nomem(err);
    }
    return merged;
}

/* --- building ---------------------------------------------------------------------------------------- */

/* The slices of the members in order: a bit for each slice between the first and the last. */
static bool gather_members(const ps_lod *lod, lane *l) {
    uint32_t first = UINT32_MAX;
    uint32_t last = 0;
    for (size_t m = 0; m < l->n_members; m++) {
        const lane *member = &lod->base[l->members[m]];
        for (uint32_t i = 0; i < member->n; i++) {
            first = member->order[i] < first ? member->order[i] : first;
            last = member->order[i] > last ? member->order[i] : last;
        }
    }
    size_t n_words = l->n > 0 ? ((size_t)last - first) / 64 + 1 : 0;
    uint64_t *bits = ps_calloc(n_words + 1, sizeof *bits);
    l->order = ps_alloc(l->n * sizeof *l->order);
    bool ok = bits != NULL && l->order != NULL;
    for (size_t m = 0; ok && m < l->n_members; m++) {
        const lane *member = &lod->base[l->members[m]];
        for (uint32_t i = 0; i < member->n; i++) {
            uint32_t bit = member->order[i] - first;
            bits[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
    uint32_t n = 0;
    for (size_t w = 0; ok && w < n_words; w++) {
        for (uint64_t word = bits[w]; word != 0; word &= word - 1) {
            l->order[n++] = first + (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(word);
        }
    }
    ps_free(bits);
    return ok;
}

static bool build_chunks(const ps_lod *lod, lane *l, size_t *bytes) {
    for (uint32_t r = 0; r < l->n_rows; r++) {
        l->row_chunk[r] = (uint32_t)l->n_chunks;
        l->n_chunks += ps_lod_n_chunks(l->row_first[r + 1] - l->row_first[r]);
    }
    l->row_chunk[l->n_rows] = (uint32_t)l->n_chunks;
    l->chunks = ps_calloc(l->n_chunks + 1, sizeof *l->chunks);
    for (uint32_t r = 0; l->chunks != NULL && r < l->n_rows; r++) {
        uint32_t first = l->row_first[r];
        if (!ps_lod_chunks_init(l->chunks + l->row_chunk[r], lod->slices, l->order + first,
                                l->row_first[r + 1] - first, bytes)) {
            return false;
        }
    }
    return l->chunks != NULL;
}

static bool build_rows(const ps_lod *lod, lane *l) {
    ps_lod_rows rows = {0};
    uint16_t *row_of = ps_alloc(l->n * sizeof *row_of);
    bool ok = row_of != NULL && ps_lod_rows_pack(lod->slices, l->order, l->n, row_of, &rows);
    for (uint32_t i = 0; ok && !is_merged(l) && i < l->n; i++) {
        lod->row_of[l->order[i]] = row_of[i] < DEEP ? (uint8_t)row_of[i] : DEEP;
    }
    if (ok) {
        l->row_first = ps_alloc((rows.n_rows + 1) * sizeof *l->row_first);
        l->row_chunk = ps_alloc((rows.n_rows + 1) * sizeof *l->row_chunk);
        ok = l->row_first != NULL && l->row_chunk != NULL &&
             ps_lod_rows_regroup(l->order, l->n, row_of, &rows);
    }
    if (ok) {
        l->n_rows = (uint32_t)rows.n_rows;
        l->row_first[0] = 0;
        for (uint32_t r = 0; r < l->n_rows; r++) {
            l->row_first[r + 1] = l->row_first[r] + rows.n[r];
        }
    }
    ps_free(rows.n);
    ps_free(row_of);
    return ok;
}

static bool build(ps_lod *lod, lane *l) {
    size_t bytes = 0;
    bool merged = is_merged(l);
    bool ok = true;
    if (merged) {
        ok = gather_members(lod, l);
        bytes += l->n * sizeof *l->order;
    }
    ok = ok && build_rows(lod, l) && build_chunks(lod, l, &bytes);
    if (!ok) {
        drop_rows(l);
        if (merged) {
            ps_free(l->order);
            l->order = NULL;
        } else { /* a second try starts from slices in order again */
            qsort(l->order, l->n, sizeof *l->order, compare_lod_numbers);
        }
        return false;
    }
    bytes += 2 * ((size_t)l->n_rows + 1) * sizeof *l->row_first;
    atomic_fetch_add(&lod->bytes, bytes);
    return true;
}

static ps_code ensure(ps_lod *lod, lane *l, ps_err *err) {
    if (atomic_load_explicit(&l->state, memory_order_acquire) == BUILT) {
        return PS_OK;
    }
    for (size_t m = 0; m < l->n_members; m++) { /* their order must stand still */
        ps_code code = ensure(lod, &lod->base[l->members[m]], err);
        if (code != PS_OK) {
            return code;
        }
    }
    (void)pthread_mutex_lock(&lod->mutex);
    while (atomic_load(&l->state) == BUILDING) {
        (void)pthread_cond_wait(&lod->built, &lod->mutex);
    }
    bool ours = atomic_load(&l->state) == UNBUILT;
    if (ours) {
        atomic_store(&l->state, BUILDING);
    }
    (void)pthread_mutex_unlock(&lod->mutex);
    if (!ours) {
        return PS_OK;
    }
    bool ok = build(lod, l);
    (void)pthread_mutex_lock(&lod->mutex);
    atomic_store_explicit(&l->state, ok ? BUILT : UNBUILT, memory_order_release);
    (void)pthread_cond_broadcast(&lod->built);
    (void)pthread_mutex_unlock(&lod->mutex);
    return ok ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_lod_build(ps_lod *lod, uint32_t lane_no, ps_err *err) {
    return ensure(lod, lane_at(lod, lane_no), err);
}

typedef struct build_job {
    ps_lod *lod;
    atomic_bool failed;
} build_job;

static void build_item(void *context, size_t item) {
    build_job *job = context;
    if (ensure(job->lod, lane_at(job->lod, (uint32_t)item), NULL) != PS_OK) {
        atomic_store(&job->failed, true);
    }
}

ps_code ps_lod_build_all(ps_lod *lod, size_t n_threads, ps_err *err) {
    build_job job = {.lod = lod};
    atomic_init(&job.failed, false);
    ps_parallel(ps_lod_n_lanes(lod), n_threads, build_item, &job);
    return atomic_load(&job.failed) ? ps_fail_nomem(err) : PS_OK;
}

/* --- rows -------------------------------------------------------------------------------------------- */

static ps_lod_row_view view_of(const ps_lod *lod, const lane *l, uint32_t row) {
    return (ps_lod_row_view){.slices = lod->slices,
                             .order = l->order + l->row_first[row],
                             .n = l->row_first[row + 1] - l->row_first[row],
                             .row = row,
                             .chunks = l->chunks + l->row_chunk[row]};
}

uint32_t ps_lod_n_rows(const ps_lod *lod, uint32_t lane_no) {
    return lane_at(lod, lane_no)->n_rows;
}

const uint32_t *ps_lod_row(const ps_lod *lod, uint32_t lane_no, uint32_t row, uint32_t *n) {
    ps_lod_row_view v = view_of(lod, lane_at(lod, lane_no), row);
    *n = v.n;
    return v.order;
}

static uint32_t find_lod_row(const ps_lod *lod, const lane *l, uint32_t first, uint32_t slice) {
    for (uint32_t row = first; row < l->n_rows; row++) {
        ps_lod_row_view v = view_of(lod, l, row);
        if (bsearch(&slice, v.order, v.n, sizeof *v.order, compare_lod_numbers) != NULL) {
            return row;
        }
    }
    return PS_NONE;
}

uint32_t ps_lod_row_of(const ps_lod *lod, uint32_t slice) {
    uint32_t row = lod->row_of[slice];
    for (uint32_t i = 0; row == DEEP && i < lod->n_base; i++) {
        const lane *l = &lod->base[i];
        if (atomic_load_explicit(&l->state, memory_order_acquire) == BUILT) {
            uint32_t found = find_lod_row(lod, l, DEEP, slice);
            row = found != PS_NONE ? found : row;
        }
    }
    return row;
}

uint32_t ps_lod_row_in(const ps_lod *lod, uint32_t lane_no, uint32_t slice) {
    return find_lod_row(lod, lane_at(lod, lane_no), 0, slice);
}

void ps_lod_row_range(const ps_lod *lod, uint32_t lane_no, uint32_t row, int64_t from_ns,
                      int64_t to_ns, uint32_t *first, uint32_t *end) {
    ps_lod_row_view v = view_of(lod, lane_at(lod, lane_no), row);
    *first = ps_lod_lower(&v, from_ns);
    *end = to_ns > from_ns ? ps_lod_lower(&v, to_ns) : *first;
    if (*first > 0) {
        uint32_t before = v.order[*first - 1];
        *first -= lod->slices->start_ns[before] + lod->slices->dur_ns[before] > from_ns;
    }
}

/* --- tiles ------------------------------------------------------------------------------------------- */

/* False: no time that a trace can hold lies in this tile. */
static bool tile_span(unsigned level, int64_t tile, int64_t *from_ns, int64_t *to_ns) {
    const int64_t limit_ns = INT64_C(1) << 62;
    int64_t length_ns = (int64_t)PS_LOD_TILE << level;
    if (level > PS_LOD_MAX_LEVEL || tile >= limit_ns / length_ns || tile < -limit_ns / length_ns) {
        return false;
    }
    *from_ns = tile * length_ns;
    *to_ns = *from_ns + length_ns;
    return true;
}

ps_code ps_lod_tile(ps_lod *lod, uint32_t lane_no, unsigned level, int64_t tile,
                    ps_lod_entries *out, ps_err *err) {
    lane *l = lane_at(lod, lane_no);
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    ps_code code = ensure(lod, l, err);
    if (code != PS_OK || !tile_span(level, tile, &from_ns, &to_ns) || l->end_ns < from_ns ||
        l->start_ns >= to_ns) {
        return code;
    }
    for (uint32_t r = 0; code == PS_OK && r < l->n_rows; r++) {
        ps_lod_row_view v = view_of(lod, l, r);
        code = ps_lod_row_tile(&v, level, from_ns, to_ns, out, err);
    }
    return code;
}

void ps_lod_entries_fini(ps_lod_entries *entries) {
    ps_free(entries->at);
    *entries = (ps_lod_entries){0};
}

/* The busiest row so far, in 255ths rounded up, so that little is not nothing. */
static void raise_to(uint8_t out[PS_LOD_TILE], int64_t row_ns[PS_LOD_TILE], unsigned level) {
    double scale = 255 / (double)(INT64_C(1) << level);
    for (size_t b = 0; b < PS_LOD_TILE; b++) {
        if (row_ns[b] > 0) {
            double part = (double)row_ns[b] * scale;
            uint8_t busy = part >= 254 ? 255 : (uint8_t)(part + 1);
            out[b] = busy > out[b] ? busy : out[b];
            row_ns[b] = 0;
        }
    }
}

ps_code ps_lod_coverage(ps_lod *lod, const uint32_t *lanes, size_t n_lanes, unsigned level,
                        int64_t tile, uint8_t out[PS_LOD_TILE], ps_err *err) {
    memset(out, 0, PS_LOD_TILE);
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    if (!tile_span(level, tile, &from_ns, &to_ns)) {
        return PS_OK;
    }
    int64_t row_ns[PS_LOD_TILE] = {0};
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n_lanes; i++) {
        lane *l = lane_at(lod, lanes[i]);
        code = ensure(lod, l, err);
        bool is_there = code == PS_OK && l->end_ns >= from_ns && l->start_ns < to_ns;
        for (uint32_t r = 0; is_there && r < l->n_rows; r++) {
            ps_lod_row_view v = view_of(lod, l, r);
            ps_lod_row_cover(&v, level, from_ns, to_ns, row_ns);
            raise_to(out, row_ns, level);
        }
    }
    return code;
}
