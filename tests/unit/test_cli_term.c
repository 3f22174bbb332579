/* Decisions about the terminal from given environments. The program is no library, so its file is compiled in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/term.c"

/* "NAME=value" texts, NULL-terminated. */
static const char *given(void *context, const char *name) {
    const char *const *list = context;
    size_t n = strlen(name);
    for (size_t i = 0; list[i] != NULL; i++) {
        if (strncmp(list[i], name, n) == 0 && list[i][n] == '=') {
            return list[i] + n + 1;
        }
    }
    return NULL;
}

#define FACTS(out, err, columns, ...)                                                              \
    ps_term_decide(out, err, columns, given, (const char *[]){__VA_ARGS__, NULL})

static void test_width(void **context) {
    (void)context;
    assert_int_equal(FACTS(true, true, 132, "TERM=xterm").width, 132);
    assert_int_equal(FACTS(true, true, 0, "TERM=xterm").width, 100);
    assert_int_equal(FACTS(false, true, 0, "TERM=xterm").width, 100);
    assert_int_equal(FACTS(false, false, 0, "COLUMNS=80").width, 80);
    assert_int_equal(FACTS(true, false, 132, "COLUMNS=80").width, 80);
    assert_int_equal(FACTS(true, true, 132, "COLUMNS=wide").width, 132);
    assert_int_equal(FACTS(true, true, 132, "COLUMNS=-4").width, 132);
    assert_int_equal(FACTS(true, true, 3, "TERM=xterm").width, 40);
    assert_int_equal(FACTS(true, true, 0, "COLUMNS=100000").width, 1000);
}

static void test_colours(void **context) {
    (void)context;
    assert_int_equal(FACTS(true, true, 80, "TERM=xterm-256color").colours, PS_COLOURS_256);
    assert_int_equal(FACTS(true, true, 80, "TERM=xterm", "COLORTERM=truecolor").colours,
                     PS_COLOURS_TRUE);
    assert_int_equal(FACTS(true, true, 80, "TERM=xterm-direct").colours, PS_COLOURS_TRUE);
    assert_int_equal(FACTS(true, true, 80, "TERM=xterm", "NO_COLOR=1").colours, PS_COLOURS_NONE);
    assert_int_equal(FACTS(true, true, 80, "TERM=xterm", "NO_COLOR=").colours, PS_COLOURS_256);
    assert_int_equal(FACTS(true, true, 80, "TERM=dumb").colours, PS_COLOURS_NONE);
    assert_int_equal(FACTS(true, true, 80, "X=").colours, PS_COLOURS_NONE);
    assert_int_equal(FACTS(false, true, 80, "TERM=xterm").colours, PS_COLOURS_NONE);
    assert_int_equal(FACTS(false, true, 80, "TERM=xterm", "CLICOLOR_FORCE=1").colours,
                     PS_COLOURS_256);
    assert_int_equal(FACTS(false, true, 80, "TERM=xterm", "CLICOLOR_FORCE=0").colours,
                     PS_COLOURS_NONE);
    assert_int_equal(FACTS(false, true, 80, "CLICOLOR_FORCE=1", "NO_COLOR=1").colours,
                     PS_COLOURS_NONE);
}

static void test_utf8(void **context) {
    (void)context;
    assert_true(FACTS(true, true, 80, "LANG=en_US.UTF-8").utf8);
    assert_true(FACTS(true, true, 80, "LANG=C", "LC_CTYPE=zh_CN.utf8").utf8);
    assert_false(FACTS(true, true, 80, "LANG=en_US.UTF-8", "LC_ALL=C").utf8);
    assert_true(FACTS(true, true, 80, "LANG=en_US.UTF-8", "LC_ALL=").utf8);
    assert_false(FACTS(true, true, 80, "X=").utf8);
}

static void test_live(void **context) {
    (void)context;
    assert_true(FACTS(false, true, 80, "TERM=xterm").err_is_live);
    assert_false(FACTS(true, false, 80, "TERM=xterm").err_is_live);
    assert_false(FACTS(true, true, 80, "TERM=dumb").err_is_live);
}

static void test_progress(void **context) {
    (void)context;
    ps_term term = {.err_is_live = true};
    assert_null(ps_progress_begin(&term, true, "reading", 2));
    ps_progress *p = ps_progress_begin(&term, false, "reading", 2);
    assert_non_null(p);
    ps_progress_step(p, 1);
    ps_progress_end(p); /* before half a second: nothing was shown */
    term.err_is_live = false;
    p = ps_progress_begin(&term, false, "reading", 2);
    assert_null(p);
    ps_progress_step(p, 1);
    ps_progress_end(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_width), cmocka_unit_test(test_colours),  cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_live),  cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
