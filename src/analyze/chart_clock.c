/* A link from op x to op y says that x's result was there before y used it:
 *
 *   computation   x ended before y began; an overlapped pair hands over its result somewhere inside, and uses its
 *                 input somewhere inside, so that it counts with its start as x and with its end as y
 *   send, receive the send began before the receive ended
 *
 * Where an operation that needs no input comes first, y began before its input was there and the bounds contradict one
 * another: then the ends alone are compared, as y ended after x in any case. Ranges of the host hold more than the work
 * at both ends: of them only x's start and y's end are in a certain order.
 *
 * Where recordings say how far their clocks lay apart, as messages exchanged for it told (recorded_clock.h), or that PTP holds them
 * together, that is an interval too, as certain as those of links: the truth lies in all of them, so what they have in common is
 * taken. When they have nothing in common the more trusted one counts alone: the order of events before the exchange, which looked
 * at the clocks at other moments. PTP is a promise only: an order of events that contradicts it shows that it was not kept. */
#include "analyze/chart_clock.h"

#include <stdlib.h>

#include "analyze/recorded_clock.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "model/clock.h"

#define NO_MACHINE UINT32_MAX

typedef struct clocks {
    ps_chart *chart;
    const ps_chart_clock_opts *opts;
    uint32_t *machine_of; /* [n_ranks] NO_MACHINE: left alone */
    uint32_t n_machines;
    ps_idmap by_pair; /* machine a << 32 | b, a < b -> row in both lists */
    ps_clock_interval *by_start, *by_end;
    size_t n, cap_start, cap_end;
    ps_clock_offset *offsets;            /* [n_machines] */
    ps_clock_state *recorded;            /* [n_machines] in the chart's middle */
    int64_t start_ns, middle_ns, end_ns; /* of the chart, from its origin */
    size_t n_empty, n_disagree;
} clocks;

/* Machines numbered from 0 in the order of the ranks. */
static bool number_machines(clocks *k) {
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    for (size_t r = 0; ok && r < k->chart->n_ranks; r++) {
        int32_t machine = k->chart->ranks[r].machine;
        if (machine < 0) {
            k->machine_of[r] = k->opts->each_rank ? k->n_machines++ : NO_MACHINE;
            continue;
        }
        uint32_t number = ps_idmap_get(&seen, (uint64_t)machine);
        if (number == PS_IDMAP_NONE) {
            number = k->n_machines++;
            ok = ps_idmap_put(&seen, (uint64_t)machine, number);
        }
        k->machine_of[r] = number;
    }
    ps_idmap_fini(&seen);
    return ok;
}

/* The row of a pair of machines, NO_MACHINE when memory is out. */
static uint32_t pair_row(clocks *k, uint32_t a, uint32_t b) {
    uint64_t key = (uint64_t)a << 32 | b;
    uint32_t row = ps_idmap_get(&k->by_pair, key);
    if (row != PS_IDMAP_NONE) {
        return row;
    }
    ps_clock_interval open = {a, b, PS_CLOCK_LOW_OPEN, PS_CLOCK_HIGH_OPEN, PS_CLOCK_BY_ORDER};
    if (!ps_grow(&k->by_start, &k->cap_start, k->n + 1, UINT32_MAX - 1, sizeof open) ||
        !ps_grow(&k->by_end, &k->cap_end, k->n + 1, UINT32_MAX - 1, sizeof open) ||
        !ps_idmap_put(&k->by_pair, key, (uint32_t)k->n)) {
        return NO_MACHINE;
    }
    k->by_start[k->n] = open;
    k->by_end[k->n] = open;
    return (uint32_t)k->n++;
}

typedef struct bound {
    int64_t from_ns, to_ns;         /* of the rule by starts */
    int64_t from_end_ns, to_end_ns; /* of the one by ends */
} bound;

/* A time as the clock would show it that is right in the chart's middle and does not drift. */
static int64_t steady(const clocks *k, int64_t ppb, int64_t time_ns) {
    return ppb == 0
               ? time_ns
               : ps_i64_minus(time_ns, ps_clock_gain(ps_i64_minus(time_ns, k->middle_ns), ppb));
}

static bool add_bound(clocks *k, uint32_t from_rank, uint32_t to_rank, const bound *b) {
    uint32_t from = k->machine_of[from_rank];
    uint32_t to = k->machine_of[to_rank];
    if (from == to || from == NO_MACHINE || to == NO_MACHINE) {
        return true;
    }
    uint32_t row = pair_row(k, from < to ? from : to, from < to ? to : from);
    if (row == NO_MACHINE) {
        return false;
    }
    bool both = k->recorded[from].is_known && k->recorded[to].is_known;
    int64_t ppb = both ? k->recorded[from].drift_ppb : 0;
    int64_t to_ppb = both ? k->recorded[to].drift_ppb : 0;
    ps_clock_before(&k->by_start[row], from < to, steady(k, ppb, b->from_ns),
                    steady(k, to_ppb, b->to_ns));
    ps_clock_before(&k->by_end[row], from < to, steady(k, ppb, b->from_end_ns),
                    steady(k, to_ppb, b->to_end_ns));
    return true;
}

static bool add_link(clocks *k, const ps_chart_link *link) {
    const ps_op *from = &k->chart->ops[link->from];
    const ps_op *to = &k->chart->ops[link->to];
    bound b = {.from_ns = from->kind == PS_OP_FB ? from->start_ns : from->end_ns,
               .to_ns = to->kind == PS_OP_FB ? to->end_ns : to->start_ns,
               .from_end_ns = from->kind == PS_OP_FB ? from->start_ns : from->end_ns,
               .to_end_ns = to->end_ns};
    if (k->opts->ends_only) { /* a range of the host may end long after its result was sent */
        b.from_end_ns = from->start_ns;
    }
    if (from->kind == PS_OP_SEND) {
        b = (bound){from->start_ns, to->end_ns, from->start_ns, to->end_ns};
    }
    return add_bound(k, from->rank, to->rank, &b);
}

static bool add_bounds(clocks *k) {
    bool ok = true;
    for (size_t i = 0; ok && i < k->chart->n_links; i++) {
        ok = add_link(k, &k->chart->links[i]);
    }
    for (size_t i = 0; ok && i < k->opts->n_orders; i++) {
        const ps_clock_order *o = &k->opts->orders[i];
        bound b = {o->from_ns, o->to_ns, o->from_ns, o->to_ns};
        ok = add_bound(k, o->from, o->to, &b);
    }
    return ok;
}

/* By starts where that is possible, by ends where those contradict one another. */
static void choose(clocks *k) {
    for (size_t i = 0; i < k->n; i++) {
        if (k->opts->ends_only || ps_clock_is_empty(&k->by_start[i])) {
            k->by_start[i] = k->by_end[i];
        }
        k->n_empty += ps_clock_is_empty(&k->by_start[i]);
    }
}

/* --- what recordings say -------------------------------------------------------------------------------------------- */

static void find_span(clocks *k) {
    for (size_t i = 0; i < k->chart->n_ops; i++) {
        const ps_op *op = &k->chart->ops[i];
        k->start_ns = i == 0 || op->start_ns < k->start_ns ? op->start_ns : k->start_ns;
        k->end_ns = i == 0 || op->end_ns > k->end_ns ? op->end_ns : k->end_ns;
    }
    k->middle_ns = k->start_ns / 2 + k->end_ns / 2;
}

/* Of the ranks of a machine the one that is sure most; against the reference that the first one names. The clock of the reference's own
 * machine is right and does not drift, whatever its time of the recording is. */
static void find_recorded(clocks *k) {
    const ps_recorded_clock *first = NULL;
    find_span(k);
    for (size_t r = 0; r < k->chart->n_ranks; r++) {
        const ps_recorded_clock *c = &k->chart->ranks[r].recorded;
        uint32_t machine = k->machine_of[r];
        if (!c->has_offset || machine == NO_MACHINE ||
            (first != NULL && c->reference != first->reference)) {
            continue;
        }
        first = first != NULL ? first : c;
        ps_clock_state found =
            ps_recorded_clock_at(c, ps_i64_plus(k->chart->origin_ns, k->start_ns),
                                 ps_i64_plus(k->chart->origin_ns, k->end_ns));
        ps_clock_state *known = &k->recorded[machine];
        if (!known->is_known || found.uncertainty_ns < known->uncertainty_ns) {
            *known = found;
        }
    }
}

/* Each machine against the first that has one, and all pairs that are linked. */
static bool add_recorded(clocks *k) {
    uint32_t first = NO_MACHINE;
    bool ok = true;
    for (uint32_t m = 0; ok && m < k->n_machines; m++) {
        if (k->recorded[m].is_known && first == NO_MACHINE) {
            first = m;
        } else if (k->recorded[m].is_known) {
            ok = pair_row(k, first, m) != NO_MACHINE;
        }
    }
    for (uint32_t row = 0; ok && row < k->n; row++) {
        const ps_clock_interval *i = &k->by_start[row];
        if (k->recorded[i->a].is_known && k->recorded[i->b].is_known) {
            k->n_disagree += !ps_recorded_clocks_narrow(&k->by_start[row], &k->recorded[i->a],
                                                        &k->recorded[i->b]);
        }
    }
    return ok;
}

static int compare_pairs(const void *a, const void *b) {
    const ps_clock_interval *x = a;
    const ps_clock_interval *y = b;
    if (x->a != y->a) {
        return x->a < y->a ? -1 : 1;
    }
    return x->b < y->b ? -1 : x->b > y->b;
}

static bool shift_ok(const ps_op *op, int64_t by) {
    int64_t unused = 0;
    return !__builtin_sub_overflow(op->start_ns, by, &unused) &&
           !__builtin_sub_overflow(op->end_ns, by, &unused) &&
           !__builtin_sub_overflow(op->host_start_ns, by, &unused) &&
           !__builtin_sub_overflow(op->host_end_ns, by, &unused);
}

/* What is taken off a time of the rank. */
static int64_t shift_of(const clocks *k, const ps_chart_rank *rank, int64_t at_ns) {
    int64_t by = rank->has_clock ? rank->clock_offset_ns : 0;
    if (rank->has_clock && rank->clock_drift_ppb != 0) {
        int64_t since = ps_i64_minus(at_ns, k->middle_ns);
        by = ps_i64_plus(by, ps_clock_gain(since, rank->clock_drift_ppb));
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
            return ps_fail(err, PS_RANGE, "the clock of rank %d is too far off to be aligned",
                           (int)rank->rank);
        }
        op->start_ns -= by;
        op->end_ns -= by;
        op->host_start_ns -= op->has_host ? by : 0;
        op->host_end_ns -= op->has_host ? by : 0;
    }
    k->chart->is_aligned = true;
    return PS_OK;
}

/* Offsets count from the first machine of the chart; what is not connected to it stays unknown. */
static bool set_ranks(clocks *k) {
    bool any = false;
    uint32_t first = NO_MACHINE;
    uint32_t first_machine = NO_MACHINE;
    for (size_t r = 0; r < k->chart->n_ranks; r++) {
        uint32_t machine = k->machine_of[r];
        if (machine == NO_MACHINE || !k->offsets[machine].is_known) {
            continue;
        }
        const ps_clock_offset *o = &k->offsets[machine];
        first_machine = first == NO_MACHINE ? machine : first_machine;
        first = first == NO_MACHINE ? o->first : first;
        if (o->first == first) {
            ps_chart_rank *rank = &k->chart->ranks[r];
            rank->has_clock = true;
            rank->clock_offset_ns = o->offset_ns;
            rank->clock_uncertainty_ns = o->uncertainty_ns;
            rank->clock_by = o->by;
            /* Whatever told of the offset: the bounds were taken with it. */
            if (k->recorded[machine].is_known && k->recorded[first_machine].is_known) {
                rank->clock_drift_ppb =
                    k->recorded[machine].drift_ppb - k->recorded[first_machine].drift_ppb;
            }
            any = true;
        }
    }
    return any;
}

ps_code ps_chart_clocks(ps_chart *chart, const ps_chart_clock_opts *opts,
                        ps_chart_clock_notes *notes, ps_err *err) {
    clocks k = {.chart = chart, .opts = opts};
    ps_code code = PS_OK;
    *notes = (ps_chart_clock_notes){0};
    ps_idmap_init(&k.by_pair);
    k.machine_of = ps_calloc(chart->n_ranks, sizeof *k.machine_of);
    bool ok = k.machine_of != NULL && number_machines(&k);
    if (ok && k.n_machines > 1) {
        k.offsets = ps_calloc(k.n_machines, sizeof *k.offsets);
        k.recorded = ps_calloc(k.n_machines, sizeof *k.recorded);
        ok = k.offsets != NULL && k.recorded != NULL;
        if (ok) {
            find_recorded(&k);
            ok = add_bounds(&k);
        }
        if (ok) {
            choose(&k);
            ok = add_recorded(&k);
        }
    }
    if (ok && k.n > 0) {
        qsort(k.by_start, k.n, sizeof *k.by_start, compare_pairs);
        code = ps_clock_solve(k.n_machines, k.by_start, k.n, k.offsets, err);
        if (code == PS_OK && set_ranks(&k) && opts->align) {
            code = move_ops(&k, err);
        }
    }
    *notes = (ps_chart_clock_notes){k.n_empty, k.n_disagree};
    ps_idmap_fini(&k.by_pair);
    ps_free(k.recorded);
    ps_free(k.machine_of);
    ps_free(k.by_start);
    ps_free(k.by_end);
    ps_free(k.offsets);
    return ok ? code : ps_fail_nomem(err);
}
