/* PCRE2's interpreter bounds the steps from each place of a text. A look is allowed few steps a place first, and more only
 * where those did not do: what looks have cost in all is then known to a small factor, and is the same on every machine. */
#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST_STEPS 64 /* from a place of a text */
#define MORE_STEPS 8   /* times as many in the next try */
#define MAX_COST ((uint64_t)1 << 28)
#define MAX_HEAP_KIB (16 * 1024)

struct ps_pattern {
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_code *code;
    pcre2_match_data *groups;
    uint64_t cost; /* steps of all looks, at most */
    ps_code ended;
};

/* --- compiling ------------------------------------------------------------------------------------------------ */

static void *pattern_alloc(size_t n, void *context) {
    (void)context;
    return ps_alloc(n);
}

static void pattern_release(void *memory, void *context) {
    (void)context;
    ps_free(memory);
}

/* The text as an expression that matches it; NULL: no memory. */
static char *quote_text(const char *text, size_t n, size_t *n_quoted) {
    char *quoted = ps_calloc(n + 1, 2);
    size_t k = 0;
    for (size_t i = 0; quoted != NULL && i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_plain =
            c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (!is_plain) {
            quoted[k++] = '\\';
        }
        quoted[k++] = text[i];
    }
    *n_quoted = k;
    return quoted;
}

static ps_code fail_to_compile(int why, size_t at, ps_err *err) {
    enum { NO_MEMORY = PCRE2_ERROR_HEAP_FAILED };
    if (why == NO_MEMORY || why == PCRE2_ERROR_NOMEMORY) {
        return ps_fail_nomem(err);
    }
    char what[160] = "";
    (void)pcre2_get_error_message(why, (PCRE2_UCHAR *)what, sizeof what);
    return ps_fail(err, PS_USAGE, "regular expression, character %zu: %s", at + 1, what);
}

static ps_code compile_expression(ps_pattern *p, const char *text, size_t n, unsigned how,
                                  ps_err *err) {
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY |
                       PCRE2_NEVER_BACKSLASH_C;
    options |= (how & PS_PATTERN_CASE) != 0 ? 0 : PCRE2_CASELESS;
    pcre2_compile_context *context = pcre2_compile_context_create(p->memory);
    if (context == NULL) {
        return ps_fail_nomem(err);
    }
    if ((how & PS_PATTERN_WORD) != 0) {
        (void)pcre2_set_compile_extra_options(context, PCRE2_EXTRA_MATCH_WORD);
    }
    int why = 0;
    size_t at = 0;
    p->code = pcre2_compile((PCRE2_SPTR)text, n, options, &why, &at, context);
    pcre2_compile_context_free(context);
    return p->code != NULL ? PS_OK : fail_to_compile(why, at, err);
}

static ps_code compile_pattern(ps_pattern *p, const char *text, size_t n, unsigned how,
                               ps_err *err) {
    if ((how & PS_PATTERN_REGEX) != 0) {
        return n <= PS_PATTERN_MAX
                   ? compile_expression(p, text, n, how, err)
                   : ps_fail(err, PS_USAGE, "a regular expression has at most %d characters",
                             PS_PATTERN_MAX);
    }
    size_t n_quoted = 0;
    char *quoted = quote_text(text, n, &n_quoted);
    ps_code code =
        quoted != NULL ? compile_expression(p, quoted, n_quoted, how, err) : ps_fail_nomem(err);
    ps_free(quoted);
    return code;
}

ps_pattern *ps_pattern_new(const char *text, size_t n, unsigned how, ps_err *err) {
    ps_pattern *p = ps_calloc(1, sizeof *p);
    if (p == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    p->memory = pcre2_general_context_create(pattern_alloc, pattern_release, NULL);
    p->limits = p->memory != NULL ? pcre2_match_context_create(p->memory) : NULL;
    p->groups = p->memory != NULL ? pcre2_match_data_create(2, p->memory) : NULL;
    ps_code code = p->limits != NULL && p->groups != NULL ? compile_pattern(p, text, n, how, err)
                                                          : ps_fail_nomem(err);
    if (code != PS_OK) {
        ps_pattern_free(p);
        return NULL;
    }
    (void)pcre2_set_heap_limit(p->limits, MAX_HEAP_KIB);
    return p;
}

void ps_pattern_free(ps_pattern *p) {
    if (p != NULL) {
        pcre2_code_free(p->code);
        pcre2_match_data_free(p->groups);
        pcre2_match_context_free(p->limits);
        pcre2_general_context_free(p->memory);
        ps_free(p);
    }
}

/* --- looking -------------------------------------------------------------------------------------------------- */

/* PCRE2's answer; notes what it cost, and what ends the pattern. */
static int look_with_limit(ps_pattern *p, const char *s, size_t n, uint32_t steps) {
    (void)pcre2_set_match_limit(p->limits, steps);
    int found = pcre2_match(p->code, (PCRE2_SPTR)s, n, 0, 0, p->groups, p->limits);
    bool is_cut = found == PCRE2_ERROR_MATCHLIMIT;
    p->cost += is_cut ? (uint64_t)steps * (n + 1) : n + steps;
    if (found == PCRE2_ERROR_NOMEMORY) {
        p->ended = PS_NOMEM;
    } else if (found == PCRE2_ERROR_HEAPLIMIT || p->cost > MAX_COST) {
        p->ended = PS_USAGE;
    }
    return found;
}

/* The number of groups that are set, 0 for more than there is room for; negative: it is not in the text. */
static int look(ps_pattern *p, const char *s, size_t n) {
    int found = PCRE2_ERROR_MATCHLIMIT;
    for (uint32_t steps = FIRST_STEPS; found == PCRE2_ERROR_MATCHLIMIT && p->ended == PS_OK;
         steps *= MORE_STEPS) {
        found = look_with_limit(p, s, n, steps);
    }
    return p->ended == PS_OK ? found : PCRE2_ERROR_NOMATCH;
}

bool ps_pattern_in(ps_pattern *p, const char *s, size_t n) {
    return look(p, s, n) >= 0;
}

bool ps_pattern_find(ps_pattern *p, const char *s, size_t n, ps_pattern_group group[2]) {
    memset(group, 0, 2 * sizeof *group);
    int found = look(p, s, n);
    const size_t *places = pcre2_get_ovector_pointer(p->groups);
    for (int i = 0; i < 2 && (i < found || found == 0); i++) {
        if (places[2 * i] != PCRE2_UNSET) {
            group[i] = (ps_pattern_group){places[2 * i], places[2 * i + 1], true};
        }
    }
    return found >= 0;
}

ps_code ps_pattern_ended(const ps_pattern *p) {
    return p->ended;
}
