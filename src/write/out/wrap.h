/* Text broken into lines. */
#ifndef PS_WRITE_WRAP_H
#define PS_WRITE_WRAP_H

#include <stddef.h>

#include "base/buf.h"

/* Adds `text` broken at spaces so that no line is wider than `width`; lines after the first are indented.
 * `column` is where the text starts on the first line. Words are never broken; '\n' in the text breaks. */
void ps_wrap(ps_buf *out, const char *text, size_t column, size_t indent, size_t width);

#endif
