/* The lane tree while it grows (lanes.c says how it looks): drafts of nodes that are looked up by their ids. Memory that is
 * out is noted in `failed`; functions that give a draft then give PS_NONE. */
#ifndef PS_SERVE_LANES_TREE_H
#define PS_SERVE_LANES_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "base/strpool.h"
#include "serve/rank/lane_parts.h"
#include "serve/rank/lanes.h"

/* Top groups without an order of their own come in this order, behind those that have one. */
enum { PS_TOP_HOST, PS_TOP_DEVICE, PS_TOP_OTHER };
/* Groups of a device. */
enum { PS_IN_HARDWARE, PS_IN_COMM, PS_IN_OVERLAP, PS_IN_DERIVED, PS_IN_COUNTERS };

/* A node while the tree grows. */
typedef struct ps_draft {
    ps_lane_node node;   /* `parent`: row of a ps_draft */
    int64_t order, next; /* among its siblings: by order, next, name, id */
    bool is_gone;        /* its only child stands in its place */
} ps_draft;

/* What the number of a process stands for. */
typedef struct ps_lane_owner {
    int64_t pid;
    const ps_process *process; /* of the trace, or NULL */
    bool has_threads, has_devices;
    bool is_real;     /* a thread has its number too: it is one of the operating system */
    uint32_t node;    /* draft of the group, once there is one */
    int64_t ordinal;  /* among those that are none of a device; -1 */
    int64_t device;   /* of its tracks, -1 */
    uint32_t n_plain; /* threads without a name so far */
} ps_lane_owner;

typedef struct ps_lane_tree {
    ps_lanes *lanes;
    const ps_trace *t;
    const ps_track *tracks;
    size_t n_tracks;
    ps_lane_parts *parts;  /* = lanes->parts */
    uint32_t *n_parts;     /* [n_tracks] */
    uint32_t *threads;     /* [n_tracks] draft of a host thread's group, PS_NONE */
    ps_idmap owner_rows;   /* pid -> owners */
    ps_idmap streams;      /* hash of (pid, tid) -> track of the plain stream */
    ps_idmap group_labels; /* text of a label -> how many communicators have it */
    ps_idmap repeats;      /* id of a text in `ids` that is taken -> the number to try next */
    ps_idmap families;     /* hash of a counter family -> how many counters it has */
    ps_lane_owner *owners;
    size_t n_owners, cap_owners;
    int64_t *devices; /* sorted */
    size_t n_devices;
    ps_draft *drafts;
    size_t n_drafts, cap_drafts;
    ps_strpool ids; /* of the drafts, in their order: the number of a text less 1 is the ps_draft */
    ps_buf id, name;
    bool failed;
} ps_lane_tree;

/* --- drafts --- */

ps_draft *ps_tree_at(ps_lane_tree *x, uint32_t row);
const char *ps_tree_id(const ps_lane_tree *x, uint32_t row); /* "" of none */
/* The draft with the id and name that stand in x->id and x->name (which are empty afterwards). A lane is always a new one:
 * "#2" parts it from another of the same id; `is_new` groups too. */
uint32_t ps_tree_put(ps_lane_tree *x, uint32_t parent, ps_node_kind kind, bool is_new,
                     int64_t order);
/* A group below another one, by the last part of its id. */
uint32_t ps_tree_group(ps_lane_tree *x, uint32_t parent, const char *key, const char *name,
                       int64_t order);

/* --- who a number belongs to --- */

ps_lane_owner *ps_tree_owner(ps_lane_tree *x, int64_t pid);
/* For all tracks at first; false when memory is out. */
bool ps_tree_list_devices(ps_lane_tree *x);
bool ps_tree_add_owner(ps_lane_tree *x, const ps_track *track);
bool ps_tree_count_processes(ps_lane_tree *x);

/* --- groups that lanes stand in --- */

/* Adds "device/0" to x->id. Devices are counted, since rank 5 may well work on device 5. */
void ps_tree_device_key(ps_lane_tree *x, int64_t device);
/* The process of a host thread, or of lanes that belong to no device. */
uint32_t ps_tree_host(ps_lane_tree *x, int64_t pid);
/* What of a device a track belongs to, PS_IN_... */
uint32_t ps_tree_device(ps_lane_tree *x, const ps_track *track, int what);

/* --- lanes (lane_places.c) --- */

/* Puts all parts where they belong; false when memory is out. */
bool ps_tree_place_all(ps_lane_tree *x);

#endif
