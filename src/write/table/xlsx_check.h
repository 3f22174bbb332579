/* Reads a workbook again that was just written: libxlsxwriter passes sheets through temporary files and does not notice
 * when the disk, a quota or a limit of file sizes cuts them, nor that memory ran out while it wrote what is frozen. */
#ifndef PS_WRITE_XLSX_CHECK_H
#define PS_WRITE_XLSX_CHECK_H

#include <stdint.h>

#include "base/err.h"

/* What the sheets together hold. */
typedef struct ps_xlsx_held {
    uint64_t n_cells;
    uint64_t n_frozen; /* sheets whose header stays in sight */
} ps_xlsx_held;

/* PS_IO, for a file called `name`, unless all parts are whole and the sheets hold the cells; PS_NOMEM: fewer are frozen. */
PS_MUST_USE ps_code ps_xlsx_check(const char *path, const char *name, ps_xlsx_held wanted,
                                  ps_err *err);

#endif
