/* JSON text into a buffer of fixed size (nvtx_json.h). */
#include "record/nvtx/nvtx_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void ps_json_out_init(ps_json_out *j, char *out, size_t size) {
    *j = (ps_json_out){.out = out,
                       .limit = size > PS_JSON_OUT_RESERVE ? size - PS_JSON_OUT_RESERVE : 0};
}

bool ps_json_out_raw(ps_json_out *j, const char *text, size_t n) {
    if (j->n > j->limit || n > j->limit - j->n) {
        j->full = true;
        return false;
    }
    memcpy(j->out + j->n, text, n);
    j->n += n;
    return true;
}

void ps_json_out_close(ps_json_out *j, const char *text) {
    size_t n = strlen(text);
    if (n <= j->limit + PS_JSON_OUT_RESERVE - j->n) {
        memcpy(j->out + j->n, text, n);
        j->n += n;
    }
}

bool ps_json_out_u64(ps_json_out *j, uint64_t v) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    return ps_json_out_raw(j, digits + at, sizeof digits - at);
}

bool ps_json_out_i64(ps_json_out *j, int64_t v) {
    size_t before = j->n;
    if (v < 0 && !ps_json_out_raw(j, "-", 1)) {
        return false;
    }
    if (!ps_json_out_u64(j, v < 0 ? 0 - (uint64_t)v : (uint64_t)v)) {
        j->n = before;
        return false;
    }
    return true;
}

bool ps_json_out_u128(ps_json_out *j, uint64_t high, uint64_t low, bool negative) {
    __extension__ typedef unsigned __int128 u128;
    u128 v = (u128)high << 64 | low;
    if (negative) {
        v = 0 - v;
    }
    char digits[40];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v != 0);
    if (negative) {
        digits[--at] = '-';
    }
    return ps_json_out_raw(j, digits + at, sizeof digits - at);
}

static const char HEX[] = "0123456789abcdef";

bool ps_json_out_bits(ps_json_out *j, uint64_t v) {
    char text[20];
    size_t at = sizeof text;
    text[--at] = '"';
    do {
        text[--at] = HEX[v & 15];
        v >>= 4;
    } while (v != 0);
    text[--at] = 'x';
    text[--at] = '0';
    text[--at] = '"';
    return ps_json_out_raw(j, text + at, sizeof text - at);
}

/* As few digits as give the same number again. The program may have set a language with another decimal point. */
static size_t shortest(double v, bool single, char *text, size_t size) {
    static const int DIGITS[2][2] = {{15, 17}, {6, 9}};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, size, "%.*g", DIGITS[single][i], v);
        double back = strtod(text, NULL);
        if (single ? (float)back == (float)v : memcmp(&back, &v, sizeof v) == 0) {
            break;
        }
    }
    size_t n = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if ((*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e') {
            text[n++] = *p;
        } else if (n == 0 || text[n - 1] != '.') {
            text[n++] = '.';
        }
    }
    return n;
}

bool ps_json_out_real(ps_json_out *j, double v, bool single) {
    if (isnan(v)) {
        return ps_json_out_raw(j, "\"NaN\"", 5);
    }
    if (isinf(v)) {
        return v > 0 ? ps_json_out_raw(j, "\"Infinity\"", 10)
                     : ps_json_out_raw(j, "\"-Infinity\"", 11);
    }
    char text[48];
    size_t n = shortest(v, single, text, sizeof text);
    return ps_json_out_raw(j, text, n);
}

static bool escaped(ps_json_out *j, unsigned char c) {
    char text[6] = {'\\', (char)c, 0, 0, 0, 0};
    size_t n = 2;
    switch (c) {
    case '"':
    case '\\':
        break;
    case '\n':
        text[1] = 'n';
        break;
    case '\t':
        text[1] = 't';
        break;
    case '\r':
        text[1] = 'r';
        break;
    default:
        memcpy(text + 1, "u00", 3);
        text[4] = HEX[c >> 4];
        text[5] = HEX[c & 15];
        n = 6;
    }
    return ps_json_out_raw(j, text, n);
}

static bool is_json_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

bool ps_json_out_text(ps_json_out *j, const char *s, size_t n) {
    size_t before = j->n;
    bool fits = ps_json_out_raw(j, "\"", 1);
    for (size_t i = 0; fits && i < n;) {
        size_t plain = i;
        while (plain < n && is_json_plain((unsigned char)s[plain])) {
            plain++;
        }
        if (plain > i) {
            fits = ps_json_out_raw(j, s + i, plain - i);
            i = plain;
        } else if ((unsigned char)s[i] < 0x80) {
            fits = escaped(j, (unsigned char)s[i++]);
        } else {
            size_t length = ps_utf8_len(s + i, n - i);
            fits = length == 0 ? ps_json_out_raw(j, "\xef\xbf\xbd", 3)
                               : ps_json_out_raw(j, s + i, length);
            i += length == 0 ? 1 : length;
        }
    }
    fits = fits && ps_json_out_raw(j, "\"", 1);
    if (!fits) {
        j->n = before;
    }
    return fits;
}

bool ps_json_out_hex(ps_json_out *j, const void *bytes, size_t n, size_t max) {
    const unsigned char *b = bytes;
    size_t before = j->n;
    bool fits = ps_json_out_raw(j, "\"", 1);
    for (size_t i = 0; fits && i < n && i < max; i++) {
        char pair[2] = {HEX[b[i] >> 4], HEX[b[i] & 15]};
        fits = ps_json_out_raw(j, pair, 2);
    }
    fits = fits && ps_json_out_raw(j, "\"", 1);
    if (!fits) {
        j->n = before;
    }
    return fits;
}
