/*   TASK(startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType, contextId, streamId, taskId, modelId)
 *   COMPUTE_TASK_INFO(globalTaskId, name, opType, shapes ...)         a row here says: a kernel
 *   COMMUNICATION_TASK_INFO(globalTaskId, planeId, groupName ...)     a task of a communication operator
 *   COMMUNICATION_SCHEDULE_TASK_INFO(globalTaskId, name)              an AICPU kernel that drives one
 *   MEMCPY_INFO(globalTaskId, size, memcpyOperation)
 *
 * The small tables are read first; then one scan of TASK draws every row: the device side of a mark, a kernel, a task on
 * its plane, a copy, a wait, or just a task. */
#include "read/ascend_db/ascend_db_device.h"

#include <string.h>

#include "base/alloc.h"

/* Without arguments only what makes a name or a track, which stands first. */
enum { KERNEL_NAME, N_KERNEL_BASE };

#define KERNEL_SHAPES                                                                              \
    PS_DB_FIELD("inputShapes", TEXT), PS_DB_FIELD("inputDataTypes", TEXT),                         \
        PS_DB_FIELD("inputFormats", TEXT), PS_DB_FIELD("outputShapes", TEXT),                      \
        PS_DB_FIELD("outputDataTypes", TEXT), PS_DB_FIELD("outputFormats", TEXT),                  \
        PS_DB_FIELD("attrInfo", TEXT)
/* Up to 1.1 the number of blocks was called blockDim; newer files have blockNum, and blockDim means something else. */
static const ps_ascend_field KERNEL_OLD[] = {
    PS_DB_FIELD("name", TEXT),
    PS_DB_FIELD("taskType", TEXT),
    PS_DB_FIELD("opType", TEXT),
    PS_DB_FIELD_AS("blockDim", "blockNum", INT),
    PS_DB_FIELD_AS("mixBlockDim", "mixBlockNum", INT),
    KERNEL_SHAPES,
};
static const ps_ascend_field KERNEL_NEW[] = {
    PS_DB_FIELD("name", TEXT),     PS_DB_FIELD("taskType", TEXT),     PS_DB_FIELD("opType", TEXT),
    PS_DB_FIELD("blockNum", INT),  PS_DB_FIELD("mixBlockNum", INT),   KERNEL_SHAPES,
    PS_DB_FIELD("opState", TEXT),  PS_DB_FIELD("hf32Eligible", TEXT), PS_DB_FIELD("gridDim", TEXT),
    PS_DB_FIELD("blockDim", TEXT),
};

enum { COMM_TYPE, COMM_PLANE, COMM_GROUP, COMM_OP_ID, N_COMM_BASE };

static const ps_ascend_field COMM[] = {
    PS_DB_FIELD("taskType", TEXT),
    PS_DB_FIELD("planeId", INT),
    PS_DB_FIELD("groupName", TEXT),
    PS_DB_FIELD("opId", INT),
    PS_DB_FIELD_AS("name", "opName", TEXT),
    PS_DB_FIELD("srcRank", INT),
    PS_DB_FIELD("dstRank", INT),
    PS_DB_FIELD("size", INT),
    PS_DB_FIELD("bandwidth", REAL),
    PS_ENUM_FIELD("transportType", TRANSPORT_TYPE),
    PS_ENUM_FIELD("linkType", LINK_TYPE),
    PS_ENUM_FIELD("dataType", DATA_TYPE),
    PS_ENUM_FIELD("rdmaType", RDMA_TYPE),
    PS_DB_FIELD("notifyId", INT),
    PS_DB_FIELD("isMaster", INT),
};

static const ps_ascend_field SCHEDULE[] = {
    PS_DB_FIELD("name", TEXT),
    PS_DB_FIELD("taskType", TEXT),
    PS_DB_FIELD("opType", TEXT),
};

static const ps_ascend_field MEMCPY[] = {
    PS_DB_FIELD("size", INT),
    PS_ENUM_FIELD("memcpyOperation", MEMCPY_TYPE),
};

static const ps_ascend_field TASK[] = {
    PS_DB_FIELD("connectionId", INT), PS_DB_FIELD("taskId", INT),
    PS_DB_FIELD("contextId", INT),    PS_DB_FIELD("modelId", INT),
    PS_DB_FIELD("streamId", INT),     PS_DB_FIELD("globalTaskId", INT), /* where PMU rows name it */
};
#define TASK_STREAM 4 /* said by the track, but for tasks on a plane */
#define N_TASK_BASE 5

enum { START, END, CONNECTION, STREAM, DEVICE, GLOBAL_PID, GLOBAL_ID, TYPE, N_COLUMNS };

typedef struct tasks {
    ps_ascend *a;
    ps_ascend_marks *marks;
    ps_ascend_ops *ops;
    ps_ascend_home *home;
    ps_ascend_join kernels, comm, schedule, copies;
    ps_ascend_fields fields;
    ps_idmap kind_of_type; /* taskType -> ps_slice_kind */
    ps_str mstx;           /* names the tracks of device marks */
    ps_str unnamed;        /* a task of which the file says nothing */
    bool args, many_devices;
} tasks;

/* --- what a task is ----------------------------------------------------------------------------------- */

/* "Notify Wait", "EVENT_RECORD_SQE": capitals and blanks do not count. `words` are lower case with underscores. */
static bool begins_with_any(const char *type, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        for (; words[i][k] != '\0'; k++) {
            char c = type[k] >= 'A' && type[k] <= 'Z' ? (char)(type[k] - 'A' + 'a') : type[k];
            if ((c == ' ' ? '_' : c) != words[i][k]) {
                break;
            }
        }
        if (words[i][k] == '\0') {
            return true;
        }
    }
    return false;
}

static ps_slice_kind kind_of_name(const char *type) {
    static const char *const COPIES[] = {"memcpy", "memset", "sdma", "pcie_dma"};
    static const char *const WAITS[] = {"event_", "notify", "stream_wait"};
    return begins_with_any(type, COPIES, 4)  ? PS_SLICE_COPY
           : begins_with_any(type, WAITS, 3) ? PS_SLICE_SYNC
                                             : PS_SLICE_TASK;
}

static bool kind_of_type(tasks *t, int64_t type, ps_str name, ps_slice_kind *kind) {
    uint32_t known = ps_idmap_get(&t->kind_of_type, (uint64_t)type);
    if (known != PS_IDMAP_NONE) {
        *kind = (ps_slice_kind)known;
        return true;
    }
    *kind = kind_of_name(ps_builder_text(t->a->builder, name));
    return ps_idmap_put(&t->kind_of_type, (uint64_t)type, (uint32_t)*kind);
}

/* --- one row ------------------------------------------------------------------------------------------ */

typedef struct task {
    const ps_scan_batch *b;
    size_t i;
    int64_t pid, device, stream, id;
    ps_str type; /* of TASK; none when empty */
} task;

static uint32_t stream_track(const tasks *t, const task *k, ps_str name) {
    return ps_builder_track(t->a->builder, (ps_track){.kind = PS_TRACK_STREAM,
                                                      .pid = k->pid,
                                                      .tid = k->stream,
                                                      .device = k->device,
                                                      .name = name});
}

/* Level 0 knows one plane without a number. */
static uint32_t plane_track(const tasks *t, const task *k, const int64_t *comm) {
    int64_t plane = comm[COMM_PLANE] != PS_ASCEND_NULL ? comm[COMM_PLANE] : 0;
    ps_str group = {comm[COMM_GROUP] != PS_ASCEND_NULL ? (uint32_t)comm[COMM_GROUP] : 0};
    uint32_t track = ps_builder_track(t->a->builder, (ps_track){.kind = PS_TRACK_COMM_PLANE,
                                                                .pid = k->pid,
                                                                .tid = plane,
                                                                .device = k->device,
                                                                .name = group});
    ps_builder_track_label(t->a->builder, track, PS_STR_NONE, plane);
    return track;
}

static uint32_t add_device_task_slice(const tasks *t, const task *k, ps_slice_kind kind,
                                      uint32_t track, ps_str name) {
    return ps_ascend_slice(
        t->a, kind, track, name, k->type, ps_cell_int(&k->b->columns[START], k->i, INT64_MIN),
        ps_cell_int(&k->b->columns[END], k->i, INT64_MIN), "TASK", k->b->rowids[k->i]);
}

static void add_device_task_args(const tasks *t, const task *k, uint32_t slice,
                                 const ps_ascend_join *join, const int64_t *values, size_t first) {
    bool missing = false;
    if (slice == PS_NONE || !t->args) {
        return;
    }
    for (size_t f = 0; f < t->fields.n; f++) {
        if (f != TASK_STREAM || join == &t->comm) {
            int64_t value = ps_ascend_field_value(t->a, &t->fields.fields[f],
                                                  &k->b->columns[N_COLUMNS + f], k->i, &missing);
            ps_ascend_add_field(t->a, slice, &t->fields, f, value);
        }
    }
    if (join != NULL) {
        ps_ascend_join_args(t->a, join, values, slice, first);
    }
}

static ps_str text_or(int64_t value, ps_str otherwise) {
    return value != PS_ASCEND_NULL ? (ps_str){(uint32_t)value} : otherwise;
}

/* Tasks of level 0 are of type "N/A": then the task's own type is the better name. */
static ps_str comm_name(const tasks *t, const task *k, const int64_t *comm) {
    ps_str name = text_or(comm[COMM_TYPE], k->type);
    return strcmp(ps_builder_text(t->a->builder, name), "N/A") == 0 ? k->type : name;
}

static void add_comm_task(tasks *t, const task *k, const int64_t *comm) {
    uint32_t slice = add_device_task_slice(t, k, PS_SLICE_COMM_TASK, plane_track(t, k, comm),
                                           comm_name(t, k, comm));
    add_device_task_args(t, k, slice, &t->comm, comm, COMM_OP_ID);
    ps_ascend_ops_note_task(t->ops, comm[COMM_OP_ID] != PS_ASCEND_NULL ? comm[COMM_OP_ID] : -1,
                            k->pid, k->device);
}

static bool add_device_task_kernel(tasks *t, const task *k, const int64_t *kernel) {
    uint32_t slice = add_device_task_slice(t, k, PS_SLICE_KERNEL, stream_track(t, k, PS_STR_NONE),
                                           text_or(kernel[KERNEL_NAME], k->type));
    add_device_task_args(t, k, slice, &t->kernels, kernel, N_KERNEL_BASE);
    return ps_ascend_add_end(t->a, ps_cell_int(&k->b->columns[CONNECTION], k->i, -1), slice);
}

static bool add_other(tasks *t, const task *k) {
    ps_slice_kind kind = PS_SLICE_TASK;
    int64_t type = ps_cell_int(&k->b->columns[TYPE], k->i, PS_ASCEND_NULL);
    ps_str name = ps_str_is_none(k->type) ? t->unnamed : k->type;
    const int64_t *schedule = ps_ascend_join_find(&t->schedule, k->id);
    const int64_t *copy = ps_ascend_join_find(&t->copies, k->id);
    if (schedule != NULL) {
        name = text_or(schedule[0], name);
    } else if (copy != NULL) {
        kind = PS_SLICE_COPY;
    } else if (type != PS_ASCEND_NULL && !kind_of_type(t, type, k->type, &kind)) {
        return false;
    } else if (type == PS_ASCEND_NULL) {
        kind = kind_of_name(ps_builder_text(t->a->builder, k->type));
    }
    uint32_t slice = add_device_task_slice(t, k, kind, stream_track(t, k, PS_STR_NONE), name);
    if (schedule != NULL) {
        add_device_task_args(t, k, slice, &t->schedule, schedule, 1);
        return ps_ascend_add_end(t->a, ps_cell_int(&k->b->columns[CONNECTION], k->i, -1), slice);
    }
    add_device_task_args(t, k, slice, copy != NULL ? &t->copies : NULL, copy, 0);
    return kind != PS_SLICE_COPY ||
           ps_ascend_add_end(t->a, ps_cell_int(&k->b->columns[CONNECTION], k->i, -1), slice);
}

static ps_code take_device_task(tasks *t, const task *k, ps_err *err) {
    bool first = false;
    bool is_mark = ps_ascend_marks_own_task(t->marks, k->b, k->i, &first);
    if (is_mark && first) {
        return ps_ascend_marks_take_task(t->marks, k->b, k->i, stream_track(t, k, t->mstx), err);
    }
    const int64_t *comm = ps_ascend_join_find(&t->comm, k->id);
    const int64_t *kernel = comm == NULL ? ps_ascend_join_find(&t->kernels, k->id) : NULL;
    bool ok = true;
    if (comm != NULL) {
        add_comm_task(t, k, comm);
    } else if (kernel != NULL) {
        ok = add_device_task_kernel(t, k, kernel);
    } else if (is_mark) {
        ps_diag_add(t->a->diag, PS_ODD_MARK_TASKS, "TASK rowid %lld",
                    (long long)k->b->rowids[k->i]);
    } else {
        ok = add_other(t, k);
    }
    return ok && !ps_builder_failed(t->a->builder) ? PS_OK : ps_fail_nomem(err);
}

static void note_home(tasks *t, int64_t pid, int64_t device) {
    t->home->pid = t->home->pid == -1 ? pid : t->home->pid;
    if (t->home->device == -1 && !t->many_devices) {
        t->home->device = device;
    } else if (t->home->device != device) {
        t->many_devices = true;
        t->home->device = -1;
    }
}

static ps_code take_device_task_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
    tasks *t = context;
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < b->n_rows; i++) {
        bool missing = false;
        task k = {.b = b,
                  .i = i,
                  .pid = ps_cell_int(&b->columns[GLOBAL_PID], i, -1),
                  .device = ps_cell_int(&b->columns[DEVICE], i, -1),
                  .stream = ps_cell_int(&b->columns[STREAM], i, -1),
                  .id = ps_cell_int(&b->columns[GLOBAL_ID], i, -1),
                  .type = ps_ascend_cell_name(t->a, &b->columns[TYPE], i, &missing)};
        ps_ascend_count_missing(t->a, missing, "TASK", b->rowids[i]);
        note_home(t, k.pid, k.device);
        code = take_device_task(t, &k, err);
    }
    return code;
}

/* --- all together ------------------------------------------------------------------------------------- */

static ps_code read_joins(tasks *t, ps_err *err) {
    ps_ascend *a = t->a;
    static const char ID[] = "globalTaskId";
    bool new_names = ps_db_has_column(a->db, "COMPUTE_TASK_INFO", "blockNum");
    size_t n_kernel =
        new_names ? sizeof KERNEL_NEW / sizeof *KERNEL_NEW : sizeof KERNEL_OLD / sizeof *KERNEL_OLD;
    ps_code code = ps_ascend_join_read(a, &t->kernels, "COMPUTE_TASK_INFO", ID,
                                       new_names ? KERNEL_NEW : KERNEL_OLD,
                                       t->args ? n_kernel : (size_t)N_KERNEL_BASE, err);
    if (code == PS_OK) {
        code = ps_ascend_join_read(a, &t->comm, "COMMUNICATION_TASK_INFO", ID, COMM,
                                   t->args ? sizeof COMM / sizeof *COMM : (size_t)N_COMM_BASE, err);
    }
    if (code == PS_OK) {
        code = ps_ascend_join_read(a, &t->schedule, "COMMUNICATION_SCHEDULE_TASK_INFO", ID,
                                   SCHEDULE, t->args ? sizeof SCHEDULE / sizeof *SCHEDULE : 1, err);
    }
    return code == PS_OK ? ps_ascend_join_read(a, &t->copies, "MEMCPY_INFO", ID, MEMCPY,
                                               t->args ? sizeof MEMCPY / sizeof *MEMCPY : 0, err)
                         : code;
}

ps_code ps_ascend_tasks_read(ps_ascend *a, ps_ascend_marks *marks, ps_ascend_ops *ops,
                             ps_ascend_home *home, ps_err *err) {
    static const char *const COLUMNS[N_COLUMNS] = {PS_ASCEND_TASK_COLUMNS, "globalPid",
                                                   "globalTaskId", "taskType"};
    tasks t = {
        .a = a, .marks = marks, .ops = ops, .home = home, .args = ps_ascend_wants(a, PS_NEED_ARGS)};
    *home = (ps_ascend_home){-1, -1};
    if (!ps_db_has_table(a->db, "TASK")) {
        return PS_OK;
    }
    ps_ascend_join *const joins[] = {&t.kernels, &t.comm, &t.schedule, &t.copies};
    t.mstx = ps_builder_str(a->builder, "MSTX", 4);
    t.unnamed = ps_builder_str(a->builder, "task", 4);
    ps_code code = ps_builder_failed(a->builder) ? ps_fail_nomem(err) : read_joins(&t, err);
    if (code == PS_OK && t.args) {
        bool has_pmu = ps_db_has_table(a->db, "TASK_PMU_INFO");
        code = ps_ascend_fields_init(
            a, &t.fields, TASK, has_pmu ? sizeof TASK / sizeof *TASK : (size_t)N_TASK_BASE, err);
    }
    if (code == PS_OK) {
        code = ps_ascend_scan(a, "TASK", COLUMNS, N_COLUMNS, &t.fields, take_device_task_tasks, &t,
                              err);
    }
    for (size_t i = 0; i < 4; i++) {
        if (code == PS_OK) {
            ps_ascend_join_count(a, joins[i]);
        }
        ps_ascend_join_fini(joins[i]);
    }
    ps_idmap_fini(&t.kind_of_type);
    return code;
}

/* --- overlap ------------------------------------------------------------------------------------------ */

typedef struct overlap {
    ps_ascend *a;
    int64_t pid;
} overlap;

static ps_code take_overlap(void *context, const ps_scan_batch *b, ps_err *err) {
    const overlap *o = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t type = ps_cell_int(&b->columns[3], i, -1);
        ps_str name = ps_ascend_enum_name(o->a, PS_ASCEND_OVERLAP_TYPE, type);
        uint32_t track =
            ps_builder_track(o->a->builder, (ps_track){.kind = PS_TRACK_DERIVED,
                                                       .pid = o->pid,
                                                       .tid = -1,
                                                       .device = ps_cell_int(&b->columns[2], i, -1),
                                                       .name = name});
        ps_builder_track_label(o->a->builder, track, PS_STR_NONE, type);
        (void)ps_ascend_slice(o->a, PS_SLICE_DERIVED, track, name, PS_STR_NONE,
                              ps_cell_int(&b->columns[0], i, INT64_MIN),
                              ps_cell_int(&b->columns[1], i, INT64_MIN), "OVERLAP_ANALYSIS",
                              b->rowids[i]);
        if (ps_builder_failed(o->a->builder)) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

ps_code ps_ascend_overlap_read(ps_ascend *a, int64_t pid, ps_err *err) {
    static const char *const COLUMNS[] = {"startNs", "endNs", "deviceId", "type"};
    ps_code code = ps_ascend_enum_read(a, PS_ASCEND_OVERLAP_TYPE, err);
    return code == PS_OK ? ps_ascend_scan(a, "OVERLAP_ANALYSIS", COLUMNS, 4, NULL, take_overlap,
                                          &(overlap){a, pid}, err)
                         : code;
}
