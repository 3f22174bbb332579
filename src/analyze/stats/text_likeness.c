#include "analyze/stats/text_likeness.h"

#include <stdint.h>
#include <string.h>

#define MAX_BYTES 512

static const char *last_bytes(const char *s, size_t *n) {
    *n = strlen(s);
    const char *from = *n > MAX_BYTES ? s + (*n - MAX_BYTES) : s;
    *n = *n > MAX_BYTES ? MAX_BYTES : *n;
    return from;
}

static uint16_t least_of(uint16_t a, uint16_t b, uint16_t c) {
    uint16_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* One row of the table of distances at a time; a row that is beyond the bound everywhere ends it. */
static size_t likeness_distance(const char *a, size_t n_a, const char *b, size_t n_b,
                                size_t bound) {
    uint16_t row[MAX_BYTES + 1];
    for (size_t j = 0; j <= n_b; j++) {
        row[j] = (uint16_t)j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        uint16_t diagonal = row[0];
        uint16_t best = row[0] = (uint16_t)i;
        for (size_t j = 1; j <= n_b; j++) {
            uint16_t above = row[j];
            uint16_t swap = (uint16_t)(diagonal + (a[i - 1] != b[j - 1]));
            row[j] = least_of((uint16_t)(above + 1), (uint16_t)(row[j - 1] + 1), swap);
            diagonal = above;
            best = row[j] < best ? row[j] : best;
        }
        if (best > bound) {
            return bound + 1;
        }
    }
    return row[n_b];
}

double ps_text_likeness(const char *a, const char *b, double least) {
    size_t n_a = 0;
    size_t n_b = 0;
    a = last_bytes(a, &n_a);
    b = last_bytes(b, &n_b);
    size_t longer = n_a > n_b ? n_a : n_b;
    size_t shorter = n_a > n_b ? n_b : n_a;
    if (longer == 0) {
        return 1;
    }
    size_t bound = least <= 0 ? longer : (size_t)((1 - least) * (double)longer + 1e-9);
    if (longer - shorter > bound) {
        return 0;
    }
    size_t edits = likeness_distance(a, n_a, b, n_b, bound);
    return edits > bound ? 0 : 1 - (double)edits / (double)longer;
}
