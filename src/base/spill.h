/* Memory beyond a limit: once the process holds more, what is kept for long goes into a file without a name, which the kernel writes out and takes out
 * of memory where it needs the room. Code says where it makes such values (ps_spill_keep()); their large blocks (base/alloc.h) lie in the file
 * then, and nobody else sees a difference. What goes through them from one end to the other, or stays with few at a time, is as fast as the
 * disk; what jumps about is slow: what is made in passing stays in memory.
 *
 * The file lies in $TMPDIR, else in /var/tmp, and ends with the process. Where neither can be written, lies on a disk or has room (a
 * twentieth of the file system is left to others), blocks are made in memory as ever. One value for the process; any thread may allocate. */
#ifndef PS_BASE_SPILL_H
#define PS_BASE_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Blocks that are smaller stay in memory. */
#define PS_SPILL_BLOCK_BYTES ((size_t)32 << 10)

/* From now on the process shall hold no more than this in memory (ps_memory_held()); 0: as much as it likes. */
void ps_spill_above(int64_t limit_bytes);
/* Whether it holds more now. Looks, which costs microseconds. */
bool ps_spill_is_over(void);
/* What this thread allocates from here on is kept for long, or (false, as in the beginning) made in passing. What it was before. */
bool ps_spill_keep(bool kept);
/* How much lay in the file at most. */
size_t ps_spill_most(void);
/* Why there was none, or no more of it, as an errno; 0 when nobody asked in vain. */
int ps_spill_errno(void);
/* Whether the address lies in the file: a handler of SIGBUS asks, which comes where the disk cannot give back what was written. */
bool ps_spill_holds(const void *address);
/* In a child process that runs on in a copy of its parent's memory: what it writes stays its own, what it allocates lies in memory. False:
 * it must end, or it would write into its parent's. */
PS_MUST_USE bool ps_spill_leave(void);

#endif
