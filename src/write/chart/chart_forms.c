#include "write/chart/chart_forms.h"

#include "write/chart/chart_html.h"
#include "write/chart/chart_json.h"
#include "write/chart/chart_svg.h"

const char *ps_chart_form_name(ps_chart_form form) {
    static const char *const NAMES[PS_N_CHART_FORMS] = {"svg", "html", "json"};
    return NAMES[form];
}

ps_code ps_write_chart_form(ps_chart_form form, const ps_chart_page *page, bool dark, ps_buf *out,
                            ps_err *err) {
    if (form == PS_CHART_SVG) {
        ps_chart_svg_opts opts = {.step = page->step, .pipeline = page->pipeline, .dark = dark};
        return ps_write_chart_svg(page->chart, page->against, &opts, out, err);
    }
    if (form == PS_CHART_HTML) {
        ps_chart_html_opts opts = {
            .step = page->step, .pipeline = page->pipeline, .every_rank = page->every_rank};
        return ps_write_chart_html(page->chart, page->against, page->tables, page->n_tables, &opts,
                                   out, err);
    }
    ps_chart_json_opts opts = {.step = PS_EVERY_STEP, .pipeline = -1};
    return ps_write_chart_json(page->chart, &opts, out, err);
}
