/* The slots of a recording, ring by ring in the order in which they were published, out of events.spool and the rings: each
 * position once, however often it stands in the files. Records come as one piece of memory.
 *
 * What does not fit together is left out and counted: in bytes, with the first place. Files are read, not mapped: one that somebody
 * cuts short meanwhile is damaged, and ends nothing. */
#ifndef PS_RECORD_SLOTS_H
#define PS_RECORD_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/ring/format.h"

enum { PS_MOST_RINGS = 4096, PS_MOST_SLOTS_OF_RECORD = 256 };

typedef struct ps_segment { /* slots that lie together */
    uint64_t first;         /* position in the ring */
    uint64_t n;
    const char *slots; /* NULL: in the spool, at `place` */
    uint64_t place;    /* byte in its file */
} ps_segment;

typedef struct ps_ring_slots {
    ps_segment *segments;
    size_t n, cap;
    uint32_t tid;    /* of the thread that used it last, set by who decodes */
    bool has_header; /* the ring itself was there */
    bool has_lost; /* blocks of it were in the memory of a process that is gone: counted in drops */
    uint64_t drops[PS_N_DROPS];
    uint64_t block_drops; /* of all kinds, as the last block of the spool says */
} ps_ring_slots;

/* A part of the spool. */
enum { PS_SPOOL_WINDOW_BYTES = 1 << 16 };
typedef struct ps_spool_window {
    uint64_t begin;
    size_t n;
    _Alignas(ps_slot) char bytes[PS_SPOOL_WINDOW_BYTES];
} ps_spool_window;

typedef struct ps_cut { /* a last block that is not whole; bytes 0: there is none */
    uint64_t bytes, place;
    uint32_t ring; /* PS_MOST_RINGS: not known */
    uint64_t end;  /* the position behind it in that ring */
} ps_cut;

typedef struct ps_slot_files {
    ps_spool_header header;
    ps_ring_slots *rings; /* [n_rings], by number */
    size_t n_rings, cap_rings;
    int spool;          /* open file, -1 none */
    const char *memory; /* the spool, for tests and fuzzing; or NULL */
    uint64_t spool_bytes;
    bool has_held; /* blocks in the memory of this process are known */
    int error;     /* errno of a read that failed, 0 none: what was read is not all */
    char **pieces; /* what rings held */
    size_t n_pieces, cap_pieces;
    ps_cut cut;
    uint64_t damaged_bytes;
    char place[160]; /* of the first damage */
} ps_slot_files;

/* `dir` is FRAMEWORK. `held`: blocks that the spool could not take, in the memory of the process that recorded, which must stay; NULL
 * in any other: what they had is lost then, and counted. PS_NOT_FOUND when there is no recording, PS_SYNTAX when nothing of it can be
 * read. */
PS_MUST_USE ps_code ps_slot_files_open(ps_slot_files *f, const char *dir, const char *held,
                                       size_t n_held, ps_err *err);
PS_MUST_USE ps_code ps_slot_files_memory(ps_slot_files *f, const void *spool, size_t bytes,
                                         ps_err *err);
void ps_slot_files_close(ps_slot_files *f);

/* Notes damage: `place` is kept when it is the first. */
void ps_slot_files_damage(ps_slot_files *f, uint64_t bytes, const char *fmt, ...) PS_PRINTF(3, 4);

/* A walk over one ring. */
typedef struct ps_slot_walk {
    ps_slot_files *files;
    uint32_t ring;
    size_t segment;
    uint64_t position; /* of the next slot */
    ps_spool_window window;
    ps_slot piece[PS_MOST_SLOTS_OF_RECORD]; /* of a record that lies in two segments */
} ps_slot_walk;

void ps_slot_walk_begin(ps_slot_walk *w, ps_slot_files *f, uint32_t ring);

/* The next record: its first slot, n_more of it behind. NULL at the end, or when files->error is set. Valid until the next call. */
const ps_slot *ps_slot_walk_next(ps_slot_walk *w);

#endif
