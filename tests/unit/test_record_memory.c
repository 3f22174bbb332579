/* What the recorder may take of memory: the account itself, and what those who ask do when they are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "record/core/domains.h"
#include "record/nvtx/nvtx.h"
#include "record/ring/memory.h"
#include "record/ring/spool.h"

static int restore(void **state) {
    (void)state;
    ps_memory_limit(UINT64_C(1) << 30);
    (void)ps_memory_refused();
    return 0;
}

static void the_account(void **state) {
    (void)state;
    uint64_t before = ps_memory_taken();
    ps_memory_limit(before + 1000);
    assert_false(ps_memory_refused());
    assert_true(ps_memory_take(600));
    assert_false(ps_memory_take(401));
    assert_true(ps_memory_refused());
    assert_false(ps_memory_refused());
    assert_true(ps_memory_take(400));
    ps_memory_take_anyway(500);
    assert_false(ps_memory_take(1));
    assert_int_equal(ps_memory_taken(), before + 1500);
    ps_memory_give(1500);
    assert_false(ps_memory_take(UINT64_MAX));
    assert_int_equal(ps_memory_taken(), before);
}

/* Together never more than the limit. */
static void *take_and_give(void *most) {
    for (int i = 0; i < 20000; i++) {
        if (ps_memory_take(300)) {
            if (ps_memory_taken() > (uint64_t)(uintptr_t)most) {
                return most;
            }
            ps_memory_give(300);
        }
    }
    return NULL;
}

static void several_threads(void **state) {
    (void)state;
    pthread_t threads[3];
    uint64_t before = ps_memory_taken();
    ps_memory_limit(before + 700);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            pthread_create(&threads[i], NULL, take_and_give, (void *)(uintptr_t)(before + 700)), 0);
    }
    for (int i = 0; i < 3; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(ps_memory_taken(), before);
}

/* Registered texts go on as <dropped>, those that are there already stay. */
static void texts(void **state) {
    (void)state;
    ps_nvtx_string *early = ps_nvtx_string_named(0, ps_nvtx_text("early"));
    assert_non_null(early);
    ps_memory_limit(ps_memory_taken() + 10);
    ps_text late = ps_nvtx_string_text(ps_nvtx_string_named(0, ps_nvtx_text("late, and long")));
    assert_int_equal(late.length, strlen("<dropped>"));
    assert_memory_equal(late.bytes, "<dropped>", late.length);
    assert_ptr_equal(ps_nvtx_string_named(0, ps_nvtx_text("early")), early);
    assert_true(ps_nvtx_string_text(early).shared != 0);
    assert_true(ps_memory_refused());
}

/* Events in memory take what is left rather than twice as much, and give it back. */
static void a_spool(void **state) {
    (void)state;
    static const ps_spool_header HEADER = {.magic = PS_SPOOL_MAGIC, .format = PS_RECORD_FORMAT};
    ps_spool spool;
    ps_ring ring;
    uint64_t before = ps_memory_taken();
    ps_memory_limit(before + (5 << 19)); /* 2.5 MiB */
    assert_true(ps_ring_make(&ring, NULL, 5, 1024, 42));
    assert_true(ps_spool_open(&spool, NULL, &HEADER, 16 << 20));
    uint64_t n = 0;
    do {
        n++;
        ps_ring_publish(&ring, 1000);
    } while (ps_spool_take(&spool, &ring, 5) == 1000);
    assert_true(n * 32000 > 9 << 18 && n * 32000 <= (5 << 19) + 32000);
    assert_true(ps_memory_taken() <= before + (5 << 19));
    ps_spool_close(&spool);
    ps_ring_drop(&ring, false);
    assert_int_equal(ps_memory_taken(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_account, restore),
        cmocka_unit_test_teardown(several_threads, restore),
        cmocka_unit_test_teardown(texts, restore),
        cmocka_unit_test_teardown(a_spool, restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
