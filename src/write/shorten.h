/* Texts of the data made fit for a terminal. */
#ifndef PS_WRITE_SHORTEN_H
#define PS_WRITE_SHORTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

/* A copy in one line without anything that steers a terminal: control characters (also the two-byte ones,
 * U+0080..9F) become blanks, bytes that are no UTF-8 '?'. NULL when memory is out. */
const char *ps_text_clean(ps_arena *arena, const char *text);

/* Adds `text`, cut in its middle ("aclnnMat…Backward") when it is wider than `width` >= 5 columns. The result can
 * be one column narrower where a wide character stands at the cut. */
void ps_text_middle(ps_buf *out, const char *text, size_t width, bool utf8);

#endif
