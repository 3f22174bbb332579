/* UTF-8, as far as terminals and JSON need it. */
#ifndef PS_BASE_UTF8_H
#define PS_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed character at `s` (1..4), 0 when it is malformed or `n` is 0. */
size_t ps_utf8_len(const char *s, size_t n);

/* Terminal columns of `n` bytes: one per character, two for East Asian wide ones, one per stray byte. */
size_t ps_utf8_columns(const char *s, size_t n);

/* Bytes of the longest prefix that fits into `columns`. */
size_t ps_utf8_fit(const char *s, size_t n, size_t columns);

#endif
