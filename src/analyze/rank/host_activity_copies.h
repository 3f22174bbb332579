/* Operators that launch a copy and wait for it: a tensor on its way from memory that is not pinned, or back, as in
 * x.to(device). By what is recorded: a copy of the device leads back to the operator, and a synchronising call lies in it. Some
 * profilers show the calls of a thread on a track of their own; they are joined by the thread's number. */
#ifndef PS_ANALYZE_HOST_ACTIVITY_COPIES_H
#define PS_ANALYZE_HOST_ACTIVITY_COPIES_H

#include <stdbool.h>

#include "analyze/rank/host_activity.h"

/* Makes PS_ACTIVITY_COPY of those operators and of all that lies in them, but for what counts more. Needs the moments of the
 * threads. False when memory is out. */
bool ps_host_activity_take_copies(ps_host_activity *h);

#endif
