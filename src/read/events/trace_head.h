/* What the first bytes of a JSON file tell about it, for recognising trace-event documents. */
#ifndef PS_READ_TRACE_HEAD_H
#define PS_READ_TRACE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ps_trace_head {
    bool is_object;           /* { ... "traceEvents": [ ... */
    bool is_array;            /* [ {"ph": ... */
    bool has_kineto_member;   /* schemaVersion as a number, deviceProperties or distributedInfo */
    bool has_kineto_category; /* some event is of a category that only PyTorch's profiler writes */
    bool
        has_workers; /* an event has the arguments model_chunk and mb_id, or names a thread after a worker: NDTimeline */
    int64_t rank;   /* distributedInfo.rank, -1 unknown */
    char host[256]; /* host_name as it stands, "" unknown or not plain */
} ps_trace_head;

/* Both forms false: no trace events. Malformed text ends the look. */
ps_trace_head ps_trace_head_look(const void *bytes, size_t n);

#endif
