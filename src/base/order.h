/* Comparing by several keys, and finding a place in what is sorted: pieces of code that the compiler sees through, for what is
 * sorted or looked for with every event. */
#ifndef PS_BASE_ORDER_H
#define PS_BASE_ORDER_H

#include <stdint.h>
#include <string.h>

/* Defines `static int name(const void *, const void *)` for qsort over elements of `type`, by the keys that follow in the order of
 * their weight:
 *
 *   PS_COMPARE(compare_tasks, task, PS_BY(stream) PS_BY_DOWN(end_ns) PS_BY_TEXT(name))
 *
 * A key is a member, a path to one, or (VALUE) what a function says of an element. PLACE is where elements lie that are pointed to:
 * in one array. A list of keys that leaves two elements equal leaves their order to qsort: the last key is
 * one of a kind. */
#define PS_COMPARE(name, type, keys)                                                               \
    static int name(const void *left_element, const void *right_element) {                         \
        const type *left = left_element;                                                           \
        const type *right = right_element;                                                         \
        keys return 0;                                                                             \
    }
/* The same where the elements are pointers to `type`. */
#define PS_COMPARE_POINTERS(name, type, keys)                                                      \
    static int name(const void *left_element, const void *right_element) {                         \
        const type *left = *(const type *const *)left_element;                                     \
        const type *right = *(const type *const *)right_element;                                   \
        keys return 0;                                                                             \
    }
#define PS_BY(key)                                                                                 \
    if (left->key != right->key) {                                                                 \
        return left->key < right->key ? -1 : 1;                                                    \
    }
#define PS_BY_DOWN(key)                                                                            \
    if (left->key != right->key) {                                                                 \
        return left->key > right->key ? -1 : 1;                                                    \
    }
#define PS_BY_TEXT(key)                                                                            \
    if (strcmp(left->key, right->key) != 0) {                                                      \
        return strcmp(left->key, right->key);                                                      \
    }

#define PS_BY_VALUE(of)                                                                            \
    if (of(left) != of(right)) {                                                                   \
        return of(left) < of(right) ? -1 : 1;                                                      \
    }
#define PS_BY_VALUE_DOWN(of)                                                                       \
    if (of(left) != of(right)) {                                                                   \
        return of(left) > of(right) ? -1 : 1;                                                      \
    }
#define PS_BY_PLACE                                                                                \
    if (left != right) {                                                                           \
        return left < right ? -1 : 1;                                                              \
    }

static inline int ps_order_i64(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

/* Of elements that are texts. */
static inline int ps_compare_texts(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Declares `place`, a `type`: the first i of [from, to) of which `is_before` no longer holds, else `to`. `is_before` is an
 * expression of i, true up to a place and false from there on. */
#define PS_PLACE(type, place, from, to, i, is_before)                                              \
    type place = (from);                                                                           \
    for (type place##_end = (to); place < place##_end;) {                                          \
        type i = place + (place##_end - place) / 2;                                                \
        if (is_before) {                                                                           \
            place = i + 1;                                                                         \
        } else {                                                                                   \
            place##_end = i;                                                                       \
        }                                                                                          \
    }

#endif
