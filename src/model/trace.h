/* ps_trace: what happened on one rank. Filled by one reader through a ps_builder, sealed, then read-only and
 * safe to read from many threads. Everything handed out is borrowed and lives until ps_trace_free().
 *
 * Times are nanoseconds from ps_trace_origin_ns() (an epoch of 2^60 ns leaves no room for sums); outputs
 * add the origin back. */
#ifndef PS_MODEL_TRACE_H
#define PS_MODEL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/strpool.h"
#include "model/table.h"

#define PS_NONE UINT32_MAX

typedef enum ps_track_kind {
    PS_TRACK_HOST_THREAD, /* pid, tid */
    PS_TRACK_STREAM,      /* tid = stream on a device */
    PS_TRACK_COMM_GROUP   /* name = communicator */
} ps_track_kind;

typedef struct ps_track {
    ps_track_kind kind;
    int64_t pid, tid; /* tid: thread or stream */
    int64_t device;   /* -1 on the host */
    ps_str name;
} ps_track;

typedef enum ps_slice_kind {
    PS_SLICE_MARK_HOST,   /* an mstx or NVTX range as the host saw it */
    PS_SLICE_MARK_DEVICE, /* the same range on its stream; a flow leads here from the host slice */
    PS_SLICE_COMM_OP      /* a collective or point-to-point operator */
} ps_slice_kind;

/* Columns of the slice table. Sorted by start, longer first, then input order. */
#define PS_SLICE_COLS(X)                                                                           \
    X(int64_t, start_ns)   /* from the trace's origin */                                           \
    X(int64_t, dur_ns)     /* >= 0 */                                                              \
    X(int64_t, source_row) /* row id in the table it came from */                                  \
    X(ps_str, name)                                                                                \
    X(uint32_t, track)                                                                             \
    X(uint8_t, kind) /* ps_slice_kind */

typedef struct ps_slices {
    uint32_t n;
#define X(type, col) type *col;
    PS_SLICE_COLS(X)
#undef X
} ps_slices;

/* A host slice and the device slice it caused. Sorted by `from`. */
typedef struct ps_flow {
    uint32_t from, to;
} ps_flow;

/* Sparse arguments. Sorted by (slice, key, value); keys in the order in which their texts were first met. */
typedef struct ps_arg {
    uint32_t slice;
    ps_str key;
    int64_t value;
} ps_arg;

typedef struct ps_step {
    int64_t id, start_ns, end_ns; /* host window, from the origin */
} ps_step;

typedef struct ps_meta {
    const char *key, *value;
} ps_meta;

/* What an analysis wants to see; readers load these columns and no others. */
typedef enum ps_needs {
    PS_NEED_META = 1u << 0,
    PS_NEED_STEPS = 1u << 1,
    PS_NEED_MARKS = 1u << 2,     /* host slice, device slice, flow */
    PS_NEED_COMM_OPS = 1u << 3,  /* with args srcRank, dstRank for point-to-point ones */
    PS_NEED_COMM_HOST = 1u << 4, /* with arg hostStart (ns from origin), when known */
    PS_NEED_COMM_MARKS =
        1u << 5, /* device side also of communication marks without a task of their own,
                                     where the input has no communication operators */
    PS_NEED_INVENTORY = 1u << 6, /* side tables "tables", "spans" and "facts" */
    PS_NEED_LABELS =
        1u << 7 /* side table StepTaskInfo(name, startNs, endNs) of an earlier pp_chart */
} ps_needs;

/* Which parts the input has at all, so that "no marks" and "marks not collected" can be told apart. */
typedef enum ps_has {
    PS_HAS_MARKS = 1u << 0,
    PS_HAS_COMM_OPS = 1u << 1,
    PS_HAS_COMM_TASKS = 1u << 2,
    PS_HAS_STEP_TASK_INFO = 1u << 3 /* a result of pp_chart from an earlier run */
} ps_has;

typedef struct ps_trace ps_trace;
typedef struct ps_builder ps_builder;

/* --- building ------------------------------------------------------------------------------------ */

/* NULL when memory is out. End with ps_builder_seal() or ps_builder_free(). */
ps_builder *ps_builder_new(void);
void ps_builder_free(ps_builder *b); /* NULL is fine */

/* Interns; the id is valid for this trace only. */
ps_str ps_builder_str(ps_builder *b, const char *s, size_t n);
const char *ps_builder_text(const ps_builder *b, ps_str s);

/* The row of the track with these properties, added when new; PS_NONE when memory is out. */
uint32_t ps_builder_track(ps_builder *b, ps_track track);

/* Adds a slice with absolute times and returns its provisional row for flows and args; PS_NONE when memory
 * is out, when end < start, or when a time lies outside +-2^61 ns (the caller counts the oddity; tell the
 * two apart with ps_builder_failed). */
uint32_t ps_builder_slice(ps_builder *b, ps_slice_kind kind, uint32_t track, ps_str name,
                          int64_t start_ns, int64_t end_ns, int64_t source_row);
void ps_builder_flow(ps_builder *b, uint32_t from, uint32_t to);
void ps_builder_arg_int(ps_builder *b, uint32_t slice, const char *key, int64_t value);
/* An integer argument holding an absolute time; it becomes relative to the origin with the slices. */
void ps_builder_arg_time(ps_builder *b, uint32_t slice, const char *key, int64_t absolute_ns);
void ps_builder_step(ps_builder *b, int64_t id, int64_t start_ns, int64_t end_ns);
void ps_builder_meta(ps_builder *b, const char *key, const char *value);
void ps_builder_has(ps_builder *b, uint32_t has);
/* Which file was read, as it was then: whoever writes into it later checks that it is still that one. */
void ps_builder_stamp(ps_builder *b, ps_file_stamp stamp);
/* Takes ownership of the table (also on failure). */
void ps_builder_side_table(ps_builder *b, ps_table *table);
ps_diag *ps_builder_diag(ps_builder *b);

/* Memory ran out in an earlier call; sealing will fail with PS_NOMEM. */
bool ps_builder_failed(const ps_builder *b);

/* The sealed trace, or NULL with `err`; the builder is gone either way. */
ps_trace *ps_builder_seal(ps_builder *b, ps_err *err);

/* --- reading --------------------------------------------------------------------------------------- */

void ps_trace_free(ps_trace *t); /* NULL is fine */
int64_t ps_trace_origin_ns(const ps_trace *t);
const ps_slices *ps_trace_slices(const ps_trace *t);
const ps_track *ps_trace_tracks(const ps_trace *t, size_t *n);
const ps_flow *ps_trace_flows(const ps_trace *t, size_t *n);
const ps_step *ps_trace_steps(const ps_trace *t, size_t *n); /* in start order */
const char *ps_trace_text(const ps_trace *t, ps_str s);
uint32_t ps_trace_has(const ps_trace *t); /* ps_has bits */
ps_file_stamp ps_trace_stamp(const ps_trace *t);

/* The value of the metadata entry, or NULL. */
const char *ps_trace_meta(const ps_trace *t, const char *key);
const ps_meta *ps_trace_metas(const ps_trace *t, size_t *n);

/* False when the slice has no such argument. */
bool ps_trace_arg_int(const ps_trace *t, uint32_t slice, const char *key, int64_t *out);

/* A named side table, or NULL. */
const ps_table *ps_trace_side_table(const ps_trace *t, const char *name);

/* Oddities met while reading. */
const ps_diag *ps_trace_diag(const ps_trace *t);

#endif
