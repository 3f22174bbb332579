/* Pipeline schedules: one file each, listed in schedules.def. A schedule says, per device,
 *   order(): the ops in execution order, and
 *   marks(): the ranges an instrumented program records for them (differs from order() only where the
 *            framework's marks do; see docs/schedules.md).
 * Both are pure functions of the parameters. */
#ifndef PS_SCHEDULE_SCHEDULE_H
#define PS_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/chart.h"

/* Limits that keep lists and tables within memory whatever a file or a user says. */
#define PS_MAX_STAGES 4096
#define PS_MAX_MICROBATCHES 65536

typedef struct ps_schedule_params {
    int32_t n_stages;       /* devices of one pipeline, p */
    int32_t n_microbatches; /* m */
    bool overlap_off;       /* dualpipev marks(): forward and backward are not paired (MoE overlap off) */
} ps_schedule_params;

/* One op of a list. `chunk2`, `microbatch2` belong to the backward of an FB, else -1; `phase` is the
 * DualPipeV phase 0..6 that StepTaskInfo calls type, else -1. */
typedef struct ps_sched_op {
    ps_op_kind kind;
    int32_t chunk, microbatch;
    int32_t chunk2, microbatch2;
    int32_t phase;
} ps_sched_op;

typedef struct ps_op_list {
    ps_sched_op *ops;
    size_t n, cap;
} ps_op_list;

typedef struct ps_schedule {
    const char *name;    /* on the command line */
    const char *summary; /* one line */
    const char *rule;    /* precondition, in words: "m >= 2p" */
    int32_t n_chunks;    /* model pieces per device */
    /* PS_RANGE with the rule in the message when the parameters do not fit. */
    ps_code (*check)(const ps_schedule_params *params, ps_err *err);
    /* Appends device's list; PS_NOMEM only. Call check first. */
    ps_code (*order)(const ps_schedule_params *params, int32_t device, ps_op_list *out, ps_err *err);
    ps_code (*marks)(const ps_schedule_params *params, int32_t device, ps_op_list *out, ps_err *err);
    /* Logical stage of a chunk on a device, and how many there are. */
    int32_t (*logical_stage)(const ps_schedule_params *params, int32_t device, int32_t chunk);
} ps_schedule;

/* All schedules, in the order of schedules.def, NULL-terminated. */
const ps_schedule *const *ps_schedules(void);

/* By name, any case; NULL when there is none of that name. */
const ps_schedule *ps_schedule_find(const char *name);

/* What every schedule checks first: 1 <= p <= PS_MAX_STAGES, 1 <= m <= PS_MAX_MICROBATCHES. */
ps_code ps_schedule_check_size(const ps_schedule_params *params, ps_err *err);

/* False when memory is out. */
bool ps_op_list_add(ps_op_list *list, ps_sched_op op);
void ps_op_list_fini(ps_op_list *list);

/* The label StepTaskInfo and pictures show: "7", "12F+0B", "8w", "logits"; chunk 1 prints m + k. `out` gets
 * at most `size` bytes with the terminating zero. */
void ps_mark_label(const ps_schedule_params *params, const ps_sched_op *op, char *out, size_t size);

#endif
