/* Dixon's test for one value that is too small: is the smallest of a sample an outlier? */
#ifndef PS_ANALYZE_DIXON_H
#define PS_ANALYZE_DIXON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the smallest of n ascending values is one, one-sided at 0.995; false for fewer than four different values.
 * For n > 100: under mean - 3 sigma, or anything over mean + 3 sigma. Source: published critical values; the rule for
 * many ranks is that of msprof-analyze slow_rank. */
bool ps_smallest_is_outlier(const int64_t *sorted, size_t n);

#endif
