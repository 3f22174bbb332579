/* A link from op x to op y says that x's result was there before y used it:
 *
 *   computation   x ended before y began; an overlapped pair hands over its result somewhere inside, and uses its
 *                 input somewhere inside, so that it counts with its start as x and with its end as y
 *   send, receive the send began before the receive ended
 *
 * Where an operation that needs no input comes first, y began before its input was there and the bounds contradict one
 * another: then the ends alone are compared, as y ended after x in any case. Ranges of the host hold more than the work
 * at both ends: of them only x's start and y's end are in a certain order. */
#include "analyze/pipeline/chart_clock.h"

#include "base/alloc.h"
#include "base/num.h"

typedef struct clocks {
    ps_chart *chart;
    const ps_chart_clock_opts *opts;
    ps_job_clock job;
    ps_clock_span span;
} clocks;

static ps_clock_span clock_span_of(const ps_chart *chart) {
    ps_clock_span span = {.origin_ns = chart->origin_ns};
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        span.start_ns = i == 0 || op->start_ns < span.start_ns ? op->start_ns : span.start_ns;
        span.end_ns = i == 0 || op->end_ns > span.end_ns ? op->end_ns : span.end_ns;
    }
    return span;
}

static bool add_link(clocks *k, const ps_chart_link *link) {
    const ps_op *from = &k->chart->ops[link->from];
    const ps_op *to = &k->chart->ops[link->to];
    ps_clock_order o = {.from = from->rank,
                        .to = to->rank,
                        .from_ns = from->kind == PS_OP_FB ? from->start_ns : from->end_ns,
                        .to_ns = to->kind == PS_OP_FB ? to->end_ns : to->start_ns,
                        .sure_to_ns = to->end_ns};
    o.sure_from_ns = o.from_ns;
    if (k->opts->ends_only) { /* a range of the host may end long after its result was sent */
        o.sure_from_ns = from->start_ns;
        o.from_ns = o.sure_from_ns;
        o.to_ns = o.sure_to_ns;
    }
    if (from->kind == PS_OP_SEND) {
        return ps_job_clock_before(&k->job, from->rank, from->start_ns, to->rank, to->end_ns);
    }
    return ps_job_clock_order(&k->job, &o);
}

static bool add_events(clocks *k) {
    bool ok = true;
    for (size_t i = 0; ok && i < k->chart->n_links; i++) {
        ok = add_link(k, &k->chart->links[i]);
    }
    for (size_t i = 0; ok && i < k->opts->n_collectives; i++) {
        ok = ps_job_clock_collective(&k->job, &k->opts->collectives[i]);
    }
    return ok;
}

/* --- moving ---------------------------------------------------------------------------------------------------------- */

static bool shift_ok(const ps_op *op, int64_t by) {
    int64_t unused = 0;
    return !__builtin_sub_overflow(op->start_ns, by, &unused) &&
           !__builtin_sub_overflow(op->end_ns, by, &unused) &&
           !__builtin_sub_overflow(op->host_start_ns, by, &unused) &&
           !__builtin_sub_overflow(op->host_end_ns, by, &unused);
}

/* What is taken off a time of the rank. */
static int64_t shift_of(const clocks *k, const ps_chart_rank *rank, int64_t at_ns) {
    int64_t by = rank->clock_is_taken_off ? rank->clock_offset_ns : 0;
    if (rank->clock_is_taken_off && rank->clock_drift_ppb != 0) {
        by = ps_i64_plus(
            by, ps_clock_drift_at(at_ns, k->span.start_ns, k->span.end_ns, rank->clock_drift_ppb));
    }
    return by;
}

/* Parts go with their ops, so they come first: they are moved by the op's shift. */
static void move_parts(clocks *k) {
    for (size_t i = 0; i < k->chart->n_parts; i++) {
        ps_chart_part *part = &k->chart->parts[i];
        const ps_op *op = &k->chart->ops[part->op];
        int64_t by = shift_of(k, &k->chart->ranks[op->rank], op->start_ns);
        part->start_ns = ps_i64_minus(part->start_ns, by);
        part->end_ns = ps_i64_minus(part->end_ns, by);
    }
    for (size_t i = 0; i < k->chart->n_works; i++) {
        ps_chart_work *work = &k->chart->works[i];
        int64_t by = shift_of(k, &k->chart->ranks[work->rank], work->start_ns);
        work->start_ns = ps_i64_minus(work->start_ns, by);
        work->end_ns = ps_i64_minus(work->end_ns, by);
    }
}

static ps_code move_ops(clocks *k, ps_err *err) {
    move_parts(k);
    for (size_t i = 0; i < k->chart->n_ops; i++) {
        ps_op *op = &k->chart->ops[i];
        const ps_chart_rank *rank = &k->chart->ranks[op->rank];
        int64_t by = shift_of(k, rank, op->start_ns);
        if (!shift_ok(op, by)) {
            return ps_fail_said(err, PS_RANGE, "the clock of rank %d is too far off to be aligned",
                                "rank %d 的时钟偏差过大，无法对齐", (int)rank->rank);
        }
        op->start_ns -= by;
        op->end_ns -= by;
        op->host_start_ns -= op->has_host ? by : 0;
        op->host_end_ns -= op->has_host ? by : 0;
    }
    k->chart->is_aligned = true;
    return PS_OK;
}

/* Measured is what a recording tells of a clock, also where the order of events is narrower. */
static bool is_taken_off(const clocks *k, size_t rank) {
    uint32_t clock = k->job.clock_of[rank];
    return k->opts->use == PS_CLOCKS_ALL ||
           (k->opts->use == PS_CLOCKS_MEASURED && clock != PS_NO_CLOCK &&
            k->job.recorded[clock].is_known);
}

/* Whether any clock is taken off. Offsets count from the first machine of the chart. What is not connected to it stays unknown, and so does what is only likely: a
 * chart says how wrong its times may be. */
static bool set_clock_ranks(clocks *k, const ps_rank_clock *found) {
    bool any = false;
    uint32_t reference = PS_NO_INDEX;
    for (size_t r = 0; r < k->chart->n_ranks; r++) {
        const ps_rank_clock *c = &found[r];
        if (!c->is_known || c->uncertainty_ns == PS_CLOCK_UNBOUNDED) {
            continue;
        }
        reference = reference == PS_NO_INDEX ? c->reference : reference;
        if (c->reference == reference) {
            ps_chart_rank *rank = &k->chart->ranks[r];
            rank->has_clock = true;
            rank->clock_offset_ns = c->offset_ns;
            rank->clock_uncertainty_ns = c->uncertainty_ns;
            rank->clock_by = c->by;
            rank->clock_drift_ppb = c->drift_ppb;
            rank->clock_is_taken_off = is_taken_off(k, r);
            any = any || rank->clock_is_taken_off;
        }
    }
    return any;
}

static ps_code solve(clocks *k, ps_chart_clock_notes *notes, ps_err *err) {
    ps_rank_clock *found = ps_calloc(k->chart->n_ranks + 1, sizeof *found);
    ps_clock_notes job = {0};
    ps_code code = found != NULL && add_events(k) ? ps_job_clock_solve(&k->job, found, &job, err)
                                                  : ps_fail_nomem(err);
    *notes = (ps_chart_clock_notes){job.n_contradicted, job.n_disagree};
    if (code == PS_OK && set_clock_ranks(k, found)) {
        code = move_ops(k, err);
    }
    ps_free(found);
    return code;
}

ps_code ps_chart_clocks(ps_chart *chart, const ps_chart_clock_opts *opts,
                        ps_chart_clock_notes *notes, ps_err *err) {
    clocks k = {.chart = chart, .opts = opts, .span = clock_span_of(chart)};
    ps_clock_rank *ranks = ps_calloc(chart->n_ranks + 1, sizeof *ranks);
    *notes = (ps_chart_clock_notes){0};
    for (size_t r = 0; ranks != NULL && r < chart->n_ranks; r++) {
        ranks[r] = (ps_clock_rank){chart->ranks[r].machine, &chart->ranks[r].recorded};
    }
    bool ok =
        ranks != NULL && ps_job_clock_init(&k.job, ranks, chart->n_ranks, k.span, opts->each_rank);
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (ok && k.job.n_clocks > 1) {
        code = solve(&k, notes, err);
    }
    if (ranks != NULL) {
        ps_job_clock_fini(&k.job);
    }
    ps_free(ranks);
    return code;
}
