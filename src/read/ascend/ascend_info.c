#include "read/ascend/ascend_info.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "read/ascend/ascend_meta.h"
#include "read/sqlite/scan.h"

static const ps_column TABLES[] = {{.name = "table", .type = PS_COL_TEXT},
                                   {.name = "rows", .type = PS_COL_INT, .unit = PS_UNIT_COUNT}};

static ps_code add_ascend_info_tables(ps_db *db, ps_builder *b, ps_err *err) {
    ps_table *t = ps_table_new("tables", "", TABLES, 2);
    size_t n = 0;
    const char *const *names = ps_db_tables(db, &n);
    ps_code code = t != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        int64_t rows = 0;
        code = ps_db_count_rows(db, names[i], &rows, err);
        if (code == PS_OK && (!ps_table_add_row(t) || !ps_table_set_text(t, 0, names[i]))) {
            code = ps_fail_nomem(err);
        }
        if (code == PS_OK) {
            ps_table_set_int(t, 1, rows);
        }
    }
    if (code != PS_OK) {
        ps_table_free(t);
        return code;
    }
    ps_builder_side_table(b, t);
    return PS_OK;
}

/* --- spans ------------------------------------------------------------------------------------------------- */

typedef struct span {
    int64_t start_ns, end_ns;
} span;

/* A time that is an integer, or decimal text as PYTORCH_API has it. */
static int64_t cell_time(const ps_scan_column *column, size_t row, int64_t otherwise) {
    if (column->types[row] == PS_CELL_TEXT) {
        int64_t value = 0;
        ps_scan_bytes text = column->bytes[row];
        return ps_parse_i64(text.data, text.size_bytes, &value) ? value : otherwise;
    }
    return ps_cell_int(column, row, otherwise);
}

static ps_code ascend_info_widen(void *context, const ps_scan_batch *batch, ps_err *err) {
    span *s = context;
    (void)err;
    for (size_t i = 0; i < batch->n_rows; i++) {
        int64_t start = cell_time(&batch->columns[0], i, INT64_MAX);
        int64_t end = cell_time(&batch->columns[1], i, INT64_MIN);
        s->start_ns = start < s->start_ns ? start : s->start_ns;
        s->end_ns = end > s->end_ns ? end : s->end_ns;
    }
    return PS_OK;
}

static const ps_column SPANS[] = {{.name = "what", .type = PS_COL_TEXT},
                                  {.name = "startNs", .type = PS_COL_INT, .unit = PS_UNIT_NS},
                                  {.name = "endNs", .type = PS_COL_INT, .unit = PS_UNIT_NS}};

static ps_code add_ascend_info_span(ps_db *db, ps_table *t, const char *what,
                                    const char *const *tables, size_t n, ps_err *err) {
    static const char *const COLUMNS[] = {"startNs", "endNs"};
    span s = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < n; i++) {
        if (ps_db_has_table(db, tables[i])) {
            ps_code code = ps_scan(db, tables[i], COLUMNS, 2, ascend_info_widen, &s, err);
            if (code != PS_OK) {
                return code;
            }
        }
    }
    if (s.start_ns > s.end_ns) {
        return PS_OK;
    }
    if (!ps_table_add_row(t) || !ps_table_set_text(t, 0, what)) {
        return ps_fail_nomem(err);
    }
    ps_table_set_int(t, 1, s.start_ns);
    ps_table_set_int(t, 2, s.end_ns);
    return PS_OK;
}

static ps_code add_spans(ps_db *db, ps_builder *b, ps_err *err) {
    static const char *const HOST[] = {"PYTORCH_API", "CANN_API", "MSTX_EVENTS"};
    static const char *const DEVICE[] = {"TASK", "COMMUNICATION_OP"};
    ps_table *t = ps_table_new("spans", "", SPANS, 3);
    ps_code code = t != NULL ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? add_ascend_info_span(db, t, "host", HOST, 3, err) : code;
    code = code == PS_OK ? add_ascend_info_span(db, t, "device", DEVICE, 2, err) : code;
    if (code != PS_OK) {
        ps_table_free(t);
        return code;
    }
    ps_builder_side_table(b, t);
    return PS_OK;
}

/* --- facts ------------------------------------------------------------------------------------------------- */

static const ps_column FACTS[] = {{.name = "what", .type = PS_COL_TEXT},
                                  {.name = "value", .type = PS_COL_TEXT}};

static bool add_ascend_info_fact(ps_table *t, const char *what, const char *value) {
    return value == NULL || value[0] == '\0' ||
           (ps_table_add_row(t) && ps_table_set_text(t, 0, what) && ps_table_set_text(t, 1, value));
}

/* The first row's value of a column, into `out`; "" when there is none, as in an absent table. */
static ps_code first_value(ps_db *db, const char *sql, char *out, size_t size, ps_err *err) {
    sqlite3_stmt *stmt = NULL;
    out[0] = '\0';
    int rc = sqlite3_prepare_v2(ps_db_handle(db), sql, -1, &stmt, NULL);
    bool is_absent = rc == SQLITE_ERROR;
    rc = rc == SQLITE_OK ? sqlite3_step(stmt) : rc;
    if (rc == SQLITE_ROW && sqlite3_column_text(stmt, 0) != NULL) {
        (void)snprintf(out, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
    }
    ps_code code = is_absent || rc == SQLITE_ROW || rc == SQLITE_DONE
                       ? PS_OK
                       : ps_db_fail(db, "what the profiler says of itself", err);
    (void)sqlite3_finalize(stmt);
    return code;
}

/* The profiler's own configuration: profiler_info[_R].json of the rank directory. A malformed one is counted. */
static ps_code add_profile_facts(const ps_src *src, ps_table *t, ps_diag *diag, ps_err *err) {
    ps_ascend_profile profile;
    ps_code code = ps_ascend_profile_read(src->rank_dir, &profile, diag, err);
    const char *mstx = !profile.has_mstx_option ? "" : profile.mstx ? "on" : "off";
    bool ok = code != PS_OK || (add_ascend_info_fact(t, "profiler level", profile.level) &&
                                add_ascend_info_fact(t, "mstx", mstx));
    return ok ? code : ps_fail_nomem(err);
}

static ps_code add_facts(ps_db *db, const ps_src *src, ps_builder *b, ps_err *err) {
    static const struct {
        const char *what, *sql;
    } QUERIES[] = {{"device", "SELECT group_concat(name, ', ') FROM NPU_INFO"},
                   {"host", "SELECT hostName FROM HOST_INFO"},
                   {"schema version", "SELECT value FROM META_DATA WHERE name = 'SCHEMA_VERSION'"}};
    ps_table *t = ps_table_new("facts", "", FACTS, 2);
    ps_code code =
        t != NULL ? add_profile_facts(src, t, ps_builder_diag(b), err) : ps_fail_nomem(err);
    bool ok = code == PS_OK;
    for (size_t i = 0; ok && i < sizeof QUERIES / sizeof *QUERIES; i++) {
        char value[256];
        code = first_value(db, QUERIES[i].sql, value, sizeof value, err);
        ok = code == PS_OK && add_ascend_info_fact(t, QUERIES[i].what, value);
    }
    if (!ok) {
        ps_table_free(t);
        return code != PS_OK ? code : ps_fail_nomem(err);
    }
    ps_builder_side_table(b, t);
    return PS_OK;
}

ps_code ps_ascend_info(ps_db *db, const ps_src *src, ps_builder *b, ps_err *err) {
    ps_code code = add_ascend_info_tables(db, b, err);
    code = code == PS_OK ? add_spans(db, b, err) : code;
    return code == PS_OK ? add_facts(db, src, b, err) : code;
}
