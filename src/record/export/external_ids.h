/* Which range a kernel belongs to where CUPTI was told of ranges (option `correlate`): by its call's correlation. */
#ifndef PS_RECORD_EXTERNAL_IDS_H
#define PS_RECORD_EXTERNAL_IDS_H

#include "record/export/calls.h"
#include "record/export/capture.h"

typedef struct ps_external_ids {
    ps_calls external; /* correlation -> row that names a range */
    ps_calls ids;      /* range id -> event; empty when there are no such rows */
} ps_external_ids;

/* False when memory is out. */
bool ps_external_ids_make(ps_external_ids *told, const ps_capture *c);
void ps_external_ids_free(ps_external_ids *told);

/* The range that was named for a call; PS_NO_TEXT none. `call`: row of the call, or PS_NO_TEXT: one that was made after its range had
 * been ended by another thread is not the range's. */
uint32_t ps_external_ids_event(const ps_external_ids *told, const ps_capture *c,
                               uint64_t correlation, uint32_t call);

/* Whether a range asked to be told of, as far as can be seen: it has no stream, but its id says that the device heard of it. */
bool ps_external_ids_asked(const ps_events *v, size_t event);

#endif
