/* The insides of trace_model.h, shared by its files:
 *
 *   trace_model.c           batches: texts, threads, slices, metadata
 *   trace_model_zero.c      events at time 0
 *   trace_model_counters.c  series of counters
 *   trace_model_points.c    points with an id (flows, asynchronous ranges), grouped by id
 *   trace_model_async.c     b, n, e
 *   trace_model_flows.c     flows: pairing, and binding to slices
 *   trace_model_index.c     slices of each track in time order */
#ifndef PS_READ_TRACE_MODEL_PARTS_H
#define PS_READ_TRACE_MODEL_PARTS_H

#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "read/events/trace_model.h"

#define PS_MODEL_MAX ((size_t)PS_NONE - 2)

/* A (pid, tid) of the file. */
typedef struct ps_model_thread {
    int64_t pid, tid;
    ps_str tid_name;
    ps_str label; /* from metadata */
    int64_t order;
    uint32_t usual;      /* row of its HOST_THREAD track, PS_NONE until used */
    uint32_t last_track; /* that the slice before was placed on, PS_NONE */
    uint32_t placements; /* row of the last, PS_NONE */
    uint32_t n_placements;
    uint32_t open; /* its innermost B without E, PS_NONE */
} ps_model_thread;

/* A slice of this thread lies on this track, which is no DERIVED one. */
typedef struct ps_model_placement {
    uint32_t thread, track;
    uint32_t next;   /* the one before of the same thread, PS_NONE */
    uint32_t number; /* from 0 within the thread */
} ps_model_placement;

typedef struct ps_model_open {
    uint32_t slice, below; /* PS_NONE: left out, but its end is still to come */
} ps_model_open;

typedef enum ps_point_space {
    PS_POINT_FLOW,
    PS_POINT_BIND,  /* bind_id: the slice is known */
    PS_POINT_ASYNC, /* b n e */
    PS_POINT_OLD    /* S T p F */
} ps_point_space;

typedef enum ps_point_phase { PS_POINT_BEGIN, PS_POINT_STEP, PS_POINT_END } ps_point_phase;

/* What the points of one id have in common besides its lower half. */
typedef struct ps_point_family {
    uint64_t id_high;
    int64_t pid; /* of a local id, else 0 */
    uint32_t cat, name, scope;
    uint8_t space; /* ps_point_space */
    bool id_is_text;
} ps_point_family;

enum { PS_FAMILY_BITS = 27 };

/* A large trace has millions of them. */
typedef struct ps_point {
    uint64_t id_low; /* or the id of a text */
    int64_t ts_ns;
    uint32_t family : PS_FAMILY_BITS;
    uint32_t phase : 2;     /* ps_point_phase */
    uint32_t enclosing : 1; /* binds to the slice around it */
    uint32_t quality : 2;   /* of the slice it is bound to */
    uint32_t
        place; /* of a flow: its thread, and once threads are known its slice, as of all others (PS_NONE:
                               none); of the end of a range: its arguments */
} ps_point;

typedef struct ps_points {
    ps_point_family *families;
    size_t n_families, cap_families;
    ps_idmap family_rows; /* hash, or the next free key after it -> row */
    ps_point *points;
    size_t n, cap;
    uint32_t *order; /* points of one id side by side, once grouped */
} ps_points;

/* Arguments that come after their slice. */
typedef struct ps_late_args {
    uint32_t first, n;
} ps_late_args;

typedef struct ps_counter_series {
    int64_t pid;
    uint64_t id_high, id_low;
    uint32_t name, key; /* key 0: stands for the counter as a whole */
    uint16_t id_flags;
    uint32_t track;
} ps_counter_series;

/* Rows of slices (or points) by track, in time order within a track. */
typedef struct ps_track_rows {
    uint32_t *rows;
    uint32_t *first; /* [n_tracks + 1] */
    uint32_t n_tracks;
} ps_track_rows;

/* Copies of events that wait for the first time other than 0, with texts of their own. */
typedef struct ps_held_event {
    ps_event event;
    uint64_t number; /* in the file */
} ps_held_event;

typedef struct ps_held {
    ps_held_event *events;
    size_t n, cap;
    ps_event_arg *args;
    size_t n_args, cap_args;
    ps_event_text *texts;
    size_t n_texts, cap_texts;
    ps_arena bytes;
} ps_held;

enum { PS_MODEL_THREAD_CACHE = 512 };

struct ps_trace_model {
    ps_builder *builder;
    ps_diag *diag;
    ps_dialect dialect;
    uint32_t needs;

    ps_str *texts; /* of this batch, none: not interned yet */
    size_t cap_texts;
    ps_str empty;

    ps_model_thread *threads;
    size_t n_threads, cap_threads;
    ps_idmap thread_rows;
    struct {
        int64_t pid, tid;
        uint32_t thread;
    } cache[PS_MODEL_THREAD_CACHE];
    ps_idmap text_pids; /* id of the text -> number of the text pid */
    uint32_t n_text_pids;
    ps_idmap low_pids; /* numbers of the file where those of text pids would lie */
    ps_model_placement *placements;
    size_t n_placements, cap_placements;
    ps_idmap placement_rows; /* thread << 32 | track */
    ps_model_open *opens;
    size_t n_opens, cap_opens;
    uint32_t free_open;

    ps_counter_series *series;
    size_t n_series, cap_series;
    ps_idmap series_rows;

    ps_points flows, ranges;
    ps_late_args *late;
    size_t n_late, cap_late;
    ps_arg *late_args;
    size_t n_late_args, cap_late_args;

    ps_track_rows by_track;
    int64_t last_ns;
    ps_held held;
    bool has_far_times;   /* some time so far is more than a day from 0 */
    bool zero_is_decided; /* nothing is held back any more */
    bool failed;          /* memory is out */
    struct {
        ps_str process_name, process_labels, process_sort_index, thread_name, thread_sort_index,
            name, labels, sort_index;
    } words;
};

/* Its arguments, NULL when it has none: then the batch may have none at all. */
static inline const ps_event_arg *ps_model_args(const ps_model_event *e) {
    return e->event->n_args > 0 ? e->batch->args + e->event->first_arg : NULL;
}

/* trace_model.c */
ps_str ps_model_text(ps_trace_model *m, const ps_event_batch *batch, uint32_t text);
void ps_model_add_args(ps_trace_model *m, const ps_model_event *e, uint32_t slice);
void ps_model_note_time(ps_trace_model *m, int64_t time_ns);
bool ps_model_to_arg(ps_trace_model *m, const ps_event_batch *batch, const ps_event_arg *from,
                     ps_arg *to);

/* An event whose time is looked at; for one that was held back, a second time. */
void ps_model_take(ps_trace_model *m, ps_model_event *e);

/* trace_model_zero.c */
typedef enum ps_zero { PS_ZERO_TIME, PS_ZERO_STRAY, PS_ZERO_HELD } ps_zero;
void ps_held_fini(ps_held *h);
/* What becomes of a timed event: its time counts, it is left out, or it was copied and comes again. May first take what
 * was held back. */
ps_zero ps_model_zero(ps_trace_model *m, const ps_model_event *e);
/* Takes what is held back; nothing is held back from now on. */
void ps_model_release(ps_trace_model *m);

/* trace_model_counters.c */
void ps_model_counter(ps_trace_model *m, const ps_model_event *e);

/* trace_model_points.c */
void ps_points_fini(ps_points *p);
/* The point added, or NULL when memory is out. `kind`: the event's cat, or what stands for it. */
ps_point *ps_points_add(ps_points *p, const ps_point_family *family, uint64_t id_low, int64_t ts_ns,
                        ps_point_phase phase);
/* Family and lower half of the id of an event. */
void ps_model_point_key(const ps_model_event *e, ps_point_space space, ps_point_family *family,
                        uint64_t *id_low);
bool ps_points_group(ps_points *p);
/* The end of the group that begins at order[at]. */
size_t ps_points_group_end(const ps_points *p, size_t at);
/* "ac2g id 12", for people. */
void ps_point_describe(const ps_trace_model *m, const ps_points *p, const ps_point *point,
                       char *out, size_t size);

/* trace_model_async.c */
void ps_model_async(ps_trace_model *m, const ps_model_event *e, ps_point_space space,
                    ps_point_phase phase);
bool ps_model_async_finish(ps_trace_model *m);

/* trace_model_flows.c */
void ps_model_flow_point(ps_trace_model *m, const ps_model_event *e, ps_point_phase phase);
void ps_model_bind_point(ps_trace_model *m, const ps_model_event *e, uint32_t slice);
/* Before the index is made, and after. */
bool ps_model_flows_choose(ps_trace_model *m);
bool ps_model_flows_finish(ps_trace_model *m);

/* trace_model_index.c */
/* False when memory is out; then nothing is to be freed. */
bool ps_track_rows_make(ps_track_rows *out, const int64_t *times, const uint32_t *tracks, size_t n,
                        size_t n_tracks);
void ps_track_rows_fini(ps_track_rows *r);
/* The slices of each track in the order of a sealed trace. */
bool ps_model_index(ps_trace_model *m);

/* While one walks along rows[at .. end): their times lie all over the columns. */
static inline void ps_model_prefetch(const ps_slices *s, const uint32_t *rows, size_t at,
                                     size_t end) {
    enum { AHEAD = 16 };
    if (at + AHEAD < end) {
        __builtin_prefetch(&s->start_ns[rows[at + AHEAD]]);
        __builtin_prefetch(&s->dur_ns[rows[at + AHEAD]]);
    }
}

/* Innermost open slices while one walks along a track. */
typedef struct ps_open_stack {
    uint32_t *slices;
    size_t n, cap;
} ps_open_stack;
/* Ends what is over at the start of `slice`, then opens it. *fits: it lies within the one around it, or ends at most
 * slack_ns later. False when memory is out. */
bool ps_open_stack_push(ps_open_stack *stack, const ps_slices *s, uint32_t slice, int64_t slack_ns,
                        bool *fits);
/* The innermost slice that is open at a time not before the last slice opened, PS_NONE. */
uint32_t ps_open_stack_at(ps_open_stack *stack, const ps_slices *s, int64_t time_ns);
/* Counts the slices of host threads that lie across another one. */
bool ps_model_count_overlaps(ps_trace_model *m);

#endif
