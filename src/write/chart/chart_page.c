#include "write/chart/chart_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model/lacks.h"
#include "model/table_fold.h"
#include "write/chart/chart_json.h"
#include "write/chart/chart_pack.h"
#include "write/chart/chart_rows.h"
#include "write/out/json_text.h"
#include "write/out/theme.h"

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

void ps_page_put_colour(ps_json *j, ps_rgb c) {
    char text[8];
    (void)snprintf(text, sizeof text, "#%02x%02x%02x", c.r, c.g, c.b);
    ps_json_str(j, text);
}

void ps_page_put_theme(ps_json *j, bool dark) {
    surface_entry surfaces[N_SURFACES];
    list_surfaces(dark, surfaces);
    for (size_t i = 0; i < N_SURFACES; i++) {
        ps_json_name(j, surfaces[i].name, strlen(surfaces[i].name));
        ps_page_put_colour(j, surfaces[i].colour);
    }
    ps_json_key_array(j, "kinds");
    for (int i = 0; i < PS_N_OP_KINDS; i++) {
        ps_op_kind kind = (ps_op_kind)i;
        ps_page_put_colour(j, dark ? ps_theme_kind_dark(kind) : ps_theme_kind(kind));
    }
    ps_json_close(j);
    ps_json_key_array(j, "phases");
    for (int i = 0; i < PS_N_PHASES; i++) {
        ps_page_put_colour(j, dark ? ps_theme_phase_dark(i) : ps_theme_phase(i));
    }
    ps_json_close(j);
}

/* --- words ------------------------------------------------------------------------------------------------- */

void ps_page_put_words(ps_lang lang, ps_json *j) {
    ps_json_key_array(j, "kinds");
    for (int i = 0; i < PS_N_OP_KINDS; i++) {
        ps_json_array(j);
        ps_json_str(j, ps_op_kind_name((ps_op_kind)i));
        ps_json_str(j, ps_kind_word(lang, (ps_op_kind)i));
        ps_json_close(j);
    }
    ps_json_close(j);
    ps_json_key_array(j, "phases");
    for (int i = 0; i < PS_N_PHASES; i++) {
        ps_json_str(j, ps_phase_word(lang, i));
    }
    ps_json_close(j);
    ps_json_key_array(j, "causes");
    for (int i = 0; i < PS_N_BUBBLE_CAUSES; i++) {
        ps_json_str(j, ps_bubble_cause_word(lang, (ps_bubble_cause)i));
    }
    ps_json_close(j);
    ps_json_key_array(j, "sources");
    for (int i = PS_SOURCE_MARK; i <= PS_SOURCE_SIMULATED; i++) {
        ps_json_str(j, ps_op_source_name((ps_op_source)i));
    }
    ps_json_close(j);
}

void ps_page_put_shapes(ps_json *j) {
    ps_json_key_object(j, "shapes");
    ps_json_key_array(j, "sizes");
    for (int i = 0; i < PS_N_ROW_SIZES; i++) {
        const ps_row_size *s = &ps_row_sizes[i];
        const int parts[] = {s->most_rows, s->block, s->between, s->lower, s->transfers, s->below};
        ps_json_array(j);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            ps_json_int(j, parts[k]);
        }
        ps_json_close(j);
    }
    ps_json_close(j);
    ps_json_key_array(j, "hatches");
    for (int i = 0; i < PS_N_BUBBLE_CAUSES; i++) {
        ps_json_int(j, ps_hatch_of((ps_bubble_cause)i));
    }
    ps_json_close(j);
    ps_json_key_int(j, "name_height", PS_NAME_HEIGHT);
    ps_json_key_int(j, "two_lines_height", PS_TWO_LINES_HEIGHT);
    ps_json_close(j);
}

/* --- tables ------------------------------------------------------------------------------------------------ */

static const char *type_name(ps_col_type type) {
    return type == PS_COL_INT ? "int" : type == PS_COL_REAL ? "real" : "text";
}

static void put_page_cell(ps_json *j, const ps_column *column, const ps_value *cell) {
    if (cell->is_null || column->type == PS_COL_INT || column->type == PS_COL_REAL) {
        ps_json_cell(j, column, cell);
    } else {
        ps_json_script_str(j, cell->u.text);
    }
}

/* {"name","title","note","columns":[["busy","int","ns",exact]],"rows":[[...]]}; no "note" where rows stand for themselves. */
static void put_page_table(ps_json *j, const ps_table *table, double near) {
    ps_json_object(j);
    ps_json_key(j, "name");
    ps_json_script_str(j, table->name);
    ps_json_key(j, "title");
    ps_json_script_str(j, table->title);
    if (near > 0) {
        char note[sizeof PS_FOLD_NOTE + 16];
        (void)snprintf(note, sizeof note, PS_FOLD_NOTE, 100 * near);
        ps_json_key_str(j, "note", note);
    }
    ps_json_key_array(j, "columns");
    for (size_t c = 0; c < table->n_columns; c++) {
        const ps_column *column = &table->columns[c];
        ps_json_array(j);
        ps_json_script_str(j, column->name);
        ps_json_str(j, type_name(column->type));
        ps_json_str(j, ps_unit_name(column->unit));
        ps_json_bool(j, column->exact);
        ps_json_close(j);
    }
    ps_json_close(j);
    ps_json_key_array(j, "rows");
    for (size_t r = 0; r < table->n_rows; r++) {
        ps_json_line(j, 0);
        ps_json_array(j);
        for (size_t c = 0; c < table->n_columns; c++) {
            put_page_cell(j, &table->columns[c], ps_table_cell(table, r, c));
        }
        ps_json_close(j);
    }
    ps_json_close(j);
    ps_json_close(j);
}

static void put_folded_table(ps_json *j, const ps_table *table) {
    double near = 0;
    ps_table *folded =
        table->n_rows > PS_FOLD_ROWS ? ps_table_fold(table, PS_FOLD_MOST_ROWS, &near) : NULL;
    put_page_table(j, folded != NULL ? folded : table, near);
    ps_table_free(folded);
}

/* --- the chart --------------------------------------------------------------------------------------------- */

static void put_page_tables(ps_json *j, const ps_chart_page *page) {
    const ps_table *lacks = page->chart->lacks;
    ps_json_line(j, 0);
    ps_json_key_array(j, "tables");
    if (ps_lacks_any(lacks)) {
        ps_json_line(j, 0);
        put_page_table(j, lacks, 0);
    }
    for (size_t i = 0; i < page->n_tables; i++) {
        ps_json_line(j, 0);
        if (page->alike != NULL) {
            put_folded_table(j, page->tables[i]);
        } else {
            put_page_table(j, page->tables[i], 0);
        }
    }
    ps_json_close(j);
}

/* "longest":[[step,pipeline,of how many],...]: of the steps that one pipeline makes as long as they are. */
static ps_code put_longest(const ps_chart *chart, ps_json *j, ps_err *err) {
    ps_chart_window *windows = NULL;
    size_t n = 0;
    ps_code code = ps_chart_windows(chart, &windows, &n, err);
    if (code == PS_OK) {
        ps_chart_windows_by_step(windows, n);
    }
    ps_json_key_array(j, "longest");
    for (size_t i = 0, stop = 0; i < n; i = stop) {
        while (stop < n && windows[stop].step == windows[i].step) {
            stop++;
        }
        size_t of = 0;
        int32_t longest = ps_longest_pipeline(&windows[i], stop - i, windows[i].step, &of);
        if (longest >= 0) {
            ps_json_array(j);
            ps_json_int(j, windows[i].step);
            ps_json_int(j, longest);
            ps_json_uint(j, of);
            ps_json_close(j);
        }
    }
    ps_json_close(j);
    ps_free(windows);
    return code;
}

ps_code ps_page_put_chart(const ps_chart_page *page, ps_json *j, ps_err *err) {
    ps_json_key_object(j, "view");
    ps_json_key_int(j, "step", page->step);
    ps_json_key_int(j, "pipeline", page->pipeline);
    ps_code code = put_longest(page->chart, j, err);
    ps_json_close(j);
    ps_json_line(j, 0);
    ps_json_key(j, "chart");
    ps_json_value(j);
    code = code == PS_OK
               ? ps_chart_pack(page->alike != NULL ? page->alike->chart : page->chart, j->out, err)
               : code;
    if (code == PS_OK && page->against != NULL) {
        ps_json_line(j, 0);
        ps_json_key(j, "against");
        ps_json_value(j);
        code = ps_chart_pack(page->against, j->out, err);
    }
    if (code == PS_OK && page->alike != NULL) {
        ps_json_line(j, 0);
        code = ps_chart_alike_put(page->alike, page->chart, j, err);
    }
    put_page_tables(j, page);
    return code;
}
