/* What the CUDA tracer recorded: calls on host threads, work on streams, the flows between them, and how much memory
 * was allocated. */
#ifndef PS_READ_NSIGHT_CUDA_H
#define PS_READ_NSIGHT_CUDA_H

#include "read/nsight/nsight_file.h"
#include "read/nsight/nsight_nvtx.h"

/* Calls (CUPTI_ACTIVITY_KIND_RUNTIME, OSRT_API, CUDNN_EVENTS, CUBLAS_EVENTS, CUDA_GRAPH_NODE_EVENTS) as CALL slices,
 * then kernels, copies, fills, synchronisation and whole graphs on their streams, each with a flow "ac2g" from its
 * call. `nvtx`, already read, tells a kernel the range it was launched in. */
PS_MUST_USE ps_code ps_nsight_cuda_read(ps_nsight *n, const ps_nsight_nvtx *nvtx, ps_err *err);

/* CUDA_GPU_MEMORY_USAGE_EVENTS as counters: bytes allocated, per process, device and kind of memory. */
PS_MUST_USE ps_code ps_nsight_memory_read(ps_nsight *n, ps_err *err);

/* --- shared by both -------------------------------------------------------------------------------------- */

enum { PS_NSIGHT_MEMORY_KINDS = 8 };
extern const ps_nsight_symbol PS_NSIGHT_MEMORY_KIND[PS_NSIGHT_MEMORY_KINDS];

/* --- the range around a call ----------------------------------------------------------------------------- */

typedef struct ps_nsight_call {
    int64_t start_ns, end_ns;
    uint32_t thread;
} ps_nsight_call;

/* For each of n calls the name of the innermost range on its thread that covers it, none where there is none, in
 * `names`. `ranges` is sorted in place. PS_NOMEM. */
PS_MUST_USE ps_code ps_nsight_cover(ps_nsight_range *ranges, size_t n_ranges,
                                    const ps_nsight_call *calls, size_t n_calls, ps_str *names,
                                    ps_err *err);

#endif
