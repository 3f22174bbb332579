/* An expression becomes a program of steps with relative jumps, so that a piece can be repeated by copying it:
 *
 *   a(b|c)*      BYTES{a}  FORK +1 +6  FORK +1 +3  BYTES{b}  JUMP +2  BYTES{c}  JUMP -5  FOUND
 *
 * A look carries the set of steps that are possible at a place of the text (Thompson's construction): each step is in
 * the set at most once a place. */
#include "base/pattern.h"

#include <string.h>

#include "base/alloc.h"

#define MAX_SETS 512
#define MAX_DEPTH 64
#define MAX_REPEAT 1000
#define STEPS_CLEARED_IN_ONE 32

typedef enum op {
    OP_BYTES, /* one byte of set x */
    OP_JUMP,  /* to x */
    OP_FORK,  /* to x and y */
    OP_BEGIN, /* ^ */
    OP_END,   /* $ */
    OP_EDGE,  /* a word begins or ends here */
    OP_FOUND
} op;

typedef struct step {
    op op;
    int32_t x, y; /* from this step */
} step;

typedef struct byte_set {
    uint64_t bits[4];
} byte_set;

struct ps_pattern {
    unsigned how;
    uint64_t cost;
    char *text; /* of a plain one, lower case where that does not matter */
    size_t n_text;
    step *steps;
    size_t n, cap;
    byte_set *sets;
    size_t n_sets, cap_sets;
    byte_set first;    /* bytes that a match may begin with */
    bool may_be_empty; /* a match may be; then `first` says nothing */
    uint32_t *now, *next, *stack;
    uint32_t *mark; /* [n] place + 1 where the step was added last */
};

/* --- bytes ---------------------------------------------------------------------------------------------------- */

static void set_add(byte_set *s, unsigned char c) {
    s->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

static bool set_has(const byte_set *s, unsigned char c) {
    return (s->bits[c >> 6] >> (c & 63) & 1) != 0;
}

static void set_range(byte_set *s, unsigned from, unsigned to) {
    for (unsigned c = from; c <= to; c++) {
        set_add(s, (unsigned char)c);
    }
}

static unsigned char pattern_lower(unsigned char c) {
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

static bool is_pattern_digit(unsigned char c) {
    return c >= '0' && c <= '9';
}

static bool is_pattern_word(unsigned char c) {
    unsigned char l = pattern_lower(c);
    return (l >= 'a' && l <= 'z') || is_pattern_digit(c) || c == '_' || c >= 0x80;
}

/* Bytes of the character that begins at s, at least 1 of n > 0; what is no UTF-8 is a character of one byte. */
static size_t char_len(const char *s, size_t n) {
    unsigned char c = (unsigned char)s[0];
    size_t want = c < 0xC2 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 1;
    for (size_t i = 1; i < want; i++) {
        if (i >= n || ((unsigned char)s[i] & 0xC0) != 0x80) {
            return 1;
        }
    }
    return want;
}

/* --- compiling ------------------------------------------------------------------------------------------------ */

typedef struct parser {
    ps_pattern *p;
    const char *text;
    size_t n, at;
    unsigned depth;
    ps_err *err;
    ps_code code;
} parser;

static bool wrong(parser *c, const char *what) {
    if (c->code == PS_OK) {
        c->code =
            ps_fail(c->err, PS_USAGE, "regular expression, character %zu: %s", c->at + 1, what);
    }
    return false;
}

static bool no_memory(parser *c) {
    c->code = c->code == PS_OK ? ps_fail_nomem(c->err) : c->code;
    return false;
}

/* Makes room for n steps at `place`. */
static bool open_steps(parser *c, size_t place, size_t n) {
    ps_pattern *p = c->p;
    if (p->n + n > PS_PATTERN_MAX) {
        return wrong(c, "it becomes too large here");
    }
    if (!ps_grow(&p->steps, &p->cap, p->n + n, PS_PATTERN_MAX, sizeof *p->steps)) {
        return no_memory(c);
    }
    memmove(p->steps + place + n, p->steps + place, (p->n - place) * sizeof *p->steps);
    p->n += n;
    return true;
}

static bool insert(parser *c, size_t place, op what, ptrdiff_t x, ptrdiff_t y) {
    if (!open_steps(c, place, 1)) {
        return false;
    }
    c->p->steps[place] = (step){what, (int32_t)x, (int32_t)y};
    return true;
}

static bool append(parser *c, op what, ptrdiff_t x, ptrdiff_t y) {
    return insert(c, c->p->n, what, x, y);
}

static bool append_set(parser *c, byte_set set) {
    ps_pattern *p = c->p;
    if ((p->how & PS_PATTERN_CASE) == 0) {
        for (unsigned k = 'A'; k <= 'Z'; k++) {
            unsigned char u = (unsigned char)k;
            if (set_has(&set, u) || set_has(&set, pattern_lower(u))) {
                set_add(&set, u);
                set_add(&set, pattern_lower(u));
            }
        }
    }
    for (size_t i = 0; i < p->n_sets; i++) {
        if (memcmp(&p->sets[i], &set, sizeof set) == 0) {
            return append(c, OP_BYTES, (ptrdiff_t)i, 0);
        }
    }
    if (p->n_sets == MAX_SETS) {
        return wrong(c, "it becomes too large here");
    }
    if (!ps_grow(&p->sets, &p->cap_sets, p->n_sets + 1, MAX_SETS, sizeof *p->sets)) {
        return no_memory(c);
    }
    p->sets[p->n_sets++] = set;
    return append(c, OP_BYTES, (ptrdiff_t)p->n_sets - 1, 0);
}

static bool append_bytes(parser *c, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        byte_set set = {{0}};
        set_add(&set, (unsigned char)s[i]);
        if (!append_set(c, set)) {
            return false;
        }
    }
    return true;
}

/* What was appended from `begin` on becomes one of two ways: those steps, or what comes next. Returns the place of the jump
 * that must be told where both end. */
static bool begin_other(parser *c, size_t begin, size_t *jump) {
    ptrdiff_t n = (ptrdiff_t)(c->p->n - begin);
    *jump = c->p->n + 1;
    return insert(c, begin, OP_FORK, 1, n + 2) && append(c, OP_JUMP, 0, 0);
}

static void end_other(parser *c, size_t jump) {
    c->p->steps[jump].x = (int32_t)(c->p->n - jump);
}

/* A character of several bytes. */
static bool append_wide(parser *c) {
    static const struct {
        unsigned from, to, tail;
    } LEADS[] = {{0xC2, 0xDF, 1}, {0xE0, 0xEF, 2}, {0xF0, 0xF4, 3}};
    byte_set tail = {{0}};
    set_range(&tail, 0x80, 0xBF);
    size_t jumps[2] = {0};
    for (size_t i = 0; i < 3; i++) {
        size_t begin = c->p->n;
        byte_set lead = {{0}};
        set_range(&lead, LEADS[i].from, LEADS[i].to);
        bool ok = append_set(c, lead);
        for (unsigned k = 0; ok && k < LEADS[i].tail; k++) {
            ok = append_set(c, tail);
        }
        if (!ok || (i < 2 && !begin_other(c, begin, &jumps[i]))) {
            return false;
        }
    }
    end_other(c, jumps[0]);
    end_other(c, jumps[1]);
    return true;
}

/* One of the ASCII characters of `set`, or any other character. */
static bool append_set_or_wide(parser *c, byte_set set) {
    size_t begin = c->p->n;
    size_t jump = 0;
    if (!append_set(c, set) || !begin_other(c, begin, &jump) || !append_wide(c)) {
        return false;
    }
    end_other(c, jump);
    return true;
}

static byte_set inverse(byte_set set) {
    byte_set out = {{~set.bits[0], ~set.bits[1], 0, 0}};
    return out;
}

static bool letter_set(char letter, byte_set *out) {
    *out = (byte_set){{0}};
    switch (letter) {
    case 'd':
        set_range(out, '0', '9');
        return true;
    case 'w':
        set_range(out, '0', '9');
        set_range(out, 'A', 'Z');
        set_range(out, 'a', 'z');
        set_add(out, '_');
        return true;
    case 's':
        set_range(out, '\t', '\r');
        set_add(out, ' ');
        return true;
    default:
        return false;
    }
}

static bool parse_escape(parser *c) {
    if (c->at + 1 >= c->n) {
        return wrong(c, "nothing stands after the last \\");
    }
    char letter = c->text[c->at + 1];
    byte_set set;
    bool ok = true;
    if (letter_set(letter, &set)) {
        ok = append_set(c, set);
    } else if (letter_set((char)pattern_lower((unsigned char)letter), &set)) {
        ok = append_set_or_wide(c, inverse(set));
    } else if (letter == 'b') {
        ok = append(c, OP_EDGE, 0, 0);
    } else if (letter == 'n' || letter == 't') {
        ok = append_bytes(c, letter == 'n' ? "\n" : "\t", 1);
    } else if (is_pattern_word((unsigned char)letter)) {
        return wrong(c, is_pattern_digit((unsigned char)letter)
                            ? "references back are not known here"
                            : "this letter means nothing after \\");
    } else {
        ok = append_bytes(c, &letter, 1);
    }
    c->at += 2;
    return ok;
}

/* [:alpha:] inside of brackets; c->at stands on its "[:". */
static bool parse_class(parser *c, byte_set *set) {
    static const struct {
        const char *name;
        const char *ranges; /* pairs */
    } CLASSES[] = {{"alpha", "AZaz"},   {"digit", "09"},       {"alnum", "09AZaz"},
                   {"upper", "AZ"},     {"lower", "az"},       {"space", "\t\r  "},
                   {"blank", "\t\t  "}, {"punct", "!/:@[`{~"}, {"xdigit", "09AFaf"},
                   {"print", " ~"},     {"graph", "!~"},       {"word", "09AZaz__"}};
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++) {
        size_t n = strlen(CLASSES[i].name);
        if (c->n - c->at >= n + 4 && memcmp(c->text + c->at + 2, CLASSES[i].name, n) == 0 &&
            memcmp(c->text + c->at + 2 + n, ":]", 2) == 0) {
            for (const char *r = CLASSES[i].ranges; *r != '\0'; r += 2) {
                set_range(set, (unsigned char)r[0], (unsigned char)r[1]);
            }
            c->at += n + 4;
            return true;
        }
    }
    return wrong(c, "no such class of characters");
}

typedef struct brackets {
    byte_set set;
    bool is_not;
    const char *wide[32]; /* characters of several bytes, in the expression */
    size_t n_wide;
} brackets;

static bool parse_member(parser *c, brackets *b) {
    const char *s = c->text + c->at;
    size_t left = c->n - c->at;
    if (left >= 2 && s[0] == '[' && s[1] == ':') {
        return parse_class(c, &b->set);
    }
    byte_set of_letter;
    if (left >= 2 && s[0] == '\\' && letter_set(s[1], &of_letter)) {
        for (size_t i = 0; i < 4; i++) {
            b->set.bits[i] |= of_letter.bits[i];
        }
        c->at += 2;
        return true;
    }
    bool is_escaped = left >= 2 && s[0] == '\\' && !is_pattern_word((unsigned char)s[1]);
    c->at += is_escaped;
    s += is_escaped;
    size_t n = char_len(s, c->n - c->at);
    if (n > 1) {
        if (b->n_wide == sizeof b->wide / sizeof *b->wide) {
            return wrong(c, "too many characters in brackets");
        }
        b->wide[b->n_wide++] = s;
        c->at += n;
        return true;
    }
    unsigned char from = (unsigned char)s[0];
    unsigned char to = from;
    c->at++;
    if (c->n - c->at >= 2 && s[1] == '-' && s[2] != ']') {
        to = (unsigned char)s[2];
        if (to < from || to >= 0x80) {
            return wrong(c, "no such range of characters");
        }
        c->at += 2;
    }
    set_range(&b->set, from, to);
    return true;
}

static bool append_brackets(parser *c, const brackets *b) {
    if (b->is_not) {
        if (b->n_wide > 0) {
            return wrong(c, "[^...] takes ASCII characters only");
        }
        byte_set set = b->set;
        if ((c->p->how & PS_PATTERN_CASE) == 0) { /* neither of them */
            for (unsigned k = 'A'; k <= 'Z'; k++) {
                unsigned char u = (unsigned char)k;
                if (set_has(&set, u) || set_has(&set, pattern_lower(u))) {
                    set_add(&set, u);
                    set_add(&set, pattern_lower(u));
                }
            }
        }
        return append_set_or_wide(c, inverse(set));
    }
    size_t jumps[32];
    size_t begin = c->p->n;
    bool ok = append_set(c, b->set);
    for (size_t i = 0; ok && i < b->n_wide; i++) {
        ok = begin_other(c, begin, &jumps[i]);
        begin = c->p->n;
        ok = ok && append_bytes(c, b->wide[i], char_len(b->wide[i], 4));
    }
    for (size_t i = 0; ok && i < b->n_wide; i++) {
        end_other(c, jumps[i]);
    }
    return ok;
}

static bool parse_brackets(parser *c) {
    brackets b = {.is_not = c->at + 1 < c->n && c->text[c->at + 1] == '^'};
    size_t begin = c->at;
    c->at += b.is_not ? 2 : 1;
    for (bool is_first = true; is_first || c->at >= c->n || c->text[c->at] != ']';
         is_first = false) {
        if (c->at >= c->n) {
            c->at = begin;
            return wrong(c, "the bracket is never closed");
        }
        if (!parse_member(c, &b)) {
            return false;
        }
    }
    c->at++;
    return append_brackets(c, &b);
}

static bool parse_ways(parser *c);

static bool parse_atom(parser *c) {
    byte_set set = {{0}};
    size_t n = 0;
    switch (c->text[c->at]) {
    case '(':
        if (++c->depth > MAX_DEPTH) {
            return wrong(c, "too many parentheses inside of one another");
        }
        c->at += c->n - c->at >= 3 && memcmp(c->text + c->at, "(?:", 3) == 0 ? 3 : 1;
        if (!parse_ways(c)) {
            return false;
        }
        if (c->at >= c->n) {
            return wrong(c, "a parenthesis is never closed");
        }
        c->at++;
        c->depth--;
        return true;
    case '[':
        return parse_brackets(c);
    case '\\':
        return parse_escape(c);
    case '.':
        c->at++;
        return append_set_or_wide(c, inverse(set));
    case '^':
        c->at++;
        return append(c, OP_BEGIN, 0, 0);
    case '$':
        c->at++;
        return append(c, OP_END, 0, 0);
    case '*':
    case '+':
    case '?':
    case '{':
        return wrong(c, "nothing stands before it that could be repeated");
    default:
        n = char_len(c->text + c->at, c->n - c->at);
        c->at += n;
        return append_bytes(c, c->text + c->at - n, n);
    }
}

/* --- repeating ------------------------------------------------------------------------------------------------ */

static bool copy_steps(parser *c, const step *steps, size_t n) {
    size_t place = c->p->n;
    if (!open_steps(c, place, n)) {
        return false;
    }
    memcpy(c->p->steps + place, steps, n * sizeof *steps);
    return true;
}

static bool repeat_any(parser *c, size_t begin) {
    ptrdiff_t n = (ptrdiff_t)(c->p->n - begin);
    return insert(c, begin, OP_FORK, 1, n + 2) && append(c, OP_JUMP, -(n + 1), 0);
}

static bool parse_pattern_number(parser *c, size_t *out) {
    size_t begin = c->at;
    *out = 0;
    while (c->at < c->n && is_pattern_digit((unsigned char)c->text[c->at]) && *out <= MAX_REPEAT) {
        *out = *out * 10 + (size_t)(c->text[c->at++] - '0');
    }
    return c->at > begin;
}

/* {m}, {m,}, {m,n}, {,n}; steps from `begin` on are what is repeated. */
static bool parse_count(parser *c, size_t begin) {
    c->at++;
    size_t least = 0;
    size_t most = 0;
    bool has_least = parse_pattern_number(c, &least);
    bool has_comma = c->at < c->n && c->text[c->at] == ',';
    c->at += has_comma;
    bool has_most = has_comma ? parse_pattern_number(c, &most) : false;
    most = has_comma ? most : least;
    if (c->at >= c->n || c->text[c->at] != '}' || (!has_least && !has_most) || least > MAX_REPEAT ||
        most > MAX_REPEAT || ((has_most || !has_comma) && most < least)) {
        return wrong(c, "a number of repetitions is {m}, {m,} or {m,n} up to 1000");
    }
    c->at++;
    size_t n = c->p->n - begin;
    step *piece = ps_calloc(n + 1, sizeof *piece);
    if (piece == NULL) {
        return no_memory(c);
    }
    memcpy(piece, c->p->steps + begin, n * sizeof *piece);
    c->p->n = begin;
    bool ok = true;
    for (size_t i = 0; ok && i < least; i++) {
        ok = copy_steps(c, piece, n);
    }
    bool is_endless = has_comma && !has_most;
    for (size_t i = least; ok && (is_endless ? i == least : i < most); i++) {
        size_t from = c->p->n;
        ok = copy_steps(c, piece, n) &&
             (is_endless ? repeat_any(c, from) : insert(c, from, OP_FORK, 1, (ptrdiff_t)n + 1));
    }
    ps_free(piece);
    return ok;
}

static bool parse_repeated(parser *c) {
    size_t begin = c->p->n;
    bool ok = parse_atom(c);
    while (ok && c->at < c->n) {
        ptrdiff_t n = (ptrdiff_t)(c->p->n - begin);
        switch (c->text[c->at]) {
        case '*':
            ok = repeat_any(c, begin);
            c->at++;
            break;
        case '+':
            ok = append(c, OP_FORK, -n, 1);
            c->at++;
            break;
        case '?':
            ok = insert(c, begin, OP_FORK, 1, n + 1);
            c->at++;
            break;
        case '{':
            ok = parse_count(c, begin);
            break;
        default:
            return true;
        }
    }
    return ok;
}

/* a|b|c up to a closing parenthesis or the end. The jumps at the ends of the ways are chained by y until the end is known. */
static bool parse_ways(parser *c) {
    ptrdiff_t last_jump = -1;
    for (;;) {
        size_t begin = c->p->n;
        while (c->at < c->n && c->text[c->at] != '|' && c->text[c->at] != ')') {
            if (!parse_repeated(c)) {
                return false;
            }
        }
        if (c->at >= c->n || c->text[c->at] != '|') {
            break;
        }
        c->at++;
        size_t jump = 0;
        if (!begin_other(c, begin, &jump)) {
            return false;
        }
        c->p->steps[jump].y = (int32_t)last_jump;
        last_jump = (ptrdiff_t)jump;
    }
    while (last_jump >= 0) {
        ptrdiff_t before = c->p->steps[last_jump].y;
        end_other(c, (size_t)last_jump);
        last_jump = before;
    }
    return true;
}

/* --- looking -------------------------------------------------------------------------------------------------- */

static bool edge_at(const char *s, size_t n, size_t at) {
    bool before = at > 0 && is_pattern_word((unsigned char)s[at - 1]);
    bool after = at < n && is_pattern_word((unsigned char)s[at]);
    return before != after;
}

/* Adds a step and all that it leads to without a byte; true when that is the end. */
static bool add_pattern(ps_pattern *p, uint32_t *list, size_t *n_list, uint32_t from, const char *s,
                        size_t n, size_t at) {
    size_t depth = 0;
    p->stack[depth++] = from;
    while (depth > 0) {
        uint32_t i = p->stack[--depth];
        if (p->mark[i] == (uint32_t)at + 1) {
            continue;
        }
        p->mark[i] = (uint32_t)at + 1;
        p->cost++;
        const step *q = &p->steps[i];
        uint32_t x = (uint32_t)((int32_t)i + q->x);
        bool goes_on = false;
        switch (q->op) {
        case OP_FOUND:
            return true;
        case OP_BYTES:
            list[(*n_list)++] = i;
            break;
        case OP_FORK:
            p->stack[depth++] = (uint32_t)((int32_t)i + q->y);
            p->stack[depth++] = x;
            break;
        case OP_JUMP:
            p->stack[depth++] = x;
            break;
        case OP_BEGIN:
            goes_on = at == 0;
            break;
        case OP_END:
            goes_on = at == n;
            break;
        case OP_EDGE:
            goes_on = edge_at(s, n, at);
            break;
        }
        if (goes_on) {
            p->stack[depth++] = i + 1;
        }
    }
    return false;
}

static bool look_pattern(ps_pattern *p, const char *s, size_t n) {
    memset(p->mark, 0, p->n * sizeof *p->mark);
    p->cost += p->n / STEPS_CLEARED_IN_ONE;
    size_t n_now = 0;
    for (size_t at = 0; at <= n; at++) {
        bool may_begin = p->may_be_empty || (at < n && set_has(&p->first, (unsigned char)s[at]));
        if (may_begin && add_pattern(p, p->now, &n_now, 0, s, n, at)) {
            return true;
        }
        if (at == n) {
            break;
        }
        p->cost += n_now + 1;
        size_t n_next = 0;
        for (size_t k = 0; k < n_now; k++) {
            uint32_t i = p->now[k];
            if (set_has(&p->sets[p->steps[i].x], (unsigned char)s[at]) &&
                add_pattern(p, p->next, &n_next, i + 1, s, n, at + 1)) {
                return true;
            }
        }
        uint32_t *t = p->now;
        p->now = p->next;
        p->next = t;
        n_now = n_next;
    }
    return false;
}

/* The word edges at the two ends of an occurrence. */
static bool is_whole(const char *s, size_t n, size_t at, size_t len) {
    return len > 0 && edge_at(s, n, at) && edge_at(s, n, at + len);
}

static bool is_same(const ps_pattern *p, const char *s) {
    if ((p->how & PS_PATTERN_CASE) != 0) {
        return memcmp(s, p->text, p->n_text) == 0;
    }
    for (size_t i = 0; i < p->n_text; i++) {
        if (pattern_lower((unsigned char)s[i]) != (unsigned char)p->text[i]) {
            return false;
        }
    }
    return true;
}

static bool look_plain(ps_pattern *p, const char *s, size_t n) {
    p->cost += n + 1;
    if (p->n_text == 0) {
        return true;
    }
    for (size_t at = 0; at + p->n_text <= n; at++) {
        if (is_same(p, s + at) &&
            ((p->how & PS_PATTERN_WORD) == 0 || is_whole(s, n, at, p->n_text))) {
            return true;
        }
    }
    return false;
}

bool ps_pattern_in(ps_pattern *p, const char *s, size_t n) {
    n = n < UINT32_MAX - 2 ? n : UINT32_MAX - 2;
    return (p->how & PS_PATTERN_REGEX) != 0 ? look_pattern(p, s, n) : look_plain(p, s, n);
}

uint64_t ps_pattern_cost(const ps_pattern *p) {
    return p->cost;
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

/* What a match may begin with: as add_pattern(), as if every place were right for ^, $ and edges. */
static void find_first(ps_pattern *p) {
    size_t depth = 0;
    memset(p->mark, 0, p->n * sizeof *p->mark);
    p->stack[depth++] = 0;
    while (depth > 0) {
        uint32_t i = p->stack[--depth];
        if (p->mark[i] != 0) {
            continue;
        }
        p->mark[i] = 1;
        const step *q = &p->steps[i];
        if (q->op == OP_FOUND) {
            p->may_be_empty = true;
        } else if (q->op == OP_BYTES) {
            for (size_t k = 0; k < 4; k++) {
                p->first.bits[k] |= p->sets[q->x].bits[k];
            }
        } else {
            bool jumps = q->op == OP_JUMP || q->op == OP_FORK;
            p->stack[depth++] = jumps ? (uint32_t)((int32_t)i + q->x) : i + 1;
            if (q->op == OP_FORK) {
                p->stack[depth++] = (uint32_t)((int32_t)i + q->y);
            }
        }
    }
}

static ps_code pattern_compile(ps_pattern *p, const char *text, size_t n, ps_err *err) {
    parser c = {.p = p, .text = text, .n = n, .err = err};
    bool is_word_wanted = (p->how & PS_PATTERN_WORD) != 0;
    bool ok = !is_word_wanted || append(&c, OP_EDGE, 0, 0);
    ok = ok && parse_ways(&c);
    if (ok && c.at < n) {
        ok = wrong(&c, "a parenthesis is closed that was never opened");
    }
    ok = ok && (!is_word_wanted || append(&c, OP_EDGE, 0, 0)) && append(&c, OP_FOUND, 0, 0);
    if (!ok) {
        return c.code;
    }
    p->now = ps_calloc(p->n, sizeof *p->now);
    p->next = ps_calloc(p->n, sizeof *p->next);
    p->stack = ps_calloc(2 * p->n + 2, sizeof *p->stack);
    p->mark = ps_calloc(p->n, sizeof *p->mark);
    if (p->now == NULL || p->next == NULL || p->stack == NULL || p->mark == NULL) {
        return ps_fail_nomem(err);
    }
    find_first(p);
    return PS_OK;
}

ps_pattern *ps_pattern_new(const char *text, size_t n, unsigned how, ps_err *err) {
    ps_pattern *p = ps_calloc(1, sizeof *p);
    if (p == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    p->how = how;
    ps_code code = PS_OK;
    if ((how & PS_PATTERN_REGEX) != 0) {
        code = pattern_compile(p, text, n, err);
    } else {
        p->text = ps_strndup(text, n);
        p->n_text = n;
        code = p->text != NULL ? PS_OK : ps_fail_nomem(err);
        for (size_t i = 0; code == PS_OK && (how & PS_PATTERN_CASE) == 0 && i < n; i++) {
            p->text[i] = (char)pattern_lower((unsigned char)text[i]);
        }
    }
    if (code != PS_OK) {
        ps_pattern_free(p);
        return NULL;
    }
    return p;
}

void ps_pattern_free(ps_pattern *p) {
    if (p == NULL) {
        return;
    }
    ps_free(p->text);
    ps_free(p->steps);
    ps_free(p->sets);
    ps_free(p->now);
    ps_free(p->next);
    ps_free(p->stack);
    ps_free(p->mark);
    ps_free(p);
}
