/* The map of the report. */
#ifndef PS_ANALYZE_REPORT_GATHER_H
#define PS_ANALYZE_REPORT_GATHER_H

#include "analyze/analysis.h"
#include "analyze/report_facts.h"

/* Makes a ps_report_rank; PS_NOTHING (with the partial) for a trace without a device. */
ps_code ps_report_map(const ps_map_input *in, void **partial, ps_err *err);

#endif
