/* Communication across ranks: which receive belongs to which send, and who took part in the same collective, came last, and
 * let the others wait (analyze/comm/skew.h says how they are matched and clocks brought together). Made of the ranks that are
 * in memory; borrows nothing of them. */
#ifndef PS_SERVE_PEERS_H
#define PS_SERVE_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/comm_list.h"
#include "analyze/core/analysis.h"
#include "base/arena.h"
#include "base/err.h"
#include "serve/http/route.h"
#include "serve/rank/loaded.h"

/* Names of these flows. */
#define PS_FLOW_SEND_RECV "send-recv"
#define PS_FLOW_COLLECTIVE "collective"

typedef struct ps_peer_end {
    uint32_t rank;  /* in ps_peers.keys */
    uint32_t slice; /* of the rank's profile */
} ps_peer_end;

typedef struct ps_peer_pair {
    ps_peer_end send, receive;
    int64_t waited_ns; /* of the receive for its send */
    bool is_known;     /* else waited_ns is 0: how long is not known */
} ps_peer_pair;

typedef struct ps_peer_part {
    ps_peer_end end;
    int64_t late_ns; /* start after the first one's, on one clock */
} ps_peer_part;

typedef struct ps_peer_collective {
    const char *group, *name;
    int64_t late_ns;    /* the last one after the one before it */
    int64_t waited_ns;  /* all but the last together */
    uint32_t first, n;  /* of the parts, by rank */
    int64_t group_size; /* ranks of the communicator, read or not, -1 unknown */
    uint32_t last;      /* the part (of all) that came last */
} ps_peer_collective;

/* What a slice takes part in. */
typedef struct ps_peer_entry {
    uint32_t slice;
    uint32_t row; /* of the pairs or collectives */
    bool is_pair;
} ps_peer_entry;

typedef struct ps_peers {
    const char **keys; /* [n_ranks] */
    size_t n_ranks;
    ps_peer_pair *pairs;
    ps_peer_collective *collectives;
    ps_peer_part *parts;
    size_t n_pairs, n_collectives, n_parts;
    size_t n_unmatched;     /* operators whose counterparts could not be told */
    ps_peer_entry *entries; /* of each rank by slice (which is by start) */
    size_t *first_entry;    /* [n_ranks + 1] */
    ps_arena arena;
} ps_peers;

typedef struct ps_peer_rank {
    const char *key;
    const ps_comm_list *list;
    ps_rank_info info;
} ps_peer_rank;

/* NULL: no memory. The caller frees it. */
ps_peers *ps_peers_new(const ps_peer_rank *ranks, size_t n, ps_err *err);
void ps_peers_free(void *peers); /* NULL is fine */
size_t ps_peers_bytes(const ps_peers *p);

uint32_t ps_peers_rank(const ps_peers *p, const char *key); /* PS_NONE: not among them */
/* NULL: the slice has no peers here. */
const ps_peer_entry *ps_peers_of(const ps_peers *p, uint32_t rank, uint32_t slice);

/* Communication operators of a rank, kept in the cache: to be released there. */
PS_MUST_USE ps_code ps_peers_list(const ps_request *q, const char *key, const ps_loaded *l,
                                  const ps_comm_list **list, ps_err *err);
/* The operator of that slice; NULL: the list has none. */
const ps_comm_op *ps_peers_op(const ps_comm_list *list, uint32_t slice);
/* Of all ranks that are ready and were found at the same place as this one; kept in the cache until others are ready: to be
 * released there. */
PS_MUST_USE ps_code ps_peers_get(const ps_request *q, const char *key, ps_peers **peers,
                                 ps_err *err);
/* How many ranks are ready beside this one at the same place. */
size_t ps_peers_n_others(const ps_request *q, const char *key);

#endif
