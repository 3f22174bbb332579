/* Pieces of JSON text, for the scanner of big traces (read/events/trace_events.h): where a value ends, what a number or a
 * string says. Small documents are read whole by literal.h.
 *
 * Nothing here allocates or knows of files. */
#ifndef PS_BASE_JSON_H
#define PS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of what is read and what is written. */
#define PS_JSON_MAX_DEPTH 64

typedef enum ps_json_status {
    PS_JSON_OK,
    PS_JSON_MORE, /* the text may go on behind its end */
    PS_JSON_BAD,  /* no JSON; the position is that of the first byte that cannot be */
    PS_JSON_DEEP  /* nested deeper than allowed */
} ps_json_status;

/* What a word outside quotes is. */
typedef enum ps_json_word {
    PS_JSON_NUMBER,
    PS_JSON_TRUE,
    PS_JSON_FALSE,
    PS_JSON_NULL,
    PS_JSON_NOT_A_NUMBER, /* NaN, Infinity as several languages print them */
    PS_JSON_BAD_NUMBER,   /* meant as a number, but JSON has none like it: 007, +1, .5, 0x1F */
    PS_JSON_NO_WORD
} ps_json_word;

static inline bool ps_json_is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Bytes that a word can consist of. */
static inline bool ps_json_is_word_byte(char c) {
    char lower = (char)(c | 0x20);
    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') || c == '-' || c == '+' ||
           c == '.' || c == '_';
}

ps_json_word ps_json_word_of(const char *s, size_t n);

static inline bool ps_json_is_number(const char *s, size_t n) {
    return ps_json_word_of(s, n) == PS_JSON_NUMBER;
}

/* A JSON number times 10^shift as an integer, rounded half to even. False when it does not fit int64. `*rounded`:
 * something was cut off. */
bool ps_json_scaled(const char *s, size_t n, int shift, int64_t *out, bool *rounded);

/* A JSON number as the nearest double. False when it is beyond the range of one. Numbers longer than 4096 bytes are
 * beyond. */
bool ps_json_real(const char *s, size_t n, double *out);

/* What was odd in a string. */
enum {
    PS_JSON_ODD_UTF8 = 1 << 0, /* bytes or surrogates that are no character: U+FFFD in the result */
    PS_JSON_ODD_ESCAPE = 1 << 1, /* a backslash that begins no escape: kept as it is */
    PS_JSON_ODD_COMMA = 1 << 2,  /* before a closing bracket: left out */
    PS_JSON_ODD_NUMBER = 1 << 3  /* no number of JSON: null in its place */
};

/* The text between two quotes, unescaped, into `out` (room for 3 * n bytes). Returns its length. */
size_t ps_json_unescape(const char *raw, size_t n, char *out, unsigned *odd);
bool ps_json_is_utf8(const char *s, size_t n);

/* Moves *p from the first byte of a string's text behind its closing quote; *has_escape: it holds a backslash. */
ps_json_status ps_json_skip_string(const char **p, const char *end, bool *has_escape);

/* Moves *p behind a value, by the state of strings and brackets alone. Between a bracket and its partner other text is
 * not judged, except that what stands before and behind a string must be allowed there, and no backslash outside of one:
 * a stray quote is noticed soon.
 * `depth` is how many levels are open already. */
ps_json_status ps_json_skip_value(const char **p, const char *end, int depth);

/* Whether an array or object is JSON, but for what ps_json_tidy mends. *is_tidy: there is nothing to mend; *n_tidy: what
 * ps_json_tidy will write. */
bool ps_json_check(const char *s, size_t n, bool *is_tidy, size_t *n_tidy);

/* Whether the text is one value of any kind that needs no mending, with space around it or not, and may stand where `open`
 * levels are open already. */
bool ps_json_is_value(const char *s, size_t n, int open);

/* Writes an array or object that was checked so that every reader takes it: commas before a closing bracket go, and line breaks; NaN and
 * its kind become null, bytes that are no character U+FFFD; control characters and stray backslashes in strings are
 * escaped. Returns the length. */
size_t ps_json_tidy(const char *s, size_t n, char *out, unsigned *odd);

#endif
