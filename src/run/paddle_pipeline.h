/* From the logs of single workers to the pipeline: which steps belong together, where each worker waited in them, and
 * which stage it is.
 *
 * Steps are joined by number where their times overlap by more than half, else by time (a worker may have lost its first
 * step), else by number (a clock may be off). A step's window is the earliest start to the latest end over the workers;
 * a window that begins before the one before has ended is cut there. Idle is what a worker's jobs leave free of it.
 *
 * The logs do not name the stage. It is taken from the number of forwards before the first backward, which falls from
 * stage to stage, or else from when the first forward ran; unknown where that gives no equal groups. */
#ifndef PS_RUN_PADDLE_PIPELINE_H
#define PS_RUN_PADDLE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/paddle_logs.h"
#include "write/simulated/paddle_json.h"

typedef struct ps_paddle_figures {
    const ps_paddle_log *log;
    uint64_t n_jobs, n_steps;
    int64_t window_ns, idle_ns; /* over the steps that the worker has */
    uint64_t n_overlaps;        /* jobs that overlap another without lying inside it */
    uint64_t n_moved;           /* steps that count differently in the whole */
} ps_paddle_figures;

typedef struct ps_paddle_pipeline {
    ps_paddle_timeline timeline;
    ps_paddle_figures *figures; /* one for each worker of the timeline */
    ps_arena arena;
} ps_paddle_pipeline;

/* The workers that have a job with a time; they stay with `logs`, which must outlive the result. PS_NOTHING when there
 * is none. Call ps_paddle_pipeline_fini() in any case. */
PS_MUST_USE ps_code ps_paddle_pipeline_make(const ps_paddle_logs *logs, ps_paddle_pipeline *out,
                                            ps_err *err);
void ps_paddle_pipeline_fini(ps_paddle_pipeline *p);

#endif
