#include "run/table_file.h"

#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "write/writers.h"

const char *ps_table_file_end(const ps_table *table, ps_export type) {
    bool is_book = type == PS_EXPORT_XLSX || (type == PS_EXPORT_TEXT && table->is_sheet);
    return is_book ? "xlsx" : type == PS_EXPORT_JSON ? "json" : "csv";
}

ps_code ps_table_file_write(const ps_table *table, const char *path, ps_xlsx_report *report,
                            ps_err *err) {
    if (report != NULL) {
        *report = (ps_xlsx_report){0};
    }
    if (ps_ends_with(path, ".xlsx")) {
        return ps_write_table_xlsx(table, path, NULL, report, err);
    }
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_code code = ps_ends_with(path, ".json") ? ps_write_table_json(table, &text, err)
                                               : ps_write_table_csv(table, &text, err);
    code = code == PS_OK ? ps_write_file(path, ps_buf_str(&text), text.len, err) : code;
    ps_buf_fini(&text);
    return code;
}
