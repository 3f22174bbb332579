/* What communicates, by name: kernels (a table of their functions by library, comm_kernels.def, and rules of the user) and
 * the operators and calls behind them. The only place that judges communication by a name; readers and analyses ask here.
 *
 * A kernel's name is the function that it is, demangled or mangled (kernel_name.h):
 *
 *   void deep_ep::internode::dispatch<false, 8>(int4*, ...)   _ZN7deep_ep9internode8dispatchILb0EEEvPi
 *   path: deep_ep, internode, dispatch                          the same
 *
 * A pattern names the end of that path, component by component: `internode::dispatch`. `*` ends a component that goes on
 * (`ncclDevKernel_*`), `::` at the beginning means the whole path (`::dispatch`), and `**` as the last component any
 * function below (`mscclpp::**`). Template arguments and parameters are no part of it: a kernel that merely has `nccl` in an
 * argument's type does not communicate. */
#ifndef PS_MODEL_COMM_KERNELS_H
#define PS_MODEL_COMM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* what, name in rules and outputs */
#define PS_COMM_WHATS(X)                                                                           \
    X(UNKNOWN, "unknown")      /* the table and the rules do not have it */                        \
    X(COMPUTING, "computing")  /* known as none that communicates */                               \
    X(UNTOLD, "communication") /* its name does not tell what it does */                           \
    X(ALL_REDUCE, "all-reduce")                                                                    \
    X(ALL_GATHER, "all-gather")                                                                    \
    X(REDUCE_SCATTER, "reduce-scatter")                                                            \
    X(REDUCE, "reduce")                                                                            \
    X(BROADCAST, "broadcast")                                                                      \
    X(GATHER, "gather")                                                                            \
    X(SCATTER, "scatter")                                                                          \
    X(ALL_TO_ALL, "all-to-all")                                                                    \
    X(DISPATCH, "dispatch") /* tokens to their experts */                                          \
    X(COMBINE, "combine")   /* and back */                                                         \
    X(SEND, "send")                                                                                \
    X(RECEIVE, "receive")                                                                          \
    X(SEND_RECEIVE, "send-receive") /* both, or which of them is not told */                       \
    X(PUT, "put")                                                                                  \
    X(GET, "get")                                                                                  \
    X(BARRIER, "barrier")

typedef enum ps_comm_what {
#define X(what, name) PS_COMM_##what,
    PS_COMM_WHATS(X)
#undef X
        PS_N_COMM_WHATS
} ps_comm_what;

/* "all-reduce"; static. */
const char *ps_comm_what_name(ps_comm_what what);

/* What a kernel of this name does: by the rules in use, else by the table. *library (may be NULL) gets the row's library,
 * "rule" or NULL. */
ps_comm_what ps_comm_of_kernel(const char *name, const char **library);
/* The function's own name, of a plain one (kernel_name.h), without namespaces: *n bytes that begin there, 0 where the name is none of a function. */
const char *ps_comm_function(const char *name, size_t *n);
static inline bool ps_comm_is(ps_comm_what what) {
    return what > PS_COMM_COMPUTING;
}
/* One rank sends and one receives, whoever else takes part in other transfers. */
static inline bool ps_comm_is_p2p(ps_comm_what what) {
    return what == PS_COMM_SEND || what == PS_COMM_RECEIVE || what == PS_COMM_SEND_RECEIVE;
}
/* All ranks of a group take part in it, and none is done before the last one came. */
bool ps_comm_is_symmetric(ps_comm_what what);

/* What an operator, a range or a call of a communication library does, by its word behind the names of libraries:
 * "nccl:_all_gather_base", "ncclSend", "hcom_receive__795_0_1", "c10d::allreduce_", "allgather_into_tensor_coalesced". Unknown
 * for everything else, also for a group of calls ("ncclGroupEnd", "coalesced"). */
ps_comm_what ps_comm_of_call(const char *name);
/* The same for a name that may be that of a kernel or of an operator. */
ps_comm_what ps_comm_of_name(const char *name);
/* What an operation of ProcessGroupGloo does, by the name that it gives its range ("gloo:all_reduce"); unknown for every other
 * name, also for one that merely begins so. */
ps_comm_what ps_comm_of_gloo(const char *name);
/* A range or call that only holds several calls together. */
bool ps_comm_is_group_call(const char *name);
/* Names that communication libraries and torch.distributed give their ranges and operators ("nccl:", "c10d::",
 * "record_param_comms", "deep_ep::"): what is launched there has to do with communication. */
bool ps_comm_is_library_call(const char *name);

/* Rules of the user, one a line, `#` begins a comment:
 *
 *   mylib::exchange_tokens*   all-to-all
 *   warm_cache                computing
 *
 * They come before the table, the first that matches counts. PS_USAGE with file and line for what is none. */
typedef struct ps_comm_rules ps_comm_rules;
PS_MUST_USE ps_code ps_comm_rules_read(const char *path, ps_comm_rules **out, ps_err *err);
void ps_comm_rules_free(ps_comm_rules *rules); /* NULL is fine */
/* From here on all of the process judges by them (NULL: by the table alone). Before the first thread that reads; the rules
 * must outlive what reads. */
void ps_comm_rules_use(const ps_comm_rules *rules);
/* The file of the rules in use, NULL for none. */
const char *ps_comm_rules_path(void);
/* Of the rules in use, for keys of what was read by them; 0 for none. */
uint64_t ps_comm_rules_hash(void);

#endif
