/* Interned strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strpool.h"

static ps_str add(ps_strpool *p, const char *s) {
    return ps_strpool_add(p, s, strlen(s));
}

static void equal_text_has_an_equal_id(void **state) {
    (void)state;
    ps_strpool p;
    assert_true(ps_strpool_init(&p));
    ps_str a = add(&p, "forward");
    ps_str b = add(&p, "backward");
    assert_false(ps_str_eq(a, b));
    assert_true(ps_str_eq(a, add(&p, "forward")));
    assert_true(ps_str_eq(a, ps_strpool_add(&p, "forward_step", 7))); /* only the bytes told */
    assert_string_equal(ps_strpool_get(&p, b), "backward");
    assert_int_equal(ps_strpool_len(&p, b), 8);
    assert_true(ps_str_eq(b, ps_strpool_find(&p, "backward", 8)));
    assert_true(ps_str_is_none(ps_strpool_find(&p, "sideways", 8)));
    ps_strpool_fini(&p);
}

static void none_and_the_empty_text_are_two_things(void **state) {
    (void)state;
    ps_strpool p;
    assert_true(ps_strpool_init(&p));
    ps_str empty = add(&p, "");
    assert_false(ps_str_is_none(empty));
    assert_string_equal(ps_strpool_get(&p, empty), "");
    assert_string_equal(ps_strpool_get(&p, PS_STR_NONE), "");
    assert_int_equal(ps_strpool_len(&p, PS_STR_NONE), 0);
    assert_true(ps_str_eq(empty, add(&p, "")));
    ps_strpool_fini(&p);
}

/* Texts with a zero byte inside differ behind it. */
static void zero_bytes_count(void **state) {
    (void)state;
    ps_strpool p;
    assert_true(ps_strpool_init(&p));
    ps_str a = ps_strpool_add(&p, "a\0b", 3);
    ps_str b = ps_strpool_add(&p, "a\0c", 3);
    assert_false(ps_str_eq(a, b));
    assert_int_equal(ps_strpool_len(&p, a), 3);
    assert_memory_equal(ps_strpool_get(&p, b), "a\0c", 4);
    ps_strpool_fini(&p);
}

/* Pointers and ids stay good while the pool grows. */
static void many_strings(void **state) {
    (void)state;
    enum { N = 20000 };
    ps_strpool p;
    assert_true(ps_strpool_init(&p));
    char text[32];
    const char *first = ps_strpool_get(&p, add(&p, "string 0"));
    for (int i = 0; i < N; i++) {
        (void)snprintf(text, sizeof text, "string %d", i);
        assert_int_equal(add(&p, text).id, i + 1);
    }
    assert_int_equal(p.n, N + 1);
    assert_ptr_equal(first, ps_strpool_get(&p, add(&p, "string 0")));
    for (int i = N - 1; i >= 0; i--) {
        (void)snprintf(text, sizeof text, "string %d", i);
        assert_int_equal(ps_strpool_find(&p, text, strlen(text)).id, i + 1);
    }
    ps_strpool_fini(&p);
}

/* Whichever allocation fails: "none" is returned, the pool stays usable and
 * says the same of what it holds. */
static void out_of_memory(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        (void)ps_alloc_fail_at(n);
        ps_strpool p;
        bool ok = ps_strpool_init(&p);
        char text[32];
        int n_failed = 0;
        for (int i = 0; ok && i < 100; i++) {
            (void)snprintf(text, sizeof text, "string %d", i);
            n_failed += ps_str_is_none(add(&p, text));
        }
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(n_failed, ok && !done ? 1 : 0);
        for (int i = 0; ok && i < 100; i++) {
            (void)snprintf(text, sizeof text, "string %d", i);
            assert_string_equal(ps_strpool_get(&p, add(&p, text)), text);
        }
        if (ok) {
            ps_strpool_fini(&p);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_text_has_an_equal_id),
        cmocka_unit_test(none_and_the_empty_text_are_two_things),
        cmocka_unit_test(zero_bytes_count),
        cmocka_unit_test(many_strings),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
