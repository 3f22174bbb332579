#include "run/table_file.h"

#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "write/out/sink.h"
#include "write/out/writers.h"

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
                          ps_err *err) {
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
    code = code == PS_OK ? ps_sink_commit(&sink, err) : code;
    ps_sink_abort(&sink);
    ps_buf_fini(&text);
    return code;
}

ps_code ps_table_file_write(const ps_table *table, const char *path, ps_xlsx_report *report,
                            ps_err *err) {
    if (report != NULL) {
        *report = (ps_xlsx_report){0};
    }
    if (ps_ends_with(path, ".xlsx")) {
        return ps_write_table_xlsx(table, path, NULL, report, err);
    }
    ps_table_part_fn *part =
        ps_ends_with(path, ".json") ? ps_write_table_json_part : ps_write_table_csv_part;
    return write_text(table, part, path, err);
}
