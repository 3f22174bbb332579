#include "write/chart_page.h"

#include <math.h>
#include <string.h>

#include "write/chart_json.h"
#include "write/chart_pack.h"
#include "write/number_text.h"
#include "write/theme.h"

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

void ps_page_put_variables(ps_buf *out, bool dark) {
    surface_entry surfaces[N_SURFACES];
    list_surfaces(dark, surfaces);
    for (size_t i = 0; i < N_SURFACES; i++) {
        ps_buf_addf(out, "--%s:", surfaces[i].name);
        add_rgb(out, surfaces[i].colour);
        ps_buf_add_char(out, ';');
    }
    ps_buf_addf(out, "color-scheme:%s", dark ? "dark" : "light");
}

void ps_page_put_theme(ps_buf *out, bool dark) {
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

void ps_page_put_words(ps_buf *out) {
    ps_buf_add_str(out, "\"kinds\":[");
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

/* --- the chart --------------------------------------------------------------------------------------------- */

ps_code ps_page_choose(ps_chart_page *view, ps_err *err) {
    const ps_chart *chart = view->chart;
    ps_chart_page asked = *view;
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

void ps_page_put_tables(const ps_table *const *tables, size_t n_tables, ps_buf *out) {
    ps_buf_add_str(out, "\"tables\":[");
    for (size_t i = 0; i < n_tables; i++) {
        ps_buf_add_str(out, i > 0 ? ",\n" : "\n");
        put_table(out, tables[i]);
    }
    ps_buf_add_char(out, ']');
}

ps_code ps_page_put_chart(const ps_chart_page *page, ps_buf *out, ps_err *err) {
    ps_buf_addf(out, "\"view\":{\"step\":%lld,\"pipeline\":%d},\n\"chart\":", (long long)page->step,
                (int)page->pipeline);
    ps_code code = ps_chart_pack(page->chart, out, err);
    if (code == PS_OK && page->against != NULL) {
        ps_buf_add_str(out, ",\n\"against\":");
        code = ps_chart_pack(page->against, out, err);
    }
    ps_buf_add_str(out, ",\n");
    ps_page_put_tables(page->tables, page->n_tables, out);
    return code;
}
