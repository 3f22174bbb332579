/* Runs that are in order already are found and merged: what rings hold is nearly in order. */
#include "record/export/order.h"

#include <string.h>

#include "base/alloc.h"

static void merge_order(const ps_order_key *a, size_t n_a, const ps_order_key *b, size_t n_b,
                        ps_order_key *out) {
    while (n_a > 0 && n_b > 0) {
        if (b->at < a->at) {
            *out++ = *b++;
            n_b--;
        } else {
            *out++ = *a++;
            n_a--;
        }
    }
    memcpy(out, a, n_a * sizeof *a);
    memcpy(out + n_a, b, n_b * sizeof *b);
}

/* One pass over all runs, each with its neighbour, into `out`. Returns how many runs there were. */
static size_t merge_runs(const ps_order_key *keys, size_t n, ps_order_key *out) {
    size_t runs = 0;
    for (size_t at = 0; at < n;) {
        size_t end[2] = {at, at};
        for (int half = 0; half < 2; half++) {
            size_t i = half == 0 ? at : end[0];
            if (i < n) {
                runs++;
                for (i++; i < n && keys[i].at >= keys[i - 1].at; i++) {
                }
            }
            end[half] = i;
        }
        merge_order(keys + at, end[0] - at, keys + end[0], end[1] - end[0], out + at);
        at = end[1];
    }
    return runs;
}

bool ps_order_sort(ps_order_key **keys, size_t n) {
    ps_order_key *other = ps_alloc((n + 1) * sizeof *other);
    if (other == NULL) {
        return false;
    }
    while (merge_runs(*keys, n, other) > 1) {
        ps_order_key *swap = *keys;
        *keys = other;
        other = swap;
    }
    ps_free(other);
    return true;
}

ps_order_key *ps_order_keys(size_t n) {
    return ps_alloc((n + 1) * sizeof(ps_order_key));
}
