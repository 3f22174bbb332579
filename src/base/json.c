#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

/* --- words and numbers ------------------------------------------------------------------------------- */

static size_t n_digits(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && ps_is_digit(s[i])) {
        i++;
    }
    return i;
}

/* -12.5e+3 split into its parts. */
typedef struct decimal {
    bool negative;
    const char *whole, *fraction;
    size_t n_whole, n_fraction;
    int64_t exponent; /* within +-2^40 */
} decimal;

static bool split_exponent(const char *s, size_t n, int64_t *out) {
    bool negative = n > 0 && s[0] == '-';
    size_t i = n > 0 && (s[0] == '-' || s[0] == '+');
    if (i == n || n_digits(s + i, n - i) != n - i) {
        return false;
    }
    int64_t value = 0;
    for (; i < n; i++) {
        value = value < ((int64_t)1 << 36) ? value * 10 + (s[i] - '0') : value;
    }
    *out = negative ? -value : value;
    return true;
}

static bool split_json(const char *s, size_t n, decimal *d) {
    *d = (decimal){.negative = n > 0 && s[0] == '-'};
    size_t i = d->negative;
    d->whole = s + i;
    d->n_whole = n_digits(s + i, n - i);
    i += d->n_whole;
    if (d->n_whole == 0 || (d->n_whole > 1 && d->whole[0] == '0')) {
        return false;
    }
    if (i < n && s[i] == '.') {
        i++;
        d->fraction = s + i;
        d->n_fraction = n_digits(s + i, n - i);
        i += d->n_fraction;
        if (d->n_fraction == 0) {
            return false;
        }
    }
    return i == n ||
           ((s[i] == 'e' || s[i] == 'E') && split_exponent(s + i + 1, n - i - 1, &d->exponent));
}

static bool same_word(const char *s, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++) {
        if (word[i] == '\0' || (char)(s[i] | 0x20) != word[i]) {
            return false;
        }
    }
    return word[n] == '\0';
}

ps_json_word ps_json_word_of(const char *s, size_t n) {
    decimal d;
    if (n == 4 && memcmp(s, "true", 4) == 0) {
        return PS_JSON_TRUE;
    }
    if (n == 5 && memcmp(s, "false", 5) == 0) {
        return PS_JSON_FALSE;
    }
    if (n == 4 && memcmp(s, "null", 4) == 0) {
        return PS_JSON_NULL;
    }
    if (split_json(s, n, &d)) {
        return PS_JSON_NUMBER;
    }
    size_t sign = n > 0 && (s[0] == '-' || s[0] == '+');
    if (same_word(s + sign, n - sign, "nan") || same_word(s + sign, n - sign, "inf") ||
        same_word(s + sign, n - sign, "infinity")) {
        return PS_JSON_NOT_A_NUMBER;
    }
    size_t point = sign + (sign < n && s[sign] == '.');
    return point < n && ps_is_digit(s[point]) ? PS_JSON_BAD_NUMBER : PS_JSON_NO_WORD;
}

static int digit_at(const decimal *d, size_t i) {
    return (i < d->n_whole ? d->whole[i] : d->fraction[i - d->n_whole]) - '0';
}

static bool is_zero(const decimal *d) {
    for (size_t i = 0; i < d->n_whole + d->n_fraction; i++) {
        if (digit_at(d, i) != 0) {
            return false;
        }
    }
    return true;
}

bool ps_json_scaled(const char *s, size_t n, int shift, int64_t *out, bool *rounded) {
    decimal d;
    *rounded = false;
    *out = 0;
    if (!split_json(s, n, &d)) {
        return false;
    }
    if (is_zero(&d)) {
        return true;
    }
    int64_t n_all = (int64_t)(d.n_whole + d.n_fraction);
    int64_t point = (int64_t)d.n_whole + d.exponent + shift; /* digits before the result's point */
    int64_t value = 0;
    int64_t i = 0;
    for (; i < n_all && i < point; i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit_at(&d, (size_t)i), &value)) {
            return false;
        }
    }
    for (; i < point; i++) {
        if (__builtin_mul_overflow(value, 10, &value)) {
            return false;
        }
    }
    int next = i == point && i < n_all ? digit_at(&d, (size_t)i++) : 0;
    bool rest = false;
    for (; i < n_all && !rest; i++) {
        rest = digit_at(&d, (size_t)i) != 0;
    }
    *rounded = next != 0 || rest;
    if ((next > 5 || (next == 5 && (rest || value % 2 == 1))) &&
        __builtin_add_overflow(value, 1, &value)) {
        return false;
    }
    *out = d.negative ? -value : value;
    return true;
}

bool ps_json_real(const char *s, size_t n, double *out) {
    char text[4097];
    if (n >= sizeof text) {
        return false;
    }
    memcpy(text, s, n);
    text[n] = '\0';
    *out = strtod(text, NULL);
    return *out >= -1.7976931348623157e308 && *out <= 1.7976931348623157e308;
}

/* --- strings ----------------------------------------------------------------------------------------- */

bool ps_json_is_utf8(const char *s, size_t n) {
    return ps_utf8_run(s, n) == n;
}

static bool hex4(const char *s, size_t n, uint32_t *out) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = i < n ? s[i] : '\0';
        char lower = (char)(c | 0x20);
        if (ps_is_digit(c)) {
            value = value << 4 | (uint32_t)(c - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            value = value << 4 | (uint32_t)(lower - 'a' + 10);
        } else {
            return false;
        }
    }
    *out = value;
    return true;
}

/* \uXXXX at s, with its partner when it is the first of a surrogate pair. Returns the bytes read, 0 when it is none. */
static size_t json_unicode_escape(const char *s, size_t n, char *out, size_t *n_out,
                                  unsigned *odd) {
    uint32_t c = 0;
    uint32_t low = 0;
    if (n < 6 || !hex4(s + 2, n - 2, &c)) {
        return 0;
    }
    size_t read = 6;
    if (c >= 0xD800 && c < 0xDC00 && n >= 12 && s[6] == '\\' && s[7] == 'u' &&
        hex4(s + 8, n - 8, &low) && low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        read = 12;
    } else if (c >= 0xD800 && c < 0xE000) {
        c = 0xFFFD;
        *odd |= PS_JSON_ODD_UTF8;
    }
    *n_out += ps_utf8_put(out + *n_out, c);
    return read;
}

/* Bytes read of the escape at s, whose first byte is a backslash. */
static size_t escape_json(const char *s, size_t n, char *out, size_t *n_out, unsigned *odd) {
    static const char FROM[] = "\"\\/bfnrt";
    static const char TO[] = "\"\\/\b\f\n\r\t";
    char c = n > 1 ? s[1] : '\0';
    const char *plain = c != '\0' ? strchr(FROM, c) : NULL;
    if (plain != NULL) {
        out[(*n_out)++] = TO[plain - FROM];
        return 2;
    }
    size_t read = c == 'u' ? json_unicode_escape(s, n, out, n_out, odd) : 0;
    if (read == 0) {
        out[(*n_out)++] = '\\';
        *odd |= PS_JSON_ODD_ESCAPE;
        return 1;
    }
    return read;
}

/* Text without backslashes. */
static size_t copy_json_text(const char *s, size_t n, char *out, unsigned *odd) {
    if (ps_json_is_utf8(s, n)) {
        memcpy(out, s, n);
        return n;
    }
    size_t n_out = 0;
    for (size_t i = 0; i < n;) {
        size_t len = ps_utf8_len(s + i, n - i);
        if (len == 0) {
            n_out += ps_utf8_put(out + n_out, 0xFFFD);
            *odd |= PS_JSON_ODD_UTF8;
            i++;
        } else {
            memcpy(out + n_out, s + i, len);
            n_out += len;
            i += len;
        }
    }
    return n_out;
}

size_t ps_json_unescape(const char *raw, size_t n, char *out, unsigned *odd) {
    size_t n_out = 0;
    size_t i = 0;
    while (i < n) {
        const char *backslash = memchr(raw + i, '\\', n - i);
        size_t plain = backslash != NULL ? (size_t)(backslash - raw) - i : n - i;
        n_out += copy_json_text(raw + i, plain, out + n_out, odd);
        i += plain;
        i += i < n ? escape_json(raw + i, n - i, out, &n_out, odd) : 0;
    }
    return n_out;
}

/* --- skipping ---------------------------------------------------------------------------------------- */

ps_json_status ps_json_skip_string(const char **p, const char *end, bool *has_escape) {
    const char *s = *p;
    *has_escape = false;
    while (s < end && *s != '"') {
        if (*s == '\\') {
            *has_escape = true;
            s++;
        }
        s++;
    }
    *p = s < end ? s + 1 : end;
    return s < end ? PS_JSON_OK : PS_JSON_MORE;
}

static bool may_stand_beside_string(char c) {
    return ps_json_is_space(c) || c == ',' || c == ':' || c == '[' || c == ']' || c == '{' ||
           c == '}';
}

/* A string in an object or array, with what stands beside it. */
static ps_json_status skip_member_string(const char **p, const char *end) {
    const char *s = *p;
    bool has_escape = false;
    if (!may_stand_beside_string(s[-1])) {
        return PS_JSON_BAD;
    }
    s++;
    ps_json_status status = ps_json_skip_string(&s, end, &has_escape);
    *p = s;
    if (status != PS_JSON_OK || s == end) {
        return PS_JSON_MORE;
    }
    return may_stand_beside_string(*s) ? PS_JSON_OK : PS_JSON_BAD;
}

/* From an opening bracket to its partner. */
static ps_json_status skip_brackets(const char **p, const char *end, int depth) {
    int open = 0;
    while (*p < end) {
        char c = **p;
        if (c == '"') {
            ps_json_status status = skip_member_string(p, end);
            if (status != PS_JSON_OK) {
                return status;
            }
            continue;
        }
        if (c == '\\') {
            return PS_JSON_BAD;
        }
        if ((c == '{' || c == '[') && depth + ++open > PS_JSON_MAX_DEPTH) {
            return PS_JSON_DEEP;
        }
        (*p)++;
        if ((c == '}' || c == ']') && --open == 0) {
            return PS_JSON_OK;
        }
    }
    return PS_JSON_MORE;
}

ps_json_status ps_json_skip_value(const char **p, const char *end, int depth) {
    const char *s = *p;
    if (s == end) {
        return PS_JSON_MORE;
    }
    if (*s == '{' || *s == '[') {
        return skip_brackets(p, end, depth);
    }
    if (*s == '"') {
        bool has_escape = false;
        *p = s + 1;
        return ps_json_skip_string(p, end, &has_escape);
    }
    while (s < end && ps_json_is_word_byte(*s)) {
        s++;
    }
    if (s == end) {
        return PS_JSON_MORE;
    }
    ps_json_status status =
        ps_json_word_of(*p, (size_t)(s - *p)) != PS_JSON_NO_WORD ? PS_JSON_OK : PS_JSON_BAD;
    *p = status == PS_JSON_OK ? s : *p;
    return status;
}
