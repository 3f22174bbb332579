/* The same events as trace-event JSON, for viewers that know nothing of databases: trace_view.json. */
#ifndef PS_RECORD_EXPORT_TRACE_VIEW_H
#define PS_RECORD_EXPORT_TRACE_VIEW_H

#include "record/export/export_tables.h"

/* After e->tasks are made. The file has its name when it is complete. */
PS_MUST_USE ps_code ps_trace_view_write(ps_export *e, const char *path, ps_err *err);

#endif
