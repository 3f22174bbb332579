#include "read/ascend_db/ascend_db_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "read/ascend_db/ascend_db_columns.h"

/* Columns that hold ids of STRING_IDS. */
typedef struct copied_table {
    const char *name;
    const char *texts[3];
} copied_table;

static const copied_table OWN[] = {
    {"OP_MEMORY", {"name"}},
    {"MEMORY_RECORD", {"component"}},
    {"NPU_OP_MEM", {"operatorName", "type", "component"}},
    {"TASK_PMU_INFO", {"name"}},
};

/* Of a row a kernel and counter, the only ones that analyses ask for. */
static const copied_table RATIOS = {"TASK_PMU_INFO", {"name"}};
static const char RATIO[] = "_ratio";

/* Of a few rows, which analyses ask for by themselves. */
static const copied_table SMALL[] = {
    {"NPU_INFO", {NULL}},
    {"HOST_INFO", {NULL}},
    {"RANK_DEVICE_MAP", {NULL}},
    {"SESSION_TIME_INFO", {NULL}},
};

/* Of the sibling, or of the file itself when it is one. */
static const copied_table ANALYSIS[] = {
    {"StepTraceTime", {NULL}},
    {"CommAnalyzerTime", {NULL}},
    {"CommAnalyzerBandwidth", {NULL}},
    {"CommAnalyzerMatrix", {NULL}},
};

typedef struct copy {
    ps_ascend *a;
    const char *name;
    const char *ending; /* of the texts in `text_column` of rows that are taken; NULL: all are */
    size_t text_column;
    ps_table *table;
    bool is_text[PS_ASCEND_MAX_COLUMNS];
    ps_idmap owned; /* id in STRING_IDS -> row in texts, in the table's arena */
    const char **texts;
    size_t n, cap;
} copy;

/* The text of an id, in the table's arena once however often it is used. NULL when memory is out. */
static const char *text_of_id(copy *c, int64_t id, bool *missing) {
    uint32_t row = ps_idmap_get(&c->owned, (uint64_t)id);
    if (row != PS_IDMAP_NONE) {
        return c->texts[row];
    }
    const char *text = NULL;
    const ps_ascend_string *s = ps_ascend_raw_text(c->a, id);
    if (s != NULL) {
        text = ps_arena_strndup(&c->table->arena, s->text, s->n);
    } else {
        *missing = true;
        ps_str name = ps_ascend_name(c->a, id, missing);
        const char *shown = ps_builder_text(c->a->builder, name);
        text = ps_arena_strndup(&c->table->arena, shown, strlen(shown));
    }
    if (text == NULL || !ps_grow(&c->texts, &c->cap, c->n + 1, UINT32_MAX - 1, sizeof *c->texts) ||
        (s != NULL && !ps_idmap_put(&c->owned, (uint64_t)id, (uint32_t)c->n))) {
        return NULL;
    }
    c->texts[c->n++] = text;
    return text;
}

static bool set_side_table_text(copy *c, size_t column, const char *text) {
    if (text != NULL) {
        ps_table_share_text(c->table, column, text);
    }
    return text != NULL;
}

static bool set_cell(copy *c, const ps_scan_batch *b, size_t column, size_t i, bool *missing) {
    const ps_scan_column *cell = &b->columns[column];
    ps_scan_bytes text = ps_cell_text(cell, i);
    ps_col_type type = c->table->columns[column].type;
    if (cell->types[i] == PS_CELL_NULL || cell->types[i] == PS_CELL_BLOB) {
        return true;
    }
    if (cell->types[i] == PS_CELL_TEXT) {
        if (type != PS_COL_TEXT) {
            ps_diag_add(c->a->diag, PS_ODD_TABLE_ROW, "%s rowid %lld: text in %s", c->name,
                        (long long)b->rowids[i], c->table->columns[column].name);
            return true;
        }
        return set_side_table_text(c, column,
                                   ps_arena_strndup(&c->table->arena, text.data, text.size_bytes));
    }
    if (c->is_text[column]) {
        return set_side_table_text(c, column, text_of_id(c, ps_cell_int(cell, i, -1), missing));
    }
    if (type == PS_COL_REAL) {
        ps_table_set_real(c->table, column, ps_cell_real(cell, i, 0));
    } else if (type == PS_COL_INT) {
        ps_table_set_int(c->table, column, ps_cell_int(cell, i, 0));
    } else {
        char number[32];
        (void)snprintf(number, sizeof number, "%lld", (long long)ps_cell_int(cell, i, 0));
        return ps_table_set_text(c->table, column, number);
    }
    return true;
}

/* Texts that no string is there for are taken, and counted. */
static bool is_side_table_taken(const copy *c, const ps_scan_batch *b, size_t i) {
    const ps_scan_column *cell = &b->columns[c->text_column];
    if (c->ending == NULL || cell->types[i] != PS_CELL_INT) {
        return true;
    }
    const ps_ascend_string *s = ps_ascend_raw_text(c->a, ps_cell_int(cell, i, -1));
    size_t n = strlen(c->ending);
    return s == NULL || (s->n >= n && memcmp(s->text + s->n - n, c->ending, n) == 0);
}

static ps_code take_rows(void *context, const ps_scan_batch *b, ps_err *err) {
    copy *c = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        bool missing = false;
        if (!is_side_table_taken(c, b, i)) {
            continue;
        }
        bool ok = ps_table_add_row(c->table);
        for (size_t column = 0; ok && column < b->n_columns; column++) {
            ok = set_cell(c, b, column, i, &missing);
        }
        if (!ok) {
            return ps_fail_nomem(err);
        }
        ps_ascend_count_missing(c->a, missing, c->name, b->rowids[i]);
    }
    return PS_OK;
}

static bool holds_ids(const copied_table *t, const char *column) {
    for (size_t i = 0; i < 3 && t->texts[i] != NULL; i++) {
        if (strcmp(t->texts[i], column) == 0) {
            return true;
        }
    }
    return false;
}

/* An empty table whose columns live in its own arena. */
static ps_table *new_side_table(copy *c, const copied_table *t, const ps_ascend_column *columns,
                                size_t n) {
    ps_table *table = ps_table_new(t->name, "", NULL, n);
    ps_column *own = table != NULL ? ps_arena_alloc(&table->arena, n * sizeof *own) : NULL;
    for (size_t i = 0; own != NULL && i < n; i++) {
        c->is_text[i] = holds_ids(t, columns[i].name);
        own[i] = (ps_column){
            .name = ps_arena_strndup(&table->arena, columns[i].name, strlen(columns[i].name)),
            .type = c->is_text[i] ? PS_COL_TEXT : columns[i].type};
        own = own[i].name != NULL ? own : NULL;
    }
    if (own == NULL) {
        ps_table_free(table);
        return NULL;
    }
    table->columns = own;
    return table;
}

/* `ending`: only rows whose text ends so, NULL: all. */
static ps_code copy_table(ps_ascend *a, ps_db *db, const copied_table *t, const char *ending,
                          ps_err *err) {
    ps_ascend_column columns[PS_ASCEND_MAX_COLUMNS];
    const char *names[PS_ASCEND_MAX_COLUMNS];
    size_t n = 0;
    copy c = {.a = a, .name = t->name};
    ps_arena arena = {0};
    ps_code code = ps_ascend_columns_of(db, t->name, &arena, columns, &n, err);
    if (code == PS_OK && n > 0) {
        c.table = new_side_table(&c, t, columns, n);
        code = c.table != NULL ? PS_OK : ps_fail_nomem(err);
        for (size_t i = 0; i < n; i++) {
            names[i] = columns[i].name;
            bool is_text = ending != NULL && c.is_text[i];
            c.ending = is_text ? ending : c.ending;
            c.text_column = is_text ? i : c.text_column;
        }
        if (code == PS_OK) {
            code = ps_scan(db, t->name, names, n, take_rows, &c, err);
        }
    }
    if (code == PS_OK && c.table != NULL) {
        ps_builder_side_table(a->builder, c.table);
    } else {
        ps_table_free(c.table);
    }
    ps_free(c.texts);
    ps_idmap_fini(&c.owned);
    ps_arena_fini(&arena);
    return code == PS_OK && ps_builder_failed(a->builder) ? ps_fail_nomem(err) : code;
}

static ps_code copy_all(ps_ascend *a, ps_db *db, const copied_table *tables, size_t n,
                        ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        code = copy_table(a, db, &tables[i], NULL, err);
    }
    return code;
}

static ps_code copy_sibling(ps_ascend *a, const char *name, ps_err *err) {
    ps_err odd = PS_ERR_INIT;
    ps_arena arena = {0};
    const char *dir = ps_path_dir(&arena, a->src->path);
    const char *path = dir != NULL ? ps_path_join(&arena, dir, name) : NULL;
    ps_code code = path != NULL ? PS_OK : ps_fail_nomem(err);
    ps_db *db = NULL;
    if (code == PS_OK && ps_is_file(path) && strcmp(ps_path_base(a->src->path), name) != 0) {
        db = ps_db_open(path, &odd);
    }
    if (db != NULL) {
        code = copy_all(a, db, ANALYSIS, sizeof ANALYSIS / sizeof *ANALYSIS, &odd);
        ps_db_close(db);
    }
    ps_arena_fini(&arena);
    if (odd.code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    if (odd.code != PS_OK) {
        ps_diag_add(a->diag, PS_ODD_FILE, "%s: %s", name, odd.msg);
        code = PS_OK;
    }
    return code;
}

ps_code ps_ascend_tables_copy(ps_ascend *a, ps_err *err) {
    ps_code code = PS_OK;
    if (ps_ascend_wants(a, PS_NEED_TABLES)) {
        code = copy_all(a, a->db, OWN, sizeof OWN / sizeof *OWN, err);
    } else if (ps_ascend_wants(a, PS_NEED_UNIT_RATIOS)) {
        code = copy_table(a, a->db, &RATIOS, RATIO, err);
    }
    if (!ps_ascend_wants(a, PS_NEED_TABLES | PS_NEED_STATISTICS)) {
        return code;
    }
    code = code == PS_OK ? copy_all(a, a->db, SMALL, sizeof SMALL / sizeof *SMALL, err) : code;
    code = code == PS_OK ? copy_all(a, a->db, ANALYSIS, sizeof ANALYSIS / sizeof *ANALYSIS, err)
                         : code;
    code = code == PS_OK ? copy_sibling(a, "analysis.db", err) : code;
    return code == PS_OK ? copy_sibling(a, "communication_analyzer.db", err) : code;
}
