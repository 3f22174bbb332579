#include "analyze/report_facts.h"

#include "base/alloc.h"

void ps_report_rank_free(ps_report_rank *r) {
    if (r != NULL) {
        ps_free(r->steps);
        ps_free(r->gaps);
        ps_free(r->edges);
        ps_free(r->host_gaps);
        ps_free(r->kernels);
        ps_comm_part_free(r->part);
        ps_arena_fini(&r->arena);
        ps_free(r);
    }
}

int64_t ps_report_mean_ns(const ps_report_rank *r, int64_t (*of)(const ps_overlap *)) {
    int64_t sum = 0; /* parts of one capture: far from 64 bits */
    for (size_t i = 0; i < r->n_steps; i++) {
        sum = ps_ns_add(sum, of(&r->steps[i]));
    }
    return r->n_steps > 0 ? sum / (int64_t)r->n_steps : 0;
}
