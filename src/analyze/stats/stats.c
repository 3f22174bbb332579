#include "analyze/stats/stats.h"

#include <math.h>

#include "base/num.h"

/* --- sorting -------------------------------------------------------------------------------------------- */

#define FEW ((size_t)48)

static void sort_few(int64_t *v, size_t n) {
    for (size_t i = 1; i < n; i++) {
        int64_t x = v[i];
        size_t k = i;
        for (; k > 0 && v[k - 1] > x; k--) {
            v[k] = v[k - 1];
        }
        v[k] = x;
    }
}

/* The byte of a value, in the order of signed numbers. */
static size_t byte_of(int64_t value, int shift) {
    return (((uint64_t)value ^ ((uint64_t)1 << 63)) >> shift) & 0xff;
}

/* Radix sort in place, from the byte at `shift` down: each value is swapped to its bucket, then the buckets are sorted by
 * the next byte. At most eight levels deep. */
static void sort_from(int64_t *v, size_t n, int shift) {
    size_t begin[256];
    size_t end[256] = {0};
    for (size_t i = 0; i < n; i++) {
        end[byte_of(v[i], shift)]++;
    }
    size_t at = 0;
    for (size_t b = 0; b < 256; b++) {
        begin[b] = at;
        at += end[b];
        end[b] = at;
    }
    for (size_t b = 0; b < 256; b++) {
        while (begin[b] < end[b]) {
            int64_t value = v[begin[b]];
            size_t to = byte_of(value, shift);
            v[begin[b]] = v[begin[to]]; /* the same place when it is in its bucket */
            v[begin[to]++] = value;
        }
    }
    for (size_t b = 0; b < 256 && shift > 0; b++) {
        size_t first = b > 0 ? end[b - 1] : 0;
        if (end[b] - first > FEW) {
            sort_from(v + first, end[b] - first, shift - 8);
        } else {
            sort_few(v + first, end[b] - first);
        }
    }
}

static void sort_stat(int64_t *v, size_t n) {
    size_t sorted = 1;
    uint64_t differ = 0;
    for (; sorted < n && v[sorted - 1] <= v[sorted]; sorted++) {
    }
    for (size_t i = 0; sorted < n && i < n; i++) {
        differ |= (uint64_t)(v[i] ^ v[0]);
    }
    if (sorted >= n) {
        return;
    }
    if (n <= FEW) {
        sort_few(v, n);
        return;
    }
    int shift = 0;
    while (shift < 56 && differ >> (shift + 8) != 0) {
        shift += 8;
    }
    sort_from(v, n, shift);
}

/* --- statistics ----------------------------------------------------------------------------------------- */

/* Between the two values around position (n - 1) p, in a straight line. */
typedef struct between {
    size_t below, above;
    double share; /* of the way from one to the other */
} between;

static between place_of_quantile(size_t n, double p) {
    double at = (double)(n - 1) * p;
    size_t below = (size_t)at;
    return (between){below, below + 1 < n ? below + 1 : below, at - (double)below};
}

double ps_stats_quantile(const int64_t *sorted, size_t n, double p) {
    between b = place_of_quantile(n, p);
    double low = (double)sorted[b.below];
    return low + b.share * ((double)sorted[b.above] - low);
}

double ps_stats_quantile_of_reals(const double *sorted, size_t n, double p) {
    between b = place_of_quantile(n, p);
    return sorted[b.below] + b.share * (sorted[b.above] - sorted[b.below]);
}

ps_stats ps_stats_of(int64_t *values, size_t n) {
    ps_stats s = {.n = n};
    if (n == 0) {
        s.std = NAN;
        s.population = NAN;
        return s;
    }
    sort_stat(values, n);
    for (size_t i = 0; i < n; i++) {
        s.sum = ps_i64_plus(s.sum, values[i]);
    }
    s.mean = (double)s.sum / (double)n;
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)values[i] - s.mean;
        squares += d * d;
    }
    s.std = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
    s.population = sqrt(squares / (double)n);
    s.min = values[0];
    s.max = values[n - 1];
    s.q1 = ps_stats_quantile(values, n, 0.25);
    s.median = ps_stats_quantile(values, n, 0.5);
    s.q3 = ps_stats_quantile(values, n, 0.75);
    return s;
}

void ps_stats_archive(ps_archive *a, void *stats) {
    ps_stats *x = stats;
    PS_ARCHIVE(a, x, n, min, max, sum, mean, std, population, q1, median, q3);
}
