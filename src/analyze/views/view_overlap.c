/* overlap_sum: the lanes of the overlap analysis as sums. What stands in the lane Free is told by what it is of a step. */
#include <math.h>
#include <string.h>

#include "analyze/rank/overlap.h"
#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/num.h"

enum {
    LANE_COMPUTING,
    LANE_COMMUNICATION,
    LANE_EXPOSED,
    LANE_FREE, /* with the two behind it as ps_share_part has them */
    LANE_BEFORE = LANE_FREE + PS_SHARE_BEFORE,
    LANE_AFTER = LANE_FREE + PS_SHARE_AFTER,
    N_LANES
};
static const char *const LANES[LANE_FREE] = {"Computing", "Communication",
                                             "Communication(Not Overlapped)"};

typedef struct sums {
    int64_t total_ns[N_LANES], n[N_LANES], min_ns[N_LANES], max_ns[N_LANES];
} sums;

static void count_overlap(sums *s, size_t lane, const ps_view_input *in, int64_t start_ns,
                          int64_t end_ns) {
    int64_t ns = ps_view_inside_ns(in, start_ns, end_ns);
    if (ns == 0) {
        return;
    }
    s->total_ns[lane] = ps_i64_plus(s->total_ns[lane], ns);
    s->min_ns[lane] = s->n[lane] == 0 || ns < s->min_ns[lane] ? ns : s->min_ns[lane];
    s->max_ns[lane] = ns > s->max_ns[lane] ? ns : s->max_ns[lane];
    s->n[lane]++;
}

static void count_list(sums *s, size_t lane, const ps_view_input *in, const ps_intervals *list) {
    for (size_t i = 0; i < list->n; i++) {
        count_overlap(s, lane, in, list->at[i].start_ns, list->at[i].end_ns);
    }
}

static bool measure_overlap(const ps_view_input *in, sums *out) {
    bool ok = true;
    for (size_t i = 0; ok && i < in->overlaps->n; i++) {
        const ps_overlap_spans *x = &in->overlaps->spans[i];
        const ps_overlap *o = &in->overlaps->at[i];
        sums before = *out;
        count_list(out, LANE_COMPUTING, in, &x->computing);
        count_list(out, LANE_COMMUNICATION, in, &x->communication);
        ps_intervals exposed = {0};
        ok = ps_intervals_minus(&x->communication, &x->computing, &exposed);
        count_list(out, LANE_EXPOSED, in, &exposed);
        ps_intervals_fini(&exposed);
        count_list(out, LANE_FREE, in, &x->free);
        count_list(out, LANE_BEFORE, in, &x->before);
        count_list(out, LANE_AFTER, in, &x->after);
        if (ps_view_is_all(in)) { /* as the lanes of the profiler have them */
            const int64_t own[N_LANES] = {o->computing_ns,      o->communication_ns,
                                          o->not_overlapped_ns, o->free_ns,
                                          o->before_ns,         o->after_ns};
            for (size_t lane = 0; lane < N_LANES; lane++) {
                out->total_ns[lane] = ps_i64_plus(before.total_ns[lane], own[lane]);
            }
        }
    }
    return ok;
}

typedef struct lane_row {
    const char *name;
    double percent, mean_ns;
    int64_t total_ns, n, min_ns, max_ns;
} lane_row;

#define NS(text, member)                                                                           \
    { .name = (text), PS_FIELD(lane_row, member), .unit = PS_UNIT_NS }
static const ps_column COLUMNS[] = {
    {.name = "name", PS_FIELD(lane_row, name)},
    {.name = "share", PS_FIELD(lane_row, percent), .unit = PS_UNIT_PERCENT},
    NS("total", total_ns),
    {.name = "stretches", PS_FIELD(lane_row, n), .unit = PS_UNIT_COUNT},
    NS("avg", mean_ns),
    NS("min", min_ns),
    NS("max", max_ns),
};

static void put_lanes(ps_table *t, const sums *s) {
    double whole = 0; /* what the lanes cover: communication is computing's, or not overlapped */
    for (size_t lane = 0; lane < N_LANES; lane++) {
        whole += lane != LANE_COMMUNICATION ? (double)s->total_ns[lane] : 0;
    }
    for (size_t lane = 0; lane < N_LANES; lane++) {
        double total = (double)s->total_ns[lane];
        bool any = s->n[lane] > 0;
        if (lane > LANE_FREE && !any) {
            continue;
        }
        ps_table_put(t, &(lane_row){.name = lane < LANE_FREE ? LANES[lane]
                                                             : ps_share_names[lane - LANE_FREE],
                                    .percent = whole > 0 ? 100 * total / whole : NAN,
                                    .total_ns = s->total_ns[lane],
                                    .n = s->n[lane],
                                    .mean_ns = any ? total / (double)s->n[lane] : NAN,
                                    .min_ns = any ? s->min_ns[lane] : PS_UNKNOWN_INT,
                                    .max_ns = any ? s->max_ns[lane] : PS_UNKNOWN_INT});
    }
}

static ps_table *make_overlap(const ps_view_input *in, ps_err *err) {
    sums s;
    memset(&s, 0, sizeof s);
    if (in->overlaps->n == 0 || !in->overlaps->knows_computing) {
        (void)ps_fail(err, PS_NOTHING,
                      in->overlaps->n == 0 ? PS_OVERLAP_NO_WORK(in->lang)
                                           : PS_OVERLAP_NO_COMPUTING(in->lang));
        return NULL;
    }
    ps_table *t = measure_overlap(in, &s)
                      ? ps_table_new("overlap_sum", "overlap of computing and communication",
                                     PS_COLUMNS(COLUMNS))
                      : NULL;
    put_lanes(t, &s);
    return ps_view_end(t, true, "", err);
}

const ps_view ps_view_overlap_sum = {.name = "overlap_sum",
                                     .title = "Overlap analysis",
                                     .tab = PS_TAB_TIMELINE,
                                     .uses = PS_VIEW_LINKS | PS_VIEW_OVERLAPS,
                                     .make = make_overlap};
