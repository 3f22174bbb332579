/* What a model is made of for a plan over schedules: what a layer takes on each device, what the two ends of the model have on
 * top, and how a schedule's ops follow from how many layers lie on each of its pieces.
 *
 * A *piece* is what one chunk of a device holds: pieces are numbered along the way through the model. Where several ways go
 * through the devices (DualPipe), each piece lies on several of them. */
#ifndef PS_ANALYZE_PLAN_PIECES_H
#define PS_ANALYZE_PLAN_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/whatif/split_plan.h"
#include "schedule/sim.h"

/* Of one microbatch: the forward, the whole backward, and the weight gradient that is a part of it. */
typedef struct ps_pass_times {
    int64_t f_ns, b_ns, w_ns;
} ps_pass_times;

typedef struct ps_plan_pieces {
    int32_t n_devices, n_layers;
    ps_pass_times layer[PS_PLAN_STAGES]; /* one layer on a device */
    ps_pass_times first,
        last; /* on top on the first and the last piece: embedding; head and loss */
    ps_pass_times rest[PS_PLAN_STAGES]; /* what a device without a layer was seen to compute */
    int64_t pair_per_mille; /* of an overlapped pair, in thousandths of forward + backward */
    int64_t p2p_ns;
} ps_plan_pieces;

/* What devices may hold. */
typedef struct ps_plan_limits {
    int64_t memory_bytes;     /* of a device; 0: no limit */
    int64_t activation_bytes; /* that a layer keeps of a microbatch until its backward is done */
    int64_t layer_bytes;      /* parameters, gradients and optimizer of a layer */
    int64_t first_bytes, last_bytes; /* of embedding and head, on top */
    int64_t max_activations; /* microbatches of a whole stage, by the schedule; 0: no limit */
    int32_t max_layers;      /* of a stage; 0: no limit */
    int32_t min_layers;      /* of a piece: 1, or 0 where one may be left empty */
} ps_plan_limits;

/* Pieces of one way through the model, and on which of them the chunk of a device is a part. */
int32_t ps_plan_n_pieces(const ps_sim_plan *plan);
int32_t ps_plan_piece(const ps_sim_plan *plan, int32_t device, int32_t chunk);
/* Ways through the model: so many copies of its weights there are. */
int32_t ps_plan_n_ways(const ps_sim_plan *plan);

/* How long ops of one class (device, kind, chunks) take: base + unit * layers of `piece` + unit2 * layers of `piece2`. */
typedef struct ps_op_class {
    int32_t piece,
        piece2; /* piece2: of the backward of a pair, else that of the op with a unit of 0 */
    int64_t base_ns, unit_ns, unit2_ns;
} ps_op_class;

/* Ops of a plan by class. */
typedef struct ps_op_classes {
    ps_op_class *classes;
    int64_t *ns; /* [n] of the split that was asked for last */
    size_t n;
    uint32_t *of; /* [n_ops] */
} ps_op_classes;

/* False when memory is out. End with ps_op_classes_fini() in any case. */
bool ps_op_classes_make(const ps_sim_plan *plan, const ps_plan_pieces *pieces, ps_op_classes *out);
void ps_op_classes_fini(ps_op_classes *c);

/* layers[n_pieces] may be parts of a layer, for what ran is not known better. duration_ns[n_ops]. */
void ps_op_classes_durations(ps_op_classes *c, const ps_sim_plan *plan, const double *layers,
                             int64_t *duration_ns);

/* What a device computes for one microbatch of each of its chunks, forward and backward. */
int64_t ps_plan_device_busy(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                            const int32_t *layers, int32_t device);

/* What a device has and holds under a split. */
typedef struct ps_device_load {
    int32_t layers;      /* over all its chunks */
    int64_t peak_layers; /* layers x microbatches whose activations it holds at most */
    int64_t bytes;       /* by the limits' sizes; 0 where none are given */
} ps_device_load;

/* layers[n_pieces]; held[n_chunks] is left as it was at the peak: microbatches of each chunk. */
ps_device_load ps_plan_device_load(const ps_sim_plan *plan, const ps_plan_limits *limits,
                                   const int32_t *layers, int32_t device, int32_t *held);

#endif
