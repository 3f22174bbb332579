/* ps_chart: the pipelines of one or more steps. Measured and theoretical charts are one type, so that
 * drawing, comparing and reporting are written once.
 *
 * Vocabulary (see docs/schedules.md): a *stage* is the position of a rank in its pipeline (device d of the
 * schedule); a *chunk* is one of the model pieces it holds; a *microbatch* is counted per chunk from 0.
 * Times are nanoseconds from `origin_ns`; a simulated chart has origin 0. */
#ifndef PS_MODEL_CHART_H
#define PS_MODEL_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* kind, short name in files, meaning */
#define PS_OP_KINDS(X)                                                                             \
    X(PS_OP_F, "F", "forward")                                                                     \
    X(PS_OP_B, "B", "whole backward")                                                              \
    X(PS_OP_BI, "BI", "backward, input gradient")                                                  \
    X(PS_OP_BW, "BW", "backward, weight gradient")                                                 \
    X(PS_OP_FB, "FB", "overlapped forward and backward")                                           \
    X(PS_OP_LOGITS, "LOGITS", "backward of the output head")                                       \
    X(PS_OP_SEND, "SEND", "send to another stage")                                                 \
    X(PS_OP_RECV, "RECV", "receive from another stage")                                            \
    X(PS_OP_OTHER, "OTHER", "other")

typedef enum ps_op_kind {
#define X(kind, name, text) kind,
    PS_OP_KINDS(X)
#undef X
        PS_N_OP_KINDS
} ps_op_kind;

typedef enum ps_op_source {
    PS_SOURCE_MARK,      /* label given by a mark that agrees with the schedule */
    PS_SOURCE_ALIGNED,   /* label found by alignment in a step whose marks do not all agree */
    PS_SOURCE_MESSAGE,   /* named by the mark's own message only */
    PS_SOURCE_SIMULATED
} ps_op_source;

typedef struct ps_chart_rank {
    int32_t rank;     /* global rank */
    int32_t stage;    /* position in the pipeline, -1 when unknown */
    int32_t pipeline; /* data-parallel replicas are several pipelines, numbered from 0 */
} ps_chart_rank;

typedef struct ps_op {
    int64_t start_ns, end_ns; /* on the device */
    int64_t step;
    const char *name;        /* label as shown, owned by the chart */
    uint32_t rank;           /* row in ranks */
    int32_t microbatch;      /* of its chunk, -1 when unknown; of the forward in an FB */
    int32_t microbatch2;     /* of the backward in an FB, else -1 */
    int8_t chunk, chunk2;    /* -1 when unknown; chunk2 only in an FB */
    int8_t phase;            /* DualPipeV phase 0..6, else -1 */
    uint8_t kind;            /* ps_op_kind */
    uint8_t source;          /* ps_op_source */
} ps_op;

typedef struct ps_chart {
    const char *title;    /* what and where from, owned by the chart; may be "" */
    const char *schedule; /* name of the schedule, "" when unknown */
    int64_t origin_ns;
    ps_chart_rank *ranks; /* in rank order */
    size_t n_ranks, cap_ranks;
    ps_op *ops; /* grouped by rank row, in start order within one */
    size_t n_ops, cap_ops;
    ps_arena arena; /* names */
} ps_chart;

/* An empty chart, or NULL when memory is out. The caller frees it with ps_chart_free(). */
ps_chart *ps_chart_new(void);
void ps_chart_free(ps_chart *chart); /* NULL is fine */

/* Appends; strings are copied. False when memory is out. */
bool ps_chart_add_rank(ps_chart *chart, ps_chart_rank rank);
bool ps_chart_add_op(ps_chart *chart, ps_op op);
bool ps_chart_set_text(ps_chart *chart, const char *title, const char *schedule);

/* "F", "BI", ... */
const char *ps_op_kind_name(ps_op_kind kind);

#endif
