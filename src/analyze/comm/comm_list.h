/* The communication operators of one rank, in a form that outlives its trace: what slow_rank, slow_link, hccl_sum,
 * cluster_time_summary, communication_bottleneck, the masking of communication and the report start from. */
#ifndef PS_ANALYZE_COMM_LIST_H
#define PS_ANALYZE_COMM_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/topology.h"
#include "analyze/rank/links.h"
#include "base/archive.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/strpool.h"
#include "model/clock.h"
#include "model/trace.h"

#define PS_NO_TIME INT64_MIN

/* What many operators of a list have in common. Texts are ids of the list's pool. */
typedef struct ps_comm_look {
    int64_t n_elements; /* -1 unknown */
    int64_t size_bytes; /* elements times size of the data type, -1 unknown */
    ps_str type;        /* "hcom_allReduce_", "allreduce", "nccl:all_reduce" */
    ps_str group;       /* name of the communicator as the profile has it; may be none */
    ps_str data_type;   /* may be none */
    ps_str
        members; /* of the group as PyTorch writes them ("[0, 1]"), or by its metadata: tells groups of one name apart; may be none */
    /* Of a point-to-point operator: places in the group of this rank and of the other one, -1 unknown. With `own`
     * unknown `peer` is a global rank. */
    int32_t own, peer;
    int32_t peer_rank;  /* the global rank of the other one by its place, -1 unknown */
    int32_t both[2];    /* global ranks of a communicator of two, -1 unknown */
    int64_t group_size; /* ranks of the communicator, captured or not, -1 unknown */
    /* Its name or type holds send, receive or recv, any case; of a kernel what was called decides, for an all-to-all
     * runs as a kernel SendRecv. */
    bool is_p2p;
    bool is_send; /* of those: it sends */
    /* Several calls launched as one (ncclGroupStart ... ncclGroupEnd): which, and between whom, is not told. */
    bool is_group;
} ps_comm_look;

/* One operator: there are as many of them in memory as all ranks have, until they are reduced. */
typedef struct ps_comm_op {
    int64_t start_ns, end_ns; /* epoch */
    int64_t host_start_ns;    /* of the call that launched it, epoch; PS_NO_TIME */
    int64_t step;             /* ps_links_step */
    int64_t
        sequence; /* number of the operator in its group where the profile has one (Seq), else -1 */
    const ps_comm_look *look; /* of the list's */
    ps_str name;              /* as COMMUNICATION_OP.opName, or the kernel's name */
    uint32_t slice;           /* in the trace it came from */
} ps_comm_op;

static inline int64_t ps_comm_op_ns(const ps_comm_op *op) {
    return op->end_ns - op->start_ns;
}

typedef struct ps_comm_list {
    ps_comm_op *ops; /* by start, then slice */
    size_t n, cap;
    ps_comm_look *looks; /* in the order in which they are first met */
    size_t n_looks, cap_looks;
    ps_strpool strings;
    ps_recorded_clock recorded_clock; /* what the capture says of the clock of these times */
} ps_comm_list;

/* From slices of kind COMM_OP, and where there are none from COMM_KERNEL ones (their collective arguments: "Collective
 * name", "Process Group Name" / "Process Group Description", "In msg nelems", "dtype", "Seq"); of a rank without a device
 * from the ranges of gloo. `links` may be NULL: no
 * host times, steps by device time. `facts` of the trace may be NULL: they are read. Needs SLICES, FLOWS, ARGS, STEPS,
 * META. PS_NOMEM only; an empty list is no error. End with ps_comm_list_fini() in any case. */
PS_MUST_USE ps_code ps_comm_list_collect(const ps_trace *trace, const ps_links *links,
                                         const ps_rank_facts *facts, ps_comm_list *out,
                                         ps_diag *diag, ps_err *err);
void ps_comm_list_fini(ps_comm_list *list);
/* The global rank at the other end of a send or receive of rank `own` (-1 unknown); -1: not known. */
int64_t ps_comm_peer_rank(const ps_comm_look *look, int64_t own);
/* "" for none. */
const char *ps_comm_text(const ps_comm_list *list, ps_str s);

/* Size of an element by the name of its type (HCCL, NCCL and torch names: FP16, BFP16, Float, BFloat16, int64 ...); 0
 * unknown. */
int64_t ps_data_type_bytes(const char *name);

void ps_comm_list_archive(ps_archive *a, void *list);

#endif
