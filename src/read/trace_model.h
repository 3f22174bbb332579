/* From events (trace_events.h) to slices, flows, counters and tracks of a trace: what every producer of trace-event
 * JSON has in common. A *dialect* says what the common rules cannot know: which process is a device, which kind a slice
 * is, how times are placed.
 *
 * Common rules: X; B and E by (pid, tid), strictly nested; i, I, R instants; C counters (one track per series); b, n, e
 * asynchronous ranges by (local pid, cat, id, scope), each id and name on a track of its own kind; s, t, f and
 * bind_id/flow_in/flow_out flows by (cat, id); M names of processes and threads. What a phase lacks is counted. */
#ifndef PS_READ_TRACE_MODEL_H
#define PS_READ_TRACE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/trace.h"
#include "read/trace_events.h"

typedef struct ps_trace_model ps_trace_model;

/* One event with its texts already interned into the trace. Text pids and tids are numbers here (ps_process). */
typedef struct ps_model_event {
    const ps_event *event;
    const ps_event_batch *batch;
    ps_str name, cat;
    int64_t pid, tid;
    ps_str tid_name; /* the text of a text tid, else none */
    int64_t row;     /* number of the event in the file */
} ps_model_event;

typedef struct ps_dialect {
    /* Kind and track of a slice (X, B, i). `*kind` and `*track` come filled with the usual: HOST_OTHER or INSTANT on
     * HOST_THREAD (pid, tid). The track may be changed to any other, PS_NONE leaves the event out (counted by the
     * dialect). */
    void (*place)(void *context, ps_builder *b, const ps_model_event *e, ps_slice_kind *kind,
                  uint32_t *track);
    /* After a slice was added; its args are in e->batch. May be NULL. */
    void (*added)(void *context, ps_builder *b, const ps_model_event *e, uint32_t slice);
    /* Track of a counter series; NULL: {COUNTER, pid, device -1, name "<event name>/<key>", or the event's name when it
     * has one key that is "value" or its own name}. */
    uint32_t (*counter)(void *context, ps_builder *b, const ps_model_event *e,
                        const ps_event_arg *arg);
    /* A metadata event other than the five names every viewer knows. May be NULL: counted. */
    void (*metadata)(void *context, ps_builder *b, const ps_model_event *e);
    void *context;
} ps_dialect;

/* What the trace shall hold, by ps_needs bits (SLICES, FLOWS, COUNTERS, ARGS). NULL when memory is out. */
ps_trace_model *ps_trace_model_new(ps_builder *b, const ps_dialect *dialect, uint32_t needs);
void ps_trace_model_free(ps_trace_model *m); /* NULL is fine */

/* Takes one batch, in file order. */
PS_MUST_USE ps_code ps_trace_model_batch(ps_trace_model *m, const ps_event_batch *batch,
                                         ps_err *err);

/* After the last batch: ends what is open, pairs flows, counts what is left over. */
PS_MUST_USE ps_code ps_trace_model_finish(ps_trace_model *m, ps_err *err);

/* The row of the trace's track for a thread as the dialect placed it, for joining other files: the slice of `track`
 * that starts exactly then, PS_NONE when there is none. Valid after finish, before sealing. */
uint32_t ps_trace_model_slice_at(const ps_trace_model *m, uint32_t track, int64_t start_ns);

/* Sums to be added to every time (a base that the file names at its end); call before finish. */
void ps_trace_model_shift(ps_trace_model *m, int64_t base_ns);

#endif
