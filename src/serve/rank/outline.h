/* The outline of a rank that is being read: its lanes so far, and when each of them has something. It is what the page draws until the
 * rank is there; nothing is worked out of it.
 *
 * Who reads adds, anybody asks meanwhile. All lanes share one row of buckets of time, whose width is a power of two: when the recording
 * turns out longer than the row, two buckets become one. {0} with a lock is an empty outline. */
#ifndef PS_SERVE_OUTLINE_H
#define PS_SERVE_OUTLINE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json_write.h"
#include "model/trace.h"
#include "serve/rank/lane_names.h"

enum { PS_OUTLINE_BUCKETS = 512, PS_OUTLINE_LANES = 256 };

typedef struct ps_outline_lane ps_outline_lane;

typedef struct ps_outline {
    pthread_mutex_t lock;
    ps_outline_lane *lanes; /* [n] by track, those beyond PS_OUTLINE_LANES left out */
    size_t n, cap;
    ps_arena names;
    uint32_t n_slices;     /* that were looked at */
    ps_device_words words; /* as far as those tell */
    int64_t origin_ns;     /* that the times below count from */
    int64_t start_ns, end_ns;
    int64_t first;  /* number of the first bucket: its start in widths */
    unsigned shift; /* width of a bucket: 2^shift ns */
} ps_outline;

#define PS_OUTLINE_INIT                                                                            \
    { .lock = PTHREAD_MUTEX_INITIALIZER }

/* Adds the slices that were not there the last time. Where memory is out it keeps what it has. */
void ps_outline_add(ps_outline *o, const ps_trace *so_far);
/* Forgets everything: the rank is there, or could not be read. */
void ps_outline_clear(ps_outline *o);
/* {"origin_ns":"...","bucket_ns":4096,"slices":131072,"start":0,"end":912345,"lanes":[{"process","name","slices","busy":"00f3..."},...]}:
 * `busy` has a digit for each bucket, 0 to f, of which the first begins at origin_ns. Lanes in the order of the file's processes and threads. */
void ps_outline_put(ps_outline *o, ps_json *j);

#endif
