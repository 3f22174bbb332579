/* The writer thread: takes slots out of the rings into the spool, every 10 ms or when a ring is half full; stores a clock
 * anchor every second; gives the device backend its tick. It blocks all signals and never waits for the program. */
#ifndef PS_RECORD_WRITER_H
#define PS_RECORD_WRITER_H

#include <stdbool.h>

#include "record/spool.h"

/* False when no thread can be had. */
bool ps_writer_start(ps_spool *spool, int clock);

/* Takes out everything that is published, and ends the thread. */
void ps_writer_stop(void);

/* From the hot path when a ring is half full: wakes it, without a system call when it is awake. */
void ps_writer_wake(void);

void ps_writer_forget(void); /* in a forked child */

#endif
