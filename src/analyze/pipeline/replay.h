/* The measured step under other schedules: the durations of the chart, replayed by the simulator. */
#ifndef PS_ANALYZE_REPLAY_H
#define PS_ANALYZE_REPLAY_H

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/recognise.h"
#include "base/err.h"
#include "model/chart.h"
#include "model/table.h"
#include "schedule/sim.h"

/* What one stage takes for one microbatch of all its chunks, as medians over the chart's ops; ns. */
typedef struct ps_stage_times {
    int64_t f_ns, b_ns, w_ns; /* b: whole backward; w: its weight-gradient part */
    bool w_is_half;           /* never measured apart: assumed half of b */
    int64_t before_ns,
        after_ns; /* in a step, before its first op of a schedule and after the last: the optimiser, for one */
} ps_stage_times;

/* Of all stages of a pipeline. Durations of a schedule's ops follow: a stage of v chunks gets a v-th for each, each of DualPipe's
 * two ways the whole stage. */
typedef struct ps_measured_times {
    ps_stage_times *stages; /* [n_stages]; a stage without ops is the mean of the others */
    int64_t
        *chunk_ns; /* [n_stages * n_chunks] forward and whole backward of each chunk, 0 unknown */
    int32_t n_stages, n_chunks;
    int64_t pair_per_mille; /* duration of an overlapped pair in thousandths of F + B */
    int64_t p2p_ns;         /* from the end of an op to its result's arrival on another stage */
} ps_measured_times;

/* Medians over the ops of a step (PS_FIRST_STEP: of all) and a pipeline (-1: of all). `r` must be recognised. PS_NOMEM. End
 * with ps_measured_times_fini() in any case. */
PS_MUST_USE ps_code ps_measure_times(const ps_chart *chart, const ps_recognised *r, int64_t step,
                                     int32_t pipeline, ps_measured_times *out, ps_err *err);
void ps_measured_times_fini(ps_measured_times *t);
/* From the end of an op to the arrival of its result on another stage: the median over all stalls of the chart; 0 where it has
 * none. PS_NOMEM. */
PS_MUST_USE ps_code ps_measure_latency(const ps_chart *chart, int64_t *p2p_ns, ps_err *err);
/* All stages as fast as their mean. */
void ps_measured_times_balance(ps_measured_times *t);
/* The same work, cut evenly into so many stages. False when memory is out. */
bool ps_measured_times_spread(ps_measured_times *t, int32_t n_stages);
/* [n_ops] of a plan of as many stages; the caller frees it with ps_free(). NULL when memory is out. */
int64_t *ps_measured_durations(const ps_measured_times *t, const ps_sim_plan *plan);

typedef struct ps_replay_opts {
    int64_t max_activations; /* of a stage, in microbatches of the whole stage; 0: no limit */
    int32_t
        pipeline; /* whose durations are replayed: that of the longest steps, which the job waits for; -1: all */
    int64_t measured_ns; /* its step, which the replay should give again (ps_replay_is_like) */
} ps_replay_opts;

/* Whether the current schedule, replayed with the medians of the durations, takes as long as the measured step: within a
 * tenth. Else what the replay says of other schedules is not true of this job, and no gain is told of any. */
bool ps_replay_is_like(int64_t replayed_ns, int64_t measured_ns);

/* The bubble, in percent, of the recognised schedule itself: all stages as fast as the mean of what was measured and no latency. `r`
 * must be recognised. */
PS_MUST_USE ps_code ps_ideal_bubble(const ps_chart *chart, const ps_recognised *r, double *percent,
                                    ps_err *err);

#define PS_NOT_REPLAYED_TABLE "PipelineNotReplayed"

/* One row per schedule that the numbers of stages and microbatches allow and that keeps within max_activations:
 * predicted step time, gain against the recognised schedule replayed likewise, bubble, activations held at most.
 * The first row is the recognised schedule itself, the last the same with all stages equally fast. Where that first row is not like the
 * measured step, all gains are unknown. `r` must be recognised. *left_out: the schedules that were not replayed and why, NULL where all were. NULL on failure. The formulas are in
 * docs/bubble.md. */
ps_table *ps_replay(const ps_chart *chart, const ps_recognised *r, const ps_replay_opts *opts,
                    ps_table **left_out, ps_err *err);

/* The theoretical chart of one step of `schedule` with the stages and microbatches of the recognised one, all stages as
 * fast as the mean of what was measured and no latency. NULL with PS_RANGE when the schedule does not take these
 * numbers. The caller frees it with ps_chart_free(). */
ps_chart *ps_theory_chart(const ps_chart *chart, const ps_recognised *r,
                          const ps_schedule *schedule, ps_err *err);
/* The schedule that the ops of a chart come nearest, however few agree; PS_NOTHING with a sentence when none has as many ops. */
PS_MUST_USE ps_code ps_recognise_nearest(const ps_chart *chart, ps_recognised *r, ps_err *err);
/* Recognises the schedule of a chart whose report was made; PS_NOTHING with a sentence when none fits, or fewer ops than
 * PS_MIN_AGREEMENT agree with the nearest: what ran is then no theory's. */
PS_MUST_USE ps_code ps_recognise_for_theory(const ps_chart *chart, ps_recognised *r, ps_err *err);
/* Both in one. */
ps_chart *ps_theory_of(const ps_chart *chart, const ps_schedule *schedule, ps_err *err);

/* Whether a row of PipelineReplay, of a schedule that splits backwards, rests on weight gradients that were never measured apart:
 * they are taken as half of the backward. */
bool ps_replay_assumes_weights(const ps_chart *chart, const ps_table *replay, size_t row);

#endif
