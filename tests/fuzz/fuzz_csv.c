/* The input is a CSV file: read row by row, then as a table of an Ascend export, twice the same. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "read/ascend/ascend_csv.h"
#include "read/ascend/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cells lie in the row, and their text ends where they say. */
static size_t count_rows(const uint8_t *data, size_t size) {
    ps_input *in = ps_input_of_memory(data, size, NULL);
    if (in == NULL) {
        return 0;
    }
    ps_csv csv;
    ps_csv_init(&csv, in);
    ps_csv_row row;
    size_t n = 0;
    uint64_t line = 0;
    while (ps_csv_next(&csv, &row, NULL) == PS_OK && row.n > 0) {
        if (row.line <= line) {
            __builtin_trap(); /* rows begin one below the other */
        }
        line = row.line;
        for (size_t i = 0; i < row.n; i++) {
            if (row.cells[i].text[row.cells[i].n] != '\0') {
                __builtin_trap();
            }
        }
        n++;
    }
    ps_csv_fini(&csv);
    ps_input_close(in);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t n = count_rows(data, size);
    ps_ascend_csv_src src = {
        .path = "memory_record.csv", .bytes = size > 0 ? (const void *)data : "", .n_bytes = size};
    ps_builder *b = ps_builder_new();
    if (b == NULL) {
        return 0;
    }
    ps_ascend_csv csv;
    ps_err err = PS_ERR_INIT;
    if (ps_ascend_csv_read(&src, "memory_record", ps_builder_diag(b), &csv, &err) == PS_OK &&
        csv.table != NULL) {
        if (csv.table->n_rows + 1 > n) {
            __builtin_trap(); /* more rows than the file has */
        }
        ps_ascend_csv_counters(csv.table, b);
        for (size_t i = 0; i < csv.table->n_columns; i++) {
            if (strlen(csv.table->columns[i].name) == 0) {
                __builtin_trap();
            }
        }
        ps_builder_side_table(b, csv.table);
    }
    ps_trace_free(ps_builder_seal(b, NULL));
    return 0;
}
