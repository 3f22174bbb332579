/* The statistics block of msprof-analyze ("stats of X"): count, mean, deviation, quartiles, extremes, sum. */
#ifndef PS_ANALYZE_STATS_H
#define PS_ANALYZE_STATS_H

#include <stddef.h>
#include <stdint.h>

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

/* Columns Count, MeanNs, StdNs, MinNs, Q1Ns, MedianNs, Q3Ns, MaxNs, SumNs of a public table. */
#define PS_STATS_COLUMNS                                                                           \
    {.name = "Count", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},                                  \
        {.name = "MeanNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS},                               \
        {.name = "StdNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS},                                \
        {.name = "MinNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS},                                \
        {.name = "Q1Ns", .type = PS_COL_REAL, .unit = PS_UNIT_NS},                                 \
        {.name = "MedianNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS},                             \
        {.name = "Q3Ns", .type = PS_COL_REAL, .unit = PS_UNIT_NS},                                 \
        {.name = "MaxNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS}, {                              \
        .name = "SumNs", .type = PS_COL_REAL, .unit = PS_UNIT_NS                                   \
    }
#define PS_N_STATS_COLUMNS ((size_t)9)

/* Sets the nine cells of the last row from column `first` on; a deviation or quartile that is not a number stays NULL. */
void ps_stats_put(ps_table *t, size_t first, const ps_stats *s);

#endif
