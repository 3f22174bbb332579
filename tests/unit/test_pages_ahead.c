#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/pages_ahead.h"

enum { PAGE = 4096 };

static size_t resident_pages(void *begin, size_t n_bytes) {
    static unsigned char is_there[16384];
    size_t n_pages = n_bytes / PAGE;
    size_t n = 0;
    uintptr_t at = (uintptr_t)begin / PAGE * PAGE;
    assert_true(n_pages <= sizeof is_there);
    assert_int_equal(mincore((void *)at, n_bytes, is_there), 0);
    for (size_t i = 0; i < n_pages; i++) {
        n += is_there[i] & 1;
    }
    return n;
}

/* An array is filled and grows, and holds what was written, whoever made its pages ready. */
static void test_contents(void **context) {
    (void)context;
    ps_pages_ahead *pages = ps_pages_ahead_new();
    ps_filled_array filled = {0};
    uint32_t *array = NULL;
    size_t cap = 0;
    const size_t n = (size_t)6 << 20;
    for (size_t i = 0; i < n; i++) {
        if (i % 65536 == 0) {
            ps_pages_ahead_of(pages, &filled, array, i * sizeof *array, cap * sizeof *array);
        }
        assert_true(ps_grow(&array, &cap, i + 1, SIZE_MAX / 8, sizeof *array));
        array[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++) {
        assert_true(array[i] == (uint32_t)i);
    }
    ps_pages_ahead_free(pages);
    ps_free(array);
}

/* What lies before the filled part is made ready, a bounded part of it. */
static void test_bounded(void **context) {
    (void)context;
    const size_t n = (size_t)32 << 20;
    char *array = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(array != MAP_FAILED);
    ps_pages_ahead *pages = ps_pages_ahead_new();
    ps_filled_array filled = {0};
    ps_pages_ahead_of(pages, &filled, array, n / 4, n);
    ps_pages_ahead_of(pages, &filled, array, n / 4 + PAGE, n);
    assert_ptr_equal(filled.begin, array);
    assert_in_range(filled.asked_bytes, n / 4 + PAGE, n / 2);
    ps_pages_ahead_free(pages); /* what it has begun it ends */
    assert_in_range(resident_pages(array, n), 0, (filled.asked_bytes - n / 4) / PAGE + 512);
    (void)munmap(array, n);
}

static void test_without(void **context) {
    (void)context;
    ps_filled_array filled = {0};
    ps_pages_ahead_of(NULL, &filled, NULL, 0, 0);
    assert_int_equal(filled.asked_bytes, 0);
    ps_pages_ahead *pages = ps_pages_ahead_new();
    ps_pages_ahead_of(pages, &filled, &filled, 16, 1024); /* a small one begins no thread */
    assert_int_equal(filled.asked_bytes, 0);
    ps_pages_ahead_free(pages);
    ps_pages_ahead_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
