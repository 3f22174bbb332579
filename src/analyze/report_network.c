/* Links and packets, from what the profile's own communication tables say, and the sizes of messages. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/marks.h"
#include "analyze/report.h"
#include "base/alloc.h"

/* --- links ----------------------------------------------------------------------------------------------------------- */

typedef struct link {
    const ps_report_link *link;
    const ps_report_member *member;
    double bandwidth; /* MB / ms = GB/s */
} link;

typedef struct slow {
    const link *link;
    double median;
    size_t n_like;
} slow;

static int compare_reals(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

#define LEAST_LIKE 4 /* links to compare with */

static int compare_links(const void *a, const void *b) {
    const link *x = a;
    const link *y = b;
    int c = strcmp(x->link->transport, y->link->transport);
    if (c != 0) {
        return c;
    }
    if (x->link->size_mb != y->link->size_mb) {
        return x->link->size_mb < y->link->size_mb ? -1 : 1;
    }
    if (x->member != y->member) {
        return x->member < y->member ? -1 : 1;
    }
    return x->link < y->link ? -1 : x->link > y->link;
}

/* Sorted by transport and size, those of half to double the size are neighbours. */
static double median_of_like(const link *all, size_t n, size_t of, double *scratch,
                             size_t *n_like) {
    const ps_report_link *own = all[of].link;
    *n_like = 0;
    size_t from = of;
    while (from > 0 && strcmp(all[from - 1].link->transport, own->transport) == 0 &&
           all[from - 1].link->size_mb >= own->size_mb / 2 && of - from < 128) {
        from--;
    }
    for (size_t i = from; i < n && strcmp(all[i].link->transport, own->transport) == 0 &&
                          all[i].link->size_mb <= own->size_mb * 2 && *n_like < 256;
         i++) {
        scratch[(*n_like)++] = all[i].bandwidth;
    }
    qsort(scratch, *n_like, sizeof *scratch, compare_reals);
    return *n_like > 0 ? scratch[*n_like / 2] : 0;
}

/* The other end by its global number: the rank that has this number in the group, where it was read. */
static int64_t far_rank(const link *all, size_t n, const ps_report_link *of) {
    for (size_t i = 0; i < n; i++) {
        if (all[i].link->from == of->to && strcmp(all[i].link->group, of->group) == 0) {
            return all[i].member->rank;
        }
    }
    return -1;
}

static void show_link(ps_report *report, const slow *s, const link *all, size_t n) {
    const ps_report_link *l = s->link->link;
    int64_t far = far_rank(all, n, l);
    char name[96];
    char note[128];
    if (far >= 0) {
        (void)snprintf(name, sizeof name, "%.32s to rank %lld", l->transport, (long long)far);
    } else {
        (void)snprintf(name, sizeof name, "%.32s to %lld of group %.24s", l->transport,
                       (long long)l->to, l->group);
    }
    (void)snprintf(note, sizeof note, "%.3g GB/s, median of %zu links %.3g GB/s, %.3g MB",
                   s->link->bandwidth, s->n_like, s->median, l->size_mb);
    ps_findings_evidence(
        &report->findings,
        (ps_evidence){.rank = s->link->member->rank,
                      .step = PS_STEP_OUTSIDE,
                      .start_ns = PS_NO_START,
                      .dur_ns = l->time_ms < 1e12 ? (int64_t)(l->time_ms * 1e6) : 0,
                      .name = name,
                      .note = note});
}

static int slowest_first(const void *a, const void *b) {
    const slow *x = a;
    const slow *y = b;
    double rx = x->link->bandwidth / x->median;
    double ry = y->link->bandwidth / y->median;
    return rx != ry ? (rx < ry ? -1 : 1) : x->link < y->link ? -1 : x->link > y->link;
}

/* What the slowest one would save at the median's speed: all links of a collective work at once. */
static void say_links(ps_report *report, slow *found, size_t n_found, const link *all, size_t n) {
    qsort(found, n_found, sizeof *found, slowest_first);
    const slow *worst = &found[0];
    const ps_report_member *m = worst->link->member;
    double share = 100 * worst->link->bandwidth / worst->median;
    double extra_ms = worst->link->link->time_ms * (1 - share / 100);
    int64_t n_steps = m->facts->n_steps > 0 ? (int64_t)m->facts->n_steps : 1;
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_SLOW_LINK,
                     .rank = m->rank,
                     .stage = m->stage,
                     .gain_ns = extra_ms < 1e12 ? (int64_t)(extra_ms * 1e6) / n_steps : 0,
                     .value = share},
        "%zu link%s slower than the median of the same transport and size; the slowest, %.32s from rank "
        "%lld, reaches %.3g of %.3g GB/s.",
        n_found, n_found == 1 ? " is" : "s are", worst->link->link->transport, (long long)m->rank,
        worst->link->bandwidth, worst->median);
    for (size_t i = 0; i < n_found && i < PS_EVIDENCE_MAX; i++) {
        show_link(report, &found[i], all, n);
    }
}

static void find_links(ps_report *report) {
    size_t n = 0;
    for (size_t m = 0; m < report->n_members; m++) {
        n += report->members[m].facts->n_links;
    }
    link *all = ps_calloc(n + 1, sizeof *all);
    slow *found = ps_calloc(n + 1, sizeof *found);
    double *scratch = ps_calloc(256, sizeof *scratch);
    size_t n_found = 0;
    bool ok = all != NULL && found != NULL && scratch != NULL;
    n = 0;
    for (size_t m = 0; ok && m < report->n_members; m++) {
        const ps_report_rank *facts = report->members[m].facts;
        for (size_t i = 0; i < facts->n_links; i++) {
            const ps_report_link *l = &facts->links[i];
            all[n++] = (link){l, &report->members[m], l->size_mb / l->time_ms};
        }
    }
    if (ok && n > 1) {
        qsort(all, n, sizeof *all, compare_links);
    }
    for (size_t i = 0; ok && i < n; i++) {
        slow s = {.link = &all[i]};
        s.median = median_of_like(all, n, i, scratch, &s.n_like);
        double limit = report->findings.thresholds[PS_RULE_SLOW_LINK] / 100;
        if (s.n_like >= LEAST_LIKE && all[i].bandwidth < s.median * limit) {
            found[n_found++] = s;
        }
    }
    if (n_found > 0) {
        say_links(report, found, n_found, all, n);
    }
    report->findings.failed = report->findings.failed || !ok;
    ps_free(all);
    ps_free(found);
    ps_free(scratch);
}

/* --- packets ----------------------------------------------------------------------------------------------------------- */

static void find_packets(ps_report *report) {
    double share = 0;
    const ps_report_member *worst = NULL;
    const ps_report_packets *packets = NULL;
    for (size_t m = 0; m < report->n_members; m++) {
        const ps_report_rank *facts = report->members[m].facts;
        for (size_t i = 0; i < facts->n_packets; i++) {
            double here = 100 * facts->packets[i].small_mb / facts->packets[i].all_mb;
            if (here > share) {
                share = here;
                worst = &report->members[m];
                packets = &facts->packets[i];
            }
        }
    }
    if (worst == NULL || !ps_rule_fires(&report->findings, PS_RULE_SMALL_PACKETS, share)) {
        return;
    }
    bool is_rdma = strcmp(packets->transport, "RDMA") == 0;
    ps_findings_add(&report->findings,
                    (ps_finding){.rule = PS_RULE_SMALL_PACKETS,
                                 .rank = worst->rank,
                                 .stage = worst->stage,
                                 .value = share},
                    "On rank %lld %.1f %% of %.4g MB over %.32s go in packets below %d MB.",
                    (long long)worst->rank, share, packets->all_mb, packets->transport,
                    is_rdma ? 1 : 16);
}

static void find_retransmission(ps_report *report) {
    const ps_report_member *worst = NULL;
    for (size_t m = 0; m < report->n_members; m++) {
        const ps_report_member *x = &report->members[m];
        int64_t most = worst != NULL ? worst->facts->retransmitted.dur_ns : 0;
        worst = x->facts->retransmitted.dur_ns > most ? x : worst;
    }
    double ms = worst != NULL ? (double)worst->facts->retransmitted.dur_ns / 1e6 : 0;
    if (worst == NULL || !ps_rule_fires(&report->findings, PS_RULE_RETRANSMISSION, ms)) {
        return;
    }
    const ps_report_event *e = &worst->facts->retransmitted;
    int64_t n_steps = worst->facts->n_steps > 0 ? (int64_t)worst->facts->n_steps : 1;
    ps_findings_add(&report->findings,
                    (ps_finding){.rule = PS_RULE_RETRANSMISSION,
                                 .rank = worst->rank,
                                 .stage = worst->stage,
                                 .gain_ns = e->dur_ns / n_steps,
                                 .value = ms},
                    "%.120s of rank %lld was in transit over RDMA for %s.", e->name,
                    (long long)worst->rank, ps_ns_text_of(e->dur_ns).text);
    bool placed = e->start_ns != PS_NO_TIME;
    ps_findings_evidence(&report->findings,
                         (ps_evidence){.rank = worst->rank,
                                       .step = placed ? e->step : PS_STEP_OUTSIDE,
                                       .start_ns = placed ? e->start_ns : PS_NO_START,
                                       .dur_ns = e->dur_ns,
                                       .name = e->name,
                                       .note = "in transit"});
}

/* --- alignment --------------------------------------------------------------------------------------------------------- */

#define LEAST_BYTES 1000000

static bool is_odd(const ps_report *report, const ps_comm_op *op) {
    double unit = report->findings.thresholds[PS_RULE_BYTE_ALIGNMENT];
    return unit >= 1 && op->size_bytes > LEAST_BYTES && fmod((double)op->size_bytes, unit) != 0;
}

static int64_t odd_ns(const ps_report *report, const ps_report_member *m, size_t *n) {
    int64_t sum = 0;
    *n = 0;
    for (size_t i = 0; i < m->facts->comm.n; i++) {
        const ps_comm_op *op = &m->facts->comm.ops[i];
        if (is_odd(report, op)) {
            sum = ps_ns_add(sum, op->end_ns - op->start_ns);
            (*n)++;
        }
    }
    return m->facts->n_steps > 0 ? sum / (int64_t)m->facts->n_steps : sum;
}

/* How much faster aligned ones would be is not known. */
static void find_alignment(ps_report *report) {
    const ps_report_member *worst = NULL;
    int64_t most = 0;
    size_t n_worst = 0;
    for (size_t m = 0; m < report->n_members; m++) {
        size_t n = 0;
        int64_t ns = odd_ns(report, &report->members[m], &n);
        if (ns > most) {
            most = ns;
            worst = &report->members[m];
            n_worst = n;
        }
    }
    if (worst == NULL || ps_percent(most, worst->step_ns) <= 1) {
        return;
    }
    const ps_comm_op *largest = NULL;
    for (size_t i = 0; i < worst->facts->comm.n; i++) {
        const ps_comm_op *op = &worst->facts->comm.ops[i];
        bool larger = largest == NULL || op->size_bytes > largest->size_bytes;
        largest = is_odd(report, op) && larger ? op : largest;
    }
    double unit = report->findings.thresholds[PS_RULE_BYTE_ALIGNMENT];
    ps_findings_add(
        &report->findings,
        (ps_finding){.rule = PS_RULE_BYTE_ALIGNMENT,
                     .rank = worst->rank,
                     .stage = worst->stage,
                     .value = fmod((double)largest->size_bytes, unit)},
        "On rank %lld %zu messages over 1 MB are no multiple of %.4g bytes; they take %s in a step.",
        (long long)worst->rank, n_worst, unit, ps_ns_text_of(most).text);
    char note[64];
    (void)snprintf(note, sizeof note, "%lld bytes", (long long)largest->size_bytes);
    ps_findings_evidence(&report->findings,
                         (ps_evidence){.rank = worst->rank,
                                       .step = largest->step,
                                       .start_ns = largest->start_ns,
                                       .dur_ns = largest->end_ns - largest->start_ns,
                                       .name = ps_comm_text(&worst->facts->comm, largest->name),
                                       .note = note});
}

void ps_report_network(ps_report *report) {
    find_links(report);
    find_packets(report);
    find_retransmission(report);
    find_alignment(report);
}
