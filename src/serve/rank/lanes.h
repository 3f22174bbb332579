/* The lane tree: how the tracks of a trace are arranged for people (docs/viewer.md), and which lane a slice is in.
 *
 * Threads of a host are split by what wrote the slices: framework, driver calls, marks, Python; streams leave marks a lane of
 * their own above them; communicators stand above their planes. */
#ifndef PS_SERVE_LANES_H
#define PS_SERVE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/trace.h"

typedef enum ps_node_kind {
    PS_NODE_GROUP, /* holds others: a process, a thread of several lanes, "Ascend Hardware", "Communication" */
    PS_NODE_HOST,    /* framework, calls */
    PS_NODE_PYTHON,  /* Python frames */
    PS_NODE_MARKS,   /* mstx, NVTX; on the host or a stream */
    PS_NODE_DEVICE,  /* a stream */
    PS_NODE_COMM,    /* a communicator */
    PS_NODE_PLANE,   /* one plane of it */
    PS_NODE_OVERLAP, /* computing, communication, not overlapped, free */
    PS_NODE_OTHER,   /* other derived lanes */
    PS_NODE_COUNTER
} ps_node_kind;

typedef struct ps_lane_node {
    const char *
        id; /* stable over runs and alike in all ranks: "host/123/456/python", "device/0/stream/7" */
    const char *name; /* "Thread 456 (pt_autograd_0)" */
    ps_node_kind kind;
    uint32_t lane;    /* number for ps_lod, PS_NONE: of a group */
    uint32_t track;   /* row of ps_trace_tracks(), PS_NONE: of a group */
    uint32_t parent;  /* node, PS_NONE at the top */
    int64_t device;   /* -1 on the host */
    const char *unit; /* of a counter, or "" */
} ps_lane_node;

typedef struct ps_lanes {
    ps_lane_node *nodes; /* in the order they are shown: parents before their children */
    size_t n_nodes, cap_nodes;
    uint32_t n_lanes;
    uint32_t *node_of_lane;      /* [n_lanes] */
    struct ps_lane_parts *parts; /* which slices are drawn together (lane_parts.h) */
    uint32_t *lane_of_part;
    ps_arena arena;
} ps_lanes;

/* Arranges the tracks; `lane_of`[n slices] (caller's) says where each slice is. PS_NOMEM only. */
PS_MUST_USE ps_code ps_lanes_init(ps_lanes *lanes, const ps_trace *trace, uint32_t *lane_of,
                                  ps_err *err);
/* The lane of one slice, as `lane_of` had it: worked out anew, so that nobody keeps 4 bytes a slice. Any thread may ask. */
uint32_t ps_lanes_of(const ps_lanes *lanes, const ps_trace *trace, uint32_t slice);
void ps_lanes_fini(ps_lanes *lanes);

/* Looks from 12 on; below are tints of names. The same numbers stand in web/src/timeline/palette.ts and docs/serve-api.md; only lanes of
 * overlap have 12 to 15. */
enum {
    PS_LOOK_NONE,
    PS_LOOK_COMPUTING = 12,
    PS_LOOK_COMMUNICATION,
    PS_LOOK_EXPOSED,
    PS_LOOK_FREE,
    PS_LOOK_SYNC,
    PS_LOOK_INSTANT
};
/* What a lane of overlap, or a slice in one, is by the name that profilers and derived lanes give it; PS_LOOK_NONE: none of these. */
uint8_t ps_overlap_look(const char *name);

const char *ps_node_kind_name(ps_node_kind kind); /* "group", "host", ... */

#endif
