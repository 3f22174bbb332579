/* Traces made in memory, for tests of what takes any trace. */
#ifndef TEST_SUPPORT_TRACE_SAMPLES_H
#define TEST_SUPPORT_TRACE_SAMPLES_H

#include "model/trace.h"

#define SAMPLE_EPOCH_NS INT64_C(1714550400000000000)

/* A few slices of every kind on tracks of every kind: arguments of every type, flows with and without a kind,
 * crossing and zero-length slices, counters, steps, metadata, processes that are texts, a pid that host and device
 * share, names that need escapes. NULL when memory is out. */
ps_trace *sample_of_everything(void);

/* `n` slices on one thread, each as deep in the one before as `depth` allows, with one argument; for limits and memory. */
ps_trace *sample_of_many(uint32_t n, uint32_t depth);

#endif
