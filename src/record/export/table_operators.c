/* Operators of frameworks: PYTORCH_API.connectionId = CONNECTION_IDS.id, CONNECTION_IDS.connectionId = TASK.connectionId. */
#include "record/export/tables.h"

static ps_code put_operator(ps_export *e, size_t row, int64_t id, ps_err *err) {
    enum { TYPE_OP = 50001 };
    const ps_events *v = ps_capture_events(e->c);
    ps_database *d = &e->db;
    ps_database_int(d, 0, v->start_ns[row]); /* text by the column's affinity */
    ps_database_int(d, 1, v->end_ns[row]);
    ps_database_int(d, 2, e->pid << 32 | v->tid[row]);
    ps_database_int(d, 3, id);
    ps_database_int(d, 4, ps_export_text(e, v->message[row]));
    /* As autograd numbers its nodes: both ends have the number, and the backward one the thread of the forward one. */
    ps_database_int(d, 5, (int64_t)(v->forward[row] != 0 ? v->forward[row] : v->id[row]));
    ps_database_int(d, 6, v->forward[row] != 0 ? v->forward_tid[row] : 0);
    ps_database_null(d, 7);
    if (v->shapes[row] != PS_NO_TEXT) {
        ps_database_int(d, 8, ps_export_text(e, v->shapes[row]));
    } else {
        ps_database_null(d, 8);
    }
    ps_database_null(d, 9);
    ps_database_int(d, 10, TYPE_OP);
    return ps_database_put(d, err);
}

static ps_code fill_api(ps_export *e, ps_err *err) {
    const ps_events *v = ps_capture_events(e->c);
    int64_t id = PS_DB_FIRST_OPERATOR;
    ps_code code = ps_database_begin(&e->db, "PYTORCH_API", err);
    for (size_t i = 0; code == PS_OK && i < v->n; i++) {
        if (v->what[i] == PS_EVENT_OP) {
            code = v->end_ns[i] != PS_STILL_OPEN ? put_operator(e, i, id, err) : PS_OK;
            id++;
        }
    }
    return code;
}

static ps_code fill_connections(ps_export *e, ps_err *err) {
    ps_code code = ps_database_begin(&e->db, "CONNECTION_IDS", err);
    for (size_t i = 0; code == PS_OK && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        if (t->what == PS_TASK_OPERATOR) {
            int64_t number = t->connection - PS_DB_FIRST_OPERATOR_KERNEL;
            code = PS_DATABASE_PUT(&e->db, err, PS_DB_FIRST_OPERATOR + number, t->connection);
        }
    }
    return code;
}

ps_code ps_fill_operators(ps_export *e, ps_err *err) {
    ps_code code = fill_api(e, err);
    return code == PS_OK ? fill_connections(e, err) : code;
}
