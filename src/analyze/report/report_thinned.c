/* Whether the ranks' captures are all that their profilers saw. Where they are a part, rules that look at what lies between
 * events, or compare ranks, say nothing: findings.is_of_part. */
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/num.h"

static const ps_report_member *most_thinned(const ps_report *report, size_t *n_over) {
    double limit = report->findings.thresholds[PS_RULE_THINNED];
    const ps_report_member *worst = NULL;
    double most = 0;
    *n_over = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        double missing = ps_thinned_percent(&report->members[i].facts->thinned);
        *n_over += missing > limit;
        worst = missing > most ? &report->members[i] : worst;
        most = missing > most ? missing : most;
    }
    return worst;
}

/* "2402 of 238287 events that its profiler numbered (1.0 %)" for each part of which something is missing. */
static void say_thinned_parts(const ps_thinned *t, double limit, char *out, size_t size) {
    const struct {
        const ps_missing_part *part;
        const char *of;
    } parts[] = {{&t->events, "events that its profiler numbered"},
                 {&t->launches, "launches of its kernels"},
                 {&t->kernels, "kernels of its launches"}};
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts && at < size; i++) {
        const ps_missing_part *p = parts[i].part;
        double missing = ps_percent(p->n, p->of);
        if (missing > limit) {
            at += (size_t)snprintf(out + at, size - at, "%s%lld of %lld %s (%.3g %%)",
                                   at > 0 ? ", " : "", (long long)(p->of - p->n), (long long)p->of,
                                   parts[i].of, 100 - missing);
        }
    }
}

bool ps_report_say_thinned(const ps_report *report, char *out, size_t size) {
    double limit = report->findings.thresholds[PS_RULE_THINNED];
    size_t n_over = 0;
    const ps_report_member *m = most_thinned(report, &n_over);
    if (m == NULL || n_over == 0) {
        return false;
    }
    char parts[256];
    say_thinned_parts(&m->facts->thinned, limit, parts, sizeof parts);
    (void)snprintf(out, size,
                   "The capture of rank %s holds only %s: what ran in between is unknown",
                   PS_RANK(m->rank), parts);
    return true;
}

void ps_report_thinned(ps_report *report) {
    size_t n_over = 0;
    const ps_report_member *m = most_thinned(report, &n_over);
    char text[512];
    double missing = m != NULL ? ps_thinned_percent(&m->facts->thinned) : 0;
    if (!ps_rule_fires(&report->findings, PS_RULE_THINNED, missing) ||
        !ps_report_say_thinned(report, text, sizeof text)) {
        return;
    }
    report->findings.is_of_part = true;
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_THINNED,
                     .rank = m->rank,
                     .stage = m->stage,
                     .value = missing,
                     .n_over = n_over},
        "%s, so idle time and its causes, exposed communication, shares of the computing, and "
        "differences between ranks are not judged.",
        text);
}
