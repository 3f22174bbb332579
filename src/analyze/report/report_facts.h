/* What the report keeps of one rank: the partial of its map. Small, and free of the trace. */
#ifndef PS_ANALYZE_REPORT_FACTS_H
#define PS_ANALYZE_REPORT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/comm_list.h"
#include "analyze/comm/comm_waits.h"
#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/derived/comm_part.h"
#include "analyze/mfu/flops_attention.h"
#include "analyze/mfu/flops_operator.h"
#include "analyze/rank/dispatch.h"
#include "analyze/rank/host_activity.h"
#include "analyze/rank/idle.h"
#include "analyze/rank/kernel_class.h"
#include "analyze/rank/links.h"
#include "analyze/rank/overlap.h"
#include "analyze/rank/thinned.h"
#include "analyze/report/report_rules.h"
#include "analyze/whatif/worker_steps.h"
#include "base/arena.h"
#include "base/num.h"

/* What a kernel changes that computes nothing: report_conversion.def. */
typedef enum ps_conversion {
    PS_CONVERSION_NONE,
    PS_CONVERSION_LAYOUT,
    PS_CONVERSION_NUMBERS, /* the type of the numbers */
    PS_N_CONVERSIONS
} ps_conversion;
/* The unit of its core that is busiest while a kernel runs. */
typedef enum ps_report_bound {
    PS_BOUND_CUBE,
    PS_BOUND_VECTOR,
    PS_BOUND_MEMORY,
    PS_BOUND_SCALAR,
    PS_BOUND_NONE, /* none is busy for half of its time */
    PS_N_REPORT_BOUNDS
} ps_report_bound;

/* One kernel, where it ended and how long it ran, epoch. */
typedef struct ps_report_kernel_run {
    int64_t end_ns, dur_ns;
    int64_t pays_ns;   /* of it: as of all its kind */
    int64_t excess_ns; /* of it: as of all its kind */
} ps_report_kernel_run;

/* Kernels whose recorded FLOPs differ from those of their shapes by more than 1.5 times. */
typedef struct ps_report_odd_flops {
    const char *name; /* of the first of them */
    int64_t start_ns, dur_ns, step;
    int64_t n;
    double recorded, by_shapes; /* of all of them */
    double times;               /* by which those of one differ, at most */
} ps_report_odd_flops;

/* Kernels of one type and shape (of one name, where the profile has no types). Times are sums over the capture. */
typedef struct ps_report_kernel {
    const char *type;   /* the type, else the name */
    const char *shapes; /* of the inputs; "" unknown */
    const char *name;   /* of the longest one */
    int64_t n, sum_ns, longest_ns;
    int64_t pays_ns; /* of the sum: a step would be shorter if it were faster (ps_report_paying) */
    int64_t longest_start_ns; /* epoch */
    int64_t longest_step;
    int64_t median_ns;
    int64_t
        excess_ns; /* of those over 1.5 medians, beyond the median; 0 when they are more than a quarter */
    int64_t n_excess;
    const ps_report_kernel_run *runs; /* [n_runs] of many the longest */
    size_t n_runs;
    int64_t n_flops, flops_ns; /* of those whose FLOPs are known: how many, their time */
    double flops;              /* all together */
    double peak_flops;         /* what the chip could have done in that time */
    /* Of those with FLOPs: the time of those that memory bounds (ps_mfu_roofline), of those of which nobody knows, and
     * what the former move at least. */
    int64_t memory_ns, unknown_roofline_ns;
    double memory_bytes, memory_flops;
    double bytes_s;          /* of the chip; 0 unknown */
    ps_report_odd_flops odd; /* recorded FLOPs that contradict the shapes: in none of the above */
    ps_product product;      /* of those with FLOPs */
    ps_attention_form attention; /* of the first of those whose form is known */
    ps_kernel_family family;     /* of the first */
    bool is_vector; /* the first ran on vector cores alone: it multiplies no matrices */
    bool is_wide;   /* the inputs of the first have 32-bit floats */
    bool has_types; /* they are known */
    bool is_aicpu;
    const char *aicpu_types; /* of the inputs of one that is; NULL unknown */
    int64_t conversion_ns[PS_N_CONVERSIONS], n_conversions[PS_N_CONVERSIONS]; /* of NONE 0 */
    /* Of all of them: a step would be shorter without it; and where the host's launches set the pace what their launches take. */
    int64_t conversion_pays_ns, conversion_launches_ns;
    int64_t bound_ns[PS_N_REPORT_BOUNDS]; /* of those with counters */
    int64_t few_blocks_ns;                /* of those with fewer blocks than the chip has cores */
    int64_t n_blocks, n_cores;            /* the most blocks of one; 0 unknown */
    /* Of those of graphs: that ran with dynamic shapes, and of all whose state is known. */
    int64_t dynamic_ns, n_dynamic, in_graph_ns;
} ps_report_kernel;

typedef struct ps_report_event {
    const char *name;
    const char
        *frame; /* of a stop: the Python frame of the program that it lies in, NULL unknown */
    int64_t start_ns, dur_ns; /* epoch */
    int64_t idle_ns;          /* of the device, for this reason */
    int64_t comm_ns;          /* of it, the device did nothing but communicate */
    int64_t step;
} ps_report_event;

#define PS_REPORT_EVENTS_KEPT 8

/* What of an activity's idle time lies in operators (frames, ranges, calls) of one name themselves, without what is inside of them. */
typedef struct ps_report_operator {
    const char *name;
    int64_t n;     /* of that name and activity in steps, idle device or not */
    int64_t n_all; /* of that name, whatever the activity */
    int64_t idle_ns;
} ps_report_operator;

#define PS_REPORT_OPERATORS_KEPT 6

/* All ranges in which the threads that launch work do one thing (ps_activity); nested ones are one. `idle_ns` is all that the
 * device was idle for it; the ranges that cost most are named. */
typedef struct ps_report_stops {
    int64_t n, sum_ns, idle_ns, comm_ns;
    int64_t longest_ns; /* of one */
    int64_t copies_ns;  /* the device did nothing but copy what was launched in it */
    int64_t unnamed_ns; /* before it, and no part of it: ps_host_phase_unnamed_ns() */
    /* Beyond idle_ns: what the device gains where it is idle, or does nothing but communicate, later, since the host would be
     * there earlier without the activity (report_lead.c; of activities that one rule counts together at the first of them); and where,
     * epoch, united; of many the longest. */
    int64_t lead_ns, lead_comm_ns;
    ps_intervals lead_spans;
    ps_report_event top[PS_REPORT_EVENTS_KEPT]; /* by idle time, then length, the most first */
    size_t n_top;
    ps_report_operator operators[PS_REPORT_OPERATORS_KEPT]; /* the most first */
    size_t n_operators;                                     /* of all, also those not kept */
} ps_report_stops;

/* Time in which the device did nothing: it neither computed nor communicated nor copied. */
typedef struct ps_report_gap {
    int64_t start_ns, end_ns; /* epoch */
    int64_t step;
} ps_report_gap;

/* What the host did for a part of a wait. */
typedef struct ps_report_wait_part {
    int cause; /* ps_activity */
    int64_t ns;
} ps_report_wait_part;

#define PS_REPORT_WAIT_PARTS 3

/* One of the longest stretches in which the device waited for the host. */
typedef struct ps_report_wait {
    int64_t start_ns, end_ns; /* until the launch returned, epoch */
    int64_t step;
    ps_report_wait_part parts[PS_REPORT_WAIT_PARTS]; /* the largest first; ns 0: no more */
    const char *next;                                /* the work behind it, "" unknown */
    bool is_before_kernel;                           /* that is a kernel */
    const char *blocking; /* the range of the host that fills half of it or more, "" none */
} ps_report_wait;

/* Copies of one direction and memory, as far as nothing hides them. */
typedef struct ps_report_copies {
    const char *direction, *memory; /* as in ps_copy; NULL unknown */
    int64_t n, sum_ns;              /* of all */
    int64_t
        alone_ns; /* the device did nothing else; each moment goes to one copy, so these add up */
    int64_t sized_bytes, sized_ns; /* of those whose size is known */
    ps_report_event longest;       /* by time alone; idle_ns is that time */
    int64_t longest_bytes;         /* -1 unknown */
} ps_report_copies;

#define PS_REPORT_COPIES_KEPT 16

#define PS_REPORT_WAITS_KEPT 64

/* A counter below its usual value. */
typedef struct ps_report_frequency {
    bool is_known;
    double usual_mhz, lowest_mhz;
    int64_t below_ns, all_ns;
    int64_t longest_start_ns, longest_ns; /* the longest stretch below, epoch */
    const char *series;
} ps_report_frequency;

/* Kernels of one name that may compute or communicate (report_doubt.c). */
typedef struct ps_report_doubt {
    const char *name;
    const char *
        caller; /* what of a communication library launched it; "": it is its stream that raises the doubt */
    int64_t n, sum_ns;
    double share; /* of the work of kernels, percent */
    int64_t longest_start_ns, longest_ns, longest_step;
} ps_report_doubt;

#define PS_REPORT_DOUBTS_KEPT 4

enum { PS_PACKET_CLASS_OF_1_MB = 5, PS_N_PACKET_CLASSES = 16 };

/* Volume by transport. */
typedef struct ps_report_packets {
    const char *transport;
    double all_mb, small_mb;
    double all_ms, small_ms; /* under way, added up over packets */
    /* The same by the size of a packet, where its time is known: class k from 2^(k - PS_PACKET_CLASS_OF_1_MB) MB to twice that. */
    double class_mb[PS_N_PACKET_CLASSES], class_ms[PS_N_PACKET_CLASSES];
} ps_report_packets;

/* By which operators an optimiser launches most of its kernels: by the operator that launches, not one around it, since a
 * foreach operator may launch kernels one by one, too. */
typedef enum ps_optimiser_way {
    PS_OPTIMISER_PLAIN,
    PS_OPTIMISER_FOREACH, /* aten::_foreach_add_ ... */
    PS_OPTIMISER_FUSED    /* aten::_fused_adamw_ ... */
} ps_optimiser_way;

/* The optimiser's range on the host ("Optimizer.step#AdamW.step") that launches most kernels. */
typedef struct ps_report_optimiser {
    const char *name; /* NULL: none launches any */
    int64_t start_ns, dur_ns, step;
    int64_t n_kernels, kernels_ns; /* that it launched */
    ps_optimiser_way way;
} ps_report_optimiser;

/* Sequences of kernels that one operator could replace: report_fusion.def. */
enum {
    PS_N_FUSIONS = 0
#define X(types, fused, from, read) +1
#include "analyze/report/report_fusion.def"
#include "base/archive.h"
#undef X
};
typedef struct ps_report_fusion {
    int64_t n, ns; /* of all kernels in them */
    int64_t longest_ns, longest_start_ns /* epoch */, longest_step;
} ps_report_fusion;

/* What the process does while its device waits for a batch. */
typedef enum ps_fetch {
    PS_FETCH_UNKNOWN,
    PS_FETCH_WAIT,     /* for its workers */
    PS_FETCH_UNPICKLE, /* what a worker sent */
    PS_FETCH_COLLATE,
    PS_FETCH_PIN,
    PS_FETCH_READ, /* samples: it has no workers */
    PS_FETCH_OTHER,
    PS_N_FETCHES
} ps_fetch;

typedef struct ps_report_rank {
    ps_arena arena;
    ps_vendor vendor;
    int64_t first_ns, last_ns;   /* of all slices, epoch */
    bool any_device, any_calls;  /* calls of the host into the driver */
    bool has_host_times;         /* what its devices did was timed on the host: it ran there */
    bool any_host_comm;          /* it has no device, and communicates on the host (gloo) */
    const char *comm_from_marks; /* ps_trace_comm_from_marks */
    const char *host;            /* what the capture calls its machine (HOST_INFO); NULL unknown */
    bool trains;                 /* it has backward operators, or an optimiser */
    bool has_frames, has_shapes,
        has_allocations;     /* recorded of the host, each at a cost of its own */
    const char *no_timeline; /* ps_trace_missing_timeline: files that are missing; NULL none */
    bool has_no_starts,
        has_no_ends; /* steps begin with their first work, end with their last: nobody says more */
    bool has_no_period;  /* the times between steps are made up */
    bool has_no_copies;  /* nobody says whether there were any */
    ps_rank_facts facts; /* where it stands */
    ps_thinned thinned;

    int64_t origin_ns;
    ps_overlap *steps;   /* times from the origin */
    size_t n_steps;      /* of all devices: what sums over them are divided by */
    size_t n_rank_steps; /* of the rank: a step of several devices is one */
    ps_report_gap
        *gaps; /* between the first and the last work of steps, by start; the longest ones */
    size_t n_gaps, cap_gaps;
    int64_t dropped_gaps_ns; /* of those that were too many */
    ps_report_event before,
        after;            /* the longest times before the first and after the last work of a step */
    ps_report_gap *edges; /* the same at the ends of steps */
    size_t n_edges, cap_edges;

    ps_report_wait waits[PS_REPORT_WAITS_KEPT]; /* the longest first */
    size_t n_waits;
    ps_report_gap *host_gaps; /* what of gaps and edges is the host's, by start; the longest ones */
    size_t n_host_gaps, cap_host_gaps;
    /* Of all steps: the device did nothing, by cause (idle.h) and part of the step. They add up to what the steps say. */
    int64_t idle_ns[PS_N_IDLE_CAUSES][PS_N_SHARES];
    ps_intervals idle_spans[PS_N_IDLE_CAUSES]; /* where, epoch, united; of many the longest */
    /* Of all steps: the device did nothing but communicate, and what it computes next was not launched yet (ps_idle.comm). */
    int64_t late_comm_ns[PS_N_IDLE_CAUSES];
    ps_intervals late_comm_spans[PS_N_IDLE_CAUSES];
    int64_t fetch_ns[PS_N_FETCHES]; /* they add up to idle_ns of PS_ACTIVITY_DATA */
    int64_t
        awaited_comm_ns; /* of all steps: what is exposed and nothing can hide (comm_awaited.h) */
    /* Of all steps: what collectives transfer and wait, by their tasks, of what is awaited so, and transfer beside computing. */
    int64_t awaited_transfer_ns, awaited_wait_ns, hidden_transfer_ns;
    int64_t short_gaps_ns;                          /* of the host's, in stretches under 20 us */
    ps_report_copies copies[PS_REPORT_COPIES_KEPT]; /* by time alone, the most first */
    size_t n_copies;
    ps_intervals copy_spans; /* where nothing but copies ran, epoch, united; of many the longest */
    ps_delays delays;        /* from the end of a call to the start of its work */

    ps_report_kernel *kernels; /* by sum_ns, the most first */
    size_t n_kernels, cap_kernels;
    int64_t kernels_ns; /* sum over all, also those not kept */
    ps_intervals
        conversion_spans; /* when what conversions cost was lost, epoch, united; of many the longest */

    ps_report_stops stops[PS_N_ACTIVITIES];
    /* Kernels with a launch, those that started within 20 us of its end, and those of them before which nothing ran when it
     * ended. */
    int64_t n_launches, n_prompt, n_unqueued;
    int64_t task_queue, cpu_affinity;     /* -1 unknown */
    const char *governor;                 /* "" unknown */
    const struct ps_literal *environment; /* ENV_VARIABLES: an object, or NULL */
    ps_report_frequency device_frequency, cpu_frequency;

    ps_timeline timeline; /* of a capture that names every op of a step; else empty */
    ps_comm_part *part;   /* operators, and what the profiler says of them; NULL without a device */
    ps_comm_list comm;    /* that of the part: not owned */
    ps_comm_waits comm_waits; /* of its operators */
    ps_report_packets packets[8];
    size_t n_packets;
    ps_report_doubt doubts[PS_REPORT_DOUBTS_KEPT]; /* the most time first */
    size_t n_doubts;
    ps_report_event retransmitted; /* the longest transit over RDMA; dur_ns 0: none */
    ps_report_optimiser optimiser;
    ps_report_fusion fusions[PS_N_FUSIONS];
} ps_report_rank;

void ps_report_rank_free(ps_report_rank *r); /* NULL is fine */
/* The partial of the report as bytes (report_archive.c). */
void ps_report_rank_archive(ps_archive *a, void **rank);

/* Computing of a rank (report_pays.c): united, from the origin. */
typedef struct ps_report_paying {
    ps_intervals alone;  /* with no communication beside it */
    ps_intervals paying; /* of it, a step would be shorter if it were faster */
    ps_intervals
        gaps; /* the waits for the host behind what is not in it for their sake, by start */
} ps_report_paying;

void ps_report_paying_fini(ps_report_paying *p);

/* The pieces of the map, each filling its part; false when memory is out. */
bool ps_report_gather_kernels(const ps_map_input *in, const ps_links *links,
                              const ps_report_paying *paying, ps_report_rank *r, ps_err *err);
bool ps_report_gather_host(const ps_host_activity *host, const ps_overlaps *overlaps,
                           const ps_idle *idle, ps_report_rank *r);
/* `of`: where the host is in each activity, and `copies`: where the device does nothing but copy what was launched in it; united, from
 * the origin. */
bool ps_report_gather_leads(const ps_idle *idle, const ps_overlaps *overlaps,
                            const ps_intervals *of, const ps_intervals *copies, ps_report_rank *r);
/* Whether what the activity copies would not be copied without it. */
bool ps_report_goes_with_copies(int activity);
bool ps_report_gather_operators(const ps_host_activity *host, const ps_idle *idle,
                                ps_report_rank *r);
bool ps_report_gather_waits(const ps_host_activity *host, const ps_overlaps *overlaps,
                            const ps_idle *idle, ps_report_rank *r, ps_err *err);
void ps_report_gather_fetches(const ps_host_activity *host, const ps_idle *idle, ps_report_rank *r);
bool ps_report_gather_copies(const ps_links *links, const ps_overlaps *overlaps, ps_report_rank *r);
bool ps_report_gather_counters(const ps_trace *trace, ps_report_rank *r);
bool ps_report_gather_fusions(const ps_links *links, ps_report_rank *r);
bool ps_report_gather_optimiser(const ps_links *links, ps_report_rank *r);
bool ps_report_gather_links(ps_report_rank *r); /* after the part */
bool ps_report_gather_doubts(const ps_links *links, ps_report_rank *r);

ps_conversion ps_report_conversion_of(const ps_links *links, uint32_t kernel);

/* Whether a counter of this name is the frequency of a device, or of a CPU. */
bool ps_is_frequency(const char *name, bool *is_cpu);

/* Of all parts of the steps. */
int64_t ps_report_idle_ns(const ps_report_rank *r, int cause);
/* Leaves the longest spans where there are too many. */
void ps_report_limit_spans(ps_intervals *spans);

/* Over all of the rank's steps. */
int64_t ps_report_sum_ns(const ps_report_rank *r, int64_t (*of)(const ps_overlap *));

#endif
