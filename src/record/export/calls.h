/* Calls of CUDA by their correlation id: what a kernel or copy was launched by. */
#ifndef PS_RECORD_CALLS_H
#define PS_RECORD_CALLS_H

#include "record/export/capture.h"
#include "record/export/order.h"

typedef struct ps_calls {
    ps_order_key *keys; /* correlation -> device row, sorted */
    size_t n;
} ps_calls;

/* Rows of `kind` (PS_REC_API, PS_REC_CORRELATE). False when memory is out. */
bool ps_calls_make(ps_calls *calls, const ps_device_rows *d, uint8_t kind);
void ps_calls_free(ps_calls *calls);

/* The first row with this correlation, PS_NO_TEXT none. */
uint32_t ps_calls_find(const ps_calls *calls, uint64_t correlation);

#endif
