#include "record/export/clock_line.h"

#include <math.h>

#include "base/alloc.h"

/* What reads of two clocks one behind the other differ by, besides what their half widths say. */
#define LEAST_DOUBT_NS 100.0
/* A slewed clock is 500 ppm off; anchors that say more than this are damaged. */
#define MOST_SLEW 0.01

static int64_t plus_scaled_ticks(int64_t base, uint64_t ticks, uint64_t ticks0,
                                 double ns_per_tick) {
    double ns = ticks >= ticks0 ? (double)(ticks - ticks0) * ns_per_tick
                                : -((double)(ticks0 - ticks) * ns_per_tick);
    const double most = 4e18; /* damaged times stay within the range */
    if (!(ns < most)) {
        return INT64_MAX / 2;
    }
    if (ns < -most) {
        return -(INT64_MAX / 2);
    }
    int64_t out = 0;
    return __builtin_add_overflow(base, llrint(ns), &out) ? INT64_MAX / 2 : out;
}

/* The last knot at or before `ticks`; n_knots when all are behind it. */
static size_t clock_knot_before(const ps_clock_line *line, uint64_t ticks) {
    size_t low = 0;
    size_t high = line->n_knots;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (line->knots[middle].ticks <= ticks) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? line->n_knots : low - 1;
}

int64_t ps_line_unix(const ps_clock_line *line, uint64_t ticks) {
    size_t i = line->n_knots > 0 ? clock_knot_before(line, ticks) : 0;
    if (i >= line->n_knots) {
        return plus_scaled_ticks(line->real_ns, ticks, line->ticks0, line->ns_per_tick);
    }
    const ps_clock_knot *k = &line->knots[i];
    double rate = line->ns_per_tick;
    if (i + 1 < line->n_knots) {
        rate = ((double)k[1].mono_ns - (double)k->mono_ns) / (double)(k[1].ticks - k->ticks);
    }
    return plus_scaled_ticks(ps_line_unix_of_mono(line, k->mono_ns), ticks, k->ticks, rate);
}

int64_t ps_line_unix_of_mono(const ps_clock_line *line, int64_t mono_ns) {
    int64_t since = 0;
    int64_t out = 0;
    if (__builtin_sub_overflow(mono_ns, line->mono_ns, &since) ||
        __builtin_add_overflow(line->real_ns, since, &out)) {
        return mono_ns < line->mono_ns ? -(INT64_MAX / 2) : INT64_MAX / 2;
    }
    return out;
}

/* Slopes from a knot that explain all anchors since. */
typedef struct door {
    const ps_raw_anchor *knot;
    double low, high; /* ns a tick */
} door;

/* Whether the anchor is one that a slewed clock may have behind `before`. */
static bool is_sound_anchor(const ps_clock_line *line, const ps_raw_anchor *before,
                            const ps_raw_anchor *a) {
    int64_t since_ns = 0;
    if (a->ticks <= before->ticks || a->mono_ns <= before->mono_ns ||
        __builtin_sub_overflow(a->mono_ns, before->mono_ns, &since_ns)) {
        return false;
    }
    double straight_ns = (double)(a->ticks - before->ticks) * line->ns_per_tick;
    double off_ns = fabs((double)since_ns - straight_ns);
    double doubt_ns = (double)a->half_width_ns + (double)before->half_width_ns + LEAST_DOUBT_NS;
    return off_ns <= straight_ns * MOST_SLEW + doubt_ns;
}

static void open_door(door *d, const ps_raw_anchor *knot) {
    *d = (door){.knot = knot, .low = -INFINITY, .high = INFINITY};
}

/* Narrows the door by an anchor; false, and nothing is changed, when no slope is left. */
static bool narrow_door(door *d, const ps_raw_anchor *a) {
    double ticks = (double)(a->ticks - d->knot->ticks);
    double ns = (double)a->mono_ns - (double)d->knot->mono_ns;
    double doubt_ns = (double)a->half_width_ns + (double)d->knot->half_width_ns + LEAST_DOUBT_NS;
    double low = fmax(d->low, (ns - doubt_ns) / ticks);
    double high = fmin(d->high, (ns + doubt_ns) / ticks);
    if (low > high) {
        return false;
    }
    d->low = low;
    d->high = high;
    return true;
}

static void add_clock_knot(ps_clock_line *line, const ps_raw_anchor *a) {
    line->knots[line->n_knots++] = (ps_clock_knot){.ticks = a->ticks, .mono_ns = a->mono_ns};
}

bool ps_clock_line_bend(ps_clock_line *line, const ps_raw_anchor *anchors, size_t n) {
    line->knots = NULL;
    line->n_knots = 0;
    if (n < 3) {
        return true;
    }
    line->knots = ps_calloc(n, sizeof *line->knots);
    if (line->knots == NULL) {
        return false;
    }
    door d;
    const ps_raw_anchor *before = &anchors[0];
    add_clock_knot(line, before);
    open_door(&d, before);
    for (size_t i = 1; i < n; i++) {
        const ps_raw_anchor *a = &anchors[i];
        if (!is_sound_anchor(line, before, a)) {
            continue;
        }
        if (!narrow_door(&d, a)) { /* the line bends at the one before */
            add_clock_knot(line, before);
            open_door(&d, before);
            (void)narrow_door(&d, a);
        }
        before = a;
    }
    if (line->n_knots == 1) { /* straight: as without knots */
        line->n_knots = 0;
    } else {
        add_clock_knot(line, before);
    }
    return true;
}

void ps_clock_line_fini(ps_clock_line *line) {
    ps_free(line->knots);
    line->knots = NULL;
    line->n_knots = 0;
}
