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
#include "base/lang.h"
#include "model/clock.h"

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
    PS_SOURCE_MARK,     /* label given by a mark that agrees with the schedule */
    PS_SOURCE_ALIGNED,  /* label found by alignment in a step whose marks do not all agree */
    PS_SOURCE_MESSAGE,  /* named by the mark's own message only */
    PS_SOURCE_TABLE,    /* read from an existing StepTaskInfo */
    PS_SOURCE_INFERRED, /* concluded from other events */
    PS_SOURCE_SIMULATED
} ps_op_source;

/* cause, name in files, meaning */
#define PS_BUBBLE_CAUSES(X)                                                                        \
    X(PS_BUBBLE_WARMUP, "warm-up", "before the stage's first pass of the step")                    \
    X(PS_BUBBLE_STALL, "stall", "between its first pass and its last")                             \
    X(PS_BUBBLE_COOLDOWN, "cool-down", "after the stage's last pass of the step")

typedef enum ps_bubble_cause {
#define X(cause, name, text) cause,
    PS_BUBBLE_CAUSES(X)
#undef X
        PS_N_BUBBLE_CAUSES
} ps_bubble_cause;

/* The cause of idle time before the k-th op of a stage in a step, of which those at `first` to `last` are its first and its last pass;
 * k behind all ops: after the last one. The one rule of tables and pictures. */
static inline ps_bubble_cause ps_bubble_cause_before(size_t k, size_t first, size_t last) {
    return k <= first ? PS_BUBBLE_WARMUP : k <= last ? PS_BUBBLE_STALL : PS_BUBBLE_COOLDOWN;
}

#define PS_NO_INDEX UINT32_MAX
/* Asked for: the first step of a chart. As the step of an op: outside of every step. */
#define PS_FIRST_STEP INT64_MIN

typedef struct ps_chart_rank {
    int32_t rank;            /* global rank */
    int32_t stage;           /* position in the pipeline, -1 when unknown */
    int32_t pipeline;        /* data-parallel replicas are several pipelines, numbered from 0 */
    int32_t machine;         /* number of the host, -1 unknown */
    bool has_work;           /* what its device did is known: work_ns of its ops, and works */
    bool has_clock;          /* of the machine: clock_offset_ns and its uncertainty are known */
    bool clock_is_taken_off; /* times are those of the first machine's clock */
    int64_t clock_offset_ns; /* its clock - that of the first machine */
    int64_t clock_uncertainty_ns;
    uint32_t clock_by; /* PS_CLOCK_BY_...: what told */
    int64_t
        clock_drift_ppb; /* what it gains against the first machine's, 0 unknown; the offset is in the chart's middle */
    ps_recorded_clock recorded; /* what the capture says */
} ps_chart_rank;

typedef struct ps_op {
    int64_t start_ns, end_ns;           /* on the device */
    int64_t host_start_ns, host_end_ns; /* on the host, from the origin too; only with has_host */
    int64_t step;
    int64_t work_ns;  /* of the device inside of it and of no op before; where the rank has_work */
    const char *name; /* label as shown, owned by the chart */
    uint32_t rank;    /* row in ranks */
    int32_t microbatch;   /* of its chunk, -1 when unknown; of the forward in an FB */
    int32_t microbatch2;  /* of the backward in an FB, else -1 */
    int8_t chunk, chunk2; /* -1 when unknown; chunk2 only in an FB */
    int8_t phase;         /* DualPipeV phase 0..6, else -1 */
    uint8_t kind;         /* ps_op_kind */
    uint8_t source;       /* ps_op_source */
    bool has_host;
} ps_op;

/* A result that went from one op to another: send -> receive, forward -> next stage, backward -> stage before. */
typedef struct ps_chart_link {
    uint32_t from, to; /* rows in ops */
} ps_chart_link;

/* Idle time of a stage inside a step's window. */
typedef struct ps_bubble {
    int64_t start_ns, end_ns, step;
    uint32_t rank; /* row in ranks */
    uint32_t
        waits_for; /* row in ops: the op on another stage whose result came last, PS_NO_INDEX unknown */
    uint8_t cause; /* ps_bubble_cause */
} ps_bubble;

/* Work of a device, computing or communication, that no op of its rank explains. */
typedef struct ps_chart_work {
    int64_t start_ns, end_ns;
    uint32_t rank; /* row in ranks */
} ps_chart_work;

/* What of it lies in the window of a step, while its rank has no op: neither bubble nor busy. */
typedef struct ps_chart_other {
    int64_t start_ns, end_ns, step;
    uint32_t rank; /* row in ranks */
} ps_chart_other;

/* A part of an op that the program named: attn(F). */
typedef struct ps_chart_part {
    int64_t start_ns, end_ns; /* on the device */
    const char *name;         /* owned by the chart */
    uint32_t op;              /* row in ops */
    uint8_t kind;             /* PS_OP_F, PS_OP_B or PS_OP_BW: of which pass */
    bool communicates;        /* most that it did on the device was communication */
} ps_chart_part;

/* The time of one rank in one step: step_ns = busy_ns + other_ns + bubble_ns. */
typedef struct ps_chart_figure {
    int64_t step;
    uint32_t rank; /* row in ranks */
    int64_t step_ns, busy_ns, other_ns, bubble_ns;
    int64_t overlapped_ns; /* of busy: a forward and a backward at once */
    int64_t work_ns;       /* of the device, in ops and not; 0 where that is not known */
    int64_t
        unmarked_ns; /* of the bubble, what may be ops of the schedule that have no mark; 0: none lacks it, or the device is known */
    bool is_judged;  /* else bubble_ns is no bubble: see ps_chart.unjudged */
    bool is_part;    /* the rank's pipeline has fewer ops in it than in most of its steps */
} ps_chart_figure;

/* What was cut off labels that hold more than the computing: receives, waits and sends. */
typedef struct ps_chart_trimmed {
    int64_t n_labels, labelled_ns, trimmed_ns; /* labels that were cut, and how long they are */
} ps_chart_trimmed;

typedef struct ps_chart {
    const char *title;    /* what and where from, owned by the chart; may be "" */
    const char *schedule; /* name of the schedule, "" when unknown */
    const char *
        schedule_how; /* how that is known: "from metadata", "recognised, 98.4 % of ops agree"; may be "" */
    const char *labels;    /* where the labels come from and whose times these are; may be "" */
    bool labels_are_exact; /* the program named kind, chunk and microbatch of every op itself */
    bool is_at_most; /* bubbles hold work of the host, too, which nothing tells from waiting */
    bool is_aligned; /* the clock of any rank is taken off */
    ps_lang lang;    /* of its sentences */
    bool
        is_side_by_side; /* its ranks are no stages of one pipeline: `unjudged` says how that shows */
    ps_chart_trimmed trimmed;
    uint64_t
        n_unmarked_weights; /* weight gradients of DualPipeV's tail, which carry no mark by design: in no op */
    int32_t n_stages; /* of a pipeline of the job, also those without a rank here; 0 unknown */
    int64_t origin_ns;
    ps_chart_rank *ranks; /* in rank order */
    size_t n_ranks, cap_ranks;
    ps_op *ops; /* grouped by rank row, in start order within one */
    size_t n_ops, cap_ops;
    ps_chart_link *links;
    size_t n_links, cap_links;
    ps_bubble *bubbles; /* filled by the bubble report; grouped like ops */
    size_t n_bubbles, cap_bubbles;
    ps_chart_work
        *works; /* grouped by rank row, in start order, none touches another of its rank */
    size_t n_works, cap_works;
    ps_chart_other *others; /* filled by the bubble report; grouped like ops */
    size_t n_others, cap_others;
    uint32_t *
        path; /* rows in ops: the critical path of each step and pipeline, from its end to its start; filled by the bubble report */
    size_t n_path, cap_path;
    ps_chart_part *parts; /* grouped by op */
    size_t n_parts, cap_parts;
    ps_chart_figure *figures; /* filled by the bubble report; empty where nothing was measured */
    size_t n_figures, cap_figures;
    const char *
        unjudged; /* why some pipelines have no bubble, "" where all have one; owned by the chart */
    const char *
        unreplayed; /* why no other schedule was replayed, or nothing is gained by those that were; "" else, and where nobody asked; owned by the chart */
    int32_t
        replayed_pipeline; /* whose durations other schedules were replayed with: that of the longest steps, */
    int64_t replayed_step_ns; /* of so long on average; 0: nobody asked */
    const struct ps_table *
        lacks; /* what is not in it because it failed (model/lacks.h), or NULL; of the run that made the chart */
    ps_arena arena; /* names */
} ps_chart;

/* What a picture calls a rank's row: its stage, or -1 where it has none or nobody knows it. Ranks that run side by side have a place
 * in the order of rows, but are no stages. */
static inline int32_t ps_chart_shown_stage(const ps_chart *chart, const ps_chart_rank *rank) {
    return chart->is_side_by_side ? -1 : rank->stage;
}

/* An empty chart, or NULL when memory is out. The caller frees it with ps_chart_free(). */
ps_chart *ps_chart_new(void);
void ps_chart_free(ps_chart *chart); /* NULL is fine */

/* Appends; strings are copied. False when memory is out. */
bool ps_chart_add_rank(ps_chart *chart, ps_chart_rank rank);
bool ps_chart_add_op(ps_chart *chart, ps_op op);
bool ps_chart_add_link(ps_chart *chart, ps_chart_link link);
bool ps_chart_add_bubble(ps_chart *chart, ps_bubble bubble);
bool ps_chart_add_work(ps_chart *chart, ps_chart_work work);
bool ps_chart_add_other(ps_chart *chart, ps_chart_other other);
bool ps_chart_add_path(ps_chart *chart, uint32_t op);
bool ps_chart_add_part(ps_chart *chart, ps_chart_part part);
bool ps_chart_add_figure(ps_chart *chart, ps_chart_figure figure);
bool ps_chart_set_unjudged(ps_chart *chart, const char *unjudged);
bool ps_chart_set_unreplayed(ps_chart *chart, const char *unreplayed);
bool ps_chart_set_how(ps_chart *chart, const char *schedule_how);
bool ps_chart_set_labels(ps_chart *chart, const char *labels);
bool ps_chart_set_text(ps_chart *chart, const char *title, const char *schedule);

/* What is told of a pipeline's bubble in a step. */
typedef enum ps_bubble_word {
    PS_BUBBLE_UNMEASURED, /* the chart has no figures of it: all that is no op is bubble */
    PS_BUBBLE_UNTOLD,     /* the chart says why */
    PS_BUBBLE_TOLD
} ps_bubble_word;

/* *share: the mean of its ranks, 0 to 1, when told. */
ps_bubble_word ps_chart_bubble(const ps_chart *chart, int64_t step, int32_t pipeline,
                               double *share);

/* What of that bubble may be ops without marks: the mean of its ranks, 0 to 1. */
double ps_chart_unmarked(const ps_chart *chart, int64_t step, int32_t pipeline);

/* "F", "BI", ... */
const char *ps_op_kind_name(ps_op_kind kind);
/* Whether the number in the op's name is not its microbatch: names count on from chunk to chunk ("2B" is the backward of
 * microbatch 0 of chunk 1, of two microbatches). Of an FB nothing is said. */
bool ps_op_counts_on(const ps_op *op);
/* Whether the ranks stand on more than one machine. */
bool ps_chart_has_machines(const ps_chart *chart);
const char *ps_bubble_cause_name(ps_bubble_cause cause);
/* The same for people. */
const char *ps_bubble_cause_word(ps_lang lang, ps_bubble_cause cause);
/* The first step of the chart's first rank that has as many ops as most (ps_usual_i64): an incomplete first step is a poor picture. The
 * chart has ops. */
int64_t ps_chart_usual_step(const ps_chart *chart);

#endif
