/* Unions of sorted spans: intervals [SPANS]
 *
 * The length and the list of the union, by the loops of analyze/stats/intervals.c and by the loop one writes first, with a
 * branch for "does it open a new one", which no processor can foresee in random gaps. The best of several runs counts.
 * Fails when the results differ. bench/intervals.py does the same in Python. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/stats/intervals.h"
#include "base/rng.h"

enum { DEFAULT_SPANS = 10000000, RUNS = 7 };

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Half of them overlap the one before. */
static ps_interval *make_spans(size_t n) {
    ps_interval *at = malloc(n * sizeof *at);
    ps_rng rng = ps_rng_seed(1);
    int64_t start = 0;
    for (size_t i = 0; at != NULL && i < n; i++) {
        start += (int64_t)ps_rng_below(&rng, 2000);
        at[i] = (ps_interval){start, start + 1 + (int64_t)ps_rng_below(&rng, 2000)};
    }
    return at;
}

static int64_t plain_length(const ps_interval *at, size_t n) {
    int64_t total = 0;
    ps_interval open = at[0];
    for (size_t i = 1; i < n; i++) {
        if (at[i].start_ns > open.end_ns) {
            total += open.end_ns - open.start_ns;
            open = at[i];
            __asm__ volatile("" ::: "memory"); /* a branch, as it is written */
        } else if (at[i].end_ns > open.end_ns) {
            open.end_ns = at[i].end_ns;
            __asm__ volatile("" ::: "memory");
        }
    }
    return total + open.end_ns - open.start_ns;
}

static size_t plain_unite(ps_interval *at, size_t n) {
    size_t kept = 0;
    for (size_t i = 1; i < n; i++) {
        if (at[i].start_ns > at[kept].end_ns) {
            at[++kept] = at[i];
        } else if (at[i].end_ns > at[kept].end_ns) {
            at[kept].end_ns = at[i].end_ns;
        }
    }
    return kept + 1;
}

typedef struct result {
    double best_s;
    int64_t length_ns;
    size_t n;
} result;

static void note(result *r, double start_s, int64_t length_ns, size_t n) {
    double took_s = now_s() - start_s;
    r->best_s = r->best_s <= 0 || took_s < r->best_s ? took_s : r->best_s;
    r->length_ns = length_ns;
    r->n = n;
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : DEFAULT_SPANS;
    ps_interval *spans = make_spans(n);
    ps_interval *copy = malloc(n * sizeof *copy);
    if (n == 0 || spans == NULL || copy == NULL) {
        fprintf(stderr, "intervals: no memory\n");
        return 1;
    }
    static const char *const NAMES[] = {"length, plain", "length", "list, plain", "list"};
    result r[4] = {0};
    for (int run = 0; run < RUNS; run++) {
        double start_s = now_s();
        note(&r[0], start_s, plain_length(spans, n), 0);
        start_s = now_s();
        note(&r[1], start_s, ps_intervals_union_ns(spans, n), 0);
        memcpy(copy, spans, n * sizeof *copy);
        start_s = now_s();
        note(&r[2], start_s, 0, plain_unite(copy, n));
        memcpy(copy, spans, n * sizeof *copy);
        ps_intervals list = {.at = copy, .n = n, .cap = n};
        start_s = now_s();
        ps_intervals_unite(&list);
        note(&r[3], start_s, 0, list.n);
    }
    printf("%-14s %12s %10s %12s\n", "method", "spans", "seconds", "M spans/s");
    for (size_t i = 0; i < 4; i++) {
        printf("%-14s %12zu %10.4f %12.0f\n", NAMES[i], n, r[i].best_s,
               (double)n / r[i].best_s / 1e6);
    }
    free(spans);
    free(copy);
    if (r[0].length_ns != r[1].length_ns || r[2].n != r[3].n) {
        fprintf(stderr, "intervals: the results differ\n");
        return 1;
    }
    return 0;
}
