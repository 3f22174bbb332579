/* The inside of late.h: operators of all ranks in one list, and which of them belong together. */
#ifndef PS_ANALYZE_LATE_MATCH_H
#define PS_ANALYZE_LATE_MATCH_H

#include "analyze/comm/late.h"

/* One operator. `group` tells communicators of one name apart by their members; it and `type` are texts of the result's
 * pool. */
typedef struct ps_late_entry {
    int64_t start_ns, step;
    int64_t
        number; /* equal for operators that belong together inside of group, step, type and name */
    int64_t size; /* bytes, -1 unknown */
    uint32_t group, type, name;
    uint32_t rank, op;
} ps_late_entry;

typedef struct ps_late_work {
    const ps_late_input *in;
    ps_late *out;
    ps_late_entry *entries; /* collectives in [0, n_collectives), point-to-point behind */
    size_t n, n_collectives;
    ps_str *plain; /* [n_plain] by group: its name without members */
    size_t n_plain, cap_plain;
    uint32_t *meeting_groups; /* [n_meetings] while they are sorted by group */
    size_t n_apart;           /* unmatched that are no collectives: these are matched once only */
    bool has_clocks;          /* the result's; then loose stretches are matched anew */
    size_t n_loose;           /* stretches of collectives in which nothing names group or number */
} ps_late_work;

/* How far the clocks of two ranks may be apart at any moment once they are brought together. */
#define PS_LATE_TOLERANCE_NS ((int64_t)1000000)

/* All operators of the input. False when memory is out. */
bool ps_late_gather(ps_late_work *w);
/* Meetings and parts with raw times, sorted by group. */
bool ps_late_match(ps_late_work *w);
/* Numbers a stretch of one unnamed group, step and type anew by time; it was numbered by counting, and is sorted by that.
 * Wants the clocks. False when memory is out. */
bool ps_late_refit(ps_late_work *w, ps_late_entry *e, size_t n);
/* Fills out->clocks and its evidence from these and from the receives. */
bool ps_late_clocks(ps_late_work *w);
/* Nobody can finish before everybody has begun. */
bool ps_late_is_symmetric(const ps_late_input *in, const ps_late *late, const ps_meeting *m);
/* Receives with their sends. */
bool ps_late_receives(ps_late_work *w);
/* How long they waited; wants the clocks. */
void ps_late_wait(ps_late_work *w);

static inline const ps_comm_op *ps_late_op(const ps_late_input *in, uint32_t rank, uint32_t op) {
    return &in->lists[rank]->ops[op];
}

/* a - b, at the edge of the type where it does not fit. */
static inline int64_t ps_late_minus(int64_t a, int64_t b) {
    int64_t out = 0;
    return !__builtin_sub_overflow(a, b, &out) ? out : a < b ? INT64_MIN + 1 : INT64_MAX;
}
static inline int64_t ps_late_plus(int64_t a, int64_t b) {
    int64_t out = 0;
    return !__builtin_add_overflow(a, b, &out) ? out : a < 0 ? INT64_MIN + 1 : INT64_MAX;
}

/* On the clock of the rank's reference. */
static inline int64_t ps_late_time(const ps_late *out, uint32_t rank, int64_t time_ns) {
    return ps_late_minus(time_ns, out->clocks[rank].offset_ns);
}

#endif
