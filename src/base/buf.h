/* A growing byte buffer with a maximum; {0} is an empty one. Invariant: `data` is NULL while empty and untouched, else
 * `data[len]` is a zero byte. The first failure (memory, maximum) sticks: later additions do nothing and
 * ps_buf_ok says false, so that a long series of additions is checked once at its end. */
#ifndef PS_BASE_BUF_H
#define PS_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct ps_buf {
    char *data;
    size_t len, cap;
    size_t max; /* of the content; 0: 1 GiB */
    bool failed;
    const struct ps_watch *watch; /* NULL: nobody watches; else once it is stopped additions fail */
    size_t
        held; /* memory of a watched one, of which `cap` is what may be filled before it is asked */
} ps_buf;

/* As {0}, with another maximum. */
void ps_buf_init(ps_buf *b, size_t max_bytes);
void ps_buf_fini(ps_buf *b);

/* Empties the buffer and forgets a failure; memory is kept. */
void ps_buf_clear(ps_buf *b);

/* Where `n` bytes may be written, NULL when there are none; say afterwards how many with ps_buf_wrote. */
char *ps_buf_more_room(ps_buf *b, size_t n);

static inline char *ps_buf_room(ps_buf *b, size_t n) {
    return n < b->cap - b->len && !b->failed ? b->data + b->len : ps_buf_more_room(b, n);
}

static inline void ps_buf_wrote(ps_buf *b, size_t n) {
    b->len += n;
    b->data[b->len] = '\0';
}

void ps_buf_add(ps_buf *b, const void *bytes, size_t n);
void ps_buf_add_str(ps_buf *b, const char *s);
void ps_buf_add_char(ps_buf *b, char c);
void ps_buf_add_fill(ps_buf *b, char c, size_t n);
void ps_buf_addf(ps_buf *b, const char *fmt, ...) PS_PRINTF(2, 3);
/* A number with that many digits behind the point (at most 9), which is a point whatever language the process has set: the
 * recorder runs in programs of others. Beyond what 64 bits hold of such digits, and for what is no number, the nearest that they hold,
 * or 0. */
void ps_buf_add_fixed(ps_buf *b, double value, unsigned decimals);

/* `s` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. `n` in bytes. */
void ps_buf_add_json_str(ps_buf *b, const char *s, size_t n);

bool ps_buf_ok(const ps_buf *b);

/* The content as a string, "" when empty; valid until the next addition. */
const char *ps_buf_str(const ps_buf *b);

#endif
