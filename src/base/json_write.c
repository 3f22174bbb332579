#include "base/json_write.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { MAX_DIGITS = 20 };

static void ps_json_misuse(ps_json *j) {
    assert(!"JSON that is written out of order");
    j->out->failed = true;
}

/* --- what stands between ---------------------------------------------------------------------------------- */

static void put_line(ps_json *j) {
    ps_buf_add_char(j->out, '\n');
    ps_buf_add_fill(j->out, ' ', (size_t)(j->line - 1));
    j->line = 0;
}

/* Before a key, or a value of an array. */
static void put_separator(ps_json *j) {
    if ((j->filled & 1) != 0) {
        ps_buf_add_char(j->out, ',');
    }
    if (j->line != 0) {
        put_line(j);
    } else if (j->spaced && (j->filled & 1) != 0) {
        ps_buf_add_char(j->out, ' ');
    }
    j->filled |= 1;
}

/* Before a value: a comma, or nothing behind a key. */
void ps_json_value(ps_json *j) {
    if (j->has_key) {
        j->has_key = false;
        if (j->line != 0) {
            put_line(j);
        }
    } else if ((j->objects & 1) != 0 || (j->depth == 0 && (j->filled & 1) != 0)) {
        ps_json_misuse(j);
    } else {
        put_separator(j);
    }
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
        ps_buf_add(j->out, ": ", j->spaced ? 2 : 1);
    }
}

/* --- levels ------------------------------------------------------------------------------------------------ */

static void open_level(ps_json *j, bool is_object) {
    ps_json_value(j);
    if (j->depth == PS_JSON_MAX_DEPTH) {
        ps_json_misuse(j);
        return;
    }
    ps_buf_add_char(j->out, is_object ? '{' : '[');
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
        put_line(j);
    }
    ps_buf_add_char(j->out, (j->objects & 1) != 0 ? '}' : ']');
    j->objects >>= 1;
    j->filled = j->filled >> 1 | 1; /* with what just ended */
    j->depth--;
}

/* --- values ------------------------------------------------------------------------------------------------ */

void ps_json_str_n(ps_json *j, const char *s, size_t n) {
    ps_json_value(j);
    ps_buf_add_json_str(j->out, s, n);
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
    ps_json_value(j);
    ps_buf_add(j->out, text, n);
}

/* The digits of `value` before `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t value) {
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return end;
}

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void ps_json_uint(ps_json *j, uint64_t value) {
    char text[MAX_DIGITS];
    char *end = text + sizeof text;
    char *at = digits_before(end, value);
    ps_json_raw(j, at, (size_t)(end - at));
}

/* `quote` is 1 for a string. */
static void put_int(ps_json *j, int64_t value, size_t quote) {
    char text[MAX_DIGITS + 3];
    char *end = text + sizeof text;
    end[-1] = '"';
    char *at = digits_before(end - quote, magnitude(value));
    if (value < 0) {
        *--at = '-';
    }
    at[-1] = '"';
    at -= quote;
    ps_json_raw(j, at, (size_t)(end - at));
}

void ps_json_int(ps_json *j, int64_t value) {
    put_int(j, value, 0);
}

void ps_json_int_text(ps_json *j, int64_t value) {
    put_int(j, value, 1);
}

void ps_json_us(ps_json *j, int64_t ns) {
    char text[MAX_DIGITS + 2];
    char *end = text + sizeof text;
    uint64_t size = magnitude(ns);
    uint64_t rest = size % 1000;
    end[-1] = (char)('0' + rest % 10);
    end[-2] = (char)('0' + rest / 10 % 10);
    end[-3] = (char)('0' + rest / 100);
    end[-4] = '.';
    char *at = digits_before(end - 4, size / 1000);
    if (ns < 0) {
        *--at = '-';
    }
    ps_json_raw(j, at, (size_t)(end - at));
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
