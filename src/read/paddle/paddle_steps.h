/* Which step and which run does a job of a worker log belong to? The records do not say; their order does.
 *
 * A step is the same list of jobs again: a pair (type, microbatch) that the step has already begins the next one, and so
 * does one that stood before the last job in the list of the step before (the first of the list were lost). A run is one
 * start of the program; launchers append to the same log. A further run begins
 *   - with a banner of another window than the last one,
 *   - with a banner of the same window after the window was used up and a pause of three steps or more,
 *   - with a mark (NVTX push) of a step that does not come after the one before,
 *   - where the time goes back by more than a step (the median of the run's first steps, from start to start), or ahead
 *     by more than 100 of them.
 *
 * Numbers of steps: as the banner or the marks say, else from 0. Those of a further run go on as it says where all are
 * larger than those before, else they are counted on from the last one; they are unique in the log. */
#ifndef PS_READ_PADDLE_STEPS_H
#define PS_READ_PADDLE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idmap.h"
#include "model/trace.h"

/* What an order looks at of the jobs: those whose times are not known keep their place. */
typedef struct ps_paddle_job {
    ps_str type;
    int64_t microbatch;
    bool is_timed;
    int64_t start_ns, end_ns;
    uint64_t line;
    /* filled */
    int64_t step, run, seq;
    bool begins_run; /* another one than the first */
} ps_paddle_job;

typedef struct ps_paddle_pair {
    uint32_t type;
    int64_t microbatch;
    int64_t step, seq; /* where it was seen last; steps counted over all runs, from 1 */
} ps_paddle_pair;

#define PS_PADDLE_MEDIAN_OF 31

typedef struct ps_paddle_run {
    int64_t number;
    int64_t first_step, said_first; /* unique, and as the log says; the other steps follow alike */
    int64_t banner_first, banner_end; /* [first, end); end 0: no banner */
    uint64_t line;                    /* of its first record */
    int64_t n_steps, n_jobs;
} ps_paddle_run;

typedef struct ps_paddle_steps {
    ps_builder *builder; /* gets the steps as they end */
    ps_table *runs;      /* a row for each, as it ends; may be NULL */
    ps_paddle_run run;
    bool has_run;
    /* the open step */
    bool has_step, has_time;
    int64_t id, said, start_ns, end_ns, seq;
    int64_t reached; /* how far its jobs have come in the list of the step before, -1 */
    int64_t n_steps; /* all runs; the open one included */
    int64_t last_id; /* -1 none */
    /* the newest step of the run that has a time */
    bool has_ref;
    int64_t ref_start_ns, ref_end_ns;
    /* what the log said since the last record */
    bool banner_seen, push_seen, pop_seen;
    int64_t banner_first, banner_end, push;
    int64_t run_push; /* newest of the run, -1 none */
    int64_t
        periods_ns[PS_PADDLE_MEDIAN_OF]; /* from start to start of the run's first steps, sorted */
    uint32_t n_periods;
    ps_paddle_pair *pairs;
    size_t n_pairs, cap_pairs;
    ps_idmap pair_rows;
} ps_paddle_steps;

void ps_paddle_steps_init(ps_paddle_steps *s, ps_builder *b, ps_table *runs);
void ps_paddle_steps_fini(ps_paddle_steps *s);

void ps_paddle_steps_banner(ps_paddle_steps *s, int64_t first, int64_t end);
void ps_paddle_steps_push(ps_paddle_steps *s, int64_t step);
void ps_paddle_steps_pop(ps_paddle_steps *s);

/* Places the next job of the log. False when memory is out. */
bool ps_paddle_steps_add(ps_paddle_steps *s, ps_paddle_job *job);
/* A record that does not even tell its type: it has a place in the open step. */
void ps_paddle_steps_skip(ps_paddle_steps *s);
/* Ends the last step and run. False when memory is out. */
bool ps_paddle_steps_finish(ps_paddle_steps *s);

/* Columns of the table of runs. */
extern const ps_column ps_paddle_run_columns[];
#define PS_PADDLE_RUN_COLUMNS 8

#endif
