#include "base/json_write.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/num.h"

enum { MAX_DIGITS = 20 };

static void ps_json_misuse(ps_json *j) {
    assert(false && "JSON that is written out of order");
    j->out->failed = true;
}

/* --- what stands between ---------------------------------------------------------------------------------- */

static void put_json_write_line(ps_json *j) {
    char *at = ps_buf_room(j->out, (size_t)j->line);
    if (at != NULL) {
        *at++ = '\n';
        for (int i = 1; i < j->line; i++) {
            *at++ = ' ';
        }
        ps_buf_wrote(j->out, (size_t)j->line);
    }
    j->line = 0;
}

/* Before a key, or a value of an array. */
static inline void put_separator(ps_json *j) {
    char *at = ps_buf_room(j->out, 2);
    if (at != NULL) {
        size_t n = j->filled & 1;
        at[0] = ',';
        at[n] = ' ';
        ps_buf_wrote(j->out, j->spaced && j->line == 0 ? 2 * n : n);
    }
    if (j->line != 0) {
        put_json_write_line(j);
    }
    j->filled |= 1;
}

/* Before a value: a comma, or nothing behind a key. */
void ps_json_value(ps_json *j) {
    if (j->has_key) {
        j->has_key = false;
        if (j->line != 0) {
            put_json_write_line(j);
        }
    } else if ((j->objects & 1) != 0 || (j->depth == 0 && (j->filled & 1) != 0)) {
        ps_json_misuse(j);
    } else {
        put_separator(j);
    }
}

/* Where a value of at most `n` bytes goes; NULL when there is no room. */
static inline char *value_room(ps_json *j, size_t n) {
    if (j->has_key && j->line == 0) {
        j->has_key = false;
    } else {
        ps_json_value(j);
    }
    return ps_buf_room(j->out, n);
}

static bool begin_key(ps_json *j) {
    if (j->has_key || (j->objects & 1) == 0) {
        ps_json_misuse(j);
        return false;
    }
    put_separator(j);
    j->has_key = true;
    return true;
}

void ps_json_key_slow(ps_json *j, const char *quoted, size_t n) {
    if (begin_key(j)) {
        ps_buf_add(j->out, quoted, n);
        if (j->spaced) {
            ps_buf_add_char(j->out, ' ');
        }
    }
}

void ps_json_name(ps_json *j, const char *name, size_t n) {
    if (begin_key(j)) {
        ps_buf_add_json_str(j->out, name, n);
        char *at = ps_buf_room(j->out, 2);
        if (at != NULL) {
            memcpy(at, ": ", 2);
            ps_buf_wrote(j->out, j->spaced ? 2 : 1);
        }
    }
}

void ps_json_members(ps_json *j, const char *text, size_t n) {
    if (n > 0 && begin_key(j)) {
        char *at = ps_buf_room(j->out, n);
        if (at != NULL) {
            memcpy(at, text, n);
            ps_buf_wrote(j->out, n);
        }
        j->has_key = false;
    }
}

/* --- levels ------------------------------------------------------------------------------------------------ */

static void open_level(ps_json *j, bool is_object) {
    char *at = value_room(j, 1);
    if (j->depth == PS_JSON_MAX_DEPTH) {
        ps_json_misuse(j);
        return;
    }
    if (at != NULL) {
        *at = is_object ? '{' : '[';
        ps_buf_wrote(j->out, 1);
    }
    j->objects = j->objects << 1 | is_object;
    j->filled <<= 1;
    j->depth++;
}

void ps_json_object(ps_json *j) {
    open_level(j, true);
}

void ps_json_array(ps_json *j) {
    open_level(j, false);
}

void ps_json_close(ps_json *j) {
    if (j->depth == 0 || j->has_key) {
        ps_json_misuse(j);
        return;
    }
    if (j->line != 0) {
        put_json_write_line(j);
    }
    char *at = ps_buf_room(j->out, 1);
    if (at != NULL) {
        *at = (j->objects & 1) != 0 ? '}' : ']';
        ps_buf_wrote(j->out, 1);
    }
    j->objects >>= 1;
    j->filled = j->filled >> 1 | 1; /* with what just ended */
    j->depth--;
}

/* --- values ------------------------------------------------------------------------------------------------ */

void ps_json_str_n(ps_json *j, const char *s, size_t n) {
    ps_json_value(j);
    ps_buf_add_json_str(j->out, s, n);
}

void ps_json_text(ps_json *j, const ps_buf *text) {
    ps_json_str_n(j, ps_buf_str(text), text->len);
    j->out->failed = j->out->failed || !ps_buf_ok(text);
}

void ps_json_null(ps_json *j) {
    ps_json_raw(j, "null", 4);
}

void ps_json_str(ps_json *j, const char *s) {
    if (s != NULL) {
        ps_json_str_n(j, s, strlen(s));
    } else {
        ps_json_null(j);
    }
}

void ps_json_bool(ps_json *j, bool value) {
    ps_json_raw(j, value ? "true" : "false", value ? 4 : 5);
}

void ps_json_raw(ps_json *j, const char *text, size_t n) {
    char *at = value_room(j, n);
    if (at != NULL) {
        memcpy(at, text, n);
        ps_buf_wrote(j->out, n);
    }
}

static unsigned count_digits(uint64_t value) {
    for (unsigned n = 1;; n += 4, value /= 10000) {
        if (value < 100) {
            return n + (value >= 10);
        }
        if (value < 10000) {
            return n + 2 + (value >= 1000);
        }
    }
}

/* `n` digits, in place: a copy from elsewhere would wait for what was just written. */
static inline void put_digits(char *at, uint64_t value, unsigned n) {
    static const char PAIRS[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    while (n >= 2) {
        n -= 2;
        memcpy(at + n, PAIRS + 2 * (value % 100), 2);
        value /= 100;
    }
    if (n > 0) {
        *at = (char)('0' + value);
    }
}

/* `quote` is 1 for a string. */
static inline void put_int(ps_json *j, uint64_t size, bool is_negative, size_t quote) {
    char *at = value_room(j, MAX_DIGITS + 3);
    if (at == NULL) {
        return;
    }
    unsigned n = count_digits(size);
    *at = '"';
    at[quote] = '-';
    put_digits(at + quote + is_negative, size, n);
    at[quote + is_negative + n] = '"';
    ps_buf_wrote(j->out, n + is_negative + 2 * quote);
}

void ps_json_uint(ps_json *j, uint64_t value) {
    put_int(j, value, false, 0);
}

void ps_json_int(ps_json *j, int64_t value) {
    put_int(j, ps_magnitude(value), value < 0, 0);
}

void ps_json_int_exact(ps_json *j, int64_t value) {
    const int64_t exact = (int64_t)1 << 53;
    if (value > exact || value < -exact) {
        ps_json_int_text(j, value);
    } else {
        ps_json_int(j, value);
    }
}

void ps_json_int_text(ps_json *j, int64_t value) {
    put_int(j, ps_magnitude(value), value < 0, 1);
}

/* With `quotes` on both sides, 0 or 1. */
static void put_us(ps_json *j, int64_t ns, unsigned quotes) {
    char *at = value_room(j, MAX_DIGITS + 3 + 2 * quotes);
    if (at == NULL) {
        return;
    }
    uint64_t size = ps_magnitude(ns);
    unsigned n = count_digits(size / 1000);
    *at = '"';
    at += quotes;
    *at = '-';
    at += ns < 0;
    put_digits(at, size / 1000, n);
    at[n] = '.';
    put_digits(at + n + 1, size % 1000, 3);
    if (quotes != 0) {
        at[n + 4] = '"';
    }
    ps_buf_wrote(j->out, n + 4 + (ns < 0) + 2 * quotes);
}

void ps_json_us(ps_json *j, int64_t ns) {
    put_us(j, ns, 0);
}

void ps_json_us_text(ps_json *j, int64_t ns) {
    put_us(j, ns, 1);
}

void ps_json_numberf(ps_json *j, const char *fmt, ...) {
    char text[64];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof text) {
        ps_json_misuse(j);
        return;
    }
    ps_json_raw(j, text, (size_t)n);
}
