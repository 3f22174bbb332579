#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "base/watch.h"

#define MAX_BYTES ((size_t)1 << 30)
#define BYTES_BETWEEN_QUESTIONS ((size_t)1 << 16)

void ps_buf_init(ps_buf *b, size_t max_bytes) {
    *b = (ps_buf){.max = max_bytes};
}

void ps_buf_fini(ps_buf *b) {
    ps_free(b->data);
    *b = (ps_buf){.max = b->max};
}

void ps_buf_clear(ps_buf *b) {
    b->len = 0;
    b->failed = false;
    if (b->data != NULL) {
        b->data[0] = '\0';
    }
}

/* Asks, and lets so much more be filled until the next question. False: it was stopped, or memory is out. */
static bool watched_room(ps_buf *b, size_t n, size_t max) {
    b->cap = b->held;
    bool ok = ps_watch_ask(b->watch, NULL) == PS_OK &&
              ps_grow(&b->data, &b->cap, b->len + n + 1, max + 1, 1);
    b->held = b->cap;
    size_t end = b->len + n + 1 + BYTES_BETWEEN_QUESTIONS;
    b->cap = b->cap < end ? b->cap : end;
    return ok;
}

char *ps_buf_more_room(ps_buf *b, size_t n) {
    size_t max = b->max > 0 ? b->max : MAX_BYTES;
    if (b->watch != NULL && !b->failed && n <= max - b->len) {
        b->failed = !watched_room(b, n, max);
        return b->failed ? NULL : b->data + b->len;
    }
    if (b->failed || n > max - b->len || !ps_grow(&b->data, &b->cap, b->len + n + 1, max + 1, 1)) {
        b->failed = true;
        return NULL;
    }
    return b->data + b->len;
}

void ps_buf_add(ps_buf *b, const void *bytes, size_t n) {
    char *at = ps_buf_room(b, n);
    if (at != NULL) {
        if (n > 0) {
            memcpy(at, bytes, n);
        }
        ps_buf_wrote(b, n);
    }
}

void ps_buf_add_str(ps_buf *b, const char *s) {
    ps_buf_add(b, s, strlen(s));
}

void ps_buf_add_char(ps_buf *b, char c) {
    ps_buf_add(b, &c, 1);
}

void ps_buf_add_fill(ps_buf *b, char c, size_t n) {
    char *at = ps_buf_room(b, n);
    if (at != NULL) {
        memset(at, c, n);
        ps_buf_wrote(b, n);
    }
}

void ps_buf_addf(ps_buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || ps_buf_room(b, (size_t)n) == NULL) {
        b->failed = true;
        return;
    }
    va_start(ap, fmt);
    (void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

void ps_buf_add_fixed(ps_buf *b, double value, unsigned decimals) {
    uint64_t one = 1;
    for (unsigned i = 0; i < decimals && i < 9; i++) {
        one *= 10;
    }
    double scaled = (value < 0 ? -value : value) * (double)one + 0.5;
    uint64_t n = !(scaled >= 0)  ? 0
                 : scaled < 9e18 ? (uint64_t)scaled
                                 : UINT64_C(9000000000000000000);
    ps_buf_addf(b, "%s%llu", value < 0 && n > 0 ? "-" : "", (unsigned long long)(n / one));
    if (one > 1) {
        ps_buf_addf(b, ".%0*llu", (int)(decimals < 9 ? decimals : 9),
                    (unsigned long long)(n % one));
    }
}

static bool is_buf_plain(unsigned char c) {
    static const uint64_t PLAIN[4] = {~UINT64_C(0) << 0x20 & ~(UINT64_C(1) << '"'),
                                      ~(UINT64_C(1) << ('\\' - 64))};
    return (PLAIN[c >> 6] >> (c & 63) & 1) != 0;
}

/* The high bit of some byte is set when one of them may be below `low`. */
static uint64_t buf_below(uint64_t word, unsigned char low) {
    return (word - UINT64_C(0x0101010101010101) * low) & ~word;
}

/* Of 8 bytes. */
static bool all_plain(const char *s) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word = 0;
    memcpy(&word, s, sizeof word);
    uint64_t odd = word | buf_below(word, 0x20) | buf_below(word ^ ones * '"', 1) |
                   buf_below(word ^ ones * '\\', 1);
    return (odd & ones << 7) == 0;
}

/* Bytes up to the first that a JSON string may not hold as it is, or that is not ASCII. */
static size_t n_plain(const char *s, size_t n) {
    size_t i = 0;
    while (n - i >= 8 && all_plain(s + i)) {
        i += 8;
    }
    if (n >= 8 && n - i < 8 && all_plain(s + n - 8)) {
        return n;
    }
    while (i < n && is_buf_plain((unsigned char)s[i])) {
        i++;
    }
    return i;
}

/* One character that is not plain; returns how many bytes it was. */
static size_t add_special(ps_buf *b, const char *s, size_t n) {
    static const char HEX[] = "0123456789abcdef";
    unsigned char c = (unsigned char)s[0];
    if (c == '"' || c == '\\') {
        ps_buf_add(b, (char[]){'\\', (char)c}, 2);
        return 1;
    }
    if (c < 0x20) {
        ps_buf_add(b, (char[]){'\\', 'u', '0', '0', HEX[c >> 4], HEX[c & 15]}, 6);
        return 1;
    }
    size_t len = ps_utf8_len(s, n);
    ps_buf_add(b, len > 0 ? s : "\xEF\xBF\xBD", len > 0 ? len : 3);
    return len > 0 ? len : 1;
}

void ps_buf_add_json_str(ps_buf *b, const char *s, size_t n) {
    size_t i = n_plain(s, n);
    char *at = ps_buf_room(b, i + 2); /* the quotes; mostly that is all */
    if (at == NULL) {
        return;
    }
    at[0] = '"';
    memcpy(at + 1, s, i);
    at[i + 1] = '"';
    ps_buf_wrote(b, i + (i == n ? 2 : 1));
    if (i == n) {
        return;
    }
    while (i < n) {
        i += add_special(b, s + i, n - i);
        size_t plain = n_plain(s + i, n - i);
        ps_buf_add(b, s + i, plain);
        i += plain;
    }
    ps_buf_add(b, "\"", 1);
}

bool ps_buf_ok(const ps_buf *b) {
    return !b->failed;
}

const char *ps_buf_str(const ps_buf *b) {
    return b->data != NULL ? b->data : "";
}
