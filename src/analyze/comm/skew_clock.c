/* What collectives and transfers say of the clocks of a job (job_clock.h). */
#include "analyze/comm/skew_match.h"
#include "base/alloc.h"
#include "model/comm_kernels.h"

bool ps_skew_is_symmetric(const ps_skew_input *in, const ps_skew *skew,
                          const ps_matched_collective *m) {
    const ps_collective_part *p = &skew->parts[m->first];
    const ps_comm_list *list = in->lists[p->rank];
    const ps_comm_op *op = &list->ops[p->op];
    return ps_comm_is_symmetric(ps_comm_of_name(ps_comm_text(list, op->look->type))) ||
           ps_comm_is_symmetric(ps_comm_of_name(ps_comm_text(list, op->name)));
}

static ps_clock_span clock_bound_span_of(const ps_skew_work *w) {
    ps_clock_span span = {
        .start_ns = w->in->start_ns, .end_ns = w->in->end_ns, .has_one_offset = true};
    bool is_given = span.start_ns != 0 || span.end_ns != 0;
    for (size_t i = 0; i < w->n && !is_given; i++) {
        const ps_comm_op *op = ps_skew_op(w->in, w->entries[i].rank, w->entries[i].op);
        span.start_ns = i == 0 || op->start_ns < span.start_ns ? op->start_ns : span.start_ns;
        span.end_ns = i == 0 || op->end_ns > span.end_ns ? op->end_ns : span.end_ns;
    }
    return span;
}

static ps_clock_collective collective_of(const ps_skew_input *in, const ps_collective_part *a,
                                         const ps_collective_part *b) {
    const ps_comm_op *x = ps_skew_op(in, a->rank, a->op);
    const ps_comm_op *y = ps_skew_op(in, b->rank, b->op);
    return (ps_clock_collective){.a = a->rank,
                                 .b = b->rank,
                                 .a_start_ns = x->start_ns,
                                 .a_end_ns = x->end_ns,
                                 .b_start_ns = y->start_ns,
                                 .b_end_ns = y->end_ns};
}

/* Each part against the first one and the one before it: all of them are connected then, and n parts cost n. How many
 * collectives part `i` (from 1) makes. */
static size_t collectives_of_part(const ps_skew_input *in, const ps_skew *skew,
                                  const ps_matched_collective *m, uint32_t i,
                                  ps_clock_collective out[2]) {
    const ps_collective_part *parts = &skew->parts[m->first];
    out[0] = collective_of(in, &parts[0], &parts[i]);
    out[1] = collective_of(in, &parts[i - 1], &parts[i]);
    return i > 1 ? 2 : 1;
}

static bool add_clock_bound_collective(ps_skew_work *w, ps_job_clock *clocks,
                                       const ps_matched_collective *m) {
    bool ok = true;
    bool tells = false;
    for (uint32_t i = 1; ok && i < m->n && ps_skew_is_symmetric(w->in, w->out, m); i++) {
        ps_clock_collective made[2];
        size_t n = collectives_of_part(w->in, w->out, m, i, made);
        for (size_t k = 0; ok && k < n; k++) {
            ok = ps_job_clock_collective(clocks, &made[k]);
            tells = tells || ps_job_clock_apart(clocks, made[k].a, made[k].b);
        }
    }
    w->out->evidence.n_collectives += tells;
    return ok;
}

bool ps_skew_clock_collectives(const ps_skew_input *in, const ps_skew *skew,
                               ps_clock_collective **out, size_t *n) {
    *n = 0;
    *out = ps_calloc(2 * skew->n_parts + 1, sizeof **out);
    for (size_t i = 0; *out != NULL && i < skew->n_collectives; i++) {
        const ps_matched_collective *m = &skew->collectives[i];
        bool tells = !m->is_by_time && ps_skew_is_symmetric(in, skew, m);
        for (uint32_t part = 1; tells && part < m->n; part++) {
            *n += collectives_of_part(in, skew, m, part, *out + *n);
        }
    }
    return *out != NULL;
}

static bool add_transfer(ps_skew_work *w, ps_job_clock *clocks, const ps_skew_receive *r) {
    const ps_comm_op *send = ps_skew_op(w->in, r->sender, r->send_op);
    const ps_comm_op *receive = ps_skew_op(w->in, r->receiver, r->receive_op);
    w->out->evidence.n_transfers += ps_job_clock_apart(clocks, r->sender, r->receiver);
    return ps_job_clock_before(clocks, r->sender, send->start_ns, r->receiver, receive->end_ns);
}

/* Solves anew; without those matched by time, which clocks have a part in themselves, or with them. */
static bool solve_late_clocks(ps_skew_work *w, const ps_clock_rank *ranks, bool by_time_too) {
    ps_skew *out = w->out;
    ps_job_clock clocks = {0};
    out->evidence = (ps_skew_evidence){0};
    bool ok = ps_job_clock_init(&clocks, ranks, w->in->n_ranks, clock_bound_span_of(w), true);
    for (size_t i = 0; ok && i < out->n_collectives; i++) {
        const ps_matched_collective *m = &out->collectives[i];
        ok = (m->is_by_time && !by_time_too) || add_clock_bound_collective(w, &clocks, m);
    }
    for (size_t i = 0; ok && i < out->n_receives; i++) {
        ok = add_transfer(w, &clocks, &out->receives[i]);
    }
    ok = ok && ps_job_clock_solve(&clocks, out->clocks, &out->evidence.clocks, NULL) == PS_OK;
    ps_job_clock_fini(&clocks);
    return ok;
}

/* Whether those matched by time bring clocks together that nothing else does, or not closely. */
static bool need_by_time(const ps_skew *skew) {
    for (size_t i = 0; i < skew->n_collectives; i++) {
        const ps_matched_collective *m = &skew->collectives[i];
        const ps_collective_part *parts = &skew->parts[m->first];
        uint32_t reference = skew->clocks[parts[0].rank].reference;
        for (uint32_t k = 0; m->is_by_time && k < m->n; k++) {
            const ps_rank_clock *c = &skew->clocks[parts[k].rank];
            if (c->reference != reference || c->uncertainty_ns > PS_SKEW_TOLERANCE_NS) {
                return true;
            }
        }
    }
    return false;
}

bool ps_skew_clocks(ps_skew_work *w) {
    size_t n = w->in->n_ranks;
    ps_clock_rank *ranks = ps_calloc(n + 1, sizeof *ranks);
    w->out->clocks = ps_calloc(n + 1, sizeof *w->out->clocks);
    bool ok = ranks != NULL && w->out->clocks != NULL;
    for (size_t r = 0; ok && r < n; r++) {
        const ps_comm_list *list = w->in->lists[r];
        ranks[r] =
            (ps_clock_rank){w->in->ranks[r].machine, list != NULL ? &list->recorded_clock : NULL};
    }
    ok = ok && solve_late_clocks(w, ranks, false) &&
         (!need_by_time(w->out) || solve_late_clocks(w, ranks, true));
    ps_free(ranks);
    return ok;
}
