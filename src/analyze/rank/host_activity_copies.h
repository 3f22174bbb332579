/* Which operators wait for a copy.
 *
 * A tensor on its way from memory that is not pinned, or back, as in x.to(device): known by what is recorded, since a copy of the device
 * leads back to the operator, and a synchronising call lies in it. A value that is read (item, nonzero): where the capture has the
 * calls of the driver, one without a copy and a synchronising call in it reads memory of the host, and waits for nothing. Some
 * profilers show the calls of a thread on a track of their own; they are joined by the thread's number. */
#ifndef PS_ANALYZE_HOST_ACTIVITY_COPIES_H
#define PS_ANALYZE_HOST_ACTIVITY_COPIES_H

#include <stdbool.h>

#include "analyze/rank/host_activity.h"

/* Fills `transfers`. Needs the moments of the threads, and nothing that follows from names. False when memory is out. */
bool ps_host_activity_find_transfers(ps_host_activity *h);

/* Makes PS_ACTIVITY_COPY of operators that launch a copy and wait, and of all that lies in them, but for what counts more. Needs the
 * moments of the threads. False when memory is out. */
bool ps_host_activity_take_copies(ps_host_activity *h);

#endif
