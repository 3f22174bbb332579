/* The first half of the lane tree: which slices of a track are drawn together. Every slice is in exactly one part. */
#ifndef PS_SERVE_LANE_PARTS_H
#define PS_SERVE_LANE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"
#include "model/trace.h"
#include "serve/rank/lane_names.h"

/* In the order in which the parts of one thread stand. */
typedef enum ps_lane_part {
    PS_PART_ALL, /* of a track that is not divided */
    PS_PART_OPS, /* of a host thread: operators, annotations, queues, and calls where they are not apart */
    PS_PART_API,    /* calls of one kind of interface (`text`: acl, node, ...) */
    PS_PART_MARKS,  /* of one domain (`text`), of a thread or a stream */
    PS_PART_FRAMES, /* Python */
    PS_PART_GC,     /* Python's collector, where calls are apart */
    PS_PART_VALUES, /* of a counter */
    PS_N_LANE_PARTS
} ps_lane_part;

typedef struct ps_part_lane {
    uint32_t track;
    ps_lane_part part;
    ps_str text;
    bool has_calls, has_others; /* PS_PART_OPS: what is in it */
} ps_part_lane;

/* A mark on a stream whose domain only the range of the host says that it mirrors. */
typedef struct ps_mirrored {
    uint32_t slice, part;
} ps_mirrored;

typedef struct ps_lane_parts {
    ps_part_lane *at; /* in the order of their first slice; counters behind them */
    size_t n, cap;
    ps_thread_role *roles; /* [n_tracks] */
    bool is_ascend;        /* written by an Ascend profiler */
    bool calls_apart;      /* as its databases have them: each kind of interface by itself */
    bool has_marks, has_kernels;
    ps_idmap of[PS_N_LANE_PARTS]; /* (text, track) -> part */
    ps_mirrored *mirrored;        /* by slice */
    size_t n_mirrored, cap_mirrored;
} ps_lane_parts;

/* Beyond this many domains the marks of a track share the lane of those without one. */
#define PS_MAX_MARK_LANES 200

/* `part_of`[n slices]: a row of `at`. False when memory is out; end with ps_lane_parts_fini() in any case. */
bool ps_lane_parts_init(ps_lane_parts *p, const ps_trace *t, uint32_t *part_of);
/* The part of a slice, as `part_of` had it. Any thread may ask. */
uint32_t ps_lane_parts_of(const ps_lane_parts *p, const ps_trace *t, uint32_t slice);
void ps_lane_parts_fini(ps_lane_parts *p);

#endif
