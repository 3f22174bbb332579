/* From the names of threads and processes to the lanes of workers. */
#ifndef PS_READ_NDTIMELINE_LANES_H
#define PS_READ_NDTIMELINE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef enum ps_ndt_lane_kind {
    PS_NDT_COMPUTE,
    PS_NDT_PP_COMM,
    PS_NDT_TP_COMM,
    PS_NDT_DP_COMM,
    PS_NDT_MISC,
    PS_N_NDT_LANES
} ps_ndt_lane_kind;

/* "compute", "pp-comm" ... */
const char *ps_ndt_lane_name(ps_ndt_lane_kind kind);

typedef struct ps_ndt_worker {
    int64_t dp, pp, tp;
    size_t first, n; /* in the lists of the file */
    size_t n_ops;
} ps_ndt_worker;

/* A thread; one whose name says nothing of a worker has pp -1. */
typedef struct ps_ndt_thread {
    int64_t pid, tid;
    int64_t dp, pp, tp;
    ps_ndt_lane_kind kind;
    uint32_t worker; /* PS_NDT_NOBODY */
    uint32_t list;   /* the last one that took an op, PS_NDT_NOBODY */
} ps_ndt_thread;

#define PS_NDT_NOBODY UINT32_MAX

typedef struct ps_ndt_process {
    int64_t pid, dp;
} ps_ndt_process;

/* "PP rank 0, TP rank 0, compute" and "DP rank [1]". */
bool ps_ndt_parse_thread(const char *s, size_t n, ps_ndt_thread *out);
bool ps_ndt_parse_process(const char *s, size_t n, int64_t *dp);

/* Gives each thread its worker; workers by pp, dp, tp, without ops, into workers [n_threads], *n of them. `processes` is put
 * into order. PS_SYNTAX as ps_ndt_file_read, PS_NOMEM. */
PS_MUST_USE ps_code ps_ndt_place_threads(ps_ndt_thread *threads, size_t n_threads,
                                         ps_ndt_process *processes, size_t n_processes,
                                         const char *path, ps_ndt_worker *workers, size_t *n,
                                         ps_err *err);

#endif
