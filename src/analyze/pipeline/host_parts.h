/* Parts of forward and backward passes that a program named on the host: NAME(F), NAME(B), NAME(W) is part NAME of a
 * forward, backward or weight pass ("attn(F)", "dispatch(B)", "mlp(W)"; the form of the public profile of DeepSeek's
 * DualPipe). Where nothing else names the ops, what holds the parts is one. */
#ifndef PS_ANALYZE_HOST_PARTS_H
#define PS_ANALYZE_HOST_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/pipeline/host_labels.h"

typedef struct ps_host_part {
    int64_t start_ns, end_ns; /* from the trace's origin */
    uint32_t slice, track;
    uint32_t around; /* the range of the program that holds it on its thread, PS_NONE */
    ps_op_kind kind; /* PS_OP_F, PS_OP_B or PS_OP_BW */
} ps_host_part;

typedef struct ps_host_parts {
    ps_host_part *at; /* in start order, longer first; none lies in another of its thread */
    size_t n, cap;
} ps_host_parts;

/* Whether the name is that of a part. */
bool ps_host_part_parse(const char *name, ps_op_kind *kind);

/* False when memory is out. The caller ends with ps_host_parts_fini(), also then. */
bool ps_host_parts_collect(const ps_trace *trace, ps_host_parts *out);
void ps_host_parts_fini(ps_host_parts *parts);

/* The ops that parts tell of, in start order: the ranges that hold parts, and of parts that no range holds each run of
 * one pass on a thread. One with parts of both passes is an overlapped pair. `out` is empty before; False when memory is out. */
bool ps_host_parts_ops(const ps_trace *trace, const ps_host_parts *parts, ps_host_ranges *out);

#endif
