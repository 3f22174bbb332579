/* The writer thread: takes slots out of the rings into the spool, every 10 ms or when a ring is half full; stores a clock
 * anchor every second; gives the device backend its tick. It blocks all signals and never waits for the program. */
#ifndef PS_RECORD_WRITER_H
#define PS_RECORD_WRITER_H

#include <stdbool.h>

#include "record/ring/spool.h"

/* What the writer tells of, on its thread. */
typedef struct ps_writer_hooks {
    void (*round)(void);          /* each round begins so */
    void (*device_is_used)(void); /* a backend other than the host is open; once a recording */
} ps_writer_hooks;

/* False when no thread can be had. The hooks are borrowed until the writer has stopped. */
bool ps_writer_start(ps_spool *spool, int clock, const ps_writer_hooks *hooks);

/* Takes out everything that is published, and ends the thread. */
void ps_writer_stop(void);

void ps_writer_forget(void); /* in a forked child */

#endif
