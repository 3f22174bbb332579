/* Which schedule a measured chart followed, by the order of its kinds, and the chunk and microbatch of each op. */
#ifndef PS_ANALYZE_RECOGNISE_H
#define PS_ANALYZE_RECOGNISE_H

#include "base/err.h"
#include "model/chart.h"
#include "schedule/schedule.h"

/* Below this share of agreeing ops a schedule is not taken as known. */
#define PS_MIN_AGREEMENT 0.8

typedef struct ps_recognised {
    const ps_schedule *schedule; /* NULL: nothing fits */
    ps_schedule_params params;
    size_t n_agreeing,
        n_ops; /* of the step looked at: ops whose kind is the schedule's at their place */
} ps_recognised;

/* Compares the first full step of the first pipeline with every schedule that fits its numbers of stages and
 * forwards; with `name` (from metadata or the user, may be NULL or "") only with that one. `n_stages` 0: as many as the
 * chart shows; `n_microbatches` 0: as the forwards say. Schedules whose lists are too long or too short for PS_MIN_AGREEMENT are not
 * compared: several iterations in one step (a profile without steps) are no schedule's. In a chart with exact labels
 * chunks and microbatches must agree too, and its size is what they say. At equal agreement the first in the order of schedules.def wins. */
PS_MUST_USE ps_code ps_recognise(const ps_chart *chart, const char *name, int32_t n_stages,
                                 int32_t n_microbatches, ps_recognised *out, ps_err *err);

/* Of the ops looked at, from 0 to 1; -1 where nothing fits. */
double ps_recognised_agreement(const ps_recognised *r);

enum { PS_UNRECOGNISED_TEXT = 256 };
/* "the schedule was not recognised (1f1b comes nearest: 75.3 % of the ops agree, 80 % are needed)". `nearest` NULL: none does. */
const char *ps_unrecognised_text(ps_lang lang, const ps_schedule *nearest, double agreement,
                                 char out[PS_UNRECOGNISED_TEXT]);

/* In a chart without exact labels gives each computation its chunk, microbatch and label of the recognised schedule, in every step and pipeline, by
 * alignment of kinds; ops that agree with nothing keep what they have. *n_missing: ops of the schedule that no
 * op stands for. Sets chart->schedule and schedule_how (with
 * `how`, or the share of agreeing ops when `how` is ""). */
PS_MUST_USE ps_code ps_apply_schedule(ps_chart *chart, const ps_recognised *r, const char *how,
                                      size_t *n_missing, ps_err *err);

#endif
