#include "base/alloc.h"

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
    return may_allocate() ? prefer_huge_pages(malloc(whole_bytes(size_bytes)), huge_bytes) : NULL;
}

void *ps_calloc(size_t n, size_t size_bytes) {
    return may_allocate() ? calloc(n > 0 ? n : 1, size_bytes > 0 ? size_bytes : 1) : NULL;
}

/* An array that may grow on. Its mapping stays one piece, else the library would copy it to make it larger. */
void *ps_realloc_array(void *p, size_t n, size_t size_bytes) {
    size_t total = 0;
    if (__builtin_mul_overflow(n, size_bytes, &total) || !may_allocate()) {
        return NULL;
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
    free(p);
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
    void *shrunk = n > 0 && n < *cap ? realloc(old, whole_bytes(n * elem_size)) : NULL;
    if (shrunk != NULL) {
        memcpy(array_ptr, &shrunk, sizeof shrunk);
        *cap = n;
    }
}
