/* What a capture is made of, by name and by step, added up over its ranks: one side of a comparison. */
#ifndef PS_ANALYZE_CAPTURE_FACTS_H
#define PS_ANALYZE_CAPTURE_FACTS_H

#include <stdbool.h>

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/modes/capture_facts_groups.h"
#include "analyze/rank/overlap.h"
#include "analyze/stats/named_sums.h"
#include "base/archive.h"

/* One rank's share; the partial of the analyses capture_facts and compare. */
typedef struct ps_rank_capture {
    ps_named_sums sums;
    ps_overlaps overlaps;
    int64_t *step_starts_ns; /* [n_steps] rising; of the steps in which any of its devices worked */
    size_t n_steps; /* 1 in a capture without steps; overlaps.n counts each device of a step */
    bool
        is_of_tables; /* ps_trace_missing_timeline: no host, no copies, steps end with their last work */
    bool
        is_of_own_work; /* steps begin and end with the rank's own work: logs that know nothing but jobs */
    int64_t origin_ns; /* of the times of overlaps */
    ps_rank_facts facts;
    ps_capture_groups groups;
    ps_arena arena; /* of these two */
} ps_rank_capture;

/* The map of a round, and what frees its partial. PS_NOTHING when nothing ran on a device. Needs: see below. */
PS_MUST_USE ps_code ps_rank_capture_map(const ps_map_input *in, void **partial, ps_err *err);
void ps_rank_capture_free(void *partial);
#define PS_RANK_CAPTURE_NEEDS                                                                      \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_ARGS)

/* The first round of an analysis that reduces in its second: the chart of pp_chart is there after that. */
#define PS_RANK_CAPTURE_ROUND                                                                      \
    { .needs = PS_RANK_CAPTURE_NEEDS, .map = ps_rank_capture_map }

/* The tables that a capture is handed on as, with those of capture_facts_stages.h and capture_facts_groups.h:
 *   CaptureSums (class, name, detail, count, time_ns)   totals over ranks and steps
 *   CaptureSteps (order, step, n_ranks, then the parts of a step's time in ns: sums over the ranks and their devices)
 *   CaptureSize (ranks, rank_steps, ranks whose timeline is made of tables, host_steps)     what totals are divided by;
 *   and ranks without computing kernels
 * A step is that of one device everywhere (as in overlap.h): what devices do is divided by rank_steps, which counts each device of a
 * rank's step; what the host does by host_steps, which counts a rank's step once. */
enum { PS_CS_CLASS, PS_CS_NAME, PS_CS_DETAIL, PS_CS_COUNT, PS_CS_TIME, PS_N_CS };
enum {
    PS_CT_ORDER,
    PS_CT_STEP,
    PS_CT_RANKS,
    PS_CT_TIME, /* what the step takes of the device: before, computing, not overlapped, free, after */
    PS_CT_COMPUTING,
    PS_CT_COMMUNICATION,
    PS_CT_NOT_OVERLAPPED,
    PS_CT_FREE,
    PS_CT_BUBBLE,
    PS_CT_MEMORY,
    PS_CT_BEFORE, /* of the step's window, before its first work on the device */
    PS_CT_AFTER,
    PS_N_CT
};
enum {
    PS_CZ_RANKS,
    PS_CZ_RANK_STEPS,
    PS_CZ_OF_TABLES,
    PS_CZ_HOST_STEPS,
    PS_CZ_NO_COMPUTING,
    PS_N_CZ
};

PS_MUST_USE ps_code ps_capture_tables(const ps_reduce_input *in, ps_result *out, ps_err *err);

void ps_rank_capture_archive(ps_archive *a, void **partial);

#endif
