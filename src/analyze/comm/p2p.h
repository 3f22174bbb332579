/* Point-to-point operators and their counterparts on other ranks. */
#ifndef PS_ANALYZE_P2P_H
#define PS_ANALYZE_P2P_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/archive.h"
#include "base/strpool.h"

/* One send or receive of one rank. Ranks are local to the group. */
typedef struct ps_p2p_op {
    int64_t start_ns, end_ns; /* epoch */
    int64_t source_row;       /* row id in COMMUNICATION_OP */
    int64_t sequence;         /* number of the operator in its group, from its name */
    int64_t iteration;
    int32_t sender, receiver;
    ps_str group;          /* of the list's pool: name of the communicator */
    ps_str tag;            /* the first number of the operator's name */
    uint32_t peer_rank;    /* the counterpart: index of the rank, PS_NO_PEER: none ... */
    uint32_t peer_op : 31; /* ... and in its list */
    uint32_t is_send : 1;
} ps_p2p_op; /* 64 bytes: there is one for each microbatch, of all ranks of a run at once */

#define PS_NO_PEER UINT32_MAX
#define PS_MAX_P2P_OPS 0x7FFFFFFFu /* of a list: peer_op numbers them */

typedef struct ps_p2p_list {
    ps_p2p_op *ops; /* in start order */
    size_t n, cap;
    ps_strpool strings;
    size_t n_operators; /* all communication operators seen, of every type */
} ps_p2p_list;

/* hcom_send__T_S_I, hcom_recv__..., hcom_receive__...; the first letter of the type in either case. False
 * for any other name. `*tag_len` digits at `*tag` (pointing into the name). */
bool ps_p2p_parse_name(const char *name, bool *is_send, const char **tag, size_t *tag_len,
                       int64_t *sequence, int64_t *iteration);

/* The send and receive operators of a trace that carry COMMUNICATION_OP and name one peer. With a step
 * filter, those whose host call (else the operator itself) starts in the step. The caller ends with
 * ps_p2p_list_fini(), also on failure. */
PS_MUST_USE ps_code ps_p2p_collect(const ps_trace *trace, const ps_analysis_opts *opts,
                                   ps_p2p_list *out, ps_diag *diag, ps_err *err);
bool ps_p2p_list_init(ps_p2p_list *list);
void ps_p2p_list_fini(ps_p2p_list *list);
/* Appends, without a counterpart yet. False when memory is out. */
bool ps_p2p_add(ps_p2p_list *list, ps_p2p_op op);

/* Pairs the operators of all ranks and adds, per rank that has any operators, the table that sets
 * COMMUNICATION_OP.opConnectionId ("{tag}_{sender}_{receiver}_{index}", equal on both ends). Sets the
 * counterparts in the lists.
 * `lists[i]` may be NULL; `pipelines[i]` (or NULL) tells ranks apart whose groups share a name. */
PS_MUST_USE ps_code ps_p2p_pair(ps_p2p_list *const *lists, const int32_t *pipelines,
                                const ps_reduce_input *in, ps_err *err);

void ps_p2p_list_archive(ps_archive *a, void *list);

#endif
