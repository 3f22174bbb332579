/* Where slots go from the rings: the file events.spool, or memory where no file can be written (format.h says how it looks;
 * both look the same). One thread at a time. */
#ifndef PS_RECORD_SPOOL_H
#define PS_RECORD_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/format.h"
#include "record/ring.h"

typedef struct ps_spool {
    int fd;             /* -1: memory */
    bool full;          /* a write failed: nothing more is taken, the rings fill up and count */
    int error;          /* errno of it */
    uint64_t bytes;     /* written */
    uint64_t max_bytes; /* of memory */
    char *memory;
    size_t cap;
} ps_spool;

/* `dir` NULL: memory. False when nothing can be had. */
bool ps_spool_open(ps_spool *spool, const char *dir, const ps_spool_header *header,
                   uint64_t max_bytes);

/* Everything published in the ring: a block behind the last, then the ring's tail moves. Returns how many slots. */
uint64_t ps_spool_take(ps_spool *spool, ps_ring *ring, uint32_t number);

void ps_spool_close(ps_spool *spool);

#endif
