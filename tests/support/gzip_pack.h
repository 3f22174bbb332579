/* Gzip for tests. To be included behind cmocka. */
#ifndef PS_TESTS_GZIP_PACK_H
#define PS_TESTS_GZIP_PACK_H

#include <isa-l/igzip_lib.h>

/* One member of `n` bytes. Returns its size in `out`. */
static inline size_t gzip_pack(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap) {
    struct isal_zstream z;
    isal_deflate_init(&z);
    z.end_of_stream = 1;
    z.flush = NO_FLUSH;
    z.gzip_flag = IGZIP_GZIP;
    z.next_in = (uint8_t *)(uintptr_t)bytes;
    z.avail_in = (uint32_t)n;
    z.next_out = out;
    z.avail_out = (uint32_t)cap;
    assert_int_equal(isal_deflate(&z), COMP_OK);
    return cap - z.avail_out;
}

#endif
