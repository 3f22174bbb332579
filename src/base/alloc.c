#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

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

void *ps_alloc(size_t size_bytes) {
    return may_allocate() ? malloc(size_bytes > 0 ? size_bytes : 1) : NULL;
}

void *ps_calloc(size_t n, size_t size_bytes) {
    return may_allocate() ? calloc(n > 0 ? n : 1, size_bytes > 0 ? size_bytes : 1) : NULL;
}

void *ps_realloc_array(void *p, size_t n, size_t size_bytes) {
    size_t total = 0;
    if (__builtin_mul_overflow(n, size_bytes, &total) || !may_allocate()) {
        return NULL;
    }
    return realloc(p, total > 0 ? total : 1);
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
