/* Pipeline schedules: one file each, listed in schedules.def. A schedule says, per device,
 *   order(): the ops in execution order, and
 *   marks(): the ranges an instrumented program records for them (differs from order() only where the
 *            framework's marks do; see docs/schedules.md).
 * Both are pure functions of the parameters. Schedules that were read from a file are ps_lists (lists.h). */
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
#define PS_MAX_CHUNKS 64

/* Zero means "the usual" for everything but the first two. */
typedef struct ps_schedule_params {
    int32_t n_stages;       /* devices of one pipeline, p */
    int32_t n_microbatches; /* m */
    bool overlap_off; /* dualpipev marks(): forward and backward are not paired (MoE overlap off) */
    int32_t n_chunks; /* model pieces per device, v; 0: as many as the schedule says */
    int32_t group;    /* microbatches that go through a chunk in a row, g; 0: p */
    bool overlap;     /* a steady forward and backward are one op */
    bool tail_full;   /* dualpipev: the last backwards are whole instead of split */
    bool pairs_apart; /* what overlaps in one op runs as two, the forward first */
} ps_schedule_params;

/* Which of the parameters after the first three a schedule listens to. */
enum {
    PS_TAKES_CHUNKS = 1 << 0,
    PS_TAKES_GROUP = 1 << 1,
    PS_TAKES_OVERLAP = 1 << 2,
    PS_TAKES_TAIL = 1 << 3
};

/* One op of a list. `chunk2`, `microbatch2` belong to the backward of an FB, else -1; `phase` is the
 * DualPipeV phase 0..6 that StepTaskInfo calls type, else -1. Microbatches are counted in each chunk. */
typedef struct ps_sched_op {
    ps_op_kind kind;
    int32_t chunk, microbatch;
    int32_t chunk2, microbatch2;
    int32_t phase;
} ps_sched_op;

typedef struct ps_op_list {
    ps_sched_op *ops;
    size_t n, cap;
    bool failed; /* memory was out; later additions do nothing */
} ps_op_list;

typedef struct ps_schedule {
    const char *name;       /* on the command line */
    const char *aliases[3]; /* other names, NULL-terminated */
    const char *summary;    /* one line */
    const char *chinese;    /* the same */
    const char *rule;       /* precondition, in words: "m >= 2p" */
    int32_t n_chunks;       /* model pieces per device, unless a parameter says otherwise */
    unsigned takes;         /* PS_TAKES_... */
    /* Independent ways through the model (DualPipe: one from each end), each with a chunk on every device and
     * m / n_chains microbatches; 0 means 1. With one, all chunks are parts of the one way. */
    int32_t n_chains;
    bool splits; /* weight gradients run apart from the backward */
    /* PS_RANGE with the rule in the message when the parameters do not fit. */
    ps_code (*check)(const ps_schedule_params *params, ps_err *err);
    /* Appends device's list; PS_NOMEM only. Call check first. */
    ps_code (*order)(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                     ps_err *err);
    ps_code (*marks)(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                     ps_err *err);
    /* Logical stage of a chunk on a device, 0 .. p * chunks - 1 along the way; a second chain counts on. */
    int32_t (*logical_stage)(const ps_schedule_params *params, int32_t device, int32_t chunk);
} ps_schedule;

/* All schedules, in the order of schedules.def, NULL-terminated. */
const ps_schedule *const *ps_schedules(void);

/* By name or alias, any case; NULL when there is none of that name. */
const ps_schedule *ps_schedule_find(const char *name);

/* Model pieces per device, and microbatches that each of them sees. */
int32_t ps_schedule_chunks(const ps_schedule *schedule, const ps_schedule_params *params);
int32_t ps_schedule_microbatches(const ps_schedule *schedule, const ps_schedule_params *params);

/* Appends a device's list as `order` says, heeding pairs_apart; PS_NOMEM only. Call check first. */
PS_MUST_USE ps_code ps_schedule_order(const ps_schedule *schedule, const ps_schedule_params *params,
                                      int32_t device, ps_op_list *out, ps_err *err);

/* What every schedule checks first: 1 <= p <= PS_MAX_STAGES, 1 <= m <= PS_MAX_MICROBATCHES. */
ps_code ps_schedule_check_size(const ps_schedule_params *params, ps_err *err);

/* --- op lists ----------------------------------------------------------------------------------------------------- */

/* False when memory is out. */
bool ps_op_list_add(ps_op_list *list, ps_sched_op op);
/* The same for an op that is no pair and has no phase. */
bool ps_op_list_put(ps_op_list *list, ps_op_kind kind, int32_t chunk, int32_t microbatch);
/* PS_OK, or PS_NOMEM when any addition failed: the last line of an order(). */
PS_MUST_USE ps_code ps_op_list_result(const ps_op_list *list, ps_err *err);
void ps_op_list_fini(ps_op_list *list);

static inline bool ps_op_runs_forward(const ps_sched_op *op) {
    return op->kind == PS_OP_F || op->kind == PS_OP_FB;
}

/* Makes the gradient that the stage before waits for. */
static inline bool ps_op_runs_backward(const ps_sched_op *op) {
    return op->kind == PS_OP_B || op->kind == PS_OP_BI || op->kind == PS_OP_FB;
}

/* How many activations a device holds at most when it runs these ops in order, counted in (chunk, microbatch): one
 * is held from its forward until its B or BW has ended, in a pair both are. */
size_t ps_peak_activations(const ps_sched_op *ops, size_t n);

/* The label StepTaskInfo and pictures show: "7", "12F+0B", "8w", "logits"; a chunk counts on where the one before it
 * ended. `out` gets at most `size` bytes with the terminating zero. */
void ps_op_label(int32_t microbatches_per_chunk, const ps_sched_op *op, char *out, size_t size);

/* The same for a schedule of one chain. */
void ps_mark_label(const ps_schedule_params *params, const ps_sched_op *op, char *out, size_t size);

#endif
