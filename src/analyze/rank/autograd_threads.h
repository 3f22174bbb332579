/* Threads on which the engine of autograd runs backward operators, and the threads that called them: a backward pass
 * runs on a thread of the engine while the thread that called it waits inside of a range ("attn(B)", the Python frame of
 * backward()). That range is around what the engine's thread does in that time.
 *
 * This is the least certain of three ways to tell what a backward operator belongs to: the number of its node and the flow
 * from its forward operator (module_pairs.h) say it for sure. */
#ifndef PS_ANALYZE_AUTOGRAD_THREADS_H
#define PS_ANALYZE_AUTOGRAD_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/trace.h"

/* The outermost slice of a thread of the engine, and the innermost range of the thread that waits for it. */
typedef struct ps_caller {
    uint32_t slice, caller;
} ps_caller;

typedef struct ps_callers {
    ps_caller *at; /* by slice */
    size_t n;
} ps_callers;

/* Whether an operator is the engine's call of a node, by the name that PyTorch gives it. */
bool ps_is_backward_node(const ps_trace *trace, uint32_t slice);

/* `parent`: as in ps_links. A thread is one of the engine when it is named so (pt_autograd_0), or when nearly all its operators
 * are of the backward pass or inside of such: the engine's calls of nodes, operators that carry the number of a forward thread,
 * ends of flows of kind fwdbwd. Its slices have no caller where no thread of the process waits in a range. False when memory is
 * out; end with ps_callers_fini() in any case. */
bool ps_callers_find(const ps_trace *trace, const uint32_t *parent, ps_callers *out);
void ps_callers_fini(ps_callers *c);

/* The range around an outermost slice, PS_NONE. */
uint32_t ps_caller_of(const ps_callers *c, uint32_t slice);

#endif
