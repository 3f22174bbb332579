/* Which slices count as work of a device, and as what: the same for step time, gaps and launch delays. */
#ifndef PS_ANALYZE_WORK_H
#define PS_ANALYZE_WORK_H

#include <stdint.h>

#include "analyze/rank/links.h"
#include "model/trace.h"

typedef enum ps_part {
    PS_PART_NONE,
    PS_PART_COMPUTING,     /* kernels; where a trace has none, jobs that compute */
    PS_PART_COMMUNICATION, /* communication operators; where a trace has none, their kernels */
    PS_PART_RECEIVING,     /* of these the receives */
    PS_PART_COPYING
} ps_part;

typedef struct ps_work {
    const ps_links *links;
    const ps_trace *trace;
    const ps_slices *s;
    const ps_track *tracks;
    ps_slice_kind computing, communication;
    bool knows_computing; /* kernels or jobs were collected: what is no work is idle */
} ps_work;

/* One look at the kinds of all slices. The links must outlive it. */
ps_work ps_work_of(const ps_links *links);
/* Without links, for ps_work_busy. */
ps_work ps_work_of_trace(const ps_trace *trace);
ps_part ps_work_part(const ps_work *w, uint32_t slice);
/* The same without telling receives from the rest of communication; of a trace alone (ps_work_of_trace). */
ps_part ps_work_busy(const ps_work *w, uint32_t slice);
int64_t ps_work_device(const ps_work *w, uint32_t slice);

#endif
