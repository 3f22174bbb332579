/* The bubble of a pipeline in numbers: per stage and step, split by cause, with the critical path and the
 * balance between stages. Works on any ps_chart, measured or simulated. docs/bubble.md has the formulas and a
 * worked example. */
#ifndef PS_ANALYZE_BUBBLE_H
#define PS_ANALYZE_BUBBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/chart.h"
#include "model/table.h"

/* One stage (rank) in one step. Only computation counts; sends and receives run beside it. */
typedef struct ps_stage_bubble {
    int64_t step;
    uint32_t rank; /* row in the chart's ranks */
    size_t n_ops;
    int64_t first_ns, last_ns; /* of the stage's passes (ps_op_is_pass), from the chart's origin */
    int64_t
        step_ns; /* window of the step: last end - first start over all stages of the pipeline */
    int64_t busy_ns;       /* union of the stage's ops */
    int64_t overlapped_ns; /* of it: a forward and a backward at once */
    int64_t other_ns;      /* work of the device in no op; 0 where it is not known */
    int64_t work_ns;       /* work of the device, in ops and not; 0 where it is not known */
    int64_t bubble_ns;     /* step_ns - busy_ns - other_ns */
    int64_t unmarked_ns;   /* of it: what ops without marks may have taken (ps_unmarked_measure) */
    bool is_judged;        /* else it is no bubble: ps_chart.unjudged says why */
    int64_t warmup_ns, cooldown_ns; /* bubble = warm-up + stall + cool-down */
    int64_t stall_ns;
    int64_t stall_stage_ns; /* of the stall: another stage had not finished yet */
    int64_t
        stall_transfer_ns; /* of the stall: its result was there, the op did not start yet (transfer, launch) */
    int64_t stall_other_ns; /* of the stall: the op needs nothing of another stage */
    int64_t
        stall_absent_ns; /* of the stall: what the op needs was lost, or is not known (is_part_known) */
    int32_t waits_for_stage; /* the stage most of stall_stage_ns was for, -1 none */
    int64_t waits_for_ns;
    int64_t critical_ns; /* of the step's critical path: time computing on this stage */
} ps_stage_bubble;

/* One step of one pipeline. */
typedef struct ps_step_bubble {
    int64_t step;
    int32_t pipeline;
    int64_t start_ns, step_ns;
    size_t first_stage, n_stages; /* range in stages */
    bool is_judged;               /* of all its stages */
    size_t
        n_fewer; /* ops that ranks of the pipeline have less than in most of their steps: records were lost, the capture begins
                       or ends here */
    size_t n_more; /* and more: another kind of step, whose schedule is not that of most */
    bool
        is_part_known; /* a stage has no op here, or the step is of another kind than those that the links are of: nobody knows whom
                           all of its ops wait for, nor which path was critical */
    int64_t critical_compute_ns, critical_wait_ns; /* together step_ns */
    uint32_t slowest; /* row in the chart's ranks: the most busy stage */
} ps_step_bubble;

typedef struct ps_bubble_report {
    ps_stage_bubble *stages; /* by step, pipeline, stage */
    size_t n_stages;
    ps_step_bubble *steps; /* by step, pipeline */
    size_t n_steps;
    bool
        is_linked; /* else nobody knows what an op waited for: stalls have no causes, and there is no critical path */
    double ideal_percent; /* bubble of the schedule itself (ps_ideal_bubble), < 0 unknown */
} ps_bubble_report;

/* When a bubble is told. */
typedef struct ps_bubble_limits {
    double unexplained_percent; /* of a rank's device work, in no op; more is too much */
    int32_t n_stages; /* of a pipeline of the job, 0 unknown: one of several alone has no bubble */
    bool n_stages_guessed; /* nothing but the ranks that are here says so */
    const char
        *why_none; /* why no pipeline has a bubble, a sentence; NULL or "": nothing says so */
} ps_bubble_limits;

/* Measures the chart, whose links between computations say what each op waited for (ps_chart_connect), and adds
 * the idle intervals to chart->bubbles, work in no op to chart->others, the figures of each rank and step, and why some pipelines have no bubble: those
 * have no idle intervals either. `limits` NULL: every bubble is told. Linear in the number of ops. PS_NOTHING when there is no computation.
 * The caller ends with ps_bubble_report_fini(). */
PS_MUST_USE ps_code ps_bubble_measure(ps_chart *chart, const ps_bubble_limits *limits,
                                      ps_bubble_report *out, ps_err *err);
void ps_bubble_report_fini(ps_bubble_report *r);
/* The pipeline whose steps are the longest, which the job waits for, by the mean of those that have as many passes as usual (of all where none
 * has). The first of equal ones; -1 without steps. */
int32_t ps_bubble_longest_pipeline(const ps_bubble_report *r, int64_t *mean_ns);

/* The report as tables, cluster-homed: one row per stage and step, the same with what was waited for; one row per
 * step. NULL when memory is out. */
ps_table *ps_bubble_stage_table(const ps_chart *chart, const ps_bubble_report *r);
ps_table *ps_bubble_wait_table(const ps_chart *chart, const ps_bubble_report *r);
ps_table *ps_bubble_step_table(const ps_chart *chart, const ps_bubble_report *r);

#endif
