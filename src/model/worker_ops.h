/* The ops of a step as a training framework's own timeline names them: computing, transfers between stages, collectives
 * over replicas, the optimizer. The names are those of NDTimeline in Megatron-LM jobs (arXiv 2505.05713). */
#ifndef PS_MODEL_WORKER_OPS_H
#define PS_MODEL_WORKER_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/chart.h"

/* op, its name in files, what it is in a chart */
#define PS_WORKER_OPS(X)                                                                           \
    X(PS_WORKER_FORWARD, "forward-compute", PS_OP_F)                                               \
    X(PS_WORKER_BACKWARD, "backward-compute", PS_OP_B)                                             \
    X(PS_WORKER_INPUT, "backward-input-compute", PS_OP_BI)                                         \
    X(PS_WORKER_WEIGHT, "backward-wgrad-compute", PS_OP_BW)                                        \
    X(PS_WORKER_PAIR, "overlapped-compute", PS_OP_FB)                                              \
    X(PS_WORKER_FORWARD_SEND, "forward-send", PS_OP_SEND)                                          \
    X(PS_WORKER_FORWARD_RECV, "forward-recv", PS_OP_RECV)                                          \
    X(PS_WORKER_BACKWARD_SEND, "backward-send", PS_OP_SEND)                                        \
    X(PS_WORKER_BACKWARD_RECV, "backward-recv", PS_OP_RECV)                                        \
    X(PS_WORKER_PARAMS, "params-all-gather", PS_OP_OTHER)                                          \
    X(PS_WORKER_GRADS, "grads-reduce-scatter", PS_OP_OTHER)                                        \
    X(PS_WORKER_SEPARATE, "separate-grads-all-reduce", PS_OP_OTHER)                                \
    X(PS_WORKER_LAYERNORM, "layernorm-grads-all-reduce", PS_OP_OTHER)                              \
    X(PS_WORKER_EMBEDDING, "embedding-grads-all-reduce", PS_OP_OTHER)                              \
    X(PS_WORKER_CLIP, "optimizer-clip-main-grad", PS_OP_OTHER)                                     \
    X(PS_WORKER_GC, "gc", PS_OP_OTHER)                                                             \
    X(PS_WORKER_OPTIMIZER, "optimizer", PS_OP_OTHER)

typedef enum ps_worker_op {
#define X(op, name, kind) op,
    PS_WORKER_OPS(X)
#undef X
        PS_N_WORKER_OPS
} ps_worker_op;

/* PS_N_WORKER_OPS for any other name. */
ps_worker_op ps_worker_op_find(const char *name, size_t n);
const char *ps_worker_op_name(ps_worker_op op);
ps_op_kind ps_worker_op_kind(ps_worker_op op);

/* Computing, gc and the optimizer run on a worker alone; a transfer has one partner; the rest are collectives. */
bool ps_worker_op_is_alone(ps_worker_op op);
bool ps_worker_op_is_transfer(ps_worker_op op);

#endif
