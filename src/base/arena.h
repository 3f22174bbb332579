/* An arena: many small pieces, freed together; {0} is an empty one. Pieces, but for texts, are 16-byte aligned; none moves.
 * Not safe for use by several threads at once. */
#ifndef PS_BASE_ARENA_H
#define PS_BASE_ARENA_H

#include <stddef.h>

typedef struct ps_arena_block ps_arena_block;

typedef struct ps_arena {
    ps_arena_block *head; /* the block being filled; older ones behind it */
    size_t size_bytes;    /* all blocks together */
} ps_arena;

void ps_arena_init(ps_arena *a);

/* Uninitialised memory that lives until ps_arena_fini, or NULL when memory is out. */
void *ps_arena_alloc(ps_arena *a, size_t size_bytes);

/* A copy of n bytes with a terminating zero. */
char *ps_arena_strndup(ps_arena *a, const char *s, size_t n);

void ps_arena_fini(ps_arena *a);

#endif
