#include "serve/align.h"

#include "analyze/late.h"
#include "analyze/recorded_clock.h"
#include "analyze/transfers.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "model/clock.h"

static const ps_trace *trace_of(const ps_align_rank *r) {
    return ps_loaded_layer(r->loaded, PS_LAYER_PROFILE)->trace;
}

/* Differences of times that may lie anywhere within +-2^62. */
static int64_t minus(int64_t a, int64_t b) {
    int64_t d = 0;
    return __builtin_sub_overflow(a, b, &d) ? (a < b ? INT64_MIN : INT64_MAX) : d;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static void set_known(ps_align_rank *r, int64_t offset_ns, int64_t uncertainty_ns) {
    r->offset_ns = offset_ns;
    r->uncertainty_ns = uncertainty_ns;
    r->is_known = true;
}

static void set_unknown(ps_align_rank *r) {
    r->offset_ns = 0;
    r->uncertainty_ns = PS_NO_UNCERTAINTY;
    r->is_known = false;
}

/* --- by what was recorded --------------------------------------------------------------------------------------------- */

static int64_t first_ns(const ps_align_rank *r) {
    return ps_trace_origin_ns(trace_of(r)) + ps_loaded_facts_of(r->loaded)->start_ns;
}

void ps_align_starts(ps_align_rank *ranks, size_t n) {
    for (size_t i = 0; i < n; i++) {
        set_known(&ranks[i], minus(first_ns(&ranks[0]), first_ns(&ranks[i])), PS_NO_UNCERTAINTY);
    }
}

/* Id of a step -> its row; of several of one id the first. */
static bool index_steps(const ps_trace *t, ps_idmap *rows) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    bool ok = true;
    for (size_t i = n; ok && i > 0; i--) {
        ok = ps_idmap_put(rows, (uint64_t)steps[i - 1].id, (uint32_t)(i - 1));
    }
    return ok;
}

ps_code ps_align_steps(ps_align_rank *ranks, size_t n, ps_err *err) {
    ps_idmap rows;
    ps_idmap_init(&rows);
    const ps_trace *first = n > 0 ? trace_of(&ranks[0]) : NULL;
    bool ok = n == 0 || index_steps(first, &rows);
    for (size_t i = 0; ok && i < n; i++) {
        const ps_trace *t = trace_of(&ranks[i]);
        size_t n_steps = 0;
        const ps_step *steps = ps_trace_steps(t, &n_steps);
        const ps_step *others = ps_trace_steps(first, &(size_t){0});
        set_unknown(&ranks[i]);
        for (size_t k = 0; k < n_steps && !ranks[i].is_known; k++) {
            uint32_t row = ps_idmap_get(&rows, (uint64_t)steps[k].id);
            if (row != PS_IDMAP_NONE) {
                set_known(&ranks[i],
                          minus(ps_trace_origin_ns(first) + others[row].start_ns,
                                ps_trace_origin_ns(t) + steps[k].start_ns),
                          PS_NO_UNCERTAINTY);
            }
        }
    }
    ps_idmap_fini(&rows);
    return ok ? PS_OK : ps_fail_nomem(err);
}

#define NO_ROW UINT32_MAX

/* --- by communication --------------------------------------------------------------------------------------------------- */

typedef struct clocks {
    ps_align_rank *ranks;
    size_t n;
    uint32_t *clock_of; /* [n] */
    uint32_t n_clocks;
    ps_idmap rows; /* clock a << 32 | b, a < b -> interval */
    ps_clock_interval *intervals;
    size_t n_intervals, cap_intervals;
    ps_clock_offset *offsets; /* [n_clocks] */
    ps_late late;
    ps_align_evidence *evidence;
} clocks;

/* Ranks of one machine share a clock. */
static bool number_clocks(clocks *c) {
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    for (size_t i = 0; ok && i < c->n; i++) {
        int32_t machine = c->ranks[i].info.machine;
        uint32_t clock = machine >= 0 ? ps_idmap_get(&seen, (uint64_t)machine) : PS_IDMAP_NONE;
        if (clock == PS_IDMAP_NONE) {
            clock = c->n_clocks++;
            ok = machine < 0 || ps_idmap_put(&seen, (uint64_t)machine, clock);
        }
        c->clock_of[i] = clock;
    }
    ps_idmap_fini(&seen);
    return ok;
}

/* The interval of two clocks, NO_ROW when memory is out. */
static uint32_t row_of(clocks *c, uint32_t a, uint32_t b) {
    uint32_t low = a < b ? a : b;
    uint32_t high = a < b ? b : a;
    uint64_t key = (uint64_t)low << 32 | high;
    uint32_t row = ps_idmap_get(&c->rows, key);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)c->n_intervals;
        if (!ps_grow(&c->intervals, &c->cap_intervals, c->n_intervals + 1, UINT32_MAX - 1,
                     sizeof *c->intervals) ||
            !ps_idmap_put(&c->rows, key, row)) {
            return NO_ROW;
        }
        c->intervals[c->n_intervals++] = (ps_clock_interval){low, high, PS_CLOCK_LOW_OPEN,
                                                             PS_CLOCK_HIGH_OPEN, PS_CLOCK_BY_ORDER};
    }
    return row;
}

/* "What happened on rank `from` at x was before what happened on rank `to` at y." *is_used: it bounds something. */
static bool add_order(clocks *c, uint32_t from, int64_t from_ns, uint32_t to, int64_t to_ns,
                      bool *is_used) {
    uint32_t a = c->clock_of[from];
    uint32_t b = c->clock_of[to];
    if (a == b) {
        return true;
    }
    uint32_t row = row_of(c, a, b);
    if (row == NO_ROW) {
        return false;
    }
    ps_clock_before(&c->intervals[row], a < b, from_ns, to_ns);
    *is_used = true;
    return true;
}

static const ps_comm_op *op_of(const clocks *c, uint32_t rank, uint32_t op) {
    return &c->ranks[rank].list->ops[op];
}

/* Each part against the first one and the one before it: all of them are connected then, and n parts cost n. */
static bool add_meeting(clocks *c, const ps_meeting *m) {
    const ps_meeting_part *parts = &c->late.parts[m->first];
    const ps_comm_list *list = c->ranks[parts[0].rank].list;
    const ps_comm_op *named = &list->ops[parts[0].op];
    if (!ps_is_symmetric(ps_comm_text(list, named->type)) &&
        !ps_is_symmetric(ps_comm_text(list, named->name))) {
        return true;
    }
    bool is_used = false;
    bool ok = true;
    for (uint32_t i = 1; ok && i < m->n; i++) {
        for (uint32_t k = 0; ok && k<i; k += i> 1 ? i - 1 : 1) {
            const ps_comm_op *x = op_of(c, parts[k].rank, parts[k].op);
            const ps_comm_op *y = op_of(c, parts[i].rank, parts[i].op);
            ok = add_order(c, parts[k].rank, x->start_ns, parts[i].rank, y->end_ns, &is_used) &&
                 add_order(c, parts[i].rank, y->start_ns, parts[k].rank, x->end_ns, &is_used);
        }
    }
    c->evidence->n_collectives += is_used;
    return ok;
}

/* Of the ranks of a clock the one that is sure most, in the middle of all that was recorded. */
static void find_recorded(const clocks *c, ps_clock_state *states) {
    const ps_recorded_clock *first = NULL;
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = INT64_MIN;
    for (size_t i = 0; i < c->n; i++) {
        const ps_loaded_facts *facts = ps_loaded_facts_of(c->ranks[i].loaded);
        int64_t origin_ns = ps_trace_origin_ns(trace_of(&c->ranks[i]));
        int64_t from_ns = plus(origin_ns, facts->start_ns);
        int64_t to_ns = plus(origin_ns, facts->end_ns);
        start_ns = from_ns < start_ns ? from_ns : start_ns;
        end_ns = to_ns > end_ns ? to_ns : end_ns;
    }
    for (size_t i = 0; i < c->n; i++) {
        const ps_recorded_clock *r = &c->ranks[i].recorded;
        if (r->has_offset && (first == NULL || r->reference == first->reference)) {
            first = first != NULL ? first : r;
            ps_clock_state found = ps_recorded_clock_at(r, start_ns, end_ns);
            ps_recorded_clock_level(&found, start_ns, end_ns); /* ranks are moved as a whole */
            ps_clock_state *known = &states[c->clock_of[i]];
            *known =
                !known->is_known || found.uncertainty_ns < known->uncertainty_ns ? found : *known;
        }
    }
}

/* Each clock against the first that has one, and all pairs that communication bounds. */
static bool add_recorded(clocks *c) {
    ps_clock_state *states = ps_calloc((size_t)c->n_clocks + 1, sizeof *states);
    if (states == NULL) {
        return false;
    }
    find_recorded(c, states);
    uint32_t first = NO_ROW;
    bool ok = true;
    for (uint32_t k = 0; ok && k < c->n_clocks; k++) {
        if (states[k].is_known && first == NO_ROW) {
            first = k;
        } else if (states[k].is_known) {
            ok = row_of(c, first, k) != NO_ROW;
        }
    }
    for (size_t i = 0; ok && i < c->n_intervals; i++) {
        ps_clock_interval *interval = &c->intervals[i];
        const ps_clock_state *a = &states[interval->a];
        const ps_clock_state *b = &states[interval->b];
        if (a->is_known && b->is_known) {
            bool agrees = ps_recorded_clocks_narrow(interval, a, b);
            c->evidence->n_recorded += agrees;
            c->evidence->n_contradicted += !agrees;
        }
    }
    ps_free(states);
    return ok;
}

static bool add_orders(clocks *c) {
    bool ok = true;
    for (size_t i = 0; ok && i < c->late.n_meetings; i++) {
        ok = add_meeting(c, &c->late.meetings[i]);
    }
    for (size_t i = 0; ok && i < c->late.n_receives; i++) {
        const ps_late_receive *r = &c->late.receives[i];
        bool is_used = false;
        ok = add_order(c, r->sender, op_of(c, r->sender, r->send_op)->start_ns, r->receiver,
                       op_of(c, r->receiver, r->receive_op)->end_ns, &is_used);
        c->evidence->n_transfers += is_used;
    }
    for (size_t i = 0; i < c->n_intervals; i++) {
        c->evidence->n_contradicted += ps_clock_is_empty(&c->intervals[i]);
    }
    return ok && add_recorded(c);
}

/* The interval says what is possible, the median of the ends what is likely. */
static void place(clocks *c, size_t i) {
    ps_align_rank *r = &c->ranks[i];
    const ps_clock_offset *first = &c->offsets[c->clock_of[0]];
    const ps_clock_offset *own = &c->offsets[c->clock_of[i]];
    const ps_late_clock *ends = &c->late.clocks[i];
    bool by_ends = ends->reference == c->late.clocks[0].reference;
    int64_t median = minus(ends->offset_ns, c->late.clocks[0].offset_ns);
    set_unknown(r);
    if (c->clock_of[i] == c->clock_of[0]) {
        set_known(r, 0, 0);
    } else if (own->is_known && first->is_known && own->first == first->first) {
        int64_t offset = minus(own->offset_ns, first->offset_ns);
        int64_t uncertainty = plus(own->uncertainty_ns, first->uncertainty_ns);
        int64_t aside = minus(median, offset);
        aside = aside < 0 ? minus(0, aside) : aside;
        if (by_ends && aside <= uncertainty) {
            set_known(r, minus(0, median), plus(uncertainty, aside));
        } else {
            set_known(r, minus(0, offset), uncertainty);
        }
    } else if (by_ends) {
        set_known(r, minus(0, median), PS_NO_UNCERTAINTY);
    }
}

static ps_code measure(clocks *c, ps_err *err) {
    const ps_comm_list **lists = ps_calloc(c->n + 1, sizeof(ps_comm_list *));
    ps_rank_info *infos = ps_calloc(c->n + 1, sizeof *infos);
    ps_code code = lists != NULL && infos != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < c->n; i++) {
        lists[i] = c->ranks[i].list;
        infos[i] = c->ranks[i].info;
    }
    if (code == PS_OK) {
        ps_late_input in = {.lists = lists, .ranks = infos, .n_ranks = c->n, .step = -1};
        code = ps_late_measure(&in, &c->late, err);
    }
    ps_free(lists);
    ps_free(infos);
    return code;
}

ps_code ps_align_clocks(ps_align_rank *ranks, size_t n, ps_align_evidence *evidence, ps_err *err) {
    clocks c = {.ranks = ranks, .n = n, .evidence = evidence};
    *evidence = (ps_align_evidence){0};
    if (n == 0) {
        return PS_OK;
    }
    ps_idmap_init(&c.rows);
    c.clock_of = ps_calloc(n + 1, sizeof *c.clock_of);
    ps_code code = c.clock_of != NULL && number_clocks(&c) ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? measure(&c, err) : code;
    if (code == PS_OK) {
        c.offsets = ps_calloc((size_t)c.n_clocks + 1, sizeof *c.offsets);
        code = c.offsets != NULL && add_orders(&c)
                   ? ps_clock_solve(c.n_clocks, c.intervals, c.n_intervals, c.offsets, err)
                   : ps_fail_nomem(err);
    }
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        place(&c, i);
    }
    evidence->n_clocks = c.n_clocks;
    ps_late_fini(&c.late);
    ps_free(c.clock_of);
    ps_free(c.intervals);
    ps_free(c.offsets);
    ps_idmap_fini(&c.rows);
    return code;
}
