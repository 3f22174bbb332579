#include "base/int_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/archive.h"
#include "base/buf.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Whatever the integers are, the runs are those integers, in their order; as bytes, too. */
static void check_same(const ps_int_runs *x, const int64_t *ints, size_t n) {
    assert_int_equal(x->n, n);
    ps_int_walk walk = {0};
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(ps_int_runs_next(x, &walk, &value));
        assert_int_equal(value, ints[i]);
        assert_int_equal(ps_int_runs_at(x, i), ints[i]);
        size_t first = 0;
        while (ints[first] != ints[i]) {
            first++;
        }
        assert_int_equal(ps_int_runs_find(x, ints[i]), first);
    }
    assert_false(ps_int_runs_next(x, &walk, &value));
}

static void add_all(ps_int_runs *x, ps_arena *arena, const int64_t *ints, size_t n) {
    for (size_t i = 0; i < n; i++) {
        assert_true(ps_int_runs_add(x, arena, ints[i]));
    }
}

static void runs_are_the_integers(void **state) {
    (void)state;
    static const int64_t EVEN[] = {7, 71, 135, 199};
    static const int64_t PARTS[] = {0, 1, 2, 3, 10, 20, 30, 5, 5, 5, 9, 7, 5};
    static const int64_t WIDE[] = {INT64_MIN, INT64_MAX, -1, INT64_MAX, INT64_MIN, 0};
    static const int64_t UNKNOWN[] = {-1, -1, 4, -1};
    static const struct {
        const int64_t *ints;
        size_t n, n_runs;
    } CASES[] = {{EVEN, 0, 0},           {EVEN, 1, 1},
                 {EVEN, COUNT(EVEN), 1}, {PARTS, COUNT(PARTS), 4},
                 {WIDE, COUNT(WIDE), 5}, {UNKNOWN, COUNT(UNKNOWN), 2}};
    for (size_t i = 0; i < COUNT(CASES); i++) {
        ps_arena arena;
        ps_arena_init(&arena);
        ps_int_runs x = {0};
        ps_int_runs copy = {0};
        add_all(&x, &arena, CASES[i].ints, CASES[i].n);
        assert_int_equal(x.n_runs, CASES[i].n_runs);
        check_same(&x, CASES[i].ints, CASES[i].n);
        assert_true(ps_int_runs_copy(&x, &arena, &copy));
        check_same(&copy, CASES[i].ints, CASES[i].n);
        ps_arena_fini(&arena);
    }
}

static void what_is_not_there_is_not_found(void **state) {
    (void)state;
    static const int64_t INTS[] = {10, 13, 16, 4, 2, 0};
    static const int64_t ABSENT[] = {9, 11, 14, 17, 19, 1, 3, 5, -2, INT64_MIN, INT64_MAX};
    ps_arena arena;
    ps_arena_init(&arena);
    ps_int_runs x = {0};
    add_all(&x, &arena, INTS, COUNT(INTS));
    for (size_t i = 0; i < COUNT(ABSENT); i++) {
        assert_int_equal(ps_int_runs_find(&x, ABSENT[i]), -1);
    }
    assert_int_equal(ps_int_runs_largest(&x), 16);
    ps_arena_fini(&arena);
}

/* --- as bytes ------------------------------------------------------------------------------------------------------ */

typedef struct holder {
    ps_arena arena;
    ps_int_runs ints;
} holder;

static void visit_holder(ps_archive *a, void **value) {
    holder *x = ps_archive_object(a, value, sizeof *x);
    if (x != NULL) {
        ps_arena *before = ps_archive_use_arena(a, &x->arena);
        ps_int_runs_archive(a, &x->ints);
        (void)ps_archive_use_arena(a, before);
    }
}

static ps_code there_and_back(ps_int_runs ints, holder **out) {
    holder from = {.ints = ints};
    ps_buf bytes = {0};
    assert_int_equal(ps_archive_write_value(visit_holder, &from, &bytes, NULL), PS_OK);
    void *read = NULL;
    ps_code code = ps_archive_read_value(visit_holder, &read, bytes.data, bytes.len, NULL);
    ps_buf_fini(&bytes);
    *out = read;
    return code;
}

static void free_holder(holder *x) {
    if (x != NULL) {
        ps_arena_fini(&x->arena);
        ps_free(x);
    }
}

static void travels(void **state) {
    (void)state;
    static const int64_t INTS[] = {0, 1, 2, 3, 900, 7, 5, 3};
    ps_arena arena;
    ps_arena_init(&arena);
    ps_int_runs x = {0};
    add_all(&x, &arena, INTS, COUNT(INTS));
    holder *read = NULL;
    assert_int_equal(there_and_back(x, &read), PS_OK);
    check_same(&read->ints, INTS, COUNT(INTS));
    free_holder(read);
    ps_arena_fini(&arena);
}

/* Bytes that say more than there can be lead nobody to count for ever, or past the end of int64_t. */
static void what_cannot_be_is_refused(void **state) {
    (void)state;
    ps_int_run runs[][2] = {{{0, 1, PS_INT_RUNS_MOST + 1}, {0, 0, 1}},
                            {{0, 1, 0}, {0, 0, 1}},
                            {{0, INT64_MAX, 3}, {0, 0, 1}},
                            {{INT64_MAX - 1, 1, 3}, {0, 0, 1}},
                            {{0, 1, PS_INT_RUNS_MOST}, {0, 1, PS_INT_RUNS_MOST}}};
    for (size_t i = 0; i < COUNT(runs); i++) {
        holder *read = NULL;
        assert_int_not_equal(there_and_back((ps_int_runs){.runs = runs[i], .n_runs = 2}, &read),
                             PS_OK);
        free_holder(read);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_the_integers),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(travels),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
