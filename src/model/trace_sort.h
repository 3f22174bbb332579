/* Putting the columns of a trace into their order, for ps_builder_seal; and times of readers. */
#ifndef PS_MODEL_TRACE_SORT_H
#define PS_MODEL_TRACE_SORT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/trace.h"

/* order[i] = row of the i-th of n > 0 times, equal ones in input order. False when memory is out. */
bool ps_times_order(const int64_t *times, size_t n, uint32_t *order);

/* The same where the times lie `stride_bytes` apart, each in a record of its own. */
bool ps_times_order_in(const int64_t *first, size_t stride_bytes, size_t n, uint32_t *order);

/* order[i] = row of the i-th of n > 0 slices by start, longer first, then input order. False when memory is out. */
bool ps_slices_order(const ps_slices *s, uint32_t *order);

/* Puts the slices into that order. `order`: where it is known already, else NULL; it is freed either way. *new_row is an
 * array of n (the caller frees it with ps_free) that says where each row went, or NULL when the rows were in order
 * already. False when memory is out. */
bool ps_slices_sort(ps_slices *s, uint32_t *order, uint32_t **new_row);

/* Sorts by track, time, then input order. False when memory is out. */
bool ps_counters_sort(ps_counters *c);

/* Sorts n flows by origin, end and kind; the array may become another. False when memory is out. */
bool ps_flows_sort(ps_flow **flows, size_t n);

#endif
