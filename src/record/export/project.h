/* Where on the device the work of a host range lay: from the first start to the last end of the kernels and copies whose calls
 * began inside of the range on its thread. For NVTX ranges, which have no stream, where CUPTI tells of calls and kernels; and for
 * those that CUPTI was told of, of which it says itself what was launched inside. */
#ifndef PS_RECORD_PROJECT_H
#define PS_RECORD_PROJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/export/capture.h"

typedef struct ps_projection {
    int64_t start_ns, end_ns; /* PS_STILL_OPEN: it launched nothing */
    uint32_t first;           /* device row that began first: its device, context and stream */
} ps_projection;

/* Whether a range is one that is projected: of NVTX or one that CUPTI was told of, ended, and not on a stream. */
bool ps_is_projected(const ps_events *v, size_t event);

/* By event; to be freed with ps_free. NULL when memory is out. */
ps_projection *ps_project_ranges(const ps_capture *c);

#endif
