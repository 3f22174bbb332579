/* Unions and differences of spans of time: the ground under busy, exposed and free time. */
#ifndef PS_ANALYZE_INTERVALS_H
#define PS_ANALYZE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"

/* Half open in length, closed where they touch: [0, 2) and [2, 3) are one. */
typedef struct ps_interval {
    int64_t start_ns, end_ns;
} ps_interval;

/* Growing list; `sorted` as long as what is added comes by start. Zero it to begin; end with ps_intervals_fini(). */
typedef struct ps_intervals {
    ps_interval *at;
    size_t n, cap;
} ps_intervals;

/* False when memory is out. Spans of no length are kept (a union drops them). */
bool ps_intervals_add(ps_intervals *list, int64_t start_ns, int64_t end_ns);
/* The same for spans that come by start: a united list stays united. */
bool ps_intervals_extend(ps_intervals *list, int64_t start_ns, int64_t end_ns);
void ps_intervals_fini(ps_intervals *list);

/* Sorts (when needed) and merges in place what overlaps or touches, and drops what has no length. */
void ps_intervals_unite(ps_intervals *list);

/* The length of the union of spans that are sorted by start; they are not changed. */
int64_t ps_intervals_union_ns(const ps_interval *at, size_t n);

/* All of the following want united lists. */
int64_t ps_intervals_length_ns(const ps_intervals *list);
/* What of `a` is not in `b`, in time, and as a list. *out must be empty. */
int64_t ps_intervals_minus_ns(const ps_intervals *a, const ps_intervals *b);
bool ps_intervals_minus(const ps_intervals *a, const ps_intervals *b, ps_intervals *out);
bool ps_intervals_both(const ps_intervals *a, const ps_intervals *b, ps_intervals *out);
/* The union of two united lists. */
bool ps_intervals_either(const ps_intervals *a, const ps_intervals *b, ps_intervals *out);
/* The part of `list` inside [start, end). */
int64_t ps_intervals_within_ns(const ps_intervals *list, int64_t start_ns, int64_t end_ns);

void ps_intervals_archive(ps_archive *a, void *intervals);

#endif
