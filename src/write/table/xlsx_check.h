/* Reads a workbook again that was just written: libxlsxwriter passes sheets through temporary files and does not notice
 * when the disk, a quota or a limit of file sizes cuts them. */
#ifndef PS_WRITE_XLSX_CHECK_H
#define PS_WRITE_XLSX_CHECK_H

#include <stdint.h>

#include "base/err.h"

/* PS_IO, for a file called `name`, unless all parts are whole and the sheets together hold `n_cells` cells. */
PS_MUST_USE ps_code ps_xlsx_check(const char *path, const char *name, uint64_t n_cells,
                                  ps_err *err);

#endif
