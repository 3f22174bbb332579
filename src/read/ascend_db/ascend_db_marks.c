#include "read/ascend_db/ascend_db_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "read/ascend/stream_tasks.h"

#define NO_DOMAIN 65535 /* without an entry in STRING_IDS */

void ps_ascend_marks_fini(ps_ascend_marks *m) {
    ps_free(m->rows);
    ps_idmap_fini(&m->of_connection);
    ps_idmap_fini(&m->on_thread);
}

/* --- the host side ------------------------------------------------------------------------------------ */

/* Columns 6 and on are there for the whole timeline only. */
static ps_code take_marks(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_ascend_marks *m = context;
    if (!ps_grow(&m->rows, &m->cap, m->n + b->n_rows, UINT32_MAX - 1, sizeof *m->rows)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_ascend_mark mark = {.start_ns = ps_cell_int(&b->columns[0], i, INT64_MIN),
                               .end_ns = ps_cell_int(&b->columns[1], i, INT64_MIN),
                               .message = ps_cell_int(&b->columns[2], i, -1),
                               .thread_id = ps_cell_int(&b->columns[3], i, -1),
                               .connection_id = ps_cell_int(&b->columns[4], i, -1),
                               .event_type = PS_ASCEND_NULL,
                               .domain = ps_cell_int(&b->columns[5], i, PS_ASCEND_NULL),
                               .category = PS_ASCEND_NULL,
                               .row = b->rowids[i],
                               .slice = PS_NONE};
        if (b->n_columns > 6) {
            mark.event_type = ps_cell_int(&b->columns[6], i, PS_ASCEND_NULL);
            mark.category = ps_cell_int(&b->columns[7], i, PS_ASCEND_NULL);
        }
        if (!ps_ascend_want_string(m->a, mark.message) ||
            !ps_ascend_want_string(m->a, mark.domain)) {
            return ps_fail_nomem(err);
        }
        m->rows[m->n++] = mark;
    }
    return PS_OK;
}

ps_code ps_ascend_marks_scan(ps_ascend_marks *m, ps_err *err) {
    static const char *const COLUMNS[] = {"startNs",      "endNs",    "message",   "globalTid",
                                          "connectionId", "domainId", "eventType", "category"};
    if (!ps_db_has_table(m->a->db, "MSTX_EVENTS")) {
        return PS_OK;
    }
    return ps_scan(m->a->db, "MSTX_EVENTS", COLUMNS, ps_ascend_wants(m->a, PS_NEED_SLICES) ? 8 : 6,
                   take_marks, m, err);
}

static void add_host_args(const ps_ascend *a, const ps_ascend_mark *mark, ps_str event_type) {
    if (!ps_str_is_none(event_type)) {
        ps_builder_arg_str(a->builder, mark->slice, "eventType", event_type);
    }
    if (mark->category != PS_ASCEND_NULL && mark->category != PS_ASCEND_NO_ID) {
        ps_builder_arg_int(a->builder, mark->slice, "category", mark->category);
    }
    if (mark->connection_id >= 0 && mark->connection_id != PS_ASCEND_NO_ID) {
        ps_builder_arg_int(a->builder, mark->slice, "connectionId", mark->connection_id);
    }
}

/* None for the numbers that stand for no domain. */
static ps_str mark_domain_of(ps_ascend *a, const ps_ascend_mark *mark, bool *missing) {
    if (!ps_ascend_wants(a, PS_NEED_SLICES) || mark->domain == PS_ASCEND_NULL ||
        mark->domain == PS_ASCEND_NO_ID) {
        return PS_STR_NONE;
    }
    ps_str domain = ps_ascend_text(a, mark->domain);
    return ps_str_is_none(domain) && mark->domain != NO_DOMAIN
               ? ps_ascend_name(a, mark->domain, missing)
               : domain;
}

static ps_slice_kind kind_of_mark(const ps_ascend *a, const ps_ascend_mark *mark) {
    return mark->event_type != PS_ASCEND_NULL && mark->start_ns == mark->end_ns &&
                   (mark->event_type == ps_ascend_enum_id(a, PS_ASCEND_MSTX_TYPE, "marker") ||
                    mark->event_type == ps_ascend_enum_id(a, PS_ASCEND_MSTX_TYPE, "marker_ex"))
               ? PS_SLICE_INSTANT
               : PS_SLICE_MARK_HOST;
}

/* Without its message a mark means nothing to an analysis; on the timeline it is still there. */
static ps_str mark_message_of(ps_ascend *a, const ps_ascend_mark *mark, bool *missing) {
    ps_str message = ps_ascend_wants(a, PS_NEED_SLICES) ? ps_ascend_name(a, mark->message, missing)
                                                        : ps_ascend_text(a, mark->message);
    *missing = *missing || ps_str_is_none(message);
    return message;
}

static ps_code add_host_mark(ps_ascend_marks *m, size_t row, ps_err *err) {
    ps_ascend *a = m->a;
    ps_ascend_mark *mark = &m->rows[row];
    bool missing = false;
    ps_str message = mark_message_of(a, mark, &missing);
    ps_str domain = mark_domain_of(a, mark, &missing);
    if (ps_builder_failed(a->builder)) {
        return ps_fail_nomem(err);
    }
    if (missing) {
        ps_diag_add(a->diag, PS_ODD_STRING_ID, "MSTX_EVENTS rowid %lld: message %lld",
                    (long long)mark->row, (long long)mark->message);
    }
    if (ps_str_is_none(message)) {
        return PS_OK;
    }
    mark->slice =
        ps_ascend_slice(a, kind_of_mark(a, mark), ps_ascend_thread_track(a, mark->thread_id),
                        message, domain, mark->start_ns, mark->end_ns, "MSTX_EVENTS", mark->row);
    if (mark->slice != PS_NONE) {
        if (mark->connection_id >= 0 && mark->connection_id != PS_ASCEND_NO_ID &&
            !ps_idmap_put(&m->of_connection, (uint64_t)mark->connection_id, (uint32_t)row)) {
            return ps_fail_nomem(err);
        }
        if (ps_ascend_wants(a, PS_NEED_SLICES) && ps_ascend_wants(a, PS_NEED_ARGS)) {
            add_host_args(a, mark,
                          mark->event_type != PS_ASCEND_NULL
                              ? ps_ascend_enum_name(a, PS_ASCEND_MSTX_TYPE, mark->event_type)
                              : PS_STR_NONE);
        }
    }
    return ps_builder_failed(a->builder) ? ps_fail_nomem(err) : PS_OK;
}

ps_code ps_ascend_marks_add_host(ps_ascend_marks *m, ps_err *err) {
    ps_code code = PS_OK;
    if (ps_ascend_wants(m->a, PS_NEED_SLICES)) {
        code = ps_ascend_enum_read(m->a, PS_ASCEND_MSTX_TYPE, err);
    }
    for (size_t i = 0; code == PS_OK && i < m->n; i++) {
        code = add_host_mark(m, i, err);
    }
    return code;
}

static uint64_t thread_key(int64_t global_tid, ps_str message) {
    const int64_t fields[] = {global_tid, (int64_t)message.id};
    return ps_hash64_seeded(fields, sizeof fields);
}

bool ps_ascend_marks_on_thread(ps_ascend_marks *m, int64_t global_tid, ps_str message) {
    for (size_t i = 0; !m->has_on_thread && i < m->n; i++) {
        ps_str text = ps_ascend_text(m->a, m->rows[i].message);
        if (m->rows[i].slice != PS_NONE &&
            !ps_idmap_put(&m->on_thread, thread_key(m->rows[i].thread_id, text), 1)) {
            return false;
        }
    }
    m->has_on_thread = true;
    return ps_idmap_get(&m->on_thread, thread_key(global_tid, message)) != PS_IDMAP_NONE;
}

/* --- the device side ---------------------------------------------------------------------------------- */

static uint32_t add_device_slice(ps_ascend_marks *m, const ps_ascend_mark *mark, uint32_t track,
                                 int64_t start_ns, int64_t end_ns, int64_t connection,
                                 int64_t row) {
    ps_ascend *a = m->a;
    uint32_t slice = ps_ascend_slice(a, PS_SLICE_MARK_DEVICE, track,
                                     ps_builder_slice_name(a->builder, mark->slice), PS_STR_NONE,
                                     start_ns, end_ns, "TASK", row);
    if (slice != PS_NONE) {
        ps_builder_flow(a->builder, mark->slice, slice);
        if (ps_ascend_wants(a, PS_NEED_COMM_MARKS | PS_NEED_ARGS)) {
            ps_builder_arg_int(a->builder, slice, "connectionId", connection);
        }
    }
    return slice;
}

bool ps_ascend_marks_own_task(const ps_ascend_marks *m, const ps_scan_batch *b, size_t row,
                              bool *first) {
    const ps_scan_column *connection = &b->columns[2];
    uint32_t mark = ps_idmap_get(&m->of_connection, (uint64_t)connection->ints[row]);
    if (mark == PS_IDMAP_NONE || connection->types[row] != PS_CELL_INT) {
        return false;
    }
    *first = m->rows[mark].slice != PS_NONE;
    return true;
}

ps_code ps_ascend_marks_take_task(ps_ascend_marks *m, const ps_scan_batch *b, size_t row,
                                  uint32_t track, ps_err *err) {
    int64_t connection = b->columns[2].ints[row];
    ps_ascend_mark *mark = &m->rows[ps_idmap_get(&m->of_connection, (uint64_t)connection)];
    (void)add_device_slice(m, mark, track, ps_cell_int(&b->columns[0], row, INT64_MIN),
                           ps_cell_int(&b->columns[1], row, INT64_MIN), connection, b->rowids[row]);
    mark->slice = PS_NONE; /* has its task */
    return ps_builder_failed(m->a->builder) ? ps_fail_nomem(err) : PS_OK;
}

/* The hot loop: nearly all rows are kernels and miss the map by its range of keys. A mark has one task; a
 * second one with its connection id is counted and left out. */
static ps_code take_mark_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_ascend_marks *m = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        bool first = false;
        if (!ps_ascend_marks_own_task(m, b, i, &first)) {
            continue;
        }
        if (!first) {
            ps_diag_add(m->a->diag, PS_ODD_MARK_TASKS, "TASK rowid %lld", (long long)b->rowids[i]);
            continue;
        }
        ps_track stream = {.kind = PS_TRACK_STREAM,
                           .tid = ps_cell_int(&b->columns[3], i, -1),
                           .device = ps_cell_int(&b->columns[4], i, -1)};
        ps_code code =
            ps_ascend_marks_take_task(m, b, i, ps_builder_track(m->a->builder, stream), err);
        if (code != PS_OK) {
            return code;
        }
    }
    return PS_OK;
}

ps_code ps_ascend_marks_add_device(ps_ascend_marks *m, ps_err *err) {
    if (m->n == 0 || !ps_db_has_table(m->a->db, "TASK")) {
        return PS_OK;
    }
    return PS_ASCEND_SCAN(m->a->db, "TASK", take_mark_tasks, m, err, PS_ASCEND_TASK_COLUMNS);
}

/* --- communication marks without a task of their own ------------------------------------------------ */

typedef struct stream_search {
    ps_ascend_marks *marks;
    ps_idmap streams;
    ps_stream_task *tasks;
    size_t n, cap;
} stream_search;

static ps_code take_stream_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
    stream_search *s = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t stream = ps_cell_int(&b->columns[3], i, -1);
        int64_t connection = ps_cell_int(&b->columns[2], i, -1);
        bool is_mark = connection >= 0 && ps_idmap_get(&s->marks->of_connection,
                                                       (uint64_t)connection) != PS_IDMAP_NONE;
        if (stream < 0 || is_mark || ps_idmap_get(&s->streams, (uint64_t)stream) == PS_IDMAP_NONE) {
            continue;
        }
        if (!PS_ADD(s->tasks, s->n, s->cap, UINT32_MAX,
                    (ps_stream_task){.stream = stream,
                                     .start_ns = ps_cell_int(&b->columns[0], i, INT64_MIN),
                                     .end_ns = ps_cell_int(&b->columns[1], i, INT64_MIN),
                                     .connection_id = connection,
                                     .device = ps_cell_int(&b->columns[4], i, -1),
                                     .row = b->rowids[i]})) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

static void add_mark_joined(ps_ascend_marks *all, const ps_waiting_mark *marks, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const ps_ascend_mark *m = &all->rows[marks[i].mark];
        const ps_stream_task *task = marks[i].task;
        if (task == NULL) {
            ps_diag_add(all->a->diag, PS_ODD_COMM_MARK,
                        "MSTX_EVENTS rowid %lld: no task on stream %lld", (long long)m->row,
                        (long long)marks[i].stream);
            continue;
        }
        ps_track stream = {.kind = PS_TRACK_STREAM, .tid = task->stream, .device = task->device};
        (void)add_device_slice(all, m, ps_builder_track(all->a->builder, stream), task->start_ns,
                               task->end_ns, task->connection_id, task->row);
    }
}

static ps_code find_waiting_tasks(ps_ascend_marks *all, ps_waiting_mark *marks, size_t n,
                                  ps_err *err) {
    stream_search s = {.marks = all};
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        code = ps_idmap_put(&s.streams, (uint64_t)marks[i].stream, 1) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code =
            PS_ASCEND_SCAN(all->a->db, "TASK", take_stream_tasks, &s, err, PS_ASCEND_TASK_COLUMNS);
    }
    if (code == PS_OK) {
        ps_waiting_marks_join(marks, n, s.tasks, s.n);
        add_mark_joined(all, marks, n);
    }
    ps_idmap_fini(&s.streams);
    ps_free(s.tasks);
    return code;
}

static ps_code read_waiting_marks(ps_ascend_marks *all, ps_err *err) {
    ps_waiting_mark *marks = NULL;
    size_t n = 0;
    size_t cap = 0;
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < all->n; i++) {
        const ps_ascend_mark *m = &all->rows[i];
        const char *message = ps_builder_text(all->a->builder, ps_ascend_text(all->a, m->message));
        int64_t stream = -1;
        if (m->slice != PS_NONE && !ps_stream_of_message(message, &stream)) {
            code = ps_fail_nomem(err);
        } else if (stream >= 0) {
            code = ps_grow(&marks, &cap, n + 1, UINT32_MAX, sizeof *marks) ? PS_OK
                                                                           : ps_fail_nomem(err);
            if (code == PS_OK) {
                marks[n++] =
                    (ps_waiting_mark){.stream = stream, .start_ns = m->start_ns, .mark = i};
            }
        }
    }
    if (code == PS_OK && n > 0) {
        code = find_waiting_tasks(all, marks, n, err);
    }
    ps_free(marks);
    return code;
}

/* Calls of modules, arguments of attention, counted operations and the profiler's own steps are told of the host alone. */
static bool is_of_host(ps_ascend *a, const ps_ascend_mark *mark) {
    static const char *const DOMAINS[] = {"Module", "flash_attn_args", "mfu_flops"};
    const char *domain = ps_builder_text(a->builder, ps_ascend_text(a, mark->domain));
    for (size_t i = 0; i < sizeof DOMAINS / sizeof *DOMAINS; i++) {
        if (strcmp(domain, DOMAINS[i]) == 0) {
            return true;
        }
    }
    const char *message = ps_builder_text(a->builder, ps_ascend_text(a, mark->message));
    return strncmp(message, "ProfilerStep#", 13) == 0;
}

ps_code ps_ascend_marks_finish(ps_ascend_marks *m, ps_err *err) {
    ps_ascend *a = m->a;
    ps_code code = PS_OK;
    if (m->n == 0 || !ps_db_has_table(a->db, "TASK")) {
        return PS_OK;
    }
    if (ps_ascend_wants(a, PS_NEED_COMM_MARKS) && !ps_db_has_table(a->db, "COMMUNICATION_OP")) {
        code = read_waiting_marks(m, err);
    }
    for (size_t i = 0; code == PS_OK && i < m->n; i++) {
        ps_diag_count(a->diag, PS_ODD_MARK_HOST_ONLY,
                      m->rows[i].slice != PS_NONE && !is_of_host(a, &m->rows[i]));
    }
    return code == PS_OK && ps_builder_failed(a->builder) ? ps_fail_nomem(err) : code;
}
