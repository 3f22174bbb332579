/* What a page is told about pipelines: the members of one JSON object, the same for the page that stands alone (chart_html.h)
 * and for the one that is served. Texts are safe inside an HTML script element. */
#ifndef PS_WRITE_CHART_PAGE_H
#define PS_WRITE_CHART_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "model/chart.h"
#include "model/table.h"
#include "write/chart/chart_alike.h"
#include "write/out/theme.h"

typedef struct ps_chart_page {
    const ps_chart *chart;
    const ps_chart *against; /* theory, or NULL */
    const ps_table *const *tables;
    size_t n_tables;
    int64_t step; /* shown first, with its pipeline: as ps_chart_choose() says */
    int32_t pipeline;
    bool every_rank; /* of a page that stands alone: none stands for others */
    const ps_chart_alike
        *alike; /* what is shown for all of it, rows of tables likewise; NULL: all */
} ps_chart_page;

/* All of these write members into the object that is open. */

/* "view":{...},"chart":{...},"against":{...},"alike":{...},"tables":[...]; no "against" and "alike" without one. */
PS_MUST_USE ps_code ps_page_put_chart(const ps_chart_page *page, ps_json *j, ps_err *err);
/* "page":"#ffffff",...,"kinds":[...],"phases":[...]: the colours of theme.h. */
void ps_page_put_theme(ps_json *j, bool dark);
/* One of them, as a value. */
void ps_page_put_colour(ps_json *j, ps_rgb c);
/* The same surfaces as variables of a style: "--page:#ffffff;--panel:..." */
void ps_page_put_variables(ps_buf *out, bool dark);
/* "kinds":[...],"phases":[...],"causes":[...],"sources":[...]: the words of the field. */
void ps_page_put_words(ps_lang lang, ps_json *j);
/* "shapes":{"sizes":[[most rows,block,between,lower,transfers,below],...],"hatches":[1 rises + 2 falls,...],"name_height":13,
 * "two_lines_height":25}: what chart_rows.h says of every picture, in pixels. */
void ps_page_put_shapes(ps_json *j);

#endif
