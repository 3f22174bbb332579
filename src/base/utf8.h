/* UTF-8, as far as terminals and JSON need it. */
#ifndef PS_BASE_UTF8_H
#define PS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at `s` (1..4), 0 when it is malformed or `n` is 0. */
size_t ps_utf8_len(const char *s, size_t n);

/* Bytes from `s` on that are well-formed; `n`: all. */
size_t ps_utf8_run(const char *s, size_t n);

/* Terminal columns of `n` bytes: one per character, two for East Asian wide ones, one per stray byte. */
size_t ps_utf8_columns(const char *s, size_t n);

/* Bytes of the longest prefix that fits into `columns`. */
size_t ps_utf8_fit(const char *s, size_t n, size_t columns);

/* Writes the character `c` (up to U+10FFFF; whether it is a surrogate is not asked), 1..4 bytes; returns how many. */
size_t ps_utf8_put(char out[static 4], uint32_t c);

/* Takes the bytes out of `text` that are no character: what is left where a name was cut in the middle of one. */
void ps_utf8_drop_pieces(char *text);

#endif
