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
    }
    ps_free(f->all);
    ps_free(f->evidence);
    ps_arena_fini(&f->arena);
}

const char *ps_finding_title(const ps_finding *finding) {
    return finding->title != NULL ? finding->title : ps_rule_of(finding->rule)->title;
}

bool ps_rule_fires(const ps_findings *f, ps_rule_id rule, double value) {
    bool is_judged = !f->is_of_part || !ps_rule_needs_all(rule);
    return is_judged && value > f->thresholds[rule];
}

void ps_findings_add(ps_findings *f, ps_finding finding, const char *fmt, ...) {
    char text[4096];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t n = strlen(text);
    if (finding.n_over > 0 && f->n_ranks > 1) {
        (void)snprintf(text + n, sizeof text - n, " This rule fires on %zu of %zu ranks.",
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

void ps_findings_remedy(ps_findings *f, const char *remedy) {
    if (!f->failed && f->n > 0) {
        f->all[f->n - 1].remedy = copy_finding(f, remedy);
        f->failed = f->all[f->n - 1].remedy == NULL;
    }
}

void ps_finding_advice(const ps_finding *finding, ps_vendor vendor, char *out, size_t size) {
    const ps_rule *rule = ps_rule_of(finding->rule);
    if (finding->remedy != NULL) {
        (void)snprintf(out, size, "%s", finding->remedy);
    } else {
        ps_rule_advice(rule, vendor, out, size);
    }
}

double ps_percent(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

const char *ps_severity_of(int64_t gain_ns, int64_t step_ns) {
    double share = ps_percent(gain_ns, step_ns);
    return gain_ns <= 0 ? "info" : share >= 10 ? "high" : share >= 3 ? "medium" : "low";
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

enum {
    F_NUMBER,
    F_SECTION,
    F_SEVERITY,
    F_RULE,
    F_TITLE,
    F_TEXT,
    F_STAGE,
    F_RANK,
    F_GAIN,
    F_SHARE,
    F_SHARED,
    F_SHARED_WITH,
    F_VALUE,
    F_THRESHOLD,
    F_FIRES,
    F_ADVICE,
    N_F
};

static const ps_column FINDINGS[N_F] = {
    [F_NUMBER] = {.name = "finding", .type = PS_COL_INT},
    [F_SECTION] = {.name = "section", .type = PS_COL_TEXT},
    [F_SEVERITY] = {.name = "severity", .type = PS_COL_TEXT},
    [F_RULE] = {.name = "rule", .type = PS_COL_TEXT},
    [F_TITLE] = {.name = "title", .type = PS_COL_TEXT},
    [F_TEXT] = {.name = "what", .type = PS_COL_TEXT},
    [F_STAGE] = {.name = "stage", .type = PS_COL_INT},
    [F_RANK] = {.name = "rank", .type = PS_COL_INT},
    [F_GAIN] = {.name = "gain", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [F_SHARE] = {.name = "gain share", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [F_SHARED] = {.name = "shared", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [F_SHARED_WITH] = {.name = "shared with", .type = PS_COL_TEXT},
    [F_VALUE] = {.name = "value", .type = PS_COL_TEXT},
    [F_THRESHOLD] = {.name = "threshold", .type = PS_COL_TEXT},
    [F_FIRES] = {.name = "fires when", .type = PS_COL_TEXT},
    [F_ADVICE] = {.name = "try", .type = PS_COL_TEXT},
};

enum { E_FINDING, E_RANK, E_STEP, E_SINCE, E_AT, E_NAME, E_DURATION, E_NOTE, N_E };

static const ps_column EVIDENCE[N_E] = {
    [E_FINDING] = {.name = "finding", .type = PS_COL_INT},
    [E_RANK] = {.name = "rank", .type = PS_COL_INT},
    [E_STEP] = {.name = "step", .type = PS_COL_INT},
    [E_SINCE] = {.name = "from start", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [E_AT] = {.name = "at", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    [E_NAME] = {.name = "name", .type = PS_COL_TEXT},
    [E_DURATION] = {.name = "duration", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [E_NOTE] = {.name = "note", .type = PS_COL_TEXT},
};

/* "2, 3" */
static bool set_shared_with(ps_table *t, const ps_finding *x) {
    char text[PS_SHARED_MAX * 24];
    size_t at = 0;
    for (size_t i = 0; i < x->n_shared && at < sizeof text; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%zu", i > 0 ? ", " : "",
                               x->shared[i].with);
    }
    return at == 0 || ps_table_set_text(t, F_SHARED_WITH, text);
}

static bool add_finding(ps_table *t, const ps_finding *x, size_t number, ps_vendor vendor,
                        const double *thresholds, int64_t step_ns) {
    const ps_rule *rule = ps_rule_of(x->rule);
    double threshold = thresholds[x->rule];
    char value[32];
    char limit[32];
    char fires[512];
    char advice[1024];
    if (isnan(x->value)) {
        (void)snprintf(value, sizeof value, "not known");
    } else {
        ps_rule_value_text(rule, x->value, value, sizeof value);
    }
    ps_rule_value_text(rule, threshold, limit, sizeof limit);
    ps_rule_text(rule, threshold, fires, sizeof fires);
    ps_finding_advice(x, vendor, advice, sizeof advice);
    const char *severity = ps_severity_of(x->gain_ns, step_ns);
    severity = x->is_assumed && strcmp(severity, "high") == 0 ? "medium" : severity;
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, F_NUMBER, (int64_t)number);
    if (x->stage >= 0) {
        ps_table_set_int(t, F_STAGE, x->stage);
    }
    if (x->rank >= 0) {
        ps_table_set_int(t, F_RANK, x->rank);
    }
    if (x->gain_ns > 0) {
        ps_table_set_int(t, F_GAIN, x->gain_ns);
        ps_table_set_real(t, F_SHARE, ps_percent(x->gain_ns, step_ns));
    }
    if (x->shared_with > 0 && x->shared_ns > 0) {
        ps_table_set_int(t, F_SHARED, x->shared_ns);
    }
    return ps_table_set_text(t, F_SECTION, ps_section_name(rule->section)) &&
           ps_table_set_text(t, F_SEVERITY, severity) && ps_table_set_text(t, F_RULE, rule->name) &&
           ps_table_set_text(t, F_TITLE, ps_finding_title(x)) && set_shared_with(t, x) &&
           ps_table_set_text(t, F_TEXT, x->text) && ps_table_set_text(t, F_VALUE, value) &&
           ps_table_set_text(t, F_THRESHOLD, limit) && ps_table_set_text(t, F_FIRES, fires) &&
           ps_table_set_text(t, F_ADVICE, advice);
}

static bool add_evidence(ps_table *t, const ps_evidence *e, size_t number, int64_t start_ns) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, E_FINDING, (int64_t)number);
    if (e->rank >= 0) {
        ps_table_set_int(t, E_RANK, e->rank);
    }
    if (e->step != PS_STEP_OUTSIDE) {
        ps_table_set_int(t, E_STEP, e->step);
    }
    int64_t since = 0;
    if (e->start_ns != PS_NO_START) {
        ps_table_set_int(t, E_AT, e->start_ns);
        if (!__builtin_sub_overflow(e->start_ns, start_ns, &since)) {
            ps_table_set_int(t, E_SINCE, since);
        }
    }
    if (e->start_ns != PS_NO_START || e->dur_ns != 0) { /* else it is nothing that takes time */
        ps_table_set_int(t, E_DURATION, e->dur_ns);
    }
    return ps_table_set_text(t, E_NAME, e->name) && ps_table_set_text(t, E_NOTE, e->note);
}

enum { S_FINDING, S_WITH, S_SHARED, N_S };

static const ps_column SHARED[N_S] = {
    [S_FINDING] = {.name = "finding", .type = PS_COL_INT},
    [S_WITH] = {.name = "shared with", .type = PS_COL_INT},
    [S_SHARED] = {.name = "shared", .type = PS_COL_INT, .unit = PS_UNIT_NS},
};

static bool add_shared_rows(ps_table *t, const ps_finding *x, size_t number) {
    bool ok = true;
    for (size_t i = 0; ok && i < x->n_shared; i++) {
        ok = ps_table_add_row(t);
        if (ok) {
            ps_table_set_int(t, S_FINDING, (int64_t)number);
            ps_table_set_int(t, S_WITH, (int64_t)x->shared[i].with);
        }
        if (ok && x->shared[i].ns > 0) {
            ps_table_set_int(t, S_SHARED, x->shared[i].ns);
        }
    }
    return ok;
}

/* Takes the tables, whatever comes of it. */
static ps_code add_finding_tables(ps_result *result, ps_table *const *tables, size_t n,
                                  ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; i < n; i++) {
        if (code == PS_OK) {
            code = ps_result_add(result, tables[i], err);
        } else {
            ps_table_free(tables[i]);
        }
    }
    return code;
}

ps_code ps_findings_tables(const ps_findings *f, ps_vendor vendor, int64_t step_ns,
                           int64_t start_ns, ps_result *result, ps_err *err) {
    ps_table *findings = ps_table_new("findings", "findings", FINDINGS, N_F);
    ps_table *evidence = ps_table_new("evidence", "where to look", EVIDENCE, N_E);
    ps_table *shared = ps_table_new("shared", "findings that count the same time", SHARED, N_S);
    bool ok = !f->failed && findings != NULL && evidence != NULL && shared != NULL;
    for (size_t i = 0; ok && i < f->n; i++) {
        const ps_finding *x = &f->all[i];
        ok = add_finding(findings, x, i + 1, vendor, f->thresholds, step_ns) &&
             add_shared_rows(shared, x, i + 1);
        for (size_t k = 0; ok && k < x->n_evidence; k++) {
            ok = add_evidence(evidence, &f->evidence[x->first_evidence + k], i + 1, start_ns);
        }
    }
    if (!ok) {
        ps_table_free(findings);
        ps_table_free(evidence);
        ps_table_free(shared);
        return ps_fail_nomem(err);
    }
    ps_table *const tables[] = {findings, evidence, shared};
    return add_finding_tables(result, tables, sizeof tables / sizeof *tables, err);
}
