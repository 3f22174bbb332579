#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

struct ps_arena_block {
    ps_arena_block *next;
    size_t cap, used;
};

#define ALIGN ((size_t)16)
#define HEADER ((sizeof(ps_arena_block) + ALIGN - 1) & ~(ALIGN - 1))
#define FIRST_BLOCK_BYTES ((size_t)512)
#define LAST_BLOCK_BYTES ((size_t)64 * 1024)

/* Capacity of the next block for many small pieces: as much as there is already, so that an arena of a few names is small (a job has
 * several for each rank) and a large one has few blocks. */
static size_t next_block_bytes(const ps_arena *a) {
    if (a->size_bytes < FIRST_BLOCK_BYTES) {
        return FIRST_BLOCK_BYTES;
    }
    return a->size_bytes < LAST_BLOCK_BYTES ? a->size_bytes : LAST_BLOCK_BYTES;
}

void ps_arena_init(ps_arena *a) {
    *a = (ps_arena){0};
}

/* `used` is where the last piece ended: each begins at a multiple of `align`. */
static void *take_piece(ps_arena *a, size_t need, size_t align) {
    if (need > SIZE_MAX / 2) {
        return NULL;
    }
    ps_arena_block *b = a->head;
    size_t at = b != NULL ? (b->used + align - 1) & ~(align - 1) : 0;
    if (b == NULL || at > b->cap || b->cap - at < need) {
        at = 0;
        size_t block_bytes = next_block_bytes(a);
        size_t cap = need > block_bytes ? need : block_bytes;
        b = ps_alloc(HEADER + cap);
        if (b == NULL) {
            return NULL;
        }
        *b = (ps_arena_block){.cap = cap};
        if (a->head != NULL && need > block_bytes) {
            b->next = a->head->next; /* keep filling the block that still has room */
            a->head->next = b;
        } else {
            b->next = a->head;
            a->head = b;
        }
        a->size_bytes += HEADER + cap;
    }
    b->used = at + need;
    return (char *)b + HEADER + at;
}

void *ps_arena_alloc(ps_arena *a, size_t size_bytes) {
    /* One of no bytes has a place of its own, too. */
    return take_piece(a, size_bytes > 0 ? size_bytes : 1, ALIGN);
}

char *ps_arena_strndup(ps_arena *a, const char *s, size_t n) {
    char *out = n < SIZE_MAX ? take_piece(a, n + 1, 1) : NULL;
    if (out != NULL) {
        memcpy(out, s, n);
        out[n] = '\0';
    }
    return out;
}

void ps_arena_fini(ps_arena *a) {
    ps_arena_block *b = a->head;
    while (b != NULL) {
        ps_arena_block *next = b->next;
        ps_free(b);
        b = next;
    }
    *a = (ps_arena){0};
}
