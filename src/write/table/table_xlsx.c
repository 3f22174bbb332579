/* libxlsxwriter in constant-memory mode writes rows as they come. Merged cells need rows again that are gone by then, so
 * a table with merged columns is made in memory, up to a size.
 *
 * When memory runs out the library crashes, or prints a line and leaves something out: it works in a child process, whose end and
 * words are looked at. The process also spares us gmtime(), whose result all threads share. */
#include "write/table/table_xlsx.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/fs.h"
#include "base/publish.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "write/out/number_text.h"
#include "write/table/xlsx_check.h"

enum {
    MAX_ROWS = 1048576,
    MAX_COLUMNS = 16384,
    MAX_TEXT = 32767, /* UTF-16 units of a cell */
    MAX_MERGED_CELLS = 1 << 20,
    ROWS_FOR_WIDTH = 1000,
    HEADER_HEIGHT = 27
};
#define MAX_EXACT ((int64_t)1 << 53) /* integers up to here are exact in a double */
#define DEFAULT_WIDTH 8.43
#define MAX_WIDTH 60.0
#define CREATED 946684800 /* 2000-01-01: the same bytes whenever the file is made */

typedef struct book {
    const ps_table *const *tables;
    size_t n_tables;
    bool names_sheets;     /* as their tables, else "Sheet1" and on */
    const ps_table *table; /* the one at hand */
    ps_xlsx_limits limits;
    ps_xlsx_report report;
    ps_xlsx_held held; /* all sheets, headers and blank cells too */
    lxw_workbook *workbook;
    lxw_format *header, *data;
    bool *as_text;    /* [n_columns]: integers that a double does not hold */
    bool has_merging; /* some column merges, and the table is small enough */
    ps_buf text;      /* of the cell at hand */
    ps_arena arena;
} book;

/* --- texts ------------------------------------------------------------------------------------------------- */

/* "_x0041_" stands for a character in the format, so a text that reads like that is written with its "_" escaped. */
static bool looks_escaped(const char *s, size_t n) {
    static const char HEX[] = "0123456789abcdefABCDEF";
    return n >= 7 && s[0] == '_' && s[1] == 'x' && s[6] == '_' && strspn(s + 2, HEX) >= 4;
}

/* Adds the character at `s` as XML can hold it and returns its bytes; *units are those that a cell counts. */
static size_t add_character(ps_buf *out, const char *s, size_t n, size_t *units) {
    unsigned char c = (unsigned char)*s;
    size_t length = ps_utf8_len(s, n);
    bool is_noncharacter =
        length == 3 && (memcmp(s, "\xEF\xBF\xBE", 3) == 0 || memcmp(s, "\xEF\xBF\xBF", 3) == 0);
    *units = 1;
    if (length == 0 || is_noncharacter) {
        ps_buf_add_str(out, "\xEF\xBF\xBD");
    } else if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7F || looks_escaped(s, n)) {
        ps_buf_addf(out, "_x%04X_", c);
        *units = 7;
    } else {
        ps_buf_add(out, s, length);
        *units = length == 4 ? 2 : 1;
    }
    return length > 0 ? length : 1;
}

/* Whether every byte stands for itself: the usual case. */
static bool is_xlsx_plain(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (s[i] < 0x20 || s[i] > 0x7E || (s[i] == '_' && s[i + 1] == 'x')) {
            return false;
        }
    }
    return n <= MAX_TEXT;
}

/* The text of a cell in b->text; one that is too long ends in a mark. */
static void make_text(book *b, const char *text) {
    size_t n = strlen(text);
    size_t used = 0;
    size_t keep = 0; /* bytes of out that leave room for the mark */
    ps_buf_clear(&b->text);
    if (is_xlsx_plain(text, n)) {
        ps_buf_add(&b->text, text, n);
        return;
    }
    for (size_t i = 0; i < n;) {
        size_t units = 0;
        keep = used < MAX_TEXT ? b->text.len : keep;
        i += add_character(&b->text, text + i, n - i, &units);
        used += units;
        if (used > MAX_TEXT) {
            b->text.len = keep;
            ps_buf_add_str(&b->text, "\xE2\x80\xA6");
            b->report.n_cut++;
            return;
        }
    }
}

/* --- cells ------------------------------------------------------------------------------------------------- */

static lxw_error put_xlsx_text(book *b, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t col,
                               const char *text, lxw_format *format) {
    make_text(b, text);
    if (!ps_buf_ok(&b->text)) {
        return LXW_ERROR_MEMORY_MALLOC_FAILED;
    }
    return b->text.len > 0 ? worksheet_write_string(sheet, row, col, ps_buf_str(&b->text), format)
                           : worksheet_write_blank(sheet, row, col, format);
}

static lxw_error put_xlsx_cell(book *b, lxw_worksheet *sheet, lxw_row_t row, size_t r, size_t c) {
    const ps_value *cell = ps_table_cell(b->table, r, c);
    lxw_col_t col = (lxw_col_t)c;
    char number[PS_NUMBER_TEXT];
    if (cell->is_null) {
        return worksheet_write_blank(sheet, row, col, b->data);
    }
    switch (b->table->columns[c].type) {
    case PS_COL_INT:
        if (!b->as_text[c]) {
            return worksheet_write_number(sheet, row, col, (double)cell->u.i, b->data);
        }
        (void)snprintf(number, sizeof number, "%lld", (long long)cell->u.i);
        break;
    case PS_COL_REAL:
        if (isfinite(cell->u.r)) {
            return worksheet_write_number(sheet, row, col, cell->u.r, b->data);
        }
        ps_real_shortest(cell->u.r, number);
        break;
    case PS_COL_TEXT:
    case PS_COL_STRING_ID:
        return put_xlsx_text(b, sheet, row, col, cell->u.text, b->data);
    }
    return worksheet_write_string(sheet, row, col, number, b->data);
}

/* --- merged cells ------------------------------------------------------------------------------------------ */

static bool same_value(const ps_table *t, size_t r, size_t c) {
    return ps_column_same_cell(&t->columns[c], ps_table_cell(t, r - 1, c), ps_table_cell(t, r, c));
}

/* Whether row r goes on with the cell above: in a merged column, and in all merged columns before it. */
static bool xlsx_goes_on(const book *b, size_t r, size_t c, size_t first) {
    if (!b->has_merging || !b->table->columns[c].merged || r == first) {
        return false;
    }
    for (size_t k = 0; k <= c; k++) {
        if (b->table->columns[k].merged && !same_value(b->table, r, k)) {
            return false;
        }
    }
    return true;
}

/* Rows [first, end) of the table are rows 1.. of the sheet. The values are written later, over the blanks. */
static lxw_error merge_column(book *b, lxw_worksheet *sheet, size_t c, size_t first, size_t end) {
    lxw_error rc = LXW_NO_ERROR;
    for (size_t r = first; rc == LXW_NO_ERROR && r < end;) {
        size_t next = r + 1;
        while (next < end && xlsx_goes_on(b, next, c, first)) {
            next++;
        }
        if (next > r + 1) {
            rc = worksheet_merge_range(sheet, (lxw_row_t)(r - first + 1), (lxw_col_t)c,
                                       (lxw_row_t)(next - first), (lxw_col_t)c, "", b->data);
        }
        r = next;
    }
    return rc;
}

/* --- the sheet --------------------------------------------------------------------------------------------- */

static size_t cell_columns(book *b, size_t r, size_t c) {
    const ps_value *cell = ps_table_cell(b->table, r, c);
    char number[PS_NUMBER_TEXT] = "";
    if (cell->is_null) {
        return 0;
    }
    if (b->table->columns[c].type == PS_COL_INT) {
        return (size_t)snprintf(number, sizeof number, "%lld", (long long)cell->u.i);
    }
    if (b->table->columns[c].type == PS_COL_REAL) {
        ps_real_shortest(cell->u.r, number);
        return strlen(number);
    }
    return ps_utf8_columns(cell->u.text, strlen(cell->u.text));
}

/* By its header and first rows. */
static double content_width(book *b, size_t c, const char *header) {
    size_t widest = ps_utf8_columns(header, strlen(header));
    for (size_t r = 0; r < b->table->n_rows && r < ROWS_FOR_WIDTH; r++) {
        size_t columns = cell_columns(b, r, c);
        widest = columns > widest ? columns : widest;
    }
    double width = (double)widest + 1;
    return width > MAX_WIDTH ? MAX_WIDTH : width;
}

static lxw_error put_xlsx_header(book *b, lxw_worksheet *sheet) {
    lxw_error rc = worksheet_set_row(sheet, 0, HEADER_HEIGHT, NULL);
    bool merges = false;
    for (size_t c = 0; rc == LXW_NO_ERROR && c < b->table->n_columns; c++) {
        char name[128];
        ps_table_header(b->table, c, name, sizeof name);
        const ps_column *column = &b->table->columns[c];
        double width = column->width > 0 ? column->width : content_width(b, c, name);
        merges = merges || column->merged;
        lxw_col_t col = (lxw_col_t)c;
        if (column->width > 0 || width > DEFAULT_WIDTH) {
            rc = worksheet_set_column(sheet, col, col, width, NULL);
        }
        rc = rc == LXW_NO_ERROR ? put_xlsx_text(b, sheet, 0, col, name, b->header) : rc;
    }
    if (!merges) {
        worksheet_freeze_panes(sheet, 1, 0);
        b->held.n_frozen++;
    }
    return rc;
}

static lxw_error put_sheet(book *b, size_t first, size_t end) {
    char name[LXW_SHEETNAME_MAX + 1];
    (void)snprintf(name, sizeof name, "%.*s", LXW_SHEETNAME_MAX, b->table->name);
    bool is_named = b->names_sheets && first == 0;
    lxw_worksheet *sheet = workbook_add_worksheet(b->workbook, is_named ? name : NULL);
    if (sheet == NULL) {
        return LXW_ERROR_MEMORY_MALLOC_FAILED;
    }
    b->report.n_sheets++;
    b->held.n_cells += (uint64_t)(end - first + 1) * b->table->n_columns;
    lxw_error rc = put_xlsx_header(b, sheet);
    for (size_t c = 0; rc == LXW_NO_ERROR && b->has_merging && c < b->table->n_columns; c++) {
        rc = b->table->columns[c].merged ? merge_column(b, sheet, c, first, end) : rc;
    }
    for (size_t r = first; rc == LXW_NO_ERROR && r < end; r++) {
        for (size_t c = 0; rc == LXW_NO_ERROR && c < b->table->n_columns; c++) {
            if (!xlsx_goes_on(b, r, c, first)) {
                rc = put_xlsx_cell(b, sheet, (lxw_row_t)(r - first + 1), r, c);
            }
        }
    }
    return rc;
}

/* --- the book ---------------------------------------------------------------------------------------------- */

static lxw_format *add_format(lxw_workbook *workbook, bool is_header) {
    lxw_format *f = workbook_add_format(workbook);
    if (f == NULL) {
        return NULL;
    }
    format_set_font_name(f, "Times New Roman");
    format_set_border(f, LXW_BORDER_THIN);
    format_set_align(f, LXW_ALIGN_VERTICAL_CENTER);
    if (is_header) {
        format_set_bold(f);
        format_set_bg_color(f, 0xAFEEEE);
        format_set_pattern(f, LXW_PATTERN_SOLID);
    }
    return f;
}

static ps_code fail_xlsx(const char *path, lxw_error rc, ps_err *err) {
    if (rc == LXW_ERROR_MEMORY_MALLOC_FAILED) {
        return ps_fail_nomem(err);
    }
    return ps_fail_file(err, PS_IO, path, "cannot write the workbook: %s", lxw_strerror(rc));
}

/* Integers of a column are all numbers or all texts, so that they sort as one. */
static bool look_at_columns(book *b) {
    const ps_table *t = b->table;
    b->as_text = ps_arena_alloc(&b->arena, t->n_columns + 1);
    bool merges = false;
    for (size_t c = 0; b->as_text != NULL && c < t->n_columns; c++) {
        b->as_text[c] = false;
        for (size_t r = 0; t->columns[c].type == PS_COL_INT && r < t->n_rows; r++) {
            const ps_value *cell = ps_table_cell(t, r, c);
            bool exact = cell->is_null || (cell->u.i <= MAX_EXACT && cell->u.i >= -MAX_EXACT);
            b->as_text[c] = b->as_text[c] || !exact;
        }
        merges = merges || t->columns[c].merged;
    }
    b->has_merging = merges && t->n_rows * t->n_columns <= b->limits.merged_cells;
    b->report.without_merging = b->report.without_merging || (merges && !b->has_merging);
    return b->as_text != NULL;
}

static lxw_error put_xlsx_table(book *b) {
    lxw_error rc = LXW_NO_ERROR;
    size_t rows = b->limits.rows - 1;
    for (size_t first = 0; rc == LXW_NO_ERROR && (first == 0 || first < b->table->n_rows);
         first += rows) {
        size_t end = b->table->n_rows - first < rows ? b->table->n_rows : first + rows;
        rc = put_sheet(b, first, end);
    }
    return rc;
}

static lxw_error put_xlsx_tables(book *b) {
    lxw_error rc = LXW_NO_ERROR;
    for (size_t i = 0; rc == LXW_NO_ERROR && i < b->n_tables; i++) {
        b->table = b->tables[i];
        rc = look_at_columns(b) ? put_xlsx_table(b) : LXW_ERROR_MEMORY_MALLOC_FAILED;
    }
    return rc;
}

/* Whether some table is made in memory, for its merged cells; false in *ok when memory is out. */
static bool needs_memory(book *b, bool *ok) {
    bool any = false;
    for (size_t i = 0; *ok && i < b->n_tables; i++) {
        b->table = b->tables[i];
        *ok = look_at_columns(b);
        any = any || b->has_merging;
    }
    return any;
}

/* Fills `tmp`, which exists and is empty. Sheets pass through files in `scratch`, where there is room for the result too. */
static ps_code make_book(book *b, const char *tmp, char *scratch, const char *path, ps_err *err) {
    bool ok = true;
    bool in_memory = needs_memory(b, &ok);
    lxw_workbook_options options = {.constant_memory = in_memory ? LXW_FALSE : LXW_TRUE,
                                    .tmpdir = scratch};
    b->workbook = ok ? workbook_new_opt(tmp, &options) : NULL;
    if (b->workbook == NULL) {
        return ps_fail_nomem(err);
    }
    lxw_doc_properties properties = {.created = CREATED};
    lxw_error rc = workbook_set_properties(b->workbook, &properties);
    b->header = add_format(b->workbook, true);
    b->data = add_format(b->workbook, false);
    rc = b->header != NULL && b->data != NULL ? rc : LXW_ERROR_MEMORY_MALLOC_FAILED;
    rc = rc == LXW_NO_ERROR ? put_xlsx_tables(b) : rc;
    if (rc != LXW_NO_ERROR) {
        lxw_workbook_free(b->workbook);
    } else {
        rc = workbook_close(b->workbook);
    }
    return rc == LXW_NO_ERROR ? PS_OK : fail_xlsx(path, rc, err);
}

/* --- files ------------------------------------------------------------------------------------------------- */

/* What the child knows and the parent wants. */
typedef struct made {
    ps_code code;
    ps_err err;
    ps_xlsx_report report;
} made;

/* A book that a child makes. */
typedef struct making {
    book b;
    ps_workbook *w;
    ps_child child;
    ps_publish file;
    char *scratch; /* for the library's own files */
} making;

/* Fills the file and reads it again. */
static void make_in_child(void *context, void *answer) {
    making *m = context;
    made *out = answer;
    out->err = PS_ERR_INIT;
    out->code = make_book(&m->b, m->file.tmp, m->scratch, m->w->path, &out->err);
    if (out->code == PS_OK) {
        out->code = ps_xlsx_check(m->file.tmp, m->w->path, m->b.held, &out->err);
    }
    out->report = m->b.report;
    ps_buf_fini(&m->b.text);
}

/* What is left of it, also when it could not be begun. */
static void close_book(making *m, ps_code code) {
    ps_workbook *w = m->w;
    ps_code cleared = ps_scratch_end(m->scratch, code == PS_OK ? &w->err : NULL);
    code = code == PS_OK ? cleared : code;
    code = code == PS_OK ? ps_publish_commit(&m->file, PS_FLUSHED, &w->err) : code;
    ps_publish_abort(&m->file);
    ps_arena_fini(&m->b.arena);
    w->code = code;
}

/* False: it has failed, which its workbook says. */
static bool begin_book(making *m, ps_workbook *w) {
    static const ps_xlsx_limits OF_THE_FORMAT = {.rows = MAX_ROWS,
                                                 .merged_cells = MAX_MERGED_CELLS};
    *m = (making){.w = w,
                  .b = {.tables = w->tables,
                        .n_tables = w->n_tables,
                        .names_sheets = w->names_sheets,
                        .limits = w->limits != NULL ? *w->limits : OF_THE_FORMAT}};
    for (size_t i = 0; i < w->n_tables; i++) {
        if (w->tables[i]->n_columns > MAX_COLUMNS) {
            w->code =
                ps_fail_file(&w->err, PS_RANGE, w->path, "%zu columns, and a sheet has %d at most",
                             w->tables[i]->n_columns, MAX_COLUMNS);
            return false;
        }
    }
    const char *dir = ps_path_dir(&m->b.arena, w->path);
    ps_code code = dir != NULL
                       ? ps_publish_begin(&m->file, w->path, &w->err) /* the library would */
                       : ps_fail_nomem(&w->err);                      /* print why not */
    code = code == PS_OK ? ps_scratch_begin(dir, &m->scratch, &w->err) : code;
    code = code == PS_OK
               ? ps_child_begin(&m->child, make_in_child, m, sizeof(made), w->path, &w->err)
               : code;
    if (code != PS_OK) {
        close_book(m, code);
    }
    return code == PS_OK;
}

static void end_book(making *m) {
    ps_workbook *w = m->w;
    made out = {.code = PS_OK};
    ps_code code = ps_child_end(&m->child, &out, "[ERROR]", &w->err);
    if (code == PS_OK) {
        w->report = out.report;
        w->err = out.err;
        code = out.code;
    }
    close_book(m, code);
}

/* Ends one of those that run, and puts the last one into its place. */
static void end_any(making **running, size_t *n) {
    const ps_child *children[PS_MAX_CHILDREN];
    for (size_t i = 0; i < *n; i++) {
        children[i] = &running[i]->child;
    }
    size_t i = ps_child_wait(children, *n);
    making *ended = running[i];
    end_book(ended);
    running[i] = running[--*n];
    running[*n] = ended;
}

static void write_workbooks(making *makings, size_t n_at_once, ps_workbook *books, size_t n) {
    making *running[PS_MAX_CHILDREN]; /* those not in use after the others */
    size_t n_running = 0;
    size_t next = 0;
    for (size_t i = 0; i < n_at_once; i++) {
        running[i] = &makings[i];
    }
    while (n_running > 0 || next < n) {
        if (next < n && ps_unfinished_is_ended()) {
            books[next].code = ps_fail_file(&books[next].err, PS_IO, books[next].path,
                                            "not written, since a signal ended the program");
            next++;
        } else if (next < n && n_running < n_at_once) {
            n_running += begin_book(running[n_running], &books[next++]);
        } else {
            end_any(running, &n_running);
        }
    }
}

void ps_write_workbooks(ps_workbook *books, size_t n, size_t n_at_once) {
    n_at_once = n_at_once > 0 ? n_at_once : ps_n_processors();
    n_at_once = n_at_once < PS_MAX_CHILDREN ? n_at_once : PS_MAX_CHILDREN;
    n_at_once = n_at_once < n ? n_at_once : n;
    making *makings = n > 0 ? ps_calloc(n_at_once, sizeof *makings) : NULL;
    for (size_t i = 0; i < n; i++) {
        books[i].report = (ps_xlsx_report){0};
        books[i].err = PS_ERR_INIT;
        books[i].code = makings == NULL ? ps_fail_nomem(&books[i].err) : PS_OK;
    }
    if (makings != NULL) {
        ps_unfinished_hold(); /* the library's own files */
        write_workbooks(makings, n_at_once, books, n);
        ps_unfinished_release();
    }
    ps_free(makings);
}

ps_code ps_write_workbook(ps_workbook *w, ps_err *err) {
    ps_write_workbooks(w, 1, 1);
    if (w->code != PS_OK && err != NULL) {
        *err = w->err;
    }
    return w->code;
}
