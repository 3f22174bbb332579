/* Everything that lay on a device, or stands for it, by start: numbered by that order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "record/export/export_tables.h"
#include "record/export/order.h"

#define STRING(e, text) ps_export_string(e, text, sizeof(text) - 1)

static bool add_task(ps_export *e, ps_task task) {
    if (!ps_grow(&e->tasks, &e->cap_tasks, e->n_tasks + 1, UINT32_MAX - 1, sizeof *e->tasks)) {
        return false;
    }
    e->tasks[e->n_tasks++] = task;
    return true;
}

/* --- where tasks come from ---------------------------------------------------------------------------------------- */

/* On machines without a device the host's times stand for it, so that a pipeline can be drawn. */
static ps_task host_task(ps_export *e, int64_t start_ns, int64_t end_ns, uint64_t stream) {
    return (ps_task){.start_ns = start_ns,
                     .end_ns = end_ns,
                     .device = e->device_id,
                     .context = (uint32_t)PS_DB_NONE,
                     .stream = ps_export_stream(e, PS_STREAM_HANDLE, 0, stream)};
}

static ps_task device_task(ps_export *e, size_t row) {
    const ps_events *v = ps_capture_events(e->c);
    return (ps_task){.start_ns = v->device_start_ns[row],
                     .end_ns = v->device_end_ns[row],
                     .device = v->device[row],
                     .context = v->context[row],
                     .stream =
                         ps_export_stream(e, PS_STREAM_HANDLE, v->context[row], v->stream[row])};
}

/* A call of NCCL where nothing tells of its kernel: the host's times, on a stream of the communicator's own. */
static ps_task comm_task(ps_export *e, const ps_mark *m) {
    return (ps_task){.start_ns = m->start_ns,
                     .end_ns = m->end_ns,
                     .device = e->device_id,
                     .context = (uint32_t)PS_DB_NONE,
                     .stream = ps_comm_stream(e, m->comm)};
}

static ps_task step_task(ps_export *e, size_t row) {
    const ps_steps *s = ps_capture_steps(e->c);
    return (ps_task){.start_ns = s->device_start_ns[row],
                     .end_ns = s->device_end_ns[row],
                     .device = s->device[row],
                     .context = s->context[row],
                     .stream =
                         ps_export_stream(e, PS_STREAM_HANDLE, s->context[row], s->stream[row])};
}

static bool has_device_time(const ps_export *e, const ps_mark *m) {
    return m->step != PS_NO_TEXT
               ? ps_capture_steps(e->c)->device_start_ns[m->step] != PS_STILL_OPEN
               : m->event != PS_NO_TEXT &&
                     ps_capture_events(e->c)->device_start_ns[m->event] != PS_STILL_OPEN;
}

static const ps_projection *projection_of(const ps_export *e, const ps_mark *m) {
    return e->projected != NULL && m->event != PS_NO_TEXT &&
                   e->projected[m->event].first != PS_NO_TEXT
               ? &e->projected[m->event]
               : NULL;
}

static ps_task projected_task(ps_export *e, const ps_projection *p) {
    const ps_device_rows *d = ps_capture_device(e->c);
    return (ps_task){
        .start_ns = p->start_ns,
        .end_ns = p->end_ns,
        .device = d->device[p->first],
        .context = d->context[p->first],
        .stream = ps_export_stream(e, PS_STREAM_CUPTI, d->context[p->first], d->stream[p->first])};
}

bool ps_mark_has_task(const ps_export *e, const ps_mark *m) {
    if (m->end_ns == PS_STILL_OPEN) {
        return false;
    }
    if (m->comm != NULL) {
        return !e->cupti_backend;
    }
    return has_device_time(e, m) || (m->stream != 0 && e->host_backend) ||
           projection_of(e, m) != NULL;
}

static ps_task task_of_mark(ps_export *e, const ps_mark *m) {
    const ps_projection *p = projection_of(e, m);
    ps_task task = m->comm != NULL ? comm_task(e, m)
                   : has_device_time(e, m)
                       ? (m->step != PS_NO_TEXT ? step_task(e, m->step) : device_task(e, m->event))
                   : p != NULL ? projected_task(e, p)
                               : host_task(e, m->start_ns, m->end_ns, m->stream);
    task.connection = m->connection;
    task.what = PS_TASK_MARK;
    task.row = (uint32_t)m->message;
    return task;
}

static bool add_task_marks(ps_export *e) {
    ps_mark m;
    for (ps_mark_walk w = {0}; ps_marks_next(e, &w, &m);) {
        if (ps_mark_has_task(e, &m)) {
            if (!add_task(e, task_of_mark(e, &m))) {
                return false;
            }
        } else {
            e->n_without_device += m.stream != 0 && m.end_ns != PS_STILL_OPEN &&
                                   (m.event != PS_NO_TEXT || m.step != PS_NO_TEXT);
        }
    }
    return true;
}

/* Where CUPTI tells of kernels an operator needs none that stands for it. */
static bool add_task_operators(ps_export *e) {
    const ps_events *v = ps_capture_events(e->c);
    for (size_t i = 0; i < v->n; i++) {
        if (v->what[i] != PS_EVENT_OP || v->host_only[i] != 0) {
            continue;
        }
        bool timed = v->device_start_ns[i] != PS_STILL_OPEN;
        if (v->end_ns[i] == PS_STILL_OPEN || e->cupti_backend || (!timed && !e->host_backend)) {
            e->n_without_device += !timed && v->stream[i] != 0 && !e->host_backend;
            continue;
        }
        uint64_t stream = v->stream[i] != 0 ? v->stream[i] : 1;
        ps_task task =
            timed ? device_task(e, i) : host_task(e, v->start_ns[i], v->end_ns[i], stream);
        task.connection = PS_DB_FIRST_OPERATOR_KERNEL + e->operator_number[i];
        task.what = PS_TASK_OPERATOR;
        task.row = (uint32_t)i;
        if (!add_task(e, task)) {
            return false;
        }
    }
    return true;
}

static bool task_of_row(uint8_t kind, ps_task_what *what) {
    switch (kind) {
    case PS_REC_KERNEL:
        *what = PS_TASK_KERNEL;
        return true;
    case PS_REC_MEMCPY:
        *what = PS_TASK_COPY;
        return true;
    case PS_REC_MEMSET:
        *what = PS_TASK_SET;
        return true;
    case PS_REC_GRAPH:
        *what = PS_TASK_GRAPH;
        return true;
    default:
        return false;
    }
}

static bool add_device_rows(ps_export *e) {
    const ps_device_rows *d = ps_capture_device(e->c);
    for (size_t i = 0; i < d->n; i++) {
        ps_task_what what = PS_TASK_MARK;
        if (!task_of_row(d->kind[i], &what)) {
            continue;
        }
        if (what == PS_TASK_KERNEL && ps_comm_is_kernel(ps_export_kernel_name(e, d->name[i]))) {
            what = PS_TASK_COMMUNICATION;
        }
        ps_task task = {.start_ns = d->start_ns[i],
                        .end_ns = d->end_ns[i],
                        .connection = ps_export_correlation(d->correlation[i]),
                        .device = d->device[i],
                        .context = d->context[i],
                        .stream = ps_export_stream(e, PS_STREAM_CUPTI, d->context[i], d->stream[i]),
                        .row = (uint32_t)i,
                        .what = (uint8_t)what};
        e->result->n_kernels +=
            what == PS_TASK_KERNEL || what == PS_TASK_COMMUNICATION || what == PS_TASK_GRAPH;
        if (!add_task(e, task)) {
            return false;
        }
    }
    return true;
}

static bool sort_tasks(ps_export *e) {
    ps_order_key *keys = ps_order_keys(e->n_tasks);
    ps_task *sorted = ps_alloc((e->n_tasks + 1) * sizeof *sorted);
    bool ok = keys != NULL && sorted != NULL;
    for (size_t i = 0; ok && i < e->n_tasks; i++) {
        keys[i] = (ps_order_key){ps_order_of(e->tasks[i].start_ns), (uint32_t)i};
    }
    ok = ok && ps_order_sort(&keys, e->n_tasks);
    for (size_t i = 0; ok && i < e->n_tasks; i++) {
        sorted[i] = e->tasks[keys[i].index];
    }
    ps_free(keys);
    ps_free(ok ? e->tasks : sorted);
    if (ok) {
        e->tasks = sorted;
        e->cap_tasks = e->n_tasks + 1;
    }
    return ok;
}

ps_code ps_make_tasks(ps_export *e, ps_err *err) {
    if (e->cupti_backend && ps_capture_device(e->c)->n > 0) {
        e->projected = ps_project_ranges(e->c);
        if (e->projected == NULL) {
            return ps_fail_nomem(err);
        }
    }
    bool ok = add_task_marks(e) && add_task_operators(e) && add_device_rows(e) && sort_tasks(e);
    return ok && !e->out_of_memory ? PS_OK : ps_fail_nomem(err);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static ps_code fill_task_table(ps_export *e, ps_err *err) {
    const int64_t types[] = {[PS_TASK_MARK] = STRING(e, "MsTx"),
                             [PS_TASK_OPERATOR] = STRING(e, "HOST_OP"),
                             [PS_TASK_KERNEL] = STRING(e, "GPU_KERNEL"),
                             [PS_TASK_COMMUNICATION] = STRING(e, "GPU_KERNEL"),
                             [PS_TASK_COPY] = STRING(e, "MEMCPY_ASYNC"),
                             [PS_TASK_SET] = STRING(e, "MEMSET"),
                             [PS_TASK_GRAPH] = STRING(e, "GPU_GRAPH")};
    ps_code code = ps_database_begin(&e->db, "TASK", err);
    for (size_t i = 0; code == PS_OK && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        code = PS_DATABASE_PUT(&e->db, err, t->start_ns, t->end_ns, t->device, t->connection,
                               (int64_t)i, e->pid, types[t->what], t->context, t->stream,
                               e->streams[t->stream].n_tasks++, PS_DB_NONE);
    }
    return code;
}

int64_t ps_export_graph(ps_export *e, uint32_t row) {
    char name[32];
    int n = snprintf(name, sizeof name, "CUDA graph #%" PRIu32, ps_capture_device(e->c)->what[row]);
    return ps_export_string(e, name, (size_t)n);
}

int64_t ps_export_task_name(ps_export *e, const ps_task *t) {
    const ps_device_rows *d = ps_capture_device(e->c);
    switch (t->what) {
    case PS_TASK_MARK:
        return t->row;
    case PS_TASK_OPERATOR:
        return ps_export_text(e, ps_capture_events(e->c)->message[t->row]);
    case PS_TASK_KERNEL:
    case PS_TASK_COMMUNICATION:
        return d->name[t->row] != PS_NO_TEXT ? ps_export_kernel(e, d->name[t->row])
                                             : ps_export_string(e, "kernel", 6);
    case PS_TASK_GRAPH:
        return ps_export_graph(e, t->row);
    default:
        return t->what == PS_TASK_COPY ? ps_export_string(e, "MEMCPY_ASYNC", 12)
                                       : ps_export_string(e, "MEMSET", 6);
    }
}

/* All kernels of a replay in one. */
static ps_code put_graph(ps_export *e, size_t task, int64_t none, ps_err *err) {
    int64_t name = ps_export_graph(e, e->tasks[task].row);
    return PS_DATABASE_PUT(&e->db, err, name, (int64_t)task, 0, 0, STRING(e, "GPU_GRAPH"), name,
                           none, none, none, none, none, none, none, none, none, 0, 0);
}

static ps_code put_compute(ps_export *e, size_t task, int64_t none, ps_err *err) {
    const ps_task *t = &e->tasks[task];
    const ps_device_rows *d = ps_capture_device(e->c);
    const ps_events *v = ps_capture_events(e->c);
    bool kernel = t->what == PS_TASK_KERNEL;
    uint32_t text = kernel ? d->name[t->row] : v->message[t->row];
    int64_t name = text == PS_NO_TEXT ? none
                   : kernel           ? ps_export_kernel(e, text)
                                      : ps_export_text(e, text);
    int64_t type = kernel ? STRING(e, "GPU_KERNEL") : STRING(e, "HOST_OP");
    int64_t shapes = none;
    if (!kernel && v->shapes[t->row] != PS_NO_TEXT) { /* in quotes, as the profiler has them */
        char quoted[PS_RECORD_MAX_TEXT + 3];
        size_t n = 0;
        const char *bytes = ps_capture_text(e->c, v->shapes[t->row], &n);
        n = n < PS_RECORD_MAX_TEXT ? n : PS_RECORD_MAX_TEXT;
        quoted[0] = '"';
        memcpy(quoted + 1, bytes, n);
        quoted[n + 1] = '"';
        shapes = ps_export_string(e, quoted, n + 2);
    }
    int64_t grid = kernel ? (int64_t)(uint32_t)d->bytes[t->row] : 0;
    int64_t block = kernel ? (int64_t)(d->bytes[t->row] >> 32) : 0;
    return PS_DATABASE_PUT(&e->db, err, name, (int64_t)task, grid, 0, type, name, none, none,
                           shapes, none, none, none, none, none, none, grid, block);
}

static ps_code fill_compute(ps_export *e, ps_err *err) {
    int64_t none = STRING(e, "N/A");
    ps_code code = ps_database_begin(&e->db, "COMPUTE_TASK_INFO", err);
    for (size_t i = 0; code == PS_OK && i < e->n_tasks; i++) {
        if (e->tasks[i].what == PS_TASK_KERNEL || e->tasks[i].what == PS_TASK_OPERATOR) {
            code = put_compute(e, i, none, err);
        } else if (e->tasks[i].what == PS_TASK_GRAPH) {
            code = put_graph(e, i, none, err);
        }
    }
    return code;
}

/* Copy kinds of CUPTI to ENUM_MEMCPY_OPERATION. */
static int64_t copy_operation(uint32_t kind) {
    static const uint8_t KINDS[] = {
        [1] = 1, [2] = 2, [3] = 1, [4] = 2, [5] = 3, [6] = 3, [7] = 3, [8] = 3, [9] = 0, [10] = 3};
    enum { OTHER = 65535 };
    return kind >= 1 && kind < sizeof KINDS ? KINDS[kind] : OTHER;
}

static ps_code fill_copies(ps_export *e, ps_err *err) {
    const ps_device_rows *d = ps_capture_device(e->c);
    ps_code code = ps_database_begin(&e->db, "MEMCPY_INFO", err);
    for (size_t i = 0; code == PS_OK && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        if (t->what == PS_TASK_COPY) {
            code = PS_DATABASE_PUT(&e->db, err, (int64_t)i, (int64_t)d->bytes[t->row],
                                   copy_operation(d->what[t->row]));
        }
    }
    return code;
}

ps_code ps_fill_tasks(ps_export *e, ps_err *err) {
    ps_code code = fill_task_table(e, err);
    bool device = ps_capture_device(e->c)->n > 0;
    if (code == PS_OK && (device || e->n_operators > 0)) {
        code = fill_compute(e, err);
    }
    return code == PS_OK && device ? fill_copies(e, err) : code;
}
