/* What collectives and transfers say of the clocks of a job (job_clock.h). */
#include "analyze/comm/late_match.h"
#include "analyze/comm/transfers.h"
#include "base/alloc.h"

bool ps_late_is_symmetric(const ps_late_work *w, const ps_meeting *m) {
    const ps_meeting_part *p = &w->out->parts[m->first];
    const ps_comm_list *list = w->in->lists[p->rank];
    const ps_comm_op *op = &list->ops[p->op];
    return ps_is_symmetric(ps_comm_text(list, op->type)) ||
           ps_is_symmetric(ps_comm_text(list, op->name));
}

static ps_clock_span clock_bound_span_of(const ps_late_work *w) {
    ps_clock_span span = {.start_ns = w->in->start_ns, .end_ns = w->in->end_ns, .is_level = true};
    bool is_given = span.start_ns != 0 || span.end_ns != 0;
    for (size_t i = 0; i < w->n && !is_given; i++) {
        const ps_comm_op *op = ps_late_op(w->in, w->entries[i].rank, w->entries[i].op);
        span.start_ns = i == 0 || op->start_ns < span.start_ns ? op->start_ns : span.start_ns;
        span.end_ns = i == 0 || op->end_ns > span.end_ns ? op->end_ns : span.end_ns;
    }
    return span;
}

static ps_clock_meeting meeting_of(const ps_late_work *w, const ps_meeting_part *a,
                                   const ps_meeting_part *b) {
    const ps_comm_op *x = ps_late_op(w->in, a->rank, a->op);
    const ps_comm_op *y = ps_late_op(w->in, b->rank, b->op);
    return (ps_clock_meeting){.a = a->rank,
                              .b = b->rank,
                              .a_start_ns = x->start_ns,
                              .a_end_ns = x->end_ns,
                              .b_start_ns = y->start_ns,
                              .b_end_ns = y->end_ns};
}

/* Each part against the first one and the one before it: all of them are connected then, and n parts cost n. */
static bool add_clock_bound_collective(ps_late_work *w, ps_job_clock *clocks, const ps_meeting *m) {
    const ps_meeting_part *parts = &w->out->parts[m->first];
    bool ok = true;
    bool tells = false;
    for (uint32_t i = 1; ok && i < m->n && ps_late_is_symmetric(w, m); i++) {
        ps_clock_meeting with_first = meeting_of(w, &parts[0], &parts[i]);
        ps_clock_meeting with_last = meeting_of(w, &parts[i - 1], &parts[i]);
        ok = ps_job_clock_meeting(clocks, &with_first) &&
             (i == 1 || ps_job_clock_meeting(clocks, &with_last));
        tells = tells || ps_job_clock_apart(clocks, parts[0].rank, parts[i].rank) ||
                ps_job_clock_apart(clocks, parts[i - 1].rank, parts[i].rank);
    }
    w->out->evidence.n_collectives += tells;
    return ok;
}

static bool add_transfer(ps_late_work *w, ps_job_clock *clocks, const ps_late_receive *r) {
    const ps_comm_op *send = ps_late_op(w->in, r->sender, r->send_op);
    const ps_comm_op *receive = ps_late_op(w->in, r->receiver, r->receive_op);
    w->out->evidence.n_transfers += ps_job_clock_apart(clocks, r->sender, r->receiver);
    return ps_job_clock_before(clocks, r->sender, send->start_ns, r->receiver, receive->end_ns);
}

bool ps_late_clocks(ps_late_work *w) {
    ps_late *out = w->out;
    size_t n = w->in->n_ranks;
    ps_job_clock clocks = {0};
    ps_clock_rank *ranks = ps_calloc(n + 1, sizeof *ranks);
    out->clocks = ps_calloc(n + 1, sizeof *out->clocks);
    out->evidence = (ps_late_evidence){0};
    bool ok = ranks != NULL && out->clocks != NULL;
    for (size_t r = 0; ok && r < n; r++) {
        const ps_comm_list *list = w->in->lists[r];
        ranks[r] =
            (ps_clock_rank){w->in->ranks[r].machine, list != NULL ? &list->recorded_clock : NULL};
    }
    ok = ok && ps_job_clock_init(&clocks, ranks, n, clock_bound_span_of(w), true);
    for (size_t i = 0; ok && i < out->n_meetings; i++) {
        ok = add_clock_bound_collective(w, &clocks, &out->meetings[i]);
    }
    for (size_t i = 0; ok && i < out->n_receives; i++) {
        ok = add_transfer(w, &clocks, &out->receives[i]);
    }
    ok = ok && ps_job_clock_solve(&clocks, out->clocks, &out->evidence.clocks, NULL) == PS_OK;
    ps_job_clock_fini(&clocks);
    ps_free(ranks);
    return ok;
}
