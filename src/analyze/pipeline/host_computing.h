/* The computing inside of host ranges, for captures without a device: PyTorch's own labels of a pipeline ("Forward 2", "PP:3F7")
 * also hold the receive of their input, the wait for it and the send of the result; computing is what operators do there. */
#ifndef PS_ANALYZE_HOST_COMPUTING_H
#define PS_ANALYZE_HOST_COMPUTING_H

#include <stddef.h>

#include "analyze/pipeline/host_labels.h"
#include "analyze/pipeline/project.h"

/* Whether the range is a label that PyTorch's pipeline wrote into the trace of its own profiler, and so holds its waits. The same
 * names in a recording are ranges that the program drew around the computing. */
bool ps_host_range_holds_waits(const ps_trace *trace, const ps_host_range *range);

/* Splits labels of a pair whose forward ended before its backward began: what stands between is the wait for the backward's input.
 * Told by the flows from forward to backward operators and by autograd's calls of nodes; where these overlap, or the trace has
 * none, the pair stays. False when memory is out. */
bool ps_host_ranges_split_pairs(const ps_links *links, ps_host_ranges *ranges);

/* out[n]: for each range that holds its waits its computing, which begins with its first operator and goes on to its end, or to the
 * first transfer behind its last operator. Operators on its thread count, and on one of autograd's that it waits for; none of a
 * communication library, nor what these call, nor what only prepares a receive: shorter than the computing behind it. A range
 * without an operator, where others of the trace have some, computed nothing: empty, at its end. n_kernels is 0 for other ranges, for
 * administration without an operator, and for all where no range has one (*any is false). Ranges in start order, longer first. False when memory is out. */
bool ps_host_computing(const ps_links *links, const ps_host_ranges *ranges, ps_extent *out,
                       bool *any);

#endif
