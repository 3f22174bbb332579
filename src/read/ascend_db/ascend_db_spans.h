/* The work of the device and nothing else: for PS_NEED_DEVICE_SPANS. Internal to src/read/ascend_db*.c. */
#ifndef PS_READ_ASCEND_DB_SPANS_H
#define PS_READ_ASCEND_DB_SPANS_H

#include "read/ascend_db/ascend_db_comm.h"
#include "read/ascend_db/ascend_db_reading.h"

/* Adds kernels (no name, no arguments, one track for each device, those that touch as one), communication operators by `ops`, and where the step in
 * which a piece of work was launched is not the one that runs when it starts, the launch as a call with a flow.
 * *done is false, and nothing was added, when the file is one for which that is not worth the trouble or not possible:
 * ids far apart, steps that overlap. Then everything has to be read. */
PS_MUST_USE ps_code ps_ascend_spans_read(ps_ascend *a, ps_ascend_ops *ops, bool *done, ps_err *err);

#endif
