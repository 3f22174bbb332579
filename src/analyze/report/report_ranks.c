/* The rank that a rule's finding is about, and on how many others it fires. */
#include "analyze/report/report.h"

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
