/* The end of most analyses: a table that other programs read goes into the result. */
#ifndef PS_ANALYZE_RESULT_TABLE_H
#define PS_ANALYZE_RESULT_TABLE_H

#include <stdint.h>

#include "analyze/core/analysis.h"

/* Takes ownership of the table, also of one that is NULL or failed (ps_result_give). Its names are kept as they are; `to`
 * are bits of ps_table_to; `file` (static) is its name in files. */
void ps_result_finish_table(ps_result *result, ps_table *table, const char *file, uint32_t to);

#endif
