/* When an op could begin to compute. Receives of a rank that its trace timed: ranges of a communication library (gloo:recv) that end when the data is there. What an op
 * waited for ends with them; a call that only posts one (c10d::recv_) does not tell. */
#ifndef PS_ANALYZE_RECEIVES_H
#define PS_ANALYZE_RECEIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/pipeline/host_labels.h"
#include "base/idmap.h"
#include "model/trace.h"

typedef struct ps_receive {
    int64_t start_ns, end_ns; /* from the trace's origin */
    uint64_t key;    /* of the op that it is for, as a label around its start says; 0: none does */
    uint32_t before; /* the one before of this key, PS_NONE */
} ps_receive;

typedef struct ps_receives {
    ps_receive *at; /* in start order */
    size_t n, cap;
    int64_t *ends; /* [n] sorted */
    ps_idmap last; /* key -> the last one */
    bool are_labelled;
} ps_receives;

/* False when memory is out; end with ps_receives_fini() in any case. */
bool ps_receives_collect(const ps_trace *trace, ps_receives *out);
void ps_receives_fini(ps_receives *r);

/* The last end up to `at_ns`, INT64_MIN. */
int64_t ps_receives_until(const ps_receives *r, int64_t at_ns);

/* When what an op works on had come, which computes from `at_ns` on: by the label of its receive ("PP:3RECV_F7") where labels name
 * them, else the last receive until then. INT64_MIN: it received nothing. */
int64_t ps_receives_for(const ps_receives *r, const ps_host_range *op, int64_t at_ns);

/* leads[n]: of each op of a rank the time between what it waited for and its first operator, 0 where nothing tells. The time that one
 * in `one_of` ops stays within, where it is below a millisecond, is what the schedule takes to wake up and to call an op: taken off
 * all. The rest is the op's own work outside of operators. */
void ps_leads_of_ops(int64_t *leads, size_t n, size_t one_of);

#endif
