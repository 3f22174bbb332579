/* Text that readers are told is UTF-8, of bytes that need not be. */
#ifndef PS_BASE_UTF8_TEXT_H
#define PS_BASE_UTF8_TEXT_H

#include <stddef.h>

#include "base/buf.h"

/* Adds it; each byte that is no part of a character becomes U+FFFD, as in ps_buf_add_json_str(). */
void ps_utf8_add(ps_buf *out, const char *s, size_t n);

#endif
