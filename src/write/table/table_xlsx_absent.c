/* Workbooks in a build without libxlsxwriter: each says so. */
#include "base/build_parts.h"
#include "write/table/table_xlsx.h"

#if !PIPESCOPE_HAS_XLSX
void ps_write_workbooks(ps_workbook *books, size_t n, size_t n_at_once) {
    (void)n_at_once;
    for (size_t i = 0; i < n; i++) {
        books[i].report = (ps_xlsx_report){0};
        books[i].err = PS_ERR_INIT;
        books[i].code = ps_fail_left_out(&books[i].err, PS_PART_xlsx);
    }
}

ps_code ps_write_workbook(ps_workbook *w, ps_err *err) {
    ps_write_workbooks(w, 1, 1);
    return ps_fail_left_out(err, PS_PART_xlsx);
}
#endif
