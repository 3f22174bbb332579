/* Files that appear under their name when they are whole: readers see the old one or the new one, also when several programs
 * write the same one, and what a run that ends early had begun is removed.
 *
 *   ps_publish p;
 *   code = ps_publish_begin(&p, path, err);    writes go to p.fd, or to the file p.tmp
 *   code = ps_publish_commit(&p, PS_FLUSHED, err);         or ps_publish_abort(&p)
 *
 * After either the value is empty; aborting an empty one is fine. */
#ifndef PS_BASE_PUBLISH_H
#define PS_BASE_PUBLISH_H

#include <stdbool.h>

#include "base/err.h"

typedef struct ps_publish {
    char *path; /* NULL: empty */
    char *
        tmp; /* beside it, a name that was nobody's: no link is followed, no file of others touched */
    int fd; /* open for writing */
    int unfinished;
} ps_publish;

PS_MUST_USE ps_code ps_publish_begin(ps_publish *p, const char *path, ps_err *err);
/* Gives the file its name; with PS_FLUSHED it and its name are on the disk then, which takes milliseconds: where a run writes
 * hundreds of files that can be made again they are left to the system. On failure nothing is left. */
typedef enum ps_publish_how { PS_UNFLUSHED, PS_FLUSHED } ps_publish_how;
PS_MUST_USE ps_code ps_publish_commit(ps_publish *p, ps_publish_how how, ps_err *err);
void ps_publish_abort(ps_publish *p);

/* Removes a database with what SQLite puts beside it; what is not there is fine. */
void ps_remove_database(const char *path);

/* A folder of its own below `dir`, for a library that makes files whose names we do not know; its path is `dir`'s and a name that was
 * nobody's. The caller ends it with ps_scratch_end(); NULL on failure. */
PS_MUST_USE ps_code ps_scratch_begin(const char *dir, char **folder, ps_err *err);
/* Removes the folder and the files in it. PS_IO, with the name of what stays, when something cannot be removed. NULL is fine. */
PS_MUST_USE ps_code ps_scratch_end(char *folder, ps_err *err);

/* --- what a signal would leave behind ------------------------------------------------------------------------------- */

/* The file of this name (with what SQLite puts beside a database) or the folder is removed if a signal ends the process. A number
 * for ps_unfinished_done(); -1 when there are too many, which then stay. */
int ps_unfinished_add(const char *path);
void ps_unfinished_done(int unfinished); /* -1 is fine */

/* For the handler of a signal whose action is the default one again: removes them all, files first, and ends the process by that
 * signal. No thread begins another file from then on. */
void ps_unfinished_end(int number);

/* The same for a handler that ends the process in another way. */
void ps_unfinished_remove(void);

/* Between the two (in any thread, any number of times) a signal ends the process only at the release: a library makes files whose
 * names we do not know. A second signal does not wait. */
void ps_unfinished_hold(void);
void ps_unfinished_release(void);
/* A signal has come meanwhile. Who holds it for long asks, removes what it made, and releases. */
bool ps_unfinished_is_ended(void);

/* In a process that was made by fork: nothing of what the other one has begun is this one's to remove, or to wait for. */
void ps_unfinished_forget(void);

/* Removes a folder and all in it; links are not followed. PS_IO when something stays. What is not there is fine. */
PS_MUST_USE ps_code ps_remove_tree(const char *path, ps_err *err);

#endif
