/* Records that belong to no thread, or happen rarely: through ring 0, under its lock. */
#ifndef PS_RECORD_THREADS_SHARED_H
#define PS_RECORD_THREADS_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/ring/format.h"

/* These work from the start of a recording until its rings are released, also after *ps_recording became 0. Before the first event
 * there is no ring yet: records of definitions, pairs and anchors wait in memory for it (they may be made inside of
 * ps_ring_place_fn), drops too, and are forgotten when the recording ends without one. When ring 0 is full they wake the writer and wait
 * for room, a tenth of a second at most; then definitions, pairs and anchors wait in memory again, and those behind them at once. */

/* A record with text behind it, e.g. PS_REC_STREAM, PS_REC_THREAD_NAME; at most PS_RECORD_MAX_TEXT bytes are kept. */
void ps_shared_define(uint8_t kind, uint64_t id, const char *text, size_t length);
/* PS_REC_META, PS_REC_INFO. More than PS_RECORD_MAX_PAIR bytes: left out and said in the log. */
void ps_shared_pair(uint8_t kind, const char *key, const char *text, size_t length);
void ps_shared_anchor(uint64_t ticks, int64_t real_ns, int64_t mono_ns, uint32_t half_width_ns);

/* Device records: `start_ns`, `end_ns` of CLOCK_MONOTONIC; `name` may be NULL. From any thread of ours. */
void ps_shared_device(uint8_t kind, uint64_t id, int64_t start_ns, int64_t end_ns, const char *name,
                      const ps_device_more *more);
void ps_shared_drop(unsigned drop, uint64_t n);

/* The writer thread cannot wait for itself: when ring 0 is full and the caller is the thread that called this, `take` is called
 * instead, without the lock. It empties ring 0. */
void ps_shared_set_taker(void (*take)(void));

/* What waits in memory for ring 0: for the thread that has just made it, and with each round of the writer while there is any
 * (ps_shared_waits); at the end what could not be written is counted and said; and to forget it. */
void ps_shared_flush(void);
bool ps_shared_waits(void);
void ps_shared_lose(void);
void ps_shared_forget(void);
void ps_shared_abandon(void); /* in a forked child: another thread may have been changing it */

#endif
