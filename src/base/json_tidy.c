/* One walk over a nested value does both jobs: with a place to write it mends, without one it only judges. */
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

typedef struct walk {
    const char *at, *end;
    char *out; /* NULL: only judges */
    size_t n_out;
    unsigned odd;
    bool is_tidy, has_breaks;
    uint64_t objects; /* bit per open level: an object */
    int depth, max_depth;
} walk;

static void put_json_tidy(walk *w, const char *s, size_t n) {
    if (w->out != NULL) {
        memcpy(w->out + w->n_out, s, n);
    }
    w->n_out += n;
}

/* Writes something else than what stands there. */
static void mend(walk *w, const char *s, unsigned odd) {
    w->is_tidy = false;
    w->odd |= odd;
    put_json_tidy(w, s, strlen(s));
}

/* Copies white space, true when something follows. A line break goes with what is indented behind it: values are compared by their text,
 * however a file is laid out. */
static bool take_space(walk *w) {
    const char *from = w->at;
    bool breaks = false;
    while (w->at < w->end && ps_json_is_space(*w->at)) {
        breaks = breaks || *w->at == '\n' || *w->at == '\r';
        w->at++;
    }
    if (!breaks) {
        put_json_tidy(w, from, (size_t)(w->at - from));
    } else {
        bool separates = (from[-1] == ',' || from[-1] == ':') && w->at < w->end;
        put_json_tidy(w, " ", separates ? 1 : 0);
        w->has_breaks = true;
    }
    return w->at < w->end;
}

/* Bytes of a good escape, 0 for none. Half of a surrogate pair is good here: it is JSON, whatever it means. */
static size_t escape_length(const char *s, size_t n) {
    if (n >= 2 && s[1] != '\0' && strchr("\"\\/bfnrt", s[1]) != NULL) {
        return 2;
    }
    if (n < 6 || s[1] != 'u') {
        return 0;
    }
    for (int i = 2; i < 6; i++) {
        char lower = (char)(s[i] | 0x20);
        if (!((s[i] >= '0' && s[i] <= '9') || (lower >= 'a' && lower <= 'f'))) {
            return 0;
        }
    }
    return 6;
}

/* One character of a string. */
static void take_character(walk *w) {
    const char *s = w->at;
    size_t left = (size_t)(w->end - s);
    size_t n = *s == '\\' ? escape_length(s, left) : ps_utf8_len(s, left);
    if (n == 0) {
        mend(w, *s == '\\' ? "\\\\" : "\xEF\xBF\xBD",
             *s == '\\' ? PS_JSON_ODD_ESCAPE : PS_JSON_ODD_UTF8);
        w->at++;
        return;
    }
    if ((unsigned char)*s < 0x20) {
        char escape[8];
        (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*s);
        mend(w, escape, 0);
    } else {
        put_json_tidy(w, s, n);
    }
    w->at += n;
}

/* At its first quote. A stray backslash before the quote that ends the value leaves no end: no JSON. */
static bool take_string(walk *w) {
    put_json_tidy(w, w->at++, 1);
    while (w->at < w->end && *w->at != '"') {
        take_character(w);
    }
    if (w->at >= w->end) {
        return false;
    }
    put_json_tidy(w, w->at++, 1);
    return true;
}

static bool take_word(walk *w) {
    const char *from = w->at;
    while (w->at < w->end && ps_json_is_word_byte(*w->at)) {
        w->at++;
    }
    size_t n = (size_t)(w->at - from);
    switch (ps_json_word_of(from, n)) {
    case PS_JSON_NO_WORD:
        return false;
    case PS_JSON_NOT_A_NUMBER:
    case PS_JSON_BAD_NUMBER:
        mend(w, "null", PS_JSON_ODD_NUMBER);
        return true;
    default:
        put_json_tidy(w, from, n);
        return true;
    }
}

static bool take_key(walk *w) {
    if (*w->at != '"' || !take_string(w) || !take_space(w) || *w->at != ':') {
        return false;
    }
    put_json_tidy(w, w->at++, 1);
    return take_space(w);
}

/* Behind an opening bracket or a comma: the beginning of a value, or the end of the level. */
static bool take_json_tidy_value(walk *w, bool *is_container) {
    bool in_object = (w->objects & 1) != 0;
    *is_container = false;
    if (in_object && !take_key(w)) {
        return false;
    }
    if (*w->at == '{' || *w->at == '[') {
        *is_container = true;
        if (w->depth >= w->max_depth) {
            return false;
        }
        w->objects = w->objects << 1 | (*w->at == '{');
        w->depth++;
        put_json_tidy(w, w->at++, 1);
        return true;
    }
    return *w->at == '"' ? take_string(w) : take_word(w);
}

/* Closes levels as far as they end here; then a comma may have been read. *first: nothing stands in the level yet. */
static bool take_ends(walk *w, bool *first, bool *comma) {
    *comma = false;
    while (w->depth > 0) {
        if (!take_space(w)) {
            return false;
        }
        char c = *w->at;
        if (c == ',' && !*first) {
            const char *next = w->at + 1;
            while (next < w->end && ps_json_is_space(*next)) {
                next++;
            }
            if (next < w->end && *next != '}' && *next != ']') {
                put_json_tidy(w, w->at++, 1);
                *comma = true;
                return take_space(w);
            }
            mend(w, "", PS_JSON_ODD_COMMA);
            w->at++;
            continue;
        }
        if (c != ((w->objects & 1) != 0 ? '}' : ']')) {
            return *first;
        }
        put_json_tidy(w, w->at++, 1);
        w->objects >>= 1;
        w->depth--;
        *first = false;
    }
    return true;
}

static bool walk_all(walk *w) {
    bool first = true;
    bool comma = false;
    bool is_container = false;
    if (w->at == w->end || (*w->at != '{' && *w->at != '[') ||
        !take_json_tidy_value(w, &is_container)) {
        return false;
    }
    while (w->depth > 0) {
        first = is_container;
        if (!take_ends(w, &first, &comma)) {
            return false;
        }
        if (w->depth > 0 && ((!comma && !first) || !take_json_tidy_value(w, &is_container))) {
            return false;
        }
    }
    return w->at == w->end;
}

bool ps_json_check(const char *s, size_t n, bool *is_tidy, size_t *n_tidy) {
    walk w = {.at = s, .end = s + n, .is_tidy = true, .max_depth = PS_JSON_MAX_DEPTH};
    bool ok = walk_all(&w);
    *is_tidy = w.is_tidy && !w.has_breaks;
    *n_tidy = w.n_out;
    return ok;
}

bool ps_json_is_value(const char *s, size_t n, int open) {
    while (n > 0 && ps_json_is_space(s[n - 1])) {
        n--;
    }
    while (n > 0 && ps_json_is_space(*s)) {
        s++;
        n--;
    }
    walk w = {.at = s, .end = s + n, .is_tidy = true, .max_depth = PS_JSON_MAX_DEPTH - open};
    bool ok = n > 0 && (*s == '{' || *s == '[' ? walk_all(&w)
                        : *s == '"'            ? take_string(&w)
                                               : take_word(&w));
    return ok && w.at == w.end && w.is_tidy;
}

size_t ps_json_tidy(const char *s, size_t n, char *out, unsigned *odd) {
    walk w = {.at = s, .end = s + n, .out = out, .is_tidy = true, .max_depth = PS_JSON_MAX_DEPTH};
    (void)walk_all(&w);
    *odd = w.odd;
    return w.n_out;
}
