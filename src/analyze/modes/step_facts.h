/* The small tables beside ClusterStepTraceTime: ClusterBaseInfo, HostInfo, RankDeviceMap. */
#ifndef PS_ANALYZE_STEP_FACTS_H
#define PS_ANALYZE_STEP_FACTS_H

#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/arena.h"

/* Of one rank; texts in the arena it was read into, NULL unknown. */
typedef struct ps_step_facts {
    const char *distributed_args; /* JSON, without the rank */
    const char *host_uid, *host_name;
    int64_t device; /* -1 unknown */
} ps_step_facts;

/* From the metadata and the side tables HOST_INFO and RANK_DEVICE_MAP. PS_NOMEM only. */
PS_MUST_USE ps_code ps_step_facts_read(const ps_trace *trace, ps_arena *arena, ps_step_facts *out,
                                       ps_err *err);

/* Adds the tables that have rows to the result; entries may be NULL. */
PS_MUST_USE ps_code ps_step_facts_put(const ps_reduce_input *in, const ps_step_facts *const *facts,
                                      ps_err *err);

#endif
