/* Sorting by time, where equal times keep their order. */
#ifndef PS_RECORD_ORDER_H
#define PS_RECORD_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ps_order_key {
    uint64_t at;
    uint32_t index;
} ps_order_key;

/* Room for n keys, to be freed with ps_free; NULL when memory is out. */
ps_order_key *ps_order_keys(size_t n);

/* Sorts; may put another array in the place of *keys. False when memory is out. */
bool ps_order_sort(ps_order_key **keys, size_t n);

/* The order of int64_t as uint64_t. */
static inline uint64_t ps_order_of(int64_t at_ns) {
    return (uint64_t)at_ns ^ UINT64_C(1) << 63;
}

#endif
