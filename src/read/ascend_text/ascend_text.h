/* The insides of the reader of Ascend text exports, shared by its files:
 *
 *   ascend_text.c          recognising, ranks, reading one rank
 *   ascend_text_events.c   events to slices and counters while they come: the dialect of trace_model.h
 *   ascend_text_lanes.c    what needs all events: roles of processes, tracks, kinds
 *   ascend_text_ops.c      operators of communication: from their tasks and calls
 *   ascend_text_kernels.c  rows of kernel_details joined to their slices
 *   ascend_text_tables.c   slices and steps made of such rows where the trace is not there
 *   ascend_text_files.c    the files beside the trace
 *
 * Names of processes and threads may come after their slices, so every slice is put on the track of its (pid, tid)
 * first, and the tracks are told what they are at the end. */
#ifndef PS_READ_ASCEND_TEXT_H
#define PS_READ_ASCEND_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"
#include "base/input.h"
#include "model/trace.h"
#include "read/ascend/ascend_csv.h"
#include "read/ascend/ascend_meta.h"
#include "read/events/trace_model.h"
#include "read/reader.h"

#define PS_ASCEND_NO_ID INT64_C(4294967295)
#define PS_ASCEND_DEVICE_MASK 31 /* of the pid of a process that stands for a device */
/* Operators of communication are told apart, and get what their tasks and calls know. */
#define PS_ASCEND_NEEDS_OPS (PS_NEED_COMM_OPS | PS_NEED_COMM_HOST | PS_NEED_SLICES)

/* Texts that events are compared with. */
#define PS_ASCEND_WORDS(X)                                                                         \
    X(cpu_op, "cpu_op")                                                                            \
    X(user_annotation, "user_annotation")                                                          \
    X(enqueue, "enqueue")                                                                          \
    X(dequeue, "dequeue")                                                                          \
    X(python_function, "python_function")                                                          \
    X(async_task_queue, "async_task_queue")                                                        \
    X(fwdbwd, "fwdbwd")                                                                            \
    X(async_npu, "async_npu")                                                                      \
    X(host_to_device, "HostToDevice")                                                              \
    X(mstx, "MsTx")                                                                                \
    X(task_type, "Task Type")                                                                      \
    X(comm_task_type, "task type")                                                                 \
    X(notify_id, "notify_id")                                                                      \
    X(src_rank, "src rank")                                                                        \
    X(dst_rank, "dst rank")                                                                        \
    X(connection_id, "connection_id")                                                              \
    X(stream_id, "stream id")                                                                      \
    X(task_id, "task id")                                                                          \
    X(physic_stream_id, "Physic Stream Id")                                                        \
    X(hardware_task_id, "Task Id")                                                                 \
    X(acc_id, "acc_id")                                                                            \
    X(event_type, "event_type")                                                                    \
    X(domain, "domain")                                                                            \
    X(hit_rate, "Hit Rate(%)")

typedef struct ps_ascend_words {
#define X(word, text) ps_str word;
    PS_ASCEND_WORDS(X)
#undef X
} ps_ascend_words;

/* A task on a device: of all that start then, the number on its stream tells which. */
typedef struct ps_ascend_task_key {
    int64_t start_ns, device, stream, task;
} ps_ascend_task_key;

/* A task on a plane of a communicator, which says who talks to whom. */
typedef struct ps_ascend_comm_task {
    ps_ascend_task_key key; /* stream and task: -1 unknown */
    uint32_t slice;
    int64_t own, peer;
    bool is_notify;
} ps_ascend_comm_task;

/* The same task on its stream, which says which call launched it. */
typedef struct ps_ascend_launch {
    ps_ascend_task_key key;
    int64_t connection_id;
} ps_ascend_launch;

typedef struct ps_ascend_connection {
    uint32_t slice;
    int64_t id;
} ps_ascend_connection;

/* A lane of a communicator that metadata name; it need not have slices. */
typedef struct ps_ascend_named_lane {
    int64_t pid, tid, order; /* order: PS_NO_ORDER */
    ps_str name;             /* may be none */
} ps_ascend_named_lane;

typedef struct ps_ascend_counter {
    int64_t pid;
    uint32_t name, key; /* of the event and the argument */
    int64_t acc_id;     /* -1 none */
    uint32_t track;
} ps_ascend_counter;

typedef struct ps_ascend_kernel_row {
    int64_t start_ns;
    uint32_t row;
    bool is_taken;
} ps_ascend_kernel_row;

/* kernel_details.csv, op_summary or task_time. Columns but for name, start and duration may be PS_NO_COLUMN. */
typedef struct ps_ascend_kernels {
    const ps_table *table;
    size_t name, start, duration, stream, core, type, step, device, task, model;
    ps_ascend_kernel_row *rows; /* by start */
    size_t n_rows;
    ps_str *keys; /* by column, none: not given as an argument */
} ps_ascend_kernels;

typedef struct ps_ascend_text {
    ps_builder *builder;
    ps_diag *diag;
    uint32_t needs;
    ps_ascend_words words;
    ps_ascend_named_lane *named;
    size_t n_named, cap_named;
    ps_idmap named_rows; /* hash of (pid, tid), or the next free key after it -> row */
    ps_ascend_comm_task *tasks;
    size_t n_tasks, cap_tasks;
    ps_ascend_launch *launches;
    size_t n_launches, cap_launches;
    ps_ascend_connection *connections; /* of calls and of operators */
    size_t n_connections, cap_connections;
    ps_ascend_counter *counters;
    size_t n_counters, cap_counters;
    ps_idmap counter_rows; /* hash, or the next free key after it -> row */
    uint64_t seed;         /* of that hash */
    uint32_t *marks;       /* host marks that are known without their flow */
    size_t n_marks, cap_marks;
    ps_idmap flowed;            /* slices a mark's flow begins at */
    ps_ascend_kernels *kernels; /* may be NULL */
    uint8_t *lanes;             /* [n_lanes] by track: ps_ascend_lane, once all slices are there */
    size_t n_lanes;
    bool has_comm_rows; /* a table in place of the trace has communication operators */
    bool failed;        /* memory is out */
} ps_ascend_text;

typedef enum ps_ascend_lane {
    PS_LANE_OTHER,
    PS_LANE_FRAMEWORK,
    PS_LANE_CANN,
    PS_LANE_STREAM,
    PS_LANE_MARKS, /* device side of marks, beside its stream */
    PS_LANE_GROUP,
    PS_LANE_PLANE,
    PS_LANE_DERIVED
} ps_ascend_lane;

/* ascend_text_events.c */

/* False when memory is out. */
bool ps_ascend_text_init(ps_ascend_text *r, ps_builder *b, uint32_t needs);
void ps_ascend_text_fini(ps_ascend_text *r);
/* All events of the input. `kernels` of `r` may be set before. */
PS_MUST_USE ps_code ps_ascend_text_events(ps_ascend_text *r, ps_input *in, size_t n_threads,
                                          ps_event_stats *stats, ps_err *err);
/* The kind of a device task by its type (NULL or "N/A": none) and name. */
ps_slice_kind ps_ascend_task_kind(const char *type, const char *name);

/* ascend_text_lanes.c */

/* Some lane of a communicator has operators. */
bool ps_ascend_text_has_groups(const ps_ascend_text *r);

/* All slices are there: tracks and kinds. Memory that is out shows in r->failed. */
void ps_ascend_text_settle(ps_ascend_text *r);

/* ascend_text_ops.c */

/* Operators of communication get who they talk to and when the host called for them, where that is asked for. */
void ps_ascend_text_settle_ops(ps_ascend_text *r);

/* ascend_text_kernels.c */

/* Takes the rows of kernel_details or op_summary; `csv` is borrowed. NULL when memory is out, or with *is_useless when
 * the table lacks names or times. */
ps_ascend_kernels *ps_ascend_kernels_new(const ps_ascend_csv *csv, ps_builder *b, bool *is_useless);
void ps_ascend_kernels_free(ps_ascend_kernels *k); /* NULL is fine */
/* Adds what the row of this slice says as arguments. The slice is the one added last. */
void ps_ascend_kernels_join(ps_ascend_kernels *k, ps_builder *b, uint32_t slice, int64_t stream);
/* The same from a row that is known. */
void ps_ascend_kernels_add_args(const ps_ascend_kernels *k, ps_builder *b, uint32_t slice,
                                uint32_t row);
/* Counts the rows that no slice has taken. */
void ps_ascend_kernels_finish(const ps_ascend_kernels *k, ps_diag *diag, const char *file);

/* ascend_text_tables.c */

/* The table that this content is ("kernel_details", "communication"), NULL when it is none that profilers write. */
const char *ps_ascend_table_of(const unsigned char *head, size_t n);

typedef struct ps_ascend_files ps_ascend_files;

/* What the tables tell of the timeline, where the file that was named is one of them and the trace is not there: slices of
 * kernels and of communication operators, and steps. */
PS_MUST_USE ps_code ps_ascend_tables_timeline(ps_ascend_text *r, ps_ascend_files *files,
                                              ps_err *err);
/* The same of tables that are at hand; each may be NULL. */
typedef struct ps_ascend_tables {
    const ps_ascend_csv *kernels; /* kernel_details or op_summary */
    const ps_ascend_csv *tasks;   /* task_time: of what `kernels` has, only the rest counts */
    const ps_table *comm;         /* communication.json */
    const ps_table *steps;        /* step_trace_time or step_trace */
    int64_t device;               /* of rows that name none, -1 unknown */
} ps_ascend_tables;
PS_MUST_USE ps_code ps_ascend_tables_slices(ps_ascend_text *r, const ps_ascend_tables *tables,
                                            ps_err *err);

/* ascend_text_files.c */

/* Where the files of a rank lie; NULL when there are none. In the arena. */
typedef struct ps_ascend_places {
    const char *dir;      /* of the trace: CSV files and communication.json */
    const char *rank_dir; /* profiler_info, profiler_metadata.json */
    bool is_output; /* `dir` is one that the profilers make: everything in it belongs to the rank */
    /* The file that was named is not a trace but a table: which by content, and where it is. Else NULL. */
    const char *own_table, *own_path;
} ps_ascend_places;

PS_MUST_USE ps_code ps_ascend_places_find(const ps_src *src, ps_arena *arena, ps_ascend_places *out,
                                          ps_err *err);

/* Finds the files, reads those that `needs` asks for, and gives what must wait for the slices: kernel_details. */
ps_ascend_files *ps_ascend_files_open(const ps_ascend_places *places, uint32_t needs, ps_builder *b,
                                      ps_err *err);
void ps_ascend_files_close(ps_ascend_files *f); /* NULL is fine */
/* kernel_details or op_summary, NULL when it is not there or not asked for. */
const ps_ascend_csv *ps_ascend_files_kernels(const ps_ascend_files *f);
/* Of `places.own_table`: the tables that tell of the timeline. What they borrow lives as long as the files, and the builder. */
PS_MUST_USE ps_code ps_ascend_files_tables(ps_ascend_files *f, ps_builder *b, ps_ascend_tables *out,
                                           ps_err *err);
/* Gives the tables to the builder, counters, and names what the level should have and is not there. */
PS_MUST_USE ps_code ps_ascend_files_finish(ps_ascend_files *f, bool has_comm_ops, ps_builder *b,
                                           ps_err *err);
/* Side table facts(what, value): what profiler_info says of the recording. */
PS_MUST_USE ps_code ps_ascend_files_facts(const ps_ascend_files *f, ps_builder *b, ps_err *err);

#endif
