#include "write/shorten.h"

#include <string.h>

#include "base/utf8.h"

const char *ps_text_clean(ps_arena *arena, const char *text) {
    size_t n = strlen(text);
    char *copy = ps_arena_strndup(arena, text, n);
    for (size_t i = 0; copy != NULL && i < n;) {
        size_t len = ps_utf8_len(copy + i, n - i);
        unsigned char first = (unsigned char)copy[i];
        if (len == 0) {
            copy[i] = '?';
        } else if (first < 0x20 || first == 0x7F) {
            copy[i] = ' ';
        } else if (len == 2 && first == 0xC2 && (unsigned char)copy[i + 1] < 0xA0) {
            copy[i] = ' ';
            copy[i + 1] = ' ';
        }
        i += len > 0 ? len : 1;
    }
    return copy;
}

/* The part of `s` left when its first `columns` columns are dropped, a character across the edge too. */
static const char *drop_columns(const char *s, size_t columns) {
    size_t n = strlen(s);
    size_t skip = ps_utf8_fit(s, n, columns);
    if (skip < n && ps_utf8_columns(s, skip) < columns) {
        size_t len = ps_utf8_len(s + skip, n - skip);
        skip += len > 0 ? len : 1;
    }
    return s + skip;
}

void ps_text_middle(ps_buf *out, const char *text, size_t width, bool utf8) {
    size_t n = strlen(text);
    size_t columns = ps_utf8_columns(text, n);
    if (columns <= width) {
        ps_buf_add(out, text, n);
        return;
    }
    size_t n_dots = utf8 ? 1 : 3;
    size_t tail = (width - n_dots) / 2;
    ps_buf_add(out, text, ps_utf8_fit(text, n, width - n_dots - tail));
    ps_buf_add_str(out, utf8 ? "…" : "...");
    ps_buf_add_str(out, drop_columns(text, columns - tail));
}
