/* Ranges of torch.autograd.profiler.emit_nvtx. What they know of the operator stands in their text:
 *
 *   aten::mm, seq = 12, op_id = 34, sizes = [[8, 16], [16, 4]], input_op_ids = [(31,0), (-1,-1)]
 *
 * The name is what stands before; the rest becomes arguments, called as in the profiler's own traces. */
#ifndef PS_READ_NSIGHT_TORCH_H
#define PS_READ_NSIGHT_TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/nsight/nsight_file.h"

/* Numbers are -1 and texts of length 0 where they are not given. */
typedef struct ps_torch_range {
    size_t n_name; /* bytes of the text that are the name */
    int64_t sequence, op_id;
    const char *sizes, *inputs; /* inside of the text */
    size_t n_sizes, n_inputs;
} ps_torch_range;

/* False when the text is none of these, or any piece of it is not understood. */
bool ps_torch_range_parse(const char *text, size_t n, ps_torch_range *out);
void ps_torch_range_args(ps_nsight *n, uint32_t slice, const ps_torch_range *range);

/* Operators that share a number: the first one forward, and the node of the graph that is its backward. */
typedef struct ps_torch_links {
    struct ps_torch_end *ends;
    size_t n, cap;
} ps_torch_links;

/* False when memory is out. */
bool ps_torch_links_add(ps_torch_links *links, const ps_nsight *n, uint32_t slice, int64_t start_ns,
                        int64_t sequence, ps_str name);
/* Adds the flows, called as in the profiler's own traces, and frees. */
void ps_torch_links_finish(ps_torch_links *links, ps_nsight *n);

#endif
