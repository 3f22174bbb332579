/* What the profiler of Paddle's static graph executor writes into a log, byte for byte:
 *
 *   Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1701771693000.032959,
 *       job_end_time = 1701771693012.871094                  one line
 *   Schedule Profiler start at step 3 and end at step 6      banner of a trainer: steps 3, 4, 5
 *   NVTX range push: 1, time: 1701771692999.329102           marks of the first draft
 *   NVTX range pop, time: 1701771693193.787109 */
#ifndef PS_READ_PADDLE_RECORD_H
#define PS_READ_PADDLE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ps_paddle_what {
    PS_PADDLE_NOISE, /* nothing of the profiler */
    PS_PADDLE_JOB,
    PS_PADDLE_MALFORMED, /* begins as a job and goes on otherwise */
    PS_PADDLE_BANNER,    /* first, end: steps [first, end) are recorded */
    PS_PADDLE_PUSH,      /* first: the step that begins */
    PS_PADDLE_POP
} ps_paddle_what;

#define PS_PADDLE_MAX_TYPE 127
/* No record is longer. */
#define PS_PADDLE_MAX_BYTES 512
/* Larger numbers of steps are not believed. */
#define PS_PADDLE_MAX_STEP (INT64_C(1) << 53)

typedef struct ps_paddle_record {
    const char *type; /* n_type bytes in the log */
    size_t n_type;
    int64_t job, microbatch;
    int64_t start_us, end_us; /* since the epoch; both 0: the job's timer never ran */
    bool has_place;           /* type and microbatch are known; of a malformed job perhaps not */
    const char *reason;       /* of a malformed job, for people */
    int64_t first, end;       /* of a banner; `first` of a push */
    size_t n_bytes;           /* whole length of a job, banner or mark */
} ps_paddle_record;

/* What begins at bytes[0], where "Profiler" or "NVTX" may stand. `n` bytes can be seen: all that follow, or at least
 * PS_PADDLE_MAX_BYTES. */
ps_paddle_what ps_paddle_parse(const char *bytes, size_t n, ps_paddle_record *out);

#endif
