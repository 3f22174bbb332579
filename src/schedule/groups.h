/* The order in which the chunks of a device take their turns when the model goes round the devices several times:
 * microbatches are cut into groups of g (the last may be short); a group goes through chunk 0, then chunk 1, and so on.
 * p = 2, g = 3, m = 5, v = 2, as (microbatch, chunk):
 *
 *   (0,0)(1,0)(2,0) (0,1)(1,1)(2,1)  (3,0)(4,0) (3,1)(4,1)
 *
 * Numbered along this order, a forward or backward has a virtual index 0 .. m*v - 1. Backwards take the chunks from the
 * last to the first. Megatron-LM calls g the microbatch group size per virtual pipeline stage. */
#ifndef PS_SCHEDULE_GROUPS_H
#define PS_SCHEDULE_GROUPS_H

#include "schedule/schedule.h"

typedef struct ps_groups {
    int32_t p, m, v, g;
    int32_t n; /* virtual indices, m * v */
} ps_groups;

ps_groups ps_groups_of(const ps_schedule *schedule, const ps_schedule_params *params);

/* Adds op number `index` of its direction: forward (F), or backward (B, BI, BW). */
void ps_groups_add(const ps_groups *groups, ps_op_list *out, ps_op_kind kind, int32_t index);
/* Adds the pair of forward number `forward` and backward number `backward`. */
void ps_groups_add_pair(const ps_groups *groups, ps_op_list *out, int32_t forward,
                        int32_t backward);

/* Forwards before the first backward: `per_hop` for every device behind, and the chunks but the last for one group. */
int32_t ps_groups_warm_up(const ps_groups *groups, int32_t device, int32_t per_hop);

/* Sizes, min_chunks <= v <= PS_MAX_CHUNKS. */
PS_MUST_USE ps_code ps_chunks_check(const ps_schedule *schedule, const ps_schedule_params *params,
                                    int32_t min_chunks, ps_err *err);

/* The same, and p <= g <= m. */
PS_MUST_USE ps_code ps_groups_check(const ps_schedule *schedule, const ps_schedule_params *params,
                                    int32_t min_chunks, ps_err *err);

#endif
