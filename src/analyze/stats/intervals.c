/* The loops take no branch that depends on the data: whether a span opens a new one is a number that is added. */
#include "analyze/stats/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"

#define MAX_SPANS (SIZE_MAX / 64)

bool ps_intervals_add(ps_intervals *list, int64_t start_ns, int64_t end_ns) {
    if (list->n == list->cap &&
        !ps_grow(&list->at, &list->cap, list->n + 1, MAX_SPANS, sizeof *list->at)) {
        return false;
    }
    list->at[list->n++] = (ps_interval){start_ns, end_ns};
    return true;
}

void ps_intervals_fini(ps_intervals *list) {
    ps_free(list->at);
    *list = (ps_intervals){0};
}

/* --- sorting ------------------------------------------------------------------------------------------ */

enum { DIGIT_BITS = 11, N_DIGITS = 6, N_VALUES = 1 << DIGIT_BITS, FEW = 256 };

static bool is_sorted(const ps_interval *at, size_t n) {
    size_t n_backward = 0;
    for (size_t i = 1; i < n; i++) {
        n_backward += at[i].start_ns < at[i - 1].start_ns;
    }
    return n_backward == 0;
}

PS_COMPARE(by_interval_start, ps_interval, PS_BY(start_ns))

/* Order of int64 as order of uint64. */
static size_t digit_of(int64_t value, unsigned digit) {
    uint64_t key = (uint64_t)value ^ ((uint64_t)1 << 63);
    return (size_t)(key >> (digit * DIGIT_BITS)) & (N_VALUES - 1);
}

static void count_digits(const ps_interval *at, size_t n, size_t *counts) {
    memset(counts, 0, (size_t)N_DIGITS * N_VALUES * sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        for (unsigned d = 0; d < N_DIGITS; d++) {
            counts[d * N_VALUES + digit_of(at[i].start_ns, d)]++;
        }
    }
}

static void interval_spread(const ps_interval *from, ps_interval *to, size_t n, unsigned digit,
                            size_t *counts) {
    size_t next = 0;
    for (size_t v = 0; v < N_VALUES; v++) {
        size_t count = counts[v];
        counts[v] = next;
        next += count;
    }
    for (size_t i = 0; i < n; i++) {
        to[counts[digit_of(from[i].start_ns, digit)]++] = from[i];
    }
}

/* Digits in which all agree need no pass; of times of one recording that is most of the upper half. False without
 * memory. */
static bool sort_by_digits(ps_interval *at, size_t n) {
    size_t *counts = ps_alloc((size_t)N_DIGITS * N_VALUES * sizeof *counts);
    ps_interval *other = ps_calloc(n, sizeof *other);
    bool ok = counts != NULL && other != NULL;
    if (ok) {
        ps_interval *from = at;
        ps_interval *to = other;
        count_digits(at, n, counts);
        for (unsigned d = 0; d < N_DIGITS; d++) {
            size_t *own = &counts[(size_t)d * N_VALUES];
            if (own[digit_of(at[0].start_ns, d)] != n) {
                interval_spread(from, to, n, d, own);
                ps_interval *swap = from;
                from = to;
                to = swap;
            }
        }
        if (from != at) {
            memcpy(at, from, n * sizeof *at);
        }
    }
    ps_free(counts);
    ps_free(other);
    return ok;
}

static void sort_interval(ps_interval *at, size_t n) {
    if (!is_sorted(at, n) && (n <= FEW || !sort_by_digits(at, n))) {
        qsort(at, n, sizeof *at, by_interval_start);
    }
}

/* --- unions ------------------------------------------------------------------------------------------- */

void ps_intervals_unite(ps_intervals *list) {
    ps_interval *at = list->at;
    size_t first = 0;
    sort_interval(at, list->n);
    while (first < list->n && at[first].end_ns <= at[first].start_ns) {
        first++;
    }
    if (first == list->n) {
        list->n = 0;
        return;
    }
    ps_interval open = at[first];
    size_t n = 0;
    for (size_t i = first + 1; i < list->n; i++) {
        int64_t end = at[i].end_ns;
        bool empty = end <= at[i].start_ns;
        bool opens = (at[i].start_ns > open.end_ns) & !empty;
        int64_t reach = ps_larger(open.end_ns, empty ? open.end_ns : end);
        int64_t start = at[i].start_ns;
        at[n] = open; /* n < i: overwritten as long as nothing opens */
        n += opens;
        open.start_ns = opens ? start : open.start_ns;
        open.end_ns = reach;
    }
    at[n++] = open;
    list->n = n;
}

int64_t ps_intervals_union_ns(const ps_interval *at, size_t n) {
    int64_t reach = INT64_MIN;
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t from = ps_larger(at[i].start_ns, reach);
        total += ps_larger(at[i].end_ns, from) - from;
        reach = ps_larger(at[i].end_ns, reach);
    }
    return total;
}

int64_t ps_intervals_length_ns(const ps_intervals *list) {
    int64_t total = 0;
    for (size_t i = 0; i < list->n; i++) {
        total += list->at[i].end_ns - list->at[i].start_ns;
    }
    return total;
}

/* --- two lists ---------------------------------------------------------------------------------------- */

/* The time that both have. */
static int64_t both_ns(const ps_intervals *a, const ps_intervals *b) {
    int64_t total = 0;
    size_t i = 0;
    size_t k = 0;
    while (i < a->n && k < b->n) {
        const ps_interval *x = &a->at[i];
        const ps_interval *y = &b->at[k];
        int64_t from = ps_larger(x->start_ns, y->start_ns);
        total += ps_larger(ps_smaller(x->end_ns, y->end_ns), from) - from;
        bool first_ends = x->end_ns <= y->end_ns;
        i += first_ends;
        k += !first_ends;
    }
    return total;
}

int64_t ps_intervals_minus_ns(const ps_intervals *a, const ps_intervals *b) {
    return ps_intervals_length_ns(a) - both_ns(a, b);
}

bool ps_intervals_minus(const ps_intervals *a, const ps_intervals *b, ps_intervals *out) {
    size_t k = 0;
    for (size_t i = 0; i < a->n; i++) {
        int64_t from = a->at[i].start_ns;
        int64_t end = a->at[i].end_ns;
        while (k < b->n && b->at[k].end_ns <= from) {
            k++;
        }
        for (size_t cut = k; from < end; cut++) { /* the last cut may reach into the next of `a` */
            bool is_cut = cut < b->n && b->at[cut].start_ns < end;
            int64_t to = is_cut ? b->at[cut].start_ns : end;
            if (to > from && !ps_intervals_add(out, from, to)) {
                return false;
            }
            from = is_cut ? b->at[cut].end_ns : end;
            k = is_cut ? cut : k;
        }
    }
    return true;
}

bool ps_intervals_both(const ps_intervals *a, const ps_intervals *b, ps_intervals *out) {
    size_t i = 0;
    size_t k = 0;
    while (i < a->n && k < b->n) {
        int64_t from = ps_larger(a->at[i].start_ns, b->at[k].start_ns);
        int64_t to = ps_smaller(a->at[i].end_ns, b->at[k].end_ns);
        if (to > from && !ps_intervals_add(out, from, to)) {
            return false;
        }
        bool first_ends = a->at[i].end_ns <= b->at[k].end_ns;
        i += first_ends;
        k += !first_ends;
    }
    return true;
}

bool ps_intervals_either(const ps_intervals *a, const ps_intervals *b, ps_intervals *out) {
    size_t i = 0;
    size_t k = 0;
    while (i < a->n || k < b->n) {
        bool from_a = k == b->n || (i < a->n && a->at[i].start_ns <= b->at[k].start_ns);
        const ps_interval *next = from_a ? &a->at[i++] : &b->at[k++];
        ps_interval *last = out->n > 0 ? &out->at[out->n - 1] : NULL;
        if (last != NULL && next->start_ns <= last->end_ns) {
            last->end_ns = ps_larger(last->end_ns, next->end_ns);
        } else if (!ps_intervals_add(out, next->start_ns, next->end_ns)) {
            return false;
        }
    }
    return true;
}

int64_t ps_intervals_within_ns(const ps_intervals *list, int64_t start_ns, int64_t end_ns) {
    /* the first that ends after the start */
    PS_PLACE(size_t, low, 0, list->n, middle, list->at[middle].end_ns <= start_ns)
    int64_t total = 0;
    for (size_t i = low; i < list->n && list->at[i].start_ns < end_ns; i++) {
        int64_t from = ps_larger(list->at[i].start_ns, start_ns);
        total += ps_larger(ps_smaller(list->at[i].end_ns, end_ns), from) - from;
    }
    return total;
}

bool ps_intervals_extend(ps_intervals *list, int64_t start_ns, int64_t end_ns) {
    ps_interval *last = list->n > 0 ? &list->at[list->n - 1] : NULL;
    if (last != NULL && start_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return true;
    }
    return ps_intervals_add(list, start_ns, end_ns);
}

static void interval_archive(ps_archive *a, void *interval) {
    ps_interval *x = interval;
    PS_ARCHIVE(a, x, start_ns, end_ns);
}

void ps_intervals_archive(ps_archive *a, void *intervals) {
    ps_intervals *x = intervals;
    PS_ARCHIVE_ARRAY(a, x, at, n, interval_archive);
}
