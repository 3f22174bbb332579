/* The chart in the form that is asked for by name: what files, the server and the library give. */
#ifndef PS_WRITE_CHART_FORMS_H
#define PS_WRITE_CHART_FORMS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "write/chart/chart_page.h"

typedef enum ps_chart_form {
    PS_CHART_SVG,
    PS_CHART_HTML,
    PS_CHART_JSON,
    PS_N_CHART_FORMS
} ps_chart_form;

/* "svg", "html", "json". */
const char *ps_chart_form_name(ps_chart_form form);

/* A picture of the page's step and pipeline (`dark`: its colours), a page that shows these first, or the data of all. Appends. PS_NOTHING when there
 * is no op. */
PS_MUST_USE ps_code ps_write_chart_form(ps_chart_form form, const ps_chart_page *page, bool dark,
                                        ps_buf *out, ps_err *err);

#endif
