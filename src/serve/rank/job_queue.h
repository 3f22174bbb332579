/* A queue of jobs for slow routes: threads run them in the order in which they came. */
#ifndef PS_SERVE_JOB_QUEUE_H
#define PS_SERVE_JOB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ps_job_queue ps_job_queue;

/* Lives in the caller's storage until `run` or `drop` was called. */
typedef struct ps_job {
    struct ps_job *next;
    void (*run)(struct ps_job *job);
    void (*drop)(struct ps_job *job); /* instead of run, when the threads stop */
} ps_job;

/* NULL: no memory, or not one thread can be started. */
ps_job_queue *ps_job_queue_new(size_t n_threads);

/* Any thread. False after ps_job_queue_stop(): the job was not taken. */
bool ps_job_queue_add(ps_job_queue *q, ps_job *job);

/* Lets jobs run for up to `patience_ms`, drops those that have not begun, and ends the threads. False: a job is still
 * running; then nothing was freed, and the process can only be ended. */
bool ps_job_queue_stop(ps_job_queue *q, int patience_ms);
void ps_job_queue_free(ps_job_queue *q); /* after a stop that went well; NULL is fine */

#endif
