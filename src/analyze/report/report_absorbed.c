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
        int64_t ns = op->is_p2p ? 0 : waited_for_absent_ns(report, m, i);
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
    ps_intervals both = {0};
    ps_intervals room = {0};
    if (m == NULL || m->absorbed.n == 0 || f->spans.n == 0) {
        return 0;
    }
    if (f->gain_rank != f->rank && !ps_report_claim_spans(m, f->rule, &room)) {
        report->findings.failed = true;
    }
    ps_intervals_unite(&room);
    const ps_intervals *spans = f->gain_rank != f->rank ? &room : &f->spans;
    if (!ps_intervals_both(&m->absorbed, spans, &both)) {
        report->findings.failed = true;
    }
    int64_t n_steps = ps_report_steps_of(m);
    int64_t ns = ps_intervals_length_ns(&both) / n_steps;
    int64_t elsewhere_ns = ps_intervals_length_ns(spans) / n_steps - ns;
    ps_intervals_fini(&both);
    ps_intervals_fini(&room);
    return ps_report_part_of_gain(f->gain_ns, ns, elsewhere_ns);
}

bool ps_report_all_absorb(const ps_report *report) {
    size_t n = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        n += report->members[i].absorbed.n > 0;
    }
    return n > 0 && n == report->n_members;
}
