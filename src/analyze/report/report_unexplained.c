/* A chart that explains too little of what the devices did. */
#include "analyze/report/report.h"
#include "base/alloc.h"
#include "base/num.h"

/* What the chart cannot know is said, and nothing is advised from it. Over all steps, as the chart judges. */
void ps_report_find_unexplained(ps_report *report) {
    const ps_chart *chart = report->chart;
    int64_t *work_ns = ps_calloc(chart->n_ranks, sizeof *work_ns);
    int64_t *other_ns = ps_calloc(chart->n_ranks, sizeof *other_ns);
    bool ok = work_ns != NULL && other_ns != NULL;
    for (size_t i = 0; ok && i < chart->n_figures; i++) {
        const ps_chart_figure *figure = &chart->figures[i];
        if (!figure->is_judged) {
            work_ns[figure->rank] = ps_i64_plus(work_ns[figure->rank], figure->work_ns);
            other_ns[figure->rank] = ps_i64_plus(other_ns[figure->rank], figure->other_ns);
        }
    }
    double most = 0;
    size_t worst = 0;
    for (size_t r = 0; ok && r < chart->n_ranks; r++) {
        double share = ps_percent(other_ns[r], work_ns[r]);
        worst = share > most ? r : worst;
        most = share > most ? share : most;
    }
    if (ok && ps_rule_fires(&report->findings, PS_RULE_UNEXPLAINED, most)) {
        ps_findings_add(&report->findings,
                        (ps_finding){.rule = PS_RULE_UNEXPLAINED,
                                     .rank = chart->ranks[worst].rank,
                                     .stage = chart->ranks[worst].stage,
                                     .value = most},
                        "%s", chart->unjudged);
    }
    report->findings.failed = report->findings.failed || !ok;
    ps_free(work_ns);
    ps_free(other_ns);
}
