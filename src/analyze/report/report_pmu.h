/* Which unit of the core a kernel waits for, by the counters that were collected inside of it. */
#ifndef PS_ANALYZE_REPORT_PMU_H
#define PS_ANALYZE_REPORT_PMU_H

#include "analyze/rank/kernel_pmu.h"
#include "analyze/report/report_facts.h"

typedef struct ps_bounds {
    ps_pmu pmu;
    const ps_kernel_keys *keys;
    bool any;                   /* a counter that tells */
    uint8_t of[PS_PMU_MAX];     /* column -> ps_report_bound; PS_N_REPORT_BOUNDS: tells nothing */
    ps_value cells[PS_PMU_MAX]; /* of the kernel that is being read */
    int64_t n_cores;            /* of the chip, 0 unknown */
    bool has_states;            /* some kernel says whether its shapes are dynamic */
} ps_bounds;

/* False when memory is out; end with ps_bounds_fini() in any case. The keys must outlive it. */
bool ps_bounds_init(ps_bounds *b, const ps_kernel_keys *keys, const ps_trace *trace);
void ps_bounds_fini(ps_bounds *b);
/* Adds the kernel's time to that of its kind: by the busiest unit, on the AI core by its blocks, in a graph by its state. */
void ps_bounds_take(ps_bounds *b, uint32_t kernel, bool on_ai_core, ps_report_kernel *kind);

#endif
