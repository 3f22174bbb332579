/* The ops of a step as a training framework's own timeline names them: computing, transfers between stages, collectives
 * over replicas, the optimizer. The names are those of NDTimeline in Megatron-LM jobs (arXiv 2505.05713). */
#ifndef PS_MODEL_WORKER_OPS_H
#define PS_MODEL_WORKER_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* --- the ops of a worker, as a capture has them ---------------------------------------------------------------------------
 *
 * A job of a thousand workers has hundreds of millions: 32 bytes each, read once and lent to whoever asks (ps_trace_worker_ops). */

#define PS_ROW_UNKNOWN INT32_MIN
#define PS_ROW_NO_CHUNK INT16_MIN
#define PS_ROW_LONGEST_NS ((INT64_C(1) << 48) - 1) /* three days */

typedef struct ps_worker_row {
    int64_t start_ns; /* epoch */
    uint32_t dur_low_ns;
    uint16_t dur_high_ns;
    int16_t chunk;             /* as the file says; PS_ROW_NO_CHUNK */
    uint32_t row;              /* number of the event in the file */
    int32_t order, microbatch; /* as the file says; PS_ROW_UNKNOWN */
    uint32_t name;             /* in the file's names */
} ps_worker_row;

static inline int64_t ps_worker_row_dur_ns(const ps_worker_row *row) {
    return (int64_t)((uint64_t)row->dur_high_ns << 32 | row->dur_low_ns);
}

/* Rows one after another, as they stand in the file. */
typedef struct ps_worker_rows {
    struct ps_worker_rows *next;
    uint32_t n, cap;
    ps_worker_row at[];
} ps_worker_rows;

/* Those of one thread of a worker in one step. */
typedef struct ps_worker_list {
    int64_t step; /* INT64_MIN: they name none */
    uint32_t lane;
    const ps_worker_rows *first;
    size_t n_known; /* rows whose names are those of ops */
} ps_worker_list;

typedef struct ps_worker_ops {
    const ps_worker_list *lists; /* by step */
    size_t n_lists;
    const uint8_t *op_of_name; /* ps_worker_op */
} ps_worker_ops;

#endif
