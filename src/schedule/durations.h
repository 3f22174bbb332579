/* Durations of ops by device and kind, read from a file: measured ones instead of the same for all. Lines of CSV,
 *
 *   stage,kind,ns        (a first line of these words may stand there)
 *   0,F,10250000
 *   0,B,20100000
 *
 * where stage is the device, kind one of F B BI BW FB, and ns whole nanoseconds of one op on one device; or a chart as
 * `pipescope chart -o FILE.json` writes it, of which each stage and kind gives its median. */
#ifndef PS_SCHEDULE_DURATIONS_H
#define PS_SCHEDULE_DURATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "schedule/sim.h"

typedef struct ps_durations {
    int32_t n_stages;
    int64_t *ns; /* [n_stages * PS_N_OP_KINDS], -1 unknown */
} ps_durations;

/* Reads the file for a pipeline of n_stages devices. Release with ps_durations_fini, also after a failure. */
PS_MUST_USE ps_code ps_durations_read(ps_durations *out, const char *path, int32_t n_stages,
                                      ps_err *err);
/* The same for a text; `name` is shown in messages. */
PS_MUST_USE ps_code ps_durations_parse_csv(ps_durations *out, const char *name, const char *text,
                                           size_t n, int32_t n_stages, ps_err *err);
/* The same for the text of a chart (docs/formats/chart-json.md); at most about 80 thousand ops. */
PS_MUST_USE ps_code ps_durations_parse_json(ps_durations *out, const char *name, const char *text,
                                            size_t n, int32_t n_stages, ps_err *err);
void ps_durations_fini(ps_durations *d);

/* duration_ns[n_ops] of a plan with as many devices. A kind that is not given follows from the others: B = BI + BW,
 * BI = B - BW, BW = B - BI, FB = F + B. PS_RANGE names stage and kind of what the plan needs and does not follow. */
PS_MUST_USE ps_code ps_durations_fill(const ps_durations *d, const ps_sim_plan *plan,
                                      int64_t *duration_ns, ps_err *err);

#endif
