/* NCCL's calls, as its NVTX ranges tell of them: name, communicator, bytes, peer. Their times are those of the host's call. */
#ifndef PS_RECORD_COMM_H
#define PS_RECORD_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/export/capture.h"

typedef struct ps_comm_call {
    uint32_t event;
    uint64_t communicator, bytes;
    int64_t peer;          /* of a send or receive, rank in the communicator; -1 none */
    int64_t rank, ranks;   /* own and all, of this communicator; -1 not known */
    bool has_communicator; /* releases before 2.2x do not say which */
    bool is_send, is_receive;
    bool used; /* has its kernel */
} ps_comm_call;

typedef struct ps_comm_calls {
    ps_comm_call *at; /* in the order of events */
    size_t n, cap;
} ps_comm_calls;

/* False when memory is out. */
bool ps_comm_find(const ps_capture *c, ps_comm_calls *out);
void ps_comm_free(ps_comm_calls *calls);

/* Whether a kernel of this name is NCCL's. */
bool ps_comm_is_kernel(const char *name);

/* Last three decimal digits of a hash of the group's name, as they stand in the names of operators. */
unsigned ps_comm_tag(const char *group);

#endif
