/* Anchors. On a stream of our own, which waits for nobody: read the host's clock, record an event, ask until it has happened,
 * read the clock again. The event lies between the two readings; the narrowest of 16 tries is kept, its middle is the
 * anchor's moment and half its width how far off that can be.
 *
 * Floats. A difference of two events has 24 significant bits: between 256 and 512 ms its step is 2^-15 ms = 31 ns, at 16 s it
 * is 1 us, after an hour 0.25 ms. So an event is measured against the anchor right before it, and an anchor is taken at
 * least every half second while there are events: no step is then wider than 31 ns, half of what the driver promises for an
 * event by itself (0.5 us) sixteen times over. A range's length is measured between its own two events, where short spans
 * have the finest steps. The device's time of an anchor is the sum of the differences from anchor to anchor: after an hour, 7200
 * rounding errors of at most 15 ns each, which are as often up as down, have added up to less than a microsecond, and they do
 * not enter the result, since a fit spans 64 anchors only. After a pause of more than 8 s (step: 0.5 us) the sum would carry a
 * coarse error on: a new epoch begins, and no fit goes across.
 *
 * Fit. Within an epoch the host's time is offset + slope * device's time, by least squares over the anchors that are kept (32 s
 * of activity), each weighted by how narrow it is. The slope is held to what crystals do (100 ppm), so that two
 * anchors close to each other do not make a steep line of their noise. */
#include "record/gpu/cuda_clock.h"

#include <math.h>
#include <stddef.h>

#include "record/ring/clock.h"

enum {
    TRY_NS = 2000000, /* a device that does not answer an idle stream in 2 ms is left alone */
    NEAR_MS = 500,    /* below this a difference is fine enough */
    EPOCH_MS = 8000   /* above this a new epoch begins */
};
static const double SLOPE_SIGMA = 100e-6;

static int64_t host_now(void) {
    return (int64_t)ps_mono_ns();
}

int64_t (*ps_cuda_now)(void) = host_now;

static int64_t ns_of_ms(float ms) {
    return (int64_t)llround((double)ms * 1e6);
}

int ps_cuda_clock_init(const ps_cuda_calls *cu, ps_cuda_clock *clock) {
    *clock = (ps_cuda_clock){0};
    int r = cu->StreamCreate(&clock->stream, PS_CU_STREAM_NON_BLOCKING);
    r = r != PS_CU_OK ? r : cu->EventCreate(&clock->scratch, 0);
    for (int i = 0; i < PS_CUDA_ANCHORS && r == PS_CU_OK; i++) {
        r = cu->EventCreate(&clock->anchors[i].event, 0);
    }
    return r;
}

/* One bracket around `event`; *half_ns < 0 when the device did not answer. */
static int bracket(const ps_cuda_calls *cu, const ps_cuda_clock *clock, ps_cu_event event,
                   int64_t *middle_ns, int64_t *half_ns) {
    int64_t before = ps_cuda_now();
    int r = cu->EventRecord(event, clock->stream);
    if (r != PS_CU_OK) {
        return r;
    }
    int64_t after;
    do {
        r = cu->EventQuery(event);
        after = ps_cuda_now();
    } while (r == PS_CU_NOT_READY && after - before < TRY_NS);
    *middle_ns = before + (after - before) / 2;
    *half_ns = r == PS_CU_OK ? (after - before + 1) / 2 : -1;
    return r == PS_CU_NOT_READY ? PS_CU_OK : r;
}

int ps_cuda_clock_anchor(const ps_cuda_calls *cu, ps_cuda_clock *clock) {
    ps_cuda_anchor *anchor = &clock->anchors[clock->n % PS_CUDA_ANCHORS];
    int64_t best = -1;
    for (int i = 0; i < PS_CUDA_ANCHOR_TRIES; i++) {
        int64_t middle_ns, half_ns;
        int r = bracket(cu, clock, clock->scratch, &middle_ns, &half_ns);
        if (r != PS_CU_OK) {
            return r;
        }
        if (half_ns < 0) {
            break;
        }
        if (best < 0 || half_ns < best) {
            best = half_ns;
            ps_cu_event event = anchor->event;
            anchor->event = clock->scratch;
            clock->scratch = event;
            anchor->host_ns = middle_ns;
            anchor->half_ns = half_ns;
        }
    }
    if (best < 0) {
        return PS_CU_NOT_READY;
    }
    anchor->device_ns = 0;
    if (clock->n > 0) {
        const ps_cuda_anchor *last = ps_cuda_clock_newest(clock);
        float ms;
        int r = cu->EventElapsedTime(&ms, last->event, anchor->event);
        if (r != PS_CU_OK) {
            return r;
        }
        anchor->device_ns = last->device_ns + ns_of_ms(ms);
        clock->epoch += ms > EPOCH_MS ? 1 : 0;
    }
    anchor->epoch = clock->epoch;
    clock->n++;
    return PS_CU_OK;
}

const ps_cuda_anchor *ps_cuda_clock_newest(const ps_cuda_clock *clock) {
    return clock->n == 0 ? NULL : &clock->anchors[(clock->n - 1) % PS_CUDA_ANCHORS];
}

static uint32_t cuda_clock_oldest(const ps_cuda_clock *clock) {
    return clock->n > PS_CUDA_ANCHORS ? clock->n - PS_CUDA_ANCHORS : 0;
}

static void fit(ps_cuda_clock *clock, uint32_t epoch, const ps_cuda_anchor *origin) {
    double w_sum = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;
    for (uint32_t i = cuda_clock_oldest(clock); i < clock->n; i++) {
        const ps_cuda_anchor *a = &clock->anchors[i % PS_CUDA_ANCHORS];
        if (a->epoch == epoch) {
            double half = (double)a->half_ns + 1;
            double w = 1 / (half * half);
            double x = (double)(a->device_ns - origin->device_ns);
            double y =
                (double)((a->host_ns - origin->host_ns) - (a->device_ns - origin->device_ns));
            w_sum += w;
            x_sum += w * x;
            y_sum += w * y;
            xx += w * x * x;
            xy += w * x * y;
        }
    }
    double slope = (xy - x_sum * y_sum / w_sum) /
                   (xx - x_sum * x_sum / w_sum + 1 / (SLOPE_SIGMA * SLOPE_SIGMA));
    clock->fit.n = clock->n;
    clock->fit.epoch = epoch;
    clock->fit.device_ns = origin->device_ns;
    clock->fit.host_ns = origin->host_ns;
    clock->fit.slope = slope;
    clock->fit.offset_ns = (y_sum - slope * x_sum) / w_sum;
}

static int64_t to_host(ps_cuda_clock *clock, const ps_cuda_anchor *anchor, int64_t device_ns) {
    if (clock->fit.n != clock->n || clock->fit.epoch != anchor->epoch) {
        fit(clock, anchor->epoch, anchor);
    }
    int64_t x = device_ns - clock->fit.device_ns;
    return clock->fit.host_ns + x + llround(clock->fit.offset_ns + clock->fit.slope * (double)x);
}

/* The newest anchor not behind the moment; the oldest when all are. */
static uint32_t anchor_before(const ps_cuda_clock *clock, int64_t device_ns) {
    uint32_t i = clock->n - 1;
    while (i > cuda_clock_oldest(clock) &&
           clock->anchors[i % PS_CUDA_ANCHORS].device_ns > device_ns) {
        i--;
    }
    return i;
}

int ps_cuda_clock_place(const ps_cuda_calls *cu, ps_cuda_clock *clock, ps_cu_event start,
                        ps_cu_event end, int64_t *start_ns, int64_t *end_ns) {
    if (clock->nearest < cuda_clock_oldest(clock) || clock->nearest >= clock->n) {
        clock->nearest = clock->n - 1;
    }
    const ps_cuda_anchor *anchor = &clock->anchors[clock->nearest % PS_CUDA_ANCHORS];
    float ms;
    int r = cu->EventElapsedTime(&ms, anchor->event, start);
    if (r == PS_CU_OK && !(ms >= 0 && ms < NEAR_MS)) { /* coarse, but enough to find a nearer one */
        clock->nearest = anchor_before(clock, anchor->device_ns + ns_of_ms(ms));
        anchor = &clock->anchors[clock->nearest % PS_CUDA_ANCHORS];
        r = cu->EventElapsedTime(&ms, anchor->event, start);
    }
    float length_ms = 0;
    if (r == PS_CU_OK && end != start) {
        r = cu->EventElapsedTime(&length_ms, start, end);
    }
    if (r != PS_CU_OK) {
        return r;
    }
    int64_t device_ns = anchor->device_ns + ns_of_ms(ms);
    int64_t length_ns = length_ms > 0 ? ns_of_ms(length_ms) : 0;
    *start_ns = to_host(clock, anchor, device_ns);
    *end_ns = to_host(clock, anchor, device_ns + length_ns);
    return PS_CU_OK;
}
