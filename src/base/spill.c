/* One mapping far larger than the file, so that nothing ever moves and the kernel keeps one range for all blocks. The file grows by steps whose
 * room on the disk is taken first: a page that finds none would end the process. Blocks have a head in front and one of a few
 * sizes (four between powers of two); those that are freed wait in a list of their size. */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/memory_left.h"

enum {
    N_SIZES = 4 * 64,
    HEAD_BYTES = 64,
    FREE_SHARE = 20, /* of a file system: the part that is left to others */
    TMPFS = 0x01021994,
    RAMFS = (int)0x858458f6,
};

#define MOST_RESERVED ((size_t)1 << 40)
#define LEAST_RESERVED ((size_t)1 << 30)
#define STEP_BYTES ((size_t)64 << 20)
/* Allocated between two looks at what the process holds. */
#define LOOK_EVERY_BYTES ((size_t)1 << 20)

typedef struct spilled {
    size_t room_bytes; /* behind the head */
    struct spilled *next;
} spilled;

static _Thread_local bool is_kept;

static struct {
    int64_t limit_bytes;
    size_t asked_bytes; /* since the last look */
    int is_over;        /* as it was then */
    int failed;         /* errno */
    size_t reserved_bytes;
    uint8_t *base;
    pthread_mutex_t lock; /* of all below */
    int fd;               /* -1 before it is tried, and when it cannot be had */
    bool is_tried;
    size_t file_bytes, used_bytes, held_bytes, most_bytes;
    spilled *freed[N_SIZES];
} spill = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* --- when ------------------------------------------------------------------------------------------------------ */

static bool look(size_t more_bytes) {
    int64_t limit_bytes = __atomic_load_n(&spill.limit_bytes, __ATOMIC_RELAXED);
    bool over = limit_bytes > 0 && ps_memory_held() + (int64_t)more_bytes > limit_bytes;
    __atomic_store_n(&spill.is_over, over, __ATOMIC_RELAXED);
    return over;
}

bool ps_spill_is_over(void) {
    return look(0);
}

bool ps_spill_keep(bool kept) {
    bool before = is_kept;
    is_kept = kept;
    return before;
}

/* Looking costs as much as a small block: one look is good for many of them. */
static bool takes(size_t size_bytes) {
    if (!is_kept || size_bytes < PS_SPILL_BLOCK_BYTES || size_bytes > MOST_RESERVED / 2) {
        return false;
    }
    if (__atomic_add_fetch(&spill.asked_bytes, size_bytes, __ATOMIC_RELAXED) >= LOOK_EVERY_BYTES) {
        __atomic_store_n(&spill.asked_bytes, 0, __ATOMIC_RELAXED);
        return look(size_bytes);
    }
    return __atomic_load_n(&spill.is_over, __ATOMIC_RELAXED) != 0;
}

/* --- the file -------------------------------------------------------------------------------------------------- */

static int open_unnamed(const char *dir) {
    struct statfs at;
    if (statfs(dir, &at) != 0) {
        return -1;
    }
    if ((int)at.f_type == TMPFS || (int)at.f_type == RAMFS) {
        errno = ENODEV; /* memory by another name */
        return -1;
    }
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/pipescope-XXXXXX", dir);
        fd = n > 0 && (size_t)n < sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
        if (fd >= 0) {
            (void)unlink(path);
        }
    }
    return fd;
}

static void *map_file(size_t bytes) {
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, spill.fd, 0);
    return base != MAP_FAILED ? base : NULL;
}

static bool open_spill(void) {
    if (!spill.is_tried) {
        spill.is_tried = true;
        const char *own = getenv("TMPDIR");
        spill.fd = own != NULL && own[0] != '\0' ? open_unnamed(own) : -1;
        spill.fd = spill.fd >= 0 ? spill.fd : open_unnamed("/var/tmp");
        size_t bytes = MOST_RESERVED;
        while (spill.fd >= 0 && spill.base == NULL && bytes >= LEAST_RESERVED) {
            spill.base = map_file(bytes);
            bytes = spill.base != NULL ? bytes : bytes / 2;
        }
        /* who looks whether a block is one of these reads this first */
        __atomic_store_n(&spill.reserved_bytes, spill.base != NULL ? bytes : 0, __ATOMIC_RELEASE);
    }
    return spill.base != NULL;
}

/* Leaves errno where it cannot. */
static bool grow_file(size_t need_bytes) {
    size_t to = (need_bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    size_t more = to > spill.file_bytes ? to - spill.file_bytes : 0;
    struct statvfs fs;
    if (more == 0) {
        return true;
    }
    if (to > spill.reserved_bytes || fstatvfs(spill.fd, &fs) != 0) {
        errno = ENOSPC;
        return false;
    }
    if (fs.f_bavail < fs.f_blocks / FREE_SHARE + more / fs.f_frsize) {
        errno = ENOSPC;
        return false;
    }
    int failed = posix_fallocate(spill.fd, (off_t)spill.file_bytes, (off_t)more);
    errno = failed;
    spill.file_bytes = failed == 0 ? to : spill.file_bytes;
    return failed == 0;
}

/* --- blocks ---------------------------------------------------------------------------------------------------- */

/* The least of the sizes that holds so much with its head: 4, 5, 6 or 7 times a power of two. */
static size_t size_number(size_t bytes, size_t *rounded) {
    unsigned power = 0;
    while (bytes - 1 >= (size_t)8 << power) {
        power++;
    }
    size_t quarters = (bytes + ((size_t)1 << power) - 1) >> power; /* 5 ... 8 */
    *rounded = quarters << power;
    return 4 * (size_t)power + quarters - 5;
}

/* Where a block of that size goes: one that was freed (*is_new false), or behind all others. NULL where there is no room. */
static spilled *place_block(size_t number, size_t bytes, bool *is_new) {
    spilled *block = spill.freed[number];
    *is_new = block == NULL;
    if (block != NULL) {
        spill.freed[number] = block->next;
        return block;
    }
    if (!open_spill() || !grow_file(spill.used_bytes + bytes)) {
        return NULL;
    }
    block = (spilled *)(void *)(spill.base + spill.used_bytes);
    spill.used_bytes += bytes;
    return block;
}

static void *spill_alloc(size_t size_bytes, bool zeroed) {
    if (!takes(size_bytes)) {
        return NULL;
    }
    int before = errno;
    size_t bytes = 0;
    size_t number = size_number(size_bytes + HEAD_BYTES, &bytes);
    bool is_new = false;
    (void)pthread_mutex_lock(&spill.lock);
    spilled *block = place_block(number, bytes, &is_new);
    if (block != NULL) {
        *block = (spilled){.room_bytes = bytes - HEAD_BYTES};
        spill.held_bytes += bytes;
        spill.most_bytes =
            spill.held_bytes > spill.most_bytes ? spill.held_bytes : spill.most_bytes;
    } else {
        __atomic_store_n(&spill.failed, errno, __ATOMIC_RELAXED);
    }
    (void)pthread_mutex_unlock(&spill.lock);
    errno = before;
    uint8_t *p = block != NULL ? (uint8_t *)block + HEAD_BYTES : NULL;
    if (p != NULL && zeroed && !is_new) { /* a file that grows is zero */
        memset(p, 0, size_bytes);
    }
    return p;
}

bool ps_spill_holds(const void *p) {
    size_t reserved = __atomic_load_n(&spill.reserved_bytes, __ATOMIC_ACQUIRE);
    return reserved > 0 && (uintptr_t)p - (uintptr_t)spill.base < reserved;
}

static spilled *head_of(const void *p) {
    return (spilled *)((uintptr_t)p - HEAD_BYTES);
}

static size_t spill_room(const void *p) {
    return head_of(p)->room_bytes;
}

static void spill_free(void *p) {
    spilled *block = head_of(p);
    size_t bytes = 0;
    size_t number = size_number(block->room_bytes + HEAD_BYTES, &bytes);
    (void)pthread_mutex_lock(&spill.lock);
    block->next = spill.freed[number];
    spill.freed[number] = block;
    spill.held_bytes -= bytes;
    (void)pthread_mutex_unlock(&spill.lock);
}

/* --- the rest -------------------------------------------------------------------------------------------------- */

void ps_spill_above(int64_t limit_bytes) {
    static const ps_alloc_beyond SPILL = {spill_alloc, ps_spill_holds, spill_room, spill_free};
    __atomic_store_n(&spill.limit_bytes, limit_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&spill.is_over, 0, __ATOMIC_RELAXED);
    ps_alloc_ask(&SPILL);
}

size_t ps_spill_most(void) {
    (void)pthread_mutex_lock(&spill.lock);
    size_t most = spill.most_bytes;
    (void)pthread_mutex_unlock(&spill.lock);
    return most;
}

int ps_spill_errno(void) {
    return __atomic_load_n(&spill.failed, __ATOMIC_RELAXED);
}

bool ps_spill_leave(void) {
    ps_spill_above(0);
    return spill.base == NULL ||
           mmap(spill.base, spill.reserved_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, spill.fd, 0) != MAP_FAILED;
}
