/* The tables of `pipescope query`, written down once: the virtual tables, `--schema` and docs/sql.md come from here.
 *
 * Times named ..._ns that say when something was count from 1970 (as the clock of the rank's machine had it), durations are
 * plain nanoseconds. */
#ifndef PS_QUERY_SCHEMA_H
#define PS_QUERY_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "model/table.h"

/* What a column holds, as it is declared to SQLite: the declaration of a column of a result tells its unit, also through
 * subqueries. */
typedef enum ps_sql_type {
    PS_SQL_INTEGER,
    PS_SQL_REAL,
    PS_SQL_TEXT,
    PS_SQL_ANY, /* whatever the capture has there */
    PS_SQL_BYTES,
    PS_SQL_PERCENT,
    PS_SQL_DURATION, /* nanoseconds */
    PS_SQL_SLICE_ID, /* number of a slice of the row's rank */
    PS_SQL_MOMENT    /* nanoseconds since 1970 */
} ps_sql_type;

typedef struct ps_sql_column {
    const char *name;
    ps_sql_type type;
    bool hidden; /* not in SELECT * */
    const char *text;
} ps_sql_column;

/* Of each rank's trace. X(id, name, type, hidden, text); a column of that id is a row of the enum below. */
#define PS_SQL_RANK_COLUMNS(X)                                                                     \
    X(RANK, "rank", INTEGER, false, "global rank, -1 where the capture does not say")              \
    X(PROFILE, "profile", INTEGER, false,                                                          \
      "number of the profile, from 0: tells ranks of the same number apart")                       \
    X(MACHINE, "machine", INTEGER, false, "number of its machine in a job of several")             \
    X(HOST, "host", TEXT, false, "name of its machine, where the capture says it")                 \
    X(PROFILER, "profiler", TEXT, false, "who recorded it")                                        \
    X(FORMAT, "format", TEXT, false, "format of the file")                                         \
    X(PATH, "path", TEXT, false, "the file, below the path of the query")                          \
    X(START, "start_ns", MOMENT, false, "begin of its first slice or value")                       \
    X(END, "end_ns", MOMENT, false, "end of its last slice or value")                              \
    X(SLICES, "slices", INTEGER, false, "how many slices it has")

#define PS_SQL_STEP_COLUMNS(X)                                                                     \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(STEP, "step", INTEGER, false, "number of the step as the profiler counts it")                \
    X(START, "start_ns", MOMENT, false, "begin on the host")                                       \
    X(END, "end_ns", MOMENT, false, "end on the host")                                             \
    X(DUR, "dur_ns", DURATION, false, "length")                                                    \
    X(PROFILE, "profile", INTEGER, true, "number of the profile")

#define PS_SQL_TRACK_COLUMNS(X)                                                                    \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(ID, "id", INTEGER, false, "number of the track in its rank")                                 \
    X(KIND, "kind", TEXT, false, "thread, stream, group, plane, counter or derived")               \
    X(PID, "pid", INTEGER, false, "process")                                                       \
    X(PROCESS, "process", TEXT, false, "name of the process")                                      \
    X(TID, "tid", INTEGER, false, "thread, stream or plane")                                       \
    X(DEVICE, "device", INTEGER, false, "device, NULL on the host")                                \
    X(NAME, "name", TEXT, false, "communicator, series of a counter, or the thread's text")        \
    X(LABEL, "label", TEXT, false, "what the capture calls it")                                    \
    X(UNIT, "unit", TEXT, false, "of a counter")                                                   \
    X(PROFILE, "profile", INTEGER, true, "number of the profile")

#define PS_SQL_SLICE_COLUMNS(X)                                                                    \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(ID, "id", SLICE_ID, false, "number of the slice in its rank, by start")                      \
    X(TRACK, "track", INTEGER, false, "track.id")                                                  \
    X(KIND, "kind", TEXT, false, "what it is: kernel, call, op, communication ...")                \
    X(NAME, "name", TEXT, false, "name")                                                           \
    X(CATEGORY, "category", TEXT, false, "as the file groups it")                                  \
    X(START, "start_ns", MOMENT, false, "begin")                                                   \
    X(DUR, "dur_ns", DURATION, false, "length")                                                    \
    X(END, "end_ns", MOMENT, false, "end")                                                         \
    X(STEP, "step", INTEGER, false,                                                                \
      "step.step in which it, or the call that launched it, began; NULL outside of all")           \
    X(PARENT, "parent", SLICE_ID, false, "slice.id of the host slice around it on its thread")     \
    X(CALL, "call", SLICE_ID, false, "slice.id of the call that launched it")                      \
    X(SELF, "self_ns", DURATION, false, "length without what lies inside it on its thread")        \
    X(PROFILE, "profile", INTEGER, true, "number of the profile")

#define PS_SQL_COUNTER_COLUMNS(X)                                                                  \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(TRACK, "track", INTEGER, false, "track.id")                                                  \
    X(NAME, "name", TEXT, false, "track.name: the series")                                         \
    X(TIME, "time_ns", MOMENT, false, "since when; it holds until the next value of its track")    \
    X(VALUE, "value", REAL, false, "the value, in track.unit")                                     \
    X(PROFILE, "profile", INTEGER, true, "number of the profile")

#define PS_SQL_FLOW_COLUMNS(X)                                                                     \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(FROM, "from_slice", SLICE_ID, false, "slice.id of the cause")                                \
    X(TO, "to_slice", SLICE_ID, false, "slice.id of what it caused")                               \
    X(KIND, "kind", TEXT, false,                                                                   \
      "as the format calls it; mark: a mark and its side on the device")                           \
    X(PROFILE, "profile", INTEGER, true, "number of the profile")

#define PS_SQL_ARG_COLUMNS(X)                                                                      \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(SLICE, "slice", SLICE_ID, false, "slice.id")                                                 \
    X(KEY, "key", TEXT, false, "name of the argument")                                             \
    X(VALUE, "value", ANY, false, "number or text; arrays and objects as JSON, moments from 1970") \
    X(TYPE, "type", TEXT, false, "integer, time, real, text, number, json, bool or null")          \
    X(PROFILE, "profile", INTEGER, true, "number of the profile")

#define PS_SQL_META_COLUMNS(X)                                                                     \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(KEY, "key", TEXT, false, "name of the entry")                                                \
    X(VALUE, "value", TEXT, false, "its value, objects as JSON")                                   \
    X(PROFILE, "profile", INTEGER, true, "number of the profile")

/* Made of each rank's trace; ids are members of the row's struct. */
#define PS_SQL_KERNEL_COLUMNS(X)                                                                   \
    X(rank, "rank", INTEGER, false, "global rank")                                                 \
    X(slice, "slice", SLICE_ID, false, "slice.id")                                                 \
    X(name, "name", TEXT, false, "name")                                                           \
    X(type, "type", TEXT, false, "type of the operation, else the operator that launched it")      \
    X(class, "class", TEXT, false, "what it computes, as the view overall groups it: Matmul/Cube") \
    X(core, "core", TEXT, false, "which cores of the chip run it, where the capture says so")      \
    X(device, "device", INTEGER, false, "device")                                                  \
    X(track, "track", INTEGER, false, "track.id of its stream")                                    \
    X(step, "step", INTEGER, false, "step of its launch, NULL outside of all")                     \
    X(start_ns, "start_ns", MOMENT, false, "begin")                                                \
    X(dur_ns, "dur_ns", DURATION, false, "length")                                                 \
    X(end_ns, "end_ns", MOMENT, false, "end")                                                      \
    X(call, "call", SLICE_ID, false, "slice.id of the call that launched it")                      \
    X(op, "op", SLICE_ID, false, "slice.id of the operator of the framework behind it")            \
    X(op_name, "op_name", TEXT, false, "name of that operator")                                    \
    X(module, "module", TEXT, false, "path of the module whose call launched it")                  \
    X(shapes, "shapes", TEXT, false, "of its inputs, else of those of its operator")               \
    X(flops, "flops", REAL, false, "floating point operations, as the mode operator_mfu has them") \
    X(mfu_percent, "mfu_percent", PERCENT, false, "share of the chip's peak")                      \
    X(profile, "profile", INTEGER, true, "number of the profile")

/* Communication of all ranks, matched; ids are members of the row's struct. */
#define PS_SQL_COMM_COLUMNS(X)                                                                     \
    X(rank, "rank", INTEGER, false, "global rank")                                                 \
    X(slice, "slice", SLICE_ID, false, "slice.id")                                                 \
    X(kind, "kind", TEXT, false, "collective, send or receive")                                    \
    X(name, "name", TEXT, false, "name of the operator, else of the kernel")                       \
    X(type, "type", TEXT, false, "what it does: hcom_allReduce_, allreduce ...")                   \
    X(communicator, "communicator", TEXT, false, "as the capture names it")                        \
    X(step, "step", INTEGER, false, "step of its launch, NULL outside of all")                     \
    X(start_ns, "start_ns", MOMENT, false, "begin, by the clock of the rank's machine")            \
    X(dur_ns, "dur_ns", DURATION, false, "length")                                                 \
    X(end_ns, "end_ns", MOMENT, false, "end")                                                      \
    X(host_start_ns, "host_start_ns", MOMENT, false, "begin of the call that launched it")         \
    X(bytes, "bytes", BYTES, false, "elements times the size of their type")                       \
    X(elements, "elements", INTEGER, false, "how many elements")                                   \
    X(data_type, "data_type", TEXT, false, "their type")                                           \
    X(sequence, "sequence", INTEGER, false,                                                        \
      "its number in the communicator, where captures have one")                                   \
    X(peer, "peer", INTEGER, false, "of a send or receive the rank at its other end")              \
    X(match, "match", INTEGER, false,                                                              \
      "equal for the operators of all ranks that are one collective, or a send and its receive")   \
    X(ranks, "ranks", INTEGER, false, "how many of the ranks read are in the match")               \
    X(group_size, "group_size", INTEGER, false,                                                    \
      "how many ranks the communicator has, read or not, where the capture says it")               \
    X(late_ns, "late_ns", DURATION, false,                                                         \
      "how long after the first rank it began, on one clock; of collectives")                      \
    X(waited_ns, "waited_ns", DURATION, false,                                                     \
      "what of its time it waited for the last rank, or for the send")                             \
    X(profile, "profile", INTEGER, false, "number of the profile")

#define PS_SQL_WAIT_COLUMNS(X)                                                                     \
    X(rank, "rank", INTEGER, false, "who waited")                                                  \
    X(for_rank, "for_rank", INTEGER, false, "for whom: who came last, or who sent")                \
    X(kind, "kind", TEXT, false, "collective or receive")                                          \
    X(communicator, "communicator", TEXT, false, "as the capture names it")                        \
    X(name, "name", TEXT, false, "name of the operator that waited")                               \
    X(step, "step", INTEGER, false, "step of its launch, NULL outside of all")                     \
    X(start_ns, "start_ns", MOMENT, false, "begin, by the clock of the rank's machine")            \
    X(waited_ns, "waited_ns", DURATION, false, "how long")                                         \
    X(ranks, "ranks", INTEGER, false, "how many of the ranks read are in the match")               \
    X(group_size, "group_size", INTEGER, false,                                                    \
      "how many ranks the communicator has, read or not, where the capture says it")               \
    X(slice, "slice", SLICE_ID, false, "slice.id of the operator that waited")                     \
    X(for_slice, "for_slice", INTEGER, false, "slice.id of the other one, on its rank")            \
    X(match, "match", INTEGER, false, "comm.match of both")

/* Of the pipeline chart. */
#define PS_SQL_OP_COLUMNS(X)                                                                       \
    X(ID, "id", INTEGER, false, "number of the op")                                                \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(STAGE, "stage", INTEGER, false, "position of the rank in its pipeline")                      \
    X(PIPELINE, "pipeline", INTEGER, false, "which pipeline: one a data-parallel replica")         \
    X(STEP, "step", INTEGER, false, "step, NULL outside of all")                                   \
    X(KIND, "kind", TEXT, false, "F, B, BI, BW, FB, LOGITS, SEND, RECV or OTHER")                  \
    X(CHUNK, "chunk", INTEGER, false, "piece of the model on the rank")                            \
    X(MICROBATCH, "microbatch", INTEGER, false, "of its chunk; of the forward in an FB")           \
    X(CHUNK2, "chunk2", INTEGER, false, "of the backward in an FB")                                \
    X(MICROBATCH2, "microbatch2", INTEGER, false, "of the backward in an FB")                      \
    X(PHASE, "phase", INTEGER, false, "phase of DualPipeV")                                        \
    X(NAME, "name", TEXT, false, "label")                                                          \
    X(START, "start_ns", MOMENT, false, "begin on the device, by the clock of the first machine")  \
    X(END, "end_ns", MOMENT, false, "end on the device")                                           \
    X(DUR, "dur_ns", DURATION, false, "length on the device")                                      \
    X(WORK, "work_ns", DURATION, false, "work of the device inside it, where that is known")       \
    X(HOST_START, "host_start_ns", MOMENT, false, "begin on the host, where that is known")        \
    X(HOST_END, "host_end_ns", MOMENT, false, "end on the host")                                   \
    X(SOURCE, "source", TEXT, false,                                                               \
      "how the label is known: mark, aligned, message, table, inferred or simulated")

#define PS_SQL_BUBBLE_COLUMNS(X)                                                                   \
    X(RANK, "rank", INTEGER, false, "global rank")                                                 \
    X(STAGE, "stage", INTEGER, false, "position of the rank in its pipeline")                      \
    X(PIPELINE, "pipeline", INTEGER, false, "which pipeline")                                      \
    X(STEP, "step", INTEGER, false, "step")                                                        \
    X(CAUSE, "cause", TEXT, false, "warm-up, stall or cool-down")                                  \
    X(START, "start_ns", MOMENT, false, "begin")                                                   \
    X(END, "end_ns", MOMENT, false, "end")                                                         \
    X(DUR, "dur_ns", DURATION, false, "length")                                                    \
    X(WAITS_FOR, "waits_for", INTEGER, false, "op.id whose result came last, where that is known")

/* X(id, name, text, example). The lists above are PS_SQL_<id>_COLUMNS. */
#define PS_SQL_TRACE_TABLES(X)                                                                     \
    X(RANK, "rank", "The profiles found under the path, a row each.",                              \
      "SELECT rank, profiler, slices FROM rank ORDER BY slices DESC")                              \
    X(STEP, "step", "The steps of each rank.",                                                     \
      "SELECT step, max(dur_ns) AS longest_ns FROM step GROUP BY step ORDER BY step")              \
    X(TRACK, "track",                                                                              \
      "Threads, streams, communicators and counters: what slices and values lie on.",              \
      "SELECT kind, count(*) AS tracks FROM track GROUP BY kind ORDER BY kind")                    \
    X(SLICE, "slice",                                                                              \
      "Everything with a begin and an end: kernels, calls, operators, ranges, communication.",     \
      "SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns FROM slice WHERE kind = 'kernel' "  \
      "GROUP BY name ORDER BY total_ns DESC LIMIT 10")                                             \
    X(COUNTER, "counter", "Values of counters over time.",                                         \
      "SELECT rank, name, max(value) FROM counter GROUP BY rank, name")                            \
    X(FLOW, "flow", "What caused what: launches, forward to backward.",                            \
      "SELECT c.name, k.name, k.start_ns - c.start_ns AS delay_ns FROM flow f "                    \
      "JOIN slice c ON c.rank = f.rank AND c.id = f.from_slice "                                   \
      "JOIN slice k ON k.rank = f.rank AND k.id = f.to_slice ORDER BY delay_ns DESC LIMIT 10")     \
    X(ARG, "arg", "Arguments of slices, a row each.",                                              \
      "SELECT key, count(*) AS slices FROM arg GROUP BY key ORDER BY slices DESC")                 \
    X(META, "meta", "What each profile says of itself and its job.",                               \
      "SELECT rank, value FROM meta WHERE key = 'world_size'")

#define PS_SQL_PROFILE_TABLES(X)                                                                   \
    X(KERNEL, "kernel", "Kernels that compute, with who launched them and what they are.",         \
      "SELECT class, count(*) AS kernels, sum(dur_ns) AS total_ns, sum(flops) / sum(dur_ns) / "    \
      "1e3 AS tflops FROM kernel GROUP BY class ORDER BY total_ns DESC")

#define PS_SQL_JOB_TABLES(X)                                                                       \
    X(COMM, "comm", "Communication of all ranks: what is one collective, who came late.",          \
      "SELECT match, name, min(dur_ns) AS transfer_ns, max(waited_ns) AS longest_wait_ns "         \
      "FROM comm WHERE kind = 'collective' GROUP BY match ORDER BY longest_wait_ns DESC LIMIT 10") \
    X(WAIT, "wait", "Who waited for whom, in each collective and receive.",                        \
      "SELECT for_rank, sum(waited_ns) AS others_waited_ns FROM wait GROUP BY for_rank "           \
      "ORDER BY others_waited_ns DESC")

#define PS_SQL_CHART_TABLES(X)                                                                     \
    X(OP, "op", "The ops of the pipeline chart, as `pipescope chart` draws them.",                 \
      "SELECT stage, kind, count(*) AS ops, avg(dur_ns) AS mean_ns FROM op GROUP BY stage, kind")  \
    X(BUBBLE, "bubble", "Idle time of the stages inside of steps.",                                \
      "SELECT stage, cause, sum(dur_ns) AS bubble_ns FROM bubble GROUP BY stage, cause")

#define PS_SQL_TABLES(X)                                                                           \
    PS_SQL_TRACE_TABLES(X)                                                                         \
    PS_SQL_PROFILE_TABLES(X) PS_SQL_JOB_TABLES(X) PS_SQL_CHART_TABLES(X)

typedef enum ps_sql_table_id {
#define X(id, name, text, example) PS_SQL_##id,
    PS_SQL_TABLES(X)
#undef X
        PS_N_SQL_TABLES
} ps_sql_table_id;

#define PS_SQL_FIRST_PROFILE_TABLE PS_SQL_KERNEL
#define PS_SQL_FIRST_JOB_TABLE PS_SQL_COMM

typedef struct ps_sql_table {
    const char *name, *text, *example;
    const ps_sql_column *columns;
    size_t n_columns;
} ps_sql_table;

/* Of one of them at most. */
enum { PS_SQL_MOST_COLUMNS = 24 };
extern const ps_sql_table ps_sql_tables[PS_N_SQL_TABLES];

/* The declaration of a type, and what a declaration means: NULL is an expression, of which nothing is known. */
const char *ps_sql_type_name(ps_sql_type type);
typedef struct ps_sql_unit {
    ps_unit unit;
    bool is_moment, is_slice;
} ps_sql_unit;
ps_sql_unit ps_sql_unit_of(const char *declared);
ps_col_type ps_sql_col_type_of(const char *declared); /* INT where it does not say */
/* The declaration of a column of a ps_table. */
const char *ps_sql_column_type(const ps_column *column);

#endif
