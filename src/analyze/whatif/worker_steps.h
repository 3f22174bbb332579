/* Steps of a job from the timelines of its workers, which name every op: computing, transfers, collectives, the
 * optimizer. Who waits for whom is the same in all steps and replicas (docs/whatif.md):
 *
 *   computing of a worker, sends forward, receives forward, sends backward, receives backward: a chain each;
 *   receive i -> compute i of that direction -> send i; compute i - 1 -> receive i; a send and its receive start together;
 *   microbatches go over the stages in a circle, or (V) up and down them: what the last stage received tells;
 *   gathered parameters -> first forward of their chunk; last backward -> collectives -> optimizer. */
#ifndef PS_ANALYZE_WORKER_STEPS_H
#define PS_ANALYZE_WORKER_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/whatif/job_steps.h"
#include "base/archive.h"
#include "base/arena.h"
#include "model/trace.h"

typedef struct ps_timeline_window {
    int64_t step, start_ns, end_ns; /* epoch */
} ps_timeline_window;

/* All of one worker. Its ops are lent by the reader, or made of slices; the rest outlives the trace. */
typedef struct ps_timeline {
    ps_worker_ops ops;
    ps_arena arena;              /* of ops that were made of slices */
    size_t n;                    /* ops with names of model/worker_ops.h that name their step */
    ps_timeline_window *windows; /* steps of the trace */
    size_t n_windows;
    size_t n_without_step; /* ops that name no step: left out */
} ps_timeline;

/* What the reader lends (PS_NEED_WORKER_OPS), or what slices of a rank that names all ops say; none is no error. False when memory is out. End with ps_timeline_fini(). */
bool ps_timeline_read(const ps_trace *trace, ps_timeline *out);
void ps_timeline_fini(ps_timeline *t);

/* timelines[i] is of workers[i]; `workers` is taken over. Steps are made one after another, so that of the job no more is kept than what
 * its ops took. Steps that lack ops, or have others than their counts agree with, are left out and counted. `with_starts`: when ops
 * were measured is kept, too. PS_NOTHING when no step is left, PS_NOMEM. End with ps_job_steps_fini() in any case. */
PS_MUST_USE ps_code ps_worker_steps_make(const ps_timeline *const *timelines,
                                         ps_job_worker *workers, size_t n_workers, bool with_starts,
                                         ps_lang lang, ps_job_steps *out, ps_err *err);

/* What is read owns its ops. */
void ps_timeline_archive(ps_archive *a, ps_timeline *timeline);

#endif
