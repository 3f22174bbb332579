/* Databases of the Ascend PyTorch, MindSpore and msMonitor profilers (SQLite).
 *
 *   STRING_IDS(id, value)   MSTX_EVENTS(startNs, endNs, message -> STRING_IDS, connectionId, ...)
 *   TASK(startNs, endNs, connectionId, streamId, ...)   COMMUNICATION_OP(opName, ..., opId)   META_DATA ...
 *
 * A mark is a row of MSTX_EVENTS (host) and, when it was recorded on a stream, the TASK row with the same
 * connectionId (device). Columns are addressed by name: every version of the writers has its own order.
 *
 * One pass over each table that is asked for. Tables are read in the order MSTX_EVENTS, COMMUNICATION_OP,
 * STRING_IDS (only the texts those two name), COMMUNICATION_TASK_INFO, TASK. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/idmap.h"
#include "base/lit.h"
#include "read/ascend_info.h"
#include "read/ascend_meta.h"
#include "read/reader.h"
#include "read/sqlite/db.h"
#include "read/sqlite/scan.h"

#define NO_ID 4294967295 /* "none" in ids and ranks */

typedef struct host_mark {
    int64_t start_ns, end_ns, connection_id, thread_id, row;
    int64_t message; /* id in STRING_IDS */
    uint32_t slice;
} host_mark;

/* What COMMUNICATION_TASK_INFO says of one operator: from its notify tasks, or else from any task. */
typedef struct peers {
    int64_t own[2], peer[2]; /* [0] any task, [1] notify tasks; -1 none, -2 more than one */
    bool group_differs;
} peers;

typedef struct comm_op {
    int64_t start_ns, end_ns, connection_id, op_id, row;
    int64_t name, group; /* ids in STRING_IDS */
    int64_t host_start_ns;
    peers peers;
} comm_op;

typedef struct reading {
    ps_db *db;
    ps_builder *builder;
    ps_diag *diag;
    uint32_t needs;
    host_mark *marks;
    size_t n_marks, cap_marks;
    comm_op *ops;
    size_t n_ops, cap_ops;
    ps_idmap wanted; /* id in STRING_IDS -> row in texts */
    ps_str *texts;
    size_t n_texts, cap_texts;
    int64_t notify_ids[2]; /* ids of Notify_Record and Notify_Wait, -1 when absent */
    ps_idmap mark_of_connection, op_of_id, op_of_connection;
} reading;

#define SCAN(r, table, fn, err, ...)                                                               \
    ps_scan((r)->db, table, (const char *const[]){__VA_ARGS__},                                    \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), fn, r, err)

/* --- strings ----------------------------------------------------------------------------------------- */

static bool want_string(reading *r, int64_t id) {
    if (id < 0 || ps_idmap_get(&r->wanted, (uint64_t)id) != PS_IDMAP_NONE) {
        return true;
    }
    if (!ps_grow(&r->texts, &r->cap_texts, r->n_texts + 1, UINT32_MAX - 1, sizeof *r->texts)) {
        return false;
    }
    r->texts[r->n_texts] = PS_STR_NONE;
    return ps_idmap_put(&r->wanted, (uint64_t)id, (uint32_t)r->n_texts++);
}

static ps_str text_of(const reading *r, int64_t id) {
    uint32_t row = id >= 0 ? ps_idmap_get(&r->wanted, (uint64_t)id) : PS_IDMAP_NONE;
    return row != PS_IDMAP_NONE ? r->texts[row] : PS_STR_NONE;
}

static ps_code take_strings(void *context, const ps_scan_batch *b, ps_err *err) {
    reading *r = context;
    static const char *const NOTIFY[] = {"Notify_Record", "Notify_Wait"};
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t id = ps_cell_int(&b->columns[0], i, -1);
        uint32_t row = id >= 0 ? ps_idmap_get(&r->wanted, (uint64_t)id) : PS_IDMAP_NONE;
        ps_scan_bytes text = ps_cell_text(&b->columns[1], i);
        for (size_t k = 0; k < 2; k++) {
            if (text.size_bytes == strlen(NOTIFY[k]) &&
                memcmp(text.data, NOTIFY[k], text.size_bytes) == 0) {
                r->notify_ids[k] = id;
            }
        }
        if (row != PS_IDMAP_NONE) {
            r->texts[row] = ps_builder_str(r->builder, text.data, text.size_bytes);
            if (ps_str_is_none(r->texts[row])) {
                return ps_fail_nomem(err);
            }
        }
    }
    return PS_OK;
}

/* --- metadata and steps ------------------------------------------------------------------------------ */

static ps_code take_metadata(void *context, const ps_scan_batch *b, ps_err *err) {
    reading *r = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_scan_bytes key = ps_cell_text(&b->columns[0], i);
        ps_scan_bytes value = ps_cell_text(&b->columns[1], i);
        char *k = ps_strndup(key.data, key.size_bytes);
        char *v = ps_strndup(value.data, value.size_bytes);
        if (k != NULL && v != NULL) {
            ps_builder_meta(r->builder, k, v);
        }
        ps_free(k);
        ps_free(v);
        if (k == NULL || v == NULL) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

static ps_code take_steps(void *context, const ps_scan_batch *b, ps_err *err) {
    reading *r = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_builder_step(r->builder, ps_cell_int(&b->columns[0], i, -1),
                        ps_cell_int(&b->columns[1], i, INT64_MIN),
                        ps_cell_int(&b->columns[2], i, INT64_MIN));
    }
    return PS_OK;
}

/* --- labels of an earlier pp_chart ------------------------------------------------------------------------ */

static const ps_column LABELS[] = {{.name = "name", .type = PS_COL_TEXT},
                                   {.name = "startNs", .type = PS_COL_INT, .unit = PS_UNIT_NS},
                                   {.name = "endNs", .type = PS_COL_INT, .unit = PS_UNIT_NS}};

typedef struct labels {
    ps_table *table;
    ps_diag *diag;
} labels;

static ps_code take_labels(void *context, const ps_scan_batch *b, ps_err *err) {
    labels *l = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t start = ps_cell_int(&b->columns[1], i, INT64_MAX);
        int64_t end = ps_cell_int(&b->columns[2], i, INT64_MIN);
        if (end < start) {
            ps_diag_add(l->diag, PS_ODD_TIME, "StepTaskInfo rowid %lld", (long long)b->rowids[i]);
            continue;
        }
        ps_scan_bytes text = ps_cell_text(&b->columns[0], i);
        char *name = ps_strndup(text.data, text.size_bytes);
        bool ok =
            name != NULL && ps_table_add_row(l->table) && ps_table_set_text(l->table, 0, name);
        ps_free(name);
        if (!ok) {
            return ps_fail_nomem(err);
        }
        ps_table_set_int(l->table, 1, start);
        ps_table_set_int(l->table, 2, end);
    }
    return PS_OK;
}

static ps_code read_labels(reading *r, ps_err *err) {
    if ((r->needs & PS_NEED_LABELS) == 0 || !ps_db_has_table(r->db, "StepTaskInfo")) {
        return PS_OK;
    }
    labels l = {ps_table_new("StepTaskInfo", "", LABELS, sizeof LABELS / sizeof *LABELS), r->diag};
    if (l.table == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_scan(r->db, "StepTaskInfo", (const char *const[]){"name", "startNs", "endNs"},
                           3, take_labels, &l, err);
    if (code != PS_OK) {
        ps_table_free(l.table);
        return code;
    }
    ps_builder_side_table(r->builder, l.table);
    return PS_OK;
}

/* --- marks ------------------------------------------------------------------------------------------- */

static ps_code take_marks(void *context, const ps_scan_batch *b, ps_err *err) {
    reading *r = context;
    if (!ps_grow(&r->marks, &r->cap_marks, r->n_marks + b->n_rows, UINT32_MAX - 1,
                 sizeof *r->marks)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        host_mark m = {.start_ns = ps_cell_int(&b->columns[0], i, INT64_MIN),
                       .end_ns = ps_cell_int(&b->columns[1], i, INT64_MIN),
                       .message = ps_cell_int(&b->columns[2], i, -1),
                       .thread_id = ps_cell_int(&b->columns[3], i, -1),
                       .connection_id = ps_cell_int(&b->columns[4], i, -1),
                       .row = b->rowids[i],
                       .slice = PS_NONE};
        if (!want_string(r, m.message)) {
            return ps_fail_nomem(err);
        }
        r->marks[r->n_marks++] = m;
    }
    return PS_OK;
}

/* Host slices of all marks, and which connection ids to look for among the tasks. */
static ps_code add_host_marks(reading *r, ps_err *err) {
    for (size_t i = 0; i < r->n_marks; i++) {
        host_mark *m = &r->marks[i];
        ps_str message = text_of(r, m->message);
        if (ps_str_is_none(message)) {
            ps_diag_add(r->diag, PS_ODD_STRING_ID, "MSTX_EVENTS rowid %lld: message %lld",
                        (long long)m->row, (long long)m->message);
            continue;
        }
        ps_track thread = {.kind = PS_TRACK_HOST_THREAD,
                           .pid = m->thread_id >> 32,
                           .tid = m->thread_id & NO_ID,
                           .device = -1};
        m->slice =
            ps_builder_slice(r->builder, PS_SLICE_MARK_HOST, ps_builder_track(r->builder, thread),
                             message, m->start_ns, m->end_ns, m->row);
        if (ps_builder_failed(r->builder)) {
            return ps_fail_nomem(err);
        }
        if (m->slice == PS_NONE) {
            ps_diag_add(r->diag, PS_ODD_TIME, "MSTX_EVENTS rowid %lld", (long long)m->row);
        } else if (m->connection_id >= 0 && m->connection_id != NO_ID &&
                   !ps_idmap_put(&r->mark_of_connection, (uint64_t)m->connection_id, (uint32_t)i)) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

/* Columns of every scan of TASK. */
#define TASK_COLUMNS "startNs", "endNs", "connectionId", "streamId", "deviceId"

static ps_code add_device_mark(reading *r, const host_mark *m, const ps_scan_batch *b, size_t i,
                               ps_err *err) {
    ps_track stream = {.kind = PS_TRACK_STREAM,
                       .tid = ps_cell_int(&b->columns[3], i, -1),
                       .device = ps_cell_int(&b->columns[4], i, -1)};
    uint32_t slice =
        ps_builder_slice(r->builder, PS_SLICE_MARK_DEVICE, ps_builder_track(r->builder, stream),
                         text_of(r, m->message), ps_cell_int(&b->columns[0], i, INT64_MIN),
                         ps_cell_int(&b->columns[1], i, INT64_MIN), b->rowids[i]);
    if (slice != PS_NONE) {
        ps_builder_flow(r->builder, m->slice, slice);
        if ((r->needs & PS_NEED_COMM_MARKS) != 0) {
            ps_builder_arg_int(r->builder, slice, "connectionId",
                               ps_cell_int(&b->columns[2], i, -1));
        }
    } else if (!ps_builder_failed(r->builder)) {
        ps_diag_add(r->diag, PS_ODD_TIME, "TASK rowid %lld", (long long)b->rowids[i]);
    }
    return ps_builder_failed(r->builder) ? ps_fail_nomem(err) : PS_OK;
}

/* The hot loop: nearly all rows are kernels and miss the map by its range of keys. A mark has one task; a
 * second one with its connection id is counted and left out. */
static ps_code take_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
    reading *r = context;
    const ps_scan_column *connection = &b->columns[2];
    for (size_t i = 0; i < b->n_rows; i++) {
        uint32_t row = ps_idmap_get(&r->mark_of_connection, (uint64_t)connection->ints[i]);
        if (row == PS_IDMAP_NONE || connection->types[i] != PS_CELL_INT) {
            continue;
        }
        host_mark *m = &r->marks[row];
        if (m->slice == PS_NONE) {
            ps_diag_add(r->diag, PS_ODD_MARK_TASKS, "TASK rowid %lld", (long long)b->rowids[i]);
            continue;
        }
        ps_code code = add_device_mark(r, m, b, i, err);
        if (code != PS_OK) {
            return code;
        }
        m->slice = PS_NONE; /* has its task */
    }
    return PS_OK;
}

/* --- communication marks without a task of their own ------------------------------------------------ */

/* A task on one of the streams that such marks name. */
typedef struct stream_task {
    int64_t stream, start_ns, end_ns, connection_id, device, row;
} stream_task;

typedef struct stream_search {
    reading *r;
    ps_idmap streams;
    stream_task *tasks;
    size_t n, cap;
} stream_search;

/* The stream that a communication mark names, -1 none. False when memory is out. */
static bool stream_of_message(const char *message, int64_t *stream) {
    *stream = -1;
    if (strstr(message, "streamId") == NULL || strstr(message, "opName") == NULL) {
        return true;
    }
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err odd = PS_ERR_INIT;
    const ps_lit *dict = ps_lit_parse(&arena, message, strlen(message), &odd);
    if (!ps_lit_int(ps_lit_get(dict, "streamId"), stream)) {
        *stream = -1;
    }
    ps_arena_fini(&arena);
    return odd.code != PS_NOMEM;
}

static ps_code take_stream_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
    stream_search *s = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t stream = ps_cell_int(&b->columns[3], i, -1);
        int64_t connection = ps_cell_int(&b->columns[2], i, -1);
        bool is_mark = connection >= 0 && ps_idmap_get(&s->r->mark_of_connection,
                                                       (uint64_t)connection) != PS_IDMAP_NONE;
        if (stream < 0 || is_mark || ps_idmap_get(&s->streams, (uint64_t)stream) == PS_IDMAP_NONE) {
            continue;
        }
        if (!ps_grow(&s->tasks, &s->cap, s->n + 1, UINT32_MAX, sizeof *s->tasks)) {
            return ps_fail_nomem(err);
        }
        s->tasks[s->n++] = (stream_task){.stream = stream,
                                         .start_ns = ps_cell_int(&b->columns[0], i, INT64_MIN),
                                         .end_ns = ps_cell_int(&b->columns[1], i, INT64_MIN),
                                         .connection_id = connection,
                                         .device = ps_cell_int(&b->columns[4], i, -1),
                                         .row = b->rowids[i]};
    }
    return PS_OK;
}

static int compare_stream_tasks(const void *a, const void *b) {
    const stream_task *x = a;
    const stream_task *y = b;
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

/* A mark waiting for the first unused task that starts on its stream at or after its own host start. */
typedef struct waiting {
    int64_t stream, start_ns;
    size_t mark;
} waiting;

static int compare_waiting(const void *a, const void *b) {
    const waiting *x = a;
    const waiting *y = b;
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->mark < y->mark ? -1 : x->mark > y->mark;
}

/* Both lists are sorted by stream and start: one walk gives each mark at most one task, and each task to at
 * most one mark. */
static void join_waiting(reading *r, const waiting *marks, size_t n, const stream_search *s) {
    size_t t = 0;
    for (size_t i = 0; i < n; i++) {
        while (t < s->n && (s->tasks[t].stream < marks[i].stream ||
                            (s->tasks[t].stream == marks[i].stream &&
                             s->tasks[t].start_ns < marks[i].start_ns))) {
            t++;
        }
        const host_mark *m = &r->marks[marks[i].mark];
        if (t == s->n || s->tasks[t].stream != marks[i].stream) {
            ps_diag_add(r->diag, PS_ODD_COMM_MARK, "MSTX_EVENTS rowid %lld: no task on stream %lld",
                        (long long)m->row, (long long)marks[i].stream);
            continue;
        }
        const stream_task *task = &s->tasks[t++];
        ps_track stream = {.kind = PS_TRACK_STREAM, .tid = task->stream, .device = task->device};
        uint32_t slice =
            ps_builder_slice(r->builder, PS_SLICE_MARK_DEVICE, ps_builder_track(r->builder, stream),
                             text_of(r, m->message), task->start_ns, task->end_ns, task->row);
        if (slice != PS_NONE) {
            ps_builder_flow(r->builder, m->slice, slice);
            ps_builder_arg_int(r->builder, slice, "connectionId", task->connection_id);
        } else {
            ps_diag_add(r->diag, PS_ODD_TIME, "TASK rowid %lld", (long long)task->row);
        }
    }
}

static ps_code find_waiting_tasks(reading *r, waiting *marks, size_t n, ps_err *err) {
    stream_search s = {.r = r};
    ps_idmap_init(&s.streams);
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        code = ps_idmap_put(&s.streams, (uint64_t)marks[i].stream, 1) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code = ps_scan(r->db, "TASK", (const char *const[]){TASK_COLUMNS}, 5, take_stream_tasks, &s,
                       err);
    }
    if (code == PS_OK) {
        qsort(marks, n, sizeof *marks, compare_waiting);
        if (s.n > 1) {
            qsort(s.tasks, s.n, sizeof *s.tasks, compare_stream_tasks);
        }
        join_waiting(r, marks, n, &s);
    }
    ps_idmap_fini(&s.streams);
    ps_free(s.tasks);
    return code;
}

static ps_code read_waiting_marks(reading *r, ps_err *err) {
    waiting *marks = NULL;
    size_t n = 0;
    size_t cap = 0;
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < r->n_marks; i++) {
        const host_mark *m = &r->marks[i];
        const char *message = ps_builder_text(r->builder, text_of(r, m->message));
        int64_t stream = -1;
        if (m->slice != PS_NONE && !stream_of_message(message, &stream)) {
            code = ps_fail_nomem(err);
        } else if (stream >= 0) {
            code = ps_grow(&marks, &cap, n + 1, UINT32_MAX, sizeof *marks) ? PS_OK
                                                                           : ps_fail_nomem(err);
            if (code == PS_OK) {
                marks[n++] = (waiting){.stream = stream, .start_ns = m->start_ns, .mark = i};
            }
        }
    }
    if (code == PS_OK && n > 0) {
        code = find_waiting_tasks(r, marks, n, err);
    }
    ps_free(marks);
    return code;
}

/* --- communication operators --------------------------------------------------------------------------- */

static const peers NO_PEERS = {.own = {-1, -1}, .peer = {-1, -1}};

static ps_code take_comm_ops(void *context, const ps_scan_batch *b, ps_err *err) {
    reading *r = context;
    if (!ps_grow(&r->ops, &r->cap_ops, r->n_ops + b->n_rows, UINT32_MAX - 1, sizeof *r->ops)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        comm_op op = {.name = ps_cell_int(&b->columns[0], i, -1),
                      .start_ns = ps_cell_int(&b->columns[1], i, INT64_MIN),
                      .end_ns = ps_cell_int(&b->columns[2], i, INT64_MIN),
                      .connection_id = ps_cell_int(&b->columns[3], i, -1),
                      .group = ps_cell_int(&b->columns[4], i, -1),
                      .op_id = ps_cell_int(&b->columns[5], i, -1),
                      .row = b->rowids[i],
                      .host_start_ns = INT64_MIN,
                      .peers = NO_PEERS};
        uint32_t row = (uint32_t)r->n_ops;
        bool ok = want_string(r, op.name) && want_string(r, op.group) &&
                  (op.op_id < 0 || ps_idmap_put(&r->op_of_id, (uint64_t)op.op_id, row));
        if (ok && (r->needs & PS_NEED_COMM_HOST) != 0 && op.connection_id >= 0 &&
            op.connection_id != NO_ID) {
            ok = ps_idmap_put(&r->op_of_connection, (uint64_t)op.connection_id, row);
        }
        if (!ok) {
            return ps_fail_nomem(err);
        }
        r->ops[r->n_ops++] = op;
    }
    return PS_OK;
}

static void note_rank(int64_t *known, int64_t rank) {
    if (rank >= 0 && rank != NO_ID) {
        *known = *known == -1 || *known == rank ? rank : -2;
    }
}

static ps_code take_comm_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
    reading *r = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t op_id = ps_cell_int(&b->columns[0], i, -1);
        uint32_t row = op_id >= 0 ? ps_idmap_get(&r->op_of_id, (uint64_t)op_id) : PS_IDMAP_NONE;
        if (row == PS_IDMAP_NONE) {
            continue;
        }
        comm_op *op = &r->ops[row];
        int64_t type = ps_cell_int(&b->columns[1], i, -1);
        size_t is_notify = type >= 0 && (type == r->notify_ids[0] || type == r->notify_ids[1]);
        note_rank(&op->peers.own[is_notify], ps_cell_int(&b->columns[2], i, -1));
        note_rank(&op->peers.peer[is_notify], ps_cell_int(&b->columns[3], i, -1));
        int64_t group = ps_cell_int(&b->columns[4], i, op->group);
        op->peers.group_differs = op->peers.group_differs || group != op->group;
    }
    return PS_OK;
}

static ps_code take_host_calls(void *context, const ps_scan_batch *b, ps_err *err) {
    reading *r = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t connection = ps_cell_int(&b->columns[0], i, -1);
        uint32_t row = connection >= 0 ? ps_idmap_get(&r->op_of_connection, (uint64_t)connection)
                                       : PS_IDMAP_NONE;
        if (row != PS_IDMAP_NONE) {
            r->ops[row].host_start_ns = ps_cell_int(&b->columns[1], i, INT64_MIN);
        }
    }
    return PS_OK;
}

static void add_peer_args(reading *r, uint32_t slice, const comm_op *op) {
    size_t from =
        op->peers.own[1] != -1 || op->peers.peer[1] != -1 ? 1 : 0; /* notify tasks know best */
    if (op->peers.group_differs) {
        ps_builder_arg_int(r->builder, slice, "groupDiffers", 1);
    }
    if (op->peers.own[from] >= 0 && op->peers.peer[from] >= 0) {
        ps_builder_arg_int(r->builder, slice, "srcRank", op->peers.own[from]);
        ps_builder_arg_int(r->builder, slice, "dstRank", op->peers.peer[from]);
    }
}

static ps_code add_comm_ops(reading *r, ps_err *err) {
    for (size_t i = 0; i < r->n_ops; i++) {
        const comm_op *op = &r->ops[i];
        ps_str name = text_of(r, op->name);
        ps_str group = text_of(r, op->group);
        if (ps_str_is_none(name) || ps_str_is_none(group)) {
            ps_diag_add(r->diag, PS_ODD_STRING_ID, "COMMUNICATION_OP rowid %lld",
                        (long long)op->row);
            continue;
        }
        ps_track track = {
            .kind = PS_TRACK_COMM_GROUP, .pid = -1, .tid = -1, .device = -1, .name = group};
        uint32_t slice =
            ps_builder_slice(r->builder, PS_SLICE_COMM_OP, ps_builder_track(r->builder, track),
                             name, op->start_ns, op->end_ns, op->row);
        if (ps_builder_failed(r->builder)) {
            return ps_fail_nomem(err);
        }
        if (slice == PS_NONE) {
            ps_diag_add(r->diag, PS_ODD_TIME, "COMMUNICATION_OP rowid %lld", (long long)op->row);
            continue;
        }
        add_peer_args(r, slice, op);
        if (op->host_start_ns != INT64_MIN) {
            ps_builder_arg_time(r->builder, slice, "hostStart", op->host_start_ns);
        }
    }
    return ps_builder_failed(r->builder) ? ps_fail_nomem(err) : PS_OK;
}

/* --- all together ------------------------------------------------------------------------------------------ */

static void say_what_is_there(const reading *r) {
    static const struct {
        const char *table;
        uint32_t bit;
    } PARTS[] = {{"MSTX_EVENTS", PS_HAS_MARKS},
                 {"COMMUNICATION_OP", PS_HAS_COMM_OPS},
                 {"COMMUNICATION_TASK_INFO", PS_HAS_COMM_TASKS},
                 {"StepTaskInfo", PS_HAS_STEP_TASK_INFO}};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        ps_builder_has(r->builder, ps_db_has_table(r->db, PARTS[i].table) ? PARTS[i].bit : 0);
    }
}

static ps_code read_small_tables(reading *r, const ps_src *src, ps_err *err) {
    ps_code code = PS_OK;
    if ((r->needs & PS_NEED_META) != 0) {
        if (ps_db_has_table(r->db, "META_DATA")) {
            code = SCAN(r, "META_DATA", take_metadata, err, "name", "value");
        }
        code = code == PS_OK ? ps_ascend_metadata(src->rank_dir, r->builder, err) : code;
    }
    if (code == PS_OK && (r->needs & PS_NEED_STEPS) != 0 && ps_db_has_table(r->db, "STEP_TIME")) {
        code = SCAN(r, "STEP_TIME", take_steps, err, "id", "startNs", "endNs");
    }
    return code == PS_OK ? read_labels(r, err) : code;
}

static ps_code read_device_marks(reading *r, ps_err *err) {
    ps_code code = add_host_marks(r, err);
    if (code != PS_OK || r->n_marks == 0 || !ps_db_has_table(r->db, "TASK")) {
        return code;
    }
    code = SCAN(r, "TASK", take_tasks, err, TASK_COLUMNS);
    if (code == PS_OK && (r->needs & PS_NEED_COMM_MARKS) != 0 &&
        !ps_db_has_table(r->db, "COMMUNICATION_OP")) {
        code = read_waiting_marks(r, err);
    }
    for (size_t i = 0; code == PS_OK && i < r->n_marks; i++) {
        ps_diag_count(r->diag, PS_ODD_MARK_HOST_ONLY, r->marks[i].slice != PS_NONE);
    }
    return code;
}

static ps_code read_big_tables(reading *r, ps_err *err) {
    bool marks = (r->needs & PS_NEED_MARKS) != 0 && ps_db_has_table(r->db, "MSTX_EVENTS");
    bool ops = (r->needs & PS_NEED_COMM_OPS) != 0 && ps_db_has_table(r->db, "COMMUNICATION_OP");
    ps_code code = PS_OK;
    if (marks) {
        code = SCAN(r, "MSTX_EVENTS", take_marks, err, "startNs", "endNs", "message", "globalTid",
                    "connectionId");
    }
    if (code == PS_OK && ops) {
        code = SCAN(r, "COMMUNICATION_OP", take_comm_ops, err, "opName", "startNs", "endNs",
                    "connectionId", "groupName", "opId");
    }
    if (code == PS_OK && r->n_texts > 0 && ps_db_has_table(r->db, "STRING_IDS")) {
        code = SCAN(r, "STRING_IDS", take_strings, err, "id", "value");
    }
    if (code == PS_OK && ops && ps_db_has_table(r->db, "COMMUNICATION_TASK_INFO")) {
        code = SCAN(r, "COMMUNICATION_TASK_INFO", take_comm_tasks, err, "opId", "taskType",
                    "srcRank", "dstRank", "groupName");
    }
    if (code == PS_OK && ops && (r->needs & PS_NEED_COMM_HOST) != 0 &&
        ps_db_has_table(r->db, "CANN_API")) {
        code = SCAN(r, "CANN_API", take_host_calls, err, "connectionId", "startNs");
    }
    if (code == PS_OK && marks) {
        code = read_device_marks(r, err);
    }
    return code == PS_OK && ops ? add_comm_ops(r, err) : code;
}

static void reading_fini(reading *r) {
    ps_free(r->marks);
    ps_free(r->ops);
    ps_free(r->texts);
    ps_idmap_fini(&r->wanted);
    ps_idmap_fini(&r->mark_of_connection);
    ps_idmap_fini(&r->op_of_id);
    ps_idmap_fini(&r->op_of_connection);
    ps_db_close(r->db);
}

static ps_code read_db(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    reading r = {.builder = b, .diag = ps_builder_diag(b), .needs = needs, .notify_ids = {-1, -1}};
    ps_idmap_init(&r.wanted);
    ps_idmap_init(&r.mark_of_connection);
    ps_idmap_init(&r.op_of_id);
    ps_idmap_init(&r.op_of_connection);
    r.db = ps_db_open(src->path, err);
    if (r.db == NULL) {
        return err != NULL ? err->code : PS_IO;
    }
    ps_db_stamp stamp = ps_db_get_stamp(r.db);
    ps_builder_stamp(b, (ps_file_stamp){stamp.file, stamp.wal, stamp.change_counter});
    say_what_is_there(&r);
    ps_code code = read_small_tables(&r, src, err);
    code = code == PS_OK ? read_big_tables(&r, err) : code;
    if (code == PS_OK && (needs & PS_NEED_INVENTORY) != 0) {
        code = ps_ascend_info(r.db, src, b, err);
    }
    code = code == PS_OK ? ps_db_check_unchanged(r.db, err) : code;
    reading_fini(&r);
    return code;
}

static int sniff(const char *path, const unsigned char *head, size_t n) {
    (void)path;
    return n >= 16 && memcmp(head, "SQLite format 3", 16) == 0 ? 60 : 0;
}

const ps_reader ps_reader_ascend_db = {
    .name = "ascend-db",
    .profiler = "Ascend",
    .summary = "Ascend PyTorch / MindSpore / msMonitor profiler database (SQLite)",
    .sniff = sniff,
    .read = read_db,
};
