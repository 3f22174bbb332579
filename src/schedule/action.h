/* Action texts of torch.distributed.pipelining, as its schedule files hold them and, behind "PP:", its profiler labels:
 *
 *   3F7   0SEND_B2   1RESHARD   (0F7;7B3)OVERLAP_F_B
 *
 * A stage, a kind and, for most kinds, a microbatch; or several of these in parentheses that run overlapped. */
#ifndef PS_SCHEDULE_ACTION_H
#define PS_SCHEDULE_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/chart.h"

/* kind, text, kind of op, whether a microbatch belongs to it */
#define PS_ACTION_KINDS(X)                                                                         \
    X(PS_ACTION_F, "F", PS_OP_F, true)                                                             \
    X(PS_ACTION_I, "I", PS_OP_BI, true)                                                            \
    X(PS_ACTION_W, "W", PS_OP_BW, true)                                                            \
    X(PS_ACTION_B, "B", PS_OP_B, true)                                                             \
    X(PS_ACTION_BW, "BW", PS_OP_B,                                                                 \
      true) /* late 2024: the whole backward, and B the input gradient */                          \
    X(PS_ACTION_SEND_F, "SEND_F", PS_OP_SEND, true)                                                \
    X(PS_ACTION_RECV_F, "RECV_F", PS_OP_RECV, true)                                                \
    X(PS_ACTION_SEND_B, "SEND_B", PS_OP_SEND, true)                                                \
    X(PS_ACTION_RECV_B, "RECV_B", PS_OP_RECV, true)                                                \
    X(PS_ACTION_WAIT_SEND_F, "WAIT_SEND_F", PS_OP_SEND, true) /* from 2.15 on */                   \
    X(PS_ACTION_WAIT_SEND_B, "WAIT_SEND_B", PS_OP_SEND, true)                                      \
    X(PS_ACTION_UNSHARD, "UNSHARD", PS_OP_OTHER, false)                                            \
    X(PS_ACTION_RESHARD, "RESHARD", PS_OP_OTHER, false)                                            \
    X(PS_ACTION_REDUCE_GRAD, "REDUCE_GRAD", PS_OP_OTHER, false)                                    \
    X(PS_ACTION_WAIT_REDUCE_GRAD, "WAIT_REDUCE_GRAD", PS_OP_OTHER, false)

typedef enum ps_action_kind {
#define X(kind, text, op, has_microbatch) kind,
    PS_ACTION_KINDS(X)
#undef X
        PS_N_ACTION_KINDS
} ps_action_kind;

typedef struct ps_action_part {
    ps_action_kind kind;
    int32_t stage, microbatch; /* stage of the whole model; microbatch -1 when the kind has none */
} ps_action_part;

#define PS_ACTION_MAX_PARTS 8

/* More than one part, in the order of execution: overlapped. */
typedef struct ps_action {
    ps_action_part parts[PS_ACTION_MAX_PARTS];
    size_t n_parts;
} ps_action;

/* The whole of s[0..n), blanks around parts allowed. False when it is no action. */
bool ps_action_parse(const char *s, size_t n, ps_action *out);

/* The text PyTorch writes, always terminated. */
void ps_action_text(const ps_action *action, char *out, size_t size);

ps_op_kind ps_action_op(ps_action_kind kind);
/* Of F, B, BI and BW. */
ps_action_kind ps_action_kind_of(ps_op_kind kind);

#endif
