/* The JSON files of a rank folder of the Ascend profilers: profiler_metadata.json, profiler_info[_R].json, and the facts
 * of the device in PROF_x/device_N/info.json.N. */
#ifndef PS_READ_ASCEND_META_H
#define PS_READ_ASCEND_META_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/trace.h"

/* Adds the top-level members of profiler_metadata.json to the metadata of the trace, behind those it has. The text of
 * each value is cut out of the file as it stands. No file is fine; a malformed one is counted. `rank_dir` may be NULL. */
PS_MUST_USE ps_code ps_ascend_metadata(const char *rank_dir, ps_builder *b, ps_err *err);

/* Adds ai_core_num and aic_frequency_mhz from the first device_N/info.json.N in `rank_dir` or in a folder PROF_* of it.
 * No file is fine; a malformed one, or values that are no numbers above 0, are counted. `rank_dir` may be NULL. */
PS_MUST_USE ps_code ps_ascend_device_facts(const char *rank_dir, ps_builder *b, ps_err *err);

/* What profiler_info says; "" and false where it says nothing. */
typedef struct ps_ascend_profile {
    bool is_there;
    int64_t rank;         /* rank_id, else the number in the file's name; -1 unknown */
    char level[32];       /* "Level1" */
    char aic_metrics[64]; /* "ACL_AICORE_PIPE_UTILIZATION" */
    bool has_mstx_option, mstx;
    bool profile_memory, l2_cache, with_stack, record_shapes;
    bool has_activities, npu; /* whether the device was recorded */
} ps_ascend_profile;

/* Of the files in `rank_dir` the first by name. A malformed one is counted in `diag`, which may be NULL. PS_NOMEM only. */
PS_MUST_USE ps_code ps_ascend_profile_read(const char *rank_dir, ps_ascend_profile *out,
                                           ps_diag *diag, ps_err *err);

#endif
