/* How much memory a process may still take: what the machine has, and what the control group that it runs in leaves of that. */
#ifndef PS_BASE_MEMORY_LEFT_H
#define PS_BASE_MEMORY_LEFT_H

#include <stdint.h>

/* In bytes, the least of what the kernel calls available and of the limits of the group and those above it, less what they hold that is no cache.
 * INT64_MAX where nothing says. Files are looked for below `root`, "" for the machine itself. */
int64_t ps_memory_left_below(const char *root);
static inline int64_t ps_memory_left(void) {
    return ps_memory_left_below("");
}

/* What this process holds: resident, without the pages of files that it has mapped. 0 where nothing says. */
int64_t ps_memory_held(void);

#endif
