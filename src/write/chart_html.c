/* The page is
 *
 *   <style> colours from theme.c, then web/dist/pipeline.css
 *   <script type="application/json" id="data"> {"theme", "kinds", "phases", "causes", "view",
 *                                               "chart", "against", "tables"}
 *   <script> web/dist/pipeline.js, which builds everything else
 *
 * A policy in the page forbids every request. */
#include "write/chart_html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "write/chart_json.h"
#include "write/chart_pack.h"
#include "write/number_text.h"
#include "write/theme.h"
#include "write/web_bundle.h"
#include "write/writers.h"

/* --- colours ----------------------------------------------------------------------------------------------- */

typedef struct surface_entry {
    const char *name;
    ps_rgb colour;
} surface_entry;

enum { N_SURFACES = 7 };

static void list_surfaces(bool dark, surface_entry out[N_SURFACES]) {
    const ps_surfaces *s = ps_theme_surfaces(dark);
    const surface_entry all[N_SURFACES] = {
        {"page", s->page},   {"panel", s->panel}, {"line", s->line},    {"ink", s->ink},
        {"quiet", s->quiet}, {"hatch", s->hatch}, {"accent", s->accent}};
    memcpy(out, all, sizeof all);
}

static void add_rgb(ps_buf *out, ps_rgb c) {
    ps_buf_addf(out, "#%02x%02x%02x", c.r, c.g, c.b);
}

/* "--page:#ffffff;--panel:..." */
static void put_variables(ps_buf *out, bool dark) {
    surface_entry surfaces[N_SURFACES];
    list_surfaces(dark, surfaces);
    for (size_t i = 0; i < N_SURFACES; i++) {
        ps_buf_addf(out, "--%s:", surfaces[i].name);
        add_rgb(out, surfaces[i].colour);
        ps_buf_add_char(out, ';');
    }
    ps_buf_addf(out, "color-scheme:%s", dark ? "dark" : "light");
}

static void put_style(ps_buf *out) {
    ps_buf_add_str(out, "<style>\n:root{");
    put_variables(out, false);
    ps_buf_add_str(out, "}\n@media(prefers-color-scheme:dark){:root:not([data-theme=light]){");
    put_variables(out, true);
    ps_buf_add_str(out, "}}\n:root[data-theme=dark]{");
    put_variables(out, true);
    ps_buf_add_str(out, "}\n");
    ps_buf_add(out, ps_web_pipeline_css, ps_web_pipeline_css_size);
    ps_buf_add_str(out, "</style>\n");
}

static void put_theme(ps_buf *out, bool dark) {
    surface_entry surfaces[N_SURFACES];
    list_surfaces(dark, surfaces);
    ps_buf_add_str(out, "{");
    for (size_t i = 0; i < N_SURFACES; i++) {
        ps_buf_addf(out, "\"%s\":\"", surfaces[i].name);
        add_rgb(out, surfaces[i].colour);
        ps_buf_add_str(out, "\",");
    }
    ps_buf_add_str(out, "\"kinds\":[");
    for (int i = 0; i < PS_N_OP_KINDS; i++) {
        ps_buf_add_str(out, i > 0 ? ",\"" : "\"");
        add_rgb(out, dark ? ps_theme_kind_dark((ps_op_kind)i) : ps_theme_kind((ps_op_kind)i));
        ps_buf_add_char(out, '"');
    }
    ps_buf_add_str(out, "],\"phases\":[");
    for (int i = 0; i < PS_N_PHASES; i++) {
        ps_buf_add_str(out, i > 0 ? ",\"" : "\"");
        add_rgb(out, dark ? ps_theme_phase_dark(i) : ps_theme_phase(i));
        ps_buf_add_char(out, '"');
    }
    ps_buf_add_str(out, "]}");
}

/* --- words ------------------------------------------------------------------------------------------------- */

static void put_words(ps_buf *out) {
    ps_buf_add_str(out, ",\n\"kinds\":[");
    for (int i = 0; i < PS_N_OP_KINDS; i++) {
        ps_buf_addf(out, "%s[\"%s\",\"%s\"]", i > 0 ? "," : "", ps_op_kind_name((ps_op_kind)i),
                    ps_kind_text((ps_op_kind)i));
    }
    ps_buf_add_str(out, "],\"phases\":[");
    for (int i = 0; i < PS_N_PHASES; i++) {
        ps_buf_addf(out, "%s\"%s\"", i > 0 ? "," : "", ps_phase_name(i));
    }
    ps_buf_add_str(out, "],\"causes\":[");
    for (int i = 0; i < PS_N_BUBBLE_CAUSES; i++) {
        ps_buf_addf(out, "%s\"%s\"", i > 0 ? "," : "", ps_bubble_cause_name((ps_bubble_cause)i));
    }
    ps_buf_add_str(out, "],\"sources\":[");
    for (int i = PS_SOURCE_MARK; i <= PS_SOURCE_SIMULATED; i++) {
        ps_buf_addf(out, "%s\"%s\"", i > 0 ? "," : "", ps_op_source_name((ps_op_source)i));
    }
    ps_buf_add_char(out, ']');
}

/* --- tables ------------------------------------------------------------------------------------------------ */

static const char *type_name(ps_col_type type) {
    return type == PS_COL_INT ? "int" : type == PS_COL_REAL ? "real" : "text";
}

static void put_cell(ps_buf *out, const ps_column *column, const ps_value *cell) {
    char real[PS_NUMBER_TEXT];
    if (cell->is_null || (column->type == PS_COL_REAL && !isfinite(cell->u.r))) {
        ps_buf_add_str(out, "null");
    } else if (column->type == PS_COL_INT) {
        ps_buf_addf(out, "%lld", (long long)cell->u.i);
    } else if (column->type == PS_COL_REAL) {
        ps_real_shortest(cell->u.r, real);
        ps_buf_add_str(out, real);
    } else {
        ps_add_script_str(out, cell->u.text);
    }
}

/* {"name","title","columns":[["busy","int","ns",exact]],"rows":[[...]]} */
static void put_table(ps_buf *out, const ps_table *table) {
    ps_buf_add_str(out, "{\"name\":");
    ps_add_script_str(out, table->name);
    ps_buf_add_str(out, ",\"title\":");
    ps_add_script_str(out, table->title);
    ps_buf_add_str(out, ",\"columns\":[");
    for (size_t c = 0; c < table->n_columns; c++) {
        const ps_column *column = &table->columns[c];
        ps_buf_add_str(out, c > 0 ? ",[" : "[");
        ps_add_script_str(out, column->name);
        ps_buf_addf(out, ",\"%s\",\"%s\",%s]", type_name(column->type), ps_unit_name(column->unit),
                    column->exact ? "true" : "false");
    }
    ps_buf_add_str(out, "],\"rows\":[");
    for (size_t r = 0; r < table->n_rows; r++) {
        ps_buf_add_str(out, r > 0 ? ",\n[" : "\n[");
        for (size_t c = 0; c < table->n_columns; c++) {
            ps_buf_add_str(out, c > 0 ? "," : "");
            put_cell(out, &table->columns[c], ps_table_cell(table, r, c));
        }
        ps_buf_add_char(out, ']');
    }
    ps_buf_add_str(out, "]}");
}

/* --- the page ---------------------------------------------------------------------------------------------- */

/* What is shown first, and that there is something to show. */
static ps_code choose(const ps_chart *chart, ps_chart_html_opts *view, ps_err *err) {
    ps_chart_html_opts asked = *view;
    bool found = false;
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        int32_t pipeline = chart->ranks[op->rank].pipeline;
        if ((asked.step != PS_FIRST_STEP && op->step != asked.step) ||
            (asked.pipeline >= 0 && pipeline != asked.pipeline)) {
            continue;
        }
        if (!found || op->step < view->step ||
            (op->step == view->step && pipeline < view->pipeline)) {
            view->step = op->step;
            view->pipeline = pipeline;
        }
        found = true;
    }
    if (chart->n_ops == 0) {
        return ps_fail(err, PS_NOTHING, "the chart is empty: it has no ops to draw");
    }
    return found ? PS_OK
                 : ps_fail(err, PS_NOTHING, "the chart has no ops of that step and pipeline");
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

static ps_code put_data(const ps_chart *chart, const ps_chart *against,
                        const ps_table *const *tables, size_t n_tables,
                        const ps_chart_html_opts *view, ps_buf *out, ps_err *err) {
    ps_buf_add_str(out, "<script type=\"application/json\" id=\"data\">\n{\"theme\":{\"light\":");
    put_theme(out, false);
    ps_buf_add_str(out, ",\n\"dark\":");
    put_theme(out, true);
    ps_buf_add_char(out, '}');
    put_words(out);
    ps_buf_addf(out,
                ",\n\"view\":{\"step\":%lld,\"pipeline\":%d},\n\"chart\":", (long long)view->step,
                (int)view->pipeline);
    ps_code code = ps_chart_pack(chart, out, err);
    if (code == PS_OK && against != NULL) {
        ps_buf_add_str(out, ",\n\"against\":");
        code = ps_chart_pack(against, out, err);
    }
    ps_buf_add_str(out, ",\n\"tables\":[");
    for (size_t i = 0; i < n_tables; i++) {
        ps_buf_add_str(out, i > 0 ? ",\n" : "\n");
        put_table(out, tables[i]);
    }
    ps_buf_add_str(out, "]}\n</script>\n");
    return code;
}

ps_code ps_write_chart_html(const ps_chart *chart, const ps_chart *against,
                            const ps_table *const *tables, size_t n_tables,
                            const ps_chart_html_opts *opts, ps_buf *out, ps_err *err) {
    ps_chart_html_opts view = {.step = PS_FIRST_STEP, .pipeline = -1};
    if (opts != NULL) {
        view = *opts;
    }
    ps_code code = choose(chart, &view, err);
    if (code != PS_OK) {
        return code;
    }
    ps_buf_add_str(out,
                   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width\">\n"
                   "<meta name=\"generator\" content=\"pipescope " PS_VERSION "\">\n<title>");
    add_html_text(out, chart->title[0] != '\0' ? chart->title : "pipeline chart");
    ps_buf_add_str(out, "</title>\n");
    put_style(out);
    ps_buf_add_str(out,
                   "</head>\n<body>\n<div id=\"app\"></div>\n<noscript>This page draws its chart "
                   "with a script that it carries inside.</noscript>\n");
    code = put_data(chart, against, tables, n_tables, &view, out, err);
    ps_buf_add_str(out, "<script>\n");
    ps_buf_add(out, ps_web_pipeline_js, ps_web_pipeline_js_size);
    ps_buf_add_str(out, "</script>\n</body>\n</html>\n");
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}
