#include "write/json_text.h"

#include <math.h>

#include "base/utf8.h"
#include "write/number_text.h"

/* --- texts --------------------------------------------------------------------------------------------- */

static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* One character that is not plain; returns how many bytes it was. */
static size_t put_special(ps_byte_out *out, const char *s, size_t n) {
    static const char HEX[] = "0123456789abcdef";
    unsigned char c = (unsigned char)s[0];
    if (c == '"' || c == '\\') {
        ps_byte_out_add(out, (char[]){'\\', (char)c}, 2);
        return 1;
    }
    if (c < 0x20) {
        ps_byte_out_add(out, (char[]){'\\', 'u', '0', '0', HEX[c >> 4], HEX[c & 15]}, 6);
        return 1;
    }
    size_t len = ps_utf8_len(s, n);
    if (len == 0) {
        ps_byte_out_add(out, "\xEF\xBF\xBD", 3);
        return 1;
    }
    ps_byte_out_add(out, s, len);
    return len;
}

void ps_json_put_str(ps_byte_out *out, const char *s, size_t n) {
    ps_byte_out_add(out, "\"", 1);
    size_t i = 0;
    while (i < n) {
        size_t begin = i;
        while (i < n && is_plain((unsigned char)s[i])) {
            i++;
        }
        ps_byte_out_add(out, s + begin, i - begin);
        if (i < n) {
            i += put_special(out, s + i, n - i);
        }
    }
    ps_byte_out_add(out, "\"", 1);
}

/* --- numbers ------------------------------------------------------------------------------------------- */

enum { MAX_DIGITS = 20 };

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

void ps_json_put_i64(ps_byte_out *out, int64_t value) {
    char text[MAX_DIGITS + 1];
    char *end = text + sizeof text;
    char *at = digits_before(end, magnitude(value));
    if (value < 0) {
        *--at = '-';
    }
    ps_byte_out_add(out, at, (size_t)(end - at));
}

void ps_json_put_us(ps_byte_out *out, int64_t ns) {
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
    ps_byte_out_add(out, at, (size_t)(end - at));
}

/* Most numbers in profiles have few decimals: r / 10^d is the double nearest to that decimal, since both are exact
 * below 2^53. False when `value` is none of them. */
static bool put_short_real(ps_byte_out *out, double value) {
    static const double POWERS[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6};
    double size = fabs(value);
    for (unsigned d = 1; d < sizeof POWERS / sizeof POWERS[0]; d++) {
        double scaled = nearbyint(size * POWERS[d]);
        if (scaled >= 9007199254740992.0) {
            return false;
        }
        if (scaled / POWERS[d] != size) {
            continue;
        }
        char text[MAX_DIGITS + 8];
        char *end = text + sizeof text;
        uint64_t number = (uint64_t)scaled;
        char *at = end;
        for (unsigned i = 0; i < d; i++) {
            *--at = (char)('0' + number % 10);
            number /= 10;
        }
        *--at = '.';
        at = digits_before(at, number);
        if (signbit(value)) {
            *--at = '-';
        }
        ps_byte_out_add(out, at, (size_t)(end - at));
        return true;
    }
    return false;
}

void ps_json_put_real(ps_byte_out *out, double value) {
    if (isnan(value) || isinf(value)) {
        ps_byte_out_add_str(out, isnan(value) ? "\"NaN\""
                                 : value > 0  ? "\"Infinity\""
                                              : "\"-Infinity\"");
    } else if (!put_short_real(out, value)) {
        char text[PS_NUMBER_TEXT];
        ps_real_shortest(value, text);
        ps_byte_out_add_str(out, text);
        if (strpbrk(text, ".e") == NULL) {
            ps_byte_out_add(out, ".0", 2);
        }
    }
}

/* --- checks -------------------------------------------------------------------------------------------- */

typedef struct scan {
    const char *s;
    size_t n, at;
} scan;

static char peek(const scan *c) {
    return c->at < c->n ? c->s[c->at] : '\0';
}

static bool take(scan *c, char wanted) {
    bool found = c->at < c->n && c->s[c->at] == wanted;
    c->at += found;
    return found;
}

static size_t take_digits(scan *c) {
    size_t begin = c->at;
    while (peek(c) >= '0' && peek(c) <= '9') {
        c->at++;
    }
    return c->at - begin;
}

static bool take_number(scan *c) {
    (void)take(c, '-');
    if (!take(c, '0') && take_digits(c) == 0) {
        return false;
    }
    if (take(c, '.') && take_digits(c) == 0) {
        return false;
    }
    if (peek(c) == 'e' || peek(c) == 'E') {
        c->at++;
        if (!take(c, '+')) {
            (void)take(c, '-');
        }
        return take_digits(c) > 0;
    }
    return true;
}

bool ps_json_is_number(const char *s, size_t n) {
    scan c = {s, n, 0};
    return take_number(&c) && c.at == n;
}

static bool take_hex4(scan *c) {
    for (int i = 0; i < 4; i++, c->at++) {
        char x = peek(c);
        if (!((x >= '0' && x <= '9') || (x >= 'a' && x <= 'f') || (x >= 'A' && x <= 'F'))) {
            return false;
        }
    }
    return true;
}

static bool take_string(scan *c) {
    if (!take(c, '"')) {
        return false;
    }
    while (c->at < c->n) {
        if (take(c, '"')) {
            return true;
        }
        unsigned char x = (unsigned char)c->s[c->at];
        if (x == '\\') {
            c->at++;
            char kind = peek(c);
            c->at++;
            if (kind == '\0' || strchr("\"\\/bfnrtu", kind) == NULL ||
                (kind == 'u' && !take_hex4(c))) {
                return false;
            }
            continue;
        }
        size_t len = x < 0x20 ? 0 : ps_utf8_len(c->s + c->at, c->n - c->at);
        if (len == 0) {
            return false;
        }
        c->at += len;
    }
    return false;
}

static bool take_word(scan *c) {
    static const char *const WORDS[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        size_t n = strlen(WORDS[i]);
        if (n <= c->n - c->at && memcmp(c->s + c->at, WORDS[i], n) == 0) {
            c->at += n;
            return true;
        }
    }
    return false;
}

static void skip_space(scan *c) {
    while (c->at < c->n && strchr(" \t\r\n", c->s[c->at]) != NULL && c->s[c->at] != '\0') {
        c->at++;
    }
}

static bool take_key(scan *c) {
    skip_space(c);
    if (!take_string(c)) {
        return false;
    }
    skip_space(c);
    return take(c, ':');
}

/* A value that holds no other. */
static bool take_plain(scan *c) {
    char x = peek(c);
    return x == '"' ? take_string(c)
                    : (x == '-' || (x >= '0' && x <= '9') ? take_number(c) : take_word(c));
}

bool ps_json_is_value(const char *s, size_t n) {
    scan c = {s, n, 0};
    bool is_object[PS_JSON_MAX_DEPTH];
    size_t depth = 0;
    for (;;) { /* at the beginning of a value */
        skip_space(&c);
        char x = peek(&c);
        if (x == '{' || x == '[') {
            if (depth == PS_JSON_MAX_DEPTH) {
                return false;
            }
            c.at++;
            is_object[depth++] = x == '{';
            skip_space(&c);
            if (peek(&c) != (x == '{' ? '}' : ']')) {
                if (x == '{' && !take_key(&c)) {
                    return false;
                }
                continue;
            }
        } else if (!take_plain(&c)) {
            return false;
        }
        for (;;) { /* at the end of a value, or before the closing bracket of an empty one */
            skip_space(&c);
            if (depth == 0) {
                return c.at == c.n;
            }
            if (take(&c, ',')) {
                break;
            }
            if (!take(&c, is_object[depth - 1] ? '}' : ']')) {
                return false;
            }
            depth--;
        }
        if (is_object[depth - 1] && !take_key(&c)) {
            return false;
        }
    }
}
