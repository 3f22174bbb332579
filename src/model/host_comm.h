/* Communication of a rank without a device: what ProcessGroupGloo writes about itself ("gloo:all_reduce"), ranges on the
 * threads of the host that last from the start of an operation until it is done. Where a rank has a device, what
 * communicates there counts, and these are what the host does meanwhile. */
#ifndef PS_MODEL_HOST_COMM_H
#define PS_MODEL_HOST_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/trace.h"

/* An annotation on a host thread with the name of an operation of gloo. Needs SLICES. */
bool ps_is_host_comm(const ps_trace *trace, uint32_t slice);
/* How many of them are this rank's communication: 0 where it has work of a device, or communication operators of its own. */
size_t ps_host_comm_count(const ps_trace *trace);

#endif
