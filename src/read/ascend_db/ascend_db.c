/* Databases of the Ascend PyTorch, MindSpore and msMonitor profilers, and of msprof (SQLite).
 *
 *   STRING_IDS(id, value)   MSTX_EVENTS(startNs, endNs, message -> STRING_IDS, connectionId, ...)
 *   TASK(startNs, endNs, connectionId, streamId, ...)   COMMUNICATION_OP(opName, ..., opId)   META_DATA ...
 *
 * Columns are addressed by name: every version of the writers has its own order. Only the tables that the needs ask for
 * are read, each in one pass. Marks and operators alone are read in the order MSTX_EVENTS, COMMUNICATION_OP, STRING_IDS
 * (only the texts those two name), COMMUNICATION_TASK_INFO, TASK; the whole timeline begins with all of STRING_IDS. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/literal.h"
#include "model/comm_marks.h"
#include "read/ascend/ascend_info.h"
#include "read/ascend/ascend_meta.h"
#include "read/ascend_db/ascend_db_comm.h"
#include "read/ascend_db/ascend_db_counters.h"
#include "read/ascend_db/ascend_db_device.h"
#include "read/ascend_db/ascend_db_flows.h"
#include "read/ascend_db/ascend_db_host.h"
#include "read/ascend_db/ascend_db_marks.h"
#include "read/ascend_db/ascend_db_reading.h"
#include "read/ascend_db/ascend_db_sniff.h"
#include "read/ascend_db/ascend_db_spans.h"
#include "read/ascend_db/ascend_db_tables.h"

/* --- metadata and steps ------------------------------------------------------------------------------ */

static ps_code take_metadata(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_ascend *a = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_scan_bytes key = ps_cell_text(&b->columns[0], i);
        ps_scan_bytes value = ps_cell_text(&b->columns[1], i);
        char *k = ps_strndup(key.data, key.size_bytes);
        char *v = ps_strndup(value.data, value.size_bytes);
        if (k != NULL && v != NULL) {
            ps_builder_meta(a->builder, k, v);
        }
        ps_free(k);
        ps_free(v);
        if (k == NULL || v == NULL) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

static ps_code take_db_steps(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_ascend *a = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_builder_step(a->builder, ps_cell_int(&b->columns[0], i, -1),
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

static ps_code read_labels(ps_ascend *a, ps_err *err) {
    if ((a->needs & PS_NEED_LABELS) == 0 || !ps_db_has_table(a->db, "StepTaskInfo")) {
        return PS_OK;
    }
    labels l = {ps_table_new("StepTaskInfo", "", LABELS, sizeof LABELS / sizeof *LABELS), a->diag};
    if (l.table == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_scan(a->db, "StepTaskInfo", (const char *const[]){"name", "startNs", "endNs"},
                           3, take_labels, &l, err);
    if (code != PS_OK) {
        ps_table_free(l.table);
        return code;
    }
    ps_builder_side_table(a->builder, l.table);
    return PS_OK;
}

/* --- all together ------------------------------------------------------------------------------------- */

static void say_what_is_there(ps_ascend *a) {
    static const struct {
        const char *table;
        uint32_t bit;
    } PARTS[] = {{"MSTX_EVENTS", PS_HAS_MARKS},
                 {"COMMUNICATION_OP", PS_HAS_COMM_OPS},
                 {"COMMUNICATION_TASK_INFO", PS_HAS_COMM_TASKS},
                 {"StepTaskInfo", PS_HAS_STEP_TASK_INFO}};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        ps_builder_has(a->builder, ps_db_has_table(a->db, PARTS[i].table) ? PARTS[i].bit : 0);
    }
}

static ps_code read_small_tables(ps_ascend *a, ps_err *err) {
    ps_code code = PS_OK;
    if (ps_ascend_wants(a, PS_NEED_META | PS_NEED_SLICES)) { /* labels of groups come from there */
        if (ps_db_has_table(a->db, "META_DATA")) {
            code = PS_ASCEND_SCAN(a->db, "META_DATA", take_metadata, a, err, "name", "value");
        }
        code = code == PS_OK ? ps_ascend_metadata(a->src->rank_dir, a->builder, err) : code;
        code = code == PS_OK ? ps_ascend_device_facts(a->src->rank_dir, a->builder, err) : code;
    }
    if (code == PS_OK && ps_ascend_wants(a, PS_NEED_STEPS) && ps_db_has_table(a->db, "STEP_TIME")) {
        code = PS_ASCEND_SCAN(a->db, "STEP_TIME", take_db_steps, a, err, "id", "startNs", "endNs");
    }
    return code == PS_OK ? read_labels(a, err) : code;
}

/* Marks and communication operators, and nothing else. */
static ps_code read_marks_and_ops(ps_ascend *a, ps_ascend_marks *marks, ps_ascend_ops *ops,
                                  ps_err *err) {
    bool want_marks = ps_ascend_wants(a, PS_NEED_MARKS);
    bool want_ops = ps_ascend_wants(a, PS_NEED_COMM_OPS);
    ps_code code = want_marks ? ps_ascend_marks_scan(marks, err) : PS_OK;
    if (code == PS_OK && want_ops) {
        code = ps_ascend_ops_scan(ops, err);
    }
    code = code == PS_OK ? ps_ascend_strings_read(a, false, err) : code;
    if (code == PS_OK && want_ops) {
        code = ps_ascend_ops_join(ops, err);
    }
    if (code == PS_OK && want_marks) {
        code = ps_ascend_marks_add_host(marks, err);
        code = code == PS_OK ? ps_ascend_marks_add_device(marks, err) : code;
        code = code == PS_OK ? ps_ascend_marks_finish(marks, err) : code;
    }
    return code == PS_OK && want_ops ? ps_ascend_ops_add(ops, -1, -1, err) : code;
}

static ps_code take_session(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_ascend *a = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        a->is_epoch = a->is_epoch || ps_cell_int(&b->columns[0], i, 0) > PS_ASCEND_EARLIEST_NS;
    }
    return PS_OK;
}

/* {"0": {"handle": "0x1", "name": "compute"}, ...}: names that a recorded program gave its streams. */
static ps_code name_streams(ps_ascend *a, ps_err *err) {
    const char *text = ps_builder_meta_text(a->builder, "collector.stream_map");
    ps_arena arena = {0};
    ps_err odd = PS_ERR_INIT;
    const ps_literal *streams =
        text != NULL ? ps_literal_parse(&arena, text, strlen(text), &odd) : NULL;
    size_t n = 0;
    (void)ps_builder_tracks(a->builder, &n);
    for (size_t i = 0; streams != NULL && i < n; i++) {
        ps_track track = ps_builder_tracks(a->builder, &n)[i];
        char number[24];
        (void)snprintf(number, sizeof number, "%lld", (long long)track.tid);
        const char *name =
            track.kind == PS_TRACK_STREAM
                ? ps_literal_str(ps_literal_get(ps_literal_get(streams, number), "name"))
                : NULL;
        if (name != NULL && name[0] != '\0') {
            char label[160];
            (void)snprintf(label, sizeof label, "Stream %s (%.100s)", number, name);
            track.name = PS_STR_NONE; /* the stream itself, also where it has nothing but marks */
            ps_builder_track_label(a->builder, ps_builder_track(a->builder, track),
                                   ps_builder_str(a->builder, label, strlen(label)), PS_NO_ORDER);
        }
    }
    ps_arena_fini(&arena);
    return odd.code == PS_NOMEM || ps_builder_failed(a->builder) ? ps_fail_nomem(err) : PS_OK;
}

static ps_code read_timeline(ps_ascend *a, ps_ascend_marks *marks, ps_ascend_ops *ops,
                             ps_err *err) {
    static const char *const SESSION[] = {"startTimeNs"};
    ps_ascend_home home = {-1, -1};
    ps_code code = ps_ascend_scan(a, "SESSION_TIME_INFO", SESSION, 1, NULL, take_session, a, err);
    code = code == PS_OK ? ps_ascend_marks_scan(marks, err) : code;
    code = code == PS_OK ? ps_ascend_marks_add_host(marks, err) : code;
    code = code == PS_OK ? ps_ascend_torch_read(a, marks, err) : code;
    code = code == PS_OK ? ps_ascend_calls_read(a, err) : code;
    code = code == PS_OK ? ps_ascend_ops_scan(ops, err) : code;
    code = code == PS_OK ? ps_ascend_ops_join(ops, err) : code;
    code = code == PS_OK ? ps_ascend_tasks_read(a, marks, ops, &home, err) : code;
    code = code == PS_OK ? ps_ascend_marks_finish(marks, err) : code;
    code = code == PS_OK ? ps_ascend_ops_add(ops, home.pid, home.device, err) : code;
    code = code == PS_OK ? ps_ascend_overlap_read(a, home.pid, err) : code;
    code = code == PS_OK ? name_streams(a, err) : code;
    return code == PS_OK ? ps_ascend_flows_add(a, err) : code;
}

/* Whether operators will be made from marks, which takes the whole timeline. */
static bool has_communication_marks(ps_ascend *a) {
    bool any = false;
    size_t n = ps_db_has_table(a->db, "MSTX_EVENTS") ? a->strings.n : 0;
    for (size_t i = 0; !any && i < n; i++) {
        const char *text = a->strings.strings[i].text;
        any = text != NULL && ps_comm_marks_may_be(text);
    }
    return any;
}

static ps_code read_spans(ps_ascend *a, bool *done, ps_err *err) {
    static const char *const SESSION[] = {"startTimeNs"};
    ps_ascend_ops ops = {.a = a};
    ps_code code = ps_ascend_scan(a, "SESSION_TIME_INFO", SESSION, 1, NULL, take_session, a, err);
    code = code == PS_OK ? ps_ascend_ops_scan(&ops, err) : code;
    if (code == PS_OK && (ops.n > 0 || !has_communication_marks(a))) {
        code = ps_ascend_spans_read(a, &ops, done, err);
    }
    ps_ascend_ops_fini(&ops);
    return code;
}

static ps_code read_slices(ps_ascend *a, ps_err *err) {
    bool done = false;
    ps_code spans = a->spans_only ? read_spans(a, &done, err) : PS_OK;
    if (spans != PS_OK || done) {
        return spans;
    }
    ps_ascend_marks marks = {.a = a};
    ps_ascend_ops ops = {.a = a};
    ps_code code = ps_ascend_wants(a, PS_NEED_SLICES) ? read_timeline(a, &marks, &ops, err)
                                                      : read_marks_and_ops(a, &marks, &ops, err);
    ps_ascend_ops_fini(&ops);
    ps_ascend_marks_fini(&marks);
    return code;
}

static ps_code take_end(void *context, const ps_scan_batch *b, ps_err *err) {
    int64_t *start_ns = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        if (b->columns[1].types[i] == PS_CELL_NULL) {
            *start_ns = ps_cell_int(&b->columns[0], i, INT64_MAX);
        }
    }
    return PS_OK;
}

static ps_code take_open(void *context, const ps_scan_batch *b, ps_err *err) {
    (void)err;
    *(size_t *)context += b->n_rows;
    return PS_OK;
}

/* "00:27:31.034" of the latest end of what was read. */
static void put_last_event(const ps_ascend *a, int64_t start_ns, char *out, size_t size) {
    const ps_slices *s = ps_builder_slices(a->builder);
    int64_t last_ns = start_ns;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t end_ns = s->start_ns[i] + (s->dur_ns[i] > 0 ? s->dur_ns[i] : 0);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    time_t last_s = (time_t)(last_ns / 1000000000);
    struct tm utc = {0};
    char clock[16] = "";
    if (gmtime_r(&last_s, &utc) != NULL) {
        (void)strftime(clock, sizeof clock, "%H:%M:%S", &utc);
    }
    (void)snprintf(out, size, "%s.%03d", clock, (int)(last_ns / 1000000 % 1000));
}

/* The recorder says no end of a process that was killed. Where one is, launchers end the others, too: those wait for it, mostly between
 * their ranges, where it was in one. */
static ps_code say_killed(ps_ascend *a, ps_err *err) {
    static const char *const SESSION[] = {"startTimeNs", "endTimeNs"};
    static const char *const OPEN[] = {"startNs"};
    int64_t start_ns = INT64_MAX;
    size_t n_open = 0;
    if (ps_builder_meta_text(a->builder, "collector.version") == NULL) {
        return PS_OK;
    }
    ps_code code =
        ps_ascend_scan(a, "SESSION_TIME_INFO", SESSION, 2, NULL, take_end, &start_ns, err);
    if (code != PS_OK || start_ns == INT64_MAX) {
        return code;
    }
    code = ps_ascend_scan(a, "PIPESCOPE_OPEN_RANGES", OPEN, 1, NULL, take_open, &n_open, err);
    const char *where = n_open > 0 ? "in the middle of a range" : "between its ranges";
    char clock[32] = "";
    if (ps_ascend_wants(a, PS_NEED_SLICES)) { /* else its last event may be one that is not read */
        put_last_event(a, start_ns, clock, sizeof clock);
        ps_diag_add(a->diag, PS_ODD_KILLED, "last event at %s UTC, %s", clock, where);
    } else {
        ps_diag_add(a->diag, PS_ODD_KILLED, "%s", where);
    }
    return code;
}

static ps_code read_parts(ps_ascend *a, ps_err *err) {
    say_what_is_there(a);
    ps_code code = read_small_tables(a, err);
    if (code == PS_OK && ps_ascend_wants(a, PS_NEED_SLICES | PS_NEED_COUNTERS | PS_NEED_TABLES |
                                                PS_NEED_STATISTICS | PS_NEED_UNIT_RATIOS)) {
        code = ps_ascend_strings_read(a, true, err);
    }
    code = code == PS_OK ? read_slices(a, err) : code;
    code = code == PS_OK ? say_killed(a, err) : code;
    if (code == PS_OK && ps_ascend_wants(a, PS_NEED_COUNTERS)) {
        code = ps_ascend_counters_read(a, err);
    }
    if (code == PS_OK &&
        ps_ascend_wants(a, PS_NEED_TABLES | PS_NEED_STATISTICS | PS_NEED_UNIT_RATIOS)) {
        code = ps_ascend_tables_copy(a, err);
    }
    if (code == PS_OK && ps_ascend_wants(a, PS_NEED_INVENTORY)) {
        code = ps_ascend_info(a->db, a->src, a->builder, err);
    }
    return code;
}

static ps_code read_db(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    ps_ascend a = {.src = src,
                   .builder = b,
                   .diag = ps_builder_diag(b),
                   .needs = needs,
                   .spans_only = (needs & PS_NEED_DEVICE_SPANS) != 0};
    a.needs |= a.spans_only ? PS_NEED_SLICES | PS_NEED_FLOWS : 0;
    a.db = ps_db_open(src->path, err);
    if (a.db == NULL) {
        if (ps_ascend_is_json_lines(src->path)) {
            return ps_fail_file(err, PS_UNSUPPORTED, src->path,
                                "msMonitor's JSON lines are not read: let msMonitor write its "
                                "database (msmonitor_*.db) instead");
        }
        return err != NULL ? err->code : PS_IO;
    }
    ps_db_watch(a.db, src->watch);
    ps_ascend_init(&a);
    ps_db_stamp stamp = ps_db_get_stamp(a.db);
    ps_builder_stamp(b, (ps_file_stamp){stamp.file, stamp.wal, stamp.change_counter});
    ps_code code = read_parts(&a, err);
    code = code == PS_OK ? ps_db_check_unchanged(a.db, err) : code;
    ps_ascend_fini(&a);
    ps_db_close(a.db);
    return code;
}

const ps_reader ps_reader_ascend_db = {
    .name = "ascend-db",
    .profiler = "Ascend",
    .summary = "Ascend PyTorch / MindSpore / msMonitor profiler database (SQLite)",
    .sniff = ps_ascend_sniff,
    .gives_spans = true,
    .read = read_db,
};
