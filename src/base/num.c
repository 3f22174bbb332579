#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool ps_parse_i64(const char *s, size_t n, int64_t *out) {
    size_t i = 0;
    bool negative = n > 0 && s[0] == '-';
    if (negative) {
        i++;
    }
    if (i == n) {
        return false;
    }
    int64_t value = 0; /* kept negative: its range is the larger one */
    for (; i < n; i++) {
        int digit = s[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) {
            return false;
        }
    }
    if (!negative && value == INT64_MIN) {
        return false;
    }
    *out = negative ? value : -value;
    return true;
}

/* Digits before and after the point as one integer of 1/scale; `rest` says whether non-zero digits
 * followed, `next` is the first of them. */
static bool parse_decimal(const char *s, size_t n, int64_t scale, int64_t *out, int *next,
                          bool *rest) {
    int64_t value = 0;
    bool point = false;
    bool digits = false;
    *next = 0;
    *rest = false;
    int64_t left = scale;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' && !point) {
            point = true;
            continue;
        }
        int digit = s[i] - '0';
        if (digit < 0 || digit > 9) {
            return false;
        }
        digits = true;
        if (point && left == 1) {
            *next = *rest || *next != 0 ? *next : digit;
            *rest = *rest || digit != 0;
            if (*next == 0 && digit == 0) {
                left = 0; /* the first digit past the scale is 0: rounds down whatever follows */
            }
            continue;
        }
        if (point && left == 0) {
            *rest = *rest || digit != 0;
            continue;
        }
        if (point) {
            left /= 10;
        }
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    while (left > 1) {
        left /= 10;
        if (__builtin_mul_overflow(value, 10, &value)) {
            return false;
        }
    }
    *out = value;
    return digits;
}

bool ps_parse_us_as_ns(const char *s, size_t n, int64_t *out_ns) {
    int next = 0;
    bool rest = false;
    return parse_decimal(s, n, 1000, out_ns, &next, &rest) && !rest;
}

bool ps_parse_scaled(const char *s, size_t n, int64_t scale, int64_t *out) {
    int next = 0;
    bool rest = false;
    if (!parse_decimal(s, n, scale, out, &next, &rest)) {
        return false;
    }
    return next < 5 || !__builtin_add_overflow(*out, 1, out);
}

int64_t ps_midpoint_i64(int64_t a, int64_t b) {
    return (a & b) + ((a ^ b) >> 1); /* the shared bits and half of the others: no overflow */
}

int ps_compare_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

const char *ps_rank_text(int64_t rank, char out[24]) {
    (void)snprintf(out, 24, "?");
    if (rank >= 0) {
        (void)snprintf(out, 24, "%lld", (long long)rank);
    }
    return out;
}

ps_ns_unit ps_ns_unit_for(int64_t ns) {
    static const ps_ns_unit UNITS[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
    size_t u = 0;
    while (u < 3 && ps_magnitude(ns) < (uint64_t)UNITS[u].ns) {
        u++;
    }
    return UNITS[u];
}

unsigned ps_decimals_for(double value) {
    double size = fabs(value);
    if (size == 0 || size >= 99.95) {
        return 0;
    }
    if (size >= 9.995) {
        return 1;
    }
    return size >= 0.9995 ? 2 : 3;
}

unsigned ps_ns_decimals(int64_t ns, ps_ns_unit unit) {
    return unit.ns == 1 ? 0 : ps_decimals_for((double)ns / (double)unit.ns);
}

ps_ns_text ps_ns_text_in(int64_t ns, ps_ns_unit unit, unsigned decimals) {
    ps_ns_text out;
    (void)snprintf(out.text, sizeof out.text, "%.*f %s", (int)decimals,
                   (double)ns / (double)unit.ns, unit.name);
    return out;
}

ps_ns_text ps_ns_text_of(int64_t ns) {
    ps_ns_unit unit = ps_ns_unit_for(ns);
    return ps_ns_text_in(ns, unit, ps_ns_decimals(ns, unit));
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c) {
    int64_t low = a < b ? a : b;
    int64_t high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Puts in place k what sorting would, smaller ones before it, larger ones behind: by parting around the middle of three, again and
 * again on the side where k is. When that goes badly the rest is sorted. */
static void select_i64(int64_t *v, size_t n, size_t k) {
    size_t low = 0;
    size_t high = n - 1;
    for (int rounds = 0; low < high; rounds++) {
        if (rounds == 64) {
            qsort(v + low, high - low + 1, sizeof *v, ps_compare_i64);
            return;
        }
        int64_t pivot = middle_of(v[low], v[low + (high - low) / 2], v[high]);
        size_t i = low;
        size_t j = high;
        for (;;) {
            while (v[i] < pivot) {
                i++;
            }
            while (v[j] > pivot) {
                j--;
            }
            if (i >= j) {
                break;
            }
            int64_t swap = v[i];
            v[i++] = v[j];
            v[j--] = swap;
        }
        if (k <= j) { /* up to j none is larger than the pivot, behind it none smaller */
            high = j;
        } else {
            low = j + 1;
        }
    }
}

int64_t ps_median_i64(int64_t *values, size_t n) {
    if (n == 0) {
        return 0;
    }
    select_i64(values, n, n / 2);
    int64_t below = values[n / 2];
    if (n % 2 == 0) { /* the largest of those before it */
        below = values[0];
        for (size_t i = 1; i < n / 2; i++) {
            below = values[i] > below ? values[i] : below;
        }
    }
    return ps_midpoint_i64(below, values[n / 2]);
}

int64_t ps_usual_i64(int64_t *counts, size_t n) {
    int64_t usual = 0;
    size_t most = 0;
    if (n > 0) {
        qsort(counts, n, sizeof *counts, ps_compare_i64);
    }
    for (size_t i = 0, end = 0; i < n; i = end) {
        while (end < n && counts[end] == counts[i]) {
            end++;
        }
        if (counts[i] > 0 && end - i >= most) {
            most = end - i;
            usual = counts[i];
        }
    }
    return usual;
}

bool ps_parse_size(const char *text, int64_t *bytes) {
    static const struct {
        const char *unit;
        int64_t bytes;
    } UNITS[] = {{"", 1},
                 {"B", 1},
                 {"KB", 1000},
                 {"MB", 1000000},
                 {"GB", 1000000000},
                 {"TB", 1000000000000},
                 {"K", INT64_C(1) << 10},
                 {"M", INT64_C(1) << 20},
                 {"G", INT64_C(1) << 30},
                 {"T", INT64_C(1) << 40},
                 {"KiB", INT64_C(1) << 10},
                 {"MiB", INT64_C(1) << 20},
                 {"GiB", INT64_C(1) << 30},
                 {"TiB", INT64_C(1) << 40}};
    size_t n = strspn(text, "0123456789.");
    int64_t thousandths = 0;
    int64_t unit = 0;
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        unit = strcasecmp(text + n, UNITS[i].unit) == 0 ? UNITS[i].bytes : unit;
    }
    bool ok = unit > 0 && ps_parse_scaled(text, n, 1000, &thousandths) &&
              !__builtin_mul_overflow(thousandths, unit, bytes);
    *bytes = ok ? *bytes / 1000 : 0;
    return *bytes > 0;
}

double ps_percent(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}
