#include "analyze/stats/dixon.h"

#include <math.h>

enum { FIRST = 3, LAST = 100 };

/* Of samples of 3, 4, ... 100 values. */
static const double CRITICAL[LAST - FIRST + 1] = {
    0.994, 0.920, 0.823, 0.744, 0.680, 0.723, 0.676, 0.638, 0.707, 0.675, 0.649, 0.672, 0.649,
    0.629, 0.611, 0.595, 0.580, 0.568, 0.556, 0.545, 0.536, 0.526, 0.519, 0.510, 0.503, 0.496,
    0.489, 0.484, 0.478, 0.473, 0.468, 0.463, 0.458, 0.454, 0.450, 0.446, 0.442, 0.439, 0.435,
    0.432, 0.429, 0.425, 0.423, 0.420, 0.417, 0.414, 0.412, 0.409, 0.407, 0.405, 0.402, 0.400,
    0.398, 0.396, 0.394, 0.392, 0.391, 0.388, 0.387, 0.385, 0.383, 0.382, 0.380, 0.379, 0.377,
    0.376, 0.374, 0.372, 0.371, 0.370, 0.368, 0.368, 0.366, 0.365, 0.364, 0.363, 0.361, 0.360,
    0.359, 0.358, 0.356, 0.356, 0.355, 0.353, 0.352, 0.352, 0.351, 0.350, 0.349, 0.348, 0.347,
    0.346, 0.345, 0.344, 0.344, 0.343, 0.341, 0.341,
};

static size_t count_distinct(const int64_t *sorted, size_t n) {
    size_t distinct = n > 0 ? 1 : 0;
    for (size_t i = 1; i < n; i++) {
        distinct += sorted[i] != sorted[i - 1];
    }
    return distinct;
}

/* Larger samples leave out more of the values next to the extremes, which may be outliers themselves. */
static double dixon_ratio(const int64_t *x, size_t n) {
    size_t next = n <= 10 ? 1 : 2;                  /* compared with the smallest */
    size_t from_top = n <= 7 ? 1 : n <= 13 ? 2 : 3; /* the largest is the last but this */
    double range = (double)x[n - from_top] - (double)x[0];
    return range > 0 ? ((double)x[next] - (double)x[0]) / range : 0;
}

static bool is_beyond_sigma(const int64_t *x, size_t n) {
    double mean = 0;
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        mean += (double)x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    }
    double sigma = sqrt(squares / (double)n);
    return (double)x[0] < mean - 3 * sigma || (double)x[n - 1] > mean + 3 * sigma;
}

bool ps_smallest_is_outlier(const int64_t *sorted, size_t n) {
    if (count_distinct(sorted, n) <= 3) {
        return false;
    }
    return n > LAST ? is_beyond_sigma(sorted, n) : dixon_ratio(sorted, n) > CRITICAL[n - FIRST];
}
