/* The device side of the whole timeline: rows of TASK, each drawn once, with what the other tables know of it, and the
 * lanes of OVERLAP_ANALYSIS. */
#ifndef PS_READ_ASCEND_DB_DEVICE_H
#define PS_READ_ASCEND_DB_DEVICE_H

#include "read/ascend_db/ascend_db_comm.h"
#include "read/ascend_db/ascend_db_marks.h"
#include "read/ascend_db/ascend_db_reading.h"

/* Where most of the device side is: the first process and, when there is only one, the device. -1 unknown. */
typedef struct ps_ascend_home {
    int64_t pid, device;
} ps_ascend_home;

PS_MUST_USE ps_code ps_ascend_tasks_read(ps_ascend *a, ps_ascend_marks *marks, ps_ascend_ops *ops,
                                         ps_ascend_home *home, ps_err *err);

/* OVERLAP_ANALYSIS, when a profiler or its viewer wrote it. */
PS_MUST_USE ps_code ps_ascend_overlap_read(ps_ascend *a, int64_t pid, ps_err *err);

#endif
