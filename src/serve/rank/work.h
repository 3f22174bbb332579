/* Threads for slow routes: jobs run in the order in which they came. */
#ifndef PS_SERVE_WORK_H
#define PS_SERVE_WORK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ps_work ps_work;

/* Lives in the caller's storage until `run` or `drop` was called. */
typedef struct ps_job {
    struct ps_job *next;
    void (*run)(struct ps_job *job);
    void (*drop)(struct ps_job *job); /* instead of run, when the threads stop */
} ps_job;

/* NULL: no memory, or not one thread can be started. */
ps_work *ps_work_new(size_t n_threads);

/* Any thread. False after ps_work_stop(): the job was not taken. */
bool ps_work_add(ps_work *w, ps_job *job);

/* Lets jobs run for up to `patience_ms`, drops those that have not begun, and ends the threads. False: a job is still
 * running; then nothing was freed, and the process can only be ended. */
bool ps_work_stop(ps_work *w, int patience_ms);
void ps_work_free(ps_work *w); /* after a stop that went well; NULL is fine */

#endif
