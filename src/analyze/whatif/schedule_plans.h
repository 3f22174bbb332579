/* The best split of layers for each schedule that can run the job's stages and microbatches, beside the one that ran: what each
 * would take and hold. From the same measured stages and the same simulator as everything else.
 *
 * The step of a plan is that of the schedule on paper, with what the measured stages take, and what the replayed step of the job has
 * on top of its own schedule on paper: gradients, the optimizer, whatever no schedule changes. */
#ifndef PS_ANALYZE_SCHEDULE_PLANS_H
#define PS_ANALYZE_SCHEDULE_PLANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/pipeline/recognise.h"
#include "analyze/whatif/plan_pieces.h"
#include "analyze/whatif/split_plan.h"
#include "base/err.h"
#include "model/chart.h"
#include "model/table.h"

/* What ran. Where its schedule is not recognised plans are compared with the measured order, which has no name. */
typedef struct ps_ran {
    ps_recognised
        r; /* unnamed: the schedule that comes nearest, which has the job's numbers of stages and microbatches */
    bool is_unnamed; /* then each stage has one chunk, and: */
    double
        outside_ns; /* of the replayed step, what neither computes nor carries results between stages */
    int32_t held[PS_PLAN_STAGES]; /* microbatches whose activations a stage holds at most */
} ps_ran;

typedef struct ps_schedule_plan {
    const ps_schedule *schedule; /* NULL: of what ran, unnamed */
    ps_schedule_params params;
    int32_t n_chunks, n_ways; /* of a device; through the model: copies of the weights */
    int32_t n_pieces;
    int32_t *layers;         /* [n_pieces] along the way through the model */
    ps_device_load *devices; /* [n_devices] */
    int64_t *busy_ns;        /* [n_devices] of one microbatch of each chunk */
    double step_ns;
    double activations;  /* held at most, in microbatches of a whole stage, by the schedule */
    int64_t peak_layers; /* layers x microbatches held at most, by the worst device */
    int64_t bytes;       /* by the worst device; 0 where sizes are not known */
    size_t n_tried;
    bool is_proven; /* no split within the limits has a shorter simulated step */
    bool is_now;    /* what ran, as it is split */
    bool has_line;  /* a framework runs it: there are lines to paste */
    size_t
        beaten_by; /* row + 1 of a plan that is no worse in step, activations and copies, and better in one; 0: none */
} ps_schedule_plan;

typedef struct ps_schedule_plans {
    ps_plan_pieces pieces;
    ps_plan_limits limits;
    double now_ns, rest_ns; /* the replayed step, and what of it is outside of its schedule */
    bool is_own_misfit;     /* no split of the schedule that ran keeps the limits */
    ps_schedule_plan *
        rows; /* those with lines to paste first, then by step; rows[0] is what ran where its pieces are whole layers */
    size_t n, cap;
    ps_table *left_out; /* schedules without a plan, and why */
    char note[480];     /* what was taken for granted, "" nothing */
} ps_schedule_plans;

/* What the user said of memory and of empty stages. `split`: the layers of the stages as the job ran. */
ps_plan_limits ps_plan_limits_of(const ps_analysis_opts *opts, const ps_split_plan *split);

/* What split_plan.h wants to know of the schedule that ran; `most` has room for all stages. */
PS_MUST_USE ps_code ps_split_shape_of(const ps_ran *ran, const ps_plan_limits *limits,
                                      int32_t *most, ps_split_shape *out, ps_err *err);

/* `chart`: the measured steps; `p2p_ns`: between stages. PS_NOMEM, PS_RANGE. End with ps_schedule_plans_fini() in any
 * case. */
PS_MUST_USE ps_code ps_schedule_plans_make(const ps_chart *chart, const ps_ran *ran,
                                           const ps_split_plan *split, int64_t p2p_ns,
                                           const ps_analysis_opts *opts, ps_schedule_plans *out,
                                           ps_err *err);
/* The best plan of the schedule that ran, where a stage has several chunks; NULL: none. */
const ps_schedule_plan *ps_schedule_plans_own(const ps_schedule_plans *s, const ps_ran *ran);
void ps_schedule_plans_fini(ps_schedule_plans *s);

/* One step of a plan as its schedule draws it. NULL on failure; the caller frees it with ps_chart_free(). */
ps_chart *ps_schedule_plan_chart(const ps_schedule_plans *s, size_t row, ps_err *err);

#endif
