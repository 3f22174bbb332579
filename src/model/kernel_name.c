/* One pass over the letters with a stack of what is open; each E closes the last. Identifiers are their length and their letters; everything
 * else is one letter, but for the few forms that hold numbers or end with _:
 *
 *   N...E nested name   I...E template arguments   L...E literal   X...E expression   F...E function   J...E pack
 *   S_ S1_ St           substitutions              T_ T1_          parameters of templates   A4_ Dv4_ DF16_   types with a number
 *
 * The name is the function's until it is complete: a nested name that is closed, or one identifier with its template arguments; then come
 * the types of result and parameters. */
#include "model/kernel_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MOST_OPEN = 128 };

typedef struct reading {
    const char *at;
    char *out; /* [PS_KERNEL_NAME_BYTES] */
    size_t n;
    char open[MOST_OPEN]; /* the letters that were opened; i: an I without a < */
    size_t n_open;
    size_t n_local;  /* Z at the beginning: names inside of functions, each of which an E ends */
    bool is_value;   /* in a literal, behind its type: digits are its value */
    bool is_inside;  /* of one qualified name: the next identifier is joined to the last by :: */
    bool is_named;   /* the function's name is complete */
    bool has_params; /* ( is written */
    bool is_behind;  /* an identifier was the last, and what it is may have arguments */
} reading;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static char innermost(const reading *r) {
    return r->n_open > 0 ? r->open[r->n_open - 1] : '\0';
}

/* False where there is no room: nothing behind it is written. */
static bool put_text(reading *r, const char *text, size_t n) {
    if (n + 1 > PS_KERNEL_NAME_BYTES - r->n) {
        return false;
    }
    memcpy(r->out + r->n, text, n);
    r->n += n;
    r->out[r->n] = '\0';
    return true;
}

static bool put_identifier(reading *r, const char *text, size_t n) {
    bool is_first = r->n == 0 || r->out[r->n - 1] == '<' || r->out[r->n - 1] == '(';
    if (r->is_named && !r->has_params) {
        r->has_params = true;
        is_first = true;
        if (!put_text(r, "(", 1)) {
            return false;
        }
    }
    if (n >= 10 && strncmp(text, "_GLOBAL__N", 10) == 0) {
        return true; /* an unnamed namespace */
    }
    const char *between = is_first ? "" : r->is_inside ? "::" : ", ";
    return put_text(r, between, strlen(between)) && put_text(r, text, n);
}

/* Its number, with *at behind it; SIZE_MAX for one that no name is as long as. */
static size_t read_number(const char **at) {
    size_t n = 0;
    bool is_long = false;
    for (; is_digit(**at); (*at)++) {
        is_long = is_long || n > (size_t)1 << 20;
        n = is_long ? n : n * 10 + (size_t)(**at - '0');
    }
    return is_long ? SIZE_MAX : n;
}

static bool read_identifier(reading *r) {
    const char *text = r->at;
    size_t n = read_number(&text);
    if (n == 0 || n == SIZE_MAX || strnlen(text, n) < n || !put_identifier(r, text, n)) {
        return false;
    }
    r->at = text + n;
    r->is_value = innermost(r) == 'L';
    r->is_inside = innermost(r) == 'N' || r->n_open == 0;
    r->is_behind = r->n > 0;
    r->is_named = r->is_named || (r->n_open == 0 && *r->at != 'I' && *r->at != 'B');
    return true;
}

/* A tag is a part of the name for linkers only. */
static bool skip_tag(reading *r) {
    const char *text = r->at + 1;
    size_t n = read_number(&text);
    if (n == 0 || n == SIZE_MAX || strnlen(text, n) < n) {
        return false;
    }
    r->at = text + n;
    return true;
}

static bool open_frame(reading *r, char letter) {
    if (r->n_open == MOST_OPEN) {
        return false;
    }
    r->open[r->n_open++] = letter;
    r->at++;
    r->is_value = false;
    r->is_inside = false;
    r->is_behind = false;
    return true;
}

static bool open_arguments(reading *r) {
    bool is_written = r->is_behind;
    return (!is_written || put_text(r, "<", 1)) && open_frame(r, is_written ? 'I' : 'i');
}

static bool open_nested(reading *r) {
    bool ok = open_frame(r, 'N');
    r->at += ok ? strspn(r->at, "rVKRO") : 0;
    return ok;
}

/* L opens a literal, but before an identifier of a name it says that the file alone knows it. */
static bool open_literal(reading *r) {
    bool is_linkage = is_digit(r->at[1]) && (r->n_open == 0 || innermost(r) == 'N');
    if (is_linkage) {
        r->at++;
        return true;
    }
    if (!open_frame(r, 'L')) {
        return false;
    }
    if (strncmp(r->at, "_Z", 2) == 0) { /* the name of something */
        r->at += r->at[2] == 'L' ? 3 : 2;
    }
    if (is_lower(*r->at)) { /* its type is a letter */
        r->at++;
        r->is_value = true;
    }
    return true;
}

static bool close_frame(reading *r) {
    r->at++;
    if (r->n_open ==
        0) { /* the function around a local name: what comes behind it is no part of its path */
        r->is_named = true;
        return r->n_local-- > 0;
    }
    char closed = r->open[--r->n_open];
    bool ok = true;
    if (closed == 'I') {
        ok = put_text(r, ">", 1);
    } else if (closed == 'U') { /* the number of a lambda */
        r->at += strspn(r->at, "0123456789");
        r->at += *r->at == '_' ? 1 : 0;
    }
    r->is_inside = closed == 'I' && innermost(r) == 'N';
    r->is_value = innermost(r) == 'L';
    bool is_name_ended = r->n_open == 0 && ((closed == 'N' && *r->at != 'I') || closed == 'I');
    r->is_named = r->is_named || is_name_ended;
    return ok;
}

/* S_, S1A_, St, Sa; T_, T1_. */
static bool read_substitution(reading *r) {
    bool is_short = r->at[0] == 'S' && is_lower(r->at[1]);
    if (is_short && r->at[1] == 't') {
        bool ok = put_identifier(r, "std", 3);
        r->at += 2;
        r->is_inside = true;
        return ok;
    }
    r->at++;
    if (is_short) {
        r->at++;
    } else {
        while (is_digit(*r->at) || is_upper(*r->at)) {
            r->at++;
        }
        r->at += *r->at == '_' ? 1 : 0;
    }
    r->is_value = innermost(r) == 'L';
    return true;
}

/* A letter and a number that an underscore ends. */
static void skip_numbered(reading *r, size_t letters) {
    r->at += letters;
    r->at += strspn(r->at, "0123456789");
    r->at += *r->at == '_' ? 1 : 0;
}

static bool read_d(reading *r) {
    char second = r->at[1];
    if (second == 'T' || second == 't') {
        r->at++;
        return open_frame(r, 'D');
    }
    if (second == 'v' || second == 'F') {
        skip_numbered(r, 2);
        return true;
    }
    r->at += second != '\0' ? 2 : 1;
    r->is_value = innermost(r) == 'L';
    return true;
}

static bool read_u(reading *r) {
    if (r->at[1] == 'l') {
        r->at++;
        return open_frame(r, 'U');
    }
    if (r->at[1] == 't') {
        skip_numbered(r, 2);
        return true;
    }
    r->at++;
    return true;
}

static bool read_letter(reading *r) {
    char c = *r->at;
    if (is_digit(c)) {
        if (r->is_value ||
            innermost(r) == 'X') { /* "fp0_": identifiers of expressions name nothing */
            r->at += strspn(r->at, "0123456789");
            return true;
        }
        return read_identifier(r);
    }
    switch (c) {
    case 'E':
        return close_frame(r);
    case 'I':
        return open_arguments(r);
    case 'N':
        return open_nested(r);
    case 'L':
        return open_literal(r);
    case 'X':
    case 'F':
    case 'J':
        return open_frame(r, c);
    case 'Z':
        return open_frame(r, c);
    case 'S':
    case 'T':
        return read_substitution(r);
    case 'A':
        skip_numbered(r, 1);
        return true;
    case 'B':
        return skip_tag(r);
    case 'C':
        r->at += innermost(r) == 'N' && is_digit(r->at[1]) ? 2 : 1;
        return true;
    case 'D':
        return read_d(r);
    case 'U':
        return read_u(r);
    case '_':
        skip_numbered(r, 1);
        return true;
    default:
        r->at++;
        return is_lower(c) || is_upper(c);
    }
}

const char *ps_kernel_name_plain(const char *name, char out[PS_KERNEL_NAME_BYTES]) {
    if (strncmp(name, "_Z", 2) != 0) {
        return name;
    }
    reading r = {.at = name, .out = out};
    out[0] = '\0';
    r.at += 2;
    r.at += strncmp(r.at, "TS", 2) == 0 ? 2 : 0; /* SYCL names a kernel by a type */
    while (*r.at == 'Z') {
        r.at++;
        r.n_local++;
    }
    while (*r.at != '\0') {
        r.is_behind = r.is_behind && (*r.at == 'I' || *r.at == 'B');
        if (!read_letter(&r)) {
            break;
        }
    }
    if (r.n > 0 && r.has_params) {
        (void)put_text(&r, ")", 1);
    }
    return r.n > 0 ? out : name;
}
