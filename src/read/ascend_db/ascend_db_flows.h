/* Flows of the whole timeline: queue, forward to backward, call to kernel. Those of marks are made with the marks. */
#ifndef PS_READ_ASCEND_DB_FLOWS_H
#define PS_READ_ASCEND_DB_FLOWS_H

#include "read/ascend_db/ascend_db_reading.h"

/* After all slices are there: from the ends that were remembered in `a`, and CONNECTION_IDS. */
PS_MUST_USE ps_code ps_ascend_flows_add(ps_ascend *a, ps_err *err);

#endif
