/* An array of trace events as the profiler writes it: times are texts of microseconds with three decimals, which no reader
 * passes through a double; the device is a process of its own, its streams are threads. */
#include "record/export/export_trace_view.h"
#include "base/json_write.h"
#include "record/export/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/num.h"

enum { DEVICE_LAYER = 13, FLUSH_BYTES = 1 << 20 };

typedef struct view {
    ps_export *e;
    ps_buf text;
    ps_json json; /* into `text`, all of the file */
    int fd;
    int error; /* errno of a failed write */
    bool any;
} view;

/* --- out ------------------------------------------------------------------------------------------------------------ */

static void flush_view(view *v, size_t from) {
    size_t at = 0;
    while (v->error == 0 && v->text.len >= from && at < v->text.len) {
        ssize_t n = write(v->fd, v->text.data + at, v->text.len - at);
        if (n < 0 && errno != EINTR) {
            v->error = errno;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    if (v->text.len >= from && ps_buf_ok(&v->text)) {
        ps_buf_clear(&v->text);
    }
}

/* The object of an event, open. */
static ps_json *begin_view_event(view *v, const char *ph, int64_t pid, int64_t tid) {
    flush_view(v, FLUSH_BYTES);
    if (v->any) {
        ps_json_line(&v->json, 0);
    }
    v->any = true;
    ps_json_object(&v->json);
    ps_json_key_str(&v->json, "ph", ph);
    ps_json_key_int(&v->json, "pid", pid);
    ps_json_key_int(&v->json, "tid", tid);
    return &v->json;
}

static void add_meta(view *v, const char *what, int64_t pid, int64_t tid, const char *name) {
    ps_json *j = begin_view_event(v, "M", pid, tid);
    ps_json_key_str(j, "name", what);
    ps_json_key(j, "args");
    ps_json_object(j);
    ps_json_key_str(j, "name", name);
    ps_json_close(j);
    ps_json_close(j);
}

static void add_order(view *v, const char *what, int64_t pid, int64_t tid, int64_t order) {
    ps_json *j = begin_view_event(v, "M", pid, tid);
    ps_json_key_str(j, "name", what);
    ps_json_key(j, "args");
    ps_json_object(j);
    ps_json_key_int(j, "sort_index", order);
    ps_json_close(j);
    ps_json_close(j);
}

/* --- where things stand --------------------------------------------------------------------------------------------- */

static int64_t device_pid(const ps_export *e, int64_t device) {
    return e->pid << 10 | DEVICE_LAYER << 5 | (device & 31);
}

static void add_places(view *v) {
    ps_export *e = v->e;
    char name[96];
    add_meta(v, "process_name", e->pid, 0, "Python");
    add_order(v, "process_sort_index", e->pid, 0, 0);
    const ps_named *threads = ps_capture_threads(e->c);
    for (size_t i = 0; i < threads->n; i++) {
        add_meta(v, "thread_name", e->pid, (int64_t)threads->key[i],
                 ps_capture_text(e->c, threads->value[i], NULL));
    }
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < e->n_tasks; i++) { /* devices change rarely from task to task */
        int64_t device = e->tasks[i].device;
        if (device == last || (device & 31) != device || (v->e->devices_seen >> device & 1) != 0) {
            continue;
        }
        last = device;
        e->devices_seen |= UINT32_C(1) << device;
        (void)snprintf(name, sizeof name, e->host_backend ? "Host as device %d" : "Device %d",
                       (int)device);
        add_meta(v, "process_name", device_pid(e, device), 0, name);
        add_order(v, "process_sort_index", device_pid(e, device), 0, DEVICE_LAYER);
        for (size_t s = 0; s < e->n_streams; s++) {
            const char *given = ps_export_stream_name(e, (uint32_t)s);
            (void)snprintf(name, sizeof name, given[0] != '\0' ? "Stream %zu: %.64s" : "Stream %zu",
                           s, given);
            add_meta(v, "thread_name", device_pid(e, device), (int64_t)s, name);
        }
    }
}

/* --- events --------------------------------------------------------------------------------------------------------- */

static void add_view_slice(view *v, int64_t pid, int64_t tid, const char *category, int64_t name,
                           int64_t start_ns, int64_t end_ns, int64_t connection) {
    const ps_texts *strings = &v->e->strings;
    name = v->e->out_of_memory ? 0 : name; /* said at the end */
    ps_json *j = begin_view_event(v, "X", pid, tid);
    ps_json_key_str(j, "cat", category);
    ps_json_key(j, "name");
    ps_json_str_n(j, strings->text[name], strings->length[name]);
    ps_json_key(j, "ts");
    ps_json_us_text(j, start_ns);
    ps_json_key(j, "dur");
    ps_json_us(j, ps_i64_minus(end_ns, start_ns));
    ps_json_key(j, "args");
    ps_json_object(j);
    ps_json_key_int(j, "connection_id", connection);
    ps_json_close(j);
    ps_json_close(j);
}

/* From the host's side of an event to the device's: `ph` s, then f, at the starts of both. */
static void add_flow(view *v, const char *ph, const char *category, int64_t pid, int64_t tid,
                     int64_t at_ns, int64_t connection) {
    ps_json *j = begin_view_event(v, ph, pid, tid);
    ps_json_key_str(j, "cat", category);
    ps_json_key_str(j, "name", category);
    ps_json_key_int(j, "id", connection);
    ps_json_key(j, "ts");
    ps_json_us_text(j, at_ns);
    if (ph[0] == 'f') {
        ps_json_key_str(j, "bp", "e");
    }
    ps_json_close(j);
}

static void add_view_marks(view *v) {
    ps_export *e = v->e;
    ps_mark m;
    for (ps_mark_walk w = {0}; v->error == 0 && !e->out_of_memory && ps_marks_next(e, &w, &m);) {
        if (m.end_ns != PS_STILL_OPEN) {
            add_view_slice(v, e->pid, m.tid, "mstx", m.message, m.start_ns, m.end_ns, m.connection);
            if (ps_mark_has_task(e, &m)) {
                add_flow(v, "s", "MsTx", e->pid, m.tid, m.start_ns, m.connection);
            }
        }
    }
    const ps_events *events = ps_capture_events(e->c);
    for (size_t i = 0; v->error == 0 && e->n_operators > 0 && i < events->n; i++) {
        if (events->what[i] == PS_EVENT_OP && events->end_ns[i] != PS_STILL_OPEN) {
            add_view_slice(v, e->pid, events->tid[i], "cpu_op",
                           ps_export_text(e, events->message[i]), events->start_ns[i],
                           events->end_ns[i], PS_DB_FIRST_OPERATOR + e->operator_number[i]);
            if (!e->cupti_backend && events->host_only[i] == 0 &&
                (e->host_backend || events->device_start_ns[i] != PS_STILL_OPEN)) {
                add_flow(v, "s", "async_npu", e->pid, events->tid[i], events->start_ns[i],
                         PS_DB_FIRST_OPERATOR_KERNEL + e->operator_number[i]);
            }
        }
    }
}

static void add_tasks(view *v) {
    ps_export *e = v->e;
    for (size_t i = 0; v->error == 0 && i < e->n_tasks; i++) {
        const ps_task *t = &e->tasks[i];
        int64_t name = ps_export_task_name(e, t);
        if (e->out_of_memory) {
            return;
        }
        add_view_slice(v, device_pid(e, t->device), t->stream,
                       t->what == PS_TASK_MARK ? "mstx" : "kernel", name, t->start_ns, t->end_ns,
                       t->connection);
        if (t->what == PS_TASK_MARK || t->what == PS_TASK_OPERATOR) {
            add_flow(v, "f", t->what == PS_TASK_MARK ? "MsTx" : "async_npu",
                     device_pid(e, t->device), t->stream, t->start_ns, t->connection);
        }
    }
}

/* --- the file ------------------------------------------------------------------------------------------------------- */

static ps_code fill_view(view *v, ps_err *err, const char *path) {
    ps_buf_init(&v->text, 0);
    v->json = ps_json_to(&v->text);
    ps_json_array(&v->json);
    add_places(v);
    add_view_marks(v);
    add_tasks(v);
    ps_json_close(&v->json);
    ps_buf_add_char(&v->text, '\n');
    bool ok = ps_buf_ok(&v->text) && !v->e->out_of_memory;
    flush_view(v, 0);
    ps_buf_fini(&v->text);
    if (!ok) {
        return ps_fail_nomem(err);
    }
    if (v->error != 0 || fsync(v->fd) != 0) {
        return ps_fail_system(err, path, "cannot write", v->error != 0 ? v->error : errno);
    }
    return PS_OK;
}

ps_code ps_trace_view_write(ps_export *e, const char *path, ps_err *err) {
    char temporary[4200];
    int n = snprintf(temporary, sizeof temporary, "%s.tmp", path);
    if (n < 0 || (size_t)n >= sizeof temporary) {
        return ps_fail_file(err, PS_IO, path, "the path is too long");
    }
    (void)unlink(temporary);
    view v = {.e = e};
    v.fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (v.fd < 0) {
        return ps_fail_system(err, path, "cannot write", errno);
    }
    ps_code code = fill_view(&v, err, path);
    (void)close(v.fd);
    if (code == PS_OK && rename(temporary, path) != 0) {
        code = ps_fail_system(err, path, "cannot rename", errno);
    }
    if (code != PS_OK) {
        (void)unlink(temporary);
    }
    return code;
}
