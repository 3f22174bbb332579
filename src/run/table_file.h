/* A table as a file of the kind that the user asked for. */
#ifndef PS_RUN_TABLE_FILE_H
#define PS_RUN_TABLE_FILE_H

#include "base/err.h"
#include "model/table.h"
#include "write/table/table_xlsx.h"

#define PS_OUTPUT_FOLDER "cluster_analysis_output"

typedef enum ps_export {
    PS_EXPORT_DB,
    PS_EXPORT_CSV,
    PS_EXPORT_JSON,
    PS_EXPORT_NOTHING, /* results are only handed back, no file is touched */
    PS_EXPORT_TEXT,    /* xlsx for tables that are sheets, csv for the others */
    PS_EXPORT_XLSX
} ps_export;

/* "csv", "json" or "xlsx". */
const char *ps_table_file_end(const ps_table *table, ps_export type);

/* Writes the kind of file that the path's end names, whole or not at all. `report` may be NULL; it says what a workbook
 * could not hold and is all zero for other kinds. */
PS_MUST_USE ps_code ps_table_file_write(const ps_table *table, const char *path,
                                        ps_xlsx_report *report, ps_err *err);

#endif
