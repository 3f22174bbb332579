/* The rank that a rule's finding is about, on how many others it fires, and what is said of its step. */
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/num.h"

ps_worst ps_report_worst(const ps_report *report, ps_rule_id rule, ps_member_value of,
                         const void *what) {
    ps_worst worst = {.value = 0};
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        double here = of(report, m, what);
        worst.n_over += ps_rule_fires(&report->findings, rule, here);
        worst.member = here > worst.value ? m : worst.member;
        worst.value = here > worst.value ? here : worst.value;
    }
    worst.member = worst.n_over > 0 ? worst.member : NULL;
    return worst;
}

const char *ps_report_step_text(const ps_report *report, const ps_report_member *m,
                                char out[PS_STEP_TEXT]) {
    const ps_lang lang = report->findings.lang;
    ps_ns_text all = ps_ns_text_of(report->step_ns);
    ps_ns_text own = ps_ns_text_of(m->step_ns);
    if (m->step_ns == 0 || strcmp(all.text, own.text) == 0) {
        (void)snprintf(out, PS_STEP_TEXT, PS_SAY(lang, "a step of %s", "%s 的 step"), all.text);
    } else {
        (void)snprintf(out, PS_STEP_TEXT,
                       PS_SAY(lang, "its step of %s (shares are of the longest, %s)",
                              "其 %s 的 step（占比按最长的 %s 计）"),
                       own.text, all.text);
    }
    return out;
}

const ps_report_member *ps_report_first_of(const ps_report *report, int64_t rank) {
    uint32_t at = ps_idmap_get(&report->member_at, (uint64_t)rank);
    return at != PS_IDMAP_NONE ? &report->members[at] : NULL;
}

const ps_report_member *ps_report_member_of(const ps_report *report, int64_t rank) {
    return report->n_members == 1 ? &report->members[0]
           : rank >= 0            ? ps_report_first_of(report, rank)
                                  : NULL;
}

bool ps_report_has_launches(const ps_report *report, int64_t rank) {
    bool any = false;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        any = any || (m->rank == rank && m->facts->n_launches > 0);
    }
    return any;
}
