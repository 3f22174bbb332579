/* Ends a query when its time is over or nobody waits for it any more, wherever it is: in SQLite, in a reader, in an analysis. */
#ifndef PS_QUERY_DEADLINE_H
#define PS_QUERY_DEADLINE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/watch.h"

typedef struct ps_deadline {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_running, is_done;
    int64_t seconds;
    sqlite3 *db; /* or NULL: no statement runs */
    ps_watch *watch;
    const ps_watch *asker; /* or NULL */
} ps_deadline;

/* Starts to count; 0 seconds: for ever. False: there is no thread to be had. */
bool ps_deadline_begin(ps_deadline *d, int64_t seconds, sqlite3 *db, ps_watch *watch);
/* The same; when `asker` (or NULL) is stopped, the query is, too. */
bool ps_deadline_begin_for(ps_deadline *d, int64_t seconds, sqlite3 *db, ps_watch *watch,
                           const ps_watch *asker);
void ps_deadline_end(ps_deadline *d);

#endif
