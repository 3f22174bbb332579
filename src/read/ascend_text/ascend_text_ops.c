/* Operators of communication. Their lane says name and time; whom they talk to, only their tasks say, and when the host
 * called for them, only the call does.
 *
 * A task on a plane names stream and number of the task that it is; that task, on its stream, has the connection id of
 * the operator. Where a file lacks those, a task belongs to the one operator of its communicator that is running. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "read/ascend_text/ascend_text.h"

#define MAX_OPS ((size_t)PS_NONE - 2)
#define SEVERAL (PS_NONE - 1)

/* What the tasks of an operator say of its ends: [0] any task, [1] notify tasks; -1 none, -2 more than one. */
typedef struct comm_op {
    uint32_t slice;
    uint32_t group; /* id of the name of its communicator */
    int64_t pid, start_ns, end_ns;
    int64_t latest_end_ns; /* of the operators of this communicator before it */
    int64_t own[2], peer[2];
} comm_op;

typedef struct joining {
    ps_ascend_text *r;
    const ps_slices *slices;
    const ps_track *tracks;
    comm_op *ops; /* by communicator and start */
    size_t n_ops, cap_ops;
    ps_idmap op_of_slice; /* -> row in ops */
    ps_idmap calls;       /* connection id of an operator -> slice of the earliest call */
    ps_idmap operators;   /* connection id -> slice of the operator, or SEVERAL */
} joining;

/* --- operators and calls --------------------------------------------------------------------------------- */

PS_COMPARE(compare_ascend_op_ops, comm_op, PS_BY(pid) PS_BY(group) PS_BY(start_ns) PS_BY(slice))

static bool is_group_lane(const joining *j, uint32_t slice) {
    return j->r->lanes[j->slices->track[slice]] == PS_LANE_GROUP;
}

static bool collect_ops(joining *j) {
    for (uint32_t i = 0; i < j->slices->n; i++) {
        if (!is_group_lane(j, i)) {
            continue;
        }
        if (!ps_grow(&j->ops, &j->cap_ops, j->n_ops + 1, MAX_OPS, sizeof *j->ops)) {
            return false;
        }
        const ps_track *t = &j->tracks[j->slices->track[i]];
        j->ops[j->n_ops++] = (comm_op){.slice = i,
                                       .group = t->name.id,
                                       .pid = t->pid,
                                       .start_ns = j->slices->start_ns[i],
                                       .end_ns = j->slices->start_ns[i] + j->slices->dur_ns[i],
                                       .latest_end_ns = INT64_MIN,
                                       .own = {-1, -1},
                                       .peer = {-1, -1}};
    }
    ps_sort(j->ops, j->n_ops, sizeof *j->ops, compare_ascend_op_ops);
    for (size_t i = 0; i < j->n_ops; i++) {
        const comm_op *before = i > 0 ? &j->ops[i - 1] : NULL;
        if (before != NULL && before->pid == j->ops[i].pid && before->group == j->ops[i].group) {
            bool is_later = before->end_ns > before->latest_end_ns;
            j->ops[i].latest_end_ns = is_later ? before->end_ns : before->latest_end_ns;
        }
        if (!ps_idmap_put(&j->op_of_slice, j->ops[i].slice, (uint32_t)i)) {
            return false;
        }
    }
    return true;
}

static bool note_operator(joining *j, const ps_ascend_connection *c) {
    bool is_new = ps_idmap_get(&j->operators, (uint64_t)c->id) == PS_IDMAP_NONE;
    return ps_idmap_put(&j->operators, (uint64_t)c->id, is_new ? c->slice : SEVERAL);
}

static bool note_call(joining *j, const ps_ascend_connection *c) {
    uint32_t known = ps_idmap_get(&j->calls, (uint64_t)c->id);
    bool is_earlier =
        known == PS_IDMAP_NONE || j->slices->start_ns[c->slice] < j->slices->start_ns[known];
    return !is_earlier || ps_idmap_put(&j->calls, (uint64_t)c->id, c->slice);
}

/* The connection ids of operators, and of the calls that are theirs: most calls launch other work. */
static bool collect_connections(joining *j) {
    bool ok = true;
    for (size_t i = 0; ok && i < j->r->n_connections; i++) {
        const ps_ascend_connection *c = &j->r->connections[i];
        ok = !is_group_lane(j, c->slice) || note_operator(j, c);
    }
    for (size_t i = 0; ok && i < j->r->n_connections; i++) {
        const ps_ascend_connection *c = &j->r->connections[i];
        bool is_call = j->r->lanes[j->slices->track[c->slice]] == PS_LANE_CANN &&
                       ps_idmap_get(&j->operators, (uint64_t)c->id) != PS_IDMAP_NONE;
        ok = !is_call || note_call(j, c);
    }
    return ok;
}

/* --- tasks ------------------------------------------------------------------------------------------------ */

static int compare_ascend_op_keys(const ps_ascend_task_key *x, const ps_ascend_task_key *y) {
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    return x->task < y->task ? -1 : x->task > y->task;
}

static int compare_launches(const void *a, const void *b) {
    const ps_ascend_launch *x = a;
    const ps_ascend_launch *y = b;
    int order = compare_ascend_op_keys(&x->key, &y->key);
    if (order != 0) {
        return order;
    }
    return x->connection_id < y->connection_id ? -1 : x->connection_id > y->connection_id;
}

/* The operator whose call launched this task, NULL when that is not known. */
static comm_op *op_of_launch(const joining *j, const ps_ascend_comm_task *task) {
    PS_PLACE(size_t, low, 0, j->r->n_launches, i,
             compare_ascend_op_keys(&j->r->launches[i].key, &task->key) < 0);
    if (low == j->r->n_launches ||
        compare_ascend_op_keys(&j->r->launches[low].key, &task->key) != 0) {
        return NULL;
    }
    uint32_t slice = ps_idmap_get(&j->operators, (uint64_t)j->r->launches[low].connection_id);
    uint32_t row = slice < SEVERAL ? ps_idmap_get(&j->op_of_slice, slice) : PS_IDMAP_NONE;
    return row != PS_IDMAP_NONE ? &j->ops[row] : NULL;
}

/* The operator of this communicator that is running then, NULL when there is none, or more than one. */
static comm_op *op_at(const joining *j, const ps_ascend_comm_task *task) {
    const ps_track *plane = &j->tracks[j->slices->track[task->slice]];
    comm_op key = {.group = plane->name.id,
                   .pid = plane->pid,
                   .start_ns = task->key.start_ns,
                   .slice = PS_NONE};
    PS_PLACE(size_t, low, 0, j->n_ops, i, compare_ascend_op_ops(&j->ops[i], &key) <= 0);
    comm_op *op = low > 0 ? &j->ops[low - 1] : NULL;
    bool is_one = op != NULL && op->pid == key.pid && op->group == key.group &&
                  key.start_ns <= op->end_ns && op->latest_end_ns <= key.start_ns;
    return is_one ? op : NULL;
}

static void note_rank(int64_t *known, int64_t rank) {
    if (rank >= 0 && rank != PS_ASCEND_NO_ID) {
        *known = *known == -1 || *known == rank ? rank : -2;
    }
}

static void join_tasks(joining *j) {
    ps_ascend_text *r = j->r;
    ps_sort(r->launches, r->n_launches, sizeof *r->launches, compare_launches);
    for (size_t i = 0; i < r->n_tasks; i++) {
        const ps_ascend_comm_task *task = &r->tasks[i];
        if (r->lanes[j->slices->track[task->slice]] != PS_LANE_PLANE) {
            continue;
        }
        comm_op *op = op_of_launch(j, task);
        op = op != NULL ? op : op_at(j, task);
        if (op != NULL) {
            note_rank(&op->own[task->is_notify], task->own);
            note_rank(&op->peer[task->is_notify], task->peer);
        }
    }
}

/* --- arguments -------------------------------------------------------------------------------------------- */

static void add_peers(const joining *j) {
    for (size_t i = 0; i < j->n_ops; i++) {
        const comm_op *op = &j->ops[i];
        size_t from = op->own[1] != -1 || op->peer[1] != -1 ? 1 : 0; /* notify tasks know best */
        if (op->own[from] >= 0 && op->peer[from] >= 0) {
            ps_builder_arg_int(j->r->builder, op->slice, "srcRank", op->own[from]);
            ps_builder_arg_int(j->r->builder, op->slice, "dstRank", op->peer[from]);
        }
    }
}

static void add_host_starts(const joining *j) {
    for (size_t i = 0; i < j->r->n_connections; i++) {
        const ps_ascend_connection *c = &j->r->connections[i];
        uint32_t call =
            is_group_lane(j, c->slice) ? ps_idmap_get(&j->calls, (uint64_t)c->id) : PS_IDMAP_NONE;
        if (call != PS_IDMAP_NONE) {
            ps_builder_arg_time(j->r->builder, c->slice, "hostStart", j->slices->start_ns[call]);
        }
    }
}

void ps_ascend_text_settle_ops(ps_ascend_text *r) {
    size_t n_tracks = 0;
    joining j = {.r = r,
                 .slices = ps_builder_slices(r->builder),
                 .tracks = ps_builder_tracks(r->builder, &n_tracks)};
    if ((r->needs & PS_ASCEND_NEEDS_OPS) != 0) {
        r->failed = !collect_ops(&j) || !collect_connections(&j);
        if (!r->failed) {
            join_tasks(&j);
            add_peers(&j);
            add_host_starts(&j);
        }
    }
    ps_free(j.ops);
    ps_idmap_fini(&j.op_of_slice);
    ps_idmap_fini(&j.calls);
    ps_idmap_fini(&j.operators);
}
