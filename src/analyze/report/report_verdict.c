/* The verdict: one paragraph that says what costs most, what to do about it and what a step would then take. Every page that
 * shows the report begins with it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/instead.h"
#include "base/num.h"

typedef struct verdict_row {
    const char *text;
    int64_t finding, step_ns, after_ns;
} verdict_row;

static const ps_column VERDICT[] = {
    {.name = "verdict", PS_FIELD(verdict_row, text)},
    {.name = "finding", PS_FIELD(verdict_row, finding)},
    {.name = "step", PS_FIELD(verdict_row, step_ns), .unit = PS_UNIT_NS},
    {.name = "step without", PS_FIELD(verdict_row, after_ns), .unit = PS_UNIT_NS},
};

typedef struct sentence {
    ps_lang lang;
    char text[2048];
    size_t n;
} sentence;

static void PS_PRINTF(2, 3) add_text(sentence *s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(s->text + s->n, sizeof s->text - s->n, fmt, args);
    va_end(args);
    size_t more = n > 0 ? (size_t)n : 0;
    s->n = s->n + more < sizeof s->text ? s->n + more : sizeof s->text - 1;
}

/* "rank 2", "stage 3 (rank 12)"; "" for a finding about all of them. */
static void add_verdict_place(sentence *s, const ps_report *report, const ps_finding *f) {
    const ps_lang lang = report->findings.lang;
    if (report->n_members == 1) {
        return;
    }
    if (f->rank >= 0 && f->stage >= 0) {
        add_text(s,
                 PS_SAY(lang, ", worst on rank %s (stage %d)", "，最严重的是 rank %s（阶段 %d）"),
                 PS_RANK(f->rank), (int)f->stage);
    } else if (f->rank >= 0) {
        add_text(s, PS_SAY(lang, ", worst on rank %s", "，最严重的是 rank %s"), PS_RANK(f->rank));
    }
}

/* Up to the first full stop that ends a sentence. */
static void add_first_sentence(sentence *s, const char *text) {
    static const char STOP[] = "。";
    const char *end = text;
    if (s->lang == PS_CHINESE) {
        end = strstr(text, STOP);
        end = end != NULL ? end : text + strlen(text);
    }
    while (s->lang == PS_ENGLISH && *end != '\0' &&
           !(*end == '.' && (end[1] == ' ' || end[1] == '\0'))) {
        end++;
    }
    add_text(s, "%.*s%s", (int)(end - text), text, PS_SAY(s->lang, ".", STOP));
}

static void add_advice(sentence *s, const ps_report *report, const ps_finding *f) {
    const ps_lang lang = report->findings.lang;
    char advice[1024];
    ps_finding_advice(lang, f, report->vendor, advice, sizeof advice);
    if (advice[0] != '\0') {
        add_text(s, PS_SAY(lang, " Try first: ", "先尝试："));
        add_first_sentence(s, advice);
    }
}

/* The finding that says more of the same time as the first, where there is one: what most of it is, or how it can be won. 0:
 * none. The ends of a step are a place and no cause. */
static size_t detail_of_first(const ps_findings *all, bool *is_most) {
    for (size_t i = 1; i < all->n && all->all[i].gain_ns > 0; i++) {
        const ps_finding *f = &all->all[i];
        bool is_remedy = f->rule == PS_RULE_OTHER_SCHEDULE || f->rule == PS_RULE_STAGE_IMBALANCE;
        *is_most =
            f->n_shared > 0 && f->shared[0].with == 1 && f->shared[0].ns > all->all[0].gain_ns / 2;
        bool is_place = f->rule == PS_RULE_BEFORE_FIRST_WORK;
        bool is_of_first = f->n_shared > 0 && f->shared[0].with == 1;
        if (is_of_first && !is_place && (is_remedy || *is_most)) {
            return i;
        }
    }
    return 0;
}

/* Then what to try: by the detail, if it is the cause of most of it. Which finding that is, 0: none. */
static size_t add_detail(sentence *s, const ps_report *report) {
    const ps_lang lang = report->findings.lang;
    const ps_findings *all = &report->findings;
    bool is_most = false;
    size_t detail = detail_of_first(all, &is_most);
    const ps_finding *f = &all->all[detail];
    if (detail > 0 && is_most) {
        add_text(s,
                 PS_SAY(lang, " Most of it is finding %zu: %s (%s).",
                        "其中大部分是发现 %zu：%s（%s）。"),
                 detail + 1, ps_finding_title(lang, f), ps_ns_text_of(f->gain_ns).text);
    } else if (detail > 0) {
        add_text(s,
                 PS_SAY(lang, " Finding %zu says how to win %s of it: %s.",
                        "发现 %zu 说明如何赢得其中 %s：%s。"),
                 detail + 1, ps_ns_text_of(f->gain_ns).text, ps_finding_title(lang, f));
    }
    add_advice(s, report, is_most ? f : &all->all[0]);
    return detail;
}

/* What of the finding counts in another one, too: `ns`, or 0 where nobody knows how much. */
static void say_shared(sentence *s, const ps_finding *f, size_t number, int64_t ns) {
    const ps_lang lang = s->lang;
    if (ns == 0) {
        add_text(s,
                 PS_SAY(lang, ", which may count time of finding %zu, too",
                        "，可能与发现 %zu 计入了同样的时间"),
                 number);
    } else if (ns >= f->gain_ns) {
        add_text(s, PS_SAY(lang, ", which counts in finding %zu, too", "，也计入发现 %zu"), number);
    } else {
        add_text(
            s, PS_SAY(lang, ", of which %s count in finding %zu, too", "，其中 %s 也计入发现 %zu"),
            ps_ns_text_of(ns).text, number);
    }
}

/* What the finding (by its index) shares with the one that the verdict began with (SIZE_MAX: none), else the most with one before it. Of two
 * findings the later one knows. */
static void add_shared(sentence *s, const ps_findings *all, size_t i, size_t first) {
    const ps_finding *f = &all->all[i];
    const ps_finding *later = first == SIZE_MAX ? f : &all->all[i < first ? first : i];
    size_t earlier = (i < first ? i : first) + 1;
    for (size_t k = 0; first != SIZE_MAX && k < later->n_shared; k++) {
        if (later->shared[k].with == earlier) {
            say_shared(s, f, first + 1, later->shared[k].ns);
            return;
        }
    }
    if (f->shared_with > 0) {
        say_shared(s, f, f->shared_with, f->shared_ns);
    }
}

/* What of the finding others hold back. */
static void add_absorbed(sentence *s, const ps_finding *f) {
    const ps_lang lang = s->lang;
    if (f->absorbed_ns > f->gain_ns / 10) {
        add_text(s,
                 PS_SAY(lang, "; %s of it only once ranks that were not captured come earlier",
                        "；其中 %s 只有在未采集的 rank 更早到达后才能获得"),
                 ps_ns_text_of(f->absorbed_ns).text);
    }
}

/* The bubble, its stalls and other schedules are what a cause does to the pipeline, or a way round it. */
static bool is_effect(const ps_finding *f) {
    return ps_rule_of(f->rule)->section == PS_SECTION_PIPELINE;
}

/* Findings that the verdict has told by then, SIZE_MAX: none. */
typedef struct told_findings {
    const ps_whatif_cause *cause; /* it began with; NULL: with a finding */
    size_t first;                 /* the finding of that */
    size_t detail;                /* of the first, or a way round it */
    size_t kernels;
    const ps_report
        *causes_follow; /* all its causes are told behind the next finding; NULL: none is */
} told_findings;

/* The finding of the same cause, SIZE_MAX: none. */
static size_t finding_of_cause(const ps_findings *all, const ps_whatif_cause *c) {
    for (size_t i = 0; i < all->n; i++) {
        const ps_finding *f = &all->all[i];
        bool is_rank = f->rule == PS_RULE_SLOW_RANK && c->rank >= 0 && f->rank == c->rank;
        bool is_stage = f->rule == PS_RULE_STAGE_IMBALANCE && c->rank < 0 && c->stage >= 0 &&
                        f->stage == c->stage;
        if (is_rank || is_stage) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Whether a cause that whatif knows is that of the finding: what is said of the cause says the finding, too. */
static bool is_of_cause(const ps_report *report, size_t finding) {
    size_t i = 0;
    while (i < report->replay.n_causes &&
           finding_of_cause(&report->findings, &report->replay.causes[i]) != finding) {
        i++;
    }
    return i < report->replay.n_causes;
}

/* The next largest, but for those that were told. The ends of a step are a place, and no more than the first where
 * that has them, too. */
static void add_next(sentence *s, const ps_findings *all, const told_findings *told) {
    const ps_lang lang = all->lang;
    for (size_t i = 0; i < all->n && all->all[i].gain_ns > 0; i++) {
        const ps_finding *f = &all->all[i];
        bool is_judged = i == told->first || i == told->detail || i == told->kernels ||
                         (f->rule == PS_RULE_BEFORE_FIRST_WORK && f->shared_with > 0);
        if (!is_judged && told->causes_follow != NULL && is_of_cause(told->causes_follow, i)) {
            return;
        }
        if (!is_judged) {
            add_text(s,
                     PS_SAY(lang, " Next: %s, at most %s (finding %zu)",
                            "其次：%s，最多 %s（发现 %zu）"),
                     ps_finding_title(lang, f), ps_ns_text_of(f->gain_ns).text, i + 1);
            bool is_cause_of = told->first == SIZE_MAX && is_effect(f);
            if (is_cause_of) { /* a cause without a finding, and what it does to the pipeline */
                add_text(s,
                         PS_SAY(lang, ", which may count the same time", "，可能计入了同样的时间"));
            } else if (told->cause != NULL &&
                       ps_finding_may_wait_for(f, told->cause->rank, told->cause->stage)) {
                add_text(s, PS_SAY(lang, ", in which ranks may wait for this one",
                                   "，其间各 rank 可能在等待它"));
            } else {
                add_shared(s, all, i, told->first);
            }
            add_absorbed(s, f);
            add_text(s, PS_SAY(lang, ".", "。"));
            return;
        }
    }
}

static void say_largest(sentence *s, const ps_report *report, const ps_finding *f) {
    const ps_lang lang = report->findings.lang;
    int64_t after_ns = report->step_ns - f->gain_ns;
    char without[128];
    (void)snprintf(without, sizeof without, "%s", PS_SAY(lang, "without it", "没有它"));
    if (f->replayed != NULL) { /* no schedule has no bubble: the gain is that of the best one */
        (void)snprintf(without, sizeof without,
                       PS_SAY(lang, "with the best that was replayed (%.64s)",
                              "采用重放中最好的调度（%.64s）"),
                       f->replayed);
    }
    add_text(s, "%s", ps_finding_title(lang, f));
    add_verdict_place(s, report, f);
    add_text(
        s,
        PS_SAY(
            lang,
            ". That costs at most %s of a step of %s (%.1f %%): %s a step would take %s or more%s",
            "。其代价最多为 %s，而每个 step 为 %s（%.1f %%）：%s，step 至少需要 %s%s"),
        ps_ns_text_of(f->gain_ns).text, ps_ns_text_of(report->step_ns).text,
        ps_percent(f->gain_ns, report->step_ns), without,
        ps_ns_text_of(after_ns > 0 ? after_ns : 0).text,
        f->is_assumed ? PS_SAY(lang, ", if what was not measured is as assumed",
                               "，前提是未测量的部分如假定所述")
                      : "");
    add_absorbed(s, f);
    add_text(s, PS_SAY(lang, ".", "。"));
    const told_findings told = {
        .detail = add_detail(s, report), .kernels = SIZE_MAX, .causes_follow = report};
    add_next(s, &report->findings, &told);
}

/* --- what whatif answers ----------------------------------------------------------------------------------------------- */

/* Of the rank whose ops the cause is about: its kernels are what is slow. SIZE_MAX: nothing says so. */
static size_t kernels_of_cause(const ps_findings *all, const ps_whatif_cause *c) {
    size_t i = 0;
    while (i < all->n && !(all->all[i].rule == PS_RULE_SLOW_KERNEL && c->rank >= 0 &&
                           all->all[i].rank == c->rank)) {
        i++;
    }
    return i < all->n ? i : SIZE_MAX;
}

/* With the cause gone it may be, too. */
static bool may_be_of_cause(const ps_finding *f, const ps_whatif_cause *c) {
    return is_effect(f) || ps_finding_may_wait_for(f, c->rank, c->stage);
}

/* The cause that costs most; NULL where none is known, or a finding of something that no graph holds costs more. */
static const ps_whatif_cause *leading_cause(const ps_report *report) {
    const ps_whatif_cause *c = report->replay.n_causes > 0 ? &report->replay.causes[0] : NULL;
    const ps_findings *all = &report->findings;
    for (size_t i = 0; c != NULL && i < all->n; i++) {
        bool is_more = !may_be_of_cause(&all->all[i], c) && i != finding_of_cause(all, c) &&
                       i != kernels_of_cause(all, c) &&
                       all->all[i].gain_ns > ps_report_cause_gain_ns(c);
        c = is_more ? NULL : c;
    }
    return c;
}

/* The findings of a cause. */
static void add_number(sentence *s, size_t finding, size_t kernels) {
    const ps_lang lang = s->lang;
    if (finding != SIZE_MAX && kernels != SIZE_MAX) {
        add_text(s,
                 PS_SAY(lang, " (finding %zu; its kernels: finding %zu)",
                        "（发现 %zu；其核函数：发现 %zu）"),
                 finding + 1, kernels + 1);
    } else if (finding != SIZE_MAX || kernels != SIZE_MAX) {
        add_text(s, PS_SAY(lang, " (finding %zu)", "（发现 %zu）"),
                 (finding != SIZE_MAX ? finding : kernels) + 1);
    }
}

/* The causes behind `told`. */
static void add_other_causes(sentence *s, const ps_report *report, const ps_whatif_cause *told) {
    const ps_lang lang = report->findings.lang;
    for (size_t i = 0; i < report->replay.n_causes; i++) {
        const ps_whatif_cause *c = &report->replay.causes[i];
        if (c != told) {
            add_text(s,
                     PS_SAY(lang, " %s %s: replayed, %s a step takes %s less",
                            "%s%s。重放表明，%s每个 step 少用 %s"),
                     told != NULL ? PS_SAY(lang, "Also:", "此外：")
                                  : PS_SAY(lang, "Next:", "其次："),
                     c->title, c->without, ps_ns_text_of(ps_report_cause_gain_ns(c)).text);
            add_number(s, finding_of_cause(&report->findings, c),
                       kernels_of_cause(&report->findings, c));
            add_text(s, PS_SAY(lang, ".", "。"));
        }
    }
}

/* A schedule is a way round any cause. Its finding, SIZE_MAX: none. */
static size_t add_schedule(sentence *s, const ps_findings *all, size_t told) {
    const ps_lang lang = all->lang;
    for (size_t i = 0; i < all->n && all->all[i].gain_ns > 0; i++) {
        if (all->all[i].rule == PS_RULE_OTHER_SCHEDULE) {
            add_text(s,
                     PS_SAY(lang, " Another schedule may win %s (finding %zu)",
                            "换一种调度可能赢得 %s（发现 %zu）"),
                     ps_ns_text_of(all->all[i].gain_ns).text, i + 1);
            add_shared(s, all, i, told);
            add_text(s, PS_SAY(lang, ".", "。"));
            return i;
        }
    }
    return SIZE_MAX;
}

static void say_cause(sentence *s, const ps_report *report, const ps_whatif_cause *c) {
    const ps_lang lang = report->findings.lang;
    size_t finding = finding_of_cause(&report->findings, c);
    int64_t gain_ns = ps_report_cause_gain_ns(c);
    add_text(s, "%s", c->title);
    size_t kernels = kernels_of_cause(&report->findings, c);
    add_number(s, finding, kernels);
    add_text(s,
             PS_SAY(lang, ". That costs %s of a step of %s (%.1f %%): replayed, %s it takes %s",
                    "。其代价为 %s，而每个 step 为 %s（%.1f %%）：重放表明，%s需要 %s"),
             ps_ns_text_of(gain_ns).text, ps_ns_text_of(report->step_ns).text,
             ps_percent(gain_ns, report->step_ns), c->without,
             ps_instead_of(lang, llround(c->step_ns), llround(c->before_ns)).text);
    add_text(s, PS_SAY(lang, ". Try first: %s.", "。先尝试：%s。"), c->remedy);
    add_other_causes(s, report, c);
    const told_findings told = {.cause = c,
                                .first = finding,
                                .detail = add_schedule(s, &report->findings, finding),
                                .kernels = kernels};
    add_next(s, &report->findings, &told);
}

/* Why gains are bounds although the job's steps are known. */
static void say_unexplained(sentence *s, const ps_report *report) {
    const ps_lang lang = report->findings.lang;
    const ps_whatif *w = &report->replay.whatif;
    if (report->replay.is_there && !report->replay.explains) {
        add_text(
            s,
            PS_SAY(
                lang,
                " The ops and who waits for whom explain %.0f %% of the measured step: gains are bounds, not "
                "replays.",
                "算子及其依赖只解释了实测 step 的 %.0f %%：收益是上界，而非重放值。"),
            100 * w->real_ns / w->measured_ns);
    }
}

static const ps_report_member *longest_member(const ps_report *report) {
    const ps_report_member *longest = NULL;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        bool is_longer = longest == NULL || m->step_ns > longest->step_ns;
        longest = m->computing_ns > 0 && is_longer ? m : longest;
    }
    return longest;
}

/* Where the longest rank's step goes, in a word. */
static void say_verdict_parts(sentence *s, const ps_report *report) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *m = longest_member(report);
    if (m != NULL) {
        add_text(s,
                 PS_SAY(lang, " Computing takes %.1f %% of the %s of rank %s (%s).",
                        "计算占 %.1f %%（%s，rank %s，%s）。"),
                 ps_percent(m->computing_ns, m->step_ns),
                 report->n_steps > 0 ? PS_SAY(lang, "step", "step") : PS_SAY(lang, "work", "工作"),
                 PS_RANK(m->rank), ps_ns_text_of(m->step_ns).text);
    }
}

static size_t number_of_thinned(const ps_report *report) {
    size_t i = 0;
    while (i < report->findings.n && report->findings.all[i].rule != PS_RULE_THINNED) {
        i++;
    }
    return i + 1;
}

/* What the capture cannot tell comes first. */
static void say_thinned(sentence *s, const ps_report *report) {
    const ps_lang lang = report->findings.lang;
    char text[512];
    if (report->findings.is_of_part && ps_report_say_thinned(report, text, sizeof text)) {
        add_text(s,
                 PS_SAY(lang, "%s, and much is not judged (finding %zu). ",
                        "%s，许多内容不作判断（发现 %zu）。"),
                 text, number_of_thinned(report));
    }
}

static void say_verdict(sentence *s, const ps_report *report) {
    const ps_lang lang = report->findings.lang;
    const ps_findings *f = &report->findings;
    const ps_whatif_cause *cause = leading_cause(report);
    say_thinned(s, report);
    if (cause != NULL) {
        say_cause(s, report, cause);
    } else if (f->n > 0 && f->all[0].gain_ns > 0) {
        say_largest(s, report, &f->all[0]);
        add_other_causes(s, report, NULL);
        say_unexplained(s, report);
    } else if (f->is_of_part) {
        add_text(
            s, PS_SAY(lang, "Collect again: the finding says how.", "请重新采集：方法见该发现。"));
    } else if (f->n > 0) {
        add_text(s,
                 PS_SAY(lang, "Of no finding is it known what a step would gain; the first: %s.",
                        "各项发现能带来多少收益都不得而知；第一项：%s。"),
                 ps_finding_title(lang, &f->all[0]));
        say_verdict_parts(s, report);
    } else {
        static const char *const SAID[][PS_N_LANGS] = {
            [PS_JUDGED_NOTHING] = {"Nothing could be judged: what is missing stands below.",
                                   "没有可判断的内容：缺少什么见下文。"},
            [PS_JUDGED_A_PART] = {"Nothing that could be judged is over its threshold.",
                                  "可判断的内容都没有超过阈值。"},
            [PS_JUDGED_ALL] = {"Nothing is over its threshold.", "没有超过阈值的。"}};
        add_text(s, "%s", SAID[ps_report_judged(report)][lang]);
        say_verdict_parts(s, report);
    }
}

ps_code ps_report_add_verdict(const ps_report *report, ps_err *err) {
    sentence s = {.lang = report->findings.lang};
    say_verdict(&s, report);
    const ps_findings *f = &report->findings;
    const ps_whatif_cause *cause = leading_cause(report);
    size_t told = cause != NULL ? finding_of_cause(f, cause) : 0;
    bool has_gain = cause != NULL || (f->n > 0 && f->all[0].gain_ns > 0);
    int64_t after_ns = cause != NULL ? (int64_t)llround(cause->step_ns)
                       : has_gain    ? report->step_ns - f->all[0].gain_ns
                                     : PS_UNKNOWN_INT;
    ps_table *t = ps_table_new("verdict", "what costs most", PS_COLUMNS(VERDICT));
    ps_table_put(t, &(verdict_row){.text = s.text,
                                   .finding = has_gain && told != SIZE_MAX ? (int64_t)told + 1
                                                                           : PS_UNKNOWN_INT,
                                   .step_ns = report->step_ns,
                                   .after_ns = after_ns});
    return ps_result_add(report->in->result, t, err);
}
