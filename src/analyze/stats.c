#include "analyze/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

double ps_stats_quantile(const int64_t *sorted, size_t n, double p) {
    double at = (double)(n - 1) * p;
    size_t below = (size_t)at;
    size_t above = below + 1 < n ? below + 1 : below;
    double low = (double)sorted[below];
    return low + (at - (double)below) * ((double)sorted[above] - low);
}

ps_stats ps_stats_of(int64_t *values, size_t n) {
    ps_stats s = {.n = n};
    if (n == 0) {
        s.std = NAN;
        s.population = NAN;
        return s;
    }
    qsort(values, n, sizeof *values, compare);
    for (size_t i = 0; i < n; i++) {
        s.sum += values[i];
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

void ps_stats_put(ps_table *t, size_t first, const ps_stats *s) {
    ps_table_set_int(t, first, (int64_t)s->n);
    ps_table_set_real(t, first + 1, s->mean);
    if (!isnan(s->std)) {
        ps_table_set_real(t, first + 2, s->std);
    }
    ps_table_set_real(t, first + 3, (double)s->min);
    ps_table_set_real(t, first + 4, s->q1);
    ps_table_set_real(t, first + 5, s->median);
    ps_table_set_real(t, first + 6, s->q3);
    ps_table_set_real(t, first + 7, (double)s->max);
    ps_table_set_real(t, first + 8, (double)s->sum);
}
