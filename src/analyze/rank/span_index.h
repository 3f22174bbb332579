/* Which range of the program holds a piece of host work: by the threads that do the work, not by the time alone. A range of one
 * thread says nothing about what another thread does meanwhile (a loader that copies the next batch, the communication of another
 * model), unless it is known to wait for it (autograd's engine). */
#ifndef PS_ANALYZE_SPAN_INDEX_H
#define PS_ANALYZE_SPAN_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"

/* Times from the trace's origin, both ends inside. */
typedef struct ps_host_span {
    int64_t start_ns, end_ns;
    uint32_t slice; /* whose own device side counts when it has one; PS_NONE */
    uint32_t
        track; /* of its thread; PS_NONE: of several threads, so all that begins in its time is inside of it */
    bool is_part; /* communication counts as much as computing */
} ps_host_span;

typedef struct ps_span_index {
    const ps_links *links;
    const ps_host_span *spans; /* borrowed */
    size_t n_threads;    /* those that have ranges, behind the ranges of several threads (0) */
    uint32_t *thread_of; /* [n_tracks of the trace] PS_NONE: a thread without ranges */
    int64_t *pid;        /* [n_threads] */
    uint32_t *first;     /* [n_threads + 1] of `rows` */
    uint32_t *rows;      /* [n spans] thread by thread, in start order */
    uint32_t
        *outer; /* [n spans] the last one before it on its thread that ends no earlier; PS_NONE */
} ps_span_index;

/* Spans in start order, longer first. `links` and `spans` must outlive it. False when memory is out; end with
 * ps_span_index_fini() also then. */
bool ps_span_index_init(ps_span_index *index, const ps_links *links, const ps_host_span *spans,
                        size_t n);
void ps_span_index_fini(ps_span_index *index);

/* The innermost range around the start of a host slice, PS_NONE. By the first that is known of
 *   1. ranges of its own thread: tracks of one thread id are one thread (calls of the driver may have a track of their own)
 *   2. ranges of the thread that waits for it (ps_links_waiting)
 *   3. where no thread of the trace is known to wait for another, and its own thread has no ranges and is in nothing that the
 *      program named (an annotation, a mark, a Python frame): the ranges of the one thread that is in a range then, of its
 *      process first. *is_open when several threads are: nothing tells which it is. */
uint32_t ps_span_holding(const ps_span_index *index, uint32_t slice, bool *is_open);

/* Whether two tracks are of the same thread. */
bool ps_same_thread(const ps_trace *trace, uint32_t a, uint32_t b);

#endif
