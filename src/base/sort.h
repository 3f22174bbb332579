/* Arrays in order. */
#ifndef PS_BASE_SORT_H
#define PS_BASE_SORT_H

#include <stddef.h>

/* qsort for any `n`, also of no array at all; `compare` as there. */
void ps_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b));

#endif
