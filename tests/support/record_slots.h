/* Recordings made by hand: slots of rings, put into a spool in memory or into the files of a folder, as the library's writer
 * would have left them. */
#ifndef TEST_RECORD_SLOTS_H
#define TEST_RECORD_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "record/ring/format.h"

enum { SLOTS_RINGS = 8 };

typedef struct made_ring {
    ps_slot *slots;
    size_t n, cap;
    size_t in_spool; /* how many of them are in the spool already */
    uint64_t drops[PS_N_DROPS];
} made_ring;

typedef struct made_recording {
    ps_spool_header header;
    made_ring rings[SLOTS_RINGS];
    char *spool; /* header and blocks */
    size_t spool_bytes;
} made_recording;

/* Clock MONOTONIC, session 77, pid 4242, `rank`; one anchor: tick 1000 is 1,000,000,000,000,001,000 Unix ns, so that tick t is
 * SLOTS_BASE + t. */
#define SLOTS_BASE INT64_C(1000000000000000000)
void recording_begin(made_recording *r, int rank);
void recording_end(made_recording *r);

/* Any slot, with `n` bytes behind it. */
void put_slot(made_recording *r, unsigned ring, ps_slot slot, const void *behind, size_t n);

void put_text(made_recording *r, unsigned ring, uint32_t id, const char *text);
void put_named(made_recording *r, uint8_t kind, uint64_t id, const char *name);
void put_pair(made_recording *r, uint8_t kind, uint64_t ticks, const char *key, const char *value);
void put_thread(made_recording *r, unsigned ring, uint32_t tid, const char *name);
/* Of any kind; `text` is the number of a text. */
void put_event(made_recording *r, unsigned ring, uint8_t kind, uint64_t ticks, uint64_t id,
               uint64_t stream, uint32_t text, uint16_t domain);
void put_device(made_recording *r, uint8_t kind, uint64_t id, uint64_t start, uint64_t end,
                uint32_t text, ps_device_more more);

/* Moves what a ring has into the spool, as one block. */
void spool_ring(made_recording *r, unsigned ring);
void spool_all(made_recording *r);

/* Writes <dir>/FRAMEWORK/events.spool and the rings (what is in the spool stays in the ring too, below its tail). */
void write_recording(const made_recording *r, const char *dir);

#endif
