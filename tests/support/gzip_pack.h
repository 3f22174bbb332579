/* Gzip for tests. To be included behind cmocka. */
#ifndef PS_TESTS_GZIP_PACK_H
#define PS_TESTS_GZIP_PACK_H

#include "write/out/deflate.h"

/* One member of `n` bytes. Returns its size in `out`. */
static inline size_t gzip_pack(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap) {
    ps_deflate *z = ps_deflate_new();
    assert_non_null(z);
    uint32_t left = (uint32_t)n;
    uint32_t room = (uint32_t)cap;
    assert_int_equal(ps_deflate_run(z, &bytes, &left, true, out, &room), 0);
    assert_int_equal(left, 0);
    ps_deflate_free(z);
    return cap - room;
}

#endif
