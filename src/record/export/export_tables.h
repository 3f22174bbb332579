/* One export: what the tables of the database have in common. Each file table_*.c fills some tables from the capture;
 * strings, streams and tasks are numbered here. */
#ifndef PS_RECORD_EXPORT_TABLES_H
#define PS_RECORD_EXPORT_TABLES_H

#include "base/buf.h"
#include "record/export/comm.h"
#include "record/export/database.h"
#include "record/export/export.h"
#include "record/export/project.h"
#include "record/export/texts.h"

#define PS_DB_NONE 4294967295           /* "none" in 32-bit columns */
#define PS_DB_FIRST_MARK 4000000001     /* connectionId of the first mark */
#define PS_DB_FIRST_OPERATOR 1342177280 /* 5 << 28: CONNECTION_IDS.id of the first operator */
#define PS_DB_FIRST_OPERATOR_KERNEL 1   /* connectionId of its kernel, where CUPTI gives none */

typedef enum ps_stream_kind {
    PS_STREAM_HANDLE,
    PS_STREAM_CUPTI,       /* CUPTI's number */
    PS_STREAM_COMMUNICATOR /* of NCCL, for its calls as the host made them */
} ps_stream_kind;

typedef struct ps_stream_entry { /* its place is the dense number */
    uint64_t handle;
    uint32_t context;
    ps_stream_kind kind;
    uint32_t n_tasks;
} ps_stream_entry;

typedef enum ps_task_what {
    PS_TASK_MARK,     /* `row`: string of its message */
    PS_TASK_OPERATOR, /* stands for the kernel of an operator; `row`: event */
    PS_TASK_KERNEL,   /* `row`: of the device rows, also below */
    PS_TASK_COMMUNICATION,
    PS_TASK_COPY,
    PS_TASK_SET,
    PS_TASK_GRAPH /* a replay as a whole */
} ps_task_what;

typedef struct ps_task {
    int64_t start_ns, end_ns, connection;
    int64_t device;
    uint32_t context, stream, row;
    uint8_t what;
} ps_task;

typedef struct ps_export {
    const ps_capture *c;
    const ps_export_options *options;
    ps_export_result *result;
    ps_database db;
    bool host_backend, cupti_backend;
    int64_t pid, rank, device_id;
    const char *backend;

    ps_texts strings;           /* STRING_IDS */
    uint32_t *string_of_text;   /* by text, + 1; 0 not asked yet */
    uint32_t *string_of_kernel; /* the same, of names of kernels as people write them */
    bool out_of_memory;         /* strings or streams: asked once per table */

    ps_stream_entry *streams;
    size_t n_streams, cap_streams;
    ps_task *tasks; /* sorted by start; globalTaskId is the place */
    size_t n_tasks, cap_tasks;
    uint32_t *operator_number;     /* by event, PS_NO_TEXT: no operator */
    size_t n_operators, n_emitted; /* emitted: by PyTorch as NVTX ranges, which stay ranges too */
    ps_comm_calls comm;            /* NCCL's */
    uint32_t devices_seen;         /* bits, for names in the trace view */
    size_t first_comm;             /* those before have their kernels */
    ps_projection *projected;      /* by event; NULL: there is no CUPTI */
    uint64_t n_without_device;     /* ranges and marks on a stream whose device times never came */
} ps_export;

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* STRING_IDS.id of a text of the capture, or of any other. */
int64_t ps_export_text(ps_export *e, uint32_t text);
int64_t ps_export_string(ps_export *e, const char *text, size_t n);

/* The same for the name of a kernel, as people write it; and that name, "" when memory is out. */
int64_t ps_export_kernel(ps_export *e, uint32_t text);
const char *ps_export_kernel_name(ps_export *e, uint32_t text);

/* globalTid */
static inline int64_t ps_export_tid(const ps_export *e, uint32_t tid) {
    return (int64_t)((uint64_t)e->pid << 32 | tid);
}

/* Number of the stream; the legacy stream is 0. */
uint32_t ps_export_stream(ps_export *e, ps_stream_kind kind, uint32_t context, uint64_t handle);

/* As the program called it, "" when it did not. */
const char *ps_export_stream_name(const ps_export *e, uint32_t stream);

/* "CUDA graph #7", of a device row. */
int64_t ps_export_graph(ps_export *e, uint32_t row);

/* What a task is called: a string. */
int64_t ps_export_task_name(ps_export *e, const ps_task *task);

/* The stream that stands for a communicator. */
uint32_t ps_comm_stream(ps_export *e, const ps_comm_call *call);

/* connectionId of mark number `n`: all but the one that means "none". */
int64_t ps_export_connection(uint64_t n);

/* A correlation id of CUPTI, kept out of the numbers of marks. */
int64_t ps_export_correlation(uint64_t id);

/* --- marks: all rows of MSTX_EVENTS in order, each with its number ------------------------------------------------- */

typedef struct ps_mark {
    int64_t start_ns, end_ns; /* PS_STILL_OPEN: no end */
    int64_t connection, message, domain;
    int type; /* ENUM_MSTX_EVENT_TYPE */
    uint64_t stream;
    uint32_t tid, end_tid;
    uint32_t event;           /* PS_NO_TEXT: a step, or a call of NCCL */
    uint32_t step;            /* PS_NO_TEXT: none */
    const ps_comm_call *comm; /* a call of NCCL besides its own range, else NULL */
} ps_mark;

typedef struct ps_mark_walk {
    size_t event, step, comm;
    uint64_t number;
} ps_mark_walk;

/* False at the end. Begin with {0}. */
bool ps_marks_next(ps_export *e, ps_mark_walk *w, ps_mark *out);

/* e->operator_number; false when memory is out. */
bool ps_number_operators(ps_export *e);

/* Whether a row of TASK belongs to it. */
bool ps_mark_has_task(const ps_export *e, const ps_mark *m);

/* --- filling ------------------------------------------------------------------------------------------------------ */

ps_code ps_fill_marks(ps_export *e, ps_err *err); /* MSTX_EVENTS, open ranges, NVTX, STEP_TIME */
ps_code ps_make_tasks(ps_export *e, ps_err *err); /* e->tasks */
ps_code ps_fill_tasks(ps_export *e, ps_err *err); /* TASK, COMPUTE_TASK_INFO, MEMCPY_INFO */
ps_code ps_fill_communication(ps_export *e, ps_err *err); /* CANN_API, COMMUNICATION_ */
ps_code ps_fill_operators(ps_export *e, ps_err *err);     /* PYTORCH_API, CONNECTION_IDS */
ps_code ps_fill_strings(ps_export *e, ps_err *err);       /* STRING_IDS */
ps_code ps_fill_facts(ps_export *e, ps_err *err);         /* META_DATA and the small tables */

/* --- values of META_DATA ------------------------------------------------------------------------------------------ */

void ps_export_add_drops(const ps_capture *c, ps_buf *out); /* JSON object of those not 0 */

/* profiler_info_<rank>.json and profiler_metadata.json: both or none. */
ps_code ps_profile_write_json(ps_export *e, const char *profile_dir, ps_err *err);
void ps_profile_remove_json(const ps_export *e, const char *profile_dir);
/* The user's metadata and ours that readers look for: calls fn with each key and its JSON. */
typedef ps_code (*ps_metadata_fn)(void *context, const char *key, const char *json, ps_err *err);
ps_code ps_profile_each_metadata(const ps_capture *c, ps_metadata_fn fn, void *context,
                                 ps_err *err);

#endif
