/* Decimal text to integers, exactly: nothing passes through a double. */
#ifndef PS_BASE_NUM_H
#define PS_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole of `s[0..n)` as a decimal integer with optional '-'. False when it is anything else or does
 * not fit. */
bool ps_parse_i64(const char *s, size_t n, int64_t *out);

/* Decimal microseconds with an optional fraction ("12", "0.25", "1.5") to whole nanoseconds. False when
 * malformed, negative, out of range, or finer than a nanosecond. */
bool ps_parse_us_as_ns(const char *s, size_t n, int64_t *out_ns);

/* A non-negative decimal number ("1.3") in units of 1/scale (scale a power of ten), rounded half up. */
bool ps_parse_scaled(const char *s, size_t n, int64_t scale, int64_t *out);

/* A rank as people read it: its number, "?" when it is negative, that is, not known. Returns `out`. */
const char *ps_rank_text(int64_t rank, char out[24]);
/* The same as an argument of a call. */
#define PS_RANK(rank) ps_rank_text((rank), (char[24]){0})

/* Sum and difference that stay at the ends of the range, which can still be negated: times of a hostile input have sums
 * that int64_t does not hold. */
static inline int64_t ps_i64_plus(int64_t a, int64_t b) {
    int64_t out = 0;
    bool fits = !__builtin_add_overflow(a, b, &out) && out != INT64_MIN;
    return fits ? out : a < 0 || b < 0 ? INT64_MIN + 1 : INT64_MAX;
}
static inline int64_t ps_i64_minus(int64_t a, int64_t b) {
    int64_t out = 0;
    bool fits = !__builtin_sub_overflow(a, b, &out) && out != INT64_MIN;
    return fits ? out : a < b ? INT64_MIN + 1 : INT64_MAX;
}

static inline int64_t ps_larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t ps_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}
/* Without its sign, also of INT64_MIN. */
static inline uint64_t ps_magnitude(int64_t n) {
    return n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
}

/* The middle of two numbers, rounded down. The median of n sorted values, wherever pipescope says median, is
 * ps_midpoint_i64(v[(n - 1) / 2], v[n / 2]). */
int64_t ps_midpoint_i64(int64_t a, int64_t b);
/* That of n values in any order, which it moves about; 0 of none. Linear in n. */
int64_t ps_median_i64(int64_t *values, size_t n);
/* The most common of n counts, of several as common the largest; those of 0 and less are none. Sorts them. 0 of none. */
int64_t ps_usual_i64(int64_t *counts, size_t n);

typedef struct ps_ns_unit {
    const char *name;
    int64_t ns;
} ps_ns_unit;
/* The largest in which a time is at least 1, of s, ms, us, ns. Of times that stand in one column: write/out/column_units.h. */
ps_ns_unit ps_ns_unit_for(int64_t ns);

/* Digits behind the point that show three significant ones of a value, at most 3. */
unsigned ps_decimals_for(double value);
/* Of a time in a unit; of ns none. */
unsigned ps_ns_decimals(int64_t ns, ps_ns_unit unit);

/* "18.3 ms": three significant digits, in the unit that fits. */
typedef struct ps_ns_text {
    char text[32];
} ps_ns_text;
ps_ns_text ps_ns_text_of(int64_t ns);
ps_ns_text ps_ns_text_in(int64_t ns, ps_ns_unit unit, unsigned decimals);

/* Orders int64_t for qsort and bsearch. */
int ps_compare_i64(const void *a, const void *b);

/* "64GiB", "1.5GB", "512M" (2^20), "123456": bytes, more than none. False for anything else. */
bool ps_parse_size(const char *text, int64_t *bytes);

/* 100 part / whole; 0 when the whole is none. */
double ps_percent(int64_t part, int64_t whole);

#endif
