/* From events (trace_events.h) to slices, flows, counters and tracks of a trace: what every producer of trace-event
 * JSON has in common. A *dialect* says what the common rules cannot know: which process is a device, which kind a slice
 * is, what its own metadata mean.
 *
 *   m = ps_trace_model_new(b, &dialect, needs)
 *   ps_trace_model_batch(m, batch, err) for every batch, in file order
 *   ps_trace_model_finish(m, err)
 *   ps_trace_model_free(m)
 *
 * or all of it with ps_trace_model_read().
 *
 * Common rules: X; B and E by (pid, tid), strictly nested, in file order; i, I, R, P instants; C counters (one track
 * per series); b, n, e (and S, T, p, F) asynchronous ranges by (local pid, cat, id, scope), on the DERIVED track
 * (pid, name); s, t, f and bind_id/flow_in/flow_out flows; M names of processes and threads. What a phase lacks is
 * counted.
 *
 * Flows: the points of one id are put into time order; every step or end is led to from the beginning or step before
 * it. A point lies on the slice that begins exactly then on its thread, else on the innermost one that is open; an end
 * without "bp":"e" on the next slice that begins. Tracks of kind DERIVED take no flow points, and of one thread no more than 64 tracks do. */
#ifndef PS_READ_TRACE_MODEL_H
#define PS_READ_TRACE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/input.h"
#include "model/trace.h"
#include "read/events/trace_events.h"

typedef struct ps_trace_model ps_trace_model;

/* Stands for HOST_THREAD (pid, tid) in place(): that track is made only when a slice lies on it. */
#define PS_TRACK_USUAL (PS_NONE - 1)

/* One event with its texts already interned into the trace. */
typedef struct ps_model_event {
    const ps_event *event;
    const ps_event_batch *batch;
    ps_trace_model *model;
    ps_str name, cat; /* cat: none when the event has none */
    int64_t pid, tid; /* a text pid is a negative number here (ps_process), a text tid is -1 */
    ps_str tid_name;  /* the text of a text tid, else none */
    int64_t row;      /* number of the event in the file */
    uint32_t thread;  /* number of its (pid, tid), from 0 in order of first sight */
} ps_model_event;

typedef struct ps_dialect {
    /* Kind and track of a slice (X, B, i). `*kind` and `*track` come filled with the usual: HOST_OTHER or INSTANT on
     * PS_TRACK_USUAL. The track may be changed to any other, PS_NONE leaves the event out (counted by the dialect).
     * Also called when only PS_NEED_STEPS is asked for; then no slice is added. */
    void (*place)(void *context, ps_builder *b, const ps_model_event *e, ps_slice_kind *kind,
                  uint32_t *track);
    /* After a slice was added; its args are in e->batch. May be NULL. */
    void (*added)(void *context, ps_builder *b, const ps_model_event *e, uint32_t slice);
    /* Track of a counter series; NULL: {COUNTER, pid, device -1, name "<event name>/<key>", or the event's name when its
     * counter's first event has one key that is "value" or its own name}; an id stands behind the event's name in brackets. */
    uint32_t (*counter)(void *context, ps_builder *b, const ps_model_event *e,
                        const ps_event_arg *arg);
    /* A metadata event other than the five names every viewer knows. May be NULL: counted. */
    void (*metadata)(void *context, ps_builder *b, const ps_model_event *e);
    /* All slices are there and ended, no flow is paired yet. May be NULL. */
    void (*end)(void *context, ps_builder *b);
    /* Of several slices that begin exactly where a flow point lies, whether this one may be meant (`kind` as of the
     * flow). The innermost such is taken. NULL: the innermost one that is no instant, for an end without "bp":"e" the
     * outermost. */
    bool (*takes)(void *context, const ps_builder *b, ps_str kind, bool is_begin, uint32_t slice);
    /* True leaves all points of a decimal id out: its flows are known already. Ids come mostly in rising order. May be
     * NULL. */
    bool (*known)(void *context, const ps_builder *b, ps_str kind, uint64_t id);
    /* False leaves a paired flow out, because it is known already. May be NULL. */
    bool (*flow)(void *context, const ps_builder *b, uint32_t from, uint32_t to, ps_str kind);
    void *context;
    bool flow_names; /* the name of a flow event is part of its key, besides cat and id */
    bool
        exact_ends; /* ends lie only on slices that begin exactly then; none on what takes() refuses */
    bool
        zero_is_stray; /* events at time 0 are left out, and counted, behind a time more than a day from 0; before the
                           first other time, as that one says */
    bool printed_doubles;     /* as in ps_event_schema */
    int64_t overlap_slack_ns; /* a slice may end this much later than the one around it */
} ps_dialect;

/* What the trace shall hold, by ps_needs bits (SLICES, FLOWS, COUNTERS, STEPS). `dialect` is borrowed, NULL: the common
 * rules alone. NULL when memory is out. */
ps_trace_model *ps_trace_model_new(ps_builder *b, const ps_dialect *dialect, uint32_t needs);
void ps_trace_model_free(ps_trace_model *m); /* NULL is fine */

/* Takes one batch, in file order. */
PS_MUST_USE ps_code ps_trace_model_batch(ps_trace_model *m, const ps_event_batch *batch,
                                         ps_err *err);

/* After the last batch: ends what is open, pairs flows, counts what is left over. */
PS_MUST_USE ps_code ps_trace_model_finish(ps_trace_model *m, ps_err *err);

/* The slice of a track that starts exactly then, the longest of several; PS_NONE when there is none. For joining other
 * files. Valid after finish, before sealing. */
uint32_t ps_trace_model_slice_at(const ps_trace_model *m, uint32_t track, int64_t start_ns);

/* For dialects, while an event is handed to them. */

/* A text of the event's batch in the trace; text 0 is the empty string. */
ps_str ps_model_str(const ps_model_event *e, uint32_t text);
/* The last argument with this key, or NULL. */
const ps_event_arg *ps_model_arg(const ps_model_event *e, ps_str key);
/* The same as an integer; false when there is none or it is no integer. */
bool ps_model_arg_int(const ps_model_event *e, ps_str key, int64_t *out);

/* What reads a whole input: `wanted` and `needs` make the schema (all arguments with PS_NEED_ARGS); `member` as in
 * ps_event_sink, with the dialect's context. `n_threads` 0: one per processor. */
PS_MUST_USE ps_code ps_trace_model_read(ps_input *in, const ps_dialect *dialect, uint32_t needs,
                                        const char *const *wanted,
                                        ps_code (*member)(void *context, const char *key,
                                                          const char *json, size_t n, ps_err *err),
                                        size_t n_threads, ps_builder *b, ps_err *err);

#endif
