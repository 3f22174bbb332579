/* Whether the ranks' captures are all that their profilers saw. Where they are a part, rules that look at what lies between
 * events, or compare ranks, say nothing: findings.is_of_part. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"

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

/* The first rank of which too little is there to tell. */
static const ps_report_member *member_of_few(const ps_report *report) {
    for (size_t i = 0; i < report->n_members; i++) {
        bool is_few = report->members[i].facts->thinned.n_few > 0;
        if (is_few && report->findings.thresholds[PS_RULE_THINNED] < 100) {
            return &report->members[i];
        }
    }
    return NULL;
}

static bool say_too_few(const ps_report *report, char *out, size_t size) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *m = member_of_few(report);
    int64_t n = m != NULL ? m->facts->thinned.n_few : 0;
    if (m != NULL) {
        (void)snprintf(
            out, size,
            PS_SAY(lang,
                   "The capture of rank %s holds %lld event%s that its profiler numbered, too "
                   "few to tell whether others are missing",
                   "rank %s 的采集数据只有 %lld 个带编号的事件%.0s，太少，无法判断是否有缺失"),
            PS_RANK(m->rank), (long long)n, n == 1 ? "" : "s");
    }
    return m != NULL;
}

bool ps_report_say_thinned(const ps_report *report, char *out, size_t size) {
    const ps_lang lang = report->findings.lang;
    double limit = report->findings.thresholds[PS_RULE_THINNED];
    size_t n_over = 0;
    const ps_report_member *m = most_thinned(report, &n_over);
    if (m == NULL || n_over == 0) {
        return say_too_few(report, out, size);
    }
    char parts[256];
    ps_thinned_say(lang, &m->facts->thinned, limit, parts, sizeof parts);
    (void)snprintf(out, size,
                   PS_SAY(lang,
                          "The capture of rank %s holds only %s: what ran in between is unknown",
                          "rank %s 的采集数据只有 %s：其间运行了什么不得而知"),
                   PS_RANK(m->rank), parts);
    return true;
}

void ps_report_thinned(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    size_t n_over = 0;
    char text[512];
    const ps_report_member *m = most_thinned(report, &n_over);
    ps_finding found = {.rule = PS_RULE_THINNED, .n_over = n_over};
    if (!ps_report_say_thinned(report, text, sizeof text)) {
        return;
    }
    if (n_over > 0) {
        found.value = ps_thinned_percent(&m->facts->thinned);
    } else {
        m = member_of_few(report);
        found.value = NAN;
        found.title = PS_TOO_FEW_TITLE(lang);
    }
    found.rank = m->rank;
    found.stage = m->stage;
    report->findings.is_of_part = true;
    ps_findings_add(
        &report->findings, found,
        PS_SAY(
            lang,
            "%s, so idle time and its causes, exposed communication, shares of the computing, and "
            "differences between ranks are not judged.",
            "%s，因此空闲时间及其原因、未掩盖通信、计算占比以及 rank 间的差异不作判断。"),
        text);
    if (n_over == 0) {
        ps_findings_remedy(
            &report->findings,
            PS_SAY(
                lang,
                "Look whether this is the profiler's whole file, and take that; of a run "
                "that is this short collect whole steps.",
                "请确认这是否是采集工具的完整文件，并使用完整文件；若运行本来就这么短，请采集完整的 step。"));
    }
}
