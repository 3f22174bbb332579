/* What an Nsight Systems export says about itself: its clock, machine, GPUs, processes, and what went wrong. */
#ifndef PS_READ_NSIGHT_INFO_H
#define PS_READ_NSIGHT_INFO_H

#include "read/nsight/nsight_file.h"

/* When the capture began, ns since 1970. False when the file does not say. */
PS_MUST_USE ps_code ps_nsight_epoch(ps_nsight *n, bool *known, int64_t *epoch_ns, ps_err *err);

/* When it ended, ns since its start; INT64_MIN when the file does not say. */
PS_MUST_USE ps_code ps_nsight_stop(ps_nsight *n, int64_t *stop_ns, ps_err *err);

/* Names of machines, in `arena`. */
typedef struct ps_nsight_hosts {
    ps_arena *arena;
    ps_idmap rows; /* upper bits of a process key -> row in names */
    const char **names;
    size_t n, cap;
} ps_nsight_hosts;

void ps_nsight_hosts_fini(ps_nsight_hosts *h);
PS_MUST_USE ps_code ps_nsight_hosts_read(ps_nsight_hosts *h, ps_nsight *n, ps_err *err);

/* The name of the machine that a process ran on, else of the first there is, else "". */
const char *ps_nsight_host(const ps_nsight_hosts *h, int64_t process_key);

/* META_DATA_EXPORT and META_DATA_CAPTURE as they are, "system.<name>" of TARGET_INFO_SYSTEM_ENV, "gpu.<id>.<what>" of
 * TARGET_INFO_GPU. */
PS_MUST_USE ps_code ps_nsight_metas(ps_nsight *n, ps_err *err);

/* Names of the processes that have tracks. */
PS_MUST_USE ps_code ps_nsight_process_names(ps_nsight *n, ps_err *err);

/* Counts what DIAGNOSTIC_EVENT says was lost; with PS_NEED_TABLES all its rows become the side table "diagnostics". */
PS_MUST_USE ps_code ps_nsight_diagnostics(ps_nsight *n, ps_err *err);

/* The side tables tables, spans and facts; see ps_needs. */
PS_MUST_USE ps_code ps_nsight_inventory(ps_nsight *n, int64_t epoch_ns, ps_err *err);

#endif
