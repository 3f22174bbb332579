/* Gzip: what is written comes back, and its bytes do not depend on where the compressor lies in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "write/out/deflate.h"

/* --- blocks at places of the test's choice --- */

enum { PLACE_BYTES = 1 << 20 };
static uint8_t *place;
static size_t place_room;

static void *take_place(size_t size_bytes, bool zeroed) {
    (void)zeroed; /* new pages are */
    if (place == NULL || place_room > 0 || size_bytes < 4096 || size_bytes > PLACE_BYTES) {
        return NULL;
    }
    place_room = size_bytes;
    return place;
}

static bool is_place(const void *p) {
    return place != NULL && p == place;
}

static size_t room_of_place(const void *p) {
    (void)p;
    return place_room;
}

static void free_place(void *p) {
    (void)p;
    place_room = 0;
}

/* --- texts --- */

enum { TEXT_BYTES = 1320, OUT_BYTES = 8192 };

/* Letters without order, then what stands at the third of them once more, then more of them. */
static void make_text(uint8_t text[TEXT_BYTES]) {
    for (int i = 0; i < 700; i++) {
        text[i] = (uint8_t)('a' + (i * i / 7 + i * 3) % 26);
    }
    memcpy(text + 700, text + 2, 20);
    memcpy(text + 720, text + 100, 600);
}

static uint32_t compress(const uint8_t *text, uint32_t n_text, uint8_t out[OUT_BYTES]) {
    ps_deflate *z = ps_deflate_new();
    assert_non_null(z);
    uint32_t room = OUT_BYTES;
    assert_int_equal(ps_deflate_run(z, &text, &n_text, false, out, &room), 0);
    assert_int_equal(n_text, 0);
    const uint8_t *none = NULL;
    uint32_t left = room;
    assert_int_equal(ps_deflate_run(z, &none, &n_text, true, out + (OUT_BYTES - room), &left), 0);
    assert_true(left > 0);
    ps_deflate_free(z);
    return OUT_BYTES - left;
}

/* Those of 60,000 addresses at which ISA-L 2.30 writes other bytes than elsewhere, at its levels 1 and 2. */
static void bytes_do_not_depend_on_addresses(void **state) {
    (void)state;
    static const uint64_t ADDRESSES[] = {0x200000000000, 0x200001490000, 0x2000195f0000,
                                         0x200029730000, 0x2000cf940000, 0x2000e7ae0000};
    static const ps_alloc_beyond PLACES = {take_place, is_place, room_of_place, free_place};
    uint8_t text[TEXT_BYTES];
    uint8_t first[OUT_BYTES];
    uint8_t out[OUT_BYTES];
    make_text(text);
    uint32_t n_first = compress(text, TEXT_BYTES, first);
    size_t n_placed = 0;
    ps_alloc_ask(&PLACES);
    for (size_t i = 0; i < sizeof ADDRESSES / sizeof *ADDRESSES; i++) {
        void *at = mmap((void *)(uintptr_t)ADDRESSES[i], PLACE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(at != MAP_FAILED);
        place = at;
        uint32_t n = compress(text, TEXT_BYTES, out);
        n_placed += (uintptr_t)at == ADDRESSES[i];
        place = NULL;
        assert_int_equal(munmap(at, PLACE_BYTES), 0);
        assert_int_equal(n, n_first);
        assert_memory_equal(out, first, n);
    }
    if (n_placed == 0) { /* a sanitizer has the room */
        skip();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_do_not_depend_on_addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
