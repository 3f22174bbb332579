/* What an Ascend database holds, for `pipescope info`. */
#ifndef PS_READ_ASCEND_INFO_H
#define PS_READ_ASCEND_INFO_H

#include "base/err.h"
#include "model/trace.h"
#include "read/reader.h"
#include "read/sqlite/db.h"

/* Adds three side tables to the trace being built:
 *   tables(table, rows)         every table with its exact number of rows
 *   spans(what, startNs, endNs) host and device, epoch; only those that have rows
 *   facts(what, value)          profiler level, device, host, schema version, ... as far as they are said */
PS_MUST_USE ps_code ps_ascend_info(ps_db *db, const ps_src *src, ps_builder *b, ps_err *err);

#endif
