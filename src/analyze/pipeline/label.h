/* Gives the marks of one step the labels of a schedule's theoretical list by sequence alignment, so that a
 * lost mark costs one label and not a step. */
#ifndef PS_ANALYZE_LABEL_H
#define PS_ANALYZE_LABEL_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/marks.h"
#include "base/archive.h"
#include "schedule/schedule.h"

#define PS_UNLABELLED UINT32_MAX

/* A part of an op that the program named. */
typedef struct ps_given_part {
    int64_t start_ns, end_ns; /* epoch */
    const char *name;         /* borrowed */
    uint8_t kind;             /* PS_OP_F, PS_OP_B or PS_OP_BW */
    bool communicates;
} ps_given_part;

/* Label of one mark. */
typedef struct ps_given_label {
    const char *name;           /* borrowed, or static */
    int32_t type;               /* DualPipeV phase 0..6; classic 0 forward, 1 backward */
    ps_sched_op op;             /* of the schedule, when has_op */
    int64_t work_ns;            /* device_work.h: of the device in it and in no mark before */
    const ps_given_part *parts; /* [n_parts], borrowed */
    uint32_t n_parts;
    uint8_t source; /* ps_op_source */
    bool has_op;
    bool left_out; /* outside every step where steps count */
} ps_given_label;

typedef struct ps_alignment {
    uint32_t *op_of_mark; /* [n_marks] index into the list, or PS_UNLABELLED */
    size_t n_agreeing;    /* labelled, kind and microbatch as the message says */
    size_t n_by_kind;     /* labelled, but the message names another microbatch */
    size_t n_unlabelled;
    size_t n_missing;       /* ops of the list without a mark */
    uint32_t first_missing; /* index of the first of them, PS_UNLABELLED when none */
    int64_t cost;           /* 0: every mark agrees with the list, one to one */
} ps_alignment;

/* Aligns `n_marks` marks (in start order) to the list. The cheapest edit wins, where
 *   agreeing kind and microbatch costs 0, agreeing kind with another microbatch 3,
 *   leaving out a mark 2 (a weight-gradient mark without work 0.5), an op without a mark 2,
 * and an op is more readily missed where the device was idle for long, less so where a mark has no room. Marks
 * of other kinds than the op never get its label. Linear in n with the number of differences as factor. PS_NOMEM only. The caller
 * ends with ps_alignment_fini(). */
PS_MUST_USE ps_code ps_align(const ps_mark *marks, size_t n_marks, const ps_op_list *list,
                             ps_alignment *out, ps_err *err);

/* The same, but gives up (all marks unlabelled, all ops missing) on lists that differ by more than about `max_slack`
 * entries: for trying schedules that mostly do not fit. */
PS_MUST_USE ps_code ps_align_within(const ps_mark *marks, size_t n_marks, const ps_op_list *list,
                                    size_t max_slack, ps_alignment *out, ps_err *err);

void ps_alignment_fini(ps_alignment *a);

/* Names in the arena in use. A label's parts do not travel: labels of marks have none. */
void ps_given_part_archive(ps_archive *a, void *part);
void ps_given_label_archive(ps_archive *a, void *label);

#endif
