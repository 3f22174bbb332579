/* Pages of arrays that grow while they are filled, made ready by a thread of their own. The first write to a page costs as much as what
 * is written: the kernel clears it, and a virtual machine may have to ask its host for it. Who fills the arrays says from time to time
 * how far it is; contents are never touched.
 *
 * Without such a thread (NULL) all goes on as ever. */
#ifndef PS_BASE_PAGES_AHEAD_H
#define PS_BASE_PAGES_AHEAD_H

#include <stddef.h>

typedef struct ps_pages_ahead ps_pages_ahead;

/* For one thread that fills arrays. The thread begins with the first large one. NULL when memory is out. */
ps_pages_ahead *ps_pages_ahead_new(void);
void ps_pages_ahead_free(ps_pages_ahead *pages); /* NULL is fine */

/* How much of an array was asked for. All zero at first. */
typedef struct ps_filled_array {
    const void *begin;
    size_t asked_bytes;
} ps_filled_array;

/* The array at `begin` is filled as far as `used_bytes` of `cap_bytes`. Of a small one, or one that has enough before it, nothing is asked. */
void ps_pages_ahead_of(ps_pages_ahead *pages, ps_filled_array *array, const void *begin,
                       size_t used_bytes, size_t cap_bytes);

#endif
