/* Large blocks beyond a limit lie in a file, and nobody sees a difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/spill.h"
#include "base/threads.h"

enum { LARGE = 3 << 20, SMALL = 1000 };

static bool all_are(const uint8_t *bytes, size_t n, uint8_t value) {
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}

/* Folders of temporary files may lie in memory: then nothing of this can be looked at. */
static void need_file(void) {
    ps_spill_above(1);
    bool before = ps_spill_keep(true);
    ps_free(ps_alloc(LARGE));
    (void)ps_spill_keep(before);
    if (ps_spill_most() == 0) {
        skip();
    }
}

static int begin_limited(void **state) {
    (void)state;
    ps_spill_above(1);
    (void)ps_spill_keep(true);
    return 0;
}

static int end_limited(void **state) {
    (void)state;
    (void)ps_spill_keep(false);
    ps_spill_above(0);
    return 0;
}

static void only_what_is_kept(void **state) {
    (void)state;
    need_file();
    size_t most = ps_spill_most();
    assert_true(ps_spill_is_over());
    (void)ps_spill_keep(false);
    void *in_passing = ps_alloc((size_t)4 * LARGE);
    assert_int_equal(ps_spill_most(), most);
    (void)ps_spill_keep(true);
    void *small = ps_alloc(SMALL);
    assert_int_equal(ps_spill_most(), most);
    void *kept = ps_alloc((size_t)4 * LARGE);
    assert_true(ps_spill_most() >= (size_t)4 * LARGE);
    ps_free(in_passing);
    ps_free(small);
    ps_free(kept);
    ps_spill_above(INT64_MAX);
    most = ps_spill_most();
    kept = ps_alloc((size_t)8 * LARGE);
    assert_int_equal(ps_spill_most(), most);
    ps_free(kept);
}

/* Out of memory into the file, within it, and back. */
static void arrays_grow(void **state) {
    (void)state;
    need_file();
    (void)ps_spill_keep(false);
    uint32_t *numbers = NULL;
    size_t cap = 0;
    for (uint32_t i = 0; i < 3000000; i++) {
        (void)ps_spill_keep(i > 100000 && i < 2000000);
        assert_true(ps_grow(&numbers, &cap, (size_t)i + 1, SIZE_MAX, sizeof *numbers));
        numbers[i] = i;
    }
    ps_shrink(&numbers, &cap, 3000000, sizeof *numbers);
    for (uint32_t i = 0; i < 3000000; i++) {
        assert_int_equal(numbers[i], i);
    }
    ps_free(numbers);
}

/* Places that were used before are zero where zeros are asked for; sizes of every kind have their room. */
static void blocks_of_all_sizes(void **state) {
    (void)state;
    need_file();
    for (int round = 0; round < 3; round++) {
        uint8_t *blocks[64];
        size_t n_bytes[64];
        for (size_t i = 0; i < 64; i++) {
            n_bytes[i] = PS_SPILL_BLOCK_BYTES + i * i * 701 + (i % 3 == 0 ? 1 : 0);
            blocks[i] = i % 2 == 0 ? ps_calloc(1, n_bytes[i]) : ps_alloc(n_bytes[i]);
            assert_non_null(blocks[i]);
            assert_true(i % 2 == 1 || all_are(blocks[i], n_bytes[i], 0));
            memset(blocks[i], (int)i + 1, n_bytes[i]);
        }
        for (size_t i = 0; i < 64; i++) {
            assert_true(all_are(blocks[i], n_bytes[i], (uint8_t)(i + 1)));
            ps_free(blocks[i]);
        }
    }
}

static void use_blocks(void *context, size_t i) {
    (void)context;
    bool before = ps_spill_keep(true);
    uint8_t *block = ps_calloc(1, PS_SPILL_BLOCK_BYTES + i * 100);
    assert_true(block != NULL && all_are(block, PS_SPILL_BLOCK_BYTES + i * 100, 0));
    memset(block, 0xa5, PS_SPILL_BLOCK_BYTES + i * 100);
    ps_free(block);
    (void)ps_spill_keep(before);
}

static void many_threads(void **state) {
    (void)state;
    need_file();
    ps_parallel(500, 4, use_blocks, NULL);
}

/* A child works on what it has of its parent, and its parent does not see it. */
static void child_has_its_own(void **state) {
    (void)state;
    need_file();
    uint8_t *block = ps_alloc(LARGE);
    memset(block, 7, LARGE);
    size_t most = ps_spill_most();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool ok = ps_spill_leave() && all_are(block, LARGE, 7);
        memset(block, 8, LARGE);
        void *more = ps_alloc((size_t)64 << 20);
        ok = ok && more != NULL && ps_spill_most() == most && all_are(block, LARGE, 8);
        ps_free(more);
        ps_free(block);
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(all_are(block, LARGE, 7));
    ps_free(block);
}

/* Allocations that tests make fail still do. */
static void failing_allocations(void **state) {
    (void)state;
    need_file();
    (void)ps_alloc_fail_at(0);
    assert_null(ps_alloc(LARGE));
    (void)ps_alloc_fail_at(-1);
    assert_null(ps_calloc(SIZE_MAX / 2, 4));
    ps_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_is_kept, begin_limited, end_limited),
        cmocka_unit_test_setup_teardown(arrays_grow, begin_limited, end_limited),
        cmocka_unit_test_setup_teardown(blocks_of_all_sizes, begin_limited, end_limited),
        cmocka_unit_test_setup_teardown(many_threads, begin_limited, end_limited),
        cmocka_unit_test_setup_teardown(child_has_its_own, begin_limited, end_limited),
        cmocka_unit_test_setup_teardown(failing_allocations, begin_limited, end_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
