/* What we use of the CUDA driver's interface, declared by hand: types are opaque, a result is an int. Nothing of CUDA is
 * needed to build, and a program without a driver never notices that this is here.
 *
 * The calls are one table of function pointers (PS_CUDA_CALLS), so that another vendor's driver fits behind the same code.
 * HIP has the same calls but for these: its events, streams and captures are hipEventRecord, hipEventQuery,
 * hipEventElapsedTime, hipEventCreateWithFlags, hipStreamIsCapturing, hipThreadExchangeStreamCaptureMode; a stream's device
 * comes from hipStreamGetDevice instead of a context, hipCtxGetCurrent and hipCtxPushCurrent become hipGetDevice and hipSetDevice
 * on our own thread, and there is no id of a context. A table of small adapters filled from libamdhip64.so is all it takes; it
 * is not built, since there is nothing here to try it on. */
#ifndef PS_RECORD_CUDA_ABI_H
#define PS_RECORD_CUDA_ABI_H

#include <stdint.h>

typedef void *ps_cu_context;
typedef void *ps_cu_stream;
typedef void *ps_cu_event;

/* Handles that are no pointers: the default stream and each thread's own default stream. */
#define PS_CU_STREAM_LEGACY ((ps_cu_stream)1)
#define PS_CU_STREAM_PER_THREAD ((ps_cu_stream)2)

enum { PS_CU_STREAM_NON_BLOCKING = 1 };

enum { /* results */
       PS_CU_OK = 0,
       PS_CU_INVALID_VALUE = 1,
       PS_CU_OUT_OF_MEMORY = 2,
       PS_CU_NOT_INITIALIZED = 3,
       PS_CU_DEINITIALIZED = 4,
       PS_CU_INVALID_CONTEXT = 201,
       PS_CU_INVALID_HANDLE = 400,
       PS_CU_NOT_READY = 600,
       PS_CU_CONTEXT_IS_DESTROYED = 709,
       PS_CU_NOT_SUPPORTED = 801,
       PS_CU_CAPTURE_FIRST = 900, /* 900 to 910 are about captures */
       PS_CU_CAPTURE_IMPLICIT = 906,
       PS_CU_CAPTURE_LAST = 910
};

enum { PS_CU_CAPTURE_NONE = 0, PS_CU_CAPTURE_ACTIVE = 1, PS_CU_CAPTURE_INVALIDATED = 2 };
enum { PS_CU_CAPTURE_MODE_GLOBAL = 0, PS_CU_CAPTURE_MODE_RELAXED = 2 };

/* X(required, name without "cu", name where there is no cuGetProcAddress, parameters)
 * Those that are not required came with a later driver; code asks before it calls. */
#define PS_CUDA_CALLS(X)                                                                           \
    X(1, DriverGetVersion, "cuDriverGetVersion", (int *))                                          \
    X(1, CtxGetCurrent, "cuCtxGetCurrent", (ps_cu_context *))                                      \
    X(1, CtxPushCurrent, "cuCtxPushCurrent_v2", (ps_cu_context))                                   \
    X(1, CtxPopCurrent, "cuCtxPopCurrent_v2", (ps_cu_context *))                                   \
    X(1, CtxGetDevice, "cuCtxGetDevice", (int *))                                                  \
    X(1, CtxSynchronize, "cuCtxSynchronize", (void))                                               \
    X(1, CtxGetApiVersion, "cuCtxGetApiVersion", (ps_cu_context, unsigned *))                      \
    X(0, CtxGetId, "cuCtxGetId", (ps_cu_context, unsigned long long *)) /* 12.0 */                 \
    X(1, DeviceGetName, "cuDeviceGetName", (char *, int, int))                                     \
    X(1, StreamCreate, "cuStreamCreate", (ps_cu_stream *, unsigned))                               \
    X(0, StreamGetCtx, "cuStreamGetCtx", (ps_cu_stream, ps_cu_context *))               /* 9.2 */  \
    X(0, StreamIsCapturing, "cuStreamIsCapturing", (ps_cu_stream, int *))               /* 10.0 */ \
    X(0, ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *)) /* 10.1 */ \
    X(1, EventCreate, "cuEventCreate", (ps_cu_event *, unsigned))                                  \
    X(1, EventDestroy, "cuEventDestroy_v2", (ps_cu_event))                                         \
    X(1, EventRecord, "cuEventRecord", (ps_cu_event, ps_cu_stream))                                \
    X(1, EventQuery, "cuEventQuery", (ps_cu_event))                                                \
    X(1, EventElapsedTime, "cuEventElapsedTime", (float *, ps_cu_event, ps_cu_event))

typedef struct ps_cuda_calls {
#define X(required, name, symbol, params) int(*name) params;
    PS_CUDA_CALLS(X)
#undef X
} ps_cuda_calls;

#endif
