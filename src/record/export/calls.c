#include "record/export/calls.h"

#include "base/alloc.h"
#include "base/order.h"

bool ps_calls_make(ps_calls *calls, const ps_device_rows *d, uint8_t kind) {
    *calls = (ps_calls){.keys = ps_order_keys(d->n)};
    for (size_t i = 0; calls->keys != NULL && i < d->n; i++) {
        if (d->kind[i] == kind) {
            calls->keys[calls->n++] = (ps_order_key){d->correlation[i], (uint32_t)i};
        }
    }
    return calls->keys != NULL && ps_order_sort(&calls->keys, calls->n);
}

void ps_calls_free(ps_calls *calls) {
    ps_free(calls->keys);
    *calls = (ps_calls){.n = 0};
}

uint32_t ps_calls_find(const ps_calls *calls, uint64_t correlation) {
    PS_PLACE(size_t, low, 0, calls->n, middle, calls->keys[middle].at < correlation)
    return low < calls->n && calls->keys[low].at == correlation ? calls->keys[low].index
                                                                : PS_NO_TEXT;
}
