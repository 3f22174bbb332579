/* Communication operators: rows of COMMUNICATION_OP, with what COMMUNICATION_TASK_INFO (peers) and CANN_API (host start)
 * know of each. Legal order: scan, the texts, join, add. */
#ifndef PS_READ_ASCEND_DB_COMM_H
#define PS_READ_ASCEND_DB_COMM_H

#include "base/literal.h"
#include "read/ascend_db/ascend_db_reading.h"

/* What COMMUNICATION_TASK_INFO says of one operator: from its notify tasks, or else from any task. */
typedef struct ps_ascend_peers {
    int64_t own[2], peer[2]; /* [0] any task, [1] notify tasks; -1 none, -2 more than one */
    bool group_differs;
} ps_ascend_peers;

typedef struct ps_ascend_op {
    int64_t start_ns, end_ns, connection_id, op_id, row;
    int64_t name, group; /* ids in STRING_IDS */
    int64_t host_start_ns;
    int64_t pid, device; /* of its tasks; -1 unknown */
    ps_ascend_peers peers;
    bool misses_text; /* a column names a text that is not there */
} ps_ascend_op;

typedef struct ps_ascend_ops {
    ps_ascend *a;
    ps_ascend_op *rows;
    size_t n, cap;
    ps_idmap of_id, of_connection;
    ps_idmap labelled;              /* tracks whose label was looked up */
    ps_idmap groups;                /* text of the group's name -> its row in group_infos */
    const ps_literal **group_infos; /* of parallel_group_info, while slices are added */
    /* with PS_NEED_ARGS, the other columns: row-major, fields.n a row */
    ps_ascend_fields fields;
    int64_t *values;
    size_t cap_values;
} ps_ascend_ops;

void ps_ascend_ops_fini(ps_ascend_ops *ops);

/* Reads COMMUNICATION_OP and wants its names. A missing table is an empty one. */
PS_MUST_USE ps_code ps_ascend_ops_scan(ps_ascend_ops *ops, ps_err *err);

/* Peers, and host starts where they are wanted. */
PS_MUST_USE ps_code ps_ascend_ops_join(ps_ascend_ops *ops, ps_err *err);

/* A task of the operator ran in this process on this device. */
void ps_ascend_ops_note_task(ps_ascend_ops *ops, int64_t op_id, int64_t pid, int64_t device);

/* Adds the slices. For the whole timeline `pid` and `device` are those of operators without tasks; -1 unknown. */
PS_MUST_USE ps_code ps_ascend_ops_add(ps_ascend_ops *ops, int64_t pid, int64_t device, ps_err *err);

#endif
