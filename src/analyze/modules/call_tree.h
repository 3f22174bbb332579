/* The call tree of one rank or of several: what called what on the host, and below each operator the kernels that it launched.
 *
 * Every slice that counts is in one node, with the part of its time in which nothing below it ran; what a node has in all is the sum of
 * what lies below it and its own, so that the tree adds up at every node. Two times that are never mixed: that of threads of the host
 * (of slices that nest), and that of what ran on devices.
 *
 * The place of a slice of the host is the chain of slices around it on its thread, by name. What was launched lies below the operator that
 * launched it, where none is known below the call, else in a place of its own. All steps are one: the range of a step is called "step". */
#ifndef PS_ANALYZE_CALL_TREE_H
#define PS_ANALYZE_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/modules/module_tree.h"
#include "analyze/rank/asked_span.h"
#include "analyze/rank/links.h"
#include "base/archive.h"
#include "base/err.h"
#include "base/idmap.h"
#include "base/strpool.h"
#include "base/watch.h"
#include "model/table.h"

enum { PS_CALLS_HOST, PS_CALLS_DEVICE, PS_N_CALL_TIMES };

/* What a node stands for: slices of a kind (ps_slice_kind), or one of these. */
typedef enum ps_call_kind {
    PS_CALL_ALL = PS_N_SLICE_KINDS, /* the root, node 0 */
    PS_CALL_STEP,                   /* ranges of steps */
    PS_CALL_MODULE,
    PS_CALL_PASS,    /* "forward", "recompute", "backward" of the module above */
    PS_CALL_UNKNOWN, /* launched by nothing that is known; outside of all modules */
    PS_CALL_OTHERS,  /* in tables: all that is too small to have rows of its own */
    PS_N_CALL_KINDS
} ps_call_kind;

/* "kernel", ..., "all", "step", "module", "pass", "unknown", "others" */
const char *ps_call_kind_name(uint8_t kind);

typedef struct ps_call_node {
    uint32_t parent; /* a smaller number; PS_NONE of the root */
    ps_str name;     /* in the tree's pool */
    uint8_t kind;
    int64_t self_ns[PS_N_CALL_TIMES], total_ns[PS_N_CALL_TIMES];
    int64_t n;                                          /* slices of this name in this place */
    int64_t longest_ns, longest_start_ns, longest_rank; /* of these slices; its start in epoch ns */
    uint32_t longest;                                   /* its row in the trace of that rank */
} ps_call_node;

typedef struct ps_call_tree {
    ps_strpool names;
    ps_call_node *nodes;
    size_t n, cap;
    ps_idmap places; /* of (parent, name, kind) -> node */
} ps_call_tree;

typedef struct ps_call_ask {
    const ps_links *links;
    const ps_module_tree *modules; /* places are modules, passes, operators; NULL: callers */
    ps_asked_span span;            /* of slices counts what lies inside */
    int64_t
        step; /* of the host what began in it, of the device what was launched in it, whole; -1: all */
    int64_t rank;
    /* Whether a slice counts; NULL: every one. Slices around it have their place in the tree all the same. */
    bool (*takes)(const void *context, uint32_t slice);
    const void *context;
    uint32_t *
        node_of; /* [n_slices]: where to write the node of each slice that counts, PS_NONE of others; NULL: nowhere */
    ps_watch *watch;
} ps_call_ask;

/* Needs SLICES, FLOWS and STEPS. End with ps_call_tree_fini() in any case. PS_NOMEM, PS_BUSY. A tree of a root alone: nothing counts. */
PS_MUST_USE ps_code ps_call_tree_build(ps_call_tree *t, const ps_call_ask *ask, ps_err *err);
void ps_call_tree_fini(ps_call_tree *t);

/* Adds a tree to another, which may be {0}. False when memory is out. */
bool ps_call_tree_add(ps_call_tree *t, const ps_call_tree *other);
/* The same from the bottom: below each name, whose own time is all that it has, who called it, with what of that time came from there. `last` [from->n], may be NULL: the
 * node at the end of the chain of each node, PS_NONE where it has none. False when memory is out. */
bool ps_call_tree_turned(ps_call_tree *t, const ps_call_tree *from, uint32_t *last);

ps_archive_visit ps_call_tree_archive;

/* Rows from the root down, of each node the children with the most time of devices, then of threads, first. With many nodes those of less
 * than 1 / 20000 of both times are one row (PS_CALL_OTHERS) below their parent. */
typedef struct ps_call_row {
    int64_t node, parent, depth; /* parent: PS_UNKNOWN_INT of the root */
    const char *name, *kind;
    int64_t host_ns, host_self_ns, device_ns, device_self_ns, n;
    int64_t longest_ns, longest_start_ns, longest_rank, slice; /* PS_UNKNOWN_INT */
} ps_call_row;
/* Adds them to a table of these structs. */
void ps_call_tree_put(const ps_call_tree *t, ps_table *table);

#endif
