/* The words of the report, the chart's picture twice (for light and for dark), tables (page_html.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/num.h"
#include "write/chart/chart_note.h"
#include "write/chart/chart_svg.h"
#include "write/out/theme.h"
#include "write/report/page_html.h"
#include "write/report/report_view.h"

typedef struct page {
    const ps_report_view *view;
    ps_html_page html;
} page;

/* --- where a step goes ----------------------------------------------------------------------------------------------- */

static void put_report_html_part(page *p, const char *class_name, const char *what, int64_t ns,
                                 int64_t of_ns) {
    const ps_ns_text duration = ps_ns_text_of(ns);
    if (ns > 0 && of_ns > 0) {
        ps_buf_addf(p->html.out, "<i class=%s style=\"width:%.2f%%\" title=\"%s %s\"></i>",
                    class_name, 100.0 * (double)ns / (double)of_ns, what, duration.text);
    }
}

static int64_t at_least_0(int64_t ns) {
    return ns > 0 ? ns : 0;
}

static void put_bar(page *p, const ps_table *t, size_t row, int64_t longest_ns) {
    int64_t receives = ps_view_int(t, row, "receives");
    int64_t bubble = ps_view_int(t, row, "bubble");
    ps_buf_add_str(p->html.out, "<td><div class=bar>");
    put_report_html_part(p, "b", PS_SAY(p->view->lang, "before the first work", "首项工作之前"),
                         ps_view_int(t, row, "before"), longest_ns);
    put_report_html_part(p, "c", PS_SAY(p->view->lang, "computing", "计算"),
                         ps_view_int(t, row, "computing"), longest_ns);
    put_report_html_part(p, "e", PS_SAY(p->view->lang, "exposed communication", "未掩盖通信"),
                         at_least_0(ps_view_int(t, row, "exposed") - receives), longest_ns);
    put_report_html_part(p, "w", PS_SAY(p->view->lang, "waiting in receives", "在接收中等待"),
                         receives, longest_ns);
    put_report_html_part(p, "k", PS_SAY(p->view->lang, "copies", "拷贝"),
                         ps_view_int(t, row, "copies"), longest_ns);
    put_report_html_part(p, "w",
                         PS_SAY(p->view->lang, "free in the pipeline bubble", "流水线空泡内的空闲"),
                         bubble, longest_ns);
    put_report_html_part(p, "f", PS_SAY(p->view->lang, "free", "空闲"),
                         at_least_0(ps_view_int(t, row, "free") - bubble), longest_ns);
    put_report_html_part(p, "b", PS_SAY(p->view->lang, "after the last work", "末项工作之后"),
                         ps_view_int(t, row, "after"), longest_ns);
    ps_buf_add_str(p->html.out, "</div></td>");
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
    const ps_column_numbers *units = ps_html_units(&p->html, t, 0, t->n_rows);
    if (units == NULL) {
        return;
    }
    int64_t longest_ns = 0;
    size_t n = t->n_rows < MAX_RANKS ? t->n_rows : MAX_RANKS;
    for (size_t r = 0; r < n; r++) {
        int64_t ns = ps_view_int(t, r, "step");
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    ps_buf_addf(p->html.out,
                PS_SAY(p->view->lang, "<h2>Where a step goes</h2>\n<p class=quiet>%c",
                       "<h2>step 的时间去向</h2>\n<p class=quiet>%c"),
                t->title[0] >= 'a' && t->title[0] <= 'z' ? t->title[0] - 'a' + 'A' : t->title[0]);
    ps_html_text(&p->html, t->title[0] != '\0' ? t->title + 1
                                               : ""); /* of what it is: a capture may hold a part */
    ps_buf_add_str(
        p->html.out,
        PS_SAY(
            p->view->lang,
            ".<span class=\"key c\"></span>computing<span class=\"key e\"></span>exposed "
            "communication<span class=\"key w\"></span>receives, bubble<span class=\"key "
            "k\"></span>copies<span class=\"key f\"></span>free<span class=\"key "
            "b\"></span>before, after</p>\n",
            "。<span class=\"key c\"></span>计算<span class=\"key e\"></span>未掩盖通信<span class=\"key "
            "w\"></span>接收、空泡<span class=\"key k\"></span>拷贝<span class=\"key f\"></span>空闲<span "
            "class=\"key b\"></span>之前、之后</p>\n"));
    ps_buf_add_str(p->html.out, "<div class=scroll><table><tr><th class=n>rank</th>");
    bool stages = !ps_view_is_null(t, 0, "stage");
    ps_buf_add_str(p->html.out, stages ? "<th class=n>stage</th><th></th>" : "<th></th>");
    for (size_t c = 0; c < N_NUMBERS; c++) {
        if (!is_nothing(t, NUMBERS[c])) {
            ps_buf_addf(p->html.out, "<th class=n>%s (%s)</th>", NUMBERS[c],
                        units[ps_table_column(t, NUMBERS[c])].unit.name);
        }
    }
    ps_buf_add_str(p->html.out, "</tr>\n");
    for (size_t r = 0; r < n; r++) {
        ps_buf_addf(p->html.out, "<tr><td class=n>%lld</td>", (long long)ps_view_int(t, r, "rank"));
        if (stages) {
            size_t stage = ps_table_column(t, "stage");
            ps_html_cell(&p->html, &t->columns[stage], ps_table_cell(t, r, stage), &units[stage],
                         0);
        }
        put_bar(p, t, r, longest_ns);
        for (size_t c = 0; c < N_NUMBERS; c++) {
            size_t column = ps_table_column(t, NUMBERS[c]);
            if (!is_nothing(t, NUMBERS[c])) {
                ps_html_cell(&p->html, &t->columns[column], ps_table_cell(t, r, column),
                             &units[column], 0);
            }
        }
        ps_buf_add_str(p->html.out, "</tr>\n");
    }
    ps_buf_add_str(p->html.out, "</table></div>\n");
    if (n < t->n_rows) {
        ps_buf_addf(p->html.out,
                    "<p class=quiet>and %zu more ranks: -o FILE.json has them all</p>\n",
                    t->n_rows - n);
    }
}

/* --- findings -------------------------------------------------------------------------------------------------------- */

static void gain_text(const page *p, size_t row, char out[96]) {
    const ps_table *t = p->view->findings;
    const ps_ns_text duration = ps_ns_text_of(ps_view_int(t, row, "gain"));
    (void)snprintf(out, 96, "%s %s, %.1f %%", ps_report_gain_word(p->view, row), duration.text,
                   ps_view_real(t, row, "gain share"));
}

/* As people read it: English as it is in tables. */
static const char *section_title(const page *p, size_t row) {
    const char *section = ps_view_text(p->view->findings, row, "section");
    for (size_t s = 0; p->view->lang == PS_CHINESE && s < PS_N_REPORT_SECTIONS; s++) {
        if (strcmp(ps_report_section_name(s), section) == 0) {
            return ps_report_section_title(PS_CHINESE, s);
        }
    }
    return section;
}

static void put_report_html_finding(page *p, size_t row) {
    const ps_lang lang = p->view->lang;
    const ps_table *t = p->view->findings;
    char gain[96];
    size_t from = 0;
    size_t to = 0;
    int64_t number = ps_view_int(t, row, "finding");
    const char *severity = ps_view_text(t, row, "severity");
    ps_buf_addf(p->html.out, "<div class=\"card %s\" id=f%lld><div class=head><h3>%lld. ", severity,
                (long long)number, (long long)number);
    ps_html_tag(&p->html, "", ps_view_text(t, row, "title"), "</h3>");
    ps_buf_addf(p->html.out, "<span class=chip>%s</span><span class=chip>%s</span>",
                ps_view_severity(p->view, row), section_title(p, row));
    if (!ps_view_is_null(t, row, "gain")) {
        gain_text(p, row, gain);
        ps_html_tag(&p->html, "<span class=gain>", gain, "</span>");
    }
    ps_html_tag(&p->html, "</div>\n<p>", ps_view_text(t, row, "what"), "</p>\n");
    char shared[PS_SHARED_TEXT];
    ps_view_shared(p->view, row, shared);
    if (shared[0] != '\0') {
        ps_html_tag(&p->html, "<p class=quiet>", shared, "</p>\n");
    }
    ps_view_evidence(p->view, number, &from, &to);
    if (to > from) {
        ps_html_table(&p->html, p->view->evidence, from, to, 1);
    }
    ps_html_tag(&p->html, PS_SAY(lang, "<dl><dt>Rule</dt><dd>", "<dl><dt>规则</dt><dd>"),
                ps_view_text(t, row, "fires when"), PS_SAY(lang, ". Here ", "。此处 "));
    ps_html_tag(
        &p->html, "", ps_view_text(t, row, "value"),
        PS_SAY(lang, ". <span class=quiet>--threshold ", "。<span class=quiet>--threshold "));
    ps_html_tag(&p->html, "", ps_view_text(t, row, "rule"), "=N</span></dd>");
    if (ps_view_text(t, row, "try")[0] != '\0') {
        ps_html_tag(&p->html, PS_SAY(lang, "<dt>Try</dt><dd>", "<dt>建议</dt><dd>"),
                    ps_view_text(t, row, "try"), "</dd>");
    }
    ps_buf_add_str(p->html.out, "</dl></div>\n");
}

/* What is not judged in a section, and why. */
static void put_report_html_silence(page *p, size_t section) {
    const char *silence = ps_view_silence(p->view, section);
    if (silence != NULL) {
        ps_buf_addf(p->html.out,
                    PS_SAY(p->view->lang, "<p class=quiet>%s: ", "<p class=quiet>%s："),
                    ps_report_section_title(p->view->lang, section));
        ps_html_tag(&p->html, "", silence, "</p>\n");
    }
}

static void put_report_html_findings(page *p) {
    const ps_report_view *v = p->view;
    ps_html_tag(
        &p->html,
        PS_SAY(v->lang, "<h2>Findings</h2>\n<p class=quiet>", "<h2>发现</h2>\n<p class=quiet>"),
        PS_GAINS_SAID(v->lang), "</p>\n");
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
    ps_buf svg = {0};
    ps_code code = ps_write_chart_svg(p->view->chart, NULL, &opts, &svg, err);
    if (code == PS_OK) {
        const char *begin = strstr(ps_buf_str(&svg), "<svg"); /* without the XML declaration */
        ps_buf_addf(p->html.out, "<div class=\"chart only-%s\">", dark ? "dark" : "light");
        if (begin != NULL && dark) {
            put_renamed(p->html.out, begin);
        } else if (begin != NULL) {
            ps_buf_add_str(p->html.out, begin);
        }
        ps_buf_add_str(p->html.out, "</div>\n");
    }
    ps_buf_fini(&svg);
    return code;
}

static ps_code put_pipeline(page *p, ps_err *err) {
    const ps_report_view *v = p->view;
    if (v->chart != NULL || v->n_pipelines > 0) {
        ps_buf_add_str(p->html.out, PS_SAY(v->lang, "<h2>Pipeline</h2>\n", "<h2>流水线</h2>\n"));
    }
    ps_code code = v->chart != NULL ? put_report_html_chart(p, false, err) : PS_OK;
    code = code == PS_OK && v->chart != NULL ? put_report_html_chart(p, true, err) : code;
    if (code == PS_OK && v->chart != NULL) {
        ps_buf note = {0};
        ps_chart_note(v->chart, v->chart_step, v->pipeline, &note);
        code = ps_buf_ok(&note) ? code : ps_fail_nomem(err);
        if (note.len > 0) {
            ps_html_tag(&p->html, "<p class=quiet>", ps_buf_str(&note), "</p>\n");
        }
        ps_buf_fini(&note);
    }
    for (size_t i = 0; i < v->n_pipelines; i++) {
        ps_html_tag(&p->html, "<details><summary>", v->pipelines[i]->title, "</summary>");
        ps_html_table(&p->html, v->pipelines[i], 0, v->pipelines[i]->n_rows, 0);
        ps_buf_add_str(p->html.out, "</details>\n");
    }
    return code == PS_NOTHING ? PS_OK : code; /* a step without ops has no picture */
}

/* --- the page -------------------------------------------------------------------------------------------------------- */

static void put_count(page *p, size_t n, const char *what) {
    char text[32];
    (void)snprintf(text, sizeof text, "%zu", n);
    ps_html_tile(&p->html, text, what);
}

static void put_top(page *p) {
    const ps_report_view *v = p->view;
    char ranks[PS_RANKS_TEXT];
    const ps_ns_text step = ps_ns_text_of(v->step_ns);
    ps_html_tag(&p->html, PS_SAY(v->lang, "<h1>Report", "<h1>报告"),
                v->title[0] != '\0' ? ": " : "", "");
    ps_html_tag(&p->html, "", v->title, "</h1>\n");
    ps_html_lacks(&p->html, v->lacks);
    if (v->verdict != NULL && v->verdict->n_rows > 0) {
        ps_html_tag(&p->html, "<p class=verdict>", ps_view_text(v->verdict, 0, "verdict"),
                    "</p>\n");
    }
    ps_buf_add_str(p->html.out, "<div class=tiles>\n");
    char period[PS_PERIOD_TEXT];
    char what[PS_PERIOD_TEXT + 8];
    ps_view_period(v, period);
    (void)snprintf(what, sizeof what, PS_SAY(v->lang, "a step%s", "每个 step%s"), period);
    ps_html_tile(&p->html, step.text, what);
    ps_view_ranks(v, false, ranks);
    put_count(p, v->n_ranks, ranks);
    char steps[PS_STEPS_TEXT];
    ps_view_steps(v, steps);
    put_count(p, v->n_steps, strchr(steps, ' ') != NULL ? strchr(steps, ' ') + 1 : "steps");
    put_count(p, ps_view_count(v, "high"), PS_SAY(v->lang, "high", "高"));
    put_count(p, ps_view_count(v, "medium"), PS_SAY(v->lang, "medium", "中"));
    put_count(p, ps_view_count(v, "low"), PS_SAY(v->lang, "low", "低"));
    put_count(p, ps_view_count(v, "info"), PS_SAY(v->lang, "to know", "提示"));
    ps_buf_add_str(p->html.out, "</div>\n");
}

static void put_kernels(page *p) {
    const ps_table *kernels = p->view->kernels;
    if (kernels != NULL && kernels->n_rows > 0) {
        ps_html_tag(&p->html,
                    PS_SAY(p->view->lang, "<h2>Kernels</h2>\n<details open><summary>",
                           "<h2>核函数</h2>\n<details open><summary>"),
                    kernels->title, "</summary>");
        ps_html_table(&p->html, kernels, 0, kernels->n_rows, 0);
        ps_buf_add_str(p->html.out, "</details>\n");
    }
}

ps_code ps_write_report_html(const ps_report_view *view, ps_buf *out, ps_err *err) {
    page p = {.view = view, .html = {.out = out, .place_name = ps_view_place_name(view)}};
    ps_html_begin(&p.html, view->lang, PS_SAY(view->lang, "Report", "报告"), view->title);
    put_top(&p);
    put_report_html_findings(&p);
    if (view->overview != NULL && view->overview->n_rows > 0) {
        put_report_html_overview(&p);
    } else {
        ps_html_tag(&p.html,
                    PS_SAY(view->lang, "<h2>Where a step goes</h2>\n<p class=quiet>",
                           "<h2>step 的时间去向</h2>\n<p class=quiet>"),
                    ps_view_no_overview(view), "</p>\n");
    }
    put_kernels(&p);
    ps_code code = put_pipeline(&p, err);
    ps_arena_fini(&p.html.arena);
    ps_html_end(&p.html);
    return code == PS_OK && (p.html.failed || !ps_buf_ok(out)) ? ps_fail_nomem(err) : code;
}
