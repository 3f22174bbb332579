/* Each rank's list is in order of time already. A place in the joined order is found by halving the time until as many
 * begin before as wanted; from there on the lists are merged. Nothing is sorted for the order of time. */
#include "serve/select/found_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"

/* --- one slice ------------------------------------------------------------------------------------------------ */

static ps_ref ref_of(const ps_found_rank *rank, uint32_t slice) {
    ps_ref ref = {0};
    (void)ps_loaded_ref(rank->loaded, slice, &ref);
    return ref;
}

int64_t ps_found_start_ns(const ps_found_rank *rank, uint32_t slice) {
    ps_ref ref = ref_of(rank, slice);
    return ps_trace_slices(ref.layer->trace)->start_ns[ref.slice] +
           ps_trace_origin_ns(ref.layer->trace);
}

int64_t ps_found_dur_ns(const ps_found_rank *rank, uint32_t slice) {
    ps_ref ref = ref_of(rank, slice);
    return ps_trace_slices(ref.layer->trace)->dur_ns[ref.slice];
}

static const char *found_name_of(const ps_found_rank *rank, uint32_t slice) {
    ps_ref ref = ref_of(rank, slice);
    return ps_trace_text(ref.layer->trace, ps_trace_slices(ref.layer->trace)->name[ref.slice]);
}

/* --- places in the order of time ------------------------------------------------------------------------------ */

/* Of one rank: how many begin before `time_ns`, or there with a number up to `slice` (exclusive). */
static size_t found_n_before(const ps_found_rank *rank, int64_t time_ns, uint32_t slice) {
    const ps_found *f = rank->found;
    size_t low = 0;
    size_t high = f->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t start = ps_found_start_ns(rank, f->slices[middle]);
        if (start < time_ns || (start == time_ns && f->slices[middle] < slice)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint64_t ps_found_before(const ps_found_set *set, uint32_t rank, uint32_t slice, bool after) {
    int64_t time_ns = ps_found_start_ns(&set->ranks[rank], slice);
    uint64_t n = 0;
    for (uint32_t r = 0; r < set->n_ranks; r++) {
        uint32_t stop = r < rank ? UINT32_MAX : r > rank ? 0 : after ? slice + 1 : slice;
        n += found_n_before(&set->ranks[r], time_ns, stop);
    }
    return n;
}

uint64_t ps_found_before_time(const ps_found_set *set, int64_t time_ns) {
    uint64_t n = 0;
    for (uint32_t r = 0; r < set->n_ranks; r++) {
        n += found_n_before(&set->ranks[r], time_ns, 0);
    }
    return n;
}

/* The latest time before which at most `offset` begin. */
static int64_t time_at(const ps_found_set *set, uint64_t offset) {
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (uint32_t r = 0; r < set->n_ranks; r++) {
        const ps_found_rank *rank = &set->ranks[r];
        if (rank->found->n > 0) {
            int64_t first = ps_found_start_ns(rank, rank->found->slices[0]);
            int64_t last = ps_found_start_ns(rank, rank->found->slices[rank->found->n - 1]);
            low = first < low ? first : low;
            high = last > high ? last : high;
        }
    }
    while (low < high) {
        int64_t middle = (int64_t)((uint64_t)low + ((uint64_t)high - (uint64_t)low + 1) / 2);
        if (ps_found_before_time(set, middle) <= offset) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* The rank whose next one comes first; n_ranks: none has one. */
static uint32_t next_rank(const ps_found_set *set, const size_t *at) {
    uint32_t best = (uint32_t)set->n_ranks;
    int64_t best_ns = INT64_MAX;
    for (uint32_t r = 0; r < set->n_ranks; r++) {
        const ps_found_rank *rank = &set->ranks[r];
        if (at[r] < rank->found->n) {
            int64_t start = ps_found_start_ns(rank, rank->found->slices[at[r]]);
            if (best == set->n_ranks || start < best_ns) {
                best = r;
                best_ns = start;
            }
        }
    }
    return best;
}

ps_code ps_found_range(const ps_found_set *set, uint64_t offset, ps_found_at *out, size_t *n,
                       ps_err *err) {
    uint64_t left = offset < set->total ? set->total - offset : 0;
    *n = *n < left ? *n : (size_t)left;
    if (*n == 0) {
        return PS_OK;
    }
    if (set->n_ranks == 1) {
        for (size_t i = 0; i < *n; i++) {
            out[i] = (ps_found_at){0, set->ranks[0].found->slices[(size_t)offset + i]};
        }
        return PS_OK;
    }
    size_t *at = ps_calloc(set->n_ranks, sizeof *at);
    if (at == NULL) {
        return ps_fail_nomem(err);
    }
    int64_t time_ns = time_at(set, offset);
    uint64_t skipped = 0;
    for (uint32_t r = 0; r < set->n_ranks; r++) {
        at[r] = found_n_before(&set->ranks[r], time_ns, 0);
        skipped += at[r];
    }
    size_t n_out = 0;
    for (uint32_t r; n_out < *n && (r = next_rank(set, at)) < set->n_ranks; at[r]++) {
        if (skipped++ >= offset) {
            out[n_out++] = (ps_found_at){r, set->ranks[r].found->slices[at[r]]};
        }
    }
    ps_free(at);
    *n = n_out;
    return PS_OK;
}

/* --- other orders --------------------------------------------------------------------------------------------- */

typedef struct keyed {
    uint64_t key;
    ps_found_at at;
} keyed;

/* By the 11 lowest bits first, and on as far as any key has bits. Stable. */
static keyed *sort_keys(keyed *a, keyed *b, size_t n) {
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        all |= a[i].key;
    }
    size_t places[2049];
    for (unsigned shift = 0; shift < 64 && all >> shift != 0; shift += 11) {
        memset(places, 0, sizeof places);
        for (size_t i = 0; i < n; i++) {
            places[(a[i].key >> shift & 2047) + 1]++;
        }
        for (size_t k = 0; k < 2047; k++) {
            places[k + 1] += places[k];
        }
        for (size_t i = 0; i < n; i++) {
            b[places[a[i].key >> shift & 2047]++] = a[i];
        }
        keyed *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* A name of a rank's layer, for giving names numbers in the order of their texts. */
typedef struct named {
    const char *text;
    uint32_t *number; /* where it goes */
} named;

PS_COMPARE(compare_named, named, PS_BY_TEXT(text))

typedef struct numbering {
    uint32_t **of; /* [rank * PS_N_LAYERS + layer][id of the text] number, 0 none */
    size_t n_tables;
    named *names;
    size_t n, cap;
} numbering;

static uint32_t *found_number_of(const numbering *x, const ps_found_set *set, uint32_t r,
                                 uint32_t slice) {
    ps_ref ref = ref_of(&set->ranks[r], slice);
    size_t layer = ref.layer == ps_loaded_layer(set->ranks[r].loaded, PS_LAYER_DERIVED) ? 1 : 0;
    ps_str name = ps_trace_slices(ref.layer->trace)->name[ref.slice];
    return &x->of[r * PS_N_LAYERS + layer][name.id];
}

static bool list_rank_names(numbering *x, const ps_found_set *set, uint32_t r) {
    for (int layer = 0; layer < PS_N_LAYERS; layer++) {
        const ps_trace *t = ps_loaded_layer(set->ranks[r].loaded, layer)->trace;
        uint32_t **table = &x->of[r * PS_N_LAYERS + (size_t)layer];
        *table = ps_calloc(ps_trace_n_texts(t) + 1, sizeof **table);
        if (*table == NULL) {
            return false;
        }
    }
    const ps_found *f = set->ranks[r].found;
    for (size_t i = 0; i < f->n; i++) {
        uint32_t *number = found_number_of(x, set, r, f->slices[i]);
        if (*number == 0) {
            if (!PS_ADD(x->names, x->n, x->cap, UINT32_MAX,
                        (named){found_name_of(&set->ranks[r], f->slices[i]), number})) {
                return false;
            }
            *number = 1;
        }
    }
    return true;
}

static bool number_names(numbering *x, const ps_found_set *set) {
    x->of = ps_calloc(set->n_ranks * PS_N_LAYERS + 1, sizeof *x->of);
    bool ok = x->of != NULL;
    x->n_tables = set->n_ranks * PS_N_LAYERS;
    for (uint32_t r = 0; ok && r < set->n_ranks; r++) {
        ok = list_rank_names(x, set, r);
    }
    if (ok && x->n > 1) {
        qsort(x->names, x->n, sizeof *x->names, compare_named);
    }
    uint32_t number = 0;
    for (size_t i = 0; ok && i < x->n; i++) {
        number += i == 0 || strcmp(x->names[i].text, x->names[i - 1].text) != 0;
        *x->names[i].number = number;
    }
    return ok;
}

static void free_numbering(numbering *x) {
    for (size_t i = 0; x->of != NULL && i < x->n_tables; i++) {
        ps_free(x->of[i]);
    }
    ps_free(x->of);
    ps_free(x->names);
}

/* All in order of time, the first one's start as 0. Returns the one of `a` and `b` that they are in. */
static keyed *in_order_of_time(const ps_found_set *set, keyed *a, keyed *b) {
    size_t n = 0;
    for (uint32_t r = 0; r < set->n_ranks; r++) {
        for (size_t i = 0; i < set->ranks[r].found->n; i++) {
            a[n++].at = (ps_found_at){r, set->ranks[r].found->slices[i]};
        }
    }
    if (set->n_ranks == 1) {
        return a;
    }
    int64_t first_ns = time_at(set, 0);
    for (size_t i = 0; i < n; i++) {
        int64_t start = ps_found_start_ns(&set->ranks[a[i].at.rank], a[i].at.slice);
        a[i].key = (uint64_t)start - (uint64_t)first_ns;
    }
    return sort_keys(a, b, n);
}

/* Equal ones stay in order of time. */
static bool set_keys(const ps_found_set *set, ps_found_by by, keyed *a, size_t n) {
    numbering x = {0};
    if (by == PS_FOUND_BY_TIME) {
        for (size_t i = 0; i < n; i++) {
            a[i].key = 0;
        }
        return true;
    }
    bool ok = by != PS_FOUND_BY_NAME || number_names(&x, set);
    for (size_t i = 0; ok && i < n; i++) {
        ps_found_at at = a[i].at;
        a[i].key = by == PS_FOUND_BY_NAME
                       ? *found_number_of(&x, set, at.rank, at.slice)
                       : (uint64_t)ps_found_dur_ns(&set->ranks[at.rank], at.slice);
    }
    free_numbering(&x);
    return ok;
}

ps_found_at *ps_found_sorted(const ps_found_set *set, ps_found_by by) {
    size_t n = (size_t)set->total;
    keyed *a = ps_calloc(n + 1, sizeof *a);
    keyed *b = ps_calloc(n + 1, sizeof *b);
    ps_found_at *out = ps_alloc((n + 1) * sizeof *out);
    keyed *by_time =
        a != NULL && b != NULL && out != NULL && n > 0 ? in_order_of_time(set, a, b) : a;
    bool ok = a != NULL && b != NULL && out != NULL && set_keys(set, by, by_time, n);
    if (ok) {
        const keyed *sorted = sort_keys(by_time, by_time == a ? b : a, n);
        for (size_t i = 0; i < n; i++) {
            out[i] = sorted[i].at;
        }
    } else {
        ps_free(out);
        out = NULL;
    }
    ps_free(a);
    ps_free(b);
    return out;
}
