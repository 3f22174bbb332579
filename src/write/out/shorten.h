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
/* The same in the text itself. */
void ps_text_clean_here(char *text);

/* Adds `text`, cut in its middle ("aclnnMat…Backward") when it is wider than `width` >= 5 columns. The result can
 * be one column narrower where a wide character stands at the cut. */
void ps_text_middle(ps_buf *out, const char *text, size_t width, bool utf8);

/* Where texts differ that read alike when each is cut in its middle: of texts[0], texts[stride] ... texts[(n - 1) * stride] the
 * byte at which each begins to differ from those like it; 0 where nothing is like it. In the arena; NULL when memory is out. */
const size_t *ps_cut_places(ps_arena *arena, const char *const *texts, size_t n, size_t stride,
                            size_t width, bool utf8);

/* As ps_text_middle(), but showing what stands at `place`, one of ps_cut_places(): "void spl…cta_per…" beside "void spl…warp_p…". */
void ps_text_cut(ps_buf *out, const char *text, size_t width, size_t place, bool utf8);

#endif
