/* The page is
 *
 *   <style> colours from theme.c, then web/dist/pipeline.css
 *   <script type="application/json" id="data"> {"theme", "lang", "kinds", "phases", "causes", "sources", "shapes",
 *                                               "view", "chart", "against", "tables"}
 *   <script> web/dist/pipeline.js, which builds everything else
 *
 * A policy in the page forbids every request. */
#include "write/chart/chart_html.h"

#include "base/version.h"
#include "write/chart/chart_page.h"
#include "write/chart/chart_rows.h"
#include "write/out/web_bundle.h"

static void put_style(ps_buf *out) {
    ps_buf_add_str(out, "<style>\n:root{");
    ps_page_put_variables(out, false);
    ps_buf_add_str(out, "}\n@media(prefers-color-scheme:dark){:root:not([data-theme=light]){");
    ps_page_put_variables(out, true);
    ps_buf_add_str(out, "}}\n:root[data-theme=dark]{");
    ps_page_put_variables(out, true);
    ps_buf_add_str(out, "}\n");
    ps_buf_add(out, ps_web_pipeline_css, ps_web_pipeline_css_size);
    ps_buf_add_str(out, "</style>\n");
}

static void add_html_text(ps_buf *out, const char *s) {
    for (; *s != '\0'; s++) {
        switch (*s) {
        case '&':
            ps_buf_add_str(out, "&amp;");
            break;
        case '<':
            ps_buf_add_str(out, "&lt;");
            break;
        default:
            ps_buf_add_char(out, *s);
            break;
        }
    }
}

static ps_code put_data(const ps_chart_page *page, ps_buf *out, ps_err *err) {
    ps_json j = ps_json_to(out);
    ps_buf_add_str(out, "<script type=\"application/json\" id=\"data\">\n");
    ps_json_object(&j);
    ps_json_key_object(&j, "theme");
    ps_json_key_object(&j, "light");
    ps_page_put_theme(&j, false);
    ps_json_close(&j);
    ps_json_line(&j, 0);
    ps_json_key_object(&j, "dark");
    ps_page_put_theme(&j, true);
    ps_json_close(&j);
    ps_json_close(&j);
    ps_json_line(&j, 0);
    ps_json_key_str(&j, "lang", page->chart->lang == PS_CHINESE ? "zh" : "en");
    ps_page_put_words(page->chart->lang, &j);
    ps_json_line(&j, 0);
    ps_page_put_shapes(&j);
    ps_json_line(&j, 0);
    ps_code code = ps_page_put_chart(page, &j, err);
    ps_json_close(&j);
    ps_buf_add_str(out, "\n</script>\n");
    return code;
}

static ps_code put_page(const ps_chart_page *page, ps_buf *out, ps_err *err) {
    ps_buf_addf(out, "<!DOCTYPE html>\n<html lang=\"%s\">\n",
                page->chart->lang == PS_CHINESE ? "zh-CN" : "en");
    ps_buf_add_str(out,
                   "<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width\">\n"
                   "<meta name=\"generator\" content=\"pipescope " PS_VERSION "\">\n<title>");
    add_html_text(out, page->chart->title[0] != '\0'
                           ? page->chart->title
                           : PS_SAY(page->chart->lang, "pipeline chart", "流水线图"));
    ps_buf_add_str(out, "</title>\n");
    put_style(out);
    ps_buf_add_str(out,
                   "</head>\n<body>\n<div id=\"app\"></div>\n<noscript>This page draws its chart "
                   "with a script that it carries inside.</noscript>\n");
    ps_code code = put_data(page, out, err);
    ps_buf_add_str(out, "<script>\n");
    ps_buf_add(out, ps_web_pipeline_js, ps_web_pipeline_js_size);
    ps_buf_add_str(out, "</script>\n</body>\n</html>\n");
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

/* The pipeline that is shown first stands for those that it is alike to. */
static ps_code choose_shown(ps_chart_page *page, bool every_rank, ps_chart_alike *alike,
                            ps_err *err) {
    ps_code code = ps_chart_choose(page->chart, &page->step, &page->pipeline, err);
    if (code == PS_OK && !every_rank) {
        code = ps_chart_alike_find(page->chart, page->pipeline, alike, err);
    }
    page->alike = alike->chart != NULL ? alike : NULL;
    return code;
}

ps_code ps_write_chart_html(const ps_chart *chart, const ps_chart *against,
                            const ps_table *const *tables, size_t n_tables,
                            const ps_chart_html_opts *opts, ps_buf *out, ps_err *err) {
    ps_chart_page page = {.chart = chart,
                          .against = against,
                          .tables = tables,
                          .n_tables = n_tables,
                          .step = opts != NULL ? opts->step : PS_FIRST_STEP,
                          .pipeline = opts != NULL ? opts->pipeline : -1};
    ps_chart_alike alike = {0};
    ps_code code = choose_shown(&page, opts != NULL && opts->every_rank, &alike, err);
    if (code == PS_OK) {
        code = put_page(&page, out, err);
    }
    ps_chart_alike_fini(&alike);
    return code;
}
