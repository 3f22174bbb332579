/* Writers: every output is one file. Results are small, so each writer fills a buffer that the caller owns and
 * then prints, stores (ps_sink) or sends. Every function appends to `out`; PS_NOMEM when it is full. */
#ifndef PS_WRITE_WRITERS_H
#define PS_WRITE_WRITERS_H

#include "base/buf.h"
#include "base/err.h"
#include "model/chart.h"
#include "model/table.h"
#include "write/out/text_style.h"

/* For people: header, thin rule, rows, at most style->width columns. Numbers right-aligned, the unit in the
 * header; durations share a unit, and sizes do (column_units.h; ps_column.exact: as they are); percentages with one
 * decimal. Texts are shortened in their middle when the width asks for it. */
PS_MUST_USE ps_code ps_write_table_text(const ps_table *table, const ps_text_style *style,
                                        ps_buf *out, ps_err *err);

/* RFC 4180 with "\r\n" line ends: a header of column names with units, then exact values; NULL is an empty field, an empty
 * text is "". A text of two characters and more that begins with = + - @, a tab or a carriage return, and is no number, gets an
 * apostrophe in front, so that no spreadsheet runs it. Reals are the shortest decimals that read back as the same double. */
PS_MUST_USE ps_code ps_write_table_csv(const ps_table *table, ps_buf *out, ps_err *err);

/* An array of objects, one a row and line. Integers stay integers beyond 2^53 too: readers that hold numbers as
 * doubles (JavaScript) lose digits there. A real that is not finite is null. */
PS_MUST_USE ps_code ps_write_table_json(const ps_table *table, ps_buf *out, ps_err *err);

/* Rows [first, end) of the same: what stands before the first row of the table comes with it, what stands behind the last
 * one too. For files that are larger than memory. */
typedef ps_code ps_table_part_fn(const ps_table *table, size_t first, size_t end, ps_buf *out,
                                 ps_err *err);
PS_MUST_USE ps_code ps_write_table_csv_part(const ps_table *table, size_t first, size_t end,
                                            ps_buf *out, ps_err *err);
PS_MUST_USE ps_code ps_write_table_json_part(const ps_table *table, size_t first, size_t end,
                                             ps_buf *out, ps_err *err);

/* An object a line, of the same form. */
PS_MUST_USE ps_code ps_write_table_jsonl_part(const ps_table *table, size_t first, size_t end,
                                              ps_buf *out, ps_err *err);

typedef struct ps_chart_text_opts {
    ps_text_style style;
    int64_t step;        /* PS_FIRST_STEP: the first step of the chart */
    int32_t pipeline;    /* -1: the first pipeline */
    bool with_transfers; /* a row of sends and receives below each stage */
} ps_chart_text_opts;

/* The picture of one step of one pipeline: a row a stage, blocks over time, busy shares, axis, legend.
 * PS_NOTHING when the chart has no op there. */
PS_MUST_USE ps_code ps_write_chart_text(const ps_chart *chart, const ps_chart_text_opts *opts,
                                        ps_buf *out, ps_err *err);

#endif
