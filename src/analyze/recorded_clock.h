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

/* Numbers the machines in the order of the ranks, where none is numbered (-1) and any rank has an offset; ranks that say nothing
 * stay without. Entries of `clocks` may be NULL. False when memory is out. */
bool ps_recorded_machines(const ps_recorded_clock *const *clocks, size_t n, int32_t *machines);

#endif
