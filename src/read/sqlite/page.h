/* Pages of an SQLite file, and the walk over one table's leaves. Knows nothing of libsqlite3: bytes come through a
 * function, so that tests and the fuzzer can hand in memory.
 *
 * Everything read here is untrusted. Every page is meant to be reached once; a budget of one visit per page of the
 * file makes circles end. Errors are PS_SYNTAX with the file and the byte. */
#ifndef PS_READ_SQLITE_PAGE_H
#define PS_READ_SQLITE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PS_PAGE_SLACK 32  /* readable bytes behind any page: decoders load whole words */
#define PS_WALK_LEVELS 20 /* as deep as SQLite itself goes */

/* Exactly n bytes at `offset` into `out`, or an error. */
typedef ps_code ps_page_read_fn(void *context, void *out, size_t n, uint64_t offset, ps_err *err);

/* Called before the pages handed out so far become invalid. */
typedef ps_code ps_page_replace_fn(void *context, ps_err *err);

/* Where the bytes come from. All borrowed. */
typedef struct ps_page_src {
    ps_page_read_fn *read;
    void *context;
    const char *file; /* for messages */
    uint64_t size_bytes;
} ps_page_src;

typedef struct ps_pages {
    ps_page_src src;
    uint32_t page_size, usable; /* bytes; usable excludes the reserved tail */
    uint32_t n_pages;
    uint32_t encoding; /* 1 UTF-8, 2 and 3 UTF-16, 0 nothing stored yet */
    uint64_t visits_left;
    unsigned char
        *block; /* block_pages consecutive pages from block_first on, then PS_PAGE_SLACK bytes */
    uint32_t block_first, block_pages, block_max;
    unsigned char *overflow;        /* one page: the last overflow page read outside the block */
    ps_page_replace_fn *on_replace; /* may be NULL */
    void *replace_context;
} ps_pages;

/* Reads and checks the file's header. PS_UNSUPPORTED when it is a database, but of a layout newer than this
 * decoder knows. On failure nothing needs to be released; ps_pages_fini is harmless. */
PS_MUST_USE ps_code ps_pages_init(ps_pages *p, const ps_page_src *src, ps_err *err);
void ps_pages_fini(ps_pages *p);

/* PS_SYNTAX at byte `at` of page `page_number`. */
ps_code ps_pages_fail(const ps_pages *p, uint32_t page_number, size_t at, const char *what,
                      ps_err *err);

/* Copies `n` payload bytes of the overflow chain whose first page number stands at byte `at` of page `from`. */
PS_MUST_USE ps_code ps_pages_overflow(ps_pages *p, uint32_t from, size_t at, uint32_t first,
                                      unsigned char *out, size_t n, ps_err *err);

/* --- leaves of a table, in rowid order --- */

typedef struct ps_leaf {
    const unsigned char
        *page; /* valid until the next call or on_replace; NULL at the end of the table */
    uint32_t number;
    uint32_t cells; /* offset of the cell pointer array */
    uint32_t n_cells;
} ps_leaf;

typedef struct ps_walk_level {
    unsigned char *page; /* a copy */
    uint32_t number, cells, n_children, next;
} ps_walk_level;

typedef struct ps_walk {
    ps_pages *pages;
    uint32_t root;
    bool started;
    uint32_t depth; /* levels in use */
    ps_walk_level levels[PS_WALK_LEVELS];
} ps_walk;

void ps_walk_init(ps_walk *w, ps_pages *pages, uint32_t root);
void ps_walk_fini(ps_walk *w);

PS_MUST_USE ps_code ps_walk_next(ps_walk *w, ps_leaf *out, ps_err *err);

static inline uint32_t ps_be16(const unsigned char *p) {
    return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t ps_be32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

#endif
