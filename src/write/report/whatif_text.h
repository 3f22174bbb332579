/* The tables of whatif (analyze/whatif/whatif_tables.h) for people and for programs. */
#ifndef PS_WRITE_WHATIF_TEXT_H
#define PS_WRITE_WHATIF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/lang.h"
#include "model/table.h"
#include "write/out/text_style.h"

/* All tables of a result; those that are missing are NULL. */
typedef struct ps_whatif_view {
    ps_lang lang;          /* of sentences; columns and titles of tables are English */
    const char *title;     /* may be "" */
    const ps_table *lacks; /* what is not in it because it failed (model/lacks.h), or NULL */
    const ps_table *job, *steps, *kinds, *stages, *replicas, *workers, *causes, *repairs, *answer,
        *timeline;
} ps_whatif_view;

/* What must be known to read the figures: that ops explain little of the measured step, that a chart has computing alone,
 * that the ideal step is longer than the replay. How
 * many sentences there are. */
#define PS_WHATIF_DOUBTS 5
#define PS_WHATIF_DOUBT 560
size_t ps_whatif_doubts(const ps_whatif_view *view, char out[PS_WHATIF_DOUBTS][PS_WHATIF_DOUBT]);

/* What usual is, and why a repair may be shorter than the ideal. */
const char *ps_whatif_usual(ps_lang lang);

/* "15.2 %", or "none": where kinds of ops differ by stage the steps with all of a kind alike may be the longer ones. */
#define PS_WHATIF_WASTE 24
const char *ps_whatif_waste(const ps_whatif_view *view, char out[PS_WHATIF_WASTE]);

/* The verdict, causes, repairs, kinds, and a map of stages and replicas. */
PS_MUST_USE ps_code ps_write_whatif_text(const ps_whatif_view *view, const ps_text_style *style,
                                         ps_buf *out, ps_err *err);
/* One object; names at its top level as in docs/whatif.md. */
PS_MUST_USE ps_code ps_write_whatif_json(const ps_whatif_view *view, ps_buf *out, ps_err *err);

/* The same as a page, light or dark, that needs nothing else. */
PS_MUST_USE ps_code ps_write_whatif_html(const ps_whatif_view *view, ps_buf *out, ps_err *err);

/* The map of workers alone, a picture. PS_NOTHING without workers. */
PS_MUST_USE ps_code ps_write_whatif_svg(const ps_whatif_view *view, ps_buf *out, ps_err *err);

#endif
