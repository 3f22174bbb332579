/* Communication operators of a trace whose input has none of its own, but marks that tell of them (model/comm_marks.h):
 * the last step of reading, the same for every format.
 *
 * A mark with a device side (a flow to a slice of kind MARK_DEVICE) has its times, else those of the first task on the
 * stream that it names (read/ascend/stream_tasks.h); in a recording whose device is the host, its own. Operators lie on the track of their group, with the arguments that the
 * profiler's own have (srcRank, dstRank: this rank's place first; opId, dataType, count, opType), and a flow leads to each
 * from its mark. The metadata then says so (PS_COMM_FROM_MARKS_KEY). Calls that a recorder marked with the times of their
 * enqueueing (NCCL, collector.comm_time_source = host_enqueue) become none, since nothing tells how long they lasted: they
 * are counted. */
#ifndef PS_READ_COMM_FROM_MARKS_H
#define PS_READ_COMM_FROM_MARKS_H

#include "base/err.h"
#include "model/trace.h"

/* Does nothing where the builder holds communication operators, kernels or tasks, or no slices of the whole timeline.
 * `needs`: what was asked of the reader. PS_NOMEM only. */
PS_MUST_USE ps_code ps_comm_from_marks(ps_builder *b, uint32_t needs, ps_err *err);

#endif
