/* Steps and chunks of the ops of one rank whose labels name a microbatch each.
 *
 * A step begins, where no windows say so, at a label that stands there again, and at the forward of a model piece's
 * lowest microbatch when backwards came before it and nothing is open: inside of a step that microbatch is open in an
 * earlier piece, or no backward has run yet. So a trace that begins in the middle of a step is cut at the next one.
 */
#ifndef PS_ANALYZE_RANK_LABELS_STEPS_H
#define PS_ANALYZE_RANK_LABELS_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/pipeline/rank_labels.h"

typedef struct ps_label_steps {
    size_t n_steps;       /* with ops */
    size_t n_steps_twice; /* in which a label stands twice */
    size_t n_twice;       /* ops whose label stood in the step before them */
    int32_t n_chunks;     /* with chunks: at most of a microbatch in a step */
    bool is_cut;          /* the first step begins in its middle */
    bool is_broken;       /* with chunks: the numbers fit no order of chunks */
} ps_label_steps;

/* `ops` in host order. With `split` each gets its step, counted from 0; else the steps that they have stay. With
 * `chunks` labels name no piece: the n-th forward of a microbatch in a step is of chunk n, a backward of the last chunk
 * that is open; they become the stages of the labels. False when memory is out. */
bool ps_label_steps_find(ps_labelled *ops, size_t n, bool split, bool chunks, ps_label_steps *out);

/* Takes out the forwards of evaluations that ran within windows, where mark.step tells these: of each microbatch of a stage as many forwards
 * that no backward follows (or one in which nothing runs, as PyTorch names them: that goes, too), beside its own with one. Ops are in the order of the host; *n of them. Windows where the counts do not agree stay
 * as they are. False when memory is out. */
bool ps_label_steps_drop_evaluations(ps_labelled *ops, size_t *n, size_t *n_dropped);

#endif
