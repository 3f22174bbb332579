/* Operators over SDMA that are slow while matrix products run: both move data through the same memory. The rate of an operator is what the
 * profile's own table says of all its packets over SDMA, which sums up HCCS, PCIe and SIO. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"
#include "analyze/stats/intervals.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

#define LEAST_SHARE 1.0 /* of the step, percent: what takes less is no finding */

/* What the profile says of an operator over SDMA; its tables write "name@group". */
typedef struct sdma_rate {
    const char *name;
    size_t n; /* of its bytes */
    double rate;
} sdma_rate;

static int compare_rates(const sdma_rate *a, const sdma_rate *b) {
    int order = memcmp(a->name, b->name, a->n < b->n ? a->n : b->n);
    return order != 0 ? order : a->n < b->n ? -1 : a->n > b->n;
}

static int by_name_of_rate(const void *a, const void *b) {
    return compare_rates(a, b);
}

/* GB/s; 0: not known. */
static double rate_of_row(const ps_comm_bandwidth *row) {
    double rate = row->bandwidth > 0 ? row->bandwidth : row->size / row->time; /* MB in ms */
    return isfinite(rate) && rate > 0 ? rate : 0;
}

/* By name. The caller frees it with ps_free(); NULL: memory is out. */
static sdma_rate *rates_by_name(const ps_report_member *m, size_t *n) {
    const ps_comm_tables *t = m->facts->part != NULL ? &m->facts->part->tables : NULL;
    sdma_rate *all = ps_calloc((t != NULL ? t->n_bandwidths : 0) + 1, sizeof *all);
    *n = 0;
    for (size_t i = 0; all != NULL && t != NULL && i < t->n_bandwidths; i++) {
        const ps_comm_bandwidth *row = &t->bandwidths[i];
        const char *name = ps_comm_tables_text(t, row->op);
        double rate = rate_of_row(row);
        if (rate > 0 && strcmp(ps_comm_tables_text(t, row->transport), "SDMA") == 0) {
            all[(*n)++] = (sdma_rate){name, strcspn(name, "@"), rate};
        }
    }
    if (all != NULL) {
        ps_sort(all, *n, sizeof *all, by_name_of_rate);
    }
    return all;
}

static double rate_of_op(const sdma_rate *all, size_t n, const ps_report_member *m,
                         const ps_comm_op *op) {
    const char *name = ps_comm_text(&m->facts->comm, op->name);
    sdma_rate wanted = {name, strlen(name), 0};
    PS_PLACE(size_t, at, 0, n, i, compare_rates(&all[i], &wanted) < 0)
    return at < n && compare_rates(&all[at], &wanted) == 0 ? all[at].rate : 0;
}

/* When matrix products ran, united; of very many the longest are known. False: memory is out. */
static bool products_of(const ps_report_member *m, ps_intervals *out) {
    bool ok = true;
    for (size_t i = 0; ok && i < m->facts->n_kernels; i++) {
        const ps_report_kernel *k = &m->facts->kernels[i];
        for (size_t r = 0; ok && k->family == PS_FAMILY_MATMUL && r < k->n_runs; r++) {
            int64_t end_ns = k->runs[r].end_ns;
            ok = ps_intervals_add(out, end_ns - k->runs[r].dur_ns, end_ns);
        }
    }
    ps_intervals_unite(out);
    return ok;
}

/* Slow operators of a member beside products. */
typedef struct contended {
    const ps_report_member *member;
    const ps_comm_op *longest;
    double rate; /* of the longest */
    size_t n;
    int64_t sum_ns, beside_ns; /* in a step */
} contended;

static void add_contended(contended *c, const ps_comm_op *op, double rate, int64_t beside_ns) {
    if (c->longest == NULL || ps_comm_op_ns(op) > ps_comm_op_ns(c->longest)) {
        c->longest = op;
        c->rate = rate;
    }
    c->sum_ns = ps_i64_plus(c->sum_ns, ps_comm_op_ns(op));
    c->beside_ns = ps_i64_plus(c->beside_ns, beside_ns);
    c->n++;
}

/* False: memory is out. */
static bool gather_contended(const ps_report *report, const ps_report_member *m, contended *out) {
    double least = report->findings.thresholds[PS_RULE_SDMA_CONTENTION];
    size_t n = 0;
    ps_intervals products = {0};
    sdma_rate *rates = rates_by_name(m, &n);
    bool ok = rates != NULL && (n == 0 || products_of(m, &products));
    *out = (contended){.member = m};
    for (size_t i = 0; ok && n > 0 && i < m->facts->comm.n; i++) {
        const ps_comm_op *op = &m->facts->comm.ops[i];
        double rate = op->step != PS_STEP_OUTSIDE ? rate_of_op(rates, n, m, op) : 0;
        int64_t beside_ns = rate > 0 && rate < least
                                ? ps_intervals_within_ns(&products, op->start_ns, op->end_ns)
                                : 0;
        if (beside_ns > 0) {
            add_contended(out, op, rate, beside_ns);
        }
    }
    if (m->facts->n_steps > 0) {
        out->sum_ns /= (int64_t)m->facts->n_steps;
        out->beside_ns /= (int64_t)m->facts->n_steps;
    }
    ps_intervals_fini(&products);
    ps_free(rates);
    return ok;
}

static void say_contended(ps_report *report, const contended *c, size_t n_over) {
    const ps_lang lang = report->findings.lang;
    const ps_report_member *m = c->member;
    const char *name = ps_comm_text(&m->facts->comm, c->longest->name);
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_SDMA_CONTENTION,
                     .rank = m->rank,
                     .stage = m->stage,
                     .value = c->rate,
                     .n_over = n_over},
        PS_SAY(
            lang,
            "On rank %s %zu operator%s over SDMA %s below %.4g GB/s while matrix products run: %s in a step, for %s of it "
            "beside them.",
            "rank %s 上有 %zu 个%.0s SDMA 算子%.0s在矩阵乘运行期间低于 %.4g GB/s：每个 step 共 %s，其中 %s 与矩阵乘并行。"),
        PS_RANK(m->rank), c->n, c->n == 1 ? "" : "s", c->n == 1 ? "stays" : "stay",
        report->findings.thresholds[PS_RULE_SDMA_CONTENTION], ps_ns_text_of(c->sum_ns).text,
        ps_ns_text_of(c->beside_ns).text);
    char note[64];
    (void)snprintf(note, sizeof note, "%.3g GB/s", c->rate);
    ps_findings_evidence(&report->findings, (ps_evidence){.rank = m->rank,
                                                          .step = c->longest->step,
                                                          .start_ns = c->longest->start_ns,
                                                          .dur_ns = ps_comm_op_ns(c->longest),
                                                          .name = name,
                                                          .note = note});
}

/* How fast they would be alone is not known: there is no gain. */
void ps_report_find_contention(ps_report *report) {
    contended most = {0};
    size_t n_over = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        contended here;
        if (!gather_contended(report, &report->members[i], &here)) {
            report->findings.failed = true;
            return;
        }
        n_over += ps_percent(here.sum_ns, report->step_ns) > LEAST_SHARE;
        most = here.sum_ns > most.sum_ns ? here : most;
    }
    if (ps_percent(most.sum_ns, report->step_ns) > LEAST_SHARE) {
        say_contended(report, &most, n_over);
    }
}
