/* Where slots go from the rings: the file events.spool, or memory where no file can be written (format.h says how it looks;
 * both look the same). One thread at a time. */
#ifndef PS_RECORD_SPOOL_H
#define PS_RECORD_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/ring/format.h"
#include "record/ring/ring.h"

#define PS_SPOOL_FILE "events.spool"

typedef struct ps_spool {
    int fd; /* -1: memory */
    uint64_t device,
        inode; /* of the file: programs close descriptors that they do not know, and get the number again */
    bool full;              /* a write failed: nothing more is taken, the rings fill up and count */
    int error;              /* errno of it */
    _Atomic uint64_t bytes; /* written; others may look */
    uint64_t max_bytes;     /* of memory; of the file and what lies beside it, 0 no limit */
    uint64_t beside_bytes;  /* files of rings, which count too */
    bool capped;            /* a block was refused because of max_bytes of a file */
    atomic_bool lifted;     /* max_bytes of a file does not hold any more */
    uint64_t retry_ns;      /* while full: when (CLOCK_MONOTONIC) it is tried again */
    char *memory;
    size_t cap;
    char path[4096 + 64]; /* of the file */
} ps_spool;

/* `dir` NULL: memory. `max_bytes` 0: no limit, of a file only. False when nothing can be had. */
bool ps_spool_open(ps_spool *spool, const char *dir, const ps_spool_header *header,
                   uint64_t max_bytes);

/* Everything published in the ring: a block behind the last, then the ring's tail moves. Returns how many slots. A spool that
 * is full is tried again a second after it refused. */
uint64_t ps_spool_take(ps_spool *spool, ps_ring *ring, uint32_t number);

/* From here on a file takes what the rings still hold, whatever max_bytes says: nothing new comes to them, and their own files go
 * when they are empty. From any thread. */
void ps_spool_lift(ps_spool *spool);

/* The next take tries at once, also when the spool is full. */
void ps_spool_retry(ps_spool *spool);

/* In a forked child: closes the file; the memory was never the child's. */
void ps_spool_forget(ps_spool *spool);

/* Closes the file, or gives the memory back. */
void ps_spool_close(ps_spool *spool);

#endif
