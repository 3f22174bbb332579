/* Comparing by keys, places in what is sorted, growing by one: the pieces of base that expand into code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/sort.h"

typedef struct item {
    int64_t stream;
    uint32_t end;
    struct {
        const char *text;
    } name;
    double weight;
} item;

PS_COMPARE(compare_items, item, PS_BY(stream) PS_BY_DOWN(end) PS_BY_TEXT(name.text) PS_BY(weight))
PS_COMPARE_POINTERS(compare_item_pointers, item, PS_BY_DOWN(weight) PS_BY(stream))

static const item SORTED[] = {{INT64_MIN, 0, {"b"}, 6}, {-1, UINT32_MAX, {"a"}, 5},
                              {-1, 7, {"a"}, 4},        {-1, 7, {"b"}, -1},
                              {-1, 7, {"b"}, 0.5},      {INT64_MAX, 0, {""}, 0}};
enum { N_ITEMS = sizeof SORTED / sizeof *SORTED };

static void keys_count_in_their_order(void **state) {
    (void)state;
    item items[N_ITEMS];
    const item *pointers[N_ITEMS];
    for (size_t i = 0; i < N_ITEMS; i++) {
        items[(i * 5 + 2) % N_ITEMS] = SORTED[i];
        pointers[i] = &SORTED[i];
    }
    ps_sort(items, N_ITEMS, sizeof *items, compare_items);
    ps_sort(pointers, N_ITEMS, sizeof *pointers, compare_item_pointers);
    for (size_t i = 0; i < N_ITEMS; i++) {
        assert_int_equal(compare_items(&items[i], &SORTED[i]), 0);
        assert_true(i == 0 || compare_items(&items[i - 1], &items[i]) < 0);
        assert_true(i == 0 || pointers[i - 1]->weight > pointers[i]->weight);
    }
    ps_sort(NULL, 0, sizeof *items, compare_items);
    const char *texts[] = {"b", "", "a"};
    ps_sort(texts, 3, sizeof *texts, ps_compare_texts);
    assert_string_equal(texts[0], "");
    assert_string_equal(texts[2], "b");
}

static void a_place_is_found_everywhere(void **state) {
    (void)state;
    static const int64_t TIMES[] = {INT64_MIN, -5, -5, 0, 3, 3, 3, INT64_MAX};
    enum { N = sizeof TIMES / sizeof *TIMES };
    for (size_t from = 0; from <= N; from++) {
        for (size_t k = 0; k < N; k++) {
            PS_PLACE(size_t, first, from, N, i, TIMES[i] < TIMES[k]);
            PS_PLACE(uint32_t, behind, (uint32_t)from, N, i, TIMES[i] <= TIMES[k]);
            for (size_t i = from; i < N; i++) {
                assert_true((TIMES[i] < TIMES[k]) == (i < first));
                assert_true((TIMES[i] <= TIMES[k]) == (i < behind));
            }
            assert_true(first >= from && first <= N && behind >= first);
        }
    }
}

static void one_more_is_added_or_nothing_changes(void **state) {
    (void)state;
    int *numbers = NULL;
    size_t n = 0;
    size_t cap = 0;
    for (int i = 0; i < 100; i++) {
        bool is_added = PS_ADD(numbers, n, cap, 100, i);
        assert_true(is_added);
    }
    bool is_added = PS_ADD(numbers, n, cap, 100, 100);
    assert_false(is_added);
    assert_int_equal(n, 100);
    assert_int_equal(numbers[99], 99);
    ps_free(numbers);
}

/* A map that is all zero is an empty one, and takes the least and the largest key. */
static void zero_is_an_empty_map(void **state) {
    (void)state;
    ps_idmap m = {0};
    assert_int_equal(ps_idmap_get(&m, 0), PS_IDMAP_NONE);
    assert_true(ps_idmap_put(&m, 5, 1));
    assert_int_equal(ps_idmap_get(&m, 0), PS_IDMAP_NONE);
    assert_int_equal(ps_idmap_get(&m, 5), 1);
    assert_true(ps_idmap_put(&m, 0, 2) && ps_idmap_put(&m, UINT64_MAX, 3));
    assert_int_equal(ps_idmap_get(&m, 0), 2);
    assert_int_equal(ps_idmap_get(&m, UINT64_MAX), 3);
    ps_idmap_fini(&m);
    assert_int_equal(ps_idmap_get(&m, 5), PS_IDMAP_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_count_in_their_order),
        cmocka_unit_test(a_place_is_found_everywhere),
        cmocka_unit_test(one_more_is_added_or_nothing_changes),
        cmocka_unit_test(zero_is_an_empty_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
