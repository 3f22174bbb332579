#include "analyze/rank/derived_lanes.h"

#include <string.h>

#include "analyze/rank/overlap.h"
#include "analyze/rank/work.h"
#include "analyze/stats/intervals.h"
#include "base/alloc.h"
#include "base/idmap.h"

enum { LANE_COMPUTING, LANE_COMMUNICATION, LANE_EXPOSED, LANE_FREE, LANE_ENDS, N_LANES };
static const char *const LANES[N_LANES] = {"Computing", "Communication",
                                           "Communication(Not Overlapped)", "Free", PS_LANE_ENDS};

typedef struct device {
    int64_t number;
    bool has_lanes; /* of its own, which know no time before and after the work of steps */
    ps_intervals computing, communication;
} device;

typedef struct derivation {
    const ps_trace *t;
    device *devices;
    size_t n, cap;
    uint32_t *of_track; /* [n_tracks] row in devices; PS_NONE on the host */
    ps_idmap rows;      /* number -> row */
    ps_builder *b;
    bool always;
    bool knows_computing;     /* of ps_work */
    const ps_overlaps *whose; /* time without work; NULL without steps */
    int64_t steps_start_ns, steps_end_ns;
} derivation;

static bool is_overlap(const char *name) {
    for (size_t i = 0; i < LANE_ENDS; i++) {
        if (strcmp(name, LANES[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool list_devices(derivation *d) {
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(d->t, &n);
    d->of_track = ps_calloc(n + 1, sizeof *d->of_track);
    for (size_t i = 0; d->of_track != NULL && i < n; i++) {
        d->of_track[i] = PS_NONE;
        if (tracks[i].device < 0) {
            continue;
        }
        uint32_t row = ps_idmap_get(&d->rows, (uint64_t)tracks[i].device);
        if (row == PS_IDMAP_NONE) {
            row = (uint32_t)d->n;
            if (!ps_grow(&d->devices, &d->cap, d->n + 1, PS_NONE - 1, sizeof *d->devices) ||
                !ps_idmap_put(&d->rows, (uint64_t)tracks[i].device, row)) {
                return false;
            }
            d->devices[d->n++] = (device){.number = tracks[i].device};
        }
        d->of_track[i] = row;
        d->devices[row].has_lanes =
            d->devices[row].has_lanes || (!d->always && tracks[i].kind == PS_TRACK_DERIVED &&
                                          is_overlap(ps_trace_text(d->t, tracks[i].name)));
    }
    return d->of_track != NULL;
}

static bool gather_derived(derivation *d) {
    ps_work work = ps_work_of_trace(d->t);
    const ps_slices *s = work.s;
    bool ok = true;
    d->knows_computing = work.knows_computing;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t row = d->of_track[s->track[i]];
        if (row == PS_NONE || s->dur_ns[i] <= 0) {
            continue;
        }
        ps_part part = ps_work_busy(&work, i);
        if (part == PS_PART_COMPUTING || part == PS_PART_COMMUNICATION) {
            device *dev = &d->devices[row];
            ok = ps_intervals_extend(part == PS_PART_COMPUTING ? &dev->computing
                                                               : &dev->communication,
                                     s->start_ns[i], s->start_ns[i] + s->dur_ns[i]);
        }
    }
    return ok;
}

/* From the first of the windows of steps to the end of the last, and whose it is. */
static bool ask_steps(derivation *d, ps_overlaps_ask *whose, const void *context) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(d->t, &n);
    bool is_asked = false;
    for (size_t i = 0; i < d->n && n > 0 && d->knows_computing; i++) {
        is_asked = is_asked || d->devices[i].computing.n + d->devices[i].communication.n > 0;
    }
    d->whose = is_asked ? whose(context, NULL) : NULL;
    for (size_t i = 0; i < n; i++) {
        const ps_step *s = &steps[i];
        d->steps_start_ns =
            i == 0 || s->start_ns < d->steps_start_ns ? s->start_ns : d->steps_start_ns;
        d->steps_end_ns = i == 0 || s->end_ns > d->steps_end_ns ? s->end_ns : d->steps_end_ns;
    }
    return !is_asked || d->whose != NULL;
}

static uint32_t derived_track(derivation *d, const device *dev, int lane) {
    ps_str name = ps_builder_str(d->b, LANES[lane], strlen(LANES[lane]));
    uint32_t track = ps_builder_track(
        d->b,
        (ps_track){
            .kind = PS_TRACK_DERIVED, .pid = -1, .tid = -1, .device = dev->number, .name = name});
    if (track != PS_NONE) {
        ps_builder_track_label(d->b, track, PS_STR_NONE, lane);
    }
    return track;
}

static void put_derived(derivation *d, uint32_t track, const char *name, int64_t from_ns,
                        int64_t to_ns, size_t number) {
    ps_str text = ps_builder_str(d->b, name, strlen(name));
    (void)ps_builder_slice(d->b, PS_SLICE_DERIVED, track, text, from_ns, to_ns, (int64_t)number);
}

/* A slice for each span. */
static void put_derived_lane(derivation *d, const device *dev, int lane, const ps_intervals *list) {
    uint32_t track = list->n > 0 ? derived_track(d, dev, lane) : PS_NONE;
    for (size_t i = 0; track != PS_NONE && i < list->n; i++) {
        put_derived(d, track, LANES[lane], list->at[i].start_ns, list->at[i].end_ns, i);
    }
}

/* The pieces of [from, to), in which the device did no work: one at most for each of two steps. */
static size_t share_gap(const derivation *d, const device *dev, int64_t from_ns, int64_t to_ns,
                        ps_share out[2]) {
    if (from_ns >= to_ns) {
        return 0;
    }
    if (d->whose != NULL) {
        return ps_overlaps_share(d->whose, dev->number, from_ns, to_ns, out);
    }
    out[0] = (ps_share){.part = PS_SHARE_FREE, .start_ns = from_ns, .end_ns = to_ns};
    return 1;
}

/* What `busy` leaves over: between its spans, and with steps from the first of their windows to the end of the last. Free is a lane,
 * as profilers write it; what lies before and after the work of steps is one of its own, so that lanes of one name are alike. */
static void put_lanes_without_work(derivation *d, const device *dev, const ps_intervals *busy) {
    uint32_t tracks[N_LANES] = {[LANE_FREE] = PS_NONE, [LANE_ENDS] = PS_NONE};
    for (size_t i = 0; busy->n > 0 && i <= busy->n; i++) {
        if (d->whose == NULL && (i == 0 || i == busy->n)) {
            continue;
        }
        ps_share shares[2];
        int64_t from = i > 0 ? busy->at[i - 1].end_ns : d->steps_start_ns;
        int64_t to = i < busy->n ? busy->at[i].start_ns : d->steps_end_ns;
        size_t n = share_gap(d, dev, from, to, shares);
        for (size_t k = 0; k < n; k++) {
            int lane = shares[k].part == PS_SHARE_FREE ? LANE_FREE : LANE_ENDS;
            if (lane == LANE_FREE && dev->has_lanes) {
                continue;
            }
            tracks[lane] = tracks[lane] == PS_NONE ? derived_track(d, dev, lane) : tracks[lane];
            if (tracks[lane] != PS_NONE) {
                put_derived(d, tracks[lane], ps_share_names[shares[k].part], shares[k].start_ns,
                            shares[k].end_ns, i);
            }
        }
    }
}

static bool put_device(derivation *d, const device *dev) {
    ps_intervals exposed = {0};
    ps_intervals busy = {0};
    bool ok = ps_intervals_minus(&dev->communication, &dev->computing, &exposed) &&
              ps_intervals_either(&dev->computing, &dev->communication, &busy) &&
              ps_builder_expect_slices(d->b, dev->computing.n + dev->communication.n + exposed.n +
                                                 2 * (busy.n + 1));
    if (ok && !dev->has_lanes) {
        put_derived_lane(d, dev, LANE_COMPUTING, &dev->computing);
        put_derived_lane(d, dev, LANE_COMMUNICATION, &dev->communication);
        if (d->knows_computing) { /* else nobody knows what hid it */
            put_derived_lane(d, dev, LANE_EXPOSED, &exposed);
        }
    }
    if (ok && d->knows_computing) { /* else nobody knows when nothing ran */
        put_lanes_without_work(d, dev, &busy);
    }
    ps_intervals_fini(&exposed);
    ps_intervals_fini(&busy);
    return ok;
}

/* Lanes count devices (lanes.h): all are known here, also those without lanes to add. */
static bool put_all(derivation *d) {
    ps_builder_origin(d->b, 0);
    bool ok = ps_builder_time_base(d->b, ps_trace_origin_ns(d->t));
    for (size_t i = 0; i < d->n && !ps_builder_failed(d->b); i++) {
        (void)ps_builder_track(d->b, (ps_track){.kind = PS_TRACK_DERIVED,
                                                .pid = -1,
                                                .tid = -1,
                                                .device = d->devices[i].number});
    }
    for (size_t i = 0; ok && i < d->n; i++) {
        ok = put_device(d, &d->devices[i]);
    }
    return ok && !ps_builder_failed(d->b);
}

ps_trace *ps_derive_overlap(const ps_trace *trace, ps_overlaps_ask *whose, const void *context,
                            bool always, ps_err *err) {
    derivation d = {.t = trace, .always = always, .b = ps_builder_new()};
    ps_idmap_init(&d.rows);
    bool ok = d.b != NULL && list_devices(&d) && gather_derived(&d) &&
              ask_steps(&d, whose, context) && put_all(&d);
    for (size_t i = 0; i < d.n; i++) {
        ps_intervals_fini(&d.devices[i].computing);
        ps_intervals_fini(&d.devices[i].communication);
    }
    ps_free(d.devices);
    ps_free(d.of_track);
    ps_idmap_fini(&d.rows);
    if (!ok) {
        ps_builder_free(d.b);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return ps_builder_seal(d.b, err);
}
