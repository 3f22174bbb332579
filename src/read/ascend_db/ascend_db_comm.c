#include "read/ascend_db/ascend_db_comm.h"

#include <string.h>

#include "base/alloc.h"

/* opConnectionId is a text that p2p_pairing added. */
static const ps_ascend_field FIELDS[] = {
    PS_DB_FIELD("connectionId", INT),
    PS_DB_FIELD("opId", INT),
    PS_DB_FIELD("relay", INT),
    PS_DB_FIELD("retry", INT),
    PS_ENUM_FIELD("dataType", DATA_TYPE),
    PS_DB_FIELD("algType", TEXT),
    PS_DB_FIELD("count", INT),
    PS_DB_FIELD("opType", TEXT),
    PS_DB_FIELD("rankSize", INT),
    PS_DB_FIELD("opConnectionId", TEXT),
};

void ps_ascend_ops_fini(ps_ascend_ops *ops) {
    ps_free(ops->rows);
    ps_free(ops->values);
    ps_idmap_fini(&ops->of_id);
    ps_idmap_fini(&ops->of_connection);
    ps_idmap_fini(&ops->labelled);
    ps_idmap_fini(&ops->groups);
}

/* --- the operators ------------------------------------------------------------------------------------ */

enum {
    NAME,
    START,
    END,
    CONNECTION,
    GROUP,
    OP_ID,
    N_OLD_COLUMNS,
    DEVICE = N_OLD_COLUMNS,
    N_COLUMNS
};

static bool keep_values(ps_ascend_ops *ops, ps_ascend_op *op, const ps_scan_batch *b, size_t i) {
    size_t n = ops->fields.n;
    if (n == 0) {
        return true;
    }
    if (!ps_grow(&ops->values, &ops->cap_values, (ops->n + 1) * n, SIZE_MAX / 16,
                 sizeof *ops->values)) {
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        ops->values[ops->n * n + k] = ps_ascend_field_value(
            ops->a, &ops->fields.fields[k], &b->columns[N_COLUMNS + k], i, &op->misses_text);
    }
    return !ps_builder_failed(ops->a->builder);
}

static ps_code take_ops(void *context, const ps_scan_batch *b, ps_err *err) {
    static const ps_ascend_peers NO_PEERS = {.own = {-1, -1}, .peer = {-1, -1}};
    ps_ascend_ops *ops = context;
    if (!ps_grow(&ops->rows, &ops->cap, ops->n + b->n_rows, UINT32_MAX - 1, sizeof *ops->rows)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_ascend_op op = {.name = ps_cell_int(&b->columns[NAME], i, -1),
                           .start_ns = ps_cell_int(&b->columns[START], i, INT64_MIN),
                           .end_ns = ps_cell_int(&b->columns[END], i, INT64_MIN),
                           .connection_id = ps_cell_int(&b->columns[CONNECTION], i, -1),
                           .group = ps_cell_int(&b->columns[GROUP], i, -1),
                           .op_id = ps_cell_int(&b->columns[OP_ID], i, -1),
                           .row = b->rowids[i],
                           .host_start_ns = INT64_MIN,
                           .pid = -1,
                           .device =
                               b->n_columns > DEVICE ? ps_cell_int(&b->columns[DEVICE], i, -1) : -1,
                           .peers = NO_PEERS};
        uint32_t row = (uint32_t)ops->n;
        bool ok = ps_ascend_want_string(ops->a, op.name) &&
                  ps_ascend_want_string(ops->a, op.group) && keep_values(ops, &op, b, i) &&
                  (op.op_id < 0 || ps_idmap_put(&ops->of_id, (uint64_t)op.op_id, row));
        if (ok && ps_ascend_wants(ops->a, PS_NEED_COMM_HOST) && op.connection_id >= 0 &&
            op.connection_id != PS_ASCEND_NO_ID) {
            ok = ps_idmap_put(&ops->of_connection, (uint64_t)op.connection_id, row);
        }
        if (!ok) {
            return ps_fail_nomem(err);
        }
        ops->rows[ops->n++] = op;
    }
    return PS_OK;
}

ps_code ps_ascend_ops_scan(ps_ascend_ops *ops, ps_err *err) {
    static const char *const COLUMNS[N_COLUMNS] = {
        "opName", "startNs", "endNs", "connectionId", "groupName", "opId", "deviceId"};
    bool timeline = ps_ascend_wants(ops->a, PS_NEED_SLICES);
    ps_code code = PS_OK;
    if (timeline && ps_ascend_wants(ops->a, PS_NEED_ARGS)) {
        code = ps_ascend_fields_init(ops->a, &ops->fields, FIELDS, sizeof FIELDS / sizeof *FIELDS,
                                     err);
    }
    return code == PS_OK ? ps_ascend_scan(ops->a, "COMMUNICATION_OP", COLUMNS,
                                          timeline ? N_COLUMNS : N_OLD_COLUMNS, &ops->fields,
                                          take_ops, ops, err)
                         : code;
}

/* --- what other tables know of them ------------------------------------------------------------------- */

static void note_rank(int64_t *known, int64_t rank) {
    if (rank >= 0 && rank != PS_ASCEND_NO_ID) {
        *known = *known == -1 || *known == rank ? rank : -2;
    }
}

static ps_code take_comm_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_ascend_ops *ops = context;
    const int64_t *notify_ids = ops->a->strings.notify_ids;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t op_id = ps_cell_int(&b->columns[0], i, -1);
        uint32_t row = op_id >= 0 ? ps_idmap_get(&ops->of_id, (uint64_t)op_id) : PS_IDMAP_NONE;
        if (row == PS_IDMAP_NONE) {
            continue;
        }
        ps_ascend_op *op = &ops->rows[row];
        int64_t type = ps_cell_int(&b->columns[1], i, -1);
        size_t is_notify = type >= 0 && (type == notify_ids[0] || type == notify_ids[1]);
        note_rank(&op->peers.own[is_notify], ps_cell_int(&b->columns[2], i, -1));
        note_rank(&op->peers.peer[is_notify], ps_cell_int(&b->columns[3], i, -1));
        int64_t group = ps_cell_int(&b->columns[4], i, op->group);
        op->peers.group_differs = op->peers.group_differs || group != op->group;
    }
    return PS_OK;
}

static ps_code take_host_calls(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_ascend_ops *ops = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t connection = ps_cell_int(&b->columns[0], i, -1);
        uint32_t row = connection >= 0 ? ps_idmap_get(&ops->of_connection, (uint64_t)connection)
                                       : PS_IDMAP_NONE;
        if (row != PS_IDMAP_NONE) {
            ops->rows[row].host_start_ns = ps_cell_int(&b->columns[1], i, INT64_MIN);
        }
    }
    return PS_OK;
}

ps_code ps_ascend_ops_join(ps_ascend_ops *ops, ps_err *err) {
    ps_db *db = ops->a->db;
    ps_code code = PS_OK;
    if (!ps_db_has_table(db, "COMMUNICATION_OP")) {
        return PS_OK;
    }
    if (ps_db_has_table(db, "COMMUNICATION_TASK_INFO")) {
        code = PS_ASCEND_SCAN(db, "COMMUNICATION_TASK_INFO", take_comm_tasks, ops, err, "opId",
                              "taskType", "srcRank", "dstRank", "groupName");
    }
    if (code == PS_OK && ps_ascend_wants(ops->a, PS_NEED_COMM_HOST) &&
        ps_db_has_table(db, "CANN_API")) {
        code = PS_ASCEND_SCAN(db, "CANN_API", take_host_calls, ops, err, "connectionId", "startNs");
    }
    return code;
}

void ps_ascend_ops_note_task(ps_ascend_ops *ops, int64_t op_id, int64_t pid, int64_t device) {
    uint32_t row = op_id >= 0 ? ps_idmap_get(&ops->of_id, (uint64_t)op_id) : PS_IDMAP_NONE;
    if (row != PS_IDMAP_NONE && ops->rows[row].pid == -1) {
        ops->rows[row].pid = pid;
        ops->rows[row].device = ops->rows[row].device < 0 ? device : ops->rows[row].device;
    }
}

/* --- slices ------------------------------------------------------------------------------------------- */

static void add_peer_args(ps_ascend *a, uint32_t slice, const ps_ascend_op *op) {
    size_t from =
        op->peers.own[1] != -1 || op->peers.peer[1] != -1 ? 1 : 0; /* notify tasks know best */
    if (op->peers.group_differs) {
        ps_builder_arg_int(a->builder, slice, "groupDiffers", 1);
    }
    if (op->peers.own[from] >= 0 && op->peers.peer[from] >= 0) {
        ps_builder_arg_int(a->builder, slice, "srcRank", op->peers.own[from]);
        ps_builder_arg_int(a->builder, slice, "dstRank", op->peers.peer[from]);
    }
    if (op->host_start_ns != INT64_MIN) {
        ps_builder_arg_time(a->builder, slice, "hostStart", op->host_start_ns);
    }
}

/* Without names an operator means nothing to an analysis; on the timeline it is still there. */
static bool names_of(ps_ascend *a, const ps_ascend_op *op, ps_str *name, ps_str *group) {
    bool timeline = ps_ascend_wants(a, PS_NEED_SLICES);
    bool missing = op->misses_text;
    *name = timeline ? ps_ascend_name(a, op->name, &missing) : ps_ascend_text(a, op->name);
    *group = timeline ? ps_ascend_name(a, op->group, &missing) : ps_ascend_text(a, op->group);
    bool complete = !ps_str_is_none(*name) && !ps_str_is_none(*group);
    ps_ascend_count_missing(a, missing || !complete, "COMMUNICATION_OP", op->row);
    return complete;
}

/* What people call the group ("tp"), by the name in front of its ranks in parallel_group_info. */
static ps_str comm_op_label_of(const ps_ascend_ops *ops, ps_str group) {
    uint32_t row = ps_idmap_get(&ops->groups, group.id);
    const ps_literal *info = row != PS_IDMAP_NONE ? ops->group_infos[row] : NULL;
    const char *name = ps_literal_str(ps_literal_get(info, "group_name"));
    return name != NULL && name[0] != '\0' ? ps_builder_str(ops->a->builder, name, strlen(name))
                                           : PS_STR_NONE;
}

/* The last member of a name counts. */
static bool index_groups(ps_ascend_ops *ops, ps_arena *arena, const ps_literal *groups) {
    size_t n = 0;
    bool is_object = groups != NULL && groups->kind == PS_LITERAL_OBJECT;
    for (const ps_literal *g = is_object ? groups->child : NULL; g != NULL; g = g->next) {
        n++;
    }
    ops->group_infos = ps_arena_alloc(arena, (n + 1) * sizeof(const ps_literal *));
    bool ok = ops->group_infos != NULL;
    n = 0;
    for (const ps_literal *g = is_object ? groups->child : NULL; ok && g != NULL; g = g->next) {
        ps_str name = ps_builder_str(ops->a->builder, g->key, strlen(g->key));
        ok = !ps_str_is_none(name) && ps_idmap_put(&ops->groups, name.id, (uint32_t)n);
        ops->group_infos[n++] = g;
    }
    return ok;
}

/* The old projection knows no process and no device. */
static uint32_t comm_op_track_of(ps_ascend_ops *ops, const ps_ascend_op *op, ps_str group,
                                 int64_t pid, int64_t device) {
    ps_ascend *a = ops->a;
    ps_track track = {
        .kind = PS_TRACK_COMM_GROUP, .pid = -1, .tid = -1, .device = -1, .name = group};
    if (!ps_ascend_wants(a, PS_NEED_SLICES)) {
        return ps_builder_track(a->builder, track);
    }
    track.pid = op->pid >= 0 ? op->pid : pid;
    track.device = op->device >= 0 ? op->device : device;
    uint32_t row = ps_builder_track(a->builder, track);
    if (row != PS_NONE && ps_idmap_get(&ops->labelled, row) == PS_IDMAP_NONE) {
        ps_builder_track_label(a->builder, row, comm_op_label_of(ops, group), PS_NO_ORDER);
        return ps_idmap_put(&ops->labelled, row, 1) ? row : PS_NONE;
    }
    return row;
}

static ps_code add_comm_op(ps_ascend_ops *ops, size_t i, int64_t pid, int64_t device, ps_err *err) {
    ps_ascend *a = ops->a;
    const ps_ascend_op *op = &ops->rows[i];
    ps_str name = PS_STR_NONE;
    ps_str group = PS_STR_NONE;
    if (!names_of(a, op, &name, &group)) {
        return PS_OK;
    }
    uint32_t track = comm_op_track_of(ops, op, group, pid, device);
    if (track == PS_NONE) {
        return ps_fail_nomem(err);
    }
    uint32_t slice = ps_ascend_slice(a, PS_SLICE_COMM_OP, track, name, PS_STR_NONE, op->start_ns,
                                     op->end_ns, "COMMUNICATION_OP", op->row);
    if (ps_builder_failed(a->builder)) {
        return ps_fail_nomem(err);
    }
    if (slice == PS_NONE) {
        return PS_OK;
    }
    add_peer_args(a, slice, op);
    for (size_t k = 0; k < ops->fields.n; k++) {
        ps_ascend_add_field(a, slice, &ops->fields, k, ops->values[i * ops->fields.n + k]);
    }
    return ps_ascend_add_end(a, op->connection_id, slice) ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_ascend_ops_add(ps_ascend_ops *ops, int64_t pid, int64_t device, ps_err *err) {
    ps_ascend *a = ops->a;
    ps_code code = PS_OK;
    ps_arena arena = {0};
    const ps_literal *groups = NULL;
    const char *text = ps_builder_meta_text(a->builder, "parallel_group_info");
    if (ps_ascend_wants(a, PS_NEED_SLICES) && text != NULL) {
        ps_err odd = PS_ERR_INIT; /* whoever uses the metadata says what is wrong with it */
        groups = ps_literal_parse_packed(&arena, text, strlen(text), &odd);
        code =
            odd.code == PS_NOMEM || !index_groups(ops, &arena, groups) ? ps_fail_nomem(err) : PS_OK;
    }
    for (size_t i = 0; code == PS_OK && i < ops->n; i++) {
        code = add_comm_op(ops, i, pid, device, err);
    }
    ps_arena_fini(&arena);
    return code == PS_OK && ps_builder_failed(a->builder) ? ps_fail_nomem(err) : code;
}
