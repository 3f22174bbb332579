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
#include "model/worker_ops.h"

#define PS_NONE UINT32_MAX

typedef enum ps_track_kind {
    PS_TRACK_HOST_THREAD, /* pid, tid */
    PS_TRACK_STREAM,      /* tid = stream on a device */
    PS_TRACK_COMM_GROUP,  /* name = communicator */
    PS_TRACK_COMM_PLANE,  /* name = communicator, tid = plane in it */
    PS_TRACK_COUNTER,     /* name = series ("HBM 0/Read"), of a device or a process */
    PS_TRACK_DERIVED /* name = lane that a profiler computed (overlap, whole-recording spans) */
} ps_track_kind;

/* The first five fields are the identity of a track; label, order and unit are what a viewer shows. A text where the
 * format has a number for a thread is `name`, with tid -1. */
typedef struct ps_track {
    ps_track_kind kind;
    int64_t pid, tid; /* tid: thread or stream */
    int64_t device;   /* -1 on the host */
    ps_str name;
    ps_str label;  /* "pt_autograd_0", "stream 7"; none: made from the numbers */
    ps_str unit;   /* of a counter ("KB", "MB/s"); may be none */
    int64_t order; /* among the tracks of its process, lower first; PS_NO_ORDER */
} ps_track;

#define PS_NO_ORDER INT64_MAX

/* What a file says of a pid. Tracks of an unnamed process have no entry. */
typedef struct ps_process {
    int64_t pid;
    ps_str name, labels; /* "python", "GPU 0"; may be none */
    int64_t order;       /* PS_NO_ORDER */
    bool
        pid_is_text; /* the file names it by `name` only; `pid` is a negative number made up by the reader */
} ps_process;

/* kind, name in outputs, meaning. What runs on a device is from PS_SLICE_KERNEL on. */
#define PS_SLICE_KINDS(X)                                                                          \
    X(PS_SLICE_MARK_HOST, "mark", "an mstx or NVTX range as the host saw it")                      \
    X(PS_SLICE_MARK_DEVICE, "device-mark",                                                         \
      "the same range on its stream; a flow leads here from the host slice")                       \
    X(PS_SLICE_COMM_OP, "communication", "a collective or point-to-point operator")                \
    X(PS_SLICE_HOST_OP, "op", "an operator of a framework")                                        \
    X(PS_SLICE_ANNOTATION, "annotation",                                                           \
      "a range that the program named (record_function, ProfilerStep)")                            \
    X(PS_SLICE_QUEUE, "queue", "enqueue or dequeue between threads of a framework")                \
    X(PS_SLICE_CALL, "call", "a call into the driver or runtime (CANN, CUDA)")                     \
    X(PS_SLICE_PYTHON, "python", "a Python frame or module call")                                  \
    X(PS_SLICE_HOST_OTHER, "host-other", "anything else on a host thread")                         \
    X(PS_SLICE_INSTANT, "instant", "a point in time, duration 0")                                  \
    X(PS_SLICE_DERIVED, "derived", "computed by a profiler: overlap lanes, spans, projections")    \
    X(PS_SLICE_JOB, "job", "one job of a static graph executor (Paddle), device time")             \
    X(PS_SLICE_KERNEL, "kernel", "a computing kernel")                                             \
    X(PS_SLICE_COMM_KERNEL, "communication-kernel", "a kernel that communicates (nccl*)")          \
    X(PS_SLICE_COPY, "copy", "a copy or fill of memory by the device")                             \
    X(PS_SLICE_COMM_TASK, "communication-task", "one task of a communication operator on a plane") \
    X(PS_SLICE_SYNC, "synchronisation", "waiting or recording of events: a dependency, no work")   \
    X(PS_SLICE_TASK, "task", "any other task on a stream")

typedef enum ps_slice_kind {
#define X(kind, name, text) kind,
    PS_SLICE_KINDS(X)
#undef X
        PS_N_SLICE_KINDS
} ps_slice_kind;

/* "kernel" ... */
const char *ps_slice_kind_name(ps_slice_kind kind);

/* Whether a slice ran on a host thread with a beginning and an end (operators, calls, annotations, Python, marks), and
 * whether it is work that was launched (kernels, copies, tasks, waits, device marks, communication operators). */
bool ps_is_host_range(uint8_t kind);
bool ps_is_launched(uint8_t kind);

/* Columns of the slice table. Sorted by start, longer first, then input order. */
#define PS_SLICE_COLS(X)                                                                           \
    X(int64_t, start_ns)   /* from the trace's origin */                                           \
    X(int64_t, dur_ns)     /* >= 0 */                                                              \
    X(int64_t, source_row) /* row id or event number in the file it came from */                   \
    X(ps_str, name)                                                                                \
    X(ps_str, category) /* as the file groups it ("cpu_op"); may be none */                        \
    X(uint32_t, track)                                                                             \
    X(uint32_t, args) /* ps_trace_args */                                                          \
    X(uint8_t, kind)  /* ps_slice_kind */

typedef struct ps_slices {
    uint32_t n;
#define X(type, col) type *col;
    PS_SLICE_COLS(X)
#undef X
} ps_slices;

static inline int64_t ps_slice_end(const ps_slices *s, uint32_t slice) {
    return s->start_ns[slice] + s->dur_ns[slice];
}

/* One slice caused another. Sorted by from, to, then input order; never twice the same. `kind` is the name that the
 * format gives it ("fwdbwd", "HostToDevice", "ac2g", "MsTx"). Whatever its kind, a flow from a slice of the host to one
 * of the device says that this call launched that work. */
typedef struct ps_flow {
    uint32_t from, to;
    ps_str kind; /* none: a host mark and its device side */
} ps_flow;

/* Values of counters. Sorted by track, time, then input order. A value holds until the next one. */
#define PS_COUNTER_COLS(X)                                                                         \
    X(int64_t, time_ns) /* from the trace's origin */                                              \
    X(double, value)                                                                               \
    X(uint32_t, track)

typedef struct ps_counters {
    uint32_t n;
#define X(type, col) type *col;
    PS_COUNTER_COLS(X)
#undef X
} ps_counters;

typedef enum ps_arg_type {
    PS_ARG_INT,
    PS_ARG_TIME, /* absolute ns when given to the builder, from the origin when read */
    PS_ARG_REAL,
    PS_ARG_STR,
    PS_ARG_NUMBER, /* a number that fits neither: its decimal text */
    PS_ARG_JSON,   /* an array or object: its JSON text */
    PS_ARG_BOOL,   /* u.i 0 or 1 */
    PS_ARG_NULL
} ps_arg_type;

typedef struct ps_arg {
    ps_str key;
    ps_arg_type type;
    union {
        int64_t i; /* INT, TIME, BOOL */
        double r;  /* REAL */
        ps_str s;  /* STR, NUMBER, JSON */
    } u;
} ps_arg;

/* Walks the arguments of one slice in the order in which they were given. */
typedef struct ps_arg_iter {
    const uint8_t *at;
    const uint32_t *shape; /* what is left of the keys and types */
    uint32_t n_left;
    int64_t origin_ns; /* subtracted from TIME */
} ps_arg_iter;

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
    PS_NEED_MARKS = 1u << 2, /* host slice, device slice, flow */
    PS_NEED_COMM_OPS =
        1u << 3, /* with args srcRank, dstRank for point-to-point ones; those made from
                                    marks (model/comm_marks.h) come with the whole timeline only */
    PS_NEED_COMM_HOST = 1u << 4, /* with arg hostStart (ns from origin), when known */
    PS_NEED_COMM_MARKS =
        1u << 5, /* device side also of communication marks without a task of their own,
                                     where the input has no communication operators */
    PS_NEED_INVENTORY = 1u << 6, /* side tables "tables", "spans" and "facts" */
    PS_NEED_LABELS =
        1u << 7, /* side table StepTaskInfo(name, startNs, endNs) of an earlier pp_chart */
    /* The whole timeline. A reader that has no cheaper way may give all slices for any of the marks above. */
    PS_NEED_SLICES = 1u << 8, /* of every kind */
    PS_NEED_FLOWS = 1u << 9,  /* of every kind, with PS_NEED_SLICES */
    PS_NEED_COUNTERS = 1u << 10,
    PS_NEED_ARGS =
        1u << 11, /* every argument; without it those that the analyses name (docs/formats) */
    PS_NEED_TABLES =
        1u << 12, /* side tables: memory, PMU values, statistics that a profiler wrote */
    /* Of those only the small ones: StepTraceTime, CommAnalyzerTime, CommAnalyzerBandwidth, CommAnalyzerMatrix,
     * NPU_INFO, HOST_INFO, RANK_DEVICE_MAP */
    PS_NEED_STATISTICS = 1u << 13,
    /* Of the slices only kernels (perhaps without names, and those of a step that touch as one) and communication
     * operators, with their devices, and launches as far as steps cannot be told without; a reader that has no cheaper
     * way gives PS_NEED_SLICES | PS_NEED_FLOWS */
    PS_NEED_DEVICE_SPANS = 1u << 14,
    /* Where values of counters inside of kernels are in a table of their own (TASK_PMU_INFO), that side table with the shares
     * of time (names that end in _ratio) and nothing else; all of it with PS_NEED_TABLES */
    PS_NEED_UNIT_RATIOS = 1u << 15,
    PS_NEED_WORKER_OPS =
        1u << 16 /* of readers that name every op of a step: ps_trace_worker_ops() */
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

/* Who looks at a trace while it is filled. `added` is told whenever another PS_TOLD_SLICES slices are there, from the thread that
 * reads: what `so_far` holds is in input order, times count from its origin (which a format may only set later), and all of it is
 * good until the call ends. */
typedef struct ps_build_watcher {
    void (*added)(void *context, const ps_trace *so_far);
    void *context;
} ps_build_watcher;

#define PS_TOLD_SLICES 65536u

/* NULL when memory is out. End with ps_builder_seal() or ps_builder_free(). */
ps_builder *ps_builder_new(void);
/* Before the first slice. The watcher outlives the builder; NULL: nobody. */
void ps_builder_watch(ps_builder *b, const ps_build_watcher *watcher);
void ps_builder_free(ps_builder *b); /* NULL is fine */

/* Interns; the id is valid for this trace only. */
ps_str ps_builder_str(ps_builder *b, const char *s, size_t n);
const char *ps_builder_text(const ps_builder *b, ps_str s);
size_t ps_builder_text_len(const ps_builder *b, ps_str s); /* bytes; some may be zero */

/* The row of the track with this identity, added when new; PS_NONE when memory is out. Label, unit and order are set
 * by the functions below. */
uint32_t ps_builder_track(ps_builder *b, ps_track track);
/* Gives a track another identity, for formats that say late what a thread is; label, unit and order stay. False when
 * another track has that identity (nothing has changed) or memory is out. */
bool ps_builder_retrack(ps_builder *b, uint32_t row, ps_track track);

/* Adds a slice with absolute times and returns its provisional row for flows and args; PS_NONE when memory
 * is out, when end < start, or when a time lies outside +-2^61 ns (the caller counts the oddity; tell the
 * two apart with ps_builder_failed). */
uint32_t ps_builder_slice(ps_builder *b, ps_slice_kind kind, uint32_t track, ps_str name,
                          int64_t start_ns, int64_t end_ns, int64_t source_row);
/* The same with the file's name for the group it belongs to. */
uint32_t ps_builder_slice_in(ps_builder *b, ps_slice_kind kind, uint32_t track, ps_str name,
                             ps_str category, int64_t start_ns, int64_t end_ns, int64_t source_row);
/* For slices whose end comes later: new end of a slice; false when it lies before the start or out of range. */
bool ps_builder_slice_end(ps_builder *b, uint32_t slice, int64_t end_ns);
/* Start as it was given, and the end as it is now. */
int64_t ps_builder_slice_start_ns(const ps_builder *b, uint32_t slice);
int64_t ps_builder_slice_end_ns(const ps_builder *b, uint32_t slice);
ps_slice_kind ps_builder_slice_kind(const ps_builder *b, uint32_t slice);
void ps_builder_set_slice_kind(ps_builder *b, uint32_t slice, ps_slice_kind kind);
ps_str ps_builder_slice_name(const ps_builder *b, uint32_t slice);
uint32_t ps_builder_slice_track(const ps_builder *b, uint32_t slice);
uint32_t ps_builder_n_slices(const ps_builder *b);
/* All slices and tracks so far, in input order, for work over all of them; valid until the next one is added. */
const ps_slices *ps_builder_slices(const ps_builder *b);
const ps_track *ps_builder_tracks(const ps_builder *b, size_t *n);
/* All flows so far, in input order, between rows of those slices; valid until the next one is added. */
const ps_flow *ps_builder_flows(const ps_builder *b, size_t *n);
/* The rows of all slices so far in the order of a sealed trace: by start, longer first, then input order. Sealing uses it
 * when no slice is added or ended afterwards. NULL when memory is out. */
const uint32_t *ps_builder_slice_order(ps_builder *b);
/* Processes so far, in input order; the one with this pid, or NULL. Valid until the next one is added. */
const ps_process *ps_builder_processes(const ps_builder *b, size_t *n);
const ps_process *ps_builder_process_of(const ps_builder *b, int64_t pid);

void ps_builder_flow(ps_builder *b, uint32_t from,
                     uint32_t to); /* a host mark and its device side */
void ps_builder_flow_of(ps_builder *b, uint32_t from, uint32_t to, ps_str kind);
/* False when a time lies outside +-2^61 ns. */
bool ps_builder_counter(ps_builder *b, uint32_t track, int64_t time_ns, double value);

/* Adds an argument to a slice. Cheapest while the slice is the one added last. A TIME outside +-2^61 ns is left out. */
void ps_builder_arg(ps_builder *b, uint32_t slice, ps_arg arg);
/* Several at once, none of type TIME, none without a key. */
void ps_builder_args(ps_builder *b, uint32_t slice, const ps_arg *args, size_t n);
void ps_builder_arg_int(ps_builder *b, uint32_t slice, const char *key, int64_t value);
void ps_builder_arg_str(ps_builder *b, uint32_t slice, const char *key, ps_str value);
/* An integer argument holding an absolute time; it becomes relative to the origin with the slices. */
void ps_builder_arg_time(ps_builder *b, uint32_t slice, const char *key, int64_t absolute_ns);

/* What a viewer shows of a track or process; the last one given wins, none and PS_NO_ORDER change nothing. */
void ps_builder_track_label(ps_builder *b, uint32_t track, ps_str label, int64_t order);
void ps_builder_track_unit(ps_builder *b, uint32_t track, ps_str unit);
void ps_builder_process(ps_builder *b, ps_process process);
void ps_builder_step(ps_builder *b, int64_t id, int64_t start_ns, int64_t end_ns);
void ps_builder_meta(ps_builder *b, const char *key, const char *value);
/* The first value given for a key, or NULL; lives as long as the builder. */
const char *ps_builder_meta_text(const ps_builder *b, const char *key);
void ps_builder_has(ps_builder *b, uint32_t has);
/* Which file was read, as it was then: whoever writes into it later checks that it is still that one. */
void ps_builder_stamp(ps_builder *b, ps_file_stamp stamp);
/* Lent: they stay as long as the part that the reader was given (ps_src.noted). */
void ps_builder_worker_ops(ps_builder *b, const ps_worker_ops *ops);
/* What the times given count from, when the file says so only at its end: the origin of the trace becomes later by
 * this. False when the sum lies outside +-2^61 ns. TIME arguments count from the same base. */
bool ps_builder_time_base(ps_builder *b, int64_t base_ns);
/* Sets the origin of the trace (absolute ns as given to the builder); else it is the earliest time. For what belongs beside
 * another trace. */
void ps_builder_origin(ps_builder *b, int64_t origin_ns);
/* Takes ownership of the table (also on failure). */
void ps_builder_side_table(ps_builder *b, ps_table *table);
/* One given before, or NULL; lives as long as the trace. */
const ps_table *ps_builder_side_table_of(const ps_builder *b, const char *name);
ps_diag *ps_builder_diag(ps_builder *b);
/* So many more slices may come: room for them at once. False when memory is out. */
bool ps_builder_expect_slices(ps_builder *b, size_t n);

/* Memory ran out in an earlier call; sealing will fail with PS_NOMEM. */
bool ps_builder_failed(const ps_builder *b);

/* The sealed trace, or NULL with `err`; the builder is gone either way. */
ps_trace *ps_builder_seal(ps_builder *b, ps_err *err);

/* --- reading --------------------------------------------------------------------------------------- */

void ps_trace_free(ps_trace *t); /* NULL is fine */

/* Moves all times of the trace by by_ns, before anybody else looks at it. */
void ps_trace_move(ps_trace *t, int64_t by_ns);
/* Gives the metadata entry another key (static); nothing where there is none. */
void ps_trace_rename_meta(ps_trace *t, const char *key, const char *to);

int64_t ps_trace_origin_ns(const ps_trace *t);
const ps_slices *ps_trace_slices(const ps_trace *t);
const ps_track *ps_trace_tracks(const ps_trace *t, size_t *n);
const ps_flow *ps_trace_flows(const ps_trace *t, size_t *n);
/* What the reader lent, PS_NEED_WORKER_OPS; it outlives the trace. Empty: nothing. */
const ps_worker_ops *ps_trace_worker_ops(const ps_trace *t);
const ps_step *ps_trace_steps(const ps_trace *t, size_t *n); /* in start order */
const ps_counters *ps_trace_counters(const ps_trace *t);
const ps_process *ps_trace_processes(const ps_trace *t, size_t *n); /* in input order */
const ps_process *ps_trace_process(const ps_trace *t, int64_t pid); /* or NULL */
const char *ps_trace_text(const ps_trace *t, ps_str s);
size_t ps_trace_text_len(const ps_trace *t, ps_str s);
size_t ps_trace_n_texts(const ps_trace *t); /* all ids are below */
/* The id of a text in this trace, none when no event holds it. */
ps_str ps_trace_find_text(const ps_trace *t, const char *text);
uint32_t ps_trace_has(const ps_trace *t); /* ps_has bits */
ps_file_stamp ps_trace_stamp(const ps_trace *t);

/* The value of the metadata entry, or NULL. */
const char *ps_trace_meta(const ps_trace *t, const char *key);
const ps_meta *ps_trace_metas(const ps_trace *t, size_t *n);

ps_arg_iter ps_trace_args(const ps_trace *t, uint32_t slice);
bool ps_arg_next(ps_arg_iter *iter, ps_arg *out); /* false at the end */

/* False when the slice has no such argument (INT, TIME or BOOL). The first of equal keys. */
bool ps_trace_arg_int(const ps_trace *t, uint32_t slice, const char *key, int64_t *out);
/* The text of a STR, NUMBER or JSON argument, or NULL. */
const char *ps_trace_arg_text(const ps_trace *t, uint32_t slice, const char *key);

/* A named side table, or NULL. */
const ps_table *ps_trace_side_table(const ps_trace *t, const char *name);
const ps_table *const *ps_trace_side_tables(const ps_trace *t, size_t *n); /* in input order */

/* Bytes that a trace holds, by what is in them; columns of slices without the numbers of their arguments. */
typedef struct ps_trace_bytes {
    size_t columns, args, names, flows, counters, tables;
} ps_trace_bytes;
ps_trace_bytes ps_trace_size(const ps_trace *t);

/* Oddities met while reading. */
const ps_diag *ps_trace_diag(const ps_trace *t);

#endif
