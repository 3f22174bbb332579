/* Counters of an Ascend database: what its tables sample of the device, the host and its memory. */
#ifndef PS_READ_ASCEND_DB_COUNTERS_H
#define PS_READ_ASCEND_DB_COUNTERS_H

#include "read/ascend_db/ascend_db_reading.h"

/* One series for each measured column, named as in the text export where that has it ("HBM 0/Read"). Texts must have
 * been read. Values at time 0 are counted and left out. */
PS_MUST_USE ps_code ps_ascend_counters_read(ps_ascend *a, ps_err *err);

#endif
