/* The word on which the writer thread sleeps, and by which others wake it:
 *
 *     AWAKE   it is working; what a caller sees as half full may be half full again behind it
 *     ASLEEP  a caller that finds this has to wake it (one system call)
 *     CALLED  somebody wants another round: set by callers, before or instead of waking
 *
 * so that a thread of the program that finds its ring half full pays for a system call only when the writer sleeps. */
#ifndef PS_RECORD_WAKE_H
#define PS_RECORD_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* From the hot path when a ring is half full: wakes the writer, without a system call when it is awake. */
void ps_wake_writer(void);

/* The writer works: before a round, before its thread begins, and in a forked child. */
void ps_wake_awake(void);

/* The writer sleeps for `ns` at most; not at all when it was called since ps_wake_awake(), or `stop` is set. */
void ps_wake_nap(uint64_t ns, const atomic_bool *stop);

#endif
