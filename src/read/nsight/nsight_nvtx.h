/* NVTX_EVENTS: ranges, marks, and the names that events give to domains, categories and threads. */
#ifndef PS_READ_NSIGHT_NVTX_H
#define PS_READ_NSIGHT_NVTX_H

#include "read/nsight/nsight_file.h"

/* A push/pop range, for finding which one covers a call. */
typedef struct ps_nsight_range {
    int64_t start_ns, end_ns;
    uint32_t thread; /* row in ps_nsight.threads */
    ps_str name;
} ps_nsight_range;

typedef struct ps_nsight_nvtx {
    ps_nsight *n;
    bool with_marks;         /* marks too, not only ranges */
    bool with_ranges;        /* fill `ranges` */
    ps_nsight_range *ranges; /* of the wanted process, in file order */
    size_t n_ranges, cap_ranges;
    uint32_t *open; /* slices without an end */
    size_t n_open, cap_open;
    ps_idmap thread_names; /* globalTid -> ps_str.id, of NVTX and before it of ThreadNames */
} ps_nsight_nvtx;

void ps_nsight_nvtx_fini(ps_nsight_nvtx *x);

/* Ranges as MARK_HOST slices, marks as INSTANT. */
PS_MUST_USE ps_code ps_nsight_nvtx_read(ps_nsight_nvtx *x, ps_err *err);

/* After everything else was read: ends what is open, names the threads that have a track. `stop_ns`: when the
 * capture ended, INT64_MIN unknown. */
PS_MUST_USE ps_code ps_nsight_nvtx_finish(ps_nsight_nvtx *x, int64_t stop_ns, ps_err *err);

/* Calls `fn` with the globalTid of ranges and marks, not of rows that only name something; the same one again only
 * when another came between. */
PS_MUST_USE ps_code ps_nsight_nvtx_threads(ps_nsight *n,
                                           ps_code (*fn)(void *context, int64_t global_tid,
                                                         ps_err *err),
                                           void *context, ps_err *err);

#endif
