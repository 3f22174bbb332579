/* The end of most analyses: a table that other programs read goes into the result. */
#ifndef PS_ANALYZE_RESULT_TABLE_H
#define PS_ANALYZE_RESULT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/core/analysis.h"

/* Takes ownership of the table, also on failure. `ok` false: memory ran out while it was filled (it may be NULL). Its names
 * are kept as they are; `to` are bits of ps_table_to; `file` (static) is its name in files. PS_NOMEM only. */
PS_MUST_USE ps_code ps_result_finish_table(ps_result *result, ps_table *table, bool ok,
                                           const char *file, uint32_t to, ps_err *err);

#endif
