/* The modules of a model as one rank ran them: every call of a module, forward, recomputed and backward, the operators that
 * each call ran itself, and the kernels that each operator launched.
 *
 * A call contains what its own thread issued while it was the innermost: an operator belongs to the innermost call that
 * contains its start. The backward of a call is made of the backward operators of its forward operators, on their
 * thread; runs of them are one call each. A module that runs inside a backward operator is a recomputation when it ran in
 * the forward pass before, else a part of the backward pass that was marked. */
#ifndef PS_ANALYZE_MODULE_TREE_H
#define PS_ANALYZE_MODULE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/asked_span.h"
#include "analyze/rank/links.h"
#include "base/err.h"
#include "base/num.h"
#include "base/strpool.h"

/* What marks the modules, best first. */
typedef enum ps_module_source {
    PS_MODULES_DOMAIN,     /* mstx or NVTX ranges of domain Module, but no push/pop ones of mstx */
    PS_MODULES_PYTHON,     /* Python frames "nn.Module: NAME_k" */
    PS_MODULES_ANNOTATION, /* ranges that the program named, but for ProfilerStep */
    PS_MODULES_RANGE,      /* NVTX ranges; those of mstx without a domain of their own */
    PS_N_MODULE_SOURCES
} ps_module_source;

typedef enum ps_module_pass {
    PS_MODULE_FORWARD,
    PS_MODULE_RECOMPUTE,
    PS_MODULE_BACKWARD,
    PS_N_MODULE_PASSES
} ps_module_pass;

/* A module by its place: the names of the modules around it and its own. */
typedef struct ps_module_node {
    uint32_t parent; /* node, PS_NONE at the top; always a smaller number */
    uint32_t depth;  /* 1 at the top */
    ps_str name;     /* in the tree's pool */
    uint64_t key;    /* of the names down to here: equal in all ranks */
    bool ran_forward;
} ps_module_node;

typedef struct ps_module_call {
    int64_t start_ns, end_ns; /* on the host */
    uint32_t track;
    uint32_t node;
    uint32_t
        parent; /* call around it, PS_NONE; of recomputed and backward ones in the forward pass */
    uint32_t forward;         /* of a backward call: the call it is the backward of; else itself */
    uint32_t below;           /* while building */
    uint32_t first_op, n_ops; /* in tree->ops, by start */
    uint8_t pass;             /* ps_module_pass */
} ps_module_call;

typedef struct ps_module_tree {
    const ps_links *links;
    ps_module_source source;
    bool is_mstx; /* the marks are such as mstx sets */
    ps_strpool names;
    ps_module_node *nodes;
    size_t n_nodes, cap_nodes;
    ps_module_call *calls; /* those marked by start, then the backward ones by start */
    size_t n_calls, cap_calls, n_marked;
    uint32_t *
        call_of; /* [n_slices]: of operators that launched something, and of marks; PS_NONE outside */
    uint32_t *ops;     /* operators (and calls) with kernels, by call of a module */
    uint32_t *kernels; /* what operators launched, by operator, then start */
    uint32_t *
        first_kernel; /* [n_slices + 1]: of slice i those from first_kernel[i] to first_kernel[i + 1] */
    size_t n_ops, n_kernels, n_pairs;
} ps_module_tree;

/* What of a tree counts. */
typedef struct ps_module_scope {
    const uint8_t *wanted; /* [n_calls]: 0 for calls that are left out */
    int64_t step;          /* -1, or kernels of this step alone */
    ps_asked_span span;    /* of kernels and calls what lies inside */
} ps_module_scope;
/* How long a kernel ran inside of the span, and from when; -1: not at all. */
int64_t ps_module_part_ns(const ps_module_scope *scope, const ps_slices *s, uint32_t slice,
                          int64_t *start_ns);
/* Whether any kernel of operator `op` ran inside of it. */
bool ps_module_op_ran(const ps_module_tree *tree, const ps_module_scope *scope, const ps_slices *s,
                      uint32_t op);

/* "ranges of domain Module" ... */
const char *ps_module_source_text(ps_lang lang, const ps_module_tree *t);

/* The operator that launched a slice; where none is known, the call; PS_NONE. */
uint32_t ps_module_launcher(const ps_links *links, uint32_t slice);

/* Whether a slice is a kernel to be counted: computing kernels, communication operators (communication kernels where a
 * trace has no operators), and of copies and other tasks those whose launch is known. */
bool ps_module_counts(const ps_links *links, uint32_t slice, bool has_comm_ops);
bool ps_module_has_comm_ops(const ps_trace *trace);

/* PS_NOTHING with a sentence when the trace has no modules or no operators that launched anything, PS_NOMEM. `marks_too`:
 * any host range may be a module. The links must outlive the tree. End with ps_module_tree_fini() in any case. Needs SLICES, FLOWS,
 * STEPS and the arguments eventType, sequenceNumber and fwdThreadId. */
PS_MUST_USE ps_code ps_module_tree_build(ps_module_tree *t, const ps_links *links, bool marks_too,
                                         ps_err *err);
void ps_module_tree_fini(ps_module_tree *t);

/* The path of a node, names joined by '/', without '/' at its ends; what is longer than `size` loses its middle. */
void ps_module_path(const ps_module_tree *t, uint32_t node, char *out, size_t size);

#endif
