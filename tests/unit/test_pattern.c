/* Searching texts: what matches, what does not, what is refused, and that no expression costs more than it may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/pattern.h"
#include "support/sanitized.h"

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
        {"(a", "character 3: missing closing parenthesis"},
        {"a)", "character 2: unmatched closing parenthesis"},
        {"[a", "missing terminating ]"},
        {"*a", "character 1: quantifier does not follow"},
        {"a{2,1}", "out of order"},
        {"a\\", "at end of pattern"},
        {"[[:nothing:]]", "unknown POSIX class"},
        {"[z-a]", "out of order"},
        {"\\q", "follows"},
        {"\\C", "\\C"},
        {"(((ab){255}){255}){255}", "too large"},
        {"\xff", "UTF-8"},
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

/* Expressions that try every way there is end, in one look or in many, and find nothing from then on. */
static void costs(void **state) {
    (void)state;
    static const char *const EVIL[] = {"(a*)*[bc]", "(a|aa)+$[xy]", "(a|a)*[bc]", "(.*a){8}[xy]",
                                       "(a+)+\\1[bc]"};
    char text[4000];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof EVIL / sizeof *EVIL; i++) {
        ps_err err = PS_ERR_INIT;
        ps_pattern *p =
            ps_pattern_new(EVIL[i], strlen(EVIL[i]), PS_PATTERN_REGEX | PS_PATTERN_CASE, &err);
        assert_non_null(p);
        assert_false(ps_pattern_in(p, text, sizeof text));
        ps_pattern_free(p);
    }
    ps_err err = PS_ERR_INIT;
    ps_pattern *p = ps_pattern_new("(a|aa)*[cd]", 11, PS_PATTERN_REGEX, &err);
    assert_int_equal(ps_pattern_ended(p), PS_OK);
    assert_true(ps_pattern_in(p, "aac", 3));
    while (ps_pattern_ended(p) == PS_OK) {
        assert_false(ps_pattern_in(p, text, 24));
    }
    assert_int_equal(ps_pattern_ended(p), PS_USAGE);
    assert_false(ps_pattern_in(p, "aac", 3));
    ps_pattern_free(p);
}

/* A million names of usual length are no cost. */
static void many_looks(void **state) {
    (void)state;
    static const char NAME[] = "void at::native::vectorized_elementwise_kernel<4, at::native::add>";
    ps_err err = PS_ERR_INIT;
    ps_pattern *p = ps_pattern_new("at::.*add(mm)?.*$", 17, PS_PATTERN_REGEX, &err);
    for (int i = 0; i < PS_ROUNDS(1000000, 10000); i++) {
        assert_true(ps_pattern_in(p, NAME, sizeof NAME - 1));
    }
    assert_int_equal(ps_pattern_ended(p), PS_OK);
    ps_pattern_free(p);
}

static void groups(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    ps_pattern *p = ps_pattern_new("f(wd)?([0-9]+)", 14, PS_PATTERN_REGEX, &err);
    ps_pattern_group group[2];
    assert_true(ps_pattern_find(p, "a fwd12", 7, group));
    assert_int_equal(group[0].begin, 2);
    assert_int_equal(group[0].end, 7);
    assert_true(group[1].took_part);
    assert_int_equal(group[1].begin, 3);
    assert_true(ps_pattern_find(p, "f3", 2, group));
    assert_false(group[1].took_part);
    assert_false(ps_pattern_find(p, "f", 1, group));
    assert_false(group[0].took_part);
    ps_pattern_free(p);
}

/* Bytes that are no UTF-8 match nothing and hide nothing. */
static void damaged_texts(void **state) {
    (void)state;
    assert_true(in("mm", 0, "\xff\xfemm"));
    assert_true(in("mm.out", PS_PATTERN_REGEX, "\xc3mm_out"));
    assert_false(in("a.b", PS_PATTERN_REGEX,
                    "a\xff"
                    "b"));
    assert_true(in("\xe5\x89\x8d", PS_PATTERN_WORD, "x \xe5\x89\x8d."));
    assert_false(in("\xe5\x89\x8d", PS_PATTERN_WORD, "\xe5\x89\x8d\xe5\x90\x91"));
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
        cmocka_unit_test(plain),         cmocka_unit_test(regex),      cmocka_unit_test(refused),
        cmocka_unit_test(costs),         cmocka_unit_test(many_looks), cmocka_unit_test(groups),
        cmocka_unit_test(damaged_texts), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
