/* The table `kernel`: each kernel that computes, with who launched it and what it is. */
#ifndef PS_QUERY_KERNEL_TABLE_H
#define PS_QUERY_KERNEL_TABLE_H

#include "base/err.h"
#include "model/table.h"
#include "query/parts.h"

/* Of a part in memory, read with PS_VIEW_NEEDS and links; times from 1970. Its rows are made when they are read and borrow from the part;
 * the caller frees it before. NULL: PS_NOMEM, or PS_NOTHING with a sentence. */
ps_table *ps_kernel_table_make(ps_sql_part *part, ps_err *err);

#endif
