/* What only the room itself may know of a ps_sql. */
#ifndef PS_QUERY_SQL_INSIDE_H
#define PS_QUERY_SQL_INSIDE_H

#include <stdbool.h>

#include "query/context.h"
#include "query/deadline.h"
#include "query/sql.h"

ps_sql_context *ps_sql_context_of(ps_sql *s);
/* 0: no bound. */
int64_t ps_sql_max_bytes(const ps_sql *s);
/* PS_NOMEM: more than that is needed. */
ps_code ps_sql_too_much(const ps_sql *s, ps_err *err);
/* A statement begins, and its time. False: there is no thread to be had. */
bool ps_sql_begin_deadline(ps_sql *s, ps_deadline *deadline);

#endif
