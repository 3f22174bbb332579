/* CUPTI's times. Where it takes a clock from us (cuptiActivityRegisterTimestampCallback) its records carry CLOCK_MONOTONIC. Else
 * they carry a clock of its own, on Linux usually CLOCK_REALTIME: both are read about once a second, and times in
 * between are interpolated, so that a wall clock which is set moves only what lies in the second around it. */
#include "record/core/events.h"
#include "record/core/threads_shared.h"
#include "record/gpu/cupti_parts.h"
#include "record/ring/clock.h"

enum { PAIRS = 256, TRIES = 5 };

static struct pair {
    uint64_t timestamp;
    int64_t mono_ns;
} pairs[PAIRS]; /* the n-th at n % PAIRS; of the GPU thread */
static uint64_t n_pairs;

static int read_timestamp(uint64_t *out) {
    return ps_cupti.v2 ? ps_cupti.calls.GetTimestamp_v2(ps_cupti.subscriber, out)
                       : ps_cupti.calls.GetTimestamp(out);
}

void ps_cupti_clock_anchor(void) {
    int64_t best = INT64_MAX;
    struct pair pair = {0};
    for (int i = 0; i < TRIES && !ps_cupti.own_clock; i++) {
        uint64_t timestamp = 0;
        int64_t before = (int64_t)ps_mono_ns();
        int r = read_timestamp(&timestamp);
        int64_t after = (int64_t)ps_mono_ns();
        if (r == PS_CUPTI_OK && after - before < best) {
            best = after - before;
            pair = (struct pair){timestamp, before + best / 2};
        }
    }
    if (best < INT64_MAX) {
        pairs[n_pairs++ % PAIRS] = pair;
        const ps_device_more of_no_device = {.device = UINT32_MAX};
        ps_shared_device(PS_REC_DEVICE_ANCHOR, (uint64_t)(best + 1) / 2, pair.mono_ns,
                         (int64_t)pair.timestamp, NULL, &of_no_device);
    }
}

void ps_cupti_clock_begin(void) {
    n_pairs = 0;
    ps_cupti_clock_anchor();
}

int64_t ps_cupti_clock_mono(uint64_t timestamp) {
    if (ps_cupti.own_clock || n_pairs == 0) {
        return (int64_t)timestamp;
    }
    uint64_t oldest = n_pairs > PAIRS ? n_pairs - PAIRS : 0, i = n_pairs - 1;
    while (i > oldest && pairs[i % PAIRS].timestamp > timestamp) {
        i--;
    }
    const struct pair *a = &pairs[i % PAIRS];
    int64_t x = (int64_t)(timestamp - a->timestamp);
    if (i + 1 == n_pairs || x < 0) {
        return a->mono_ns + x;
    }
    const struct pair *b = &pairs[(i + 1) % PAIRS];
    double span = (double)(b->timestamp - a->timestamp);
    return a->mono_ns + (int64_t)((double)x * (double)(b->mono_ns - a->mono_ns) / span);
}
