#include "model/worker_ops.h"

#include <string.h>

static const struct {
    const char *name;
    ps_op_kind kind;
} OPS[PS_N_WORKER_OPS] = {
#define X(op, text, of) [op] = {text, of},
    PS_WORKER_OPS(X)
#undef X
};

ps_worker_op ps_worker_op_find(const char *name, size_t n) {
    size_t op = 0;
    while (op < PS_N_WORKER_OPS &&
           (strlen(OPS[op].name) != n || memcmp(OPS[op].name, name, n) != 0)) {
        op++;
    }
    return (ps_worker_op)op;
}

const char *ps_worker_op_name(ps_worker_op op) {
    return OPS[op].name;
}

ps_op_kind ps_worker_op_kind(ps_worker_op op) {
    return OPS[op].kind;
}

bool ps_worker_op_is_transfer(ps_worker_op op) {
    return op >= PS_WORKER_FORWARD_SEND && op <= PS_WORKER_BACKWARD_RECV;
}

bool ps_worker_op_is_alone(ps_worker_op op) {
    return op <= PS_WORKER_PAIR || op == PS_WORKER_GC || op == PS_WORKER_OPTIMIZER;
}
