/* Communication that nothing hides, by communicator: how long something was transmitted, and how long its tasks waited.
 *
 * Transmit: at least one plane of the communicator runs a task that is no wait. Wait: none does, and at least one waits.
 * Idle: no task at all. This is not what profilers call waiting and idle: those look at one plane of each operator, hidden or not;
 * rows of tables therefore say "Only waiting" and "No task". Which task waits, comm_waits.h says. Without tasks (collection level 0, NCCL) there is nothing to split. */
#ifndef PS_ANALYZE_VIEW_COMM_SPLIT_H
#define PS_ANALYZE_VIEW_COMM_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/intervals.h"
#include "analyze/views/view.h"
#include "base/arena.h"
#include "base/idmap.h"

typedef struct ps_comm_split_group_times {
    const char *name; /* as its lane is called; in the arena */
    int64_t transmit_ns, wait_ns, idle_ns;
    bool has_tasks;
    ps_intervals exposed, transfers, waits;
} ps_comm_split_group_times;

typedef struct ps_comm_split {
    const ps_view_input *in;
    const ps_track *tracks;
    ps_comm_split_group_times *groups; /* in the order of their first operator */
    size_t n_groups, cap;
    ps_idmap rows;                 /* id of the communicator's name -> group */
    ps_str group_name, group_text; /* arguments that name the group of a kernel */
    ps_arena arena;
} ps_comm_split;

/* False when memory is out, here and below; end with ps_comm_split_fini() in any case. */
bool ps_comm_split_init(ps_comm_split *c, const ps_view_input *in);
void ps_comm_split_fini(ps_comm_split *c);

/* The group of an operator or kernel, added when new. */
bool ps_comm_split_group(ps_comm_split *c, uint32_t slice, size_t *out);
/* Adds what of [start, end) is not hidden. */
bool ps_comm_split_add(ps_comm_split *c, size_t group, const ps_intervals *hidden_by,
                       int64_t start_ns, int64_t end_ns);
/* Looks at the tasks, and fills the times. */
bool ps_comm_split_finish(ps_comm_split *c);

#endif
