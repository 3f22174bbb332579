/* What a rank's device did, and what of it the ops of a chart explain: a bubble is only where the device does nothing.
 *
 * Work is computing and communication. Sends and receives between two ranks are none here: they wait for the other
 * stage, which is the bubble itself. */
#ifndef PS_ANALYZE_DEVICE_WORK_H
#define PS_ANALYZE_DEVICE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/intervals.h"
#include "base/err.h"
#include "model/trace.h"

/* The united spans of work, epoch ns; empty where the trace has no computing. *out must be empty; the caller ends with
 * ps_intervals_fini(), also after a failure. PS_NOMEM only. */
PS_MUST_USE ps_code ps_device_work_collect(const ps_trace *trace, ps_intervals *out, ps_err *err);

/* Goes over the ops in start order: how much of `work` lies in [start, end) and in no op before it. */
typedef struct ps_explaining {
    const ps_intervals *work;
    size_t at;        /* spans before end before `until` */
    int64_t until_ns; /* end of all ops so far */
    ps_intervals ops; /* that were gone over, united by ps_explaining_rest */
} ps_explaining;

void ps_explaining_init(ps_explaining *e, const ps_intervals *work);
/* False when memory is out. */
bool ps_explain_op(ps_explaining *e, int64_t start_ns, int64_t end_ns, int64_t *work_ns);
/* What of the work lies in no op, into *rest (empty before). Ends the going over, also when memory is out (false). */
bool ps_explaining_rest(ps_explaining *e, ps_intervals *rest);

#endif
