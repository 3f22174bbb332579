/* A page of HTML without a script: its frame and style (light and dark), text, tables, tiles. A policy in the page forbids every
 * request. */
#ifndef PS_WRITE_PAGE_HTML_H
#define PS_WRITE_PAGE_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/lang.h"
#include "model/table.h"
#include "write/out/column_units.h"

typedef struct ps_html_page {
    ps_buf *out;
    const char *place_name; /* head of columns "from start" */
    bool failed;            /* memory ran out outside of `out` */
    ps_arena arena;
} ps_html_page;

/* From the document type to the beginning of its body; "WHAT TITLE" is its title. And the end. */
void ps_html_begin(ps_html_page *p, ps_lang lang, const char *what, const char *title);
void ps_html_end(ps_html_page *p);

/* Text, escaped; control characters become blanks: they mean nothing on a page. The others are put as they are. */
void ps_html_text(ps_html_page *p, const char *s);
void ps_html_tag(ps_html_page *p, const char *before, const char *text, const char *after);

/* What is not in the page because it failed (model/lacks.h); nothing where nothing is lacking. */
void ps_html_lacks(ps_html_page *p, const ps_table *lacks);

/* A figure with what it is. */
void ps_html_tile(ps_html_page *p, const char *value, const char *what);

/* For each column of rows [from, to) its unit and digits, those of a place in the trace apart; NULL, and the page failed, when memory is
 * out. */
const ps_column_numbers *ps_html_units(ps_html_page *p, const ps_table *t, size_t from, size_t to);
/* <td>; numbers as their column has them, names of kernels cut at `place` (ps_cut_places). */
void ps_html_cell(ps_html_page *p, const ps_column *c, const ps_value *v,
                  const ps_column_numbers *u, size_t place);

/* Rows [from, to) without the first `skip` columns and those that say nothing. */
void ps_html_table(ps_html_page *p, const ps_table *t, size_t from, size_t to, size_t skip);

#endif
