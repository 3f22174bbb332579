/* Searching texts for what a person typed: a part of a text, or a regular expression of Perl's kind (PCRE2). Expressions come
 * from outside, so that each look and all looks of a pattern together are bounded: a pattern that costs more ends
 * (ps_pattern_ended) instead of keeping the caller.
 *
 * A character is one of UTF-8; what is no UTF-8 matches nothing. Upper and lower case, digits, letters are those of Unicode.
 * A *word* is letters, digits and _. */
#ifndef PS_BASE_PATTERN_H
#define PS_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define PS_PATTERN_MAX 4096 /* bytes of an expression */

typedef enum ps_pattern_how {
    PS_PATTERN_CASE = 1u << 0, /* upper and lower case differ */
    PS_PATTERN_WORD = 1u << 1, /* what is found begins and ends where words do */
    PS_PATTERN_REGEX = 1u << 2
} ps_pattern_how;

typedef struct ps_pattern ps_pattern;

/* Bytes of a text that a group of an expression matched. */
typedef struct ps_pattern_group {
    size_t begin, end;
    bool took_part;
} ps_pattern_group;

/* NULL on failure: PS_USAGE with a sentence that says what is wrong with the expression and where, PS_NOMEM. */
ps_pattern *ps_pattern_new(const char *text, size_t n, unsigned how, ps_err *err);
void ps_pattern_free(ps_pattern *p); /* NULL is fine */

/* Whether the text holds it. One thread at a time. An empty pattern is in every text. */
bool ps_pattern_in(ps_pattern *p, const char *s, size_t n);

/* The same; group[0] is the first place where it is, group[1] what its first group matched there. */
bool ps_pattern_find(ps_pattern *p, const char *s, size_t n, ps_pattern_group group[2]);

/* PS_USAGE once the looks have cost too much (some seconds in all), PS_NOMEM once one had too little memory: that look and all later
 * ones found nothing. PS_OK otherwise. */
ps_code ps_pattern_ended(const ps_pattern *p);

#endif
