/* Databases from the raw files that a process left when it died: `pipescope record --recover DIR`. */
#ifndef PS_RECORD_RECOVER_H
#define PS_RECORD_RECOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/export/export.h"

/* A folder with raw files. */
typedef struct ps_raw_folder {
    const char *profile_dir; /* <worker>_<time>_ascend_pt, path */
    uint32_t pid;
    int rank;
    bool running;       /* the process is alive and of this boot: not to be touched */
    const char *launch; /* "" when not known */
} ps_raw_folder;

/* All output folders at or directly below `dir` that hold raw files, in the order of names; in the arena. */
PS_MUST_USE ps_code ps_recover_find(const char *dir, ps_arena *arena, ps_raw_folder **out,
                                    size_t *n, ps_err *err);

/* Exports one. `options` may be NULL; what the recording itself was told (device_id, export_type, nccl_marks, nvtx_push_pop_type) holds
 * where they have the default. Raw files go only when all went well and nothing was damaged, and not with keep_raw. PS_NOTHING when
 * the process had recorded nothing: then the folder goes. */
PS_MUST_USE ps_code ps_recover_folder(const ps_raw_folder *folder, const ps_export_options *options,
                                      ps_export_result *result, ps_err *err);

#endif
