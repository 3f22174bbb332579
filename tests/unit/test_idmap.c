/* The map from keys to numbers, and that no choice of keys makes it slow: counted as stretches of used slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/idmap.h"

enum { N = 20000 };

static size_t longest_stretch(const ps_idmap *m) {
    size_t longest = 0;
    size_t now = 0;
    for (size_t i = 0; i < m->n_slots; i++) {
        now = m->slots[i].value != PS_IDMAP_NONE ? now + 1 : 0;
        longest = now > longest ? now : longest;
    }
    return longest;
}

static uint64_t in_a_row(uint64_t i) {
    return i;
}

static uint64_t upper_bits_only(uint64_t i) {
    return i << 47;
}

/* Keys that the mixing without a seed sends to one slot: its inverse of i << 32. */
static uint64_t chosen(uint64_t i) {
    uint64_t x = i << 40;
    x ^= x >> 29 ^ x >> 58;
    uint64_t inverse = 1;
    for (int k = 0; k < 6; k++) {
        inverse *= 2 - 0x9E3779B97F4A7C15u * inverse;
    }
    x *= inverse;
    return x ^ x >> 32;
}

static void no_keys_crowd(void **state) {
    (void)state;
    static uint64_t (*const KEYS[])(uint64_t) = {in_a_row, upper_bits_only, chosen};
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++) {
        ps_idmap m;
        ps_idmap_init(&m);
        for (uint32_t i = 0; i < N; i++) {
            assert_true(ps_idmap_put(&m, KEYS[k](i), i));
        }
        assert_int_equal(m.n, N);
        assert_true(longest_stretch(&m) < 500);
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(ps_idmap_get(&m, KEYS[k](i)), i);
        }
        ps_idmap_fini(&m);
    }
}

static void the_last_value_counts(void **state) {
    (void)state;
    ps_idmap m;
    ps_idmap_init(&m);
    assert_int_equal(ps_idmap_get(&m, 5), PS_IDMAP_NONE);
    assert_true(ps_idmap_put(&m, 5, 1) && ps_idmap_put(&m, UINT64_MAX, 2));
    assert_true(ps_idmap_put(&m, 5, 3));
    assert_int_equal(m.n, 2);
    assert_int_equal(ps_idmap_get(&m, 5), 3);
    assert_int_equal(ps_idmap_get(&m, UINT64_MAX), 2);
    assert_int_equal(ps_idmap_get(&m, 6), PS_IDMAP_NONE);
    ps_idmap_fini(&m);
}

static uint64_t random_of(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Keys in and out of order, with holes, with one far away in the middle, from both ends of all numbers: each has the value put last, none else has
 * one, and the memory stays below that of the table. */
static void all_ways_to_grow(void **state) {
    (void)state;
    enum { RANGE = 4096, WAYS = 8 };
    static uint32_t expected[RANGE];
    for (uint64_t way = 0; way < WAYS; way++) {
        ps_idmap m = {0};
        uint64_t random = way;
        uint64_t from = way % 4 == 0 ? 0 : way % 4 == 1 ? UINT64_MAX - RANGE + 1 : 1000 * way;
        memset(expected, 0xFF, sizeof expected);
        for (uint32_t i = 0; i < 3 * RANGE; i++) {
            uint64_t k = way < 4 ? (i * (way + 1)) % RANGE : random_of(&random) % RANGE;
            k = way == 2 ? RANGE - 1 - k : k;
            assert_true(ps_idmap_put(&m, from + k, i));
            expected[k] = i;
            if (way == 3 && i == RANGE / 2) {
                assert_true(ps_idmap_put(&m, UINT64_MAX / 3, 7));
            }
            assert_true(m.n_values * sizeof *m.values <= 32 * (m.n + 1));
        }
        for (uint64_t k = 0; k < RANGE; k++) {
            assert_int_equal(ps_idmap_get(&m, from + k), expected[k]);
        }
        assert_int_equal(ps_idmap_get(&m, from - 1), PS_IDMAP_NONE);
        assert_int_equal(ps_idmap_get(&m, from + RANGE), PS_IDMAP_NONE);
        assert_int_equal(ps_idmap_get(&m, UINT64_MAX / 3), way == 3 ? 7 : PS_IDMAP_NONE);
        ps_idmap_fini(&m);
    }
}

static void counted_keys_are_an_array(void **state) {
    (void)state;
    ps_idmap m = {0};
    for (uint32_t i = 0; i < N; i++) {
        assert_true(ps_idmap_put(&m, UINT64_C(1) << 40 | (uint64_t)i * 3, i));
    }
    assert_non_null(m.values);
    assert_true(ps_idmap_put(&m, 0, 1)); /* far before them: the table again */
    assert_null(m.values);
    assert_int_equal(m.n, N + 1);
    ps_idmap_fini(&m);
}

static void memory_that_is_out_changes_nothing(void **state) {
    (void)state;
    for (int64_t n = 0; n < 16; n++) {
        ps_idmap m = {0};
        uint32_t n_in = 0;
        (void)ps_alloc_fail_at(n);
        for (uint32_t i = 0; i < 1000; i++) { /* up to 500 a row, then ever more apart */
            uint64_t key = i < 500 ? i : (uint64_t)i * i;
            n_in += ps_idmap_put(&m, key, i);
        }
        (void)ps_alloc_fail_at(-1);
        assert_int_equal(m.n, n_in);
        ps_idmap_fini(&m);
    }
}

/* Written values must not differ from run to run. */
static void only_slots_have_a_seed(void **state) {
    (void)state;
    assert_true(ps_hash64("", 0) == 0x2D06800538D394C2u);
    assert_true(ps_hash_seed() == ps_hash_seed());
    assert_true(ps_hash64_seeded("forward", 7) == ps_hash64_seeded("forward", 7));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_keys_crowd),
        cmocka_unit_test(the_last_value_counts),
        cmocka_unit_test(all_ways_to_grow),
        cmocka_unit_test(counted_keys_are_an_array),
        cmocka_unit_test(memory_that_is_out_changes_nothing),
        cmocka_unit_test(only_slots_have_a_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
