/* Walks a table b-tree iteratively. Interior pages are copied into one buffer per level; leaves are read in blocks.
 *
 * A table that was written in one go has its leaves on ascending, often consecutive pages. The parent's list of
 * children says so before anything is read, so a block covers as many of the coming leaves as lie close together.
 *
 *     interior page (0x05):  type, freeblock, n, content, fragments, right child | cell pointers | ... cells
 *                            a cell: left child (4 bytes), key (varint)
 *     leaf page (0x0D):      the same without the right child; a cell: see rows.c */
#include "read/sqlite/page.h"

#include <string.h>

#include "base/alloc.h"
#include "read/sqlite/file.h"

enum {
    HEADER_BYTES = 100,
    BLOCK_BYTES = 256 * 1024,
    TYPE_TABLE_INTERIOR = 0x05,
    TYPE_TABLE_LEAF = 0x0D,
    LEAF_HEADER = 8,
    INTERIOR_HEADER = 12
};

/* Adds the byte to an error made by ps_fail_file. */
static ps_code at_byte(ps_err *err, ps_code code, uint64_t offset) {
    if (err != NULL) {
        err->offset = offset;
    }
    return code;
}

ps_code ps_pages_fail(const ps_pages *p, uint32_t page_number, size_t at, const char *what,
                      ps_err *err) {
    ps_code code =
        ps_fail_file(err, PS_SYNTAX, p->src.file, "damaged database: page %u: %s" PS_DAMAGE_REMEDY,
                     page_number, what);
    return at_byte(err, code, (uint64_t)(page_number - 1) * p->page_size + at);
}

static ps_code check_header(ps_pages *p, const unsigned char *h, ps_err *err) {
    const char *file = p->src.file;
    uint32_t size = ps_be16(h + 16) == 1 ? 65536 : ps_be16(h + 16);
    if (size < 512 || (size & (size - 1)) != 0) {
        return at_byte(err,
                       ps_fail_file(err, PS_SYNTAX, file,
                                    "damaged database: page size %u" PS_DAMAGE_REMEDY, size),
                       16);
    }
    uint32_t usable = size - h[20];
    if (usable < 480) {
        ps_code code = ps_fail_file(
            err, PS_SYNTAX, file,
            "damaged database: %u of %u bytes of each page reserved" PS_DAMAGE_REMEDY, h[20], size);
        return at_byte(err, code, 20);
    }
    if (h[19] > 2 || memcmp(h + 21, "\100\040\040", 3) != 0 || ps_be32(h + 44) > 4) {
        return ps_fail_file(err, PS_UNSUPPORTED, file, "a newer layout of SQLite files");
    }
    p->page_size = size;
    p->usable = usable;
    p->encoding = ps_be32(h + 56);
    uint64_t n_pages = p->src.size_bytes / size;
    p->n_pages = n_pages < UINT32_MAX ? (uint32_t)n_pages : UINT32_MAX - 1;
    return PS_OK;
}

ps_code ps_pages_init(ps_pages *p, const ps_page_src *src, ps_err *err) {
    *p = (ps_pages){.src = *src};
    unsigned char header[HEADER_BYTES];
    if (src->size_bytes < sizeof header) {
        return ps_fail_file(err, PS_SYNTAX, src->file,
                            "too short for an SQLite database" PS_DAMAGE_REMEDY);
    }
    ps_code code = src->read(src->context, header, sizeof header, 0, err);
    if (code == PS_OK) {
        code = check_header(p, header, err);
    }
    if (code != PS_OK) {
        return code;
    }
    p->visits_left = p->n_pages;
    p->block_max = p->page_size < BLOCK_BYTES ? BLOCK_BYTES / p->page_size : 1;
    if (p->block_max > p->n_pages) {
        p->block_max =
            p->n_pages; /* small files are many: do not ask for memory they cannot fill */
    }
    p->block = ps_alloc((size_t)p->block_max * p->page_size + PS_PAGE_SLACK);
    return p->block != NULL ? PS_OK : ps_fail_nomem(err);
}

void ps_pages_fini(ps_pages *p) {
    ps_free(p->block);
    ps_free(p->overflow);
    *p = (ps_pages){.page_size = 0};
}

/* Checks a page number found at byte `at` of page `from`, and counts the visit. */
static ps_code visit(ps_pages *p, uint32_t number, uint32_t from, size_t at, ps_err *err) {
    if (number == 0 || number > p->n_pages) {
        return ps_pages_fail(p, from, at, "refers to a page outside the file", err);
    }
    if (p->visits_left == 0) {
        return ps_pages_fail(p, from, at, "refers to a page that was reached before", err);
    }
    p->visits_left--;
    return PS_OK;
}

static bool in_block(const ps_pages *p, uint32_t number) {
    return number >= p->block_first && number - p->block_first < p->block_pages;
}

static const unsigned char *block_page(const ps_pages *p, uint32_t number) {
    return p->block + (size_t)(number - p->block_first) * p->page_size;
}

/* Makes page `number` present, reading `run` pages from it on when it is not. */
static ps_code load_page(ps_pages *p, uint32_t number, uint32_t run, ps_err *err) {
    if (in_block(p, number)) {
        return PS_OK;
    }
    if (p->on_replace != NULL) {
        ps_code code = p->on_replace(p->replace_context, err);
        if (code != PS_OK) {
            return code;
        }
    }
    p->block_pages = 0;
    ps_code code = p->src.read(p->src.context, p->block, (size_t)run * p->page_size,
                               (uint64_t)(number - 1) * p->page_size, err);
    if (code == PS_OK) {
        p->block_first = number;
        p->block_pages = run;
    }
    return code;
}

/* The bytes of an overflow page: from the block, or read alone. */
static ps_code overflow_page(ps_pages *p, uint32_t number, const unsigned char **out, ps_err *err) {
    if (in_block(p, number)) {
        *out = block_page(p, number);
        return PS_OK;
    }
    if (p->overflow == NULL) {
        p->overflow = ps_alloc(p->page_size);
        if (p->overflow == NULL) {
            return ps_fail_nomem(err);
        }
    }
    *out = p->overflow;
    return p->src.read(p->src.context, p->overflow, p->page_size,
                       (uint64_t)(number - 1) * p->page_size, err);
}

ps_code ps_pages_overflow(ps_pages *p, uint32_t from, size_t at, uint32_t first, unsigned char *out,
                          size_t n, ps_err *err) {
    uint32_t number = first;
    while (n > 0) {
        ps_code code = visit(p, number, from, at, err);
        const unsigned char *page = NULL;
        if (code == PS_OK) {
            code = overflow_page(p, number, &page, err);
        }
        if (code != PS_OK) {
            return code;
        }
        size_t room = p->usable - 4;
        size_t take = n < room ? n : room;
        memcpy(out, page + 4, take);
        out += take;
        n -= take;
        from = number;
        at = 0;
        number = ps_be32(page);
    }
    return PS_OK;
}

/* --- the walk --- */

void ps_walk_init(ps_walk *w, ps_pages *pages, uint32_t root) {
    *w = (ps_walk){.pages = pages, .root = root};
}

void ps_walk_fini(ps_walk *w) {
    for (size_t i = 0; i < PS_WALK_LEVELS; i++) {
        ps_free(w->levels[i].page);
    }
    *w = (ps_walk){.pages = NULL};
}

/* Byte of the page where the number of child `i` stands, 0 when the cell pointer is out of bounds. */
static uint32_t child_place(const ps_pages *p, const ps_walk_level *level, uint32_t i) {
    if (i + 1 == level->n_children) {
        return level->cells - 4; /* the right child, the header's last field */
    }
    uint32_t at = ps_be16(level->page + level->cells + 2 * i);
    return at >= level->cells && at <= p->usable - 4 ? at : 0;
}

/* How many pages to read at once so that the children that follow come along; holes stay fewer than children. */
static uint32_t plan_run(const ps_pages *p, const ps_walk_level *level, uint32_t first) {
    uint32_t last = first;
    uint32_t wanted = 1;
    for (uint32_t i = level->next; i < level->n_children; i++) {
        uint32_t at = child_place(p, level, i);
        uint32_t child = at != 0 ? ps_be32(level->page + at) : 0;
        if (child <= last || child > p->n_pages || child - first >= p->block_max ||
            child - first + 1 > 2 * (wanted + 1)) {
            break;
        }
        wanted++;
        last = child;
    }
    return last - first + 1;
}

/* Opens the page as the next level down. */
static ps_code push_page(ps_walk *w, uint32_t number, const unsigned char *page, uint32_t header,
                         ps_err *err) {
    ps_pages *p = w->pages;
    if (w->depth == PS_WALK_LEVELS) {
        return ps_pages_fail(p, number, header, "lies too deep in its table", err);
    }
    uint32_t n_cells = ps_be16(page + header + 3);
    if (header + INTERIOR_HEADER + 2 * n_cells > p->usable) {
        return ps_pages_fail(p, number, header + 3, "has more cells than fit", err);
    }
    ps_walk_level *level = &w->levels[w->depth];
    if (level->page == NULL) {
        level->page = ps_alloc(p->page_size);
        if (level->page == NULL) {
            return ps_fail_nomem(err);
        }
    }
    memcpy(level->page, page, p->page_size);
    level->number = number;
    level->cells = header + INTERIOR_HEADER;
    level->n_children = n_cells + 1;
    level->next = 0;
    w->depth++;
    return PS_OK;
}

/* Goes to page `number`, whose number was found at byte `at` of page `from`: a leaf fills `out`, an interior page
 * becomes a level. */
static ps_code enter_page(ps_walk *w, uint32_t number, uint32_t run, uint32_t from, uint32_t at,
                          ps_leaf *out, ps_err *err) {
    ps_pages *p = w->pages;
    ps_code code = visit(p, number, from, at, err);
    if (code == PS_OK) {
        code = load_page(p, number, run, err);
    }
    if (code != PS_OK) {
        return code;
    }
    const unsigned char *page = block_page(p, number);
    uint32_t header = number == 1 ? HEADER_BYTES : 0;
    switch (page[header]) {
    case TYPE_TABLE_INTERIOR:
        return push_page(w, number, page, header, err);
    case TYPE_TABLE_LEAF:
        break;
    default:
        return ps_pages_fail(p, number, header, "is not a page of a table", err);
    }
    *out = (ps_leaf){.page = page,
                     .number = number,
                     .cells = header + LEAF_HEADER,
                     .n_cells = ps_be16(page + header + 3)};
    if (out->cells + 2 * out->n_cells > p->usable) {
        return ps_pages_fail(p, number, header + 3, "has more cells than fit", err);
    }
    return PS_OK;
}

ps_code ps_walk_next(ps_walk *w, ps_leaf *out, ps_err *err) {
    *out = (ps_leaf){.page = NULL};
    if (!w->started) {
        w->started = true;
        ps_code code = enter_page(w, w->root, 1, 1, 0, out, err);
        if (code != PS_OK || out->page != NULL) {
            return code;
        }
    }
    while (w->depth > 0) {
        ps_walk_level *level = &w->levels[w->depth - 1];
        if (level->next == level->n_children) {
            w->depth--;
            continue;
        }
        uint32_t at = child_place(w->pages, level, level->next);
        if (at == 0) {
            return ps_pages_fail(w->pages, level->number, level->cells + 2 * level->next,
                                 "a cell lies outside the page", err);
        }
        level->next++;
        uint32_t child = ps_be32(level->page + at);
        ps_code code =
            enter_page(w, child, plan_run(w->pages, level, child), level->number, at, out, err);
        if (code != PS_OK || out->page != NULL) {
            return code;
        }
    }
    return PS_OK;
}
