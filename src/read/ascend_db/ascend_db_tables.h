/* Side tables: what a database says that is no timeline. */
#ifndef PS_READ_ASCEND_DB_TABLES_H
#define PS_READ_ASCEND_DB_TABLES_H

#include "read/ascend_db/ascend_db_reading.h"

/* Memory operators, records of memory, PMU values and the small tables about the recording, with their own columns, ids
 * of STRING_IDS as texts; and the tables of analysis.db or communication_analyzer.db in the same folder. Texts must have
 * been read. A missing table is left out; a sibling that cannot be read is counted. */
PS_MUST_USE ps_code ps_ascend_tables_copy(ps_ascend *a, ps_err *err);

#endif
