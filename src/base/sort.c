#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

static int compare_member(const void *a, const void *b, ps_member m) {
    if (m.type == PS_MEMBER_F64) {
        double x = ps_member_real(a, m);
        double y = ps_member_real(b, m);
        return x < y ? -1 : x > y;
    }
    if (m.type == PS_MEMBER_TEXT || m.type == PS_MEMBER_CHARS) {
        const char *x = ps_member_text(a, m);
        const char *y = ps_member_text(b, m);
        return x == NULL || y == NULL ? (x != NULL) - (y != NULL) : strcmp(x, y);
    }
    int64_t x = ps_member_int(a, m);
    int64_t y = ps_member_int(b, m);
    return x < y ? -1 : x > y;
}

int ps_compare_by(const void *a, const void *b, const ps_sort_key *keys, size_t n_keys) {
    int order = 0;
    for (size_t k = 0; order == 0 && k < n_keys; k++) {
        order = compare_member(keys[k].is_down ? b : a, keys[k].is_down ? a : b, keys[k].member);
    }
    return order;
}

typedef struct sort_keys {
    const ps_sort_key *keys;
    size_t n;
} sort_keys;

static int compare_by_keys(const void *a, const void *b, void *keys_) {
    const sort_keys *keys = keys_;
    return ps_compare_by(a, b, keys->keys, keys->n);
}

void ps_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b)) {
    if (array != NULL && n > 1) {
        qsort(array, n, size, compare);
    }
}

void ps_sort_by(void *array, size_t n, size_t size, const ps_sort_key *keys, size_t n_keys) {
    if (array != NULL && n > 1) {
        qsort_r(array, n, size, compare_by_keys, &(sort_keys){keys, n_keys});
    }
}

size_t ps_lower_bound_by(const void *array, size_t n, size_t size, const void *like,
                         const ps_sort_key *keys, size_t n_keys) {
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (ps_compare_by((const char *)array + middle * size, like, keys, n_keys) < 0) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}
