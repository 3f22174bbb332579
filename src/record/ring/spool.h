/* Where slots go from the rings: the file events.spool, or memory where no file can be written (format.h says how it looks;
 * both look the same). Blocks that the file cannot take for a while (a full disk) are held in memory. One thread at a time. */
#ifndef PS_RECORD_SPOOL_H
#define PS_RECORD_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/ring/format.h"
#include "record/ring/ring.h"

#define PS_SPOOL_FILE "events.spool"

typedef struct ps_held { /* of one ring, in blocks that are held */
    uint64_t slots, events;
} ps_held;

typedef struct ps_spool {
    int fd; /* -1: memory */
    uint64_t device,
        inode; /* of the file: programs close descriptors that they do not know, and get the number again */
    bool full;              /* neither file nor memory take more: the rings fill up and count */
    int error;              /* errno of it */
    _Atomic uint64_t bytes; /* written; others may look */
    uint64_t max_bytes;     /* of memory; of the file and what lies beside it, 0 no limit */
    uint64_t beside_bytes;  /* files of rings, which count too */
    bool capped;            /* a block was refused because of max_bytes of a file */
    atomic_bool lifted;     /* max_bytes of a file does not hold any more */
    uint64_t retry_ns;      /* after a write failed: when (CLOCK_MONOTONIC) it is tried again */
    char *memory;           /* all of it, or the blocks that the file has not taken yet */
    size_t cap;
    uint64_t max_held; /* of memory for such blocks, 0 none: set behind ps_spool_open */
    size_t held;       /* bytes of them */
    ps_held of_ring[PS_MAX_RINGS];
    char path[4096 + 64]; /* of the file */
} ps_spool;

/* `dir` NULL: memory. `max_bytes` 0: no limit, of a file only. False when nothing can be had. */
bool ps_spool_open(ps_spool *spool, const char *dir, const ps_spool_header *header,
                   uint64_t max_bytes);

/* Everything published in the ring: a block behind the last, then the ring's tail moves. Returns how many slots. A spool that
 * is full is tried again a second after it refused. */
uint64_t ps_spool_take(ps_spool *spool, ps_ring *ring, uint32_t number);

/* Writes the blocks that are held, once it is time to try again. Whether any were written: then the rings want to be told. */
bool ps_spool_flush(ps_spool *spool);

/* To the ring's header, what is held of it. */
void ps_spool_tell_held(const ps_spool *spool, ps_ring *ring, uint32_t number);

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
