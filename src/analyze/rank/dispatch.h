/* Whether the host keeps the device busy: the gaps between work, what each of them waited for, and how long launched work
 * stood in the queue.
 *
 * A gap is a stretch of a device without computing and communication, bounded by work on both sides. Where the profile has
 * steps, what lies between the start of the first step and the first work is one too, and what lies between the last work
 * and the end of the last step. With a wanted step only its work bounds gaps, and its window the edges.
 *
 * A gap is split where the launch of the work behind it returned: until then the device waited for the host (framework or
 * launch), from then on the launched work waited for something on the device (queued). So the sums by cause add up to
 * the gaps. The cause of a single gap is its larger part. Receives (a pipeline bubble), other tasks, edges and gaps
 * nobody can explain keep their cause for all of the gap. */
#ifndef PS_ANALYZE_DISPATCH_H
#define PS_ANALYZE_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "analyze/rank/overlap.h"
#include "base/archive.h"
#include "base/err.h"

typedef enum ps_gap_cause {
    PS_GAP_FRAMEWORK, /* nothing was dispatched: Python or the framework was late */
    PS_GAP_LAUNCH,    /* the call that launches was late or took long */
    PS_GAP_TASKS, /* copies and other tasks ran, which count as neither computing nor communication */
    PS_GAP_RECEIVE, /* half of it or more lies inside a receive: a pipeline bubble */
    PS_GAP_QUEUED,  /* the next work was launched: it waited for an event or another stream */
    PS_GAP_EDGE,    /* before the first or after the last work */
    PS_GAP_UNKNOWN, /* nobody knows who launched the work around it */
    PS_N_GAP_CAUSES
} ps_gap_cause;

/* "framework", "launch", "other tasks", "receive", "queued", "edge", "unknown" */
const char *ps_gap_cause_name(ps_gap_cause cause);
/* Framework and launch. */
bool ps_gap_is_host_bound(ps_gap_cause cause);

/* Up to 20, 50, 100 us, 1 ms, 10 ms, and longer. Gaps under 20 us are the cost of launching one by one. */
enum { PS_N_GAP_SIZES = 6 };
extern const int64_t ps_gap_limits_ns[PS_N_GAP_SIZES - 1];

#define PS_GAP_NO_IDLE INT64_MIN

typedef struct ps_gap {
    int64_t start_ns, end_ns; /* from the origin of the trace */
    int64_t device, step; /* step: of the work behind it, else of that before it; PS_STEP_OUTSIDE */
    ps_gap_cause cause;   /* of the larger part */
    ps_gap_cause first_cause; /* of the first `first_ns`; what remains is queued */
    int64_t first_ns;
    uint32_t prev, next; /* the work around it; PS_NONE at an edge */
    /* From end to end of the operators, and of the calls, that launched prev and next; PS_GAP_NO_IDLE unknown. */
    int64_t framework_idle_ns, call_idle_ns;
    /* Of a gap among the longest: the innermost call into the driver or runtime that fills half of it or more, PS_NONE. */
    uint32_t blocking;
} ps_gap;

/* Sizes go by the length of the whole gap. */
typedef struct ps_gap_sum {
    int64_t n;        /* gaps of this cause: each counts once, where its larger part is */
    int64_t total_ns; /* parts of this cause */
} ps_gap_sum;

/* One device and step, in the order of the overlaps. */
typedef struct ps_dispatch_step {
    int64_t device, step;
    bool has_step;
    int64_t first_ns, last_ns; /* of its work */
    int64_t busy_ns;           /* computing and communication that is not overlapped */
    int64_t free_ns, preparing_ns;
    int64_t step_ns; /* the window, widened to the work of the device; without one busy + free */
    ps_gap_sum sums[PS_N_GAP_CAUSES][PS_N_GAP_SIZES]; /* of what is free: between first and last */
} ps_dispatch_step;

/* Start of the work on the device minus end of the call that launched it. Near zero the device waits for the host; a
 * healthy queue makes it long. */
typedef struct ps_delays {
    size_t n;
    int64_t min_ns, max_ns;
    double mean_ns, median_ns, p95_ns, p99_ns;
} ps_delays;

typedef struct ps_dispatch {
    ps_gap *worst; /* the longest, longest first, then by start */
    size_t n_worst;
    ps_dispatch_step *steps;
    size_t n_steps;
    ps_gap_sum sums[PS_N_GAP_CAUSES][PS_N_GAP_SIZES]; /* of all steps, and of work in none */
    ps_delays after_call;                             /* counted from the end of the call */
    ps_delays after_start;                            /* counted from its start */
    /* Operators that make the host wait for the device (aten::item, aten::nonzero ...) */
    int64_t n_blocking_ops, blocking_ops_ns;
} ps_dispatch;

/* `overlaps` of the same links and step. Needs SLICES, FLOWS, STEPS. PS_NOMEM only; end with ps_dispatch_fini() in any
 * case. */
PS_MUST_USE ps_code ps_dispatch_measure(const ps_links *links, const ps_overlaps *overlaps,
                                        int64_t wanted_step, size_t n_worst, ps_dispatch *out,
                                        ps_err *err);
void ps_dispatch_fini(ps_dispatch *d);

/* Over all sizes. */
ps_gap_sum ps_gap_sum_of(const ps_gap_sum sums[PS_N_GAP_SIZES]);
/* free / (busy + free), 0 to 1, over all steps; 0 when there is nothing. */
double ps_dispatch_free_share(const ps_dispatch *d);

void ps_delays_archive(ps_archive *a, void *delays);
/* Without the longest gaps: those point into the trace. */
void ps_dispatch_archive(ps_archive *a, void *dispatch);

#endif
