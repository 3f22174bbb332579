#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "write/report/page_html.h"
#include "write/report/report_view.h"
#include "write/report/whatif_text.h"

/* Workers beyond this are not drawn one by one. */
#define MAP_MOST 4096

static void put_step_tile(ps_html_page *p, const ps_table *t, const char *column,
                          const char *what) {
    ps_html_tile(p, ps_ns_text_of(ps_view_int(t, 0, column)).text, what);
}

static void put_whatif_page_top(ps_html_page *p, const ps_whatif_view *view) {
    const ps_table *t = view->job;
    char text[64];
    const ps_lang lang = view->lang;
    ps_html_tag(p, PS_SAY(lang, "<h1>What if", "<h1>假设分析"), view->title[0] != '\0' ? ": " : "",
                "");
    ps_html_tag(p, "", view->title, "</h1>\n");
    ps_buf_addf(p->out,
                PS_SAY(lang, "<p class=quiet>%lld workers: %lld stages x %lld replicas; %lld steps",
                       "<p class=quiet>%lld 个 worker：%lld 个阶段 x %lld 个副本；%lld 个 step"),
                (long long)ps_view_int(t, 0, "workers"), (long long)ps_view_int(t, 0, "stages"),
                (long long)ps_view_int(t, 0, "replicas"), (long long)ps_view_int(t, 0, "steps"));
    if (ps_view_int(t, 0, "steps_left_out") > 0) {
        ps_buf_addf(p->out, PS_SAY(lang, "; %lld left out: ", "；%lld 个未计入："),
                    (long long)ps_view_int(t, 0, "steps_left_out"));
        ps_html_text(p, ps_view_text(t, 0, "why_left_out"));
    }
    ps_buf_add_str(p->out, "</p>\n<div class=tiles>\n");
    put_step_tile(p, t, "measured", PS_SAY(lang, "a step, measured", "实测 step"));
    put_step_tile(p, t, "no_delay", PS_SAY(lang, "replayed, no launch delays", "重放，无下发延迟"));
    put_step_tile(p, t, "ideal",
                  PS_SAY(lang, "ideal: every op as usual", "理想：算子均为通常时长"));
    (void)snprintf(text, sizeof text, "%.3f", ps_view_real(t, 0, "slowdown"));
    ps_html_tile(p, text, PS_SAY(lang, "slowdown", "变慢倍数"));
    char waste[PS_WHATIF_WASTE];
    ps_html_tile(p, ps_whatif_waste(view, waste), PS_SAY(lang, "waste", "浪费"));
    ps_buf_add_str(p->out, "</div>\n");
    ps_html_tag(p, "<p class=quiet>", ps_whatif_usual(lang), "</p>\n");
    char doubts[PS_WHATIF_DOUBTS][PS_WHATIF_DOUBT];
    size_t n = ps_whatif_doubts(view, doubts);
    for (size_t i = 0; i < n; i++) {
        ps_html_tag(p, "<p class=verdict>", doubts[i], "</p>\n");
    }
}

static void put_whatif_page_causes(ps_html_page *p, ps_lang lang, const ps_table *c) {
    ps_html_tag(p, "<h2>", PS_SAY(lang, "Causes", "原因"), "</h2>\n");
    for (size_t r = 0; r < c->n_rows; r++) {
        bool holds = strcmp(ps_view_text(c, r, "holds"), "yes") == 0;
        ps_buf_addf(p->out, "<div class=\"card %s\"><div class=head><h3>", holds ? "high" : "info");
        ps_html_tag(p, "", ps_view_text(c, r, "cause"), "</h3>");
        if (ps_view_is_null(c, r, "figure")) {
            ps_html_tag(p, "<span class=chip>", PS_SAY(lang, "unknown", "未知"), "</span>");
        } else {
            double figure = ps_view_real(c, r, "figure");
            ps_buf_addf(p->out,
                        PS_SAY(lang,
                               "<span class=chip>%s</span><span class=gain>%.2f, threshold "
                               "%.2f</span>",
                               "<span class=chip>%s</span><span class=gain>%.2f，阈值 "
                               "%.2f</span>"),
                        holds ? PS_SAY(lang, "holds", "成立")
                              : PS_SAY(lang, "does not hold", "不成立"),
                        fabs(figure) < 0.005 ? 0 : figure, ps_view_real(c, r, "threshold"));
        }
        ps_html_tag(p, "</div><p>", ps_view_text(c, r, "evidence"), "</p>");
        if (holds) {
            ps_html_tag(p, PS_SAY(lang, "<p class=quiet>Try: ", "<p class=quiet>建议："),
                        ps_view_text(c, r, "remedy"), "</p>");
        }
        ps_buf_add_str(p->out, "</div>\n");
    }
}

static void put_section(ps_html_page *p, const char *heading, const ps_table *t) {
    if (t != NULL && t->n_rows > 0) {
        ps_html_tag(p, "<h2>", heading, "</h2>\n");
        ps_html_tag(p, "<p class=quiet>", t->title, "</p>\n");
        ps_html_table(p, t, 0, t->n_rows, 0);
    }
}

/* How much of a cell is filled: nothing at 1, all of it at the slowest worker. */
static int percent_filled(double slowdown, double slowest) {
    double share = slowest > 1.01 ? (slowdown - 1) / (slowest - 1) : 0;
    return share <= 0 ? 0 : share >= 1 ? 100 : (int)lround(100 * share);
}

/* A row a stage, a column a replica and its tensor-parallel rank, the slower the fuller. */
static void put_whatif_page_map(ps_html_page *p, const ps_whatif_view *view) {
    const ps_table *t = view->workers;
    size_t columns =
        (size_t)(ps_view_int(view->job, 0, "replicas") * ps_view_int(view->job, 0, "tp"));
    double slowest = 1;
    if (t->n_rows > MAP_MOST || columns == 0) {
        ps_buf_addf(
            p->out,
            PS_SAY(view->lang,
                   "<h2>Workers</h2>\n<p class=quiet>%zu workers are too many for a map: "
                   "-o FILE.json has them all</p>\n",
                   "<h2>Worker</h2>\n<p class=quiet>%zu 个 worker 过多，不画成图：全部见 -o "
                   "FILE.json</p>\n"),
            t->n_rows);
        return;
    }
    for (size_t r = 0; r < t->n_rows; r++) {
        slowest =
            ps_view_real(t, r, "slowdown") > slowest ? ps_view_real(t, r, "slowdown") : slowest;
    }
    ps_buf_add_str(
        p->out,
        PS_SAY(
            view->lang,
            "<h2>Workers</h2>\n<p class=quiet>slowdown of each worker: the lower one of its stage's "
            "and its replica's; the bar fills up to the slowest</p>\n<div "
            "class=scroll><table><tr><th>stage, replica</th>",
            "<h2>Worker</h2>\n<p class=quiet>各 worker 的变慢倍数：取其阶段与其副本中较小者；色条按最慢者填满"
            "</p>\n<div class=scroll><table><tr><th>阶段，副本</th>"));
    for (size_t c = 0; c < columns; c++) {
        ps_buf_addf(p->out, "<th class=n>%lld</th>", (long long)ps_view_int(t, c, "replica"));
    }
    for (size_t r = 0; r < t->n_rows; r++) {
        double s = ps_view_real(t, r, "slowdown");
        if (r % columns == 0) {
            ps_buf_addf(p->out, "</tr>\n<tr><td class=n>%lld</td>",
                        (long long)ps_view_int(t, r, "stage"));
        }
        ps_buf_addf(
            p->out,
            "<td class=n title=\"rank %lld\" style=\"background:linear-gradient(to "
            "right,var(--exposed) %d%%,transparent 0) left bottom/100%% 4px no-repeat\">%s%.3f%s</td>",
            (long long)ps_view_int(t, r, "rank"), percent_filled(s, slowest),
            ps_view_int(t, r, "is_worst") != 0 ? "<b>" : "", s,
            ps_view_int(t, r, "is_worst") != 0 ? "</b>" : "");
    }
    ps_buf_add_str(p->out, "</tr>\n</table></div>\n");
}

ps_code ps_write_whatif_html(const ps_whatif_view *view, ps_buf *out, ps_err *err) {
    ps_html_page p = {.out = out, .place_name = ""};
    const ps_lang lang = view->lang;
    ps_html_begin(&p, lang, PS_SAY(lang, "What if", "假设分析"), view->title);
    put_whatif_page_top(&p, view);
    ps_html_lacks(&p, view->lacks);
    put_whatif_page_causes(&p, lang, view->causes);
    put_section(&p, PS_SAY(lang, "The question", "所问"), view->answer);
    put_section(&p, PS_SAY(lang, "Repairs", "改进"), view->repairs);
    put_whatif_page_map(&p, view);
    put_section(&p, PS_SAY(lang, "Kinds of ops", "算子种类"), view->kinds);
    put_section(&p, PS_SAY(lang, "Stages", "阶段"), view->stages);
    put_section(&p, PS_SAY(lang, "Replicas", "副本"), view->replicas);
    put_section(&p, PS_SAY(lang, "Steps", "Step"), view->steps);
    ps_html_end(&p);
    ps_arena_fini(&p.arena);
    return p.failed || !ps_buf_ok(out) ? ps_fail_nomem(err) : PS_OK;
}
