/* From a capture to what analyses read: the database and the JSON files of one process.
 *
 *     <dir>/<worker>_<YYYYmmddHHMMSSmmm>_ascend_pt/
 *         profiler_info_<rank>.json  profiler_metadata.json
 *         ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_<rank>.db   [trace_view.json with export_text]
 *         FRAMEWORK/   raw files, removed after a clean export unless kept
 *         logs/ */
#ifndef PS_RECORD_EXPORT_H
#define PS_RECORD_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/export/capture.h"

typedef struct ps_export_options {
    bool keep_raw, text;
    int64_t device_id;      /* of rows without a device of their own */
    int nvtx_push_pop_type; /* 2 or 1 */
    bool nccl_marks;
} ps_export_options;

typedef struct ps_export_result {
    uint64_t n_ranges, n_marks, n_ops, n_steps, n_kernels, n_rows; /* rows: of all tables */
    uint64_t n_open;                                               /* ranges without an end */
    uint64_t n_dropped; /* events of the program that are missing */
    uint64_t drops[PS_N_DROPS];
    uint64_t damaged_bytes; /* of the raw files, that could not be understood */
    char damage[160];       /* the first place and what was wrong there, "" usually */
    char database[4096];    /* path */
} ps_export_result;

/* Makes the folder's name: worker, local time with ms. In the arena. */
char *ps_profile_dir_name(ps_arena *arena, const char *worker, int64_t unix_ns);

/* Writes everything into `profile_dir` (which exists). The database appears under its name when it is complete; on failure
 * nothing half-made is left and the raw files stay. PS_UNSUPPORTED: there is no libsqlite3. PS_NOTHING: no event. */
PS_MUST_USE ps_code ps_export_capture(const ps_capture *c, const char *profile_dir,
                                      const ps_export_options *options, ps_export_result *result,
                                      ps_err *err);

/* Removes FRAMEWORK/ with the files that we know. */
void ps_export_remove_raw(const char *profile_dir);

#endif
