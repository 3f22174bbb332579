#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t ps_utf8_len(const char *s, size_t n) {
    const unsigned char *p = (const unsigned char *)s;
    if (n == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    size_t len = 0;
    uint32_t low = 0;
    uint32_t code = 0;
    if (p[0] >= 0xC2 && p[0] <= 0xDF) {
        len = 2, low = 0x80, code = p[0] & 0x1Fu;
    } else if ((p[0] & 0xF0) == 0xE0) {
        len = 3, low = 0x800, code = p[0] & 0x0Fu;
    } else if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        len = 4, low = 0x10000, code = p[0] & 0x07u;
    } else {
        return 0;
    }
    if (n < len) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
        code = code << 6 | (p[i] & 0x3Fu);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < low || code > 0x10FFFF || surrogate ? 0 : len;
}

size_t ps_utf8_run(const char *s, size_t n) {
    size_t i = 0;
    while (i < n) {
        uint64_t eight = 0;
        if (n - i >= sizeof eight) {
            memcpy(&eight, s + i, sizeof eight);
            if ((eight & 0x8080808080808080u) == 0) {
                i += sizeof eight;
                continue;
            }
        }
        size_t len = ps_utf8_len(s + i, n - i);
        if (len == 0) {
            break;
        }
        i += len;
    }
    return i;
}

/* The wide blocks that names of ranks and hosts can hold: CJK, kana, hangul, full-width forms, emoji. */
static bool is_wide(const char *s, size_t len) {
    const unsigned char *p = (const unsigned char *)s;
    if (len == 3) {
        uint32_t code = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
               (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
               (code >= 0xFF00 && code <= 0xFF60);
    }
    return len == 4 && p[0] == 0xF0 && p[1] >= 0x9F;
}

size_t ps_utf8_fit(const char *s, size_t n, size_t columns) {
    size_t i = 0;
    while (i < n) {
        size_t len = ps_utf8_len(s + i, n - i);
        size_t width = len > 0 && is_wide(s + i, len) ? 2 : 1;
        if (width > columns) {
            break;
        }
        columns -= width;
        i += len > 0 ? len : 1;
    }
    return i;
}

size_t ps_utf8_columns(const char *s, size_t n) {
    size_t columns = 0;
    size_t i = 0;
    while (i < n) {
        size_t len = ps_utf8_len(s + i, n - i);
        columns += len > 0 && is_wide(s + i, len) ? 2 : 1;
        i += len > 0 ? len : 1;
    }
    return columns;
}

size_t ps_utf8_put(char out[static 4], uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

void ps_utf8_drop_pieces(char *text) {
    size_t n = strlen(text);
    size_t kept = 0;
    for (size_t at = 0; at < n;) {
        size_t bytes = (unsigned char)text[at] < 0x80 ? 1 : ps_utf8_len(text + at, n - at);
        if (kept < at) {
            memmove(text + kept, text + at, bytes);
        }
        kept += bytes;
        at += bytes > 0 ? bytes : 1;
    }
    text[kept] = '\0';
}
