#include "analyze/comm/transfer_pairs.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/order.h"

typedef struct transfer_link {
    ps_transfer_end *sends, *recvs;
    size_t n_sends, n_recvs;
} transfer_link;

static int compare_transfer_numbers(const ps_transfer_end *a, const ps_transfer_end *b) {
    if (a->iteration != b->iteration) {
        return a->iteration < b->iteration ? -1 : 1;
    }
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static bool numbers_ascend(const ps_transfer_end *ends, size_t n) {
    for (size_t i = 1; i < n; i++) {
        if (compare_transfer_numbers(&ends[i - 1], &ends[i]) >= 0) {
            return false;
        }
    }
    return true;
}

/* Both ends count the same operators: every one of the shorter list is found in the longer. */
static bool numbers_match(const transfer_link *l) {
    if (!numbers_ascend(l->sends, l->n_sends) || !numbers_ascend(l->recvs, l->n_recvs)) {
        return false;
    }
    size_t i = 0;
    size_t j = 0;
    size_t n_equal = 0;
    while (i < l->n_sends && j < l->n_recvs) {
        int order = compare_transfer_numbers(&l->sends[i], &l->recvs[j]);
        n_equal += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return n_equal == (l->n_sends < l->n_recvs ? l->n_sends : l->n_recvs);
}

/* By distance from zero. */
static int compare_distances(const void *a, const void *b) {
    int64_t x = llabs(*(const int64_t *)a);
    int64_t y = llabs(*(const int64_t *)b);
    return x < y ? -1 : x > y;
}

#define N_SAMPLES 64

/* How the ends of the pairs (i, i + offset) lie to each other. */
typedef struct fit {
    int64_t usual;    /* difference of the ends, send - receive */
    int64_t distance; /* how far that is from zero */
    int64_t farthest; /* of all pairs but one in 32 */
} fit;

/* Of up to N_SAMPLES pairs. Usual is, of the better half, the difference farthest from zero, so that a hole in the middle of
 * one list leaves that of the pairs on one side of it. False when no pair exists. */
static bool measure_offset(const transfer_link *l, int64_t offset, fit *out) {
    int64_t first = offset < 0 ? -offset : 0;
    int64_t last = (int64_t)l->n_recvs - offset; /* exclusive, for i */
    last = last < (int64_t)l->n_sends ? last : (int64_t)l->n_sends;
    int64_t n = last - first;
    if (n <= 0) {
        return false;
    }
    int64_t d[N_SAMPLES];
    size_t n_d = 0;
    int64_t stride = (n + N_SAMPLES - 1) / N_SAMPLES;
    for (int64_t i = first; i < last; i += stride) {
        d[n_d++] = l->sends[i].end_ns - l->recvs[i + offset].end_ns;
    }
    qsort(d, n_d, sizeof *d, compare_distances);
    out->usual = ps_midpoint_i64(d[(n_d - 1) / 2], d[n_d / 2]);
    out->distance = llabs(out->usual);
    out->farthest = llabs(d[n_d - 1 - n_d / 32]);
    return true;
}

/* The receive whose end lies closest to that of the middle send. */
static int64_t guess_offset(const transfer_link *l) {
    size_t middle = l->n_sends / 2;
    int64_t end = l->sends[middle].end_ns;
    PS_PLACE(size_t, low, 0, l->n_recvs, at, l->recvs[at].end_ns < end)
    return (int64_t)low - (int64_t)middle;
}

/* Clocks of two hosts differ by less than a few transfers, so the right offset lies near the guess. */
#define OFFSETS_AROUND 8

/* What speaks for offset 0 besides the times. */
typedef enum for_zero {
    NOTHING_FOR_ZERO,
    NUMBERS_FOR_ZERO, /* another offset must fit far better */
    /* There are as many sends as receives: another offset must fit far better for nearly all of them. Sends that end once the
     * data is on its way come near to ends of other receives here and there. */
    COUNTS_FOR_ZERO
} for_zero;

static int64_t best_offset(const transfer_link *l, for_zero zero, int64_t *usual) {
    int64_t best = 0;
    int64_t best_distance = INT64_MAX;
    fit f = {0};
    if (measure_offset(l, 0, &f)) {
        *usual = f.usual;
        best_distance = zero == NOTHING_FOR_ZERO ? INT64_MAX : f.distance / 4;
    }
    int64_t guess = guess_offset(l);
    for (int64_t k = guess - OFFSETS_AROUND; k <= guess + OFFSETS_AROUND; k++) {
        if (!measure_offset(l, k, &f)) {
            continue;
        }
        int64_t distance = zero == COUNTS_FOR_ZERO ? f.farthest : f.distance;
        if (distance < best_distance) {
            best_distance = distance;
            best = k;
            *usual = f.usual;
        }
    }
    return best;
}

/* Whether the numbers of the names tell which operators belong together. */
static bool numbers_tell(const transfer_link *l) {
    if (!numbers_match(l)) {
        return false;
    }
    bool one_sided = l->n_sends == 0 || l->n_recvs == 0;
    if (one_sided || l->n_sends == l->n_recvs ||
        compare_transfer_numbers(&l->sends[0], &l->recvs[0]) != 0) {
        return true;
    }
    int64_t usual = 0;
    return best_offset(l, NUMBERS_FOR_ZERO, &usual) == 0;
}

/* Numbers in order; a pair shares one. `order` < 0: the send stands alone, > 0: the receive does. */
static void number_transfer(const transfer_link *l, size_t *i, size_t *j, int order,
                            uint32_t *index, uint64_t *n_lone) {
    if (order <= 0) {
        l->sends[(*i)++].index = *index;
    }
    if (order >= 0) {
        l->recvs[(*j)++].index = *index;
    }
    *n_lone += order != 0;
    (*index)++;
}

static int64_t transfer_misfit(const transfer_link *l, size_t i, size_t j, int64_t usual) {
    if (i >= l->n_sends || j >= l->n_recvs) {
        return INT64_MAX;
    }
    int64_t d = l->sends[i].end_ns - l->recvs[j].end_ns - usual;
    return d < 0 ? -d : d;
}

uint64_t ps_transfer_pairs(ps_transfer_end *sends, size_t n_sends, ps_transfer_end *receives,
                           size_t n_receives) {
    const transfer_link link = {sends, receives, n_sends, n_receives};
    const transfer_link *l = &link;
    bool by_numbers = numbers_tell(l);
    bool equal = l->n_sends == l->n_recvs;
    int64_t usual = 0;
    bool by_count = !by_numbers && l->n_sends > 0 && l->n_recvs > 0 &&
                    best_offset(l, equal ? COUNTS_FOR_ZERO : NOTHING_FOR_ZERO, &usual) == 0 &&
                    equal;
    size_t i = 0;
    size_t j = 0;
    uint32_t index = 0;
    uint64_t n_lone = 0;
    while (i < l->n_sends || j < l->n_recvs) {
        int order = 0;
        if (i == l->n_sends || j == l->n_recvs) {
            order = i < l->n_sends ? -1 : 1;
        } else if (by_numbers) {
            order = compare_transfer_numbers(&l->sends[i], &l->recvs[j]);
        } else if (!by_count) {
            int64_t here = transfer_misfit(l, i, j, usual);
            order = transfer_misfit(l, i + 1, j, usual) < here   ? -1
                    : transfer_misfit(l, i, j + 1, usual) < here ? 1
                                                                 : 0;
        }
        number_transfer(l, &i, &j, order, &index, &n_lone);
    }
    return n_lone;
}
