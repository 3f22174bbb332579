/* Random bytes of the system. */
#ifndef PS_BASE_RANDOM_H
#define PS_BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

/* Fills `out` with n bytes. False: the system gives none now, early at boot or where it is forbidden, and `out` is undefined. Never
 * waits. Any thread. */
bool ps_random_bytes(void *out, size_t n);

#endif
