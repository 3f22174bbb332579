/* Times are sorted by radix: a stable counting sort over up to 12 bits at a time of (time - first time). Row numbers ride
 * in the low bits of the same word while both fit into 64 bits (half an hour of a billion rows, five days of ten
 * million); else in words of their own. Equal times are put into order afterwards, run by run. */
#include "model/trace_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_DIGIT_BITS 12u

static unsigned bits_of(uint64_t v) {
    return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v);
}

/* What a sort works with. */
typedef struct radix {
    size_t n;
    unsigned n_passes, digit_bits;
    unsigned first_bit;          /* of the time in a word; below it the row, when it fits */
    uint64_t *words, *spare;     /* [n] */
    uint32_t *rows, *spare_rows; /* NULL when they ride in the words */
    uint32_t *counts;            /* [n_passes << digit_bits] */
} radix;

/* One pass by the digit number `pass`. A digit that is the same everywhere costs nothing. */
static void distribute(radix *r, unsigned pass) {
    const uint64_t mask = ((uint64_t)1 << r->digit_bits) - 1;
    const unsigned shift = r->first_bit + pass * r->digit_bits;
    uint32_t *next = r->counts + ((size_t)pass << r->digit_bits);
    if (shift > 63 || next[r->words[0] >> shift & mask] == r->n) {
        return;
    }
    uint32_t sum = 0;
    for (size_t d = 0; d <= mask; d++) {
        uint32_t count = next[d];
        next[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < r->n; i++) {
        uint32_t at = next[r->words[i] >> shift & mask]++;
        r->spare[at] = r->words[i];
        if (r->rows != NULL) {
            r->spare_rows[at] = r->rows[i];
        }
    }
    uint64_t *words = r->words;
    r->words = r->spare;
    r->spare = words;
    uint32_t *rows = r->rows;
    r->rows = r->spare_rows;
    r->spare_rows = rows;
}

/* Makes the words, and counts how often each digit occurs. */
static void count_digits(radix *r, const int64_t *times, int64_t low, bool packed) {
    const uint64_t mask = ((uint64_t)1 << r->digit_bits) - 1;
    for (size_t i = 0; i < r->n; i++) {
        uint64_t time = (uint64_t)times[i] - (uint64_t)low;
        r->words[i] = time << r->first_bit | (packed ? i : 0);
        uint32_t *counts = r->counts;
        for (unsigned pass = 0; pass < r->n_passes; pass++) {
            counts[time & mask]++;
            counts += mask + 1;
            time >>= r->digit_bits;
        }
    }
}

/* The number of passes and where a time lies in a word. True when the row fits beside it. */
static bool plan(radix *r, const int64_t *times, int64_t *low) {
    int64_t high = times[0];
    *low = times[0];
    for (size_t i = 1; i < r->n; i++) {
        *low = times[i] < *low ? times[i] : *low;
        high = times[i] > high ? times[i] : high;
    }
    unsigned row_bits = bits_of(r->n - 1);
    unsigned time_bits = bits_of((uint64_t)high - (uint64_t)*low);
    bool packed = time_bits > 0 && row_bits + time_bits <= 64;
    r->first_bit = packed ? row_bits : 0;
    r->n_passes = (time_bits + MAX_DIGIT_BITS - 1) / MAX_DIGIT_BITS;
    r->digit_bits = r->n_passes > 0 ? (time_bits + r->n_passes - 1) / r->n_passes : 0;
    return packed;
}

bool ps_times_order(const int64_t *times, size_t n, uint32_t *order) {
    radix r = {.n = n};
    int64_t low = 0;
    bool packed = plan(&r, times, &low);
    uint32_t *rows = packed ? NULL : ps_alloc(n * sizeof *rows);
    r.words = ps_alloc(n * sizeof *r.words);
    r.spare = ps_alloc(n * sizeof *r.spare);
    r.counts = ps_calloc((size_t)r.n_passes << r.digit_bits, sizeof *r.counts);
    bool ok = r.words != NULL && r.spare != NULL && r.counts != NULL && (packed || rows != NULL);
    for (size_t i = 0; ok && i < n; i++) {
        order[i] = (uint32_t)i;
    }
    r.rows = packed ? NULL : order;
    r.spare_rows = rows;
    if (ok) {
        count_digits(&r, times, low, packed);
    }
    for (unsigned pass = 0; ok && pass < r.n_passes; pass++) {
        distribute(&r, pass);
    }
    for (size_t i = 0; ok && packed && i < n; i++) {
        order[i] = (uint32_t)(r.words[i] & (((uint64_t)1 << r.first_bit) - 1));
    }
    if (ok && !packed && r.rows != order) {
        memcpy(order, r.rows, n * sizeof *order);
    }
    ps_free(r.words);
    ps_free(r.spare);
    ps_free(r.counts);
    ps_free(rows);
    return ok;
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

/* column[i] = old column[order[i]]; the old array is freed. */
#define GATHER(ok, column, n, order)                                                               \
    do {                                                                                           \
        void *gathered_ = (ok) ? ps_alloc((n) * sizeof *(column)) : NULL;                          \
        (ok) = (ok) && gathered_ != NULL;                                                          \
        if (ok) {                                                                                  \
            __typeof__(column) to_ = gathered_;                                                    \
            for (size_t i_ = 0; i_ < (n); i_++) {                                                  \
                to_[i_] = (column)[(order)[i_]];                                                   \
            }                                                                                      \
            ps_free(column);                                                                       \
            (column) = to_;                                                                        \
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
#define X(type, col) GATHER(ok, s->col, s->n, order);
    PS_SLICE_COLS(X)
#undef X
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
#define X(type, col) GATHER(ok, c->col, c->n, order);
    PS_COUNTER_COLS(X)
#undef X
    ps_free(order);
    return ok;
}

/* --- flows ----------------------------------------------------------------------------------------------- */

static int compare_flows(const void *a, const void *b) {
    const ps_flow *x = a;
    const ps_flow *y = b;
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    return x->kind.id < y->kind.id ? -1 : x->kind.id > y->kind.id;
}

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
    GATHER(ok, *flows, n, order);
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
