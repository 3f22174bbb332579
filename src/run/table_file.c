#include "run/table_file.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/threads.h"
#include "write/out/sink.h"
#include "write/out/writers.h"
#include "write/table/sqlite.h"

const char *ps_table_file_end(const ps_table *table, ps_export type) {
    bool is_book = type == PS_EXPORT_XLSX || (type == PS_EXPORT_TEXT && table->is_sheet);
    return is_book ? "xlsx" : type == PS_EXPORT_JSON ? "json" : "csv";
}

enum { ROWS_AT_ONCE = 1024, CHUNK_BYTES = 16 << 20 };

static ps_code flush_table_file(ps_sink *sink, ps_buf *text, const char *path, ps_err *err) {
    bool is_open = sink->file != NULL;
    ps_code code = is_open ? PS_OK : ps_sink_open_file(sink, path, err);
    code = code == PS_OK ? ps_sink_write(sink, ps_buf_str(text), text->len, err) : code;
    ps_buf_clear(text);
    return code;
}

/* Piece by piece. */
static ps_code write_text(const ps_table *table, ps_table_part_fn *part, const char *path,
                          bool is_of_many, ps_err *err) {
    ps_buf text = {0};
    ps_sink sink = {0};
    ps_code code = PS_OK;
    size_t end = 0;
    do {
        size_t first = end;
        end = table->n_rows - first < ROWS_AT_ONCE ? table->n_rows : first + ROWS_AT_ONCE;
        code = part(table, first, end, &text, err);
        if (code == PS_OK && text.len > CHUNK_BYTES) {
            code = flush_table_file(&sink, &text, path, err);
        }
    } while (code == PS_OK && end < table->n_rows);
    code = code == PS_OK ? flush_table_file(&sink, &text, path, err) : code;
    sink.is_of_many = is_of_many;
    code = code == PS_OK ? ps_sink_commit(&sink, err) : code;
    ps_sink_abort(&sink);
    ps_buf_fini(&text);
    return code;
}

static bool is_workbook(const ps_table_file *f) {
    return ps_ends_with(f->path, ".xlsx");
}

typedef struct table_files {
    ps_table_file *files;
    size_t n;
} table_files;

static void write_table_file(void *context, size_t i) {
    const table_files *all = context;
    ps_table_file *f = &all->files[i];
    if (is_workbook(f)) {
        return;
    }
    if (ps_ends_with(f->path, ".db")) {
        f->code = ps_sqlite_merge(f->path, f->tables, f->n_tables, &f->err);
        return;
    }
    ps_table_part_fn *part =
        ps_ends_with(f->path, ".json") ? ps_write_table_json_part : ps_write_table_csv_part;
    f->code = write_text(f->tables[0], part, f->path, all->n > PS_MANY_FILES, &f->err);
}

static void write_books(ps_table_file *files, size_t n, size_t n_books, size_t n_at_once) {
    ps_workbook *books = ps_calloc(n_books, sizeof *books);
    size_t b = 0;
    for (size_t i = 0; books != NULL && i < n; i++) {
        if (is_workbook(&files[i])) {
            books[b++] = (ps_workbook){.tables = files[i].tables,
                                       .n_tables = files[i].n_tables,
                                       .names_sheets = files[i].n_tables > 1,
                                       .path = files[i].path};
        }
    }
    if (books != NULL) {
        ps_write_workbooks(books, n_books, n_at_once);
    }
    b = 0;
    for (size_t i = 0; i < n; i++) {
        ps_table_file *f = &files[i];
        if (is_workbook(f) && books == NULL) {
            f->code = ps_fail_nomem(&f->err);
        } else if (is_workbook(f)) {
            f->code = books[b].code;
            f->err = books[b].err;
            f->report = books[b++].report;
        }
    }
    ps_free(books);
}

void ps_table_files_write(ps_table_file *files, size_t n, size_t n_threads) {
    size_t n_books = 0;
    for (size_t i = 0; i < n; i++) {
        files[i].report = (ps_xlsx_report){0};
        files[i].err = PS_ERR_INIT;
        files[i].code = PS_OK;
        n_books += is_workbook(&files[i]);
    }
    table_files all = {files, n};
    ps_parallel(n_books < n ? n : 0, n_threads, write_table_file, &all);
    if (n_books > 0) {
        write_books(files, n, n_books, n_threads);
    }
}
