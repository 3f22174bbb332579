/* The verdict: one paragraph that says what costs most, what to do about it and what a step would then take. Every page that
 * shows the report begins with it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"
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
    if (report->n_members == 1) {
        return;
    }
    if (f->rank >= 0 && f->stage >= 0) {
        add_text(s, ", worst on rank %s (stage %d)", PS_RANK(f->rank), (int)f->stage);
    } else if (f->rank >= 0) {
        add_text(s, ", worst on rank %s", PS_RANK(f->rank));
    }
}

/* Up to the first full stop that ends a sentence. */
static void add_first_sentence(sentence *s, const char *text) {
    const char *end = text;
    while (*end != '\0' && !(*end == '.' && (end[1] == ' ' || end[1] == '\0'))) {
        end++;
    }
    add_text(s, "%.*s.", (int)(end - text), text);
}

static void add_advice(sentence *s, const ps_report *report, const ps_finding *f) {
    char advice[1024];
    ps_finding_advice(f, report->vendor, advice, sizeof advice);
    if (advice[0] != '\0') {
        add_text(s, " Try first: ");
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
    const ps_findings *all = &report->findings;
    bool is_most = false;
    size_t detail = detail_of_first(all, &is_most);
    const ps_finding *f = &all->all[detail];
    if (detail > 0 && is_most) {
        add_text(s, " Most of it is finding %zu: %s (%s).", detail + 1, ps_finding_title(f),
                 ps_ns_text_of(f->gain_ns).text);
    } else if (detail > 0) {
        add_text(s, " Finding %zu says how to win %s of it: %s.", detail + 1,
                 ps_ns_text_of(f->gain_ns).text, ps_finding_title(f));
    }
    add_advice(s, report, is_most ? f : &all->all[0]);
    return detail;
}

/* What of the finding counts in another one, too: `ns`, or 0 where nobody knows how much. */
static void say_shared(sentence *s, const ps_finding *f, size_t number, int64_t ns) {
    if (ns == 0) {
        add_text(s, ", which may count time of finding %zu, too", number);
    } else if (ns >= f->gain_ns) {
        add_text(s, ", which counts in finding %zu, too", number);
    } else {
        add_text(s, ", of which %s count in finding %zu, too", ps_ns_text_of(ns).text, number);
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
    if (f->absorbed_ns > f->gain_ns / 10) {
        add_text(s, "; %s of it only once ranks that were not captured come earlier",
                 ps_ns_text_of(f->absorbed_ns).text);
    }
}

/* The bubble, its stalls and other schedules are what a cause does to the pipeline, or a way round it. */
static bool is_effect(const ps_finding *f) {
    return ps_rule_of(f->rule)->section == PS_SECTION_PIPELINE;
}

/* The next largest, but for two that were told (SIZE_MAX: none). The ends of a step are a place, and no more than the first where
 * that has them, too. */
static void add_next(sentence *s, const ps_findings *all, size_t told, size_t detail) {
    for (size_t i = 0; i < all->n && all->all[i].gain_ns > 0; i++) {
        const ps_finding *f = &all->all[i];
        bool is_judged = i == told || i == detail ||
                         (f->rule == PS_RULE_BEFORE_FIRST_WORK && f->shared_with > 0);
        if (!is_judged) {
            add_text(s, " Next: %s, at most %s (finding %zu)", ps_finding_title(f),
                     ps_ns_text_of(f->gain_ns).text, i + 1);
            bool is_cause_of = told == SIZE_MAX && is_effect(f);
            if (is_cause_of) { /* a cause without a finding, and what it does to the pipeline */
                add_text(s, ", which may count the same time");
            } else {
                add_shared(s, all, i, told);
            }
            add_absorbed(s, f);
            add_text(s, ".");
            return;
        }
    }
}

static void say_largest(sentence *s, const ps_report *report, const ps_finding *f) {
    int64_t after_ns = report->step_ns - f->gain_ns;
    char without[128] = "without it";
    if (f->replayed != NULL) { /* no schedule has no bubble: the gain is that of the best one */
        (void)snprintf(without, sizeof without, "with the best that was replayed (%.64s)",
                       f->replayed);
    }
    add_text(s, "%s", ps_finding_title(f));
    add_verdict_place(s, report, f);
    add_text(s,
             ". That costs at most %s of a step of %s (%.1f %%): %s a step would take %s or more%s",
             ps_ns_text_of(f->gain_ns).text, ps_ns_text_of(report->step_ns).text,
             ps_percent(f->gain_ns, report->step_ns), without,
             ps_ns_text_of(after_ns > 0 ? after_ns : 0).text,
             f->is_assumed ? ", if what was not measured is as assumed" : "");
    add_absorbed(s, f);
    add_text(s, ".");
    size_t detail = add_detail(s, report);
    add_next(s, &report->findings, 0, detail);
}

/* --- what whatif answers ----------------------------------------------------------------------------------------------- */

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

/* The cause that costs most; NULL where none is known, or a finding of something that no graph holds costs more. */
static const ps_whatif_cause *leading_cause(const ps_report *report) {
    const ps_whatif_cause *c = report->replay.n_causes > 0 ? &report->replay.causes[0] : NULL;
    const ps_findings *all = &report->findings;
    for (size_t i = 0; c != NULL && i < all->n; i++) {
        bool is_more = !is_effect(&all->all[i]) && i != finding_of_cause(all, c) &&
                       all->all[i].gain_ns > ps_report_cause_gain_ns(c);
        c = is_more ? NULL : c;
    }
    return c;
}

static void add_number(sentence *s, size_t finding) {
    if (finding != SIZE_MAX) {
        add_text(s, " (finding %zu)", finding + 1);
    }
}

/* The causes behind `told`. */
static void add_other_causes(sentence *s, const ps_report *report, const ps_whatif_cause *told) {
    for (size_t i = 0; i < report->replay.n_causes; i++) {
        const ps_whatif_cause *c = &report->replay.causes[i];
        if (c != told) {
            add_text(s, " %s %s: replayed, %s a step takes %s less",
                     told != NULL ? "Also:" : "Next:", c->title, c->without,
                     ps_ns_text_of(ps_report_cause_gain_ns(c)).text);
            add_number(s, finding_of_cause(&report->findings, c));
            add_text(s, ".");
        }
    }
}

/* A schedule is a way round any cause. Its finding, SIZE_MAX: none. */
static size_t add_schedule(sentence *s, const ps_findings *all, size_t told) {
    for (size_t i = 0; i < all->n && all->all[i].gain_ns > 0; i++) {
        if (all->all[i].rule == PS_RULE_OTHER_SCHEDULE) {
            add_text(s, " Another schedule may win %s (finding %zu)",
                     ps_ns_text_of(all->all[i].gain_ns).text, i + 1);
            add_shared(s, all, i, told);
            add_text(s, ".");
            return i;
        }
    }
    return SIZE_MAX;
}

static void say_cause(sentence *s, const ps_report *report, const ps_whatif_cause *c) {
    size_t finding = finding_of_cause(&report->findings, c);
    int64_t gain_ns = ps_report_cause_gain_ns(c);
    add_text(s, "%s", c->title);
    add_number(s, finding);
    add_text(s, ". That costs %s of a step of %s (%.1f %%): replayed, %s it takes %s instead of %s",
             ps_ns_text_of(gain_ns).text, ps_ns_text_of(report->step_ns).text,
             ps_percent(gain_ns, report->step_ns), c->without,
             ps_ns_text_of((int64_t)llround(c->step_ns)).text,
             ps_ns_text_of((int64_t)llround(c->before_ns)).text);
    add_text(s, ". Try first: %s.", c->remedy);
    add_other_causes(s, report, c);
    size_t schedule = add_schedule(s, &report->findings, finding);
    add_next(s, &report->findings, finding, schedule);
}

/* Why gains are bounds although the job's steps are known. */
static void say_unexplained(sentence *s, const ps_report *report) {
    const ps_whatif *w = &report->replay.whatif;
    if (report->replay.is_there && !report->replay.explains) {
        add_text(
            s,
            " The ops and who waits for whom explain %.0f %% of the measured step: gains are bounds, not "
            "replays.",
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
    const ps_report_member *m = longest_member(report);
    if (m != NULL) {
        add_text(s, " Computing takes %.1f %% of the %s of rank %s (%s).",
                 ps_percent(m->computing_ns, m->step_ns), report->n_steps > 0 ? "step" : "work",
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
    char text[512];
    if (report->findings.is_of_part && ps_report_say_thinned(report, text, sizeof text)) {
        add_text(s, "%s, and much is not judged (finding %zu). ", text, number_of_thinned(report));
    }
}

static void say_verdict(sentence *s, const ps_report *report) {
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
        add_text(s, "Collect again: the finding says how.");
    } else if (f->n > 0) {
        add_text(s, "Of no finding is it known what a step would gain; the first: %s.",
                 ps_finding_title(&f->all[0]));
        say_verdict_parts(s, report);
    } else {
        static const char *const SAID[] = {
            [PS_JUDGED_NOTHING] = "Nothing could be judged: what is missing stands below.",
            [PS_JUDGED_A_PART] = "Nothing that could be judged is over its threshold.",
            [PS_JUDGED_ALL] = "Nothing is over its threshold."};
        add_text(s, "%s", SAID[ps_report_judged(report)]);
        say_verdict_parts(s, report);
    }
}

ps_code ps_report_add_verdict(const ps_report *report, ps_err *err) {
    sentence s = {.n = 0};
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
