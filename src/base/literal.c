/* A recursive-descent parser with a depth limit. Strings may be in double or single quotes; both know the
 * escapes of JSON and those that Python's repr() writes (\' \xNN). */
#include "base/literal.h"

#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

#define MAX_DEPTH 64
#define MAX_NODES ((size_t)1 << 20)

typedef struct parser {
    ps_arena *arena;
    const char *text;
    size_t n, at, n_nodes;
    bool is_packed;
    ps_err *err;
} parser;

static ps_literal *parse_value(parser *p, int depth);

static void *lit_fail_at(parser *p, ps_code code, const char *what) {
    (void)ps_fail(p->err, code, "%s", what);
    if (p->err != NULL) {
        p->err->offset = p->at;
    }
    return NULL;
}

static void skip_lit_space(parser *p) {
    while (p->at < p->n && (p->text[p->at] == ' ' || p->text[p->at] == '\t' ||
                            p->text[p->at] == '\n' || p->text[p->at] == '\r')) {
        p->at++;
    }
}

static bool take_lit(parser *p, char c) {
    skip_lit_space(p);
    if (p->at < p->n && p->text[p->at] == c) {
        p->at++;
        return true;
    }
    return false;
}

static bool next_is(parser *p, char c) {
    skip_lit_space(p);
    return p->at < p->n && p->text[p->at] == c;
}

static ps_literal *new_node(parser *p, ps_literal_kind kind) {
    if (p->n_nodes++ >= MAX_NODES) {
        return lit_fail_at(p, PS_RANGE, "too many values");
    }
    ps_literal *v = ps_arena_alloc(p->arena, sizeof *v);
    if (v == NULL) {
        return lit_fail_at(p, PS_NOMEM, "out of memory");
    }
    *v = (ps_literal){.kind = kind};
    return v;
}

static int lit_hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool hex_number(const parser *p, size_t at, size_t digits, uint32_t *out) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        int d = at + i < p->n ? lit_hex_digit(p->text[at + i]) : -1;
        if (d < 0) {
            return false;
        }
        value = value << 4 | (uint32_t)d;
    }
    *out = value;
    return true;
}

/* \uXXXX, joining a surrogate pair; p->at stands behind "\u". Writes at most 4 bytes, which the six bytes
 * of the escape always have room for. A lone surrogate becomes U+FFFD. */
static bool lit_unicode_escape(parser *p, char *out, size_t *n_out) {
    uint32_t c = 0;
    if (!hex_number(p, p->at, 4, &c)) {
        return false;
    }
    p->at += 4;
    if (c >= 0xD800 && c < 0xDC00 && p->at + 1 < p->n && p->text[p->at] == '\\' &&
        p->text[p->at + 1] == 'u') {
        uint32_t low = 0;
        if (hex_number(p, p->at + 2, 4, &low) && low >= 0xDC00 && low < 0xE000) {
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            p->at += 6;
        }
    }
    *n_out += ps_utf8_put(out + *n_out, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    return true;
}

static bool escape_lit(parser *p, char *out, size_t *n_out) {
    if (p->at >= p->n) {
        return false;
    }
    static const char FROM[] = "\"'\\/bfnrt";
    static const char TO[] = "\"'\\/\b\f\n\r\t";
    char c = p->text[p->at++];
    const char *plain = c != '\0' ? strchr(FROM, c) : NULL;
    uint32_t byte = 0;
    if (plain != NULL) {
        out[(*n_out)++] = TO[plain - FROM];
        return true;
    }
    if (c == 'u') {
        return lit_unicode_escape(p, out, n_out);
    }
    if (c == 'x' && hex_number(p, p->at, 2, &byte)) {
        p->at += 2;
        *n_out += ps_utf8_put(out + *n_out, byte);
        return true;
    }
    return false;
}

/* The string whose opening quote was just passed. */
static char *parse_string(parser *p, char quote, size_t *len) {
    size_t end = p->at;
    while (end < p->n && p->text[end] != quote) {
        end += p->text[end] == '\\' ? 2 : 1;
    }
    if (end >= p->n) {
        return lit_fail_at(p, PS_SYNTAX, "string without an end");
    }
    char *out = ps_arena_alloc(p->arena, end - p->at + 1); /* unescaping never lengthens */
    if (out == NULL) {
        return lit_fail_at(p, PS_NOMEM, "out of memory");
    }
    size_t n = 0;
    while (p->at < end) {
        char c = p->text[p->at++];
        if (c != '\\') {
            out[n++] = c;
        } else if (!escape_lit(p, out, &n)) {
            return lit_fail_at(p, PS_SYNTAX, "bad escape in a string");
        }
    }
    p->at = end + 1;
    out[n] = '\0';
    *len = n;
    return out;
}

static size_t skip_digits(parser *p) {
    size_t start = p->at;
    while (p->at < p->n && p->text[p->at] >= '0' && p->text[p->at] <= '9') {
        p->at++;
    }
    return p->at - start;
}

/* -12.5e+3: a sign, digits, a fraction, an exponent; all but the digits may be absent. */
static bool skip_number(parser *p) {
    p->at += p->text[p->at] == '-';
    if (skip_digits(p) == 0) {
        return false;
    }
    if (p->at < p->n && p->text[p->at] == '.') {
        p->at++;
        (void)skip_digits(p);
    }
    if (p->at < p->n && (p->text[p->at] | 0x20) == 'e') {
        p->at++;
        p->at += p->at < p->n && (p->text[p->at] == '+' || p->text[p->at] == '-');
        return skip_digits(p) > 0;
    }
    return true;
}

static ps_literal *parse_lit_number(parser *p) {
    size_t start = p->at;
    if (!skip_number(p)) {
        p->at = start;
        return lit_fail_at(p, PS_SYNTAX, "expected a value");
    }
    ps_literal *v = new_node(p, PS_LITERAL_NUMBER);
    if (v == NULL) {
        return NULL;
    }
    size_t n = p->at - start;
    if (ps_parse_i64(p->text + start, n, &v->integer)) {
        v->kind = PS_LITERAL_INT;
    }
    v->text = ps_arena_strndup(p->arena, p->text + start, n);
    v->len = n;
    return v->text != NULL ? v : lit_fail_at(p, PS_NOMEM, "out of memory");
}

static ps_literal *parse_word(parser *p) {
    static const struct {
        const char *word;
        ps_literal_kind kind;
        bool value;
    } WORDS[] = {{"true", PS_LITERAL_BOOL, true},      {"True", PS_LITERAL_BOOL, true},
                 {"false", PS_LITERAL_BOOL, false},    {"False", PS_LITERAL_BOOL, false},
                 {"null", PS_LITERAL_NULL, false},     {"None", PS_LITERAL_NULL, false},
                 {"NaN", PS_LITERAL_NULL, false},      {"Infinity", PS_LITERAL_NULL, false},
                 {"-Infinity", PS_LITERAL_NULL, false}};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        size_t n = strlen(WORDS[i].word);
        if (p->n - p->at >= n && memcmp(p->text + p->at, WORDS[i].word, n) == 0) {
            p->at += n;
            ps_literal *v = new_node(p, WORDS[i].kind);
            if (v != NULL) {
                v->boolean = WORDS[i].value;
            }
            return v;
        }
    }
    return lit_fail_at(p, PS_SYNTAX, "expected a value");
}

static char *parse_key(parser *p) {
    skip_lit_space(p);
    size_t len = 0;
    char quote = p->at < p->n ? p->text[p->at] : '\0';
    if (quote != '"' && quote != '\'') {
        return lit_fail_at(p, PS_SYNTAX, "expected a key");
    }
    p->at++;
    char *key = parse_string(p, quote, &len);
    if (key != NULL && !take_lit(p, ':')) {
        return lit_fail_at(p, PS_SYNTAX, "expected ':' behind a key");
    }
    return key;
}

/* Takes an integer and the comma or bracket behind it, which is the last one's. False: it is none of few enough digits, or something else
 * follows. One pass, with nothing else between: each rank of a job lists all of its group. */
static bool take_int(parser *p, char close, int64_t *value, bool *is_last) {
    enum { MOST_DIGITS = 18 }; /* of any value an int64 has room for */
    const char *at = p->text + p->at;
    const char *end = p->text + p->n;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
        at++;
    }
    bool is_negative = at < end && *at == '-';
    at += is_negative;
    const char *first = at;
    int64_t sum = 0;
    for (; at < end && at - first <= MOST_DIGITS && *at >= '0' && *at <= '9'; at++) {
        sum = at - first < MOST_DIGITS ? sum * 10 + (*at - '0') : sum;
    }
    ptrdiff_t n_digits = at - first;
    p->at = (size_t)(at - p->text);
    skip_lit_space(p);
    if (n_digits == 0 || n_digits > MOST_DIGITS || p->at >= p->n) {
        return false;
    }
    char behind = p->text[p->at++];
    *value = is_negative ? -sum : sum;
    *is_last = behind == close;
    return *is_last || behind == ',';
}

/* PS_NOTHING: it is another array, and the parser stands where it stood. */
static ps_code take_ints(parser *p, char close, ps_int_runs *out) {
    size_t start = p->at;
    size_t most = MAX_NODES - p->n_nodes;
    int64_t value = 0;
    bool is_last = false;
    while (!is_last && out->n < most && take_int(p, close, &value, &is_last)) {
        if (!ps_int_runs_add(out, p->arena, value)) {
            (void)lit_fail_at(p, PS_NOMEM, "out of memory");
            return PS_NOMEM;
        }
    }
    if (is_last) {
        p->n_nodes += out->n;
        return PS_OK;
    }
    *out = (ps_int_runs){0};
    p->at = start;
    return PS_NOTHING;
}

static ps_literal *parse_members(parser *p, ps_literal_kind kind, char close, int depth) {
    ps_literal *parent = new_node(p, kind);
    if (parent == NULL || take_lit(p, close)) {
        return parent;
    }
    ps_code packed =
        p->is_packed && kind == PS_LITERAL_ARRAY ? take_ints(p, close, &parent->ints) : PS_NOTHING;
    if (packed != PS_NOTHING) {
        return packed == PS_OK ? parent : NULL;
    }
    ps_literal **tail = &parent->child;
    do {
        char *key = NULL;
        if (kind == PS_LITERAL_OBJECT && (key = parse_key(p)) == NULL) {
            return NULL;
        }
        skip_lit_space(p);
        size_t start = p->at;
        ps_literal *node = parse_value(p, depth + 1);
        if (node == NULL) {
            return NULL;
        }
        node->key = key;
        node->begin = p->text + start;
        node->source_len = p->at - start;
        *tail = node;
        tail = &node->next;
    } while (take_lit(p, ',') && !(close == ')' && next_is(p, close))); /* ('alone',) */
    return take_lit(p, close) ? parent
                              : lit_fail_at(p, PS_SYNTAX, "expected ',' or a closing bracket");
}

static ps_literal *parse_value(parser *p, int depth) {
    skip_lit_space(p);
    if (p->at >= p->n) {
        return lit_fail_at(p, PS_SYNTAX, "unexpected end");
    }
    char c = p->text[p->at];
    if (c == '{' || c == '[' || c == '(') {
        if (depth >= MAX_DEPTH) {
            return lit_fail_at(p, PS_RANGE, "nested too deeply");
        }
        p->at++;
        return c == '{' ? parse_members(p, PS_LITERAL_OBJECT, '}', depth)
                        : parse_members(p, PS_LITERAL_ARRAY, c == '[' ? ']' : ')', depth);
    }
    if (c == '"' || c == '\'') {
        p->at++;
        ps_literal *v = new_node(p, PS_LITERAL_STRING);
        if (v != NULL) {
            v->text = parse_string(p, c, &v->len);
        }
        return v != NULL && v->text != NULL ? v : NULL;
    }
    bool digit_follows =
        c == '-' && p->at + 1 < p->n && p->text[p->at + 1] >= '0' && p->text[p->at + 1] <= '9';
    return digit_follows || (c >= '0' && c <= '9') ? parse_lit_number(p) : parse_word(p);
}

static const ps_literal *parse_document(parser *p) {
    const ps_literal *v = parse_value(p, 0);
    skip_lit_space(p);
    if (v != NULL && p->at < p->n) {
        return lit_fail_at(p, PS_SYNTAX, "text behind the end of the document");
    }
    return v;
}

const ps_literal *ps_literal_parse(ps_arena *arena, const char *text, size_t n, ps_err *err) {
    parser p = {.arena = arena, .text = text, .n = n, .err = err};
    return parse_document(&p);
}

const ps_literal *ps_literal_parse_packed(ps_arena *arena, const char *text, size_t n,
                                          ps_err *err) {
    parser p = {.arena = arena, .text = text, .n = n, .is_packed = true, .err = err};
    return parse_document(&p);
}

bool ps_literal_int_runs(const ps_literal *array, int64_t otherwise, ps_arena *arena,
                         ps_int_runs *out) {
    *out = (ps_int_runs){0};
    if (array == NULL || array->kind != PS_LITERAL_ARRAY || array->ints.n > 0) {
        return array == NULL || ps_int_runs_copy(&array->ints, arena, out);
    }
    bool ok = true;
    for (const ps_literal *v = array->child; ok && v != NULL; v = v->next) {
        int64_t value = otherwise;
        (void)ps_literal_int(v, &value);
        ok = ps_int_runs_add(out, arena, value);
    }
    return ok;
}

const ps_literal *ps_literal_get(const ps_literal *object, const char *key) {
    const ps_literal *found = NULL;
    if (object != NULL && object->kind == PS_LITERAL_OBJECT) {
        for (const ps_literal *v = object->child; v != NULL; v = v->next) {
            found = strcmp(v->key, key) == 0 ? v : found;
        }
    }
    return found;
}

bool ps_literal_int(const ps_literal *v, int64_t *out) {
    if (v == NULL) {
        return false;
    }
    if (v->kind == PS_LITERAL_INT) {
        *out = v->integer;
        return true;
    }
    return v->kind == PS_LITERAL_STRING && ps_parse_i64(v->text, v->len, out);
}

const char *ps_literal_str(const ps_literal *v) {
    return v != NULL && v->kind == PS_LITERAL_STRING ? v->text : NULL;
}
