/* What a step's time on the device is made of: computing, communication, both at once, copies, nothing.
 *
 * Of one rank, device and step:  C = union of computing kernels, M = union of communication operators (of communication
 * kernels where a profile has no operators), B = C or M. W = B of all steps, with the work that belongs to none.
 *   computing = |C|, communication = |M|, not overlapped = |M - C|, bubble = plain sum of the receive operators,
 *   free = what lies between first start and last end of B and outside of W,
 *   before, after = what of the step's window lies outside of W before the first start and after the last end of B.
 * Being free is a property of the device: a moment outside of W belongs to one step at most, however steps interleave
 * (ps_overlaps_share). Copies are work of the copy engine: where only they run the device is not idle.
 * Source: behaviour of the Ascend profiler's StepTraceTime, to the nanosecond where no other work lies between that of the
 * step. */
#ifndef PS_ANALYZE_OVERLAP_H
#define PS_ANALYZE_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "analyze/stats/intervals.h"
#include "base/archive.h"
#include "base/err.h"
#include "model/trace.h"

/* A piece of time in which a device did no work, as the part of a step. */
typedef enum ps_share_part {
    PS_SHARE_FREE,
    PS_SHARE_BEFORE,
    PS_SHARE_AFTER,
    PS_N_SHARES
} ps_share_part;

/* As lanes and tables call them: "Free", "Before the first work", "After the last work". */
extern const char *const ps_share_names[PS_N_SHARES];

typedef struct ps_overlap {
    int64_t step;   /* id; 0 and has_step false in a trace without steps */
    int64_t device; /* -1 unknown */
    bool has_step;
    int64_t step_start_ns, step_end_ns; /* of the step's window, from the origin; has_step */
    int64_t first_ns, last_ns;          /* of B, from the origin */
    int64_t computing_ns, communication_ns, not_overlapped_ns, free_ns, bubble_ns;
    int64_t exclude_receive_ns;     /* of not overlapped, what lies outside of receives */
    int64_t before_ns, after_ns;    /* without steps: from the first and to the last copy */
    int64_t memory_ns;              /* plain sum of the step's copies */
    int64_t copies_ns[PS_N_SHARES]; /* of free, before and after, while copies ran */
} ps_overlap;

static inline int64_t ps_overlap_overlapped_ns(const ps_overlap *o) {
    return o->communication_ns - o->not_overlapped_ns;
}
static inline int64_t ps_overlap_stage_ns(const ps_overlap *o) {
    int64_t without_ns = o->computing_ns + o->not_overlapped_ns + o->free_ns - o->bubble_ns;
    return without_ns > 0 ? without_ns : 0; /* receives of several streams count each */
}
/* From the start of the step to its first work, as far as the device did no other work. */
static inline int64_t ps_overlap_preparing_ns(const ps_overlap *o) {
    return o->has_step ? o->before_ns : 0;
}
/* Copies that nothing hides. */
static inline int64_t ps_overlap_copies_ns(const ps_overlap *o) {
    return o->copies_ns[PS_SHARE_FREE] + o->copies_ns[PS_SHARE_BEFORE] +
           o->copies_ns[PS_SHARE_AFTER];
}
/* Free, before and after without them: nothing ran. */
static inline int64_t ps_overlap_idle_ns(const ps_overlap *o) {
    return o->before_ns + o->free_ns + o->after_ns - ps_overlap_copies_ns(o);
}
/* What of the device's time is this step's: before, computing, not overlapped, free, after. */
static inline int64_t ps_overlap_whole_ns(const ps_overlap *o) {
    return o->before_ns + o->computing_ns + o->not_overlapped_ns + o->free_ns + o->after_ns;
}

/* The united spans behind it, for those who look into the gaps. */
typedef struct ps_overlap_spans {
    ps_intervals computing, communication, busy;
    ps_intervals free, before, after;
    ps_intervals copies; /* of these three, while copies ran */
} ps_overlap_spans;

/* Where the work of a step lies, for ps_overlaps_share(). */
typedef struct ps_overlap_place {
    int64_t device, first_ns, last_ns, step_start_ns, step_end_ns;
    int64_t latest_ns; /* the latest end of work of those that began no later */
    size_t latest;     /* whose it is */
    size_t longer;     /* the last one before that works longer than this one; SIZE_MAX */
    size_t row;        /* in `at`; SIZE_MAX: of a step that was not asked for */
    bool has_step;
} ps_overlap_place;

typedef struct ps_overlaps {
    ps_overlap *at;          /* by device, then step start; only those in which the device worked */
    ps_overlap_spans *spans; /* [n], or NULL when they were not asked for */
    size_t n;
    ps_overlap_place
        *places; /* of all steps, also where one was asked for; by device, then first work */
    size_t n_places;
    bool knows_computing; /* else computing, what it hides of communication, and free say nothing */
} ps_overlaps;

typedef struct ps_share {
    size_t row; /* of ps_overlaps.at */
    ps_share_part part;
    int64_t start_ns, end_ns;
} ps_share;

/* Whose a stretch [start, end) is in which the device did no work of any step: into `out`, at most two pieces, those of
 * steps that were asked for. Between first and last work of steps it is Free of the one that began last; else, as far as
 * their windows go, before the next step and after the one that ended; where both have it, before the next. */
size_t ps_overlaps_share(const ps_overlaps *o, int64_t device, int64_t start_ns, int64_t end_ns,
                         ps_share out[2]);

/* What is said where nothing of a device can be measured. */
#define PS_OVERLAP_RECORD_DEVICE                                                                      \
    "record its activity (ProfilerActivity.NPU or CUDA; nsys profile -t cuda; with pipescope record " \
    "--backend cupti, on CPUs ps_record_op_begin or pipescope.record_ops())"
#define PS_OVERLAP_RECORD_DEVICE_ZH                                                                        \
    "请采集设备活动（ProfilerActivity.NPU 或 CUDA；nsys profile -t cuda；pipescope record 用 " \
    "--backend cupti，CPU 上用 ps_record_op_begin 或 pipescope.record_ops()）"
#define PS_OVERLAP_NO_WORK(lang)                                                                        \
    PS_SAY(                                                                                             \
        lang,                                                                                           \
        "no kernels on a device, nor communication that it tells of itself: " PS_OVERLAP_RECORD_DEVICE, \
        "设备上没有核函数，也没有其自行记录的通信：" PS_OVERLAP_RECORD_DEVICE_ZH)
/* And where only communication can. */
#define PS_OVERLAP_NO_COMPUTING(lang)                                                                     \
    PS_SAY(                                                                                               \
        lang,                                                                                             \
        "no computing kernels, so that nobody knows when the device was idle: " PS_OVERLAP_RECORD_DEVICE, \
        "没有计算核函数，无从得知设备何时空闲：" PS_OVERLAP_RECORD_DEVICE_ZH)

/* Of all devices and steps of a trace; work is assigned to steps by ps_links_step, work outside of all steps is left
 * out. With `wanted_step` >= 0 only of that one. PS_NOMEM only; end with ps_overlaps_fini() in any case. Needs
 * SLICES, FLOWS, STEPS. One pass over the slices. */
PS_MUST_USE ps_code ps_overlaps_measure(const ps_links *links, int64_t wanted_step, bool with_spans,
                                        ps_overlaps *out, ps_err *err);
void ps_overlaps_fini(ps_overlaps *o);
/* When the devices did nothing but communicate, united, over all steps that were measured, with spans. *out must be empty. False
 * when memory is out. */
bool ps_overlaps_exposed(const ps_overlaps *o, ps_intervals *out);

/* Starts of the steps of at[0..n), rising, each once: a step on which several devices worked is one step of the rank, though times
 * are told, summed and divided by the step of one device. NULL when memory is out; to be freed with ps_free(). */
int64_t *ps_overlap_step_starts(const ps_overlap *at, size_t n, size_t *n_steps);

void ps_overlap_archive(ps_archive *a, void *overlap);
/* Without spans and places: those are for looking into gaps of the trace. */
void ps_overlaps_archive(ps_archive *a, void *overlaps);

#endif
