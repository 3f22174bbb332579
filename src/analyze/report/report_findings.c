#include "analyze/report/report_findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "base/alloc.h"

void ps_findings_fini(ps_findings *f) {
    for (size_t i = 0; i < f->n; i++) {
        ps_intervals_fini(&f->all[i].spans);
        for (size_t m = 0; m < f->all[i].n_spans_on; m++) {
            ps_intervals_fini(&f->all[i].spans_on[m]);
        }
        ps_free(f->all[i].spans_on);
    }
    ps_free(f->all);
    ps_free(f->evidence);
    ps_arena_fini(&f->arena);
}

const char *ps_finding_title(ps_lang lang, const ps_finding *finding) {
    return finding->title != NULL ? finding->title
                                  : ps_rule_words_of(ps_rule_of(finding->rule), lang)->title;
}

bool ps_rule_fires(const ps_findings *f, ps_rule_id rule, double value) {
    bool is_judged = !f->is_of_part || !ps_rule_of(rule)->needs_all;
    return is_judged && value > f->thresholds[rule];
}

void ps_findings_add(ps_findings *f, ps_finding finding, const char *fmt, ...) {
    const ps_lang lang = f->lang;
    char text[4096];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t n = strlen(text);
    if (finding.n_over > 0 && f->n_ranks > 1) {
        (void)snprintf(text + n, sizeof text - n,
                       PS_SAY(lang, " This rule fires on %zu of %zu ranks.",
                              "该规则在 %zu 个（共 %zu 个）rank 上触发。"),
                       finding.n_over, f->n_ranks);
    }
    finding.text = ps_arena_strndup(&f->arena, text, strlen(text));
    finding.first_evidence = f->n_evidence;
    finding.n_evidence = 0;
    finding.gain_rank = finding.rank;
    if (finding.text == NULL || !ps_grow(&f->all, &f->cap, f->n + 1, UINT32_MAX, sizeof *f->all)) {
        f->failed = true;
        return;
    }
    f->all[f->n++] = finding;
}

static const char *copy_finding(ps_findings *f, const char *text) {
    return ps_arena_strndup(&f->arena, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

void ps_findings_evidence(ps_findings *f, ps_evidence e) {
    if (f->failed || f->n == 0 || f->all[f->n - 1].n_evidence == PS_EVIDENCE_MAX) {
        return;
    }
    e.name = copy_finding(f, e.name);
    e.note = copy_finding(f, e.note);
    if (e.name == NULL || e.note == NULL ||
        !ps_grow(&f->evidence, &f->cap_evidence, f->n_evidence + 1, UINT32_MAX,
                 sizeof *f->evidence)) {
        f->failed = true;
        return;
    }
    f->evidence[f->n_evidence++] = e;
    f->all[f->n - 1].n_evidence++;
}

void ps_findings_span(ps_findings *f, int64_t start_ns, int64_t end_ns) {
    if (!f->failed && f->n > 0 && end_ns > start_ns) {
        f->failed = !ps_intervals_add(&f->all[f->n - 1].spans, start_ns, end_ns);
    }
}

void ps_findings_span_on(ps_findings *f, size_t member, int64_t start_ns, int64_t end_ns) {
    if (f->n_ranks < 2) {
        ps_findings_span(f, start_ns, end_ns);
        return;
    }
    if (f->failed || f->n == 0 || end_ns <= start_ns) {
        return;
    }
    ps_finding *x = &f->all[f->n - 1];
    if (x->spans_on == NULL) {
        x->spans_on = ps_calloc(f->n_ranks, sizeof *x->spans_on);
        x->n_spans_on = x->spans_on != NULL ? f->n_ranks : 0;
    }
    f->failed = x->spans_on == NULL || !ps_intervals_add(&x->spans_on[member], start_ns, end_ns);
}

void ps_findings_here(ps_findings *f, const char *here) {
    if (!f->failed && f->n > 0) {
        f->all[f->n - 1].here = copy_finding(f, here);
        f->failed = f->all[f->n - 1].here == NULL;
    }
}

void ps_findings_remedy(ps_findings *f, const char *remedy) {
    if (!f->failed && f->n > 0) {
        f->all[f->n - 1].remedy = copy_finding(f, remedy);
        f->failed = f->all[f->n - 1].remedy == NULL;
    }
}

void ps_findings_mend(ps_findings *f, const char *remedy, size_t at, int64_t rank) {
    ps_findings_remedy(f, remedy);
    if (!f->failed && f->n > 0) {
        f->all[f->n - 1].mend_at = at;
        f->all[f->n - 1].mend_rank = rank;
    }
}

void ps_finding_advice(ps_lang lang, const ps_finding *finding, ps_vendor vendor, char *out,
                       size_t size) {
    const ps_rule *rule = ps_rule_of(finding->rule);
    if (finding->remedy != NULL) {
        (void)snprintf(out, size, "%s", finding->remedy);
    } else {
        ps_rule_advice(lang, rule, vendor, out, size);
    }
}

const char *ps_severity_of(int64_t gain_ns, int64_t step_ns) {
    double share = ps_percent(gain_ns, step_ns);
    return gain_ns <= 0 ? "info" : share >= 10 ? "high" : share >= 3 ? "medium" : "low";
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

typedef struct finding_row {
    int64_t number, stage, rank, gain_ns, shared_ns;
    const char *gain_from; /* "replay" of the job's steps without the cause; else a "bound" */
    const char *shared_with, *section, *severity, *rule, *title, *text;
    double gain_share;
    char value[32], threshold[32], fires[512], advice[1024];
} finding_row;

static const ps_column FINDINGS[] = {
    {.name = "finding", PS_FIELD(finding_row, number)},
    {.name = "section", PS_FIELD(finding_row, section)},
    {.name = "severity", PS_FIELD(finding_row, severity)},
    {.name = "rule", PS_FIELD(finding_row, rule)},
    {.name = "title", PS_FIELD(finding_row, title)},
    {.name = "what", PS_FIELD(finding_row, text)},
    {.name = "stage", PS_FIELD(finding_row, stage), .unknown_below_zero = true},
    {.name = "rank", PS_FIELD(finding_row, rank), .unknown_below_zero = true},
    {.name = "gain", PS_FIELD(finding_row, gain_ns), .unit = PS_UNIT_NS},
    {.name = "gain share", PS_FIELD(finding_row, gain_share), .unit = PS_UNIT_PERCENT},
    {.name = "gain from", PS_FIELD(finding_row, gain_from)},
    {.name = "shared", PS_FIELD(finding_row, shared_ns), .unit = PS_UNIT_NS},
    {.name = "shared with", PS_FIELD(finding_row, shared_with)},
    {.name = "value", PS_FIELD(finding_row, value)},
    {.name = "threshold", PS_FIELD(finding_row, threshold)},
    {.name = "fires when", PS_FIELD(finding_row, fires)},
    {.name = "try", PS_FIELD(finding_row, advice)},
};

typedef struct evidence_row {
    int64_t finding, step, since_ns, at_ns, dur_ns;
    ps_evidence of;
} evidence_row;

static const ps_column EVIDENCE[] = {
    {.name = "finding", PS_FIELD(evidence_row, finding)},
    {.name = "rank", PS_FIELD(evidence_row, of.rank), .unknown_below_zero = true},
    {.name = "step", PS_FIELD(evidence_row, step)},
    {.name = "from start", PS_FIELD(evidence_row, since_ns), .unit = PS_UNIT_NS},
    {.name = "at", PS_FIELD(evidence_row, at_ns), .unit = PS_UNIT_NS, .exact = true},
    {.name = "name", PS_FIELD(evidence_row, of.name)},
    {.name = "duration", PS_FIELD(evidence_row, dur_ns), .unit = PS_UNIT_NS},
    {.name = "note", PS_FIELD(evidence_row, of.note)},
};

/* "2, 3"; "" with none. */
static void say_shared_with(const ps_finding *x, char *out, size_t size) {
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < x->n_shared && at < size; i++) {
        at += (size_t)snprintf(out + at, size - at, "%s%zu", i > 0 ? ", " : "", x->shared[i].with);
    }
}

static void put_finding(ps_lang lang, ps_table *t, const ps_finding *x, size_t number,
                        ps_vendor vendor, const double *thresholds, int64_t step_ns) {
    const ps_rule *rule = ps_rule_of(x->rule);
    const char *severity = ps_severity_of(x->gain_ns, step_ns);
    bool has_gain = x->gain_ns > 0;
    bool is_shared = x->shared_with > 0;
    char shared_with[PS_SHARED_MAX * 24];
    say_shared_with(x, shared_with, sizeof shared_with);
    finding_row row = {
        .number = (int64_t)number,
        .stage = x->stage,
        .rank = x->rank,
        .gain_ns = has_gain ? x->gain_ns : PS_UNKNOWN_INT,
        .gain_from = !has_gain        ? NULL
                     : x->is_replayed ? "replay"
                                      : "bound",
        .gain_share = has_gain ? ps_percent(x->gain_ns, step_ns) : NAN,
        .shared_ns = is_shared && x->shared_ns > 0 ? x->shared_ns : PS_UNKNOWN_INT,
        .shared_with = is_shared ? shared_with : NULL,
        .section = ps_section_name(rule->section),
        .severity = x->is_assumed && strcmp(severity, "high") == 0 ? "medium" : severity,
        .rule = rule->name,
        .title = ps_finding_title(lang, x),
        .text = x->text,
    };
    if (x->here != NULL) {
        (void)snprintf(row.value, sizeof row.value, "%s", x->here);
    } else if (isnan(x->value)) {
        (void)snprintf(row.value, sizeof row.value, PS_SAY(lang, "not known", "未知"));
    } else {
        ps_rule_value_text(lang, rule, x->value, row.value, sizeof row.value);
    }
    ps_rule_value_text(lang, rule, thresholds[x->rule], row.threshold, sizeof row.threshold);
    ps_rule_text(lang, rule, thresholds[x->rule], row.fires, sizeof row.fires);
    ps_finding_advice(lang, x, vendor, row.advice, sizeof row.advice);
    ps_table_put(t, &row);
}

static void put_evidence(ps_table *t, const ps_evidence *e, size_t number, int64_t start_ns) {
    bool has_start = e->start_ns != PS_NO_START;
    bool takes_time = has_start || e->dur_ns != 0;
    int64_t since = 0;
    bool has_since = has_start && !__builtin_sub_overflow(e->start_ns, start_ns, &since);
    ps_table_put(t, &(evidence_row){.finding = (int64_t)number,
                                    .step = e->step != PS_STEP_OUTSIDE ? e->step : PS_UNKNOWN_INT,
                                    .since_ns = has_since ? since : PS_UNKNOWN_INT,
                                    .at_ns = has_start ? e->start_ns : PS_UNKNOWN_INT,
                                    .dur_ns = takes_time ? e->dur_ns : PS_UNKNOWN_INT,
                                    .of = *e});
}

typedef struct shared_row {
    int64_t finding, with, ns;
} shared_row;

static const ps_column SHARED[] = {
    {.name = "finding", PS_FIELD(shared_row, finding)},
    {.name = "shared with", PS_FIELD(shared_row, with)},
    {.name = "shared", PS_FIELD(shared_row, ns), .unit = PS_UNIT_NS},
};

static void put_shared_rows(ps_table *t, const ps_finding *x, size_t number) {
    for (size_t i = 0; i < x->n_shared; i++) {
        int64_t ns = x->shared[i].ns > 0 ? x->shared[i].ns : PS_UNKNOWN_INT;
        ps_table_put(t, &(shared_row){(int64_t)number, (int64_t)x->shared[i].with, ns});
    }
}

ps_code ps_findings_tables(const ps_findings *f, ps_vendor vendor, int64_t step_ns,
                           int64_t start_ns, ps_result *result, ps_err *err) {
    ps_table *findings = ps_table_new("findings", "findings", PS_COLUMNS(FINDINGS));
    ps_table *evidence = ps_table_new("evidence", "where to look", PS_COLUMNS(EVIDENCE));
    ps_table *shared =
        ps_table_new("shared", "findings that count the same time", PS_COLUMNS(SHARED));
    if (f->failed) {
        ps_table_fail(findings);
    }
    for (size_t i = 0; i < f->n; i++) {
        const ps_finding *x = &f->all[i];
        put_finding(f->lang, findings, x, i + 1, vendor, f->thresholds, step_ns);
        put_shared_rows(shared, x, i + 1);
        for (size_t k = 0; k < x->n_evidence; k++) {
            put_evidence(evidence, &f->evidence[x->first_evidence + k], i + 1, start_ns);
        }
    }
    ps_result_give(result, findings);
    ps_result_give(result, evidence);
    ps_result_give(result, shared);
    return ps_result_code(result, err);
}

bool ps_findings_has(const ps_findings *f, ps_rule_id rule) {
    for (size_t i = 0; i < f->n; i++) {
        if (f->all[i].rule == rule) {
            return true;
        }
    }
    return false;
}
