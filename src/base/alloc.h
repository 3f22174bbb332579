/* The only door to the C allocator (malloc, realloc and free appear in src/base alone).
 *
 * Every function returns NULL when memory is out; callers pass PS_NOMEM up. Tests make the Nth
 * allocation of the calling thread fail, for N = 0, 1, 2, ... */
#ifndef PS_BASE_ALLOC_H
#define PS_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Uninitialised; size 0 gives a unique pointer. In release builds arrays of 2 MB and more ask for huge pages. */
void *ps_alloc(size_t size_bytes);

/* n * size zeroed bytes; NULL also on overflow of the product. */
void *ps_calloc(size_t n, size_t size_bytes);

/* n * size bytes, the old content kept. On failure returns NULL and leaves `p` as it was. */
void *ps_realloc_array(void *p, size_t n, size_t size_bytes);

/* A copy of `n` bytes with a terminating zero. */
char *ps_strndup(const char *s, size_t n);
char *ps_strdup(const char *s);

void ps_free(void *p);

/* Makes room for `need` elements: grows *array (elements of `elem_size`) to at least `need`, doubling.
 * Returns false when memory is out or when more than `max` elements would be needed; then nothing has
 * changed. `*cap` is in elements. */
bool ps_grow(void *array_ptr, size_t *cap, size_t need, size_t max, size_t elem_size);

/* Gives back what lies behind the first `n` elements of an array that grew so, of one that stays for long. Where that fails the room
 * stays. */
void ps_shrink(void *array_ptr, size_t *cap, size_t n, size_t elem_size);

/* Puts one more element at the end of an array that grows so: an expression, false as of ps_grow. The element is made after the room
 * for it is there. */
#define PS_ADD(array, n, cap, max, ...)                                                            \
    (ps_grow(&(array), &(cap), (n) + 1, (max), sizeof *(array))                                    \
         ? ((array)[(n)++] = __VA_ARGS__, true)                                                    \
         : false)

/* Who may have blocks of another kind for large requests (base/spill.h): from then on it is asked first. */
typedef struct ps_alloc_beyond {
    /* Uninitialised but for `zeroed`; NULL: it takes none. */
    void *(*alloc)(size_t size_bytes, bool zeroed);
    bool (*has)(const void *p);
    size_t (*room)(const void *p); /* of one that it has, in bytes */
    void (*free)(void *p);
} ps_alloc_beyond;
void ps_alloc_ask(const ps_alloc_beyond *beyond);

/* For tests: the calling thread's allocation number `n` from now on (0 = the next) fails, once. A negative
 * value switches this off. Returns how many allocations the thread made since the last call. */
int64_t ps_alloc_fail_at(int64_t n);
/* How many it made since then; and that a child process made some in its place (base/child.h). */
int64_t ps_alloc_count(void);
void ps_alloc_count_more(int64_t n);

#endif
