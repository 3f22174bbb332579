/* The statistics block of msprof-analyze ("stats of X"): count, mean, deviation, quartiles, extremes, sum. */
#ifndef PS_ANALYZE_STATS_H
#define PS_ANALYZE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "model/table.h"

/* Of int64 values, in their unit. */
typedef struct ps_stats {
    size_t n;
    int64_t min, max, sum;
    double mean;
    double std;        /* sample deviation (n - 1); NaN for fewer than two */
    double population; /* deviation over n; NaN for none */
    double q1, median, q3;
} ps_stats;

/* Sorts `values`. Quartiles interpolate linearly at position (n - 1) p. All zero for none. */
ps_stats ps_stats_of(int64_t *values, size_t n);
/* The value at position (n - 1) p of sorted values, 0 <= p <= 1, n > 0. */
double ps_stats_quantile(const int64_t *sorted, size_t n, double p);
double ps_stats_quantile_of_reals(const double *sorted, size_t n, double p); /* the same of reals */

/* Columns Count, MeanNs, StdNs, MinNs, Q1Ns, MedianNs, Q3Ns, MaxNs, SumNs of a public table, whose rows have a ps_stats of
 * that name. */
#define PS_STATS_COLUMNS(row_type, of)                                                             \
    {.name = "Count", PS_FIELD(row_type, of.n), .unit = PS_UNIT_COUNT},                            \
        PS_STATS_NS("MeanNs", row_type, of.mean), PS_STATS_NS("StdNs", row_type, of.std),          \
        PS_STATS_NS("MinNs", row_type, of.min), PS_STATS_NS("Q1Ns", row_type, of.q1),              \
        PS_STATS_NS("MedianNs", row_type, of.median), PS_STATS_NS("Q3Ns", row_type, of.q3),        \
        PS_STATS_NS("MaxNs", row_type, of.max), PS_STATS_NS("SumNs", row_type, of.sum)
#define PS_STATS_NS(column, row_type, member_name)                                                 \
    { .name = (column), PS_FIELD_AS(PS_COL_REAL, row_type, member_name), .unit = PS_UNIT_NS }

void ps_stats_archive(ps_archive *a, void *stats);

#endif
