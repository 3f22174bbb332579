/* Searching texts: what matches, what does not, what is refused, and that no expression costs more than it may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/pattern.h"

static bool in(const char *pattern, unsigned how, const char *text) {
    ps_err err = PS_ERR_INIT;
    ps_pattern *p = ps_pattern_new(pattern, strlen(pattern), how, &err);
    if (p == NULL) {
        fail_msg("%s: %s", pattern, err.msg);
    }
    bool found = ps_pattern_in(p, text, strlen(text));
    assert_true(found ==
                ps_pattern_in(p, text, strlen(text))); /* nothing is left from the first look */
    ps_pattern_free(p);
    return found;
}

static void plain(void **state) {
    (void)state;
    assert_true(in("mat", 0, "aten::MatMul"));
    assert_false(in("mat", PS_PATTERN_CASE, "aten::MatMul"));
    assert_true(in("Mat", PS_PATTERN_CASE, "aten::MatMul"));
    assert_true(in("mm", PS_PATTERN_WORD, "aten::mm"));
    assert_false(in("mm", PS_PATTERN_WORD, "aten::addmm"));
    assert_true(in("mm", PS_PATTERN_WORD, "addmm mm"));
    assert_false(in("mm", PS_PATTERN_WORD, "mm_out"));
    assert_true(in("", 0, ""));
    assert_true(in("\xe5\x89\x8d\xe5\x90\x91", 0, "\xe5\x89\x8d\xe5\x90\x91 1"));
    assert_false(in("longer than the text", 0, "longer"));
    assert_true(in(".*", 0, "a.*b"));
    assert_false(in(".*", 0, "ab"));
}

static void regex(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool found;
    } CASES[] = {
        {"a(b|c)*d", "xabcbcd", true},
        {"a(b|c)*d", "xabcbce", false},
        {"^aten::", "aten::mm", true},
        {"^aten::", "x aten::mm", false},
        {"mm$", "aten::addmm", true},
        {"mm$", "mm_out", false},
        {"^$", "", true},
        {"^$", "x", false},
        {"a+b", "aaab", true},
        {"a+b", "b", false},
        {"colou?r", "color", true},
        {"^a{3}$", "aaa", true},
        {"^a{3}$", "aaaa", false},
        {"^a{2,}$", "aaaaaa", true},
        {"^a{2,}$", "a", false},
        {"^a{1,3}$", "aaa", true},
        {"^a{1,3}$", "aaaa", false},
        {"^(ab){2}$", "abab", true},
        {"^a{0}b$", "b", true},
        {"^a{,2}$", "", true},
        {"[0-9]+_[[:alpha:]]", "x12_y", true},
        {"[^a-z]", "ABC", false}, /* case does not matter */
        {"[^a-z]", "abc1", true},
        {"[]a]", "]", true},
        {"[^]a]", "]a", false},
        {"[a-]", "-", true},
        {"\\.", "a.b", true},
        {"\\.", "ab", false},
        {"\\d+\\s\\w", "12 x", true},
        {"^\\D+$", "abc", true},
        {"^\\D+$", "ab1", false},
        {"\\bmm\\b", "aten::mm", true},
        {"\\bmm\\b", "addmm", false},
        {"^a.c$",
         "a\xc3\xa9"
         "c",
         true},
        {"^a..c$",
         "a\xc3\xa9"
         "c",
         false},
        {"^[x\xc3\xa9]+$", "x\xc3\xa9x", true},
        {"^\xe5\x89\x8d{2}$", "\xe5\x89\x8d\xe5\x89\x8d", true},
        {"a||b", "zzz", true}, /* one way is empty */
        {"(|a)+b", "aab", true},
        {"(a*)*b", "aaac", false},
        {"(?:ab)+c", "ababc", true},
        {"one|two|three", "xthreex", true},
        {"one|two|three", "thre", false},
        {"x|^y", "ay", false},
        {"MATMUL", "matmul", true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        if (in(CASES[i].pattern, PS_PATTERN_REGEX, CASES[i].text) != CASES[i].found) {
            fail_msg("%s in %s", CASES[i].pattern, CASES[i].text);
        }
    }
    assert_false(in("MATMUL", PS_PATTERN_REGEX | PS_PATTERN_CASE, "matmul"));
    assert_true(in("m+|x", PS_PATTERN_REGEX | PS_PATTERN_WORD, "aten::mm"));
    assert_false(in("m+|x", PS_PATTERN_REGEX | PS_PATTERN_WORD, "aten::addmm"));
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *part;
    } CASES[] = {
        {"(a", "never closed"},      {"a)", "never opened"},    {"[a", "never closed"},
        {"*a", "could be repeated"}, {"a{2,1}", "repetitions"}, {"a{2000}", "repetitions"},
        {"a\\", "after the last"},   {"(a)\\1", "references"},  {"[[:nothing:]]", "no such class"},
        {"[z-a]", "no such range"},  {"\\q", "means nothing"},  {"(.{1000}){1000}", "too large"},
        {"a{", "repetitions"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_err err = PS_ERR_INIT;
        ps_pattern *p =
            ps_pattern_new(CASES[i].pattern, strlen(CASES[i].pattern), PS_PATTERN_REGEX, &err);
        assert_null(p);
        assert_int_equal(err.code, PS_USAGE);
        if (strstr(err.msg, CASES[i].part) == NULL) {
            fail_msg("%s: %s", CASES[i].pattern, err.msg);
        }
    }
    char deep[400];
    memset(deep, '(', sizeof deep);
    ps_err err = PS_ERR_INIT;
    assert_null(ps_pattern_new(deep, sizeof deep, PS_PATTERN_REGEX, &err));
}

/* Expressions that take others years: the work stays below length times steps. */
static void costs(void **state) {
    (void)state;
    static const char *const EVIL[] = {"(a*)*b", "(a|aa)+$x", "(a|a)*b", "(a?){50}a{50}b",
                                       "(.*a){8}x"};
    char text[4000];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof EVIL / sizeof *EVIL; i++) {
        ps_err err = PS_ERR_INIT;
        ps_pattern *p = ps_pattern_new(EVIL[i], strlen(EVIL[i]), PS_PATTERN_REGEX, &err);
        assert_non_null(p);
        assert_false(ps_pattern_in(p, text, sizeof text));
        assert_true(ps_pattern_cost(p) <= (uint64_t)sizeof text * PS_PATTERN_MAX);
        ps_pattern_free(p);
    }
}

/* What leads to no byte is work too: a limit on the cost would not end it else. */
static void costs_of_nothing(void **state) {
    (void)state;
    static const char EVIL[] = "a(\\b?){1000}z";
    char text[100];
    memset(text, 'a', sizeof text);
    ps_err err = PS_ERR_INIT;
    ps_pattern *p = ps_pattern_new(EVIL, sizeof EVIL - 1, PS_PATTERN_REGEX, &err);
    assert_non_null(p);
    assert_false(ps_pattern_in(p, text, sizeof text));
    assert_true(ps_pattern_cost(p) >= (uint64_t)sizeof text * 1000);
    ps_pattern_free(p);
}

static void no_memory(void **state) {
    (void)state;
    for (int64_t at = 0;; at++) {
        ps_err err = PS_ERR_INIT;
        ps_alloc_fail_at(at);
        ps_pattern *p = ps_pattern_new("(a|b[xyz]){2,4}c", 16, PS_PATTERN_REGEX, &err);
        int64_t n = ps_alloc_fail_at(-1);
        if (p != NULL) {
            ps_pattern_free(p);
            assert_true(n <= at);
            break;
        }
        assert_int_equal(err.code, PS_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(regex),
        cmocka_unit_test(refused),
        cmocka_unit_test(costs),
        cmocka_unit_test(costs_of_nothing),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
