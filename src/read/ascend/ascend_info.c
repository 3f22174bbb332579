#include "read/ascend/ascend_info.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/literal.h"
#include "base/num.h"
#include "read/sqlite/scan.h"

#define MAX_INFO_BYTES ((size_t)16 << 20)

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
    static const char *const DEVICE[] = {"TASK"};
    ps_table *t = ps_table_new("spans", "", SPANS, 3);
    ps_code code = t != NULL ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? add_ascend_info_span(db, t, "host", HOST, 3, err) : code;
    code = code == PS_OK ? add_ascend_info_span(db, t, "device", DEVICE, 1, err) : code;
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

/* The first row's value of a column, into `out`; "" when there is none. */
static void first_value(ps_db *db, const char *sql, char *out, size_t size) {
    sqlite3_stmt *stmt = NULL;
    out[0] = '\0';
    if (sqlite3_prepare_v2(ps_db_handle(db), sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0) != NULL) {
        (void)snprintf(out, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
    }
    (void)sqlite3_finalize(stmt); /* an absent table is an absent fact */
}

/* The profiler's own configuration lies in profiler_info[_R].json of the rank directory. */
static bool add_level(const ps_src *src, ps_table *t) {
    if (src->rank_dir == NULL) {
        return true;
    }
    ps_arena arena = {0};
    ps_buf text;
    ps_buf_init(&text, MAX_INFO_BYTES);
    const char **names = NULL;
    size_t n = 0;
    bool ok = ps_list_dir(src->rank_dir, &arena, &names, &n, NULL) != PS_NOMEM;
    for (size_t i = 0; ok && i < n; i++) {
        if (strncmp(names[i], "profiler_info", 13) != 0 || !ps_ends_with(names[i], ".json")) {
            continue;
        }
        const char *path = ps_path_join(&arena, src->rank_dir, names[i]);
        if (path == NULL || ps_read_file(path, MAX_INFO_BYTES, &text, NULL) != PS_OK) {
            break;
        }
        const ps_literal *doc = ps_literal_parse(&arena, ps_buf_str(&text), text.len, NULL);
        const ps_literal *config =
            ps_literal_get(ps_literal_get(doc, "config"), "experimental_config");
        ok = add_ascend_info_fact(t, "profiler level",
                                  ps_literal_str(ps_literal_get(config, "_profiler_level")));
        const ps_literal *tx = ps_literal_get(config, "_msprof_tx");
        tx = tx != NULL ? tx : ps_literal_get(config, "_mstx");
        ok = ok && (tx == NULL || tx->kind != PS_LITERAL_BOOL ||
                    add_ascend_info_fact(t, "mstx", tx->boolean ? "on" : "off"));
        break;
    }
    ps_buf_fini(&text);
    ps_arena_fini(&arena);
    return ok;
}

static ps_code add_facts(ps_db *db, const ps_src *src, ps_builder *b, ps_err *err) {
    static const struct {
        const char *what, *sql;
    } QUERIES[] = {{"device", "SELECT group_concat(name, ', ') FROM NPU_INFO"},
                   {"host", "SELECT hostName FROM HOST_INFO"},
                   {"schema version", "SELECT value FROM META_DATA WHERE name = 'SCHEMA_VERSION'"}};
    ps_table *t = ps_table_new("facts", "", FACTS, 2);
    bool ok = t != NULL && add_level(src, t);
    for (size_t i = 0; ok && i < sizeof QUERIES / sizeof *QUERIES; i++) {
        char value[256];
        first_value(db, QUERIES[i].sql, value, sizeof value);
        ok = add_ascend_info_fact(t, QUERIES[i].what, value);
    }
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    ps_builder_side_table(b, t);
    return PS_OK;
}

ps_code ps_ascend_info(ps_db *db, const ps_src *src, ps_builder *b, ps_err *err) {
    ps_code code = add_ascend_info_tables(db, b, err);
    code = code == PS_OK ? add_spans(db, b, err) : code;
    return code == PS_OK ? add_facts(db, src, b, err) : code;
}
