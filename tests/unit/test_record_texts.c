/* Texts by number, domains, the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "record/core/domains.h"
#include "record/core/events.h"
#include "record/ring/clock.h"
#include "record/ring/intern.h"
#include "support/record_double.h"

static ps_intern *new_table(void) {
    ps_intern *table = ps_calloc(1, sizeof *table);
    assert_non_null(table);
    return table;
}

static uint32_t intern(ps_intern *table, const char *text, bool want_new) {
    bool is_new;
    uint32_t id = ps_intern_text(table, text, strlen(text), &is_new);
    assert_int_equal(is_new, want_new);
    return id;
}

static void test_intern(void **state) {
    (void)state;
    ps_intern *table = new_table();
    assert_int_equal(intern(table, "one", true), 1);
    assert_int_equal(intern(table, "two", true), 2);
    assert_int_equal(intern(table, "one", false), 1);
    bool is_new;
    assert_int_equal(ps_intern_text(table, "", 0, &is_new), 3); /* even the empty text is one */
    assert_int_equal(ps_intern_text(table, "a\0b", 3, &is_new), 4);
    assert_int_equal(ps_intern_text(table, "a\0c", 3, &is_new), 5);
    assert_int_equal(ps_intern_text(table, "a\0b", 3, &is_new), 4);
    assert_false(is_new);
    char text[PS_INTERN_TEXT + 2];
    memset(text, 'x', sizeof text);
    text[PS_INTERN_TEXT] = '\0';
    assert_int_equal(intern(table, text, true), 6);
    assert_int_equal(intern(table, text, false), 6);
    text[PS_INTERN_TEXT] = 'x';
    text[PS_INTERN_TEXT + 1] = '\0';
    assert_int_equal(intern(table, text, true), 7); /* too long to be kept */
    assert_int_equal(intern(table, text, true), 8);
    ps_intern_reset(table);
    assert_int_equal(intern(table, "two", true), 1);
    ps_free(table);
}

/* Texts of one set, found by trying. */
static unsigned set_of(const char *text) {
    return ps_intern_hash(text, strlen(text)) >> 32 & (PS_INTERN_SETS - 1);
}

static void test_oldest_goes(void **state) {
    (void)state;
    ps_intern *table = new_table();
    char same[PS_INTERN_WAYS + 1][32];
    int n = 0;
    for (int i = 0; n < PS_INTERN_WAYS + 1; i++) {
        (void)snprintf(same[n], sizeof same[n], "text %d", i);
        n += set_of(same[n]) == 17;
    }
    uint32_t ids[PS_INTERN_WAYS];
    for (int i = 0; i < PS_INTERN_WAYS; i++) {
        ids[i] = intern(table, same[i], true);
    }
    assert_int_equal(intern(table, same[0], false), ids[0]); /* used again: same[1] is the oldest */
    (void)intern(table, same[PS_INTERN_WAYS], true);
    assert_int_equal(intern(table, same[0], false), ids[0]);
    assert_int_equal(intern(table, same[2], false), ids[2]);
    (void)intern(table, same[1], true);
    ps_free(table);
}

/* The hash alone never decides. */
static void test_equal_hashes(void **state) {
    (void)state;
    ps_intern *table = new_table();
    uint32_t id = intern(table, "alpha", true);
    ps_intern_set *set = &table->sets[set_of("alpha")];
    for (int way = 0; way < PS_INTERN_WAYS; way++) {
        if (set->entries[way].id == id) { /* other bytes, other length, under the hash of alpha */
            memcpy(set->texts[way], "beta!", 5);
        }
    }
    uint32_t second = intern(table, "alpha", true);
    assert_int_not_equal(second, id);
    assert_int_equal(intern(table, "alpha", false), second);
    ps_free(table);
}

static void test_ids_run_out(void **state) {
    (void)state;
    ps_intern *table = new_table();
    (void)intern(table, "first", true);
    table->next_id = PS_TEXT_SHARED - 1;
    assert_int_equal(intern(table, "last", true), PS_TEXT_SHARED - 1);
    assert_int_equal(intern(table, "next", true), 1);
    assert_int_equal(intern(table, "first", true), 2); /* its number may mean another text by now */
    ps_free(table);
}

/* Hashes of texts that differ little differ in all their bits. */
static void test_hash(void **state) {
    (void)state;
    enum { N = 4096 };
    unsigned used[PS_INTERN_SETS] = {0};
    for (int i = 0; i < N; i++) {
        char text[80];
        int length = snprintf(text, sizeof text,
                              "{'name': 'forward', 'microbatch': %d, 'stage': %d}", i, i % 7);
        used[ps_intern_hash(text, (size_t)length) >> 32 & (PS_INTERN_SETS - 1)]++;
    }
    for (int i = 0; i < PS_INTERN_SETS; i++) {
        assert_true(used[i] < 8 * (N / PS_INTERN_SETS));
    }
    char zero[64] = {0};
    for (size_t n = 0; n + 1 < sizeof zero; n++) { /* the length is part of it */
        assert_true(ps_intern_hash(zero, n) != ps_intern_hash(zero, n + 1));
    }
    for (size_t n = 1; n <= 40; n++) { /* and so is each byte */
        char text[40] = {0};
        uint64_t before = ps_intern_hash(text, n);
        for (size_t i = 0; i < n; i++) {
            text[i] = 1;
            assert_true(ps_intern_hash(text, n) != before);
            text[i] = 0;
        }
    }
}

static void test_domains(void **state) {
    (void)state;
    ps_record_domain *none = ps_domain_named(NULL, 0);
    assert_int_equal(none->id, 0);
    assert_ptr_equal(ps_domain_named("default", 7), none);
    assert_ptr_equal(ps_domain_check(NULL), none);
    ps_record_domain *a = ps_domain_named("alpha, not all of it", 5);
    assert_string_equal(a->name, "alpha");
    assert_ptr_equal(ps_domain_named("alpha", 5), a);
    assert_ptr_not_equal(ps_domain_named("alph", 4), a);
    assert_ptr_equal(ps_domain_at(a->id), a);
    assert_null(ps_domain_at(ps_domain_count()));

    assert_ptr_equal(ps_domain_check(a), a);
    assert_null(ps_domain_check((char *)a + 1));
    assert_null(ps_domain_check(&state));
    assert_null(ps_domain_check(a + 2)); /* not made yet */
    assert_null(ps_domain_check(ps_domain_at(0) - 1));
    ps_domain_destroy(a);
    assert_null(ps_domain_check(a));
    assert_ptr_equal(ps_domain_named("alpha", 5), a); /* back to life */
    assert_ptr_equal(ps_domain_check(a), a);
    ps_domain_destroy(none);
    assert_ptr_equal(ps_domain_check(none), none);
}

static bool passes(const char *name) {
    return atomic_load(&ps_domain_named(name, strlen(name))->recorded);
}

static void test_filter(void **state) {
    (void)state;
    ps_domain_filter(" one,two , three,", "two");
    assert_true(passes("one"));
    assert_true(passes("two")); /* include wins */
    assert_true(passes("three"));
    assert_false(passes("on"));
    assert_false(passes("default"));
    assert_false(passes(""));
    ps_domain_filter("", "one,default");
    assert_false(passes("one"));
    assert_false(passes("default"));
    assert_true(passes("two"));
    assert_true(passes("made later"));
    ps_domain_filter(NULL, NULL);
    assert_true(passes("one"));
    assert_true(passes("default"));
}

static void test_shared_texts(void **state) {
    (void)state;
    enum { N = 10000 };
    char text[32];
    uint32_t first = ps_shared_text("text 0", 6);
    for (int i = 1; i < N; i++) {
        int length = snprintf(text, sizeof text, "text %d", i);
        assert_int_equal(ps_shared_text(text, (size_t)length), first + (uint32_t)i);
    }
    for (int i = 0; i < N; i++) {
        size_t length;
        int want = snprintf(text, sizeof text, "text %d", i);
        assert_int_equal(ps_shared_text(text, (size_t)want), first + (uint32_t)i);
        assert_string_equal(ps_shared_text_at(first + (uint32_t)i, &length), text);
        assert_int_equal(length, want);
    }
    assert_int_equal(ps_shared_text_count(), first + N - 1);
    size_t length;
    assert_null(ps_shared_text_at(0, &length));
    assert_null(ps_shared_text_at(first + N, &length));
    assert_null(ps_shared_text_defined(first + N));
    assert_int_equal(ps_shared_text(NULL, 0), 0);
}

/* After all others: the table stays full. */
static void test_too_many_domains(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 256);
    char name[32];
    while (ps_domain_count() < PS_MAX_DOMAINS) {
        int length = snprintf(name, sizeof name, "domain %u", ps_domain_count());
        assert_non_null(ps_domain_named(name, (size_t)length));
    }
    assert_null(ps_event_domain("one too many", 12));
    assert_non_null(ps_domain_named("alpha", 5));
    assert_int_equal(ps_double_stop(), 0);
    assert_int_equal(ps_double_drops(PS_DROP_TOO_MANY_DOMAINS), 1);
    ps_double_reset();
}

static void test_clock(void **state) {
    (void)state;
    assert_int_equal(ps_clock_choose(PS_CLOCK_MONOTONIC), PS_CLOCK_MONOTONIC);
    int clock = ps_clock_choose(-1);
    ps_anchor first = ps_clock_anchor(clock);
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    ps_anchor second = ps_clock_anchor(clock);
    assert_true(second.ticks > first.ticks);
    assert_true(second.mono_ns - first.mono_ns >= 20000000);
    assert_true(first.real_ns > INT64_C(1500000000) * 1000000000);
#if defined(                                                                                       \
    __aarch64__) /* it counts for every program, also where the kernel goes by another clock */
    ps_anchor earlier = ps_clock_anchor(PS_CLOCK_ARM);
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_true(ps_clock_anchor(PS_CLOCK_ARM).ticks > earlier.ticks);
#endif
    ps_anchor mono = ps_clock_anchor(PS_CLOCK_MONOTONIC);
    assert_int_equal(mono.ticks, mono.mono_ns);
    ps_buf out;
    ps_buf_init(&out, 4096);
    ps_clock_describe(clock, &out);
    assert_true(ps_buf_ok(&out));
    assert_non_null(strstr(ps_buf_str(&out), "{\"ticks\":\""));
    assert_non_null(strstr(ps_buf_str(&out), "\"ptp\":"));
    assert_int_equal(ps_buf_str(&out)[strlen(ps_buf_str(&out)) - 1], '}');
    ps_buf_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intern),
        cmocka_unit_test(test_oldest_goes),
        cmocka_unit_test(test_equal_hashes),
        cmocka_unit_test(test_ids_run_out),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_shared_texts),
        cmocka_unit_test(test_too_many_domains),
        cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
