#include "analyze/report/report_facts.h"

#include <stdlib.h>

#include "base/alloc.h"

void ps_report_rank_free(ps_report_rank *r) {
    if (r != NULL) {
        ps_free(r->steps);
        ps_free(r->gaps);
        ps_free(r->edges);
        ps_free(r->host_gaps);
        for (int cause = 0; cause < PS_N_IDLE_CAUSES; cause++) {
            ps_intervals_fini(&r->idle_spans[cause]);
            ps_intervals_fini(&r->late_comm_spans[cause]);
        }
        for (int activity = 0; activity < PS_N_ACTIVITIES; activity++) {
            ps_intervals_fini(&r->stops[activity].lead_spans);
        }
        ps_intervals_fini(&r->copy_spans);
        ps_intervals_fini(&r->conversion_spans);
        ps_free(r->kernels);
        ps_comm_waits_fini(&r->comm_waits);
        ps_comm_part_free(r->part);
        ps_timeline_fini(&r->timeline);
        ps_arena_fini(&r->arena);
        ps_free(r);
    }
}

int64_t ps_report_idle_ns(const ps_report_rank *r, int cause) {
    const int64_t *ns = r->idle_ns[cause];
    return ps_i64_plus(ps_i64_plus(ns[PS_SHARE_FREE], ns[PS_SHARE_BEFORE]), ns[PS_SHARE_AFTER]);
}

static int by_fact_length(const void *a, const void *b) {
    const ps_interval *x = a;
    const ps_interval *y = b;
    int64_t dx = x->end_ns - x->start_ns;
    int64_t dy = y->end_ns - y->start_ns;
    if (dx != dy) {
        return dx > dy ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

#define MAX_SPANS ((size_t)1 << 14) /* of a cause: partials are small */

void ps_report_limit_spans(ps_intervals *spans) {
    ps_intervals_unite(spans);
    if (spans->n > MAX_SPANS) {
        qsort(spans->at, spans->n, sizeof *spans->at, by_fact_length);
        spans->n = MAX_SPANS;
        ps_intervals_unite(spans);
    }
}

int64_t ps_report_sum_ns(const ps_report_rank *r, int64_t (*of)(const ps_overlap *)) {
    int64_t sum = 0; /* parts of one capture: far from 64 bits */
    for (size_t i = 0; i < r->n_steps; i++) {
        sum = ps_i64_plus(sum, of(&r->steps[i]));
    }
    return sum;
}
