/* The rule of the zero-bubble schedules with a closed order (arXiv 2401.10241): w forwards; then for every backward a
 * forward while there are any, the BI, and the BW of `lag` backwards before; the BWs left at the end. Weight gradients
 * put off by `lag` are what fills the drain. */
#ifndef PS_SCHEDULE_SPLIT_H
#define PS_SCHEDULE_SPLIT_H

#include "schedule/groups.h"

/* The list of one device. PS_NOMEM only. */
PS_MUST_USE ps_code ps_split_order(const ps_groups *groups, int32_t warm_up, int32_t lag,
                                   ps_op_list *out, ps_err *err);

#endif
