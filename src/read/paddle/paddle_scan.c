/* Both words are found by two of their bytes, so that a block costs four loads and five comparisons:
 *
 *   Profiler   'P' and, 7 further on, 'r'
 *   NVTX       'N' and, 3 further on, 'X'
 *
 * Whoever gets a hit compares the whole literal. */
#include "read/paddle/paddle_scan.h"

#include <stdbool.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Adds the set bits of one block: `hits` and `newlines` have a bit for each of its bytes. */
static inline void take_hit_block(ps_paddle_hits *out, size_t at, uint32_t hits,
                                  uint32_t newlines) {
    while (hits != 0) {
        unsigned bit = (unsigned)__builtin_ctz(hits);
        uint32_t before = newlines & ((UINT32_C(1) << bit) - 1);
        out->at[out->n++] = (ps_paddle_hit){(uint32_t)(at + bit),
                                            out->n_lines + (uint32_t)__builtin_popcount(before)};
        hits &= hits - 1;
    }
    out->n_lines += (uint32_t)__builtin_popcount(newlines);
}

/* Bits of the first `n` bytes of a block of `size`. */
static inline uint32_t first_bits(size_t n, size_t size) {
    return n >= size ? UINT32_MAX : (UINT32_C(1) << n) - 1;
}

static inline void begin_hit(ps_paddle_hits *out) {
    out->n = 0;
    out->n_bytes = 0;
    out->n_lines = 0;
}

/* Goes over the blocks with `masks`, a function (bytes, &hits, &newlines) for `size` <= 32 bytes. */
#define SCAN_BLOCKS(bytes, n, out, masks, size)                                                    \
    begin_hit(out);                                                                                \
    size_t at = 0;                                                                                 \
    for (; at < (n) && (out)->n <= PS_PADDLE_HITS - (size); at += (size)) {                        \
        uint32_t hits = 0;                                                                         \
        uint32_t newlines = 0;                                                                     \
        masks((bytes) + at, &hits, &newlines);                                                     \
        uint32_t inside = first_bits((n)-at, (size));                                              \
        take_hit_block(out, at, hits &inside, newlines &inside);                                   \
    }                                                                                              \
    (out)->n_bytes = at < (n) ? at : (n)

static inline void masks_plain(const unsigned char *p, uint32_t *hits, uint32_t *newlines) {
    for (unsigned i = 0; i < 8; i++) {
        bool hit = (p[i] == 'P' && p[i + 7] == 'r') || (p[i] == 'N' && p[i + 3] == 'X');
        *hits |= (uint32_t)hit << i;
        *newlines |= (uint32_t)(p[i] == '\n') << i;
    }
}

void ps_paddle_scan_plain(const unsigned char *bytes, size_t n, ps_paddle_hits *out) {
    SCAN_BLOCKS(bytes, n, out, masks_plain, 8);
}

#if defined(__x86_64__)

__attribute__((target("avx2,bmi,popcnt"))) static inline void
masks_avx2(const unsigned char *p, uint32_t *hits, uint32_t *newlines) {
    __m256i b0 = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i b3 = _mm256_loadu_si256((const __m256i *)(const void *)(p + 3));
    __m256i b7 = _mm256_loadu_si256((const __m256i *)(const void *)(p + 7));
    __m256i profiler = _mm256_and_si256(_mm256_cmpeq_epi8(b0, _mm256_set1_epi8('P')),
                                        _mm256_cmpeq_epi8(b7, _mm256_set1_epi8('r')));
    __m256i nvtx = _mm256_and_si256(_mm256_cmpeq_epi8(b0, _mm256_set1_epi8('N')),
                                    _mm256_cmpeq_epi8(b3, _mm256_set1_epi8('X')));
    *hits = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(profiler, nvtx));
    *newlines = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b0, _mm256_set1_epi8('\n')));
}

__attribute__((target("avx2,bmi,popcnt"))) static void scan_avx2(const unsigned char *bytes,
                                                                 size_t n, ps_paddle_hits *out) {
    SCAN_BLOCKS(bytes, n, out, masks_avx2, 32);
}

void ps_paddle_scan(const unsigned char *bytes, size_t n, ps_paddle_hits *out) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("popcnt")) {
        scan_avx2(bytes, n, out);
    } else {
        ps_paddle_scan_plain(bytes, n, out);
    }
}

#elif defined(__aarch64__)

/* One bit for each byte of a comparison's result. */
static inline uint32_t bits_of(uint8x16_t equal) {
    static const uint8_t WEIGHTS[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t weighed = vandq_u8(equal, vld1q_u8(WEIGHTS));
    return (uint32_t)vaddv_u8(vget_low_u8(weighed)) | (uint32_t)vaddv_u8(vget_high_u8(weighed))
                                                          << 8;
}

static inline void masks_neon(const unsigned char *p, uint32_t *hits, uint32_t *newlines) {
    uint8x16_t b0 = vld1q_u8(p);
    uint8x16_t profiler =
        vandq_u8(vceqq_u8(b0, vdupq_n_u8('P')), vceqq_u8(vld1q_u8(p + 7), vdupq_n_u8('r')));
    uint8x16_t nvtx =
        vandq_u8(vceqq_u8(b0, vdupq_n_u8('N')), vceqq_u8(vld1q_u8(p + 3), vdupq_n_u8('X')));
    uint8x16_t both = vorrq_u8(profiler, nvtx);
    *hits = vmaxvq_u8(both) == 0 ? 0 : bits_of(both);
    *newlines = bits_of(vceqq_u8(b0, vdupq_n_u8('\n')));
}

void ps_paddle_scan(const unsigned char *bytes, size_t n, ps_paddle_hits *out) {
    SCAN_BLOCKS(bytes, n, out, masks_neon, 16);
}

#else

void ps_paddle_scan(const unsigned char *bytes, size_t n, ps_paddle_hits *out) {
    ps_paddle_scan_plain(bytes, n, out);
}

#endif
