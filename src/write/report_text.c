/* The report on a terminal or in a text file:
 *
 *   rank  stage  step (ms) ...                     where a step goes
 *
 *   Dispatch
 *
 *   1  high  The device waits for the host                  at most 12.3 ms, 23.1 % of a step
 *      On rank 3 the device has nothing to do for ...
 *      rule free-share: Free outside ... is more than 10 %
 *      try: ...
 *      rank  step  from start (ms)  ...            where to look */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "write/report_view.h"
#include "write/shorten.h"
#include "write/writers.h"

typedef struct page {
    const ps_report_view *view;
    const ps_text_style *style;
    ps_arena arena;
    ps_buf *out;
    size_t width;
    bool failed;
} page;

static const char *bold(const page *p, bool on) {
    return p->style->colours == PS_COLOURS_NONE ? "" : on ? "\033[1m" : "\033[0m";
}

static const char *quiet(const page *p, bool on) {
    return p->style->colours == PS_COLOURS_NONE ? "" : on ? "\033[2m" : "\033[0m";
}

/* --- wrapped text ---------------------------------------------------------------------------------------------------- */

/* One word after the other; words wider than the line are broken by nobody. */
static void wrap(page *p, const char *text, size_t indent) {
    const char *clean = ps_text_clean(&p->arena, text);
    size_t column = 0;
    if (clean == NULL) {
        p->failed = true;
        return;
    }
    while (*clean != '\0') {
        size_t n = strcspn(clean, " ");
        size_t columns = ps_utf8_columns(clean, n);
        bool fits = column == 0 || indent + column + 1 + columns <= p->width;
        if (n > 0 && !fits) {
            ps_buf_add_char(p->out, '\n');
            column = 0;
        }
        if (n > 0 && column == 0) {
            ps_buf_add_fill(p->out, ' ', indent);
        } else if (n > 0) {
            ps_buf_add_char(p->out, ' ');
            column++;
        }
        ps_buf_add(p->out, clean, n);
        column += columns;
        clean += n + (clean[n] == ' ');
    }
    ps_buf_add_char(p->out, '\n');
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static void put_table(page *p, const ps_table *t, size_t indent) {
    ps_buf text;
    ps_err err = PS_ERR_INIT;
    ps_text_style style = *p->style;
    style.width = (uint32_t)(p->width - indent);
    ps_buf_init(&text, 0);
    p->failed = ps_write_table_text(t, &style, &text, &err) != PS_OK || p->failed;
    const char *line = ps_buf_str(&text);
    while (!p->failed && *line != '\0') {
        size_t n = strcspn(line, "\n");
        ps_buf_add_fill(p->out, ' ', n > 0 ? indent : 0);
        ps_buf_add(p->out, line, n);
        ps_buf_add_char(p->out, '\n');
        line += n + (line[n] == '\n');
    }
    ps_buf_fini(&text);
}

/* Columns that say nothing (all NULL or empty) take no room. */
static bool is_empty(const ps_table *t, size_t column) {
    bool is_text = t->columns[column].type == PS_COL_TEXT;
    for (size_t r = 0; r < t->n_rows; r++) {
        const ps_value *v = ps_table_cell(t, r, column);
        if (!v->is_null && !(is_text && v->u.text[0] == '\0')) {
            return false;
        }
    }
    return true;
}

#define MAX_COLUMNS 16

/* NULL when memory is out; at least one column must say something. */
static ps_table *without_empty(const ps_table *t, ps_column columns[MAX_COLUMNS]) {
    size_t kept[MAX_COLUMNS];
    size_t n = 0;
    for (size_t c = 0; c < t->n_columns && n < MAX_COLUMNS; c++) {
        if (!is_empty(t, c)) {
            kept[n] = c;
            columns[n++] = t->columns[c];
        }
    }
    ps_table *out = n > 0 ? ps_table_new(t->name, t->title, columns, n) : NULL;
    for (size_t r = 0; out != NULL && r < t->n_rows; r++) {
        if (!ps_table_add_row(out)) {
            ps_table_free(out);
            return NULL;
        }
        for (size_t c = 0; c < n; c++) {
            out->cells[(out->n_rows - 1) * n + c] = *ps_table_cell(t, r, kept[c]);
        }
    }
    return out;
}

static void put_full_columns(page *p, const ps_table *t, size_t indent) {
    ps_column columns[MAX_COLUMNS];
    ps_table *full = without_empty(t, columns);
    p->failed = p->failed || full == NULL;
    if (full != NULL) {
        put_table(p, full, indent);
    }
    ps_table_free(full);
}

/* --- findings -------------------------------------------------------------------------------------------------------- */

static void put_head(page *p, size_t row) {
    const ps_table *t = p->view->findings;
    char gain[96] = "";
    char head[256];
    if (!ps_view_is_null(t, row, "gain")) {
        char duration[32];
        ps_view_duration(ps_view_int(t, row, "gain"), duration);
        (void)snprintf(gain, sizeof gain, "at most %s, %.1f %% of a step", duration,
                       ps_view_real(t, row, "gain of the step"));
    }
    int n =
        snprintf(head, sizeof head, "%2lld  %-6s  %s", (long long)ps_view_int(t, row, "finding"),
                 ps_view_text(t, row, "severity"), ps_view_text(t, row, "title"));
    size_t used = n > 0 ? (size_t)n : 0;
    ps_buf_addf(p->out, "%s%s%s", bold(p, true), head, bold(p, false));
    if (gain[0] != '\0' && used + 2 + strlen(gain) <= p->width) {
        ps_buf_add_fill(p->out, ' ', p->width - used - strlen(gain));
        ps_buf_addf(p->out, "%s\n", gain);
    } else if (gain[0] != '\0') {
        ps_buf_addf(p->out, "\n    %s\n", gain);
    } else {
        ps_buf_add_char(p->out, '\n');
    }
}

static void put_labelled(page *p, const char *label, const char *text) {
    char line[1600];
    (void)snprintf(line, sizeof line, "%s: %s", label, text);
    ps_buf_add_str(p->out, quiet(p, true));
    wrap(p, line, 4);
    ps_buf_add_str(p->out, quiet(p, false));
}

static void put_finding(page *p, size_t row) {
    const ps_table *t = p->view->findings;
    char rule[600];
    put_head(p, row);
    wrap(p, ps_view_text(t, row, "what"), 4);
    (void)snprintf(rule, sizeof rule, "%s. Here: %s (--threshold %s=N)",
                   ps_view_text(t, row, "fires when"), ps_view_text(t, row, "value"),
                   ps_view_text(t, row, "rule"));
    put_labelled(p, "Rule", rule);
    if (ps_view_text(t, row, "try")[0] != '\0') {
        put_labelled(p, "Try", ps_view_text(t, row, "try"));
    }
    size_t from = 0;
    size_t to = 0;
    ps_view_evidence(p->view, ps_view_int(t, row, "finding"), &from, &to);
    if (to > from) {
        ps_table *rows = ps_view_rows(p->view->evidence, from, to);
        p->failed = p->failed || rows == NULL;
        ps_buf_add_char(p->out, '\n');
        if (rows != NULL) {
            put_full_columns(p, rows, 4);
        }
        ps_table_free(rows);
    }
    ps_buf_add_char(p->out, '\n');
}

static void put_section(page *p, size_t section) {
    const ps_table *t = p->view->findings;
    const char *name = ps_report_section_name(section);
    size_t n = 0;
    ps_buf_addf(p->out, "%s%c%s%s\n\n", bold(p, true), name[0] - 'a' + 'A', name + 1,
                bold(p, false));
    for (size_t r = 0; r < t->n_rows; r++) {
        if (strcmp(ps_view_text(t, r, "section"), name) == 0) {
            put_finding(p, r);
            n++;
        }
    }
    if (n == 0) {
        bool nothing = strcmp(name, "pipeline") == 0 && p->view->chart == NULL;
        ps_buf_addf(p->out, "    %s\n\n",
                    nothing ? "Nothing says that the ranks are a pipeline."
                            : "Nothing is over its threshold.");
    }
}

/* --- all of it ------------------------------------------------------------------------------------------------------- */

static void put_title(page *p) {
    const ps_report_view *v = p->view;
    char step[32];
    char line[512];
    ps_view_duration(v->step_ns, step);
    (void)snprintf(
        line, sizeof line,
        "%.200s%s%zu rank%s, %zu step%s of %s: %zu findings, %zu of them high, %zu medium.",
        v->title, v->title[0] != '\0' ? ": " : "", v->n_ranks, v->n_ranks == 1 ? "" : "s",
        v->n_steps, v->n_steps == 1 ? "" : "s", step, v->findings->n_rows, ps_view_count(v, "high"),
        ps_view_count(v, "medium"));
    wrap(p, line, 0);
    wrap(
        p,
        "A gain is what a step would save at most if that cause went away; gains overlap and do not add up.",
        0);
    ps_buf_add_char(p->out, '\n');
}

static void put_chart(page *p) {
    const ps_report_view *v = p->view;
    ps_chart_text_opts opts = {.style = *p->style, .step = v->chart_step, .pipeline = v->pipeline};
    ps_err err = PS_ERR_INIT;
    if (v->chart != NULL) {
        ps_code code = ps_write_chart_text(v->chart, &opts, p->out, &err);
        p->failed = p->failed || code == PS_NOMEM;
        ps_buf_add_char(p->out, '\n');
    }
}

ps_code ps_write_report_text(const ps_report_view *view, const ps_text_style *style, ps_buf *out,
                             ps_err *err) {
    page p = {.view = view, .style = style, .out = out};
    p.width = style->width > 0 ? style->width : 100;
    p.width = p.width < 60 ? 60 : p.width;
    ps_arena_init(&p.arena);
    put_title(&p);
    if (view->overview != NULL && view->overview->n_rows > 0) {
        put_full_columns(&p, view->overview, 0);
        ps_buf_add_char(out, '\n');
    }
    for (size_t s = 0; s < PS_N_REPORT_SECTIONS; s++) {
        put_section(&p, s);
        if (s == 1 && view->kernels != NULL && view->kernels->n_rows > 0) {
            put_full_columns(&p, view->kernels, 4);
            ps_buf_add_char(out, '\n');
        }
    }
    put_chart(&p);
    ps_arena_fini(&p.arena);
    return !p.failed && ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}
