#include "model/clock.h"

#include "base/alloc.h"

void ps_clock_before(ps_clock_interval *i, bool from_a, int64_t from_ns, int64_t to_ns) {
    int64_t most = 0;
    if (__builtin_sub_overflow(to_ns, from_ns, &most) || most == INT64_MIN || most == INT64_MAX) {
        return; /* says nothing */
    }
    if (from_a && most < i->high_ns) {
        i->high_ns = most;
    } else if (!from_a && -most > i->low_ns) {
        i->low_ns = -most;
    }
}

bool ps_clock_narrow(ps_clock_interval *i, int64_t low_ns, int64_t high_ns, uint32_t by) {
    bool is_empty = ps_clock_is_empty(i);
    int64_t low = !is_empty && i->low_ns > low_ns ? i->low_ns : low_ns;
    int64_t high = !is_empty && i->high_ns < high_ns ? i->high_ns : high_ns;
    if (low > high) {
        return false;
    }
    uint32_t before = low == i->low_ns || high == i->high_ns ? i->by : 0;
    uint32_t now = low != i->low_ns || high != i->high_ns ? by : 0;
    i->low_ns = low;
    i->high_ns = high;
    i->by = before | now;
    return true;
}

static bool is_bounded(const ps_clock_interval *i) {
    int64_t width = 0;
    return ps_clock_is_closed(i) && !ps_clock_is_empty(i) &&
           !__builtin_sub_overflow(i->high_ns, i->low_ns, &width);
}

static bool is_useful(const ps_clock_interval *i) {
    return is_bounded(i) || i->has_likely;
}

/* clock(b) - clock(a), and by how much it may be wrong. */
static int64_t difference_of(const ps_clock_interval *i, int64_t *uncertainty_ns) {
    if (!is_bounded(i)) {
        *uncertainty_ns = PS_CLOCK_UNBOUNDED;
        return i->likely_ns;
    }
    bool is_inside = i->has_likely && i->likely_ns >= i->low_ns && i->likely_ns <= i->high_ns;
    int64_t ns = is_inside ? i->likely_ns : i->low_ns + (i->high_ns - i->low_ns) / 2;
    *uncertainty_ns = i->high_ns - ns > ns - i->low_ns ? i->high_ns - ns : ns - i->low_ns;
    return ns;
}

static bool is_better(int64_t uncertainty_ns, int64_t known_ns) {
    return uncertainty_ns != PS_CLOCK_UNBOUNDED &&
           (known_ns == PS_CLOCK_UNBOUNDED || uncertainty_ns < known_ns);
}

/* One end of an interval is known: what does it say of the other? False when it says nothing better. */
static bool relax(const ps_clock_interval *i, bool from_a, ps_clock_offset *out) {
    ps_clock_offset *from = &out[from_a ? i->a : i->b];
    ps_clock_offset *to = &out[from_a ? i->b : i->a];
    int64_t own = 0;
    int64_t ns = difference_of(i, &own);
    int64_t offset = 0;
    int64_t uncertainty = PS_CLOCK_UNBOUNDED;
    bool bounded = own != PS_CLOCK_UNBOUNDED && from->uncertainty_ns != PS_CLOCK_UNBOUNDED;
    if (__builtin_add_overflow(from->offset_ns, from_a ? ns : -ns, &offset) ||
        (bounded && __builtin_add_overflow(from->uncertainty_ns, own, &uncertainty)) ||
        (to->is_known && to->first < from->first) ||
        (to->is_known && to->first == from->first && !is_better(uncertainty, to->uncertainty_ns))) {
        return false;
    }
    *to = (ps_clock_offset){offset, uncertainty, from->first, true, from->by | i->by};
    return true;
}

/* Bellman-Ford: uncertainties only add up, and what is only likely betters nothing, so it ends. */
static void clock_spread(const ps_clock_interval *intervals, size_t n, ps_clock_offset *out,
                         uint32_t n_machines) {
    bool changed = true;
    for (uint32_t round = 0; changed && round <= n_machines; round++) {
        changed = false;
        for (size_t k = 0; k < n; k++) {
            const ps_clock_interval *i = &intervals[k];
            if (!is_useful(i)) {
                continue;
            }
            if (out[i->a].is_known && relax(i, true, out)) {
                changed = true;
            }
            if (out[i->b].is_known && relax(i, false, out)) {
                changed = true;
            }
        }
    }
}

ps_code ps_clock_solve(uint32_t n_machines, const ps_clock_interval *intervals, size_t n_intervals,
                       ps_clock_offset *out, ps_err *err) {
    uint8_t *connected = ps_calloc(n_machines, sizeof *connected);
    if (connected == NULL) {
        return ps_fail_nomem(err);
    }
    for (uint32_t m = 0; m < n_machines; m++) {
        out[m] = (ps_clock_offset){.first = m};
    }
    for (size_t k = 0; k < n_intervals; k++) {
        bool useful = is_useful(&intervals[k]);
        connected[intervals[k].a] |= useful;
        connected[intervals[k].b] |= useful;
    }
    for (uint32_t m = 0; m < n_machines; m++) {
        if (connected[m] != 0 && !out[m].is_known) { /* the first of its part */
            out[m].is_known = true;
            clock_spread(intervals, n_intervals, out, n_machines);
        }
    }
    ps_free(connected);
    return PS_OK;
}

void ps_recorded_clock_archive(ps_archive *a, void *clock) {
    ps_recorded_clock *x = clock;
    PS_ARCHIVE(a, x, has_offset, has_drift, is_ptp, reference, offset_ns, uncertainty_ns, at_ns,
               from_ns, to_ns, drift_ppb, drift_uncertainty_ppb, machine, method);
}
