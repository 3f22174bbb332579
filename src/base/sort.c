#include "base/sort.h"

#include <stdlib.h>

void ps_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b)) {
    if (array != NULL && n > 1) {
        qsort(array, n, size, compare);
    }
}
