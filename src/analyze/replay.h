/* The measured step under other schedules: the durations of the chart, replayed by the simulator. */
#ifndef PS_ANALYZE_REPLAY_H
#define PS_ANALYZE_REPLAY_H

#include "analyze/bubble.h"
#include "analyze/recognise.h"
#include "base/err.h"
#include "model/chart.h"
#include "model/table.h"

/* What one stage takes for one microbatch of all its chunks, as medians over the chart's ops; ns. */
typedef struct ps_stage_times {
    int64_t f_ns, b_ns, w_ns; /* b: whole backward; w: its weight-gradient part */
    bool w_is_half;           /* never measured apart: assumed half of b */
} ps_stage_times;

typedef struct ps_replay_opts {
    int64_t max_activations; /* of a stage, in microbatches of the whole stage; 0: no limit */
} ps_replay_opts;

/* One row per schedule that the numbers of stages and microbatches allow and that keeps within max_activations:
 * predicted step time, gain against the recognised schedule replayed likewise, bubble, activations held at most.
 * The first row is the recognised schedule itself, the last the same with all stages equally fast. `r` must be
 * recognised. NULL on failure. The formulas are in docs/bubble.md. */
ps_table *ps_replay(const ps_chart *chart, const ps_recognised *r, const ps_replay_opts *opts,
                    ps_err *err);

/* The theoretical chart of one step of `schedule` with the stages and microbatches of the recognised one, all stages as
 * fast as the mean of what was measured and no latency. NULL with PS_RANGE when the schedule does not take these
 * numbers. The caller frees it with ps_chart_free(). */
ps_chart *ps_theory_chart(const ps_chart *chart, const ps_recognised *r,
                          const ps_schedule *schedule, ps_err *err);

#endif
