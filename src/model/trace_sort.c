/* Times are sorted by radix: a stable counting sort over 11 bits at a time of (time - first time). Row numbers ride
 * in the low bits of the same word while both fit into 64 bits (half an hour of a billion rows, five days of ten
 * million); else in words of their own. Equal times are put into order afterwards, run by run. */
#include "model/trace_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define DIGIT_BITS 11
#define N_DIGITS ((size_t)1 << DIGIT_BITS)

static unsigned bits_of(uint64_t v) {
    return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v);
}

/* One pass: from[] to to[] by the digit at `shift`; rows (may be NULL) ride along. */
static void count_pass(const uint64_t *from, uint64_t *to, const uint32_t *rows_from,
                       uint32_t *rows_to, size_t n, unsigned shift) {
    size_t first[N_DIGITS] = {0};
    for (size_t i = 0; i < n; i++) {
        first[from[i] >> shift & (N_DIGITS - 1)]++;
    }
    size_t sum = 0;
    for (size_t d = 0; d < N_DIGITS; d++) {
        size_t count = first[d];
        first[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = first[from[i] >> shift & (N_DIGITS - 1)]++;
        to[at] = from[i];
        if (rows_from != NULL) {
            rows_to[at] = rows_from[i];
        }
    }
}

bool ps_times_order(const int64_t *times, size_t n, uint32_t *order) {
    int64_t low = times[0];
    int64_t high = times[0];
    for (size_t i = 1; i < n; i++) {
        low = times[i] < low ? times[i] : low;
        high = times[i] > high ? times[i] : high;
    }
    unsigned row_bits = bits_of(n - 1);
    unsigned time_bits = bits_of((uint64_t)high - (uint64_t)low);
    bool packed = row_bits + time_bits <= 64;
    unsigned first_bit = packed ? row_bits : 0;
    uint64_t *a = ps_alloc(n * sizeof *a);
    uint64_t *b = ps_alloc(n * sizeof *b);
    uint32_t *rows = packed ? NULL : ps_alloc(n * sizeof *rows);
    bool ok = a != NULL && b != NULL && (packed || rows != NULL);
    for (size_t i = 0; ok && i < n; i++) {
        a[i] = ((uint64_t)times[i] - (uint64_t)low) << first_bit | (packed ? i : 0);
        order[i] = (uint32_t)i;
    }
    uint32_t *rows_from = packed ? NULL : order;
    uint32_t *rows_to = rows;
    for (unsigned done = 0; ok && done < time_bits; done += DIGIT_BITS) {
        count_pass(a, b, rows_from, rows_to, n, first_bit + done);
        uint64_t *swap = a;
        a = b;
        b = swap;
        uint32_t *swap_rows = rows_from;
        rows_from = rows_to;
        rows_to = swap_rows;
    }
    for (size_t i = 0; ok && packed && i < n; i++) {
        order[i] = (uint32_t)(a[i] & (((uint64_t)1 << row_bits) - 1));
    }
    if (ok && !packed && rows_from != order) {
        memcpy(order, rows_from, n * sizeof *order);
    }
    ps_free(a);
    ps_free(b);
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
