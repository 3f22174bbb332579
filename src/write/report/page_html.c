#include "write/report/page_html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "model/lacks.h"
#include "model/table.h"
#include "write/out/number_text.h"
#include "write/out/shorten.h"
#include "write/out/theme.h"

/* --- text ------------------------------------------------------------------------------------------------------------ */

/* Control characters become blanks: they mean nothing on a page. */
void ps_html_text(ps_html_page *p, const char *s) {
    for (; *s != '\0'; s++) {
        switch (*s) {
        case '&':
            ps_buf_add_str(p->out, "&amp;");
            break;
        case '<':
            ps_buf_add_str(p->out, "&lt;");
            break;
        case '>':
            ps_buf_add_str(p->out, "&gt;");
            break;
        case '"':
            ps_buf_add_str(p->out, "&quot;");
            break;
        default:
            ps_buf_add_char(p->out, (unsigned char)*s < 0x20 ? ' ' : *s);
            break;
        }
    }
}

void ps_html_tag(ps_html_page *p, const char *before, const char *text, const char *after) {
    ps_buf_add_str(p->out, before);
    ps_html_text(p, text);
    ps_buf_add_str(p->out, after);
}

/* --- style ----------------------------------------------------------------------------------------------------------- */

static void put_rgb(ps_buf *out, const char *name, ps_rgb c) {
    ps_buf_addf(out, "--%s:#%02x%02x%02x;", name, c.r, c.g, c.b);
}

static void put_tokens(ps_buf *out, bool dark) {
    const ps_surfaces *s = ps_theme_surfaces(dark);
    put_rgb(out, "page", s->page);
    put_rgb(out, "panel", s->panel);
    put_rgb(out, "line", s->line);
    put_rgb(out, "ink", s->ink);
    put_rgb(out, "quiet", s->quiet);
    put_rgb(out, "hatch", s->hatch);
    put_rgb(out, "accent", s->accent);
    put_rgb(out, "computing", ps_theme_lane(PS_LANE_COMPUTING, dark));
    put_rgb(out, "exposed", ps_theme_lane(PS_LANE_EXPOSED, dark));
    put_rgb(out, "free", ps_theme_lane(PS_LANE_FREE, dark));
    ps_buf_addf(out, "color-scheme:%s", dark ? "dark" : "light");
}

static const char STYLE[] =
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:14px/20px system-ui,sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    "main{max-width:1240px;margin:0 auto;padding:24px 24px 64px}\n"
    "h1{font-size:18px;line-height:24px;margin:0 0 4px}\n"
    "h2{font-size:18px;line-height:24px;margin:40px 0 12px;padding-bottom:4px;"
    "border-bottom:1px solid var(--line)}\n"
    "h3{font-size:14px;line-height:20px;margin:0;font-weight:600}\n"
    "p{margin:0;overflow-wrap:anywhere}a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}\n"
    "h2+p{margin-bottom:12px}\n"
    ".quiet{color:var(--quiet);font-size:12px;line-height:16px}\n"
    ".tiles{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0 0}\n"
    ".tile{background:var(--panel);border-radius:2px;padding:8px 16px;min-width:112px}\n"
    ".tile b{display:block;font-size:18px;line-height:24px;font-weight:600}\n"
    ".card{background:var(--panel);border-left:4px solid var(--line);border-radius:2px;"
    "padding:12px 16px;margin:0 0 12px}\n"
    ".verdict{font-size:16px;line-height:24px;margin:8px 0;max-width:960px}\n"
    ".high{border-left-color:var(--exposed)}.medium{border-left-color:#F0A92B}"
    ".low{border-left-color:var(--accent)}.info{border-left-color:var(--quiet)}\n"
    ".head{display:flex;gap:12px;align-items:baseline;flex-wrap:wrap;margin-bottom:4px}\n"
    ".head .gain{margin-left:auto;font-weight:600}\n"
    ".chip{font-size:11px;line-height:16px;padding:0 8px;border-radius:2px;border:1px solid "
    "var(--line);color:var(--quiet)}\n"
    ".card dl{display:grid;grid-template-columns:48px 1fr;gap:4px 8px;margin:8px 0 0;"
    "font-size:12px;line-height:16px}\n"
    ".card dt{color:var(--quiet)}.card dd{margin:0}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;margin:8px 0 0;font-size:12px;line-height:16px}\n"
    "th{font-weight:600;text-align:left;color:var(--quiet);border-bottom:1px solid var(--line)}\n"
    "th,td{padding:4px 12px 4px 0;vertical-align:top;white-space:nowrap}\n"
    "td{border-bottom:1px solid var(--line)}tr:last-child td{border-bottom:0}\n"
    ".n{text-align:right}.name{font-family:ui-monospace,monospace;font-size:11px}"
    ".wide{white-space:normal;"
    "min-width:176px}\n"
    ".bar{display:flex;width:320px;height:12px;gap:1px;background:var(--page)}"
    ".bar i{display:block;height:12px}\n"
    ".c{background:var(--computing)}.e{background:var(--exposed)}.f{background:var(--free)}"
    ".b{background:var(--hatch)}.k{background:var(--accent)}"
    ".w{background:repeating-linear-gradient(45deg,var(--hatch) 0 1px,transparent 1px 5px)}\n"
    ".key{display:inline-block;width:12px;height:12px;margin:0 4px 0 12px;vertical-align:-1px;"
    "border:1px solid var(--line)}\n"
    ".chart{margin:0 0 12px;overflow-x:auto}.chart svg{max-width:100%;height:auto;display:block}\n"
    ".only-dark{display:none}\n"
    "@media(prefers-color-scheme:dark){.only-dark{display:block}.only-light{display:none}}\n"
    "details{margin:12px 0}summary{cursor:pointer;color:var(--accent)}\n"
    "@media print{.card{break-inside:avoid}}\n";

static void put_html_style(ps_html_page *p) {
    ps_buf_add_str(p->out, "<style>\n:root{");
    put_tokens(p->out, false);
    ps_buf_add_str(p->out, "}\n@media(prefers-color-scheme:dark){:root{");
    put_tokens(p->out, true);
    ps_buf_add_str(p->out, "}}\n");
    ps_buf_add_str(p->out, STYLE);
    ps_buf_add_str(p->out, "</style>\n");
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

/* A place in the trace keeps its microseconds. */
static bool is_place(const ps_column *c) {
    return strcmp(c->name, "from start") == 0;
}

const ps_column_numbers *ps_html_units(ps_html_page *p, const ps_table *t, size_t from, size_t to) {
    ps_table view = *t;
    ps_column *columns = ps_arena_alloc(&p->arena, (t->n_columns + 1) * sizeof *columns);
    for (size_t c = 0; columns != NULL && c < t->n_columns; c++) {
        columns[c] = t->columns[c];
        columns[c].exact = columns[c].exact || is_place(&t->columns[c]);
    }
    view.columns = columns;
    const ps_column_numbers *units =
        columns != NULL ? ps_column_units(&p->arena, &view, from, to) : NULL;
    p->failed = p->failed || units == NULL;
    return units;
}

static bool says_something(const ps_table *t, const ps_column_numbers *units, size_t column,
                           size_t from, size_t to) {
    for (size_t r = from; r < to; r++) {
        const ps_value *v = ps_table_cell(t, r, column);
        bool empty = ps_column_is_text(&t->columns[column]) ? v->is_null || v->u.text[0] == '\0'
                                                            : v->is_null;
        bool no_time = units->kind == PS_UNITS_TIME && units->n == 0;
        if (!empty && !no_time) {
            return true;
        }
    }
    return false;
}

enum { NAME_COLUMNS = 40 };

/* Long names differ at both ends: they are cut in the middle, or where they differ. */
static void put_cut(ps_html_page *p, const char *name, size_t place) {
    ps_buf cut = {0};
    ps_text_cut(&cut, name, NAME_COLUMNS, place, true);
    ps_html_text(p, ps_buf_str(&cut));
    p->failed = p->failed || !ps_buf_ok(&cut);
    ps_buf_fini(&cut);
}

static bool is_name(const ps_column *c) {
    return ps_column_is_text(c) &&
           (strcmp(c->name, "name") == 0 || strcmp(c->name, "kernel") == 0 ||
            strcmp(c->name, "shapes") == 0);
}

/* Where the names of a column are cut (ps_cut_places); NULL for other columns. */
static const size_t *name_places(ps_html_page *p, const ps_table *t, size_t column, size_t from,
                                 size_t to) {
    if (!is_name(&t->columns[column])) {
        return NULL;
    }
    const char **names = ps_arena_alloc(&p->arena, (to - from + 1) * sizeof *names);
    for (size_t i = 0; names != NULL && i < to - from; i++) {
        const ps_value *v = ps_table_cell(t, from + i, column);
        names[i] = v->is_null ? "" : v->u.text;
    }
    const size_t *places =
        names != NULL ? ps_cut_places(&p->arena, names, to - from, 1, NAME_COLUMNS, true) : NULL;
    p->failed = p->failed || places == NULL;
    return places;
}

void ps_html_cell(ps_html_page *p, const ps_column *c, const ps_value *v,
                  const ps_column_numbers *u, size_t place) {
    char text[PS_NUMBER_TEXT];
    if (v->is_null) {
        ps_buf_add_str(p->out, "<td class=n>");
    } else if (ps_column_is_text(c)) {
        ps_buf_addf(p->out, "<td class=%s title=\"", is_name(c) ? "name" : "wide");
        ps_html_tag(p, "", v->u.text, "\">");
        if (is_name(c)) {
            put_cut(p, v->u.text, place);
        } else {
            ps_html_text(p, v->u.text);
        }
    } else if (is_place(c)) {
        ps_buf_addf(p->out, "<td class=n title=\"%lld ns\">%.3f", (long long)v->u.i,
                    (double)v->u.i / 1e6);
    } else if (c->type == PS_COL_INT && u->kind != PS_UNITS_NONE) {
        ps_buf_addf(p->out, "<td class=n title=\"%lld %s\">%.*f", (long long)v->u.i,
                    ps_unit_name(c->unit), (int)u->decimals,
                    (double)v->u.i * (double)u->own / (double)u->unit.size);
    } else if (c->type == PS_COL_INT) {
        ps_buf_addf(p->out, "<td class=n>%lld", (long long)v->u.i);
    } else if (isfinite(v->u.r)) {
        int decimals = c->unit == PS_UNIT_PERCENT ? 1 : (int)u->decimals;
        (void)snprintf(text, sizeof text, "%.*f", decimals,
                       v->u.r * (double)u->own / (double)u->unit.size);
        ps_html_tag(p, "<td class=n>", text, "");
    } else {
        ps_buf_add_str(p->out, "<td class=n>");
    }
    ps_buf_add_str(p->out, "</td>");
}

static void put_html_header(ps_html_page *p, const ps_column *c, const ps_column_numbers *u) {
    const char *head = is_place(c) ? p->place_name : c->name;
    ps_html_tag(p, ps_column_is_text(c) ? "<th>" : "<th class=n>", head, "");
    const char *name = is_place(c)                ? "ms"
                       : u->kind != PS_UNITS_NONE ? u->unit.name
                                                  : ps_unit_name(c->unit);
    if (name[0] != '\0') {
        ps_buf_addf(p->out, " (%s)", name);
    }
    ps_buf_add_str(p->out, "</th>");
}

enum { MAX_COLUMNS = 24, MAX_ROWS = 500 };

void ps_html_table(ps_html_page *p, const ps_table *t, size_t from, size_t to, size_t skip) {
    bool shown[MAX_COLUMNS] = {false};
    const size_t *places[MAX_COLUMNS] = {NULL};
    size_t n = t->n_columns < MAX_COLUMNS ? t->n_columns : MAX_COLUMNS;
    size_t end = to - from > MAX_ROWS ? from + MAX_ROWS : to;
    const ps_column_numbers *units = ps_html_units(p, t, from, end);
    if (units == NULL) {
        return;
    }
    ps_buf_add_str(p->out, "<div class=scroll><table><tr>");
    for (size_t c = skip; c < n; c++) {
        shown[c] = says_something(t, &units[c], c, from, end);
        if (shown[c]) {
            put_html_header(p, &t->columns[c], &units[c]);
            places[c] = name_places(p, t, c, from, end);
        }
    }
    ps_buf_add_str(p->out, "</tr>\n");
    for (size_t r = from; r < end; r++) {
        ps_buf_add_str(p->out, "<tr>");
        for (size_t c = skip; c < n; c++) {
            if (shown[c]) {
                ps_html_cell(p, &t->columns[c], ps_table_cell(t, r, c), &units[c],
                             places[c] != NULL ? places[c][r - from] : 0);
            }
        }
        ps_buf_add_str(p->out, "</tr>\n");
    }
    ps_buf_add_str(p->out, "</table></div>\n");
    if (end < to) {
        ps_buf_addf(p->out, "<p class=quiet>and %zu more rows: -o FILE.json has them all</p>\n",
                    to - end);
    }
}

void ps_html_lacks(ps_html_page *p, const ps_table *lacks) {
    if (ps_lacks_any(lacks)) {
        ps_html_tag(p, "<h2>Not in it</h2>\n", "", "");
        ps_html_table(p, lacks, 0, lacks->n_rows, 1);
    }
}

void ps_html_tile(ps_html_page *p, const char *value, const char *what) {
    ps_html_tag(p, "<div class=tile><b>", value, "</b><span class=quiet>");
    ps_html_tag(p, "", what, "</span></div>\n");
}

/* --- the frame ------------------------------------------------------------------------------------------------------- */

void ps_html_begin(ps_html_page *p, ps_lang lang, const char *what, const char *title) {
    ps_buf_addf(p->out, "<!DOCTYPE html>\n<html lang=\"%s\">\n", PS_SAY(lang, "en", "zh-CN"));
    ps_buf_add_str(p->out,
                   "<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "style-src 'unsafe-inline'; img-src data:\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width\">\n"
                   "<meta name=\"generator\" content=\"pipescope " PS_VERSION "\">\n<title>");
    ps_buf_addf(p->out, "%s ", what);
    ps_html_tag(p, "", title, "</title>\n");
    put_html_style(p);
    ps_buf_add_str(p->out, "</head>\n<body>\n<main>\n");
}

void ps_html_end(ps_html_page *p) {
    ps_buf_add_str(p->out, "</main>\n</body>\n</html>\n");
}
