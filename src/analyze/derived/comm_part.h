/* What most analyses of communication keep of a rank: its operators, the statistics that the profiler wrote, and what the
 * metadata says of communicators. */
#ifndef PS_ANALYZE_COMM_PART_H
#define PS_ANALYZE_COMM_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/comm_list.h"
#include "analyze/comm/comm_tables.h"
#include "analyze/comm/skew.h"
#include "analyze/core/analysis.h"
#include "base/archive.h"

/* A communicator as parallel_group_info (or pg_config of PyTorch) has it. Texts live in the arena of the part. */
typedef struct ps_comm_group {
    const char *id; /* "10.0.0.1%eth0_60000_0_17", "0" */
    const char *
        key; /* what statistics call it: the decimal hash of the id, or the id itself when it is a number */
    const char *label; /* "dp", "default_pg"; "" unknown */
    ps_int_runs ranks; /* global, in the order of their places; empty: not said */
} ps_comm_group;

/* What the time of an operator was made of, by its tasks (comm_waits.h), hidden or not; the rest of it no task ran. */
typedef struct ps_comm_task_times {
    int64_t transfer_ns, wait_ns; /* -1: it has no task */
} ps_comm_task_times;

/* To be read with the tables: `task_times`, where the profiler has no times of its own. */
enum { PS_COMM_TASK_TIMES = PS_COMM_LINKS << 1 };

/* Analyses of a run share them: not to be changed, but for the pool of the tables. */
typedef struct ps_comm_part {
    ps_comm_list list;
    struct ps_comm_part *list_of; /* whose list and groups they are, NULL: its own */
    ps_comm_tables tables;
    ps_comm_task_times *task_times; /* [list.n], or NULL */
    size_t n_users;                 /* who will free it */
    ps_comm_group *groups;          /* in the order of the metadata */
    size_t n_groups;
    bool has_steps;
    ps_arena arena;
} ps_comm_part;

#define PS_COMM_PART_NEEDS                                                                         \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST | PS_NEED_SLICES |        \
     PS_NEED_FLOWS | PS_NEED_ARGS | PS_NEED_STATISTICS)

enum { PS_COMM_KEY_SIZE = 24 }; /* room for the decimal digits of a hash */

/* Operators, of `tables` (ps_comm_table bits, PS_COMM_TASK_TIMES) those that are there, and groups, with opts->step_id only of that step.
 * PS_NOTHING with a sentence when the rank has neither an operator nor any of `tables`, or no such step. The caller
 * frees it with ps_comm_part_free(), also after a failure when *out is not NULL. */
PS_MUST_USE ps_code ps_comm_part_read(const ps_map_input *in, uint32_t tables, ps_comm_part **out,
                                      ps_err *err);
/* The same for an analysis whose partial it is: its map, which frees what a failure leaves. */
PS_MUST_USE ps_code ps_comm_part_map(const ps_map_input *in, uint32_t tables, void **out,
                                     ps_err *err);
/* The operators of all steps and the groups, whatever opts->step_id says, also of a rank without any: one of the analyses of a run that
 * look at a single step is rare, so the part is mostly that which the others share. As above. */
ps_code ps_comm_part_whole(const ps_map_input *in, ps_comm_part **out, ps_err *err);
void ps_comm_part_free(void *part); /* NULL is fine */

/* What statistics call a communicator; `out` has room for `size` bytes. */
void ps_comm_key(const char *group, char *out, size_t size);

/* Borrowed arrays for ps_skew_measure; *lists is the caller's to free. NULL when memory is out. */
const ps_comm_list **ps_comm_lists(const ps_reduce_input *in);

/* The partial of ps_comm_part_map(). Analyses of a run share it on the way, too. */
void ps_comm_part_archive(ps_archive *a, void **part);

#endif
