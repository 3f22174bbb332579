/* What the communicators of a capture are for, and who is in them: by their names formats differ. */
#ifndef PS_ANALYZE_CAPTURE_FACTS_GROUPS_H
#define PS_ANALYZE_CAPTURE_FACTS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "base/arena.h"
#include "model/trace.h"

/* One name of communicators on a rank, as ps_counted has it. */
typedef struct ps_capture_group {
    const char *name;
    const char *purpose; /* as the job says it: "tp", "dp"; "" unknown */
    uint64_t ranks;      /* a hash of the set of ranks, 0 unknown */
} ps_capture_group;

typedef struct ps_capture_groups {
    ps_capture_group *at;
    size_t n, cap;
} ps_capture_groups;

/* Notes the name under which a communication slice is counted. Texts in the arena. False when memory is out. */
bool ps_capture_groups_note(ps_capture_groups *g, ps_arena *arena, const ps_trace *trace,
                            uint32_t slice, const char *name, const ps_rank_facts *facts);
void ps_capture_groups_fini(ps_capture_groups *g);
/* Texts in the arena in use. */
void ps_capture_groups_archive(ps_archive *a, ps_capture_groups *g);

/* The table CaptureGroups: (name, purpose, identity), by name. The identity is the same for the same purpose and sets of ranks, whatever the
 * names; "" where a rank does not know them. The partials are ps_rank_capture. */
enum { PS_CN_NAME, PS_CN_PURPOSE, PS_CN_IDENTITY, PS_N_CN };
PS_MUST_USE ps_code ps_capture_groups_table(const ps_reduce_input *in, ps_result *out, ps_err *err);

#endif
