#include "query/table_columns.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8_text.h"
#include "query/collect.h"
#include "query/schema.h"
#include "query/sql_inside.h"
#include "query/trace_tables.h"
#include "write/table/arrow_columns.h"

typedef struct filling {
    const ps_sql_table_ask *ask;
    const ps_sql_table *form;
    const ps_trace_table *table;
    int columns[PS_SQL_MOST_COLUMNS]; /* of the table, in the order of the answer */
    size_t n_columns;
    ps_arrow *rows;
} filling;

/* --- what is asked ------------------------------------------------------------------------------------------------ */

static bool is_plain(const filling *f, int column) {
    bool is_text = f->table->texts != NULL && (f->table->grouped >> column & 1) != 0;
    return ps_sql_is_number(&f->form->columns[column]) || is_text;
}

static int column_named(const ps_sql_table *form, const char *name) {
    for (size_t i = 0; i < form->n_columns; i++) {
        if (strcmp(form->columns[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Whether the table and all columns are filled here. */
static bool choose_columns(filling *f) {
    const ps_sql_table_ask *ask = f->ask;
    for (size_t t = 0; t < PS_SQL_FIRST_PROFILE_TABLE && f->table == NULL; t++) {
        if (strcmp(ps_sql_tables[t].name, ask->table) == 0) {
            f->form = &ps_sql_tables[t];
            f->table = ps_trace_table_of((ps_sql_table_id)t);
        }
    }
    bool ok = f->table != NULL && !f->table->nested;
    for (size_t i = 0; ok && ask->columns != NULL && ask->columns[i] != NULL; i++) {
        ok = f->n_columns < PS_SQL_MOST_COLUMNS;
        if (ok) {
            f->columns[f->n_columns++] = column_named(f->form, ask->columns[i]);
        }
    }
    for (size_t i = 0; ok && ask->columns == NULL && i < f->form->n_columns; i++) {
        if (!f->form->columns[i].hidden) {
            f->columns[f->n_columns++] = (int)i;
        }
    }
    for (size_t i = 0; i < f->n_columns && ok; i++) {
        ok = f->columns[i] >= 0 && is_plain(f, f->columns[i]);
    }
    return ok && f->n_columns > 0;
}

static bool is_rank_wanted(const void *context, const ps_sql_part *part) {
    const ps_sql_table_ask *ask = ((const filling *)context)->ask;
    bool wanted = ask->ranks == NULL;
    for (size_t i = 0; i < ask->n_ranks && !wanted; i++) {
        wanted = ask->ranks[i] == part->rank->rank;
    }
    return wanted;
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

static ps_code begin_rows(filling *f, ps_err *err) {
    ps_column columns[PS_SQL_MOST_COLUMNS];
    for (size_t i = 0; i < f->n_columns; i++) {
        const ps_sql_column *from = &f->form->columns[f->columns[i]];
        const char *declared = ps_sql_type_name(from->type);
        ps_sql_unit unit = ps_sql_unit_of(declared);
        columns[i] = (ps_column){.name = from->name,
                                 .type = ps_sql_col_type_of(declared),
                                 .unit = unit.unit,
                                 .exact = unit.is_moment};
    }
    ps_table form = {.names_fixed = true, .columns = columns, .n_columns = f->n_columns};
    f->rows = ps_arrow_new();
    return f->rows != NULL ? ps_arrow_add(f->rows, &form, 0, 0, err) : ps_fail_nomem(err);
}

static void fill_numbers(const filling *f, const ps_sql_part *part, int column, uint32_t n,
                         ps_arrow_column *out) {
    size_t first = f->rows->n_rows;
    int64_t plus = 0;
    const int64_t *array = f->table->array != NULL ? f->table->array(part, column, &plus) : NULL;
    for (uint32_t row = 0; row < n; row++) {
        const ps_trace_row at = {.part = part, .row = row};
        int64_t value = array != NULL ? array[row] + plus : f->table->number(&at, column);
        out->numbers[first + row + 1].i = value;
        if (value == INT64_MIN) {
            ps_arrow_set_null(out, first + row);
        }
    }
}

static void fill_texts(const filling *f, const ps_sql_part *part, int column, uint32_t n,
                       ps_arrow_column *out) {
    size_t first = f->rows->n_rows;
    const ps_str *texts = f->table->texts(part, column);
    const uint8_t *kinds = texts == NULL ? f->table->kinds(part, column) : NULL;
    for (uint32_t row = 0; row < n; row++) {
        if (kinds != NULL) {
            ps_buf_add_str(&out->text, f->table->kind_name(kinds[row]));
        } else if (ps_str_is_none(texts[row])) {
            ps_arrow_set_null(out, first + row);
        } else {
            ps_utf8_add(&out->text, ps_trace_text(part->trace, texts[row]),
                        ps_trace_text_len(part->trace, texts[row]));
        }
        out->numbers[first + row + 1].i = (int64_t)out->text.len;
    }
}

static ps_code fill_from_part(filling *f, const ps_sql_part *part, const ps_watch *watch,
                              ps_err *err) {
    uint32_t n = f->table->n_rows(part);
    ps_code code = ps_arrow_make_room(f->rows, n, err);
    for (size_t i = 0; i < f->n_columns && code == PS_OK; i++) {
        ps_arrow_column *out = &f->rows->columns[i];
        if (out->type == PS_COL_TEXT) {
            fill_texts(f, part, f->columns[i], n, out);
        } else {
            fill_numbers(f, part, f->columns[i], n, out);
        }
        code = ps_buf_ok(&out->text) ? ps_watch_ask(watch, err) : ps_fail_nomem(err);
    }
    f->rows->n_rows += n;
    return code;
}

static ps_code fill_from_traces(filling *f, ps_sql_context *c, ps_err *err) {
    uint64_t used = 0;
    for (size_t i = 0; i < f->n_columns; i++) {
        used |= UINT64_C(1) << f->columns[i];
    }
    c->parts.needs = f->table->needs(used);
    bool reads = c->parts.needs.trace != 0;
    ps_code code = begin_rows(f, err);
    for (size_t i = 0; i < c->cluster->n_ranks && code == PS_OK; i++) {
        if (!is_rank_wanted(f, &c->parts.parts[i])) {
            continue;
        }
        ps_sql_part *part = NULL;
        code = ps_sql_part_enter(&c->parts, i, reads, is_rank_wanted, f, &part, err);
        bool is_there = code == PS_OK && (part->err.code == PS_OK || !reads);
        code = is_there ? fill_from_part(f, part, &c->watch, err) : code;
        ps_sql_part_leave(part);
    }
    return code;
}

/* --- as a query --------------------------------------------------------------------------------------------------- */

static void put_name(ps_buf *out, const char *name) {
    ps_buf_add_char(out, '"');
    for (; *name != '\0'; name++) {
        ps_buf_add_str(out, *name == '"' ? "\"" : "");
        ps_buf_add_char(out, *name);
    }
    ps_buf_add_char(out, '"');
}

static ps_arrow *query_table(ps_sql *s, const ps_sql_table_ask *ask, ps_err *err) {
    ps_buf sql = {0};
    ps_buf_add_str(&sql, ask->columns == NULL ? "SELECT *" : "SELECT ");
    for (size_t i = 0; ask->columns != NULL && ask->columns[i] != NULL; i++) {
        ps_buf_add_str(&sql, i > 0 ? ", " : "");
        put_name(&sql, ask->columns[i]);
    }
    ps_buf_add_str(&sql, " FROM ");
    put_name(&sql, ask->table);
    ps_buf_add_str(&sql, ask->ranks != NULL ? " WHERE rank IN (" : "");
    for (size_t i = 0; ask->ranks != NULL && i < ask->n_ranks; i++) {
        ps_buf_addf(&sql, "%s%lld", i > 0 ? ", " : "", (long long)ask->ranks[i]);
    }
    ps_buf_add_str(&sql, ask->ranks != NULL ? ")" : "");
    ps_arrow *rows = NULL;
    if (ps_buf_ok(&sql)) {
        rows = ps_sql_arrow_of(s, ps_buf_str(&sql), ask->name, err);
    } else {
        (void)ps_fail_nomem(err);
    }
    ps_buf_fini(&sql);
    return rows;
}

ps_arrow *ps_sql_table_columns(ps_sql *s, const ps_sql_table_ask *ask, ps_err *err) {
    filling f = {.ask = ask};
    ps_deadline deadline;
    if (!choose_columns(&f)) {
        return query_table(s, ask, err);
    }
    if (!ps_sql_begin_deadline(s, &deadline)) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_code code = fill_from_traces(&f, ps_sql_context_of(s), err);
    code = code == PS_OK ? ps_sql_note_lacks(s, f.rows, err) : code;
    ps_deadline_end(&deadline);
    if (code != PS_OK) {
        ps_arrow_free(f.rows);
        return NULL;
    }
    return f.rows;
}
