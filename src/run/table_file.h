/* Tables as files of the kind that the user asked for. */
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

/* What is written at one go, and how that went: a database or a workbook with several tables, or another file with
 * one. */
typedef struct ps_table_file {
    const char *path;
    const ps_table **tables; /* both are borrowed */
    size_t n_tables;

    ps_xlsx_report report; /* what a workbook could not hold; all zero for other kinds */
    ps_code code;
    ps_err err;
} ps_table_file;

/* Writes the kind of file that the end of each path names (.db, .xlsx, .json, else csv), whole or not at all: on `n_threads`
 * threads (0: one per processor), and workbooks then in as many child processes, for which no other thread may run
 * (base/child.h). The folders exist. Of more than PS_MANY_FILES, those that are text need not be on the disk when it returns. */
enum { PS_MANY_FILES = 64 };
void ps_table_files_write(ps_table_file *files, size_t n, size_t n_threads);

#endif
