/* Offsets between the clocks of machines, from events that cannot have happened in the other order.
 *
 * Every such pair of events bounds a difference of clocks on one side: what machine a sent at a's time x was there on
 * machine b at b's time y, so clock(b) - clock(a) <= y - x can not be told wrong. All bounds of two machines together
 * give an interval that contains the true difference: its middle is the estimate, half its width the uncertainty. */
#ifndef PS_MODEL_CLOCK_H
#define PS_MODEL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/err.h"
#include "base/num.h"

#define PS_CLOCK_LOW_OPEN INT64_MIN
#define PS_CLOCK_HIGH_OPEN INT64_MAX

#define PS_CLOCK_UNBOUNDED (-1)

/* What tells how far clocks lie apart. */
enum {
    PS_CLOCK_BY_ORDER = 1,    /* events that cannot have happened in the other order */
    PS_CLOCK_BY_EXCHANGE = 2, /* messages exchanged for it while recording */
    PS_CLOCK_BY_PTP = 4       /* the kernel's word that PTP holds them together */
};

/* Which differences are taken off the times of ranks. */
typedef enum ps_clock_use {
    PS_CLOCKS_MEASURED, /* those that messages told while recording; others stay */
    PS_CLOCKS_ALL,      /* those that the order of events tells, too */
    PS_CLOCKS_RAW       /* none */
} ps_clock_use;

/* clock(b) - clock(a) lies in [low_ns, high_ns]. */
typedef struct ps_clock_interval {
    uint32_t a, b;
    int64_t low_ns, high_ns;
    uint32_t by; /* PS_CLOCK_BY_... of its ends; of the caller, for ps_clock_offset.by */
    bool has_likely;
    int64_t
        likely_ns; /* what the difference probably is: taken where it lies inside, or where nothing bounds it */
} ps_clock_interval;

/* A machine's clock against that of the first machine of its connected part. */
typedef struct ps_clock_offset {
    int64_t offset_ns; /* clock(machine) - clock(first) */
    int64_t
        uncertainty_ns; /* the true offset differs by no more; PS_CLOCK_UNBOUNDED: it is only likely */
    uint32_t first;     /* itself where nothing connects it to an earlier one */
    bool is_known; /* of the first one: 0 with no uncertainty, when anything is connected to it */
    uint32_t by;   /* of all intervals on the way from there */
} ps_clock_offset;

/* What a rank's recording says of its clock (docs/recording.md): how far it lies from that of rank `reference`, as messages told. */
typedef struct ps_recorded_clock {
    bool has_offset, has_drift;
    bool is_ptp; /* within a microsecond of the others, by the kernel's word */
    int64_t reference;
    int64_t offset_ns;             /* its clock - the reference's, at at_ns */
    int64_t uncertainty_ns;        /* from from_ns to to_ns, when it was measured */
    int64_t at_ns, from_ns, to_ns; /* Unix */
    int64_t drift_ppb, drift_uncertainty_ppb;
    uint64_t machine; /* the same for all ranks of one */
    char method[32];  /* of the last reading: "exchange", "same_host" ... */
} ps_recorded_clock;

/* The model of drift is a line. It is fitted while recording ends (record/export/clock_offsets.c), read from the capture
 * (analyze/comm/recorded_clock.c), and taken off in analyze/comm/job_clock.c and analyze/pipeline/chart_clock.c. What pipescope.sync() tells its caller is of two measures
 * alone (python/pipescope/_sync.py).
 * What a clock that gains `ppb` (at most a million) gains in `ns`. */
static inline int64_t ps_clock_gain(int64_t ns, int64_t ppb) {
    const int64_t second = 1000000000;
    return ns / second * ppb + ns % second * ppb / second;
}

/* What such a clock is ahead at `at_ns`, if it is right in the middle of the span. */
static inline int64_t ps_clock_drift_at(int64_t at_ns, int64_t span_start_ns, int64_t span_end_ns,
                                        int64_t ppb) {
    int64_t middle_ns = span_start_ns / 2 + span_end_ns / 2;
    return ps_clock_gain(ps_i64_minus(at_ns, middle_ns), ppb);
}

/* Narrows an interval by "what happened on a at x was before what happened on b at y": clock(b) - clock(a) <= y - x. */
void ps_clock_before(ps_clock_interval *i, bool from_a, int64_t from_ns, int64_t to_ns);

static inline bool ps_clock_is_closed(const ps_clock_interval *i) {
    return i->low_ns != PS_CLOCK_LOW_OPEN && i->high_ns != PS_CLOCK_HIGH_OPEN;
}

/* Nothing satisfies all bounds: a clock moved, or an event is not what it was taken for. */
static inline bool ps_clock_is_empty(const ps_clock_interval *i) {
    return ps_clock_is_closed(i) && i->low_ns > i->high_ns;
}

/* Narrows an interval to [low_ns, high_ns], by another source; one that is empty is replaced. False, and nothing is changed, when
 * the two have nothing in common. */
bool ps_clock_narrow(ps_clock_interval *i, int64_t low_ns, int64_t high_ns, uint32_t by);

/* out[n_machines]: along the ways of least uncertainty over the closed intervals that are not empty; where none lead, over those
 * with a likely difference. PS_NOMEM only. */
PS_MUST_USE ps_code ps_clock_solve(uint32_t n_machines, const ps_clock_interval *intervals,
                                   size_t n_intervals, ps_clock_offset *out, ps_err *err);

void ps_recorded_clock_archive(ps_archive *a, void *clock);

#endif
