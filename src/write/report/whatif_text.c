#include "write/report/whatif_text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "model/lacks.h"
#include "write/out/wrap.h"
#include "write/out/writers.h"
#include "write/report/report_view.h"

/* Below it an ideal step is longer than the replay by more than rounding and noise explain. */
#define LEAST_SLOWDOWN 0.99

/* Of what a line of step times says it is. */
#define STEP_COLUMNS 48
#define FIGURE_COLUMNS 7

/* --- the verdict --------------------------------------------------------------------------------------------------- */

/* A paragraph whose further lines are indented. */
static void put_paragraph(ps_buf *out, size_t width, size_t first, size_t indent, const char *fmt,
                          ...) PS_PRINTF(5, 6);

static void put_paragraph(ps_buf *out, size_t width, size_t first, size_t indent, const char *fmt,
                          ...) {
    char text[640];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ps_buf_add_fill(out, ' ', first);
    ps_wrap(out, text, first, indent, width);
    ps_buf_add_char(out, '\n');
}

static void put_head(ps_buf *out, const ps_whatif_view *view) {
    const ps_table *t = view->job;
    const ps_lang lang = view->lang;
    ps_buf_addf(
        out,
        PS_SAY(lang, "%s%swhat if: %lld workers (%lld stages x %lld replicas), %lld step%s",
               "%s%s假设分析：%lld 个 worker（%lld 个阶段 x %lld 个副本），%lld 个 step%.0s"),
        view->title, view->title[0] != '\0' ? " · " : "", (long long)ps_view_int(t, 0, "workers"),
        (long long)ps_view_int(t, 0, "stages"), (long long)ps_view_int(t, 0, "replicas"),
        (long long)ps_view_int(t, 0, "steps"), ps_view_int(t, 0, "steps") == 1 ? "" : "s");
    if (ps_view_int(t, 0, "steps_left_out") > 0) {
        ps_buf_addf(out, PS_SAY(lang, "; %lld left out: %s", "；%lld 个未计入：%s"),
                    (long long)ps_view_int(t, 0, "steps_left_out"),
                    ps_view_text(t, 0, "why_left_out"));
    }
    ps_buf_addf(out, "\n\n");
}

/* `of`: of what `percent` is; NULL nothing. */
static void put_step_line(ps_buf *out, ps_lang lang, const char *what, int64_t ns, const char *of,
                          double percent) {
    const ps_ns_text time = ps_ns_text_of(ns);
    size_t columns = ps_utf8_columns(what, strlen(what));
    ps_buf_addf(out, "  %s", what);
    ps_buf_add_fill(out, ' ', columns < STEP_COLUMNS ? STEP_COLUMNS - columns : 0);
    ps_buf_addf(out, " %10s", time.text);
    if (of != NULL) {
        ps_buf_addf(out, PS_SAY(lang, "   %+.1f %% of %s", "   %+.1f %%（相对%s）"), percent, of);
    }
    ps_buf_addf(out, "\n");
}

/* The kind that alone makes the ideal longer than the replay most; "" when there is none. */
static const char *shortest_kind(const ps_whatif_view *view) {
    const char *kind = "";
    double least = LEAST_SLOWDOWN;
    for (size_t r = 0; view->kinds != NULL && r < view->kinds->n_rows; r++) {
        double slowdown = ps_view_real(view->kinds, r, "slowdown");
        kind = slowdown < least ? ps_view_text(view->kinds, r, "kind") : kind;
        least = slowdown < least ? slowdown : least;
    }
    return kind;
}

size_t ps_whatif_doubts(const ps_whatif_view *view, char out[PS_WHATIF_DOUBTS][PS_WHATIF_DOUBT]) {
    double share = (double)ps_view_int(view->job, 0, "no_delay") /
                   (double)ps_view_int(view->job, 0, "measured");
    bool has_comm = ps_view_int(view->job, 0, "has_communication") != 0;
    bool are_apart = !ps_view_is_null(view->job, 0, "clocks_apart");
    const ps_lang lang = view->lang;
    size_t n = 0;
    if (ps_view_int(view->job, 0, "replay_explains_step") == 0) {
        (void)snprintf(
            out[n++], PS_WHATIF_DOUBT,
            PS_SAY(
                lang,
                "Ops and who waits for whom explain %.0f %% of the measured step. The rest passes between ops: "
                "%s%s. It decides here; take all that follows with care.",
                "算子及其依赖只解释了实测 step 的 %.0f %%，其余在算子之间：%s%s。此处由它决定，以下结论请谨慎使用。"),
            100 * share,
            are_apart ? PS_SAY(lang, "pauses of the host, or clocks that are apart",
                               "主机停顿，或尚未对齐的时钟")
                      : PS_SAY(lang, "pauses of the host", "主机停顿"),
            has_comm ? "" : PS_SAY(lang, ", communication that is no op", "，以及不是算子的通信"));
    }
    if (!has_comm) {
        (void)snprintf(
            out[n++], PS_WHATIF_DOUBT, "%s",
            PS_SAY(
                lang,
                "The chart has computing and its links only: gradients, the optimizer and the host are in "
                "no figure here.",
                "图中只有计算及其依赖：梯度、优化器与主机未计入此处的数值。"));
    }
    if (are_apart) {
        (void)snprintf(
            out[n++], PS_WHATIF_DOUBT,
            PS_SAY(
                lang,
                "Clocks: %s. What a step takes by the clock is not to be trusted; what ops take by "
                "themselves, and the replay, are.",
                "时钟：%s。按时钟计的 step 时间不可信；算子自身的时长与重放可信。"),
            ps_view_text(view->job, 0, "clocks_apart"));
    }
    int64_t n_empty = ps_view_int(view->job, 0, "ops_without_time");
    if (n_empty > 0) {
        (void)snprintf(
            out[n++], PS_WHATIF_DOUBT,
            PS_SAY(lang,
                   "%lld op%s of computing take%s no time and make%s what is usual shorter: %s%s.",
                   "%lld 个计算算子%.0s%.0s%.0s时长为零，使通常时长偏短：%s%s。"),
            (long long)n_empty, n_empty == 1 ? "" : "s", n_empty == 1 ? "s" : "",
            n_empty == 1 ? "s" : "", ps_view_text(view->job, 0, "first_without_time"),
            n_empty == 1 ? "" : PS_SAY(lang, ", and others", "等"));
    }
    double slowdown = ps_view_real(view->job, 0, "slowdown");
    if (slowdown < LEAST_SLOWDOWN) {
        const char *kind = shortest_kind(view);
        (void)snprintf(
            out[n++], PS_WHATIF_DOUBT,
            PS_SAY(
                lang,
                "The ideal step is longer than the replay: %s%s%s ops differ by design (first and last stages, "
                "parts of a split backward), and the critical path runs through short ones, which all alike "
                "would be longer. The slowdown is no measure of waste here; repairs and --without are of "
                "what they name.",
                "理想 step 比重放更长：%s%s%.0s 算子按设计长短不一（首尾阶段、拆分的反向），而关键路径经过较短者；若全部相同反而更长。"
                "此处的变慢倍数不能衡量浪费；各项改进与 --without 只针对其所列内容。"),
            kind[0] != '\0' ? PS_SAY(lang, "of kind ", "种类 ") : PS_SAY(lang, "some", "部分"),
            kind, kind[0] != '\0' ? " the" : "");
    }
    return n;
}

const char *ps_whatif_waste(const ps_whatif_view *view, char out[PS_WHATIF_WASTE]) {
    bool has_none = ps_view_is_null(view->job, 0, "waste");
    (void)snprintf(out, PS_WHATIF_WASTE, has_none ? PS_SAY(view->lang, "none", "无") : "%.1f %%",
                   ps_view_real(view->job, 0, "waste"));
    return out;
}

const char *ps_whatif_usual(ps_lang lang) {
    return PS_SAY(
        lang,
        "Usual: of computing the mean of all workers, slow ones included; of communication the median. "
        "The ideal gives fast workers that mean, too; a repair leaves them as measured, so its step may "
        "be shorter than the ideal.",
        "通常时长：计算取全部 worker 的平均（含慢者），通信取中位数。理想 step 中较快的 worker 也按此平均计，"
        "而改进项保留其实测时长，因此改进后的 step 可能短于理想。");
}

/* The replay first: all else stands on it. */
static void put_steps(ps_buf *out, const ps_whatif_view *view, size_t width) {
    const ps_table *t = view->job;
    int64_t measured = ps_view_int(t, 0, "measured");
    int64_t real = ps_view_int(t, 0, "no_delay");
    int64_t ideal = ps_view_int(t, 0, "ideal");
    const ps_lang lang = view->lang;
    put_step_line(out, lang, PS_SAY(lang, "step as measured (mean)", "实测 step（平均）"), measured,
                  NULL, 0);
    put_step_line(out, lang,
                  PS_SAY(lang, "replayed: measured ops, no launch delays",
                         "重放：实测时长的算子，无下发延迟"),
                  real, PS_SAY(lang, "the measured step", "实测 step"),
                  100 * ((double)real / (double)measured - 1));
    put_step_line(out, lang,
                  PS_SAY(lang, "ideal: every op as long as usual for its kind",
                         "理想：每个算子都为其种类的通常时长"),
                  ideal, PS_SAY(lang, "the replay", "重放"),
                  100 * ((double)ideal / (double)real - 1));
    char waste[PS_WHATIF_WASTE];
    ps_buf_addf(out,
                PS_SAY(lang, "  slowdown %.3f: %s of the job's time is waste\n",
                       "  变慢倍数 %.3f：作业时间的 %s 被浪费\n"),
                ps_view_real(t, 0, "slowdown"), ps_whatif_waste(view, waste));
    put_paragraph(out, width, 2, 2, "%s", ps_whatif_usual(lang));
    char doubts[PS_WHATIF_DOUBTS][PS_WHATIF_DOUBT];
    size_t n = ps_whatif_doubts(view, doubts);
    for (size_t i = 0; i < n; i++) {
        put_paragraph(out, width, 2, 2, "%s", doubts[i]);
    }
    ps_buf_addf(out, "\n");
}

static void put_verdict(ps_buf *out, const ps_whatif_view *view, size_t width) {
    const ps_table *c = view->causes;
    const ps_lang lang = view->lang;
    size_t n = 0;
    for (size_t r = 0; r < c->n_rows; r++) {
        if (strcmp(ps_view_text(c, r, "holds"), "yes") == 0) {
            put_paragraph(out, width, 0, 4, PS_SAY(lang, "%s %s: %s.", "%s%s：%s。"),
                          n++ == 0 ? PS_SAY(lang, "Cause:", "原因：")
                                   : PS_SAY(lang, "Also:", "此外："),
                          ps_view_text(c, r, "cause"), ps_view_text(c, r, "evidence"));
            put_paragraph(out, width, 4, 4, PS_SAY(lang, "Try: %s.", "建议：%s。"),
                          ps_view_text(c, r, "remedy"));
        }
    }
    if (n == 0) {
        ps_buf_addf(out, "%s\n",
                    PS_SAY(lang, "No cause stands out (thresholds below).",
                           "没有突出的原因（阈值见下）。"));
    }
    for (size_t r = 0; r < view->repairs->n_rows; r++) {
        if (ps_view_int(view->repairs, r, "order") == 1) {
            put_paragraph(
                out, width, 0, 4,
                PS_SAY(
                    lang,
                    "First repair: %s. With all its ops as fast as usual (computing: the mean of all workers, "
                    "slow ones included; communication: the median), a step takes %s (%.1f %% less).",
                    "首先改进：%s。其全部算子恢复通常速度（计算取全部 worker 的平均，含慢者；通信取中位数）后，每个 step "
                    "%s（减少 %.1f %%）。"),
                ps_view_text(view->repairs, r, "repair"),
                ps_ns_text_of(ps_view_int(view->repairs, r, "step")).text,
                ps_view_real(view->repairs, r, "gain share"));
        }
    }
    ps_buf_addf(out, "\n");
}

/* --- workers ------------------------------------------------------------------------------------------------------- */

#define MAP_MOST_COLUMNS 16
#define MOST_SLOWEST 12
#define CAUSE_TEXT 42 /* where the evidence of a cause begins */

static void put_worker(ps_buf *out, const ps_table *t, size_t row) {
    ps_buf_addf(out, "  %5.3f%s", ps_view_real(t, row, "slowdown"),
                ps_view_int(t, row, "is_worst") != 0 ? "*" : " ");
}

/* A row a stage, a column a replica. */
static void put_whatif_text_map(ps_buf *out, ps_lang lang, const ps_table *t, int64_t n_stages,
                                int64_t n_replicas) {
    ps_buf_add_str(out, PS_SAY(lang, "replica ", "副本    "));
    for (int64_t d = 0; d < n_replicas; d++) {
        ps_buf_addf(out, "%7lld ", (long long)d);
    }
    ps_buf_addf(out, "\n");
    for (int64_t s = 0; s < n_stages; s++) {
        ps_buf_addf(out, PS_SAY(lang, "stage %2lld", "阶段  %2lld"), (long long)s);
        for (int64_t d = 0; d < n_replicas; d++) {
            put_worker(out, t, (size_t)(s * n_replicas + d));
        }
        ps_buf_addf(out, "\n");
    }
}

/* The slowest of many, and how many others there are. */
static void put_slowest(ps_buf *out, ps_lang lang, const ps_table *t) {
    double below = INFINITY;
    size_t n = 0;
    while (n < MOST_SLOWEST && n < t->n_rows) {
        double next = -INFINITY; /* the largest figure that was not shown yet */
        for (size_t r = 0; r < t->n_rows; r++) {
            double s = ps_view_real(t, r, "slowdown");
            next = s < below && s > next ? s : next;
        }
        for (size_t r = 0; r < t->n_rows && n < MOST_SLOWEST; r++) {
            if (ps_view_real(t, r, "slowdown") >= next && ps_view_real(t, r, "slowdown") < below) {
                put_worker(out, t, r);
                ps_buf_addf(out,
                            PS_SAY(lang, "  rank %lld (stage %lld, replica %lld)\n",
                                   "  rank %lld（阶段 %lld，副本 %lld）\n"),
                            (long long)ps_view_int(t, r, "rank"),
                            (long long)ps_view_int(t, r, "stage"),
                            (long long)ps_view_int(t, r, "replica"));
                n++;
            }
        }
        below = next;
    }
    if (n < t->n_rows) {
        ps_buf_addf(out,
                    PS_SAY(lang, "  and %zu workers that are no slower: -o FILE.json has all\n",
                           "  另有 %zu 个不更慢的 worker：全部见 -o FILE.json\n"),
                    t->n_rows - n);
    }
}

static void put_workers(ps_buf *out, const ps_whatif_view *view) {
    int64_t n_replicas = ps_view_int(view->job, 0, "replicas");
    const ps_lang lang = view->lang;
    ps_buf_addf(out, "%s\n\n",
                PS_SAY(lang,
                       "slowdown of each worker: the lower one of its stage's and its replica's",
                       "各 worker 的变慢倍数：取其阶段与其副本中较小者"));
    if (n_replicas > MAP_MOST_COLUMNS || ps_view_int(view->job, 0, "tp") > 1) {
        put_slowest(out, lang, view->workers);
    } else {
        put_whatif_text_map(out, view->lang, view->workers, ps_view_int(view->job, 0, "stages"),
                            n_replicas);
    }
    ps_buf_addf(out,
                PS_SAY(lang, "* the slowest 3 %% of the workers\n\n", "* 最慢的 3 %% worker\n\n"));
}

static void put_whatif_text_causes(ps_buf *out, const ps_whatif_view *view, size_t width) {
    const ps_table *c = view->causes;
    ps_buf_addf(
        out, "%s\n\n",
        PS_SAY(view->lang, "causes: figure, threshold, evidence", "原因：数值、阈值、依据"));
    for (size_t r = 0; r < c->n_rows; r++) {
        char figure[32];
        (void)snprintf(figure, sizeof figure, "%s", PS_SAY(view->lang, "unknown", "未知"));
        if (!ps_view_is_null(c, r, "figure")) {
            double value = ps_view_real(c, r, "figure");
            (void)snprintf(figure, sizeof figure, "%.2f", fabs(value) < 0.005 ? 0 : value);
        }
        int columns = (int)ps_utf8_columns(figure, strlen(figure));
        put_paragraph(out, width, 2, CAUSE_TEXT, "%-17s %-4s %*s%s  > %.2f  %s",
                      ps_view_text(c, r, "cause"),
                      ps_view_is_null(c, r, "figure") ? "?" : ps_view_text(c, r, "holds"),
                      FIGURE_COLUMNS - columns, "", figure, ps_view_real(c, r, "threshold"),
                      ps_view_text(c, r, "evidence"));
    }
}

static ps_code put_titled(ps_buf *out, const ps_table *t, const ps_text_style *style, ps_err *err) {
    if (t == NULL || t->n_rows == 0) {
        return PS_OK;
    }
    ps_code code = ps_write_table_text(t, style, out, err);
    ps_buf_addf(out, "\n");
    return code;
}

ps_code ps_write_whatif_text(const ps_whatif_view *view, const ps_text_style *style, ps_buf *out,
                             ps_err *err) {
    put_head(out, view);
    ps_lacks_say(view->lang, view->lacks, "", "\n", out);
    put_steps(out, view, style->width);
    put_verdict(out, view, style->width);
    ps_code code = put_titled(out, view->answer, style, err);
    code = code == PS_OK ? put_titled(out, view->repairs, style, err) : code;
    code = code == PS_OK ? put_titled(out, view->kinds, style, err) : code;
    code = code == PS_OK ? put_titled(out, view->stages, style, err) : code;
    put_workers(out, view);
    put_whatif_text_causes(out, view, style->width);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}
