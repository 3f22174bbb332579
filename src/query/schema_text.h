/* The tables and functions of queries for people: `pipescope query --schema`, which is docs/sql.md. */
#ifndef PS_QUERY_SCHEMA_TEXT_H
#define PS_QUERY_SCHEMA_TEXT_H

#include "base/buf.h"

/* Appends the page, in Markdown. */
void ps_sql_schema_text(ps_buf *out);

#endif
