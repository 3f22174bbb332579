/* Times are sorted from the top: rows are dealt into buckets by the leading bits of (time - first time), and each bucket,
 * small enough for the cache, by radix over the bits that differ in it. Large buckets are dealt again. Beside the
 * result it needs next to no memory. */
#include "model/trace_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"

/* A deal takes MIN_DEAL_BITS at least, and so there are no more than eight of them one within another. */
enum { FEW_BITS = 12, FEW = 1 << FEW_BITS, MIN_DEAL_BITS = 8, MAX_DEAL_BITS = 11, DIGIT_BITS = 9 };
enum { MAX_DIGITS = (64 - FEW_BITS + DIGIT_BITS - 1) / DIGIT_BITS, RUN = 24 };

static unsigned bits_of(uint64_t v) {
    return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v);
}

static unsigned time_sort_least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* What a sort works with. */
typedef struct sorter {
    const uint8_t *times;
    size_t stride_bytes;
    uint64_t words[FEW], spare[FEW]; /* of a bucket: time above its number in the bucket */
    uint32_t rows[FEW];
    uint32_t counts[MAX_DIGITS << DIGIT_BITS];
} sorter;

static int64_t time_of(const sorter *s, size_t row) {
    return *(const int64_t *)(const void *)(s->times + row * s->stride_bytes);
}

/* --- few rows -------------------------------------------------------------------------------------------- */

static void insert_each(uint64_t *words, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint64_t word = words[i];
        size_t at = i;
        for (; at > 0 && words[at - 1] > word; at--) {
            words[at] = words[at - 1];
        }
        words[at] = word;
    }
}

/* Sorts by the `bits` above FEW_BITS; what is below is in order already. Returns where the words are now. */
static const uint64_t *sort_words(sorter *s, size_t n, unsigned bits) {
    unsigned n_digits = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    unsigned digit_bits = (bits + n_digits - 1) / n_digits;
    const uint64_t mask = ((uint64_t)1 << digit_bits) - 1;
    uint64_t *from = s->words;
    uint64_t *to = s->spare;
    memset(s->counts, 0, ((size_t)n_digits << digit_bits) * sizeof *s->counts);
    for (size_t i = 0; i < n; i++) {
        uint64_t word = from[i] >> FEW_BITS;
        for (unsigned d = 0; d < n_digits; d++) {
            s->counts[d << digit_bits | (word & mask)]++;
            word >>= digit_bits;
        }
    }
    for (unsigned d = 0; d < n_digits; d++) {
        uint32_t *next = s->counts + ((size_t)d << digit_bits);
        unsigned shift = FEW_BITS + d * digit_bits;
        uint32_t sum = 0;
        for (size_t i = 0; i <= mask; i++) {
            uint32_t count = next[i];
            next[i] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) {
            to[next[from[i] >> shift & mask]++] = from[i];
        }
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

/* Up to FEW rows, in input order. False when their times are too far apart for this. */
static bool order_few(sorter *s, uint32_t *rows, size_t n) {
    int64_t low = time_of(s, rows[0]);
    int64_t high = low;
    int64_t last = low;
    bool in_order = true;
    for (size_t i = 0; i < n; i++) {
        int64_t time = time_of(s, rows[i]);
        low = time < low ? time : low;
        high = time > high ? time : high;
        in_order = in_order && time >= last;
        last = time;
        s->words[i] = (uint64_t)time;
        s->rows[i] = rows[i];
    }
    unsigned bits = bits_of((uint64_t)high - (uint64_t)low);
    if (in_order || bits > 64 - FEW_BITS) {
        return in_order;
    }
    for (size_t i = 0; i < n; i++) {
        s->words[i] = (s->words[i] - (uint64_t)low) << FEW_BITS | i;
    }
    const uint64_t *sorted = s->words;
    if (n <= RUN) {
        insert_each(s->words, n);
    } else {
        sorted = sort_words(s, n, bits);
    }
    for (size_t i = 0; i < n; i++) {
        rows[i] = s->rows[sorted[i] & (FEW - 1)];
    }
    return true;
}

/* --- many rows ------------------------------------------------------------------------------------------- */

/* Puts rows[0 .. n) into the order of their times. `old`: another array with the same rows, NULL when they are 0, 1, 2
 * ... */
static bool order_rows(sorter *s, const uint32_t *old, uint32_t *rows, size_t n);

static bool order_bucket(sorter *s, uint32_t *rows, size_t n) {
    if (n < 2 || (n <= FEW && order_few(s, rows, n))) {
        return true;
    }
    uint32_t *old = ps_alloc(n * sizeof *old);
    if (old == NULL) {
        return false;
    }
    memcpy(old, rows, n * sizeof *old);
    bool ok = order_rows(s, old, rows, n);
    ps_free(old);
    return ok;
}

/* How the rows are dealt. */
typedef struct deal {
    int64_t low;
    unsigned bits, shift;
} deal;

/* False when the rows are in order. */
static bool plan_time_sort(const sorter *s, const uint32_t *old, size_t n, deal *d) {
    int64_t last = time_of(s, old != NULL ? old[0] : 0);
    int64_t high = last;
    bool in_order = true;
    *d = (deal){.low = last};
    for (size_t i = 1; i < n; i++) {
        int64_t time = time_of(s, old != NULL ? old[i] : i);
        d->low = time < d->low ? time : d->low;
        high = time > high ? time : high;
        in_order = in_order && time >= last;
        last = time;
    }
    unsigned time_bits = bits_of((uint64_t)high - (uint64_t)d->low);
    unsigned want = bits_of(n) > FEW_BITS - 2 ? bits_of(n) - (FEW_BITS - 2) : 0;
    want = want < MIN_DEAL_BITS ? MIN_DEAL_BITS : time_sort_least(want, MAX_DEAL_BITS);
    d->bits = time_sort_least(want, time_bits);
    d->shift = time_bits - d->bits;
    return !in_order;
}

static bool order_rows(sorter *s, const uint32_t *old, uint32_t *rows, size_t n) {
    uint32_t next[1 << MAX_DEAL_BITS] = {0};
    deal d;
    if (!plan_time_sort(s, old, n, &d)) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t time = time_of(s, old != NULL ? old[i] : i);
        next[((uint64_t)time - (uint64_t)d.low) >> d.shift]++;
    }
    uint32_t sum = 0;
    for (size_t b = 0; b < (size_t)1 << d.bits; b++) {
        uint32_t count = next[b];
        next[b] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t row = old != NULL ? old[i] : (uint32_t)i;
        rows[next[((uint64_t)time_of(s, row) - (uint64_t)d.low) >> d.shift]++] = row;
    }
    uint32_t begin = 0;
    bool ok = true;
    for (size_t b = 0; ok && d.shift > 0 && b < (size_t)1 << d.bits; b++) {
        ok = order_bucket(s, rows + begin, next[b] - begin);
        begin = next[b];
    }
    return ok;
}

bool ps_times_order_in(const int64_t *first, size_t stride_bytes, size_t n, uint32_t *order) {
    sorter *s = ps_alloc(sizeof *s);
    if (s == NULL) {
        return false;
    }
    s->times = (const uint8_t *)first;
    s->stride_bytes = stride_bytes;
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    bool ok = order_rows(s, NULL, order, n);
    ps_free(s);
    return ok;
}

bool ps_times_order(const int64_t *times, size_t n, uint32_t *order) {
    return ps_times_order_in(times, sizeof *times, n, order);
}

/* --- slices ---------------------------------------------------------------------------------------------- */

static int compare_equal_starts(const void *a, const void *b, void *context) {
    const ps_slices *s = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (s->dur_ns[x] != s->dur_ns[y]) {
        return s->dur_ns[x] > s->dur_ns[y] ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool slices_in_order(const ps_slices *s) {
    for (uint32_t i = 1; i < s->n; i++) {
        if (s->start_ns[i] < s->start_ns[i - 1] ||
            (s->start_ns[i] == s->start_ns[i - 1] && s->dur_ns[i] > s->dur_ns[i - 1])) {
            return false;
        }
    }
    return true;
}

bool ps_slices_order(const ps_slices *s, uint32_t *order) {
    if (!ps_times_order(s->start_ns, s->n, order)) {
        return false;
    }
    for (uint32_t i = 0; i < s->n;) {
        uint32_t end = i + 1;
        while (end < s->n && s->start_ns[order[end]] == s->start_ns[order[i]]) {
            end++;
        }
        if (end - i > 1) {
            ps_slices columns = *s; /* qsort_r wants it writable */
            qsort_r(order + i, end - i, sizeof *order, compare_equal_starts, &columns);
        }
        i = end;
    }
    return true;
}

/* An array that is free to be written to, of elements of `width` bytes. */
typedef struct spare_array {
    void *array;
    size_t width;
} spare_array;

static bool spare_of(spare_array *spare, size_t n, size_t width) {
    if (spare->width != width) {
        ps_free(spare->array);
        *spare = (spare_array){ps_alloc(n * width), width};
    }
    return spare->array != NULL;
}

/* column[i] = old column[order[i]]; the old array is the spare one of the next column, which needs no fresh pages. */
#define GATHER(ok, column, n, order, spare)                                                        \
    do {                                                                                           \
        (ok) = (ok) && spare_of((spare), (n), sizeof *(column));                                   \
        if (ok) {                                                                                  \
            __typeof__(column) from_ = (column);                                                   \
            (column) = (spare)->array;                                                             \
            (spare)->array = from_;                                                                \
            for (size_t i_ = 0; i_ < (n); i_++) {                                                  \
                (column)[i_] = from_[(order)[i_]];                                                 \
            }                                                                                      \
        }                                                                                          \
    } while (0)

bool ps_slices_sort(ps_slices *s, uint32_t *order, uint32_t **new_row) {
    *new_row = NULL;
    if (slices_in_order(s)) {
        ps_free(order);
        return true;
    }
    bool ok = order != NULL;
    if (!ok) {
        order = ps_alloc(s->n * sizeof *order);
        ok = order != NULL && ps_slices_order(s, order);
    }
    spare_array spare = {0};
#define X(type, col) GATHER(ok, s->col, s->n, order, &spare);
    PS_SLICE_COLS(X)
#undef X
    ps_free(spare.array);
    *new_row = ok ? ps_alloc(s->n * sizeof **new_row) : NULL;
    ok = ok && *new_row != NULL;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        (*new_row)[order[i]] = i;
    }
    ps_free(order);
    return ok;
}

/* --- counters -------------------------------------------------------------------------------------------- */

static bool counters_in_order(const ps_counters *c) {
    for (uint32_t i = 1; i < c->n; i++) {
        if (c->track[i] < c->track[i - 1] ||
            (c->track[i] == c->track[i - 1] && c->time_ns[i] < c->time_ns[i - 1])) {
            return false;
        }
    }
    return true;
}

/* Whether the values of each track are in time order among themselves, as they mostly are. */
static bool tracks_in_order(const ps_counters *c, int64_t *last, uint32_t n_tracks) {
    for (uint32_t t = 0; t < n_tracks; t++) {
        last[t] = INT64_MIN;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->time_ns[i] < last[c->track[i]]) {
            return false;
        }
        last[c->track[i]] = c->time_ns[i];
    }
    return true;
}

/* By track, then time, then row. */
static bool order_by_track(const ps_counters *c, uint32_t *order) {
    uint32_t n_tracks = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        n_tracks = c->track[i] >= n_tracks ? c->track[i] + 1 : n_tracks;
    }
    uint32_t *by_time = NULL;
    uint32_t *next = ps_calloc((size_t)n_tracks + 1, sizeof *next);
    int64_t *last = ps_alloc(n_tracks * sizeof *last);
    bool ok = next != NULL && last != NULL;
    if (ok && !tracks_in_order(c, last, n_tracks)) {
        by_time = ps_alloc(c->n * sizeof *by_time);
        ok = by_time != NULL && ps_times_order(c->time_ns, c->n, by_time);
    }
    for (uint32_t i = 0; ok && i < c->n; i++) {
        next[c->track[i] + 1]++;
    }
    for (uint32_t t = 0; ok && t < n_tracks; t++) {
        next[t + 1] += next[t];
    }
    for (uint32_t i = 0; ok && i < c->n; i++) {
        uint32_t row = by_time != NULL ? by_time[i] : i;
        order[next[c->track[row]]++] = row;
    }
    ps_free(by_time);
    ps_free(next);
    ps_free(last);
    return ok;
}

bool ps_counters_sort(ps_counters *c) {
    if (counters_in_order(c)) {
        return true;
    }
    uint32_t *order = ps_alloc(c->n * sizeof *order);
    bool ok = order != NULL && order_by_track(c, order);
    spare_array spare = {0};
#define X(type, col) GATHER(ok, c->col, c->n, order, &spare);
    PS_COUNTER_COLS(X)
#undef X
    ps_free(spare.array);
    ps_free(order);
    return ok;
}

/* --- flows ----------------------------------------------------------------------------------------------- */

PS_COMPARE(compare_flows, ps_flow, PS_BY(to) PS_BY(kind.id))

/* Those with the same origin, mostly one or two. */
static void sort_run(ps_flow *flows, size_t n) {
    enum { SMALL = 16 };
    if (n > SMALL) {
        qsort(flows, n, sizeof *flows, compare_flows);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        ps_flow flow = flows[i];
        size_t at = i;
        for (; at > 0 && compare_flows(&flow, &flows[at - 1]) < 0; at--) {
            flows[at] = flows[at - 1];
        }
        flows[at] = flow;
    }
}

bool ps_flows_sort(ps_flow **flows, size_t n) {
    if (n < 2) {
        return true;
    }
    int64_t *keys = ps_alloc(n * sizeof *keys);
    uint32_t *order = ps_alloc(n * sizeof *order);
    for (size_t i = 0; keys != NULL && i < n; i++) {
        keys[i] = (*flows)[i].from;
    }
    bool ok = keys != NULL && order != NULL && ps_times_order(keys, n, order);
    ps_free(keys);
    spare_array spare = {0};
    GATHER(ok, *flows, n, order, &spare);
    ps_free(spare.array);
    ps_free(order);
    for (size_t i = 0; ok && i < n;) {
        size_t end = i + 1;
        while (end < n && (*flows)[end].from == (*flows)[i].from) {
            end++;
        }
        sort_run(*flows + i, end - i);
        i = end;
    }
    return ok;
}
