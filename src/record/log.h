/* One-line messages to the user: "pipescope: ..." on stderr unless quiet, and into logs/ of the output folder. Never from the
 * hot path. Each text appears once per process and recording. */
#ifndef PS_RECORD_LOG_H
#define PS_RECORD_LOG_H

#include "base/err.h"

void ps_rec_log(const char *fmt, ...) PS_PRINTF(1, 2);

/* Only the first time for this `key` in the process. */
void ps_rec_log_once(const char *key, const char *fmt, ...) PS_PRINTF(2, 3);

#endif
