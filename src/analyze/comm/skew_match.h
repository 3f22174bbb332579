/* The inside of skew.h: operators of all ranks in one list, and which of them belong together. */
#ifndef PS_ANALYZE_SKEW_MATCH_H
#define PS_ANALYZE_SKEW_MATCH_H

#include "analyze/comm/skew.h"

/* One operator. `group` tells communicators of one name apart by their members; it and `type` are texts of the result's
 * pool. */
typedef struct ps_skew_entry {
    int64_t start_ns, step;
    int64_t
        number; /* equal for operators that belong together inside of group, step, type and name */
    int64_t size; /* bytes, -1 unknown */
    uint32_t group, type, name;
    uint32_t rank, op;
} ps_skew_entry;

/* Of the groups, by the id of what tells them apart. */
typedef struct ps_skew_group {
    ps_str name;    /* without members */
    size_t n, next; /* while entries are gathered: how many, and where the next one goes */
} ps_skew_group;

typedef struct ps_skew_work {
    const ps_skew_input *in;
    ps_skew *out;
    /* Collectives in [0, n_collective_entries), point-to-point behind; of either one group after the other, by rank. */
    ps_skew_entry *entries;
    size_t n, n_collective_entries;
    ps_skew_group *plain; /* [n_plain] */
    size_t n_plain, cap_plain;
    uint32_t *collective_groups; /* [n_collectives of the result] while they are sorted by group */
    size_t n_apart;  /* unmatched that are no collectives: these are matched once only */
    bool has_clocks; /* the result's; then loose stretches are matched anew */
    size_t n_loose;  /* stretches of collectives in which nothing names group or number */
} ps_skew_work;

/* How far the clocks of two ranks may be apart at any moment once they are brought together. */
#define PS_SKEW_TOLERANCE_NS ((int64_t)1000000)

/* All operators of the input. False when memory is out. */
bool ps_skew_gather(ps_skew_work *w);
/* Where the group of e[i] ends, of `n`. */
size_t ps_skew_group_end(const ps_skew_entry *e, size_t n, size_t i);
/* Meetings and parts with raw times, sorted by group. */
bool ps_skew_match(ps_skew_work *w);
/* Numbers a stretch of one unnamed group, step and type anew by time; it was numbered by counting, and is sorted by that.
 * Wants the clocks. False when memory is out. */
bool ps_skew_refit(ps_skew_work *w, ps_skew_entry *e, size_t n);
/* Fills out->clocks and its evidence from these and from the receives. */
bool ps_skew_clocks(ps_skew_work *w);
/* Nobody can finish before everybody has begun. */
bool ps_skew_is_symmetric(const ps_skew_input *in, const ps_skew *skew,
                          const ps_matched_collective *m);
/* Receives with their sends. */
bool ps_skew_receives(ps_skew_work *w);
/* How long they waited; wants the clocks. */
void ps_skew_wait(ps_skew_work *w);

static inline const ps_comm_op *ps_skew_op(const ps_skew_input *in, uint32_t rank, uint32_t op) {
    return &in->lists[rank]->ops[op];
}

/* a - b, at the edge of the type where it does not fit. */
static inline int64_t ps_skew_minus(int64_t a, int64_t b) {
    int64_t out = 0;
    return !__builtin_sub_overflow(a, b, &out) ? out : a < b ? INT64_MIN + 1 : INT64_MAX;
}
static inline int64_t ps_skew_plus(int64_t a, int64_t b) {
    int64_t out = 0;
    return !__builtin_add_overflow(a, b, &out) ? out : a < 0 ? INT64_MIN + 1 : INT64_MAX;
}

/* On the clock of the rank's reference. */
static inline int64_t ps_skew_time(const ps_skew *out, uint32_t rank, int64_t time_ns) {
    return ps_skew_minus(time_ns, out->clocks[rank].offset_ns);
}

#endif
