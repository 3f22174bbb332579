/* One-line messages to the user: "pipescope: ..." on stderr unless quiet, and into logs/ of the output folder. Never from the
 * hot path. Each text appears once per process and recording. */
#ifndef PS_RECORD_LOG_H
#define PS_RECORD_LOG_H

#include <stdbool.h>

#include "base/err.h"

void ps_rec_log(const char *fmt, ...) PS_PRINTF(1, 2);

/* On stderr alone: the disk does not answer. */
void ps_rec_log_error_stream(const char *fmt, ...) PS_PRINTF(1, 2);

/* Only the first time for this `key` in the process. */
void ps_rec_log_once(const char *key, const char *fmt, ...) PS_PRINTF(2, 3);

/* A recording begins: texts may appear again. */
void ps_rec_log_begin(void);

/* Lines go into this file too from now on (made when it is not there); NULL: into none. */
void ps_rec_log_file(const char *path);

/* Around a fork: nobody else is in the middle of a line; then, in the child, the parent's file is forgotten. */
void ps_rec_log_hold(void);
void ps_rec_log_release(bool in_child);
void ps_rec_log_forget(void); /* in a child that no fork handler has seen */

#endif
