/* What is saved on a rank and shortens no step: where a collective behind or beside it waits for a rank that was not captured, this rank
 * waits longer instead, until the absent one comes earlier, too. That ends with the last such wait of a step. */
#include <stdio.h>

#include "analyze/report/report.h"
#include "analyze/report/report_claims.h"
#include "analyze/report/report_gains.h"

/* For ranks that are not here, by names or by what all that are here do. */
static int64_t waited_for_absent_ns(const ps_report *report, const ps_report_member *m, size_t op) {
    const ps_comm_op_waits *w = &m->facts->comm_waits.ops[op];
    const ps_report_waited *x = ps_report_waited_by(report, m, w->most);
    int64_t named_ns = x != NULL && x->is_absent ? w->most_ns : 0;
    int64_t nameless_ns = ps_report_absent_within_ns(m, &m->facts->comm.ops[op]);
    return named_ns > nameless_ns ? named_ns : nameless_ns;
}

static int64_t start_of_step(const ps_report_rank *r, int64_t step) {
    for (size_t i = 0; i < r->n_steps; i++) {
        if (r->steps[i].has_step && r->steps[i].step == step) {
            return r->origin_ns + r->steps[i].step_start_ns;
        }
    }
    return r->first_ns;
}

/* Up to where such a wait ends: what is saved while it lasts, beside the collective, changes its end as little as what is saved
 * before it. */
static void find_absorbed(ps_report *report, ps_report_member *m) {
    const ps_comm_list *list = &m->facts->comm;
    int64_t sum_ns = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < list->n; i++) {
        const ps_comm_op *op = &list->ops[i];
        int64_t ns = op->look->is_p2p ? 0 : waited_for_absent_ns(report, m, i);
        if (ns >= PS_SIGNAL_NS) {
            sum_ns = ps_i64_plus(sum_ns, ns);
            ok = ps_intervals_add(&m->absorbed, start_of_step(m->facts, op->step),
                                  ps_i64_plus(op->start_ns, ns));
        }
    }
    ps_intervals_unite(&m->absorbed);
    int64_t per_step_ns = ps_report_per_step(m, sum_ns);
    if (!ps_rule_fires(&report->findings, PS_RULE_ABSENT_RANK,
                       ps_percent(per_step_ns, m->step_ns))) {
        ps_intervals_fini(&m->absorbed);
    }
    report->findings.failed = report->findings.failed || !ok;
}

void ps_report_find_absorbed(ps_report *report) {
    for (size_t i = 0; i < report->n_members; i++) {
        find_absorbed(report, &report->members[i]);
    }
}

int64_t ps_report_absorbed_ns(ps_report *report, const ps_finding *f) {
    const ps_report_member *m = ps_report_member_of(report, f->gain_rank);
    ps_common_time sum = {0};
    ps_intervals room = {0};
    if (m == NULL || m->absorbed.n == 0 || f->spans.n == 0) {
        return 0;
    }
    bool is_of_other = f->gain_rank != f->rank; /* whose claim is the gain itself */
    bool ok = !is_of_other || ps_report_claim_spans(m, f->rule, &room);
    ps_intervals_unite(&room);
    ok = ok && ps_report_add_common(m, is_of_other ? &room : &f->spans, &m->absorbed, &sum);
    ps_intervals_fini(&room);
    report->findings.failed = report->findings.failed || !ok;
    return ok ? ps_report_least_common_ns(&sum, is_of_other ? f->gain_ns : f->claimed_ns,
                                          f->gain_ns)
              : 0;
}

bool ps_report_all_absorb(const ps_report *report) {
    size_t n = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        n += report->members[i].absorbed.n > 0;
    }
    return n > 0 && n == report->n_members;
}
