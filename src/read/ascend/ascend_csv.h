/* The CSV files of an Ascend text export as side tables. A column is an integer, a real or a text by what all its cells
 * are; "N/A" and nothing are NULL. A unit that tables know ("(us)", "(ms)", "(%)") goes from the header's text into the
 * unit; other units stay in the name ("Size(KB)"). Absolute times in microseconds become integer nanoseconds: a double
 * could not hold them.
 *
 * Rows are stored as wide as the header. A row that is much narrower is left out, and counted with the rows that lack
 * cells, where the table would otherwise have more than four cells for each cell of the file so far, and 65536 besides. */
#ifndef PS_READ_ASCEND_CSV_H
#define PS_READ_ASCEND_CSV_H

#include "base/diag.h"
#include "base/err.h"
#include "model/table.h"
#include "model/trace.h"

/* A file, or bytes in memory when they are not NULL (the path is then its name in messages). It is read twice. */
typedef struct ps_ascend_csv_src {
    const char *path;
    const void *bytes;
    size_t n_bytes;
    /* The files that go on with its rows, in order: each has the header again. One with another header is left out, and
     * counted. */
    const char *const *more;
    size_t n_more;
} ps_ascend_csv_src;

typedef struct ps_ascend_csv {
    ps_table *table; /* NULL when there is nothing to be had; owned by the caller */
    const char *const
        *headers; /* [table->n_columns], as they stand in the file; in the table's arena */
} ps_ascend_csv;

/* A file that cannot be read is counted in `diag`, as are odd rows; what there is stays. PS_NOMEM only. */
PS_MUST_USE ps_code ps_ascend_csv_read(const ps_ascend_csv_src *src, const char *table_name,
                                       ps_diag *diag, ps_ascend_csv *out, ps_err *err);

/* "kernel_details" of "kernel_details.csv", "op_summary" of "op_summary_20240613101010.csv" and of its parts. */
void ps_ascend_csv_table_name(const char *file_name, char *out, size_t size);

/* msprof cuts a long table into files: "op_summary_slice_0_20240613101010.csv", "op_summary_slice_1_20240613101010.csv". The
 * number of such a part, -1 where the name is none. */
int64_t ps_ascend_csv_part(const char *file_name);
/* Both are parts of one table. */
bool ps_ascend_csv_same_parts(const char *file_name, const char *other);

/* The column of this name (without a unit that was taken off), or PS_NO_COLUMN. */
#define PS_NO_COLUMN SIZE_MAX
size_t ps_ascend_csv_column(const ps_table *t, const char *name);

/* A unit of the text export by its right name: it divides bytes by 2^10 and 2^20 and writes KB and MB. Others stay. */
ps_str ps_ascend_csv_unit(ps_builder *b, const char *unit, size_t n);

/* Counters from memory_record ("PTA/Total Reserved", MiB) and npu_module_mem ("NPU Module Mem/SLOG", MiB). */
void ps_ascend_csv_counters(const ps_table *t, ps_builder *b);

#endif
