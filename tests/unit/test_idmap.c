/* The map from keys to numbers, and that no choice of keys makes it slow: counted as stretches of used slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
        cmocka_unit_test(only_slots_have_a_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
