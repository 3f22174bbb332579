/* What we use of CUPTI, declared by hand from its documentation: its headers may not be passed on. Handles are opaque, results
 * are ints. Of activity records only the beginnings are known here, as offsets from a record's start; they have been the
 * same from version to version (kernels 4 to 10, copies 3 to 6) as far as PS_CUPTI_NEWEST. */
#ifndef PS_RECORD_CUPTI_ABI_H
#define PS_RECORD_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

/* cuptiGetVersion of the newest whose records were compared: up to 13.0. Of records of later ones only what every tool needs is
 * believed: start, end, device, stream, correlation, name. */
enum { PS_CUPTI_NEWEST = 130099, PS_CUPTI_V2 = 130300 };

enum {
    PS_CUPTI_OK = 0,
    PS_CUPTI_MAX_LIMIT_REACHED = 12, /* the end of a buffer */
    PS_CUPTI_NOT_COMPATIBLE = 14,
    PS_CUPTI_MULTIPLE_SUBSCRIBERS = 39 /* another tool holds it */
};

enum { /* kinds of records */
       PS_CUPTI_MEMCPY = 1,
       PS_CUPTI_MEMSET = 2,
       PS_CUPTI_KERNEL = 3,
       PS_CUPTI_DRIVER = 4,
       PS_CUPTI_RUNTIME = 5,
       PS_CUPTI_CONCURRENT_KERNEL = 10,
       PS_CUPTI_OVERHEAD = 17,
       PS_CUPTI_SYNCHRONIZATION = 38,
       PS_CUPTI_EXTERNAL_CORRELATION = 39,
       PS_CUPTI_GRAPH_TRACE = 51
};
enum { PS_CUPTI_DOMAIN_DRIVER = 1, PS_CUPTI_DOMAIN_RUNTIME = 2 };
enum { PS_CUPTI_FLUSH_FORCED = 1, PS_CUPTI_THREAD_ID_SYSTEM = 1, PS_CUPTI_CUSTOM0 = 3 };

/* Where things stand in records. */
enum {
    PS_KERNEL_START = 16,
    PS_KERNEL_END = 24,
    PS_KERNEL_DEVICE = 40,
    PS_KERNEL_CONTEXT = 44,
    PS_KERNEL_STREAM = 48,
    PS_KERNEL_GRID = 52, /* three numbers each */
    PS_KERNEL_BLOCK = 64,
    PS_KERNEL_CORRELATION = 92,
    PS_KERNEL_NAME = 104,
    PS_KERNEL_GRAPH_NODE = 144,
    PS_KERNEL_BYTES = 152,

    PS_COPY_KIND = 4, /* memory set: the value */
    PS_COPY_BYTES = 8,
    PS_COPY_START = 16,
    PS_COPY_END = 24,
    PS_COPY_DEVICE = 32,
    PS_COPY_CONTEXT = 36,
    PS_COPY_STREAM = 40,
    PS_COPY_CORRELATION = 44,
    PS_COPY_SIZE = 48,

    PS_API_CALL = 4,
    PS_API_START = 8,
    PS_API_END = 16,
    PS_API_THREAD = 28,
    PS_API_CORRELATION = 32,
    PS_API_SIZE = 40,

    PS_EXTERNAL_KIND = 4,
    PS_EXTERNAL_ID = 8,
    PS_EXTERNAL_CORRELATION = 16,
    PS_EXTERNAL_SIZE = 24,

    PS_OVERHEAD_KIND = 4,
    PS_OVERHEAD_OBJECT = 8,
    PS_OVERHEAD_THREAD = 16,
    PS_OVERHEAD_START = 24,
    PS_OVERHEAD_END = 32,
    PS_OVERHEAD_SIZE = 40,
    PS_OVERHEAD_OF_THREAD = 2, /* kind of object: a thread */

    PS_SYNC_TYPE = 4,
    PS_SYNC_START = 8,
    PS_SYNC_END = 16,
    PS_SYNC_CORRELATION = 24,
    PS_SYNC_CONTEXT = 28,
    PS_SYNC_STREAM = 32,
    PS_SYNC_SIZE = 40,

    /* Of both forms that there have been; not yet compared on a GPU. */
    PS_GRAPH_CORRELATION = 4,
    PS_GRAPH_START = 8,
    PS_GRAPH_END = 16,
    PS_GRAPH_DEVICE = 24,
    PS_GRAPH_ID = 28,
    PS_GRAPH_CONTEXT = 32,
    PS_GRAPH_STREAM = 36,
    PS_GRAPH_SIZE = 40
};

typedef struct ps_cupti_subscriber_params {
    size_t size;
    const char *name;
    char *other_name; /* gets the name of whoever holds CUPTI */
    size_t other_size;
    uint8_t allow_multiple;
} ps_cupti_subscriber_params;

typedef void (*ps_cupti_request)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*ps_cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid);
typedef void (*ps_cupti_request_v2)(uint8_t **buffer, size_t *size, size_t *max_records,
                                    void *info);
typedef void (*ps_cupti_complete_v2)(uint8_t *buffer, size_t size, size_t valid, void *info);
typedef void (*ps_cupti_callback)(void *user, int domain, uint32_t call, const void *data);
typedef uint64_t (*ps_cupti_timestamp)(void);

/* X(required, name without "cupti", parameters) */
#define PS_CUPTI_CALLS(X)                                                                          \
    X(1, GetVersion, (uint32_t *))                                                                 \
    X(1, Subscribe, (void **, ps_cupti_callback, void *))                                          \
    X(1, Unsubscribe, (void *))                                                                    \
    X(1, GetTimestamp, (uint64_t *))                                                               \
    X(0, GetCallbackName, (int, uint32_t, const char **))                                          \
    X(0, SetThreadIdType, (int))                                                                   \
    X(1, ActivityRegisterCallbacks, (ps_cupti_request, ps_cupti_complete))                         \
    X(0, ActivityRegisterTimestampCallback, (ps_cupti_timestamp))                                  \
    X(1, ActivityEnable, (int))                                                                    \
    X(1, ActivityDisable, (int))                                                                   \
    X(0, ActivityEnableDriverApi, (uint32_t, uint8_t))                                             \
    X(0, ActivityEnableRuntimeApi, (uint32_t, uint8_t))                                            \
    X(1, ActivityFlushAll, (uint32_t))                                                             \
    X(1, ActivityGetNextRecord, (uint8_t *, size_t, uint8_t **))                                   \
    X(1, ActivityGetNumDroppedRecords, (void *, uint32_t, size_t *))                               \
    X(0, ActivityPushExternalCorrelationId, (int, uint64_t))                                       \
    X(0, ActivityPopExternalCorrelationId, (int, uint64_t *))                                      \
    X(0, ActivityPushExternalCorrelationId_v2, (void *, int, uint64_t))                            \
    X(0, ActivityPopExternalCorrelationId_v2, (void *, int, uint64_t *))                           \
    X(0, Subscribe_v2, (void **, ps_cupti_callback, void *, ps_cupti_subscriber_params *))         \
    X(0, GetTimestamp_v2, (void *, uint64_t *))                                                    \
    X(0, ActivityRegisterCallbacks_v2, (void *, ps_cupti_request_v2, ps_cupti_complete_v2))        \
    X(0, ActivityEnable_v2, (void *, int, void *))                                                 \
    X(0, ActivityDisable_v2, (void *, int, void *))                                                \
    X(0, ActivityEnableDriverApi_v2, (void *, uint32_t, uint8_t))                                  \
    X(0, ActivityEnableRuntimeApi_v2, (void *, uint32_t, uint8_t))                                 \
    X(0, ActivityGetNextRecord_v2, (void *, uint8_t *, size_t, uint8_t **))                        \
    X(0, ActivityGetNumDroppedRecords_v2, (void *, void *, uint32_t, size_t *))

typedef struct ps_cupti_calls {
#define X(required, name, params) int(*name) params;
    PS_CUPTI_CALLS(X)
#undef X
} ps_cupti_calls;

#endif
