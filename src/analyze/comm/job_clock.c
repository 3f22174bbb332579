#include "analyze/comm/job_clock.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

/* So many differences of a pair tell the median; of more every second, fourth ... is kept. */
enum { MAX_ENDS = 1024 };

/* What is known of two clocks. */
struct ps_pair_clock {
    ps_clock_interval closest, sure;
    int64_t *ends; /* clock(b) - clock(a) by events that happen together */
    size_t n_ends, cap_ends;
    uint64_t n_seen, every;
};

/* --- clocks -------------------------------------------------------------------------------------------------------- */

static bool find_machines(const ps_clock_rank *ranks, size_t n, int32_t *machines) {
    const ps_recorded_clock **recorded = ps_calloc(n + 1, sizeof *recorded);
    for (size_t r = 0; recorded != NULL && r < n; r++) {
        machines[r] = ranks[r].machine;
        recorded[r] = ranks[r].recorded;
    }
    bool ok = recorded != NULL && ps_recorded_machines(recorded, n, machines);
    ps_free(recorded);
    return ok;
}

/* Clocks are numbered from 0 in the order of the ranks, so that the lower one of a pair is that of the lower rank. */
static bool number_clocks(ps_job_clock *c, const int32_t *machines, bool unknown_apart) {
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    for (size_t r = 0; ok && r < c->n_ranks; r++) {
        if (machines[r] < 0) {
            c->clock_of[r] = unknown_apart ? c->n_clocks++ : PS_NO_CLOCK;
            continue;
        }
        uint32_t number = ps_idmap_get(&seen, (uint64_t)machines[r]);
        if (number == PS_IDMAP_NONE) {
            number = c->n_clocks++;
            ok = ps_idmap_put(&seen, (uint64_t)machines[r], number);
        }
        c->clock_of[r] = number;
    }
    ps_idmap_fini(&seen);
    return ok;
}

/* Of the ranks of a clock the one that is sure most; against the reference that the first one names. The clock of the reference's
 * own machine is right and does not drift, whatever its time of the recording is. */
static void find_recorded(ps_job_clock *c) {
    const ps_recorded_clock *first = NULL;
    int64_t start_ns = ps_i64_plus(c->span.origin_ns, c->span.start_ns);
    int64_t end_ns = ps_i64_plus(c->span.origin_ns, c->span.end_ns);
    for (size_t r = 0; r < c->n_ranks; r++) {
        const ps_recorded_clock *own = c->ranks[r].recorded;
        if (own == NULL || !own->has_offset || c->clock_of[r] == PS_NO_CLOCK ||
            (first != NULL && own->reference != first->reference)) {
            continue;
        }
        first = first != NULL ? first : own;
        ps_clock_state found = ps_recorded_clock_at(own, start_ns, end_ns);
        if (c->span.has_one_offset) {
            ps_recorded_clock_level(&found, start_ns, end_ns);
        }
        ps_clock_state *known = &c->recorded[c->clock_of[r]];
        if (!known->is_known || found.uncertainty_ns < known->uncertainty_ns) {
            *known = found;
        }
    }
}

bool ps_job_clock_init(ps_job_clock *c, const ps_clock_rank *ranks, size_t n, ps_clock_span span,
                       bool unknown_apart) {
    *c = (ps_job_clock){.ranks = ranks, .n_ranks = n, .span = span};
    ps_idmap_init(&c->by_pair);
    int32_t *machines = ps_calloc(n + 1, sizeof *machines);
    c->clock_of = ps_calloc(n + 1, sizeof *c->clock_of);
    bool ok = machines != NULL && c->clock_of != NULL && find_machines(ranks, n, machines) &&
              number_clocks(c, machines, unknown_apart);
    ps_free(machines);
    c->recorded = ok ? ps_calloc((size_t)c->n_clocks + 1, sizeof *c->recorded) : NULL;
    if (c->recorded == NULL) {
        return false;
    }
    find_recorded(c);
    return true;
}

void ps_job_clock_fini(ps_job_clock *c) {
    for (size_t i = 0; i < c->n_pairs; i++) {
        ps_free(c->pairs[i].ends);
    }
    ps_free(c->pairs);
    ps_free(c->clock_of);
    ps_free(c->recorded);
    ps_idmap_fini(&c->by_pair);
    *c = (ps_job_clock){0};
}

/* --- what is learned ----------------------------------------------------------------------------------------------- */

/* Of clocks a < b. NULL when memory is out. */
static ps_pair_clock *pair_of(ps_job_clock *c, uint32_t a, uint32_t b) {
    uint64_t key = (uint64_t)a << 32 | b;
    uint32_t row = ps_idmap_get(&c->by_pair, key);
    if (row != PS_IDMAP_NONE) {
        return &c->pairs[row];
    }
    if (!ps_grow(&c->pairs, &c->cap_pairs, c->n_pairs + 1, UINT32_MAX - 1, sizeof *c->pairs) ||
        !ps_idmap_put(&c->by_pair, key, (uint32_t)c->n_pairs)) {
        return NULL;
    }
    ps_clock_interval open = {.a = a,
                              .b = b,
                              .low_ns = PS_CLOCK_LOW_OPEN,
                              .high_ns = PS_CLOCK_HIGH_OPEN,
                              .by = PS_CLOCK_BY_ORDER};
    c->pairs[c->n_pairs] = (ps_pair_clock){.closest = open, .sure = open, .every = 1};
    return &c->pairs[c->n_pairs++];
}

/* A time as the clock would show it that is right in the span's middle and does not drift. */
static int64_t steady_time(const ps_job_clock *c, uint32_t clock, uint32_t other, int64_t time_ns) {
    const ps_clock_state *own = &c->recorded[clock];
    if (!own->is_known || !c->recorded[other].is_known || own->drift_ppb == 0) {
        return time_ns;
    }
    return ps_i64_minus(
        time_ns, ps_clock_drift_at(time_ns, c->span.start_ns, c->span.end_ns, own->drift_ppb));
}

bool ps_job_clock_order(ps_job_clock *c, const ps_clock_order *o) {
    if (!ps_job_clock_apart(c, o->from, o->to)) {
        return true;
    }
    uint32_t from = c->clock_of[o->from];
    uint32_t to = c->clock_of[o->to];
    ps_pair_clock *pair = pair_of(c, from < to ? from : to, from < to ? to : from);
    if (pair == NULL) {
        return false;
    }
    ps_clock_before(&pair->closest, from < to, steady_time(c, from, to, o->from_ns),
                    steady_time(c, to, from, o->to_ns));
    ps_clock_before(&pair->sure, from < to, steady_time(c, from, to, o->sure_from_ns),
                    steady_time(c, to, from, o->sure_to_ns));
    return true;
}

bool ps_job_clock_before(ps_job_clock *c, uint32_t from, int64_t from_ns, uint32_t to,
                         int64_t to_ns) {
    const ps_clock_order order = {.from = from,
                                  .to = to,
                                  .from_ns = from_ns,
                                  .to_ns = to_ns,
                                  .sure_from_ns = from_ns,
                                  .sure_to_ns = to_ns};
    return ps_job_clock_order(c, &order);
}

static void drop_every_second(ps_pair_clock *pair) {
    for (size_t i = 0; i < pair->n_ends / 2; i++) {
        pair->ends[i] = pair->ends[2 * i];
    }
    pair->n_ends /= 2;
    pair->every *= 2;
}

static bool add_ends(ps_job_clock *c, uint32_t a, int64_t a_ns, uint32_t b, int64_t b_ns) {
    uint32_t x = c->clock_of[a];
    uint32_t y = c->clock_of[b];
    ps_pair_clock *pair = pair_of(c, x < y ? x : y, x < y ? y : x);
    if (pair == NULL) {
        return false;
    }
    int64_t difference = ps_i64_minus(steady_time(c, y, x, b_ns), steady_time(c, x, y, a_ns));
    if (pair->n_seen++ % pair->every != 0 || difference == INT64_MIN) {
        return true;
    }
    if (pair->n_ends == MAX_ENDS) {
        drop_every_second(pair);
    }
    if (!ps_grow(&pair->ends, &pair->cap_ends, pair->n_ends + 1, MAX_ENDS, sizeof *pair->ends)) {
        return false;
    }
    pair->ends[pair->n_ends++] = x < y ? difference : -difference;
    return true;
}

bool ps_job_clock_collective(ps_job_clock *c, const ps_clock_collective *m) {
    return !ps_job_clock_apart(c, m->a, m->b) ||
           (ps_job_clock_before(c, m->a, m->a_start_ns, m->b, m->b_end_ns) &&
            ps_job_clock_before(c, m->b, m->b_start_ns, m->a, m->a_end_ns) &&
            add_ends(c, m->a, m->a_end_ns, m->b, m->b_end_ns));
}

/* --- solving ------------------------------------------------------------------------------------------------------- */

/* The interval of a pair by orders: by the closest times where those do not contradict one another. */
static ps_clock_interval interval_of(ps_pair_clock *pair, ps_clock_notes *notes) {
    ps_clock_interval i = ps_clock_is_empty(&pair->closest) ? pair->sure : pair->closest;
    notes->n_contradicted += ps_clock_is_empty(&i);
    if (pair->n_ends > 0) {
        qsort(pair->ends, pair->n_ends, sizeof *pair->ends, ps_compare_i64);
        i.has_likely = true;
        i.likely_ns =
            ps_midpoint_i64(pair->ends[(pair->n_ends - 1) / 2], pair->ends[pair->n_ends / 2]);
    }
    return i;
}

/* Orders alone say that clocks differ where they exclude that they do not. */
static bool allows_equal(const ps_clock_interval *i) {
    return ps_clock_is_closed(i) && i->low_ns <= 0 && i->high_ns >= 0;
}

/* Each clock that a recording tells of is paired with the first such one. */
static bool pair_recorded(ps_job_clock *c) {
    uint32_t first = PS_NO_CLOCK;
    bool ok = true;
    for (uint32_t k = 0; ok && k < c->n_clocks; k++) {
        if (c->recorded[k].is_known && first == PS_NO_CLOCK) {
            first = k;
        } else if (c->recorded[k].is_known) {
            ok = pair_of(c, first, k) != NULL;
        }
    }
    return ok;
}

static const ps_sort_key PAIR_ORDER[] = {PS_UP(ps_clock_interval, a), PS_UP(ps_clock_interval, b)};

/* NULL when memory is out. */
static ps_clock_interval *list_intervals(ps_job_clock *c, ps_clock_notes *notes) {
    ps_clock_interval *all = pair_recorded(c) ? ps_calloc(c->n_pairs + 1, sizeof *all) : NULL;
    for (size_t k = 0; all != NULL && k < c->n_pairs; k++) {
        all[k] = interval_of(&c->pairs[k], notes);
        const ps_clock_state *a = &c->recorded[all[k].a];
        const ps_clock_state *b = &c->recorded[all[k].b];
        bool agrees = a->is_known && b->is_known && ps_recorded_clocks_narrow(&all[k], a, b);
        notes->n_recorded += agrees;
        notes->n_disagree += a->is_known && b->is_known && !agrees;
        if (!agrees && !all[k].has_likely) {
            all[k].has_likely = allows_equal(&all[k]);
        }
    }
    ps_sort_by(all, c->n_pairs, sizeof *all, PS_KEYS(PAIR_ORDER));
    return all;
}

/* lowest[clock]: the first rank that has it. */
static void set_clock_pair_ranks(const ps_job_clock *c, const ps_clock_offset *offsets,
                                 uint32_t *lowest, ps_rank_clock *out) {
    for (size_t r = c->n_ranks; r > 0; r--) {
        if (c->clock_of[r - 1] != PS_NO_CLOCK) {
            lowest[c->clock_of[r - 1]] = (uint32_t)r - 1;
        }
    }
    for (uint32_t r = 0; r < c->n_ranks; r++) {
        out[r] = (ps_rank_clock){.reference = r};
        uint32_t clock = c->clock_of[r];
        if (clock == PS_NO_CLOCK) {
            continue;
        }
        const ps_clock_offset *o = &offsets[clock];
        out[r].reference = lowest[o->is_known ? o->first : clock];
        out[r].is_known = o->is_known;
        out[r].offset_ns = o->is_known ? o->offset_ns : 0;
        out[r].uncertainty_ns = o->is_known ? o->uncertainty_ns : 0;
        out[r].by = o->by;
        if (o->is_known && c->recorded[clock].is_known && c->recorded[o->first].is_known) {
            out[r].drift_ppb = c->recorded[clock].drift_ppb - c->recorded[o->first].drift_ppb;
        }
    }
}

ps_code ps_job_clock_solve(ps_job_clock *c, ps_rank_clock *out, ps_clock_notes *notes,
                           ps_err *err) {
    *notes = (ps_clock_notes){.n_clocks = c->n_clocks};
    ps_clock_interval *all = list_intervals(c, notes);
    ps_clock_offset *offsets = ps_calloc((size_t)c->n_clocks + 1, sizeof *offsets);
    uint32_t *lowest = ps_calloc((size_t)c->n_clocks + 1, sizeof *lowest);
    bool ok = all != NULL && offsets != NULL && lowest != NULL;
    ps_code code =
        ok ? ps_clock_solve(c->n_clocks, all, c->n_pairs, offsets, err) : ps_fail_nomem(err);
    if (code == PS_OK) {
        set_clock_pair_ranks(c, offsets, lowest, out);
    }
    ps_free(all);
    ps_free(offsets);
    ps_free(lowest);
    return code;
}
