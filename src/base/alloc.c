#include "base/alloc.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Debug builds keep the exact sizes: a sanitizer is to see every step beyond an array. */
#if defined(MADV_HUGEPAGE) && defined(NDEBUG)
#define HAS_HUGE_PAGES 1
#else
#define HAS_HUGE_PAGES 0
#endif
#define HUGE_BYTES ((size_t)2 << 20)
#define AROUND ((size_t)24) /* that the library puts around an array */

static _Thread_local int64_t fail_at = -1;
static _Thread_local int64_t n_done;

static const ps_alloc_beyond *asked; /* NULL: nobody */

void ps_alloc_ask(const ps_alloc_beyond *beyond) {
    __atomic_store_n(&asked, beyond, __ATOMIC_RELEASE);
}

static void *alloc_beyond(size_t size_bytes, bool zeroed) {
    const ps_alloc_beyond *beyond = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
    return beyond != NULL ? beyond->alloc(size_bytes, zeroed) : NULL;
}

/* Who has the block; NULL: the C library. */
static const ps_alloc_beyond *keeper_of(const void *p) {
    const ps_alloc_beyond *beyond = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
    return beyond != NULL && beyond->has(p) ? beyond : NULL;
}

static bool may_allocate(void) {
    return n_done++ != fail_at;
}

int64_t ps_alloc_fail_at(int64_t n) {
    int64_t done = n_done;
    n_done = 0;
    fail_at = n;
    return done;
}

int64_t ps_alloc_count(void) {
    return n_done;
}

void ps_alloc_count_more(int64_t n) {
    n_done += n;
}

/* What to ask the C library for. Together with what is around them, big arrays fill whole huge pages: then the kernel
 * aligns them so, and they grow without being copied. */
static size_t whole_bytes(size_t n) {
    if (!HAS_HUGE_PAGES || n < HUGE_BYTES || n > SIZE_MAX / 2) {
        return n > 0 ? n : 1;
    }
    return (n + AROUND + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES - AROUND;
}

/* Filling a big array one small page after the other costs as much as reading what goes into it. */
static void *prefer_huge_pages(void *p, size_t n) {
#if HAS_HUGE_PAGES
    const uintptr_t small_page = 4096;
    if (p != NULL && n >= HUGE_BYTES) {
        void *begin = (uint8_t *)p - (uintptr_t)p % small_page;
        (void)madvise(begin, n, MADV_HUGEPAGE); /* no more than a wish */
    }
#else
    (void)n;
#endif
    return p;
}

/* What does not fill a huge page is left to small ones: all of it will be used, and no more. */
void *ps_alloc(size_t size_bytes) {
    size_t huge_bytes = size_bytes / HUGE_BYTES * HUGE_BYTES;
    if (!may_allocate()) {
        return NULL;
    }
    void *p = alloc_beyond(size_bytes, false);
    return p != NULL ? p : prefer_huge_pages(malloc(whole_bytes(size_bytes)), huge_bytes);
}

void *ps_calloc(size_t n, size_t size_bytes) {
    size_t total = 0;
    if (__builtin_mul_overflow(n, size_bytes, &total) || !may_allocate()) {
        return NULL;
    }
    void *p = alloc_beyond(total, true);
    return p != NULL ? p : calloc(total > 0 ? total : 1, 1);
}

/* Of a block that is kept by somebody else, or is to be. NULL: it is not to be, or memory is out. */
static void *move_block(void *p, size_t total, const ps_alloc_beyond *keeper) {
    if (keeper != NULL && keeper->room(p) >= total) {
        return p;
    }
    void *moved = alloc_beyond(total, false);
    moved = moved == NULL && keeper != NULL ? malloc(whole_bytes(total)) : moved;
    if (moved != NULL && p != NULL) {
        size_t room = keeper != NULL ? keeper->room(p) : malloc_usable_size(p);
        memcpy(moved, p, room < total ? room : total);
        ps_free(p);
    }
    return moved;
}

/* An array that may grow on. Its mapping stays one piece, else the library would copy it to make it larger. */
void *ps_realloc_array(void *p, size_t n, size_t size_bytes) {
    size_t total = 0;
    if (__builtin_mul_overflow(n, size_bytes, &total) || !may_allocate()) {
        return NULL;
    }
    const ps_alloc_beyond *keeper = keeper_of(p);
    void *moved = move_block(p, total, keeper);
    if (moved != NULL || keeper != NULL) {
        return moved;
    }
    size_t whole = whole_bytes(total);
    return prefer_huge_pages(realloc(p, whole), whole + AROUND);
}

char *ps_strndup(const char *s, size_t n) {
    char *out = ps_alloc(n + 1);
    if (out != NULL) {
        memcpy(out, s, n);
        out[n] = '\0';
    }
    return out;
}

char *ps_strdup(const char *s) {
    return ps_strndup(s, strlen(s));
}

void ps_free(void *p) {
    const ps_alloc_beyond *keeper = keeper_of(p);
    if (keeper != NULL) {
        keeper->free(p);
    } else {
        free(p);
    }
}

bool ps_grow(void *array_ptr, size_t *cap, size_t need, size_t max, size_t elem_size) {
    if (need <= *cap) {
        return true;
    }
    if (need > max) {
        return false;
    }
    size_t want = *cap < 8 ? 16 : *cap * 2;
    if (want < need) {
        want = need;
    }
    if (want > max) {
        want = max;
    }
    void *old = NULL;
    memcpy(&old, array_ptr,
           sizeof old); /* array_ptr is some T **: read it without aliasing trouble */
    void *grown = ps_realloc_array(old, want, elem_size);
    if (grown == NULL) {
        return false;
    }
    memcpy(array_ptr, &grown, sizeof grown);
    *cap = want;
    return true;
}

void ps_shrink(void *array_ptr, size_t *cap, size_t n, size_t elem_size) {
    void *old = NULL;
    memcpy(&old, array_ptr, sizeof old);
    /* It asks for nothing, so tests that let allocations fail do not count it. */
    bool shrinks = n > 0 && n < *cap && keeper_of(old) == NULL;
    void *shrunk = shrinks ? realloc(old, whole_bytes(n * elem_size)) : NULL;
    if (shrunk != NULL) {
        memcpy(array_ptr, &shrunk, sizeof shrunk);
        *cap = n;
    }
}
