/* A block is one system call: header and slots, which lie in two pieces where the ring wraps. A block that could be
 * written only in part is cut off again, so that the file always ends with a whole one; what was not taken stays in the ring.
 *
 * Memory is mapped, grown by remapping without a copy, and not given to forked children. */
#include "record/ring/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record/ring/clock.h"
#include "record/ring/memory.h"

/* Ring 0 says how a recording ended and what was lost: a limit that is reached leaves room for that. */
enum { FIRST_BYTES = 1 << 20, RETRY_NS = 1000000000, RESERVED_BYTES = 1 << 18 };

/* --- memory ---------------------------------------------------------------------------------------------------------- */

static bool grow_spool(ps_spool *s, size_t need, size_t limit) {
    if (need <= s->cap && need <= limit) {
        return true;
    }
    size_t cap = s->cap > 0 ? s->cap : FIRST_BYTES;
    while (cap < need) {
        cap *= 2;
    }
    if (cap > limit) {
        cap = limit;
    }
    if (cap >= need && !ps_memory_take(cap - s->cap)) {
        cap = ps_memory_take(need - s->cap) ? need
                                            : 0; /* not twice as much, but as much as it takes */
    }
    if (cap < need) {
        errno = ENOSPC;
        return false;
    }
    void *at = s->memory == NULL ? mmap(NULL, cap, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                 : mremap(s->memory, s->cap, cap, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) {
        int error = errno;
        ps_memory_give(cap - s->cap);
        errno = error;
        return false;
    }
    (void)madvise(at, cap, MADV_DONTFORK);
    s->memory = at;
    s->cap = cap;
    return true;
}

/* Behind the first `at` bytes. */
static bool put_memory(ps_spool *s, size_t at, const struct iovec *pieces, int n_pieces,
                       size_t n_bytes, size_t limit) {
    if (!grow_spool(s, at + n_bytes, limit)) {
        return false;
    }
    for (int i = 0; i < n_pieces; i++) {
        if (pieces[i].iov_len > 0) {
            memcpy(s->memory + at, pieces[i].iov_base, pieces[i].iov_len);
            at += pieces[i].iov_len;
        }
    }
    return true;
}

/* --- file ------------------------------------------------------------------------------------------------------------ */

/* Leaves out what has been written: `pieces` then begins with the first byte that has not. */
static void advance(struct iovec **pieces, int *n_pieces, size_t done) {
    while (*n_pieces > 0 && done >= (*pieces)->iov_len) {
        done -= (*pieces)->iov_len;
        (*pieces)++;
        (*n_pieces)--;
    }
    if (*n_pieces > 0) {
        (*pieces)->iov_base = (char *)(*pieces)->iov_base + done;
        (*pieces)->iov_len -= done;
    }
}

static bool is_ours(const ps_spool *s, int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && (uint64_t)st.st_dev == s->device &&
           (uint64_t)st.st_ino == s->inode;
}

/* Says to whoever would recover the file that its process lives, also to one that cannot see that process (another container). The lock
 * is the open file's: one of the process would go when anybody in it, an export for one, closes another descriptor of the
 * file. A forked child closes ours (ps_spool_forget). */
static void lock(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &whole) != 0 && errno == EINVAL) { /* before Linux 3.15 */
        (void)fcntl(fd, F_SETLK, &whole);
    }
}

/* The descriptor is, or is opened anew. */
static bool still_ours(ps_spool *s) {
    if (is_ours(s, s->fd)) {
        return true;
    }
    int fd = open(s->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return false;
    }
    if (!is_ours(s, fd)) {
        (void)close(fd);
        errno = ENOENT;
        return false;
    }
    s->fd = fd;
    lock(fd);
    return true;
}

static bool make_spool_file(ps_spool *s, const char *dir) {
    int n = snprintf(s->path, sizeof s->path, "%s/" PS_SPOOL_FILE, dir);
    if (n < 0 || (size_t)n >= sizeof s->path) {
        s->error = ENAMETOOLONG;
        return false;
    }
    struct stat st;
    s->fd = open(s->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (s->fd < 0 || fstat(s->fd, &st) != 0) {
        s->error = errno;
        return false;
    }
    s->device = (uint64_t)st.st_dev;
    s->inode = (uint64_t)st.st_ino;
    lock(s->fd);
    return true;
}

/* Whether the limit allows the file that many more. */
static bool allowed(ps_spool *s, size_t n_bytes, bool reserve) {
    uint64_t limit = s->max_bytes;
    if (limit == 0 || atomic_load_explicit(&s->lifted, memory_order_relaxed)) {
        return true;
    }
    limit -= !reserve && limit > RESERVED_BYTES ? RESERVED_BYTES : 0;
    bool ok = s->bytes + s->beside_bytes + n_bytes <= limit;
    s->capped = s->capped || !ok;
    errno = ok ? errno : ENOSPC;
    return ok;
}

static bool put_spool_file(ps_spool *s, struct iovec *pieces, int n_pieces, size_t n_bytes,
                           bool reserve) {
    size_t left = n_bytes;
    if (!allowed(s, n_bytes, reserve) || !still_ours(s)) {
        return false;
    }
    while (left > 0) {
        ssize_t put = writev(s->fd, pieces, n_pieces);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            int error = put == 0 ? ENOSPC : errno;
            (void)!ftruncate(s->fd, (off_t)s->bytes); /* readers also cope with half a block */
            errno = error;
            return false;
        }
        left -= (size_t)put;
        advance(&pieces, &n_pieces, (size_t)put);
    }
    s->bytes += n_bytes;
    return true;
}

static bool put_spool(ps_spool *s, struct iovec *pieces, int n_pieces, size_t n_bytes,
                      bool reserve) {
    bool ok = false;
    if (s->fd >= 0) {
        ok = put_spool_file(s, pieces, n_pieces, n_bytes, reserve);
    } else {
        size_t limit = (size_t)s->max_bytes + (reserve ? RESERVED_BYTES : 0);
        ok = put_memory(s, (size_t)s->bytes, pieces, n_pieces, n_bytes, limit);
        s->bytes += ok ? n_bytes : 0;
    }
    if (!ok) {
        s->error = errno;
        s->retry_ns = ps_mono_ns() + RETRY_NS;
    }
    return ok;
}

/* --- blocks that are held ---------------------------------------------------------------------------------------------- */

/* What a block has of a ring, where events that may be missing in the end are counted as rings that are full count them. */
static ps_held content_of(const ps_slot *slots, uint64_t n_slots) {
    ps_held held = {.slots = n_slots};
    for (uint64_t i = 0; i < n_slots; i += 1u + slots[i].n_more) {
        unsigned kind = slots[i].kind;
        held.events += kind == PS_REC_MARK || kind == PS_REC_RANGE_START || kind == PS_REC_PUSH ||
                       kind == PS_REC_OP_BEGIN || kind == PS_REC_STEP_BEGIN;
    }
    return held;
}

static bool can_hold(const ps_spool *s) {
    return s->fd >= 0 && !s->capped && s->max_held > 0;
}

/* Ring 0 keeps what it has: it is little, and the rest is understood by it. */
static bool may_hold(const ps_spool *s, uint32_t number) {
    return can_hold(s) && number > 0 && number < PS_MAX_RINGS;
}

static bool hold_block(ps_spool *s, ps_ring *ring, uint32_t number, const struct iovec *pieces,
                       int n_pieces, size_t n_bytes) {
    if (!put_memory(s, s->held, pieces, n_pieces, n_bytes, (size_t)s->max_held)) {
        return false;
    }
    const char *block = s->memory + s->held;
    ps_held added = content_of((const ps_slot *)(const void *)(block + sizeof(ps_block_header)),
                               (n_bytes - sizeof(ps_block_header)) / sizeof(ps_slot));
    ps_held *held = &s->of_ring[number];
    s->held += n_bytes;
    *held = (ps_held){.slots = held->slots + added.slots, .events = held->events + added.events};
    ps_spool_tell_held(s, ring, number);
    return true;
}

void ps_spool_tell_held(const ps_spool *s, ps_ring *ring, uint32_t number) {
    if (number < PS_MAX_RINGS) {
        const ps_held *held = &s->of_ring[number];
        atomic_store_explicit(&ring->header->held_slots, held->slots, memory_order_relaxed);
        atomic_store_explicit(&ring->header->held_events, held->events, memory_order_relaxed);
    }
}

static size_t block_bytes(const ps_block_header *block) {
    return sizeof *block + (size_t)block->n_slots * sizeof(ps_slot);
}

bool ps_spool_flush(ps_spool *s) {
    if (s->fd < 0 || s->held == 0 || ps_mono_ns() < s->retry_ns) {
        return false;
    }
    size_t done = 0;
    while (done < s->held) {
        const ps_block_header *block = (const void *)(s->memory + done);
        size_t n_bytes = block_bytes(block);
        struct iovec piece = {.iov_base = s->memory + done, .iov_len = n_bytes};
        if (!put_spool(s, &piece, 1, n_bytes, false)) {
            break;
        }
        ps_held gone = content_of((const ps_slot *)(const void *)(block + 1), block->n_slots);
        s->of_ring[block->ring].slots -= gone.slots;
        s->of_ring[block->ring].events -= gone.events;
        done += n_bytes;
    }
    s->held -= done;
    memmove(s->memory, s->memory + done, s->held);
    if (s->held == 0) {
        (void)munmap(s->memory, s->cap);
        ps_memory_give(s->cap);
        s->memory = NULL;
        s->cap = 0;
    }
    return done > 0;
}

/* --- what others call ------------------------------------------------------------------------------------------------ */

bool ps_spool_open(ps_spool *s, const char *dir, const ps_spool_header *header,
                   uint64_t max_bytes) {
    memset(s, 0, sizeof *s);
    s->fd = -1;
    s->max_bytes = max_bytes;
    if (dir != NULL && !make_spool_file(s, dir)) {
        return false;
    }
    ps_spool_header copy = *header;
    struct iovec piece = {.iov_base = &copy, .iov_len = sizeof copy};
    if (put_spool(s, &piece, 1, sizeof copy, false)) {
        return true;
    }
    ps_spool_close(s);
    return false;
}

uint64_t ps_spool_take(ps_spool *s, ps_ring *ring, uint32_t number) {
    bool limited = s->fd < 0 || s->capped;
    bool reserve = number == 0 && limited;
    bool waits = s->retry_ns > 0 && ps_mono_ns() < s->retry_ns;
    if (waits && !reserve && !may_hold(s, number)) {
        return 0;
    }
    ps_ring_header *h = ring->header;
    uint64_t tail = atomic_load_explicit(&h->tail, memory_order_relaxed);
    uint64_t n = atomic_load_explicit(&h->head, memory_order_acquire) - tail;
    uint64_t n_slots = ring->mask + 1;
    if (n == 0 || n > n_slots) { /* more than the ring holds: somebody has overwritten its header */
        return 0;
    }
    uint64_t drops = 0;
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        drops += atomic_load_explicit(&h->drops[i], memory_order_relaxed);
    }
    ps_block_header block = {
        .magic = PS_BLOCK_MAGIC, .ring = number, .first = tail, .n_slots = n, .drops = drops};
    uint64_t at = tail & ring->mask;
    uint64_t before_wrap = n < n_slots - at ? n : n_slots - at;
    struct iovec pieces[3] = {
        {.iov_base = &block, .iov_len = sizeof block},
        {.iov_base = &ring->slots[at], .iov_len = (size_t)before_wrap * sizeof(ps_slot)},
        {.iov_base = ring->slots, .iov_len = (size_t)(n - before_wrap) * sizeof(ps_slot)}};
    int n_pieces = n > before_wrap ? 3 : 2;
    size_t n_bytes = sizeof block + (size_t)n * sizeof(ps_slot);
    struct iovec left[3];
    memcpy(left, pieces, sizeof left);
    bool ok = (reserve || !waits) && put_spool(s, left, n_pieces, n_bytes, reserve);
    if (!ok && may_hold(s, number)) {
        ok = hold_block(s, ring, number, pieces, n_pieces, n_bytes);
    }
    if (!reserve && (ok || number > 0 || !can_hold(s))) {
        s->full = !ok;
    }
    if (!ok) {
        return 0;
    }
    atomic_store_explicit(&h->tail, tail + n, memory_order_release);
    return n;
}

void ps_spool_lift(ps_spool *s) {
    atomic_store_explicit(&s->lifted, true, memory_order_relaxed);
}

void ps_spool_retry(ps_spool *s) {
    s->retry_ns = 0;
}

void ps_spool_forget(ps_spool *s) {
    if (s->fd >= 0 && is_ours(s, s->fd)) {
        (void)close(s->fd);
    }
    s->fd = -1;
    ps_memory_give(s->cap);
    s->memory = NULL;
    s->cap = 0;
    s->held = 0;
}

void ps_spool_close(ps_spool *s) {
    if (s->memory != NULL) {
        (void)munmap(s->memory, s->cap);
    }
    ps_spool_forget(s);
}
