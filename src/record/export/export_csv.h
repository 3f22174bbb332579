/* The same kernels and steps as Ascend's profiler writes them with ExportType.Text: kernel_details.csv, op_statistic.csv, step_trace_time.csv. */
#ifndef PS_RECORD_EXPORT_CSV_H
#define PS_RECORD_EXPORT_CSV_H

#include "record/export/export_tables.h"

/* Into `dir` (ASCEND_PROFILER_OUTPUT), after e->tasks are made. Each file has its name when it is complete; one without a row is left
 * out. On failure those written before stay: ps_csv_remove takes them away. */
PS_MUST_USE ps_code ps_csv_write(ps_export *e, const char *dir, ps_err *err);
void ps_csv_remove(const char *dir);

#endif
