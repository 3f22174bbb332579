/* The page is plain HTML without a script: tokens of colour, the words of the report, the chart's picture twice (for light
 * and for dark), tables. A policy in the page forbids every request. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/num.h"
#include "base/version.h"
#include "write/chart/chart_svg.h"
#include "write/out/number_text.h"
#include "write/out/shorten.h"
#include "write/out/theme.h"
#include "write/report/report_view.h"

typedef struct page {
    const ps_report_view *view;
    ps_buf *out;
    bool failed; /* memory ran out outside of `out` */
    ps_arena arena;
} page;

/* --- text ------------------------------------------------------------------------------------------------------------ */

/* Control characters become blanks: they mean nothing on a page. */
static void put_report_html(page *p, const char *s) {
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

static void put_tag(page *p, const char *before, const char *text, const char *after) {
    ps_buf_add_str(p->out, before);
    put_report_html(p, text);
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

static void put_style(page *p) {
    ps_buf_add_str(p->out, "<style>\n:root{");
    put_tokens(p->out, false);
    ps_buf_add_str(p->out, "}\n@media(prefers-color-scheme:dark){:root{");
    put_tokens(p->out, true);
    ps_buf_add_str(p->out, "}}\n");
    ps_buf_add_str(p->out, STYLE);
    ps_buf_add_str(p->out, "</style>\n");
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

typedef struct unit {
    const char *name;
    double scale; /* ns */
    int decimals;
} unit;

/* One unit for a column of times, so that the largest has three significant digits, and one more digit where the smallest
 * would lose too many. */
static unit unit_of(const ps_table *t, size_t column, size_t from, size_t to) {
    static const unit UNITS[] = {{"s", 1e9, 0}, {"ms", 1e6, 0}, {"us", 1e3, 0}, {"ns", 1, 0}};
    double largest = 0;
    double smallest = 0;
    for (size_t r = from; r < to; r++) {
        const ps_value *v = ps_table_cell(t, r, column);
        double size = v->is_null ? 0 : fabs((double)v->u.i);
        largest = size > largest ? size : largest;
        smallest = size > 0 && (smallest <= 0 || size < smallest) ? size : smallest;
    }
    size_t u = 0;
    while (u < 3 && largest < UNITS[u].scale) {
        u++;
    }
    unit out = UNITS[u];
    double shown = largest / out.scale;
    out.decimals = u == 3 || shown >= 100 ? 0 : shown >= 10 ? 1 : 2;
    out.decimals += u < 3 && smallest > 0 && smallest * 20 < largest;
    return out;
}

static bool is_time(const ps_column *c) {
    return c->type == PS_COL_INT && c->unit == PS_UNIT_NS && !c->exact;
}

/* A place in the trace keeps its microseconds. */
static bool is_place(const ps_column *c) {
    return strcmp(c->name, "from start") == 0;
}

static bool is_report_html_text(const ps_column *c) {
    return c->type == PS_COL_TEXT || c->type == PS_COL_STRING_ID;
}

static bool says_something(const ps_table *t, size_t column, size_t from, size_t to) {
    for (size_t r = from; r < to; r++) {
        const ps_value *v = ps_table_cell(t, r, column);
        bool empty = is_report_html_text(&t->columns[column]) ? v->is_null || v->u.text[0] == '\0'
                                                              : v->is_null;
        bool no_time =
            is_time(&t->columns[column]) && !is_place(&t->columns[column]) && v->u.i == 0;
        if (!empty && !no_time) {
            return true;
        }
    }
    return false;
}

enum { NAME_COLUMNS = 40 };

/* Long names differ at both ends: they are cut in the middle, or where they differ. */
static void put_cut(page *p, const char *name, size_t place) {
    ps_buf cut;
    ps_buf_init(&cut, 0);
    ps_text_cut(&cut, name, NAME_COLUMNS, place, true);
    put_report_html(p, ps_buf_str(&cut));
    p->failed = p->failed || !ps_buf_ok(&cut);
    ps_buf_fini(&cut);
}

static bool is_name(const ps_column *c) {
    return is_report_html_text(c) &&
           (strcmp(c->name, "name") == 0 || strcmp(c->name, "kernel") == 0 ||
            strcmp(c->name, "shapes") == 0);
}

/* Where the names of a column are cut (ps_cut_places); NULL for other columns. */
static const size_t *name_places(page *p, const ps_table *t, size_t column, size_t from,
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

static void put_report_html_cell(page *p, const ps_column *c, const ps_value *v, unit u,
                                 size_t place) {
    char text[PS_NUMBER_TEXT];
    if (v->is_null) {
        ps_buf_add_str(p->out, "<td class=n>");
    } else if (is_report_html_text(c)) {
        ps_buf_addf(p->out, "<td class=%s title=\"", is_name(c) ? "name" : "wide");
        put_tag(p, "", v->u.text, "\">");
        if (is_name(c)) {
            put_cut(p, v->u.text, place);
        } else {
            put_report_html(p, v->u.text);
        }
    } else if (is_place(c)) {
        ps_buf_addf(p->out, "<td class=n title=\"%lld ns\">%.3f", (long long)v->u.i,
                    (double)v->u.i / 1e6);
    } else if (is_time(c)) {
        ps_buf_addf(p->out, "<td class=n title=\"%lld ns\">%.*f", (long long)v->u.i, u.decimals,
                    (double)v->u.i / u.scale);
    } else if (c->type == PS_COL_INT) {
        ps_buf_addf(p->out, "<td class=n>%lld", (long long)v->u.i);
    } else if (isfinite(v->u.r)) {
        int decimals = c->unit == PS_UNIT_PERCENT ? 1 : (int)ps_decimals_for(v->u.r);
        (void)snprintf(text, sizeof text, "%.*f", decimals, v->u.r);
        put_tag(p, "<td class=n>", text, "");
    } else {
        ps_buf_add_str(p->out, "<td class=n>");
    }
    ps_buf_add_str(p->out, "</td>");
}

static void put_report_html_header(page *p, const ps_column *c, unit u) {
    const char *head = is_place(c) ? ps_view_place_name(p->view) : c->name;
    put_tag(p, is_report_html_text(c) ? "<th>" : "<th class=n>", head, "");
    const char *name = is_place(c) ? "ms" : is_time(c) ? u.name : ps_unit_name(c->unit);
    if (name[0] != '\0') {
        ps_buf_addf(p->out, " (%s)", name);
    }
    ps_buf_add_str(p->out, "</th>");
}

enum { MAX_COLUMNS = 24, MAX_ROWS = 500 };

/* Rows [from, to) without the first `skip` columns and those that say nothing. */
static void put_report_html_table(page *p, const ps_table *t, size_t from, size_t to, size_t skip) {
    unit units[MAX_COLUMNS] = {{0}};
    bool shown[MAX_COLUMNS] = {false};
    const size_t *places[MAX_COLUMNS] = {NULL};
    size_t n = t->n_columns < MAX_COLUMNS ? t->n_columns : MAX_COLUMNS;
    size_t end = to - from > MAX_ROWS ? from + MAX_ROWS : to;
    ps_buf_add_str(p->out, "<div class=scroll><table><tr>");
    for (size_t c = skip; c < n; c++) {
        shown[c] = says_something(t, c, from, end);
        units[c] = is_time(&t->columns[c]) ? unit_of(t, c, from, end) : (unit){"", 1, 0};
        if (shown[c]) {
            put_report_html_header(p, &t->columns[c], units[c]);
            places[c] = name_places(p, t, c, from, end);
        }
    }
    ps_buf_add_str(p->out, "</tr>\n");
    for (size_t r = from; r < end; r++) {
        ps_buf_add_str(p->out, "<tr>");
        for (size_t c = skip; c < n; c++) {
            if (shown[c]) {
                put_report_html_cell(p, &t->columns[c], ps_table_cell(t, r, c), units[c],
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

/* --- where a step goes ----------------------------------------------------------------------------------------------- */

static void put_report_html_part(page *p, const char *class_name, const char *what, int64_t ns,
                                 int64_t of_ns) {
    const ps_ns_text duration = ps_ns_text_of(ns);
    if (ns > 0 && of_ns > 0) {
        ps_buf_addf(p->out, "<i class=%s style=\"width:%.2f%%\" title=\"%s %s\"></i>", class_name,
                    100.0 * (double)ns / (double)of_ns, what, duration.text);
    }
}

static int64_t at_least_0(int64_t ns) {
    return ns > 0 ? ns : 0;
}

static void put_bar(page *p, const ps_table *t, size_t row, int64_t longest_ns) {
    int64_t receives = ps_view_int(t, row, "receives");
    int64_t bubble = ps_view_int(t, row, "bubble");
    ps_buf_add_str(p->out, "<td><div class=bar>");
    put_report_html_part(p, "b", "before the first work", ps_view_int(t, row, "before"),
                         longest_ns);
    put_report_html_part(p, "c", "computing", ps_view_int(t, row, "computing"), longest_ns);
    put_report_html_part(p, "e", "exposed communication",
                         at_least_0(ps_view_int(t, row, "exposed") - receives), longest_ns);
    put_report_html_part(p, "w", "waiting in receives", receives, longest_ns);
    put_report_html_part(p, "k", "copies", ps_view_int(t, row, "copies"), longest_ns);
    put_report_html_part(p, "w", "free in the pipeline bubble", bubble, longest_ns);
    put_report_html_part(p, "f", "free", at_least_0(ps_view_int(t, row, "free") - bubble),
                         longest_ns);
    put_report_html_part(p, "b", "after the last work", ps_view_int(t, row, "after"), longest_ns);
    ps_buf_add_str(p->out, "</div></td>");
}

enum { MAX_RANKS = 64 };

/* NULL or 0 in every row. */
static bool is_nothing(const ps_table *t, const char *column) {
    for (size_t r = 0; r < t->n_rows; r++) {
        if (ps_view_int(t, r, column) != 0) {
            return false;
        }
    }
    return true;
}

static void put_report_html_overview(page *p) {
    enum { N_NUMBERS = 9 };
    static const char *const NUMBERS[N_NUMBERS] = {
        "step", "before", "computing", "exposed", "receives", "copies", "free", "after", "bubble"};
    const ps_table *t = p->view->overview;
    int64_t longest_ns = 0;
    size_t n = t->n_rows < MAX_RANKS ? t->n_rows : MAX_RANKS;
    for (size_t r = 0; r < n; r++) {
        int64_t ns = ps_view_int(t, r, "step");
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    ps_buf_addf(p->out, "<h2>Where a step goes</h2>\n<p class=quiet>%c",
                t->title[0] >= 'a' && t->title[0] <= 'z' ? t->title[0] - 'a' + 'A' : t->title[0]);
    put_report_html(p, t->title[0] != '\0' ? t->title + 1
                                           : ""); /* of what it is: a capture may hold a part */
    ps_buf_add_str(
        p->out,
        ".<span class=\"key c\"></span>computing<span class=\"key e\"></span>exposed "
        "communication<span class=\"key w\"></span>receives, bubble<span class=\"key "
        "k\"></span>copies<span class=\"key f\"></span>free<span class=\"key b\"></span>before, after</p>\n<div class=scroll><table><tr><th class=n>rank</th>");
    bool stages = !ps_view_is_null(t, 0, "stage");
    ps_buf_add_str(p->out, stages ? "<th class=n>stage</th><th></th>" : "<th></th>");
    unit scale = unit_of(t, ps_table_column(t, "step"), 0, t->n_rows);
    scale.decimals += scale.decimals == 0; /* parts of a step are smaller than the step */
    for (size_t c = 0; c < N_NUMBERS; c++) {
        if (!is_nothing(t, NUMBERS[c])) {
            ps_buf_addf(p->out, "<th class=n>%s (%s)</th>", NUMBERS[c], scale.name);
        }
    }
    ps_buf_add_str(p->out, "</tr>\n");
    for (size_t r = 0; r < n; r++) {
        ps_buf_addf(p->out, "<tr><td class=n>%lld</td>", (long long)ps_view_int(t, r, "rank"));
        if (stages) {
            size_t stage = ps_table_column(t, "stage");
            put_report_html_cell(p, &t->columns[stage], ps_table_cell(t, r, stage), scale, 0);
        }
        put_bar(p, t, r, longest_ns);
        for (size_t c = 0; c < N_NUMBERS; c++) {
            size_t column = ps_table_column(t, NUMBERS[c]);
            if (!is_nothing(t, NUMBERS[c])) {
                put_report_html_cell(p, &t->columns[column], ps_table_cell(t, r, column), scale, 0);
            }
        }
        ps_buf_add_str(p->out, "</tr>\n");
    }
    ps_buf_add_str(p->out, "</table></div>\n");
    if (n < t->n_rows) {
        ps_buf_addf(p->out, "<p class=quiet>and %zu more ranks: -o FILE.json has them all</p>\n",
                    t->n_rows - n);
    }
}

/* --- findings -------------------------------------------------------------------------------------------------------- */

static void gain_text(const ps_table *t, size_t row, char out[96]) {
    const ps_ns_text duration = ps_ns_text_of(ps_view_int(t, row, "gain"));
    (void)snprintf(out, 96, "at most %s, %.1f %%", duration.text,
                   ps_view_real(t, row, "gain share"));
}

static void put_report_html_finding(page *p, size_t row) {
    const ps_table *t = p->view->findings;
    char gain[96];
    size_t from = 0;
    size_t to = 0;
    int64_t number = ps_view_int(t, row, "finding");
    const char *severity = ps_view_text(t, row, "severity");
    ps_buf_addf(p->out, "<div class=\"card %s\" id=f%lld><div class=head><h3>%lld. ", severity,
                (long long)number, (long long)number);
    put_tag(p, "", ps_view_text(t, row, "title"), "</h3>");
    ps_buf_addf(p->out, "<span class=chip>%s</span><span class=chip>%s</span>", severity,
                ps_view_text(t, row, "section"));
    if (!ps_view_is_null(t, row, "gain")) {
        gain_text(t, row, gain);
        put_tag(p, "<span class=gain>", gain, "</span>");
    }
    put_tag(p, "</div>\n<p>", ps_view_text(t, row, "what"), "</p>\n");
    char shared[PS_SHARED_TEXT];
    ps_view_shared(p->view, row, shared);
    if (shared[0] != '\0') {
        put_tag(p, "<p class=quiet>", shared, "</p>\n");
    }
    ps_view_evidence(p->view, number, &from, &to);
    if (to > from) {
        put_report_html_table(p, p->view->evidence, from, to, 1);
    }
    put_tag(p, "<dl><dt>Rule</dt><dd>", ps_view_text(t, row, "fires when"), ". Here ");
    put_tag(p, "", ps_view_text(t, row, "value"), ". <span class=quiet>--threshold ");
    put_tag(p, "", ps_view_text(t, row, "rule"), "=N</span></dd>");
    if (ps_view_text(t, row, "try")[0] != '\0') {
        put_tag(p, "<dt>Try</dt><dd>", ps_view_text(t, row, "try"), "</dd>");
    }
    ps_buf_add_str(p->out, "</dl></div>\n");
}

/* What is not judged in a section, and why. */
static void put_report_html_silence(page *p, size_t section) {
    const char *name = ps_report_section_name(section);
    const char *silence = ps_view_silence(p->view, section);
    if (silence != NULL) {
        ps_buf_addf(p->out, "<p class=quiet>%c%s: ", name[0] - 'a' + 'A', name + 1);
        put_tag(p, "", silence, "</p>\n");
    }
}

static void put_report_html_findings(page *p) {
    const ps_report_view *v = p->view;
    put_tag(p, "<h2>Findings</h2>\n<p class=quiet>", PS_GAINS_SAID, "</p>\n");
    for (size_t r = 0; r < v->findings->n_rows; r++) {
        put_report_html_finding(p, r);
    }
    for (size_t s = 0; s < PS_N_REPORT_SECTIONS; s++) {
        put_report_html_silence(p, s);
    }
}

/* --- the chart ------------------------------------------------------------------------------------------------------- */

/* A picture inside the page shares its ids with the other one: those of the dark one begin with "d". */
static void put_renamed(ps_buf *out, const char *svg) {
    static const char *const PLACES[] = {"id=\"", "url(#"};
    while (*svg != '\0') {
        size_t skip = 0;
        for (size_t i = 0; i < 2; i++) {
            size_t n = strlen(PLACES[i]);
            skip = strncmp(svg, PLACES[i], n) == 0 ? n : skip;
        }
        if (skip > 0) {
            ps_buf_add(out, svg, skip);
            ps_buf_add_char(out, 'd');
            svg += skip;
        } else {
            ps_buf_add_char(out, *svg++);
        }
    }
}

static ps_code put_report_html_chart(page *p, bool dark, ps_err *err) {
    ps_chart_svg_opts opts = {
        .step = p->view->chart_step, .pipeline = p->view->pipeline, .dark = dark, .width = 1192};
    ps_buf svg;
    ps_buf_init(&svg, 0);
    ps_code code = ps_write_chart_svg(p->view->chart, NULL, &opts, &svg, err);
    if (code == PS_OK) {
        const char *begin = strstr(ps_buf_str(&svg), "<svg"); /* without the XML declaration */
        ps_buf_addf(p->out, "<div class=\"chart only-%s\">", dark ? "dark" : "light");
        if (begin != NULL && dark) {
            put_renamed(p->out, begin);
        } else if (begin != NULL) {
            ps_buf_add_str(p->out, begin);
        }
        ps_buf_add_str(p->out, "</div>\n");
    }
    ps_buf_fini(&svg);
    return code;
}

static ps_code put_pipeline(page *p, ps_err *err) {
    const ps_report_view *v = p->view;
    if (v->chart != NULL || v->n_pipelines > 0) {
        ps_buf_add_str(p->out, "<h2>Pipeline</h2>\n");
    }
    ps_code code = v->chart != NULL ? put_report_html_chart(p, false, err) : PS_OK;
    code = code == PS_OK && v->chart != NULL ? put_report_html_chart(p, true, err) : code;
    for (size_t i = 0; i < v->n_pipelines; i++) {
        put_tag(p, "<details><summary>", v->pipelines[i]->title, "</summary>");
        put_report_html_table(p, v->pipelines[i], 0, v->pipelines[i]->n_rows, 0);
        ps_buf_add_str(p->out, "</details>\n");
    }
    return code == PS_NOTHING ? PS_OK : code; /* a step without ops has no picture */
}

/* --- the page -------------------------------------------------------------------------------------------------------- */

static void put_tile(page *p, const char *value, const char *what) {
    put_tag(p, "<div class=tile><b>", value, "</b><span class=quiet>");
    put_tag(p, "", what, "</span></div>\n");
}

static void put_count(page *p, size_t n, const char *what) {
    char text[32];
    (void)snprintf(text, sizeof text, "%zu", n);
    put_tile(p, text, what);
}

static void put_top(page *p) {
    const ps_report_view *v = p->view;
    char ranks[PS_RANKS_TEXT];
    const ps_ns_text step = ps_ns_text_of(v->step_ns);
    put_tag(p, "<h1>Report", v->title[0] != '\0' ? ": " : "", "");
    put_tag(p, "", v->title, "</h1>\n");
    if (v->verdict != NULL && v->verdict->n_rows > 0) {
        put_tag(p, "<p class=verdict>", ps_view_text(v->verdict, 0, "verdict"), "</p>\n");
    }
    ps_buf_add_str(p->out, "<div class=tiles>\n");
    put_tile(p, step.text, "a step");
    ps_view_ranks(v, false, ranks);
    put_count(p, v->n_ranks, ranks);
    put_count(p, v->n_steps, v->n_steps == 1 ? "step" : "steps");
    put_count(p, ps_view_count(v, "high"), "high");
    put_count(p, ps_view_count(v, "medium"), "medium");
    put_count(p, ps_view_count(v, "low"), "low");
    put_count(p, ps_view_count(v, "info"), "to know");
    ps_buf_add_str(p->out, "</div>\n");
}

static void put_kernels(page *p) {
    const ps_table *kernels = p->view->kernels;
    if (kernels != NULL && kernels->n_rows > 0) {
        put_tag(p, "<h2>Kernels</h2>\n<details open><summary>", kernels->title, "</summary>");
        put_report_html_table(p, kernels, 0, kernels->n_rows, 0);
        ps_buf_add_str(p->out, "</details>\n");
    }
}

ps_code ps_write_report_html(const ps_report_view *view, ps_buf *out, ps_err *err) {
    page p = {.view = view, .out = out};
    ps_arena_init(&p.arena);
    ps_buf_add_str(
        out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src 'unsafe-inline'; img-src data:\">\n"
             "<meta name=\"viewport\" content=\"width=device-width\">\n"
             "<meta name=\"generator\" content=\"pipescope " PS_VERSION "\">\n<title>Report ");
    put_tag(&p, "", view->title, "</title>\n");
    put_style(&p);
    ps_buf_add_str(out, "</head>\n<body>\n<main>\n");
    put_top(&p);
    put_report_html_findings(&p);
    if (view->overview != NULL && view->overview->n_rows > 0) {
        put_report_html_overview(&p);
    } else {
        put_tag(&p, "<h2>Where a step goes</h2>\n<p class=quiet>", PS_NO_OVERVIEW, "</p>\n");
    }
    put_kernels(&p);
    ps_code code = put_pipeline(&p, err);
    ps_arena_fini(&p.arena);
    ps_buf_add_str(out, "</main>\n</body>\n</html>\n");
    return code == PS_OK && (p.failed || !ps_buf_ok(out)) ? ps_fail_nomem(err) : code;
}
