/* The map of the report. */
#ifndef PS_ANALYZE_REPORT_GATHER_H
#define PS_ANALYZE_REPORT_GATHER_H

#include "analyze/core/analysis.h"
#include "analyze/report/report_facts.h"

/* Makes a ps_report_rank, also of a trace without a device: its ranges may be in the chart. */
ps_code ps_report_map(const ps_map_input *in, void **partial, ps_err *err);

/* Fills `out`, which must be empty; false when memory is out. */
bool ps_report_find_paying(const ps_host_activity *host, const ps_overlaps *overlaps,
                           const ps_idle *idle, ps_report_paying *out);

#endif
