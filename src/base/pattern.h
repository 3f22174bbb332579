/* Searching texts for what a person typed: a part of a text, or a POSIX extended regular expression. The work of one look
 * is at most the length of the text times PS_PATTERN_MAX, whatever the expression: all ways through it are followed at once,
 * nothing is tried again. (regcomp and regexec promise no such thing, and expressions come from outside.)
 *
 * Expressions: . [...] [^...] [[:alpha:]] * + ? {m,n} | ( ) ^ $, \ before a special character, and as most tools have them
 * \d \w \s \D \W \S \b. A character is one of UTF-8; upper and lower case are told apart or not for ASCII only. No references
 * back. A *word* is letters, digits, _ and everything that is not ASCII. */
#ifndef PS_BASE_PATTERN_H
#define PS_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PS_PATTERN_MAX 4096 /* steps of a compiled expression */

typedef enum ps_pattern_how {
    PS_PATTERN_CASE = 1u << 0, /* upper and lower case differ */
    PS_PATTERN_WORD = 1u << 1, /* what is found begins and ends where words do */
    PS_PATTERN_REGEX = 1u << 2
} ps_pattern_how;

typedef struct ps_pattern ps_pattern;

/* NULL on failure: PS_USAGE with a sentence that says what is wrong with the expression and where, PS_NOMEM. */
ps_pattern *ps_pattern_new(const char *text, size_t n, unsigned how, ps_err *err);
void ps_pattern_free(ps_pattern *p); /* NULL is fine */

/* Whether the text holds it. One thread at a time. An empty pattern is in every text. */
bool ps_pattern_in(ps_pattern *p, const char *s, size_t n);

/* How much was done in all looks so far: steps of expressions times characters, and characters. */
uint64_t ps_pattern_cost(const ps_pattern *p);

#endif
