#include "analyze/overlap_lanes.h"

enum { LANE_COMPUTING, LANE_COMMUNICATION, LANE_NOT_OVERLAPPED, LANE_FREE, N_LANES };

#define ROUNDING_NS 250
#define EDGE_NS 1000 /* a lane may begin this much before the first slice that makes it */

typedef struct lane_sum {
    int64_t ns, n;
} lane_sum;

static bool is_one_device(const ps_overlaps *o) {
    for (size_t i = 1; i < o->n; i++) {
        if (o->at[i].device != o->at[0].device) {
            return false;
        }
    }
    return o->n > 0;
}

/* The first slice that starts at `from_ns` or later; they are sorted. */
static uint32_t first_from(const ps_slices *s, int64_t from_ns) {
    uint32_t low = 0;
    uint32_t high = s->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->start_ns[middle] < from_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Adds up the lanes inside of one step's work. */
static void add_up(const ps_trace *trace, const ps_str *names, const ps_overlap *o,
                   lane_sum sums[N_LANES]) {
    const ps_slices *s = ps_trace_slices(trace);
    uint32_t i = first_from(s, o->first_ns - EDGE_NS);
    for (; i < s->n && s->start_ns[i] <= o->last_ns; i++) {
        for (size_t lane = 0; s->kind[i] == PS_SLICE_DERIVED && lane < N_LANES; lane++) {
            if (!ps_str_is_none(names[lane]) && ps_str_eq(s->name[i], names[lane])) {
                sums[lane].ns += s->dur_ns[i];
                sums[lane].n++;
            }
        }
    }
}

static bool differs_by_rounding(const lane_sum *lane, int64_t own_ns) {
    int64_t difference = lane->ns < own_ns ? own_ns - lane->ns : lane->ns - own_ns;
    return lane->n > 0 ? difference / lane->n <= ROUNDING_NS : own_ns == 0;
}

static void take(const ps_trace *trace, const ps_str *names, ps_overlap *o) {
    lane_sum sums[N_LANES] = {{0, 0}};
    int64_t *own[N_LANES] = {[LANE_COMPUTING] = &o->computing_ns,
                             [LANE_COMMUNICATION] = &o->communication_ns,
                             [LANE_NOT_OVERLAPPED] = &o->not_overlapped_ns,
                             [LANE_FREE] = &o->free_ns};
    add_up(trace, names, o, sums);
    for (size_t lane = 0; lane < N_LANES; lane++) {
        if (!differs_by_rounding(&sums[lane], *own[lane])) {
            return;
        }
    }
    int64_t receives_ns = o->not_overlapped_ns - o->exclude_receive_ns;
    for (size_t lane = 0; lane < N_LANES; lane++) {
        *own[lane] = sums[lane].ns;
    }
    int64_t exclude_ns = o->not_overlapped_ns - receives_ns;
    o->exclude_receive_ns = exclude_ns > 0 ? exclude_ns : 0;
    int64_t *copies = &o->copies_ns[PS_SHARE_FREE];
    *copies = *copies < o->free_ns ? *copies : o->free_ns;
}

void ps_overlaps_take_lanes(const ps_trace *trace, ps_overlaps *o) {
    static const char *const NAMES[N_LANES] = {[LANE_COMPUTING] = "Computing",
                                               [LANE_COMMUNICATION] = "Communication",
                                               [LANE_NOT_OVERLAPPED] =
                                                   "Communication(Not Overlapped)",
                                               [LANE_FREE] = "Free"};
    ps_str names[N_LANES];
    for (size_t lane = 0; lane < N_LANES; lane++) {
        names[lane] = ps_trace_find_text(trace, NAMES[lane]);
    }
    for (size_t i = 0; !ps_str_is_none(names[LANE_COMPUTING]) && is_one_device(o) && i < o->n;
         i++) {
        take(trace, names, &o->at[i]);
    }
}
