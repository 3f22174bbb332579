/* Tables as replies: a page of rows as JSON, or all rows as a file.
 *
 *   {"name":"ops","title":"...","columns":[["name","text","",false],["dur","int","ns",false]],
 *    "total":2,"offset":0,"rows":[["mm",500],["add",null]],"notes":[]}
 *
 * A table in its own order is read only where it is shown. A sorted or filtered one is read once; its order (4 bytes a row)
 * is kept in the cache under path, parameters and state of the ranks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/literal.h"
#include "model/table.h"
#include "query/profile_tables.h"
#include "serve/http/route.h"
#include "serve/rank/cache.h"
#include "serve/select/table_order.h"
#include "write/out/number_text.h"
#include "write/out/writers.h"

enum { MAX_LIMIT = 5000, DEFAULT_LIMIT = 100, MAX_FILTERS = 32 };

typedef enum table_format { FORMAT_JSON, FORMAT_CSV, FORMAT_RECORDS } table_format;

typedef struct page {
    ps_table_want want;
    size_t offset, limit;
    table_format format;
    const uint32_t *rows; /* NULL: the table's own order */
    size_t n_rows;        /* that are left */
    bool from_origin;     /* ps_table_extra */
} page;

/* --- parameters ------------------------------------------------------------------------------------------------ */

static bool ask_sort(const ps_request *q, ps_reply *r, const ps_table *t, page *p) {
    const char *name = ps_param_text(q, "sort");
    p->want.sort = SIZE_MAX;
    if (name != NULL && *name != '\0') {
        p->want.sort = ps_table_column(t, name);
        if (p->want.sort == SIZE_MAX) {
            ps_reply_fail(r, 400, "table '%s' has no column '%.80s' to sort by", t->name, name);
            return false;
        }
    }
    return ps_ask_flag(q, r, "desc", &p->want.desc);
}

static bool reply_number_of(const ps_literal *v, double fallback, double *out) {
    *out = fallback;
    if (v->kind == PS_LITERAL_INT) {
        *out = (double)v->integer;
    } else if (v->kind == PS_LITERAL_NUMBER) {
        return ps_json_real(v->text, v->len, out);
    }
    return v->kind == PS_LITERAL_INT || v->kind == PS_LITERAL_NULL;
}

/* "text" or [least, most], either of which may be null. */
static bool read_filter(const ps_literal *v, const ps_column *column, ps_table_filter *f) {
    f->text = ps_literal_str(v);
    if (f->text != NULL) {
        return true;
    }
    const ps_literal *least = v->kind == PS_LITERAL_ARRAY ? v->child : NULL;
    const ps_literal *most = least != NULL ? least->next : NULL;
    return most != NULL && most->next == NULL && !ps_column_is_text(column) &&
           reply_number_of(least, -INFINITY, &f->least) &&
           reply_number_of(most, INFINITY, &f->most);
}

static bool ask_filters(const ps_request *q, ps_reply *r, const ps_table *t, page *p) {
    const char *text = ps_param_text(q, "filter");
    if (text == NULL || *text == '\0') {
        return true;
    }
    ps_err err = PS_ERR_INIT;
    const ps_literal *object = ps_literal_parse(&r->arena, text, strlen(text), &err);
    ps_table_filter *filters = ps_arena_alloc(&r->arena, MAX_FILTERS * sizeof *filters);
    if (filters == NULL || err.code == PS_NOMEM) {
        ps_reply_fail(r, 507, "out of memory");
        return false;
    }
    bool ok = object != NULL && object->kind == PS_LITERAL_OBJECT;
    for (const ps_literal *v = ok ? object->child : NULL; ok && v != NULL; v = v->next) {
        size_t column = ps_table_column(t, v->key);
        if (column == SIZE_MAX || p->want.n_filters == MAX_FILTERS) {
            ps_reply_fail(r, 400,
                          column == SIZE_MAX ? "table '%s' has no column '%.80s' to filter"
                                             : "table '%s': too many filters ('%.80s')",
                          t->name, v->key);
            return false;
        }
        ps_table_filter *f = &filters[p->want.n_filters++];
        *f = (ps_table_filter){.column = column};
        ok = read_filter(v, &t->columns[column], f);
    }
    if (!ok) {
        ps_reply_fail(r, 400,
                      "parameter 'filter' must be JSON: {\"COLUMN\":\"text\"}, or for "
                      "numbers {\"COLUMN\":[least,most]}");
    }
    p->want.filters = filters;
    return ok;
}

static bool ask_format(const ps_request *q, ps_reply *r, table_format *out) {
    static const char *const NAMES[] = {"json", "csv", "records"};
    const char *name = ps_param_text(q, "format");
    *out = FORMAT_JSON;
    for (int i = 0; name != NULL && i < 3; i++) {
        if (strcmp(name, NAMES[i]) == 0) {
            *out = (table_format)i;
            return true;
        }
    }
    if (name != NULL) {
        ps_reply_fail(r, 400, "parameter 'format' must be json, csv or records");
    }
    return name == NULL;
}

static bool ask_reply_page(const ps_request *q, ps_reply *r, const ps_table *t, page *p) {
    int64_t offset = 0;
    int64_t limit = 0;
    *p = (page){.n_rows = t->n_rows, .want.watch = q->watch};
    if (!ask_sort(q, r, t, p) || !ask_filters(q, r, t, p) || !ask_format(q, r, &p->format) ||
        !ps_ask_int(q, r, "offset", 0, INT64_MAX, 0, &offset) ||
        !ps_ask_int(q, r, "limit", 0, MAX_LIMIT, DEFAULT_LIMIT, &limit)) {
        return false;
    }
    p->offset = (size_t)offset;
    p->limit = (size_t)limit;
    return true;
}

/* --- order ----------------------------------------------------------------------------------------------------- */

typedef struct order_source {
    const ps_table *table;
    const ps_table_want *want;
} order_source;

static ps_code make_reply_order(void *context, ps_cached *out, ps_err *err) {
    const order_source *source = context;
    ps_table_order *order = ps_table_order_new(source->table, source->want, err);
    if (order == NULL) {
        return err->code;
    }
    *out = (ps_cached){.value = order,
                       .bytes = sizeof *order + order->n * sizeof order->rows[0],
                       .free_value = ps_free};
    return PS_OK;
}

/* Says which rows these are: everything of the request but what part of them is shown, and how. */
static void order_key(const ps_request *q, const ps_table *t, ps_buf *key) {
    static const char *const SHOWN[] = {"offset", "limit", "format"};
    ps_buf_addf(key, "order %s %llu %zu %s", q->path != NULL ? q->path : "",
                (unsigned long long)ps_store_seq(q->store), t->n_rows, t->name);
    for (size_t i = 0; i < q->n_params; i++) {
        bool is_shown = false;
        for (size_t k = 0; k < sizeof SHOWN / sizeof SHOWN[0]; k++) {
            is_shown = is_shown || strcmp(q->params[i].name, SHOWN[k]) == 0;
        }
        if (!is_shown) {
            ps_buf_add_char(key, ' ');
            ps_buf_add_json_str(key, q->params[i].name, strlen(q->params[i].name));
            ps_buf_add_json_str(key, q->params[i].value, strlen(q->params[i].value));
        }
    }
}

/* *out NULL: the table's own order. Given back with ps_cache_release(). */
static bool find_order(const ps_request *q, ps_reply *r, const ps_table *t, page *p,
                       ps_table_order **out) {
    *out = NULL;
    if (p->want.sort == SIZE_MAX && p->want.n_filters == 0) {
        return true;
    }
    ps_buf key = {0};
    order_key(q, t, &key);
    ps_err err = PS_ERR_INIT;
    order_source source = {t, &p->want};
    void *value = NULL;
    ps_code code = ps_buf_ok(&key) ? ps_cache_get(q->cache, ps_buf_str(&key), make_reply_order,
                                                  &source, q->watch, &value, &err)
                                   : ps_fail_nomem(&err);
    ps_buf_fini(&key);
    if (code != PS_OK) {
        ps_reply_err(r, &err);
        return false;
    }
    *out = value;
    p->rows = (*out)->rows;
    p->n_rows = (*out)->n;
    return true;
}

/* --- JSON ------------------------------------------------------------------------------------------------------ */

static void put_reply_cell(ps_json *j, const ps_column *column, const ps_value *cell) {
    char number[PS_NUMBER_TEXT];
    if (cell->is_null || (column->type == PS_COL_REAL && !isfinite(cell->u.r))) {
        ps_json_null(j);
    } else if (column->type == PS_COL_INT) {
        ps_json_int_exact(j, cell->u.i);
    } else if (column->type == PS_COL_REAL) {
        ps_real_shortest(cell->u.r, number);
        ps_json_raw(j, number, strlen(number));
    } else {
        ps_json_str(j, cell->u.text);
    }
}

static void put_columns(ps_json *j, const ps_table *t) {
    ps_json_key_array(j, "columns");
    for (size_t c = 0; c < t->n_columns; c++) {
        const ps_column *column = &t->columns[c];
        ps_json_array(j);
        ps_json_str(j, column->name);
        ps_json_str(j, ps_column_is_text(column)    ? "text"
                       : column->type == PS_COL_INT ? "int"
                                                    : "real");
        ps_json_str(j, ps_unit_name(column->unit));
        ps_json_bool(j, column->exact);
        if (column->is_slice) {
            ps_json_str(j, "slice");
        }
        ps_json_close(j);
    }
    ps_json_close(j);
}

static void put_rows(ps_json *j, const ps_table *t, const page *p) {
    size_t first = p->offset < p->n_rows ? p->offset : p->n_rows;
    size_t end = p->n_rows - first > p->limit ? first + p->limit : p->n_rows;
    ps_json_key_array(j, "rows");
    for (size_t i = first; i < end; i++) {
        size_t row = p->rows != NULL ? p->rows[i] : i;
        ps_json_line(j, 0);
        ps_json_array(j);
        for (size_t c = 0; c < t->n_columns; c++) {
            put_reply_cell(j, &t->columns[c], ps_table_cell(t, row, c));
        }
        ps_json_close(j);
    }
    ps_json_close(j);
}

static void put_reply_notes(ps_json *j, const ps_table_extra *extra) {
    ps_json_key_array(j, "notes");
    for (size_t i = 0; extra != NULL && i < extra->n_notes; i++) {
        ps_json_str(j, extra->notes[i]);
    }
    ps_json_close(j);
    if (extra != NULL && extra->members != NULL) {
        ps_json_members(j, extra->members, strlen(extra->members));
    }
}

static void put_reply_table(ps_json *j, const ps_table *t, const page *p,
                            const ps_table_extra *extra) {
    ps_json_object(j);
    ps_json_key_str(j, "name", t->name);
    ps_json_key_str(j, "title", t->title);
    put_columns(j, t);
    ps_json_key_uint(j, "total", p->n_rows);
    ps_json_key_uint(j, "offset", p->offset);
    put_rows(j, t, p);
    put_reply_notes(j, extra);
    ps_json_close(j);
}

/* --- files ----------------------------------------------------------------------------------------------------- */

/* The rows of a page's order as a table of their own, for the writers. */
typedef struct chosen_rows {
    const ps_table *table;
    const uint32_t *rows; /* NULL: all */
} chosen_rows;

static void make_chosen(const void *context, size_t row, ps_value *cells, char room[PS_ROW_ROOM]) {
    const chosen_rows *chosen = context;
    (void)
        room; /* texts stay in the row of the table below, and writers look at one row at a time */
    for (size_t c = 0; c < chosen->table->n_columns; c++) {
        cells[c] = *ps_table_cell(chosen->table, chosen->rows != NULL ? chosen->rows[row] : row, c);
    }
}

static void free_nothing(void *context) {
    (void)context;
}

/* In pieces, so that it ends soon when nobody waits for it. */
static ps_code write_reply_file(ps_buf *out, const ps_table *t, const page *p, ps_err *err) {
    enum { PIECE = 4096 };
    ps_table_part_fn *write =
        p->format == FORMAT_CSV ? ps_write_table_csv_part : ps_write_table_json_part;
    ps_code code = PS_OK;
    size_t end = 0;
    do {
        size_t first = end;
        end = t->n_rows - first > PIECE ? first + PIECE : t->n_rows;
        code = ps_watch_ask(p->want.watch, err);
        code = code == PS_OK ? write(t, first, end, out, err) : code;
    } while (code == PS_OK && end < t->n_rows);
    return code;
}

/* Columns as files call them: in SQL `start_ns` is ns since 1970, and what counts from the rank's origin has another name. NULL: memory
 * is out. */
static const ps_column *columns_in_files(ps_reply *r, const ps_table *t) {
    ps_column *columns = ps_arena_alloc(&r->arena, (t->n_columns + 1) * sizeof *columns);
    for (size_t c = 0; columns != NULL && c < t->n_columns; c++) {
        columns[c] = t->columns[c];
        if (ps_is_view_moment(&t->columns[c]) && !t->columns[c].exact) {
            size_t size = strlen(columns[c].name) + sizeof "_relative";
            char *name = ps_arena_alloc(&r->arena, size);
            if (name == NULL) {
                return NULL;
            }
            (void)snprintf(name, size, "%s_relative", columns[c].name);
            columns[c].name = name;
        }
    }
    return columns;
}

static ps_code write_rows(ps_reply *r, const ps_table *t, const page *p, ps_err *err) {
    ps_buf *out = &r->body;
    if (p->rows == NULL && !p->from_origin) {
        return write_reply_file(out, t, p, err);
    }
    const ps_column *columns = p->from_origin ? columns_in_files(r, t) : t->columns;
    chosen_rows chosen = {t, p->rows};
    ps_row_maker maker = {.make = make_chosen, .context = &chosen, .free_context = free_nothing};
    ps_table *view = columns == NULL ? NULL
                                     : ps_table_new_made(t->name, t->title, columns, t->n_columns,
                                                         p->n_rows, maker);
    if (view == NULL) {
        return ps_fail_nomem(err);
    }
    view->home = t->home;
    view->names_fixed = t->names_fixed;
    ps_code code = write_reply_file(out, view, p, err);
    ps_table_free(view);
    return code;
}

/* "ops.csv": the table's name as far as it can stand in a header and on every file system. */
static const char *file_name(ps_reply *r, const ps_table *t, table_format format) {
    size_t n = strlen(t->name);
    char *name = ps_arena_alloc(&r->arena, n + sizeof ".json");
    if (name == NULL) {
        return "table";
    }
    for (size_t i = 0; i < n; i++) {
        char c = t->name[i];
        char low = (char)(c | 0x20);
        bool is_plain =
            (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        name[i] = (char)(is_plain ? c : '_');
    }
    (void)snprintf(name + n, sizeof ".json", "%s", format == FORMAT_CSV ? ".csv" : ".json");
    return name;
}

static void put_reply_file(ps_reply *r, const ps_table *t, const page *p) {
    ps_err err = PS_ERR_INIT;
    ps_code code = write_rows(r, t, p, &err);
    if (code == PS_BUSY) {
        ps_reply_err(r, &err);
        return;
    }
    if (code != PS_OK) {
        ps_reply_fail(r, 507, "table '%s' has %zu rows, too many for one file: filter it", t->name,
                      p->n_rows);
        return;
    }
    r->content_type = p->format == FORMAT_CSV ? "text/csv; charset=utf-8" : "application/json";
    r->file_name = file_name(r, t, p->format);
}

/* --- for routes ------------------------------------------------------------------------------------------------ */

void ps_put_table_with(const ps_request *q, ps_reply *r, const ps_table *table,
                       const ps_table_extra *extra) {
    page p;
    ps_table_order *order = NULL;
    if (!ask_reply_page(q, r, table, &p) || !find_order(q, r, table, &p, &order)) {
        return;
    }
    p.from_origin = extra != NULL && extra->from_origin;
    if (p.format == FORMAT_JSON) {
        ps_json j = ps_json_to(&r->body);
        put_reply_table(&j, table, &p, extra);
    } else {
        put_reply_file(r, table, &p);
    }
    ps_cache_release(q->cache, order);
}

void ps_put_table(const ps_request *q, ps_reply *r, const ps_table *table) {
    ps_put_table_with(q, r, table, NULL);
}

void ps_put_tables(const ps_request *q, ps_reply *r, const ps_table *const *tables, size_t n,
                   const ps_table_extra *extra) {
    const char *name = ps_param_text(q, "table");
    for (size_t i = 0; name != NULL && i < n; i++) {
        if (tables[i] != NULL && strcmp(tables[i]->name, name) == 0) {
            ps_put_table_with(q, r, tables[i], extra);
            return;
        }
    }
    if (name != NULL && !r->nothing_is_ok) {
        ps_reply_fail(r, 404, "there is no table '%.80s' here", name);
        return;
    }
    if (name != NULL) {
        n = 0; /* who asks whether there is one is told that there is none */
    }
    int64_t limit = 0;
    if (!ps_ask_int(q, r, "limit", 0, MAX_LIMIT, DEFAULT_LIMIT, &limit)) {
        return;
    }
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_array(&j, "tables");
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        if (tables[i] != NULL) {
            page p = {.limit = (size_t)limit, .n_rows = tables[i]->n_rows};
            if (!first) {
                ps_json_line(&j, 0);
            }
            put_reply_table(&j, tables[i], &p, NULL);
            first = false;
        }
    }
    ps_json_close(&j);
    put_reply_notes(&j, extra);
    ps_json_close(&j);
}
