/* Blocks of the spool lie at bytes 72 + 32 k, so that after a damaged one the next is looked for there. Of a ring only
 * slots [tail, head) are its own: what lies below may be half overwritten already, and is in the spool. */
#include "record/export/slots.h"
#include "base/order.h"
#include "record/export/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/fs.h"
#include "base/num.h"

_Static_assert(sizeof(ps_block_header) == sizeof(ps_slot), "blocks keep the alignment of slots");

void ps_slot_files_damage(ps_slot_files *f, uint64_t bytes, const char *fmt, ...) {
    if (f->damaged_bytes == 0) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(f->place, sizeof f->place, fmt, args);
        va_end(args);
    }
    uint64_t sum = f->damaged_bytes + bytes;
    f->damaged_bytes = sum < bytes ? UINT64_MAX : sum;
}

/* --- rings and their segments ------------------------------------------------------------------------------------- */

static ps_ring_slots *ring_at(ps_slot_files *f, uint32_t number) {
    if (number >= PS_MOST_RINGS) {
        return NULL;
    }
    if (number >= f->n_rings) {
        if (!ps_grow(&f->rings, &f->cap_rings, (size_t)number + 1, PS_MOST_RINGS,
                     sizeof *f->rings)) {
            return NULL;
        }
        memset(f->rings + f->n_rings, 0, (number + 1 - f->n_rings) * sizeof *f->rings);
        f->n_rings = (size_t)number + 1;
    }
    return &f->rings[number];
}

static ps_code add_segment(ps_slot_files *f, uint32_t number, ps_segment segment, ps_err *err) {
    ps_ring_slots *ring = ring_at(f, number);
    if (ring == NULL ||
        !ps_grow(&ring->segments, &ring->cap, ring->n + 1, SIZE_MAX / 2, sizeof *ring->segments)) {
        return ps_fail_nomem(err);
    }
    ring->segments[ring->n++] = segment;
    return PS_OK;
}

/* Of those that begin together the longer one first; the other adds nothing then. */
PS_COMPARE(compare_segments, ps_segment, PS_BY(first) PS_BY_DOWN(n) PS_BY(place))

static void sort_segments(ps_ring_slots *ring) {
    for (size_t i = 1; i < ring->n; i++) {
        if (compare_segments(&ring->segments[i - 1], &ring->segments[i]) > 0) {
            qsort(ring->segments, ring->n, sizeof *ring->segments, compare_segments);
            return;
        }
    }
}

/* --- the spool ---------------------------------------------------------------------------------------------------- */

/* As many bytes of an open file as it has there, at most n. An error of the disk is no shorter file: it is noted. */
static size_t read_there(int fd, char *out, size_t n, uint64_t place, int *error) {
    size_t got = 0;
    while (got < n) {
        ssize_t more = pread(fd, out + got, n - got, (off_t)(place + got));
        if (more < 0 && errno == EINTR) {
            continue;
        }
        *error = more < 0 ? errno : *error;
        if (more <= 0) {
            break;
        }
        got += (size_t)more;
    }
    return got;
}

/* n bytes of the spool (at most a window), valid until the next call; NULL when it has no longer that many. */
static const char *spool_at(ps_slot_files *f, ps_spool_window *w, uint64_t place, size_t n) {
    if (f->memory != NULL) {
        return f->memory + place;
    }
    if (place < w->begin || place + n > w->begin + w->n) {
        uint64_t left = f->spool_bytes - place;
        w->begin = place;
        w->n =
            read_there(f->spool, w->bytes, left < sizeof w->bytes ? (size_t)left : sizeof w->bytes,
                       place, &f->error);
    }
    return place + n <= w->begin + w->n ? w->bytes + (place - w->begin) : NULL;
}

static void shorter_spool(ps_slot_files *f, uint64_t place, uint64_t lost_bytes) {
    ps_slot_files_damage(f, lost_bytes,
                         "events.spool, byte %llu: the file became shorter while it was read",
                         (unsigned long long)place);
}

static bool plausible_block(const ps_block_header *b) {
    return b->magic == PS_BLOCK_MAGIC && b->ring < PS_MOST_RINGS && b->n_slots > 0 &&
           b->n_slots <= UINT64_C(1) << 40 && b->first <= UINT64_C(1) << 60;
}

/* From byte `at` on. */
static ps_code take_blocks(ps_slot_files *f, ps_spool_window *w, size_t at, ps_err *err) {
    size_t size = f->spool_bytes;
    ps_code code = PS_OK;
    while (at + sizeof(ps_block_header) <= size && code == PS_OK) {
        ps_block_header b;
        const char *bytes = spool_at(f, w, at, sizeof b);
        if (bytes == NULL) {
            shorter_spool(f, at, size - at);
            return PS_OK;
        }
        memcpy(&b, bytes, sizeof b);
        if (!plausible_block(&b)) {
            ps_slot_files_damage(f, sizeof b, "events.spool, byte %zu: no block begins here", at);
            at += sizeof b;
            continue;
        }
        uint64_t room = (size - at - sizeof b) / sizeof(ps_slot);
        uint64_t n = b.n_slots <= room ? b.n_slots : room;
        if (n < b.n_slots) {
            f->cut = (ps_cut){.bytes = size - at - sizeof b - n * sizeof(ps_slot) + 1,
                              .place = at,
                              .ring = b.ring,
                              .end = b.first + b.n_slots};
        }
        ps_segment segment = {.first = b.first,
                              .n = n,
                              .slots = f->memory != NULL ? f->memory + at + sizeof b : NULL,
                              .place = at + sizeof b};
        code = n > 0 ? add_segment(f, b.ring, segment, err) : PS_OK;
        if (code == PS_OK && n > 0 && f->rings[b.ring].block_drops < b.drops) {
            f->rings[b.ring].block_drops = b.drops;
        }
        at += sizeof b + n * sizeof(ps_slot);
    }
    if (code == PS_OK && at < size && size - at < sizeof(ps_block_header)) {
        f->cut = (ps_cut){.bytes = size - at, .place = at, .ring = PS_MOST_RINGS};
    }
    return code;
}

/* A process that was killed while it wrote leaves half a block, whose slots are all in their ring still: nothing is damaged. */
static bool is_in_rings(const ps_slot_files *f, const ps_cut *cut) {
    bool any = false;
    for (size_t i = 0; i < f->n_rings; i++) {
        const ps_ring_slots *ring = &f->rings[i];
        any = any || ring->has_header;
        for (size_t k = 0; i == cut->ring && k < ring->n; k++) {
            if (ring->segments[k].first + ring->segments[k].n >= cut->end) {
                return true;
            }
        }
    }
    return any && cut->ring == PS_MOST_RINGS; /* not even its header was written */
}

static void resolve_cut(ps_slot_files *f) {
    if (f->cut.bytes > 0 && !is_in_rings(f, &f->cut)) {
        ps_slot_files_damage(f, f->cut.bytes, "events.spool, byte %llu: the last block is cut off",
                             (unsigned long long)f->cut.place);
    }
}

static bool take_spool_header(ps_slot_files *f, ps_spool_window *w) {
    ps_spool_header h;
    size_t size = f->spool_bytes;
    const char *bytes = size < sizeof h ? NULL : spool_at(f, w, 0, sizeof h);
    if (size == 0) {
        return false; /* its process was killed as it made the file: nothing was recorded yet */
    }
    if (bytes == NULL) {
        ps_slot_files_damage(f, size + 1, "events.spool, byte 0: the header is cut off");
        return false;
    }
    memcpy(&h, bytes, sizeof h);
    if (h.magic != PS_SPOOL_MAGIC || h.format != PS_RECORD_FORMAT) {
        ps_slot_files_damage(f, size, "events.spool, byte 0: not a recording of this format");
        return false;
    }
    h.boot_id[sizeof h.boot_id - 1] = '\0';
    f->header = h;
    return true;
}

/* --- ring files --------------------------------------------------------------------------------------------------- */

/* One that its process was about to make when it was killed: its magic comes last, and events after that. */
static bool is_unfinished(const ps_ring_header *h) {
    return h->magic == 0 && atomic_load_explicit(&h->head, memory_order_relaxed) == 0;
}

/* What is wrong with a ring file, false: nothing. */
static bool is_ring_damaged(ps_slot_files *f, uint32_t number, const ps_ring_header *h, size_t size,
                            bool has_spool) {
    uint64_t head = atomic_load_explicit(&h->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&h->tail, memory_order_relaxed);
    if (size < PS_RING_HEADER_BYTES) {
        ps_slot_files_damage(f, size + 1, "%u.ring, byte 0: the header is cut off", number);
    } else if (h->magic != PS_RING_MAGIC || h->format != PS_RECORD_FORMAT || h->number != number ||
               h->n_slots == 0 || (h->n_slots & (h->n_slots - 1)) != 0 ||
               h->n_slots > (size - PS_RING_HEADER_BYTES) / sizeof(ps_slot)) {
        ps_slot_files_damage(f, size, "%u.ring, byte 0: not a ring of this format", number);
    } else if (has_spool && h->session != f->header.session) {
        ps_slot_files_damage(f, size, "%u.ring: of another recording", number);
    } else if (tail > head || head - tail > h->n_slots || head > UINT64_C(1) << 60) {
        ps_slot_files_damage(
            f, size, "%u.ring, byte 64: %llu slots filled, %llu taken, room for %llu", number,
            (unsigned long long)head, (unsigned long long)tail, (unsigned long long)h->n_slots);
    } else {
        return false;
    }
    return true;
}

/* Slots of a ring that lie together in its file, into memory. */
static ps_code take_piece(ps_slot_files *f, uint32_t number, int fd, ps_segment segment,
                          ps_err *err) {
    size_t wanted = (size_t)segment.n * sizeof(ps_slot);
    char *bytes = ps_alloc(wanted);
    if (bytes == NULL ||
        !ps_grow(&f->pieces, &f->cap_pieces, f->n_pieces + 1, SIZE_MAX / 64, sizeof *f->pieces)) {
        ps_free(bytes);
        return ps_fail_nomem(err);
    }
    f->pieces[f->n_pieces++] = bytes;
    size_t got = read_there(fd, bytes, wanted, segment.place, &f->error);
    if (got < wanted) {
        ps_slot_files_damage(f, wanted - got,
                             "%u.ring, byte %llu: the file became shorter while it was read",
                             number, (unsigned long long)(segment.place + got));
    }
    segment.n = got / sizeof(ps_slot);
    segment.slots = bytes;
    return segment.n > 0 ? add_segment(f, number, segment, err) : PS_OK;
}

static ps_code take_ring(ps_slot_files *f, uint32_t number, int fd, size_t size, bool has_spool,
                         ps_err *err) {
    ps_ring_header h;
    memset(&h, 0, sizeof h);
    (void)read_there(fd, (char *)&h, sizeof h, 0, &f->error);
    if (is_unfinished(&h) || is_ring_damaged(f, number, &h, size, has_spool)) {
        return PS_OK;
    }
    uint64_t head = atomic_load_explicit(&h.head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&h.tail, memory_order_relaxed);
    ps_ring_slots *ring = ring_at(f, number);
    if (ring == NULL) {
        return ps_fail_nomem(err);
    }
    ring->has_header = true;
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        ring->drops[i] = atomic_load_explicit(&h.drops[i], memory_order_relaxed);
    }
    if (!f->has_held) { /* what its process held in memory is lost to everybody else */
        ring->drops[PS_DROP_RING_FULL] +=
            atomic_load_explicit(&h.held_events, memory_order_relaxed);
        ring->has_lost = atomic_load_explicit(&h.held_slots, memory_order_relaxed) > 0;
    }
    ps_code code = PS_OK;
    for (uint64_t at = tail; at < head && code == PS_OK;) { /* one piece, or two around the end */
        uint64_t index = at & (h.n_slots - 1);
        uint64_t n = head - at < h.n_slots - index ? head - at : h.n_slots - index;
        uint64_t place = PS_RING_HEADER_BYTES + index * sizeof(ps_slot);
        code = take_piece(f, number, fd, (ps_segment){.first = at, .n = n, .place = place}, err);
        at += n;
    }
    return code;
}

/* Blocks like those of the spool, in memory. */
static ps_code take_held(ps_slot_files *f, const char *held, size_t n_held, ps_err *err) {
    const char *memory = f->memory;
    uint64_t spool_bytes = f->spool_bytes;
    f->memory = held;
    f->spool_bytes = n_held;
    ps_code code = take_blocks(f, NULL, 0, err);
    f->memory = memory;
    f->spool_bytes = spool_bytes;
    return code;
}

/* A regular file, open for reading. */
static ps_code open_raw(const char *path, int *fd, uint64_t *size, ps_err *err) {
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0) {
        return ps_fail_system(err, path, "cannot open", errno);
    }
    if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(*fd);
        *fd = -1;
        return ps_fail_file(err, PS_IO, path, "not a regular file");
    }
    *size = (uint64_t)st.st_size;
    return PS_OK;
}

/* "<number>.ring" */
static bool ring_number(const char *name, uint32_t *out) {
    int64_t number = 0;
    size_t n = strlen(name);
    if (n <= 5 || strcmp(name + n - 5, ".ring") != 0 || !ps_parse_i64(name, n - 5, &number) ||
        number < 0 || number >= PS_MOST_RINGS) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

static ps_code take_ring_files(ps_slot_files *f, const char *dir, bool has_spool, size_t *n_found,
                               ps_arena *arena, ps_err *err) {
    const char **names = NULL;
    size_t n = 0;
    ps_code code = ps_list_dir(dir, arena, &names, &n, err);
    for (size_t i = 0; i < n && code == PS_OK; i++) {
        uint32_t number = 0;
        if (!ring_number(names[i], &number)) {
            continue;
        }
        const char *path = ps_path_join(arena, dir, names[i]);
        int fd = -1;
        uint64_t size = 0;
        code = path != NULL ? open_raw(path, &fd, &size, err) : ps_fail_nomem(err);
        if (code == PS_OK) {
            code = take_ring(f, number, fd, (size_t)size, has_spool, err);
            (void)close(fd);
            *n_found += 1;
            code = code == PS_OK && f->error != 0
                       ? ps_fail_system(err, path, "cannot read", f->error)
                       : code;
        } else if (code != PS_NOMEM && f->error == 0) {
            ps_slot_files_damage(f, 1, "%s: cannot be read", names[i]);
            code = PS_OK;
        }
    }
    return code;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static ps_code take_spool(ps_slot_files *f, bool *is_one, ps_err *err) {
    ps_spool_window *w = ps_calloc(1, sizeof *w);
    if (w == NULL) {
        return ps_fail_nomem(err);
    }
    *is_one = take_spool_header(f, w);
    ps_code code = *is_one ? take_blocks(f, w, sizeof(ps_spool_header), err) : PS_OK;
    ps_free(w);
    return code;
}

static ps_code open_files(ps_slot_files *f, const char *dir, const char *held, size_t n_held,
                          ps_arena *arena, ps_err *err) {
    const char *spool = ps_path_join(arena, dir, "events.spool");
    if (spool == NULL) {
        return ps_fail_nomem(err);
    }
    bool has_spool = false;
    ps_code code = open_raw(spool, &f->spool, &f->spool_bytes, err);
    bool is_empty = code == PS_OK && f->spool_bytes == 0;
    if (code == PS_OK) {
        code = take_spool(f, &has_spool, err);
    } else if (code == PS_NOT_FOUND) {
        code = PS_OK;
    }
    size_t n_rings = 0;
    if (code == PS_OK && f->error != 0) {
        code = ps_fail_system(err, spool, "cannot read", f->error);
    }
    if (code == PS_OK && n_held > 0) {
        f->has_held = true;
        code = take_held(f, held, n_held, err);
    }
    if (code == PS_OK) {
        code = take_ring_files(f, dir, has_spool, &n_rings, arena, err);
    }
    if (code == PS_OK && is_empty && f->n_rings == 0 && f->damaged_bytes == 0) {
        return ps_fail_file(err, PS_NOTHING, dir, "nothing was recorded");
    }
    if (code == PS_OK && f->spool_bytes == 0 && n_rings == 0 && f->damaged_bytes == 0) {
        return ps_fail_file(err, PS_NOT_FOUND, dir, "no raw files of a recording here");
    }
    if (code == PS_OK && !has_spool && f->n_rings == 0) {
        return ps_fail_file(err, PS_SYNTAX, dir, "%s", f->place);
    }
    return code;
}

static void finish_slot(ps_slot_files *f) {
    resolve_cut(f);
    for (size_t i = 0; i < f->n_rings; i++) {
        sort_segments(&f->rings[i]);
    }
}

ps_code ps_slot_files_open(ps_slot_files *f, const char *dir, const char *held, size_t n_held,
                           ps_err *err) {
    *f = (ps_slot_files){.header = {.rank = -1}, .spool = -1};
    ps_arena arena;
    ps_arena_init(&arena);
    ps_code code = open_files(f, dir, held, n_held, &arena, err);
    ps_arena_fini(&arena);
    if (code != PS_OK) {
        ps_slot_files_close(f);
        return code;
    }
    finish_slot(f);
    return PS_OK;
}

ps_code ps_slot_files_memory(ps_slot_files *f, const void *spool, size_t bytes, ps_err *err) {
    *f =
        (ps_slot_files){.header = {.rank = -1}, .spool = -1, .memory = spool, .spool_bytes = bytes};
    bool is_one = false;
    ps_code code = take_spool(f, &is_one, err);
    code = code == PS_OK && !is_one ? ps_fail(err, PS_SYNTAX, "%s", f->place) : code;
    if (code != PS_OK) {
        ps_slot_files_close(f);
        return code;
    }
    finish_slot(f);
    return PS_OK;
}

void ps_slot_files_close(ps_slot_files *f) {
    for (size_t i = 0; i < f->n_rings; i++) {
        ps_free(f->rings[i].segments);
    }
    for (size_t i = 0; i < f->n_pieces; i++) {
        ps_free(f->pieces[i]);
    }
    if (f->spool >= 0) {
        (void)close(f->spool);
    }
    ps_free(f->rings);
    ps_free(f->pieces);
    *f = (ps_slot_files){.spool = -1};
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */

void ps_slot_walk_begin(ps_slot_walk *w, ps_slot_files *f, uint32_t ring) {
    w->files = f;
    w->ring = ring;
    w->segment = 0;
    w->position = 0;
    w->window.begin = 0;
    w->window.n = 0;
}

/* Slots of a segment from w->position on; NULL, with the position behind it, when the file has no longer that many. */
static const char *slots_here(ps_slot_walk *w, const ps_segment *s, unsigned n) {
    uint64_t offset = w->position - s->first;
    uint64_t place = s->place + offset * sizeof(ps_slot);
    if (s->slots != NULL) {
        return s->slots + offset * sizeof(ps_slot);
    }
    const char *at = spool_at(w->files, &w->window, place, n * sizeof(ps_slot));
    if (at == NULL) {
        if (w->files->error == 0) {
            shorter_spool(w->files, place, (s->n - offset) * sizeof(ps_slot));
        }
        w->position = s->first + s->n;
    }
    return at;
}

/* The segment that holds w->position, moving over those that end before it; a gap moves the position when `over_gap`. */
static const ps_segment *segment_here(ps_slot_walk *w, bool over_gap) {
    const ps_ring_slots *ring = &w->files->rings[w->ring];
    for (; w->segment < ring->n; w->segment++) {
        const ps_segment *s = &ring->segments[w->segment];
        if (s->first + s->n <= w->position) {
            continue;
        }
        if (s->first > w->position) {
            if (!over_gap) {
                return NULL;
            }
            if (!ring->has_lost) {
                ps_slot_files_damage(
                    w->files, (s->first - w->position) * sizeof(ps_slot),
                    "ring %u, slots %llu to %llu: neither in the spool nor in the ring", w->ring,
                    (unsigned long long)w->position, (unsigned long long)s->first);
            }
            w->position = s->first;
        }
        return s;
    }
    return NULL;
}

/* A record over the end of a segment, put together. False when its rest is not there. */
static bool join_record(ps_slot_walk *w, unsigned n_slots) {
    for (unsigned i = 0; i < n_slots; i++) {
        const ps_segment *s = segment_here(w, false);
        const char *at = s != NULL ? slots_here(w, s, 1) : NULL;
        if (at == NULL) {
            return false;
        }
        memcpy(&w->piece[i], at, sizeof(ps_slot));
        w->position++;
    }
    return true;
}

const ps_slot *ps_slot_walk_next(ps_slot_walk *w) {
    for (;;) {
        const ps_segment *s = w->files->error == 0 ? segment_here(w, true) : NULL;
        if (s == NULL) {
            return NULL;
        }
        uint64_t offset = w->position - s->first;
        const char *at = slots_here(w, s, 1);
        if (at == NULL) {
            continue;
        }
        unsigned n_slots = 1u + ((const unsigned char *)at)[offsetof(ps_slot, n_more)];
        at = n_slots <= s->n - offset ? slots_here(w, s, n_slots) : at;
        if (at == NULL) {
            continue;
        }
        if (((uintptr_t)at & (_Alignof(ps_slot) - 1)) == 0 && n_slots <= s->n - offset) {
            w->position += n_slots;
            return (const ps_slot *)(const void *)at;
        }
        if (join_record(w, n_slots)) {
            return w->piece;
        }
        ps_slot_files_damage(w->files, sizeof(ps_slot), "ring %u, slot %llu: a record is cut off",
                             w->ring, (unsigned long long)w->position);
    }
}
