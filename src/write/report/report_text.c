/* The report on a terminal or in a text file:
 *
 *   The device waits for the host, worst on rank 3. That costs ...      the verdict
 *
 *   1  high  The device waits for the host                  at most 12.3 ms, 23.1 % of a step
 *      On rank 3 the device has nothing to do for ...
 *      rule free-share: Free outside ... is more than 10 %
 *      try: ...
 *      rank  step  in capture, ms  duration  what  where to look
 *
 *   rank  stage  step (ms) ...                     where a step goes */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/num.h"
#include "base/utf8.h"
#include "model/lacks.h"
#include "write/chart/chart_note.h"
#include "write/out/shorten.h"
#include "write/out/wrap.h"
#include "write/out/writers.h"
#include "write/report/report_view.h"

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

static void wrap(page *p, const char *text, size_t indent) {
    const char *clean = ps_text_clean(&p->arena, text);
    if (clean == NULL) {
        p->failed = true;
        return;
    }
    ps_buf_add_fill(p->out, ' ', indent);
    ps_wrap(p->out, clean, indent, indent, p->width);
    ps_buf_add_char(p->out, '\n');
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static void put_report_text_table(page *p, const ps_table *t, size_t indent) {
    ps_buf text = {0};
    ps_err err = PS_ERR_INIT;
    ps_text_style style = *p->style;
    style.width = (uint32_t)(p->width - indent);
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

/* Columns that say nothing (all NULL, empty or 0 ns) take no room. */
static bool is_empty(const ps_table *t, size_t column) {
    const ps_column *c = &t->columns[column];
    bool is_text = c->type == PS_COL_TEXT;
    bool is_time = c->type == PS_COL_INT && c->unit == PS_UNIT_NS;
    for (size_t r = 0; r < t->n_rows; r++) {
        const ps_value *v = ps_table_cell(t, r, column);
        bool nothing = v->is_null || (is_text && v->u.text[0] == '\0') || (is_time && v->u.i == 0);
        if (!nothing) {
            return false;
        }
    }
    return true;
}

#define MAX_COLUMNS 16

/* NULL when memory is out; at least one column must say something. */
static ps_table *without_empty(const ps_table *t, const char *const *hidden, size_t n_hidden,
                               ps_column columns[MAX_COLUMNS]) {
    size_t kept[MAX_COLUMNS];
    size_t n = 0;
    for (size_t c = 0; c < t->n_columns && n < MAX_COLUMNS; c++) {
        bool is_hidden = false;
        for (size_t i = 0; i < n_hidden; i++) {
            bool is_length = t->columns[c].unit == PS_UNIT_NS; /* of the same name as its share */
            is_hidden = is_hidden || (!is_length && strcmp(hidden[i], t->columns[c].name) == 0);
        }
        if (!is_hidden && !is_empty(t, c)) {
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

static void put_full_columns(page *p, const ps_table *t, const char *const *hidden, size_t n_hidden,
                             size_t indent) {
    ps_column columns[MAX_COLUMNS];
    ps_table *full = without_empty(t, hidden, n_hidden, columns);
    p->failed = p->failed || full == NULL;
    if (full != NULL) {
        put_report_text_table(p, full, indent);
    }
    ps_table_free(full);
}

/* --- evidence -------------------------------------------------------------------------------------------------------- */

enum { INDENT = 4, WHAT = 44 }; /* where the names begin */

/* Milliseconds to the microsecond: a place in the trace, not a length. */
static void place_text(const ps_table *t, size_t row, char out[32]) {
    (void)snprintf(out, 32, "%s", "");
    if (!ps_view_is_null(t, row, "from start")) {
        int64_t ns = ps_view_int(t, row, "from start");
        int64_t half = ns % 1000 >= 500    ? 1
                       : ns % 1000 <= -500 ? -1
                                           : 0; /* rounded as lengths are */
        int64_t us = ns / 1000 + half;
        (void)snprintf(out, 32, "%s%lld.%03lld", us < 0 ? "-" : "",
                       (long long)(us < 0 ? -us : us) / 1000,
                       (long long)(us < 0 ? -us : us) % 1000);
    }
}

static void int_text(const ps_table *t, size_t row, const char *column, char out[32]) {
    (void)snprintf(out, 32, "%s", ps_view_is_null(t, row, column) ? "" : "-");
    if (!ps_view_is_null(t, row, column)) {
        (void)snprintf(out, 32, "%lld", (long long)ps_view_int(t, row, column));
    }
}

static size_t room_of_names(const page *p) {
    return p->width - WHAT > 8 ? p->width - WHAT : 8;
}

/* What there is to say of a row stands behind its name, cut at `cut` (ps_text_cut), where it fits, else on a line of its own. */
static void put_evidence_row(page *p, size_t row, const char *name, size_t cut) {
    const ps_table *t = p->view->evidence;
    char rank[32];
    char step[32];
    char place[32];
    ps_ns_text duration = {""};
    size_t room = room_of_names(p);
    int_text(t, row, "rank", rank);
    int_text(t, row, "step", step);
    place_text(t, row, place);
    if (!ps_view_is_null(t, row, "duration")) {
        duration = ps_ns_text_of(ps_view_int(t, row, "duration"));
    }
    const char *note = ps_text_clean(&p->arena, ps_view_text(t, row, "note"));
    if (note == NULL) {
        p->failed = true;
        return;
    }
    size_t name_columns = ps_utf8_columns(name, strlen(name));
    size_t note_columns = ps_utf8_columns(note, strlen(note));
    bool beside = note_columns > 0 && name_columns + 2 + note_columns <= room;
    ps_buf_addf(p->out, "%*s%5s  %5s  %14s  %8s  ", INDENT, "", rank, step, place, duration.text);
    ps_text_cut(p->out, name, room, cut, p->style->utf8);
    if (beside) {
        ps_buf_addf(p->out, "  %s%s%s", quiet(p, true), note, quiet(p, false));
    }
    ps_buf_add_char(p->out, '\n');
    if (note_columns > 0 && !beside) {
        ps_buf_add_str(p->out, quiet(p, true));
        wrap(p, note, p->width >= 100 ? WHAT : INDENT + 8);
        ps_buf_add_str(p->out, quiet(p, false));
    }
}

/* In a column of that width, which wide characters fill in twos, and two blanks. */
static void put_right(ps_buf *out, const char *text, size_t columns) {
    size_t n = ps_utf8_columns(text, strlen(text));
    ps_buf_add_fill(out, ' ', n < columns ? columns - n : 0);
    ps_buf_addf(out, "%s  ", text);
}

static void put_report_text_evidence(page *p, size_t from, size_t to) {
    if (from == to) {
        return;
    }
    const char **names = ps_arena_alloc(&p->arena, (to - from) * sizeof *names);
    for (size_t i = 0; names != NULL && i < to - from; i++) {
        names[i] = ps_text_clean(&p->arena, ps_view_text(p->view->evidence, from + i, "name"));
        names = names[i] != NULL ? names : NULL;
    }
    const size_t *cuts = names != NULL ? ps_cut_places(&p->arena, names, to - from, 1,
                                                       room_of_names(p), p->style->utf8)
                                       : NULL;
    if (cuts == NULL) {
        p->failed = true;
        return;
    }
    char place[32];
    (void)snprintf(place, sizeof place, "%s, ms", ps_view_place_name(p->view));
    ps_buf_addf(p->out, "\n%*s%s%5s  %5s  ", INDENT, "", bold(p, true), "rank", "step");
    put_right(p->out, place, 14);
    put_right(p->out, PS_SAY(p->view->lang, "duration", "时长"), 8);
    ps_buf_addf(p->out, "%s%s\n", PS_SAY(p->view->lang, "what", "内容"), bold(p, false));
    for (size_t row = from; row < to; row++) {
        put_evidence_row(p, row, names[row - from], cuts[row - from]);
    }
}

/* --- findings -------------------------------------------------------------------------------------------------------- */

static void put_report_text_head(page *p, size_t row) {
    const ps_table *t = p->view->findings;
    char gain[96] = "";
    char head[256];
    if (!ps_view_is_null(t, row, "gain")) {
        const ps_ns_text duration = ps_ns_text_of(ps_view_int(t, row, "gain"));
        (void)snprintf(gain, sizeof gain,
                       PS_SAY(p->view->lang, "%s %s, %.1f %% of a step", "%s %s，step 的 %.1f %%"),
                       ps_report_gain_word(p->view, row), duration.text,
                       ps_view_real(t, row, "gain share"));
    }
    int n =
        snprintf(head, sizeof head, "%2lld  %-6s  %s", (long long)ps_view_int(t, row, "finding"),
                 ps_view_severity(p->view, row), ps_view_text(t, row, "title"));
    size_t used = n > 0 ? ps_utf8_columns(head, strlen(head)) : 0;
    size_t gain_columns = ps_utf8_columns(gain, strlen(gain));
    ps_buf_addf(p->out, "%s%s%s", bold(p, true), head, bold(p, false));
    if (gain[0] != '\0' && used + 2 + gain_columns <= p->width) {
        ps_buf_add_fill(p->out, ' ', p->width - used - gain_columns);
        ps_buf_addf(p->out, "%s\n", gain);
    } else if (gain[0] != '\0') {
        ps_buf_addf(p->out, "\n    %s\n", gain);
    } else {
        ps_buf_add_char(p->out, '\n');
    }
}

static void put_labelled(page *p, const char *label, const char *text) {
    char line[1600];
    (void)snprintf(line, sizeof line, PS_SAY(p->view->lang, "%s: %s", "%s：%s"), label, text);
    ps_buf_add_str(p->out, quiet(p, true));
    wrap(p, line, 4);
    ps_buf_add_str(p->out, quiet(p, false));
}

static void put_shared(page *p, size_t row) {
    char text[PS_SHARED_TEXT];
    ps_view_shared(p->view, row, text);
    if (text[0] != '\0') {
        wrap(p, text, INDENT);
    }
}

static void put_report_text_finding(page *p, size_t row, bool with_evidence) {
    const ps_table *t = p->view->findings;
    char rule[600];
    put_report_text_head(p, row);
    wrap(p, ps_view_text(t, row, "what"), 4);
    (void)snprintf(rule, sizeof rule,
                   PS_SAY(p->view->lang, "%s. Here: %s (--threshold %s=N)",
                          "%s。此处：%s（--threshold %s=N）"),
                   ps_view_text(t, row, "fires when"), ps_view_text(t, row, "value"),
                   ps_view_text(t, row, "rule"));
    put_shared(p, row);
    put_labelled(p, PS_SAY(p->view->lang, "Rule", "规则"), rule);
    if (ps_view_text(t, row, "try")[0] != '\0') {
        put_labelled(p, PS_SAY(p->view->lang, "Try", "建议"), ps_view_text(t, row, "try"));
    }
    size_t from = 0;
    size_t to = 0;
    if (with_evidence) {
        ps_view_evidence(p->view, ps_view_int(t, row, "finding"), &from, &to);
    }
    put_report_text_evidence(p, from, to);
    ps_buf_add_char(p->out, '\n');
}

/* What is not judged, and why; one line a section. */
static void put_report_text_silence(page *p, size_t section) {
    const char *silence = ps_view_silence(p->view, section);
    char line[1024];
    if (silence != NULL) {
        (void)snprintf(line, sizeof line, PS_SAY(p->view->lang, "%s: %s", "%s：%s"),
                       ps_report_section_title(p->view->lang, section), silence);
        wrap(p, line, 0);
    }
}

static size_t lines_of_report(const ps_buf *text) {
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++) {
        n += text->data[i] == '\n';
    }
    return n;
}

/* In full while they fit into `n_lines` (0: all do); then a line each. The first has its evidence only where that fits. */
static void put_report_text_findings(page *p, size_t n_lines) {
    size_t n = p->view->findings->n_rows;
    ps_buf *out = p->out;
    size_t used = n + 2; /* a line each, and where the rest is */
    size_t n_brief = 0;
    for (size_t r = 0; r < n; r++) {
        ps_buf full = {0};
        p->out = &full;
        put_report_text_finding(p, r, true);
        p->out = out;
        used += lines_of_report(&full) - 1;
        if (n_brief == 0 && (n_lines == 0 || used <= n_lines)) {
            ps_buf_add(out, full.data, full.len);
        } else if (r == 0) {
            put_report_text_finding(p, r, false);
            n_brief++;
        } else {
            put_report_text_head(p, r);
            n_brief++;
        }
        p->failed = p->failed || !ps_buf_ok(&full);
        ps_buf_fini(&full);
    }
    if (n_brief > 0) {
        ps_buf_addf(
            out, "%s\n\n",
            PS_SAY(p->view->lang, "--all tells all findings in full.", "--all 完整列出全部发现。"));
    }
}

static void put_report_text_silences(page *p) {
    for (size_t s = 0; s < PS_N_REPORT_SECTIONS; s++) {
        put_report_text_silence(p, s);
    }
    ps_buf_add_char(p->out, '\n');
}

/* --- all of it ------------------------------------------------------------------------------------------------------- */

static void put_report_text_lacks(page *p) {
    ps_lacks_say(p->view->lang, p->view->lacks, "", "\n", p->out);
    if (ps_lacks_any(p->view->lacks)) {
        ps_buf_add_char(p->out, '\n');
    }
}

static void put_report_text_title(page *p) {
    const ps_report_view *v = p->view;
    char ranks[PS_RANKS_TEXT];
    const ps_lang lang = v->lang;
    char steps[PS_STEPS_TEXT];
    char found[128];
    (void)snprintf(steps, sizeof steps, "%s",
                   PS_SAY(lang, "no recorded steps, work", "未记录 step，工作"));
    (void)snprintf(found, sizeof found, "%s", PS_SAY(lang, "no findings", "没有发现"));
    char line[640];
    const ps_ns_text step = ps_ns_text_of(v->step_ns);
    if (v->n_steps > 0) {
        ps_view_steps(v, steps);
    }
    if (v->findings->n_rows > 0) {
        (void)snprintf(found, sizeof found,
                       PS_SAY(lang, "%zu finding%s (%zu high, %zu medium, %zu low, %zu to know)",
                              "%zu 项发现%.0s（%zu 高，%zu 中，%zu 低，%zu 提示）"),
                       v->findings->n_rows, v->findings->n_rows == 1 ? "" : "s",
                       ps_view_count(v, "high"), ps_view_count(v, "medium"),
                       ps_view_count(v, "low"), ps_view_count(v, "info"));
    }
    char period[PS_PERIOD_TEXT];
    ps_view_ranks(v, true, ranks);
    ps_view_period(v, period);
    (void)snprintf(line, sizeof line,
                   PS_SAY(lang, "%.200s%s%s, %s of %s%s: %s.", "%.200s%s%s，%s，%s%s：%s。"),
                   v->title, v->title[0] != '\0' ? PS_SAY(lang, ": ", "：") : "", ranks, steps,
                   step.text, period, found);
    wrap(p, line, 0);
    ps_buf_add_char(p->out, '\n');
    put_report_text_lacks(p);
    if (v->verdict != NULL && v->verdict->n_rows > 0) {
        ps_buf_add_str(p->out, bold(p, true));
        wrap(p, ps_view_text(v->verdict, 0, "verdict"), 0);
        ps_buf_add_str(p->out, bold(p, false));
        ps_buf_add_char(p->out, '\n');
    }
    if (v->findings->n_rows > 0) {
        wrap(p, PS_GAINS_SAID(lang), 0);
        ps_buf_add_char(p->out, '\n');
    }
}

enum { MAX_RANKS = 32 }; /* more are shown as their stages */

static void put_report_text_overview(page *p) {
    static const char *const HIDDEN[] = {"steps", "computing", "exposed", "free"};
    const ps_report_view *v = p->view;
    if (v->overview == NULL || v->overview->n_rows == 0) {
        wrap(p, ps_view_no_overview(v), 0);
    } else if (v->overview->n_rows > MAX_RANKS && v->overview_stages != NULL) {
        put_full_columns(p, v->overview_stages, NULL, 0, 0);
        ps_buf_addf(p->out,
                    PS_SAY(v->lang, "A row a stage; -o FILE.json has all %zu ranks.\n",
                           "每个阶段一行；-o FILE.json 包含全部 %zu 个 rank。\n"),
                    v->overview->n_rows);
    } else {
        put_full_columns(p, v->overview, HIDDEN, sizeof HIDDEN / sizeof *HIDDEN, 0);
    }
    ps_buf_add_char(p->out, '\n');
}

static void put_report_text_chart_note(page *p) {
    ps_buf note = {0};
    ps_chart_note(p->view->chart, p->view->chart_step, p->view->pipeline, &note);
    p->failed = p->failed || !ps_buf_ok(&note);
    ps_buf_add_str(p->out, ps_buf_str(&note));
    ps_buf_fini(&note);
}

static void put_report_text_chart(page *p) {
    const ps_report_view *v = p->view;
    ps_chart_text_opts opts = {.style = *p->style, .step = v->chart_step, .pipeline = v->pipeline};
    ps_err err = PS_ERR_INIT;
    if (v->chart != NULL) {
        ps_code code = ps_write_chart_text(v->chart, &opts, p->out, &err);
        p->failed = p->failed || code == PS_NOMEM;
        ps_buf_add_char(p->out, '\n');
        put_report_text_chart_note(p);
    }
}

enum { KERNELS_IN_FEW_LINES = 4 };

static void put_report_text_kernels(page *p) {
    const ps_table *kernels = p->view->kernels;
    if (kernels == NULL || kernels->n_rows == 0) {
        return;
    }
    ps_table shown = *kernels; /* a view of the first rows */
    bool is_short = p->style->max_lines > 0 && kernels->n_rows > KERNELS_IN_FEW_LINES + 1;
    shown.n_rows = is_short ? KERNELS_IN_FEW_LINES : kernels->n_rows;
    put_full_columns(p, &shown, NULL, 0, 0);
    double share = 0;
    for (size_t r = shown.n_rows; r < kernels->n_rows; r++) {
        share +=
            ps_view_is_null(kernels, r, "computing") ? 0 : ps_view_real(kernels, r, "computing");
    }
    if (is_short) {
        ps_buf_addf(p->out,
                    PS_SAY(p->view->lang, "... and %zu more, %.1f %% of the computing\n",
                           "……另有 %zu 种，占计算的 %.1f %%\n"),
                    kernels->n_rows - shown.n_rows, share);
    }
    ps_buf_add_char(p->out, '\n');
}

static void put_report_text_rest(page *p) {
    put_report_text_silences(p);
    put_report_text_overview(p);
    put_report_text_kernels(p);
    put_report_text_chart(p);
}

ps_code ps_write_report_text(const ps_report_view *view, const ps_text_style *style, ps_buf *out,
                             ps_err *err) {
    page p = {.view = view, .style = style, .out = out};
    p.width = style->width > 0 ? style->width : 100;
    p.width = p.width < 60 ? 60 : p.width;
    ps_buf rest = {0}; /* what follows the findings, which have the lines that it leaves them */
    p.out = &rest;
    put_report_text_rest(&p);
    p.out = out;
    size_t n_before = lines_of_report(out);
    put_report_text_title(&p);
    size_t n_others = lines_of_report(out) - n_before + lines_of_report(&rest);
    size_t n_left = n_others < style->max_lines ? style->max_lines - n_others : 1;
    put_report_text_findings(&p, style->max_lines > 0 ? n_left : 0);
    ps_buf_add(out, rest.data, rest.len);
    bool ok = !p.failed && ps_buf_ok(out) && ps_buf_ok(&rest);
    ps_buf_fini(&rest);
    ps_arena_fini(&p.arena);
    return ok ? PS_OK : ps_fail_nomem(err);
}
