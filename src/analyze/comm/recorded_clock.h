/* What recordings say of their clocks: META_DATA collector.clock of pipescope's recorder. */
#ifndef PS_ANALYZE_RECORDED_CLOCK_H
#define PS_ANALYZE_RECORDED_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/clock.h"
#include "model/trace.h"

/* Nothing said, or nothing that makes sense: all false. PS_NOMEM only. */
PS_MUST_USE ps_code ps_recorded_clock_read(const ps_trace *trace, ps_recorded_clock *out,
                                           ps_err *err);

/* The same from the text of the entry. */
PS_MUST_USE ps_code ps_recorded_clock_parse(const char *json, size_t n, ps_recorded_clock *out,
                                            ps_err *err);

/* Of one clock in the middle of a span of time. */
typedef struct ps_clock_state {
    bool is_known, is_ptp;
    int64_t reference;
    int64_t offset_ns, uncertainty_ns; /* for all of the span, when the drift is taken off */
    int64_t drift_ppb;                 /* 0 where it may be none */
} ps_clock_state;

/* `c` has an offset; Unix times. */
ps_clock_state ps_recorded_clock_at(const ps_recorded_clock *c, int64_t start_ns, int64_t end_ns);

/* For who takes one offset for all of the span: what the drift makes of that is uncertain then. */
void ps_recorded_clock_level(ps_clock_state *state, int64_t start_ns, int64_t end_ns);

/* Takes what the recording measured of its clock off all times of the trace: one offset, that of its middle. *out says which
 * (is_known false: none was measured). The measurement stays in the metadata, as collector.clock.taken_off. PS_NOMEM only. */
PS_MUST_USE ps_code ps_recorded_clock_take_off(ps_trace *trace, ps_clock_state *out, ps_err *err);

/* Narrows what is known of two clocks by what their recordings say, against one reference. False when something had to be left
 * out, which contradicts what is known. */
bool ps_recorded_clocks_narrow(ps_clock_interval *i, const ps_clock_state *a,
                               const ps_clock_state *b);

/* Numbers the machines in the order of the ranks, where none is numbered (-1) and any rank has an offset; ranks that say nothing
 * stay without. Entries of `clocks` may be NULL. False when memory is out. */
bool ps_recorded_machines(const ps_recorded_clock *const *clocks, size_t n, int32_t *machines);

#endif
