/* Arrays in order: of structs by some of their members, or by a function. */
#ifndef PS_BASE_SORT_H
#define PS_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/member.h"

/* What is compared first, what next between equal ones. Texts by their bytes, NULL before all others. */
typedef struct ps_sort_key {
    ps_member member;
    bool is_down; /* the largest first */
} ps_sort_key;

#define PS_UP(struct_type, name)                                                                   \
    { .member = PS_MEMBER(struct_type, name) }
#define PS_DOWN(struct_type, name)                                                                 \
    { .member = PS_MEMBER(struct_type, name), .is_down = true }

/* The last two arguments of ps_sort_by and ps_compare_by. */
#define PS_KEYS(array) (array), sizeof(array) / sizeof *(array)

/* qsort for any `n`, also of no array at all; `compare` as there. */
void ps_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b));

/* By keys. Arrays that are sorted for each of many events are better off with a function of their own. */
void ps_sort_by(void *array, size_t n, size_t size, const ps_sort_key *keys, size_t n_keys);
/* In an array sorted by the keys: the first element that is not before `like`, `n` when all are. */
size_t ps_lower_bound_by(const void *array, size_t n, size_t size, const void *like,
                         const ps_sort_key *keys, size_t n_keys);
int ps_compare_by(const void *a, const void *b, const ps_sort_key *keys, size_t n_keys);

#endif
