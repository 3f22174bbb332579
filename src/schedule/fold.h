/* The rule that DualPipe and DualPipeV share (deepseek-ai/DualPipe): a device holds two chunks, `in` where microbatches
 * enter from the outside of the fold and `out` where they leave it, and runs the forward of one together with the
 * backward of the other. The order of a device is eight phases of counted repetitions. For q devices in the fold, own
 * position h from the outside, n microbatches in each chunk (F a = forward of `in`, z stands for `out`, BI/BW =
 * input/weight gradient, x&y = overlapped pair; every use takes the next microbatch of its chunk and direction, and a BW
 * is the oldest that was put off):
 *
 *   1  2(q-1-h)  F a                         5  q-1-h   B z, F z & B a
 *   2  h+1       F a, F z                    6  2(h+1)  B z and B a in turn, the second half BI
 *   3  q-1-h     BI z, its BW, F z           7  q-1-h   BW, BI a
 *   4  n-2q+h+1  F a & B z, F z & B a        8  h+1     BW
 *
 * At the turn (h = q-1) the very first pair is two ops: nothing came before that could be overlapped. Compared op by op
 * with the traced step functions of dualpipe.py and dualpipev.py. */
#ifndef PS_SCHEDULE_FOLD_H
#define PS_SCHEDULE_FOLD_H

#include "schedule/schedule.h"

typedef struct ps_fold {
    int32_t q, h, n;
    int32_t in; /* the chunk whose microbatches enter here; `out` is the other of 0 and 1 */
    bool
        tail_full; /* the backwards that would be split in phases 6 and 7 are whole, and there are no BW */
    bool marks;    /* what MindSpeed's ranges show, not the ops: see docs/schedules.md */
    bool no_pairs; /* marks: each pair is its forward, then its backward; no output head apart */
    bool
        has_head; /* marks: the model's output head is at the end of chunk 1, and its backward has a range */
} ps_fold;

/* Appends the list. PS_NOMEM only. Ops have phase 0..6 as StepTaskInfo's type counts: phases 7 and 8 are its 6. */
PS_MUST_USE ps_code ps_fold_list(const ps_fold *fold, ps_op_list *out, ps_err *err);

#endif
