/* Finds and reads the worker logs below a log directory of Paddle's launcher:
 *
 *   LOG_DIR/workerlog.0, workerlog.1, ...                      one machine
 *   LOG_DIR/machine0/workerlog.0, LOG_DIR/machine1/...         several: every directory whose name begins so */
#ifndef PS_RUN_PADDLE_LOGS_H
#define PS_RUN_PADDLE_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/trace.h"

typedef struct ps_paddle_log {
    const char *path;
    int64_t machine;      /* the number in the directory's name; without one the next free */
    int64_t worker;       /* N of workerlog.N */
    uint32_t machine_row; /* place among the machines, by number */
    uint32_t column;      /* place of the worker in the list of all (or of those asked for) */
    bool is_missing;      /* asked for and not there */
    ps_trace *trace;      /* after ps_paddle_logs_read, NULL when it failed; owned */
    ps_err err;
} ps_paddle_log;

typedef struct ps_paddle_logs {
    ps_paddle_log *logs; /* by machine, then column */
    size_t n;
    bool by_machine;
    uint32_t n_machines, n_columns;
    const char *note; /* a sentence for people, or NULL */
    bool has_gap;     /* a log between two that are there is missing; the note names it */
    ps_arena arena;
} ps_paddle_logs;

/* `workers` names those wanted, none: all that are there. `by_machine` demands machine directories; else they are looked
 * for where LOG_DIR itself has no log. NULL with PS_NOT_FOUND (no such directory), PS_NOTHING (no log in it), PS_IO or
 * PS_NOMEM. The caller frees the result with ps_paddle_logs_free(). */
ps_paddle_logs *ps_paddle_logs_find(const char *log_dir, const int64_t *workers, size_t n_workers,
                                    bool by_machine, ps_err *err);
void ps_paddle_logs_free(ps_paddle_logs *l); /* NULL is fine */

/* Reads all that are there, in parallel (0: one thread per processor). What failed says so in its `err`; `progress` is
 * called from several threads, once for each log, and may be NULL. */
void ps_paddle_logs_read(ps_paddle_logs *l, size_t n_threads, void (*progress)(void *context),
                         void *context);

#endif
