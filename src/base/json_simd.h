/* Looking at many bytes of JSON at once. The same functions three times: AVX2, NEON, plain C; which one a file gets
 * depends on how it is compiled (CMakeLists.txt), and which of those files works is decided at run time.
 *
 * All of them may read up to PS_JSON_PAD bytes behind what they are given: text is kept in buffers with so many zero
 * bytes behind it. */
#ifndef PS_BASE_JSON_SIMD_H
#define PS_BASE_JSON_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX2__) && !defined(PS_JSON_PLAIN)
#define PS_JSON_AVX2 1
#include <immintrin.h>
#elif defined(__ARM_NEON) && !defined(PS_JSON_PLAIN)
#define PS_JSON_NEON 1
#include <arm_neon.h>
#endif

#define PS_JSON_PAD ((size_t)64)

/* Of 64 bytes, bit i for byte i. */
typedef struct ps_json_masks {
    uint64_t quotes, backslashes;
    uint64_t opening, closing; /* brackets of both kinds */
    uint64_t beside;           /* may stand beside a string: brackets, comma, colon, white space */
} ps_json_masks;

/* What `beside` looks up: for the low half of a byte the byte with that half which belongs to it, else one of another
 * half. The second is for brackets, whose two kinds differ in one bit; the colon is left over. */
#define PS_JSON_SPACES ' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, ',', '\r', 0, 0
#define PS_JSON_BRACKETS 0xF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{', 0, '}', 0, 0

#if defined(PS_JSON_AVX2)

static inline uint32_t ps_json_bits32(__m256i v) {
    return (uint32_t)_mm256_movemask_epi8(v);
}

static inline uint32_t ps_json_eq32(__m256i v, char c) {
    return ps_json_bits32(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(c)));
}

static inline uint32_t ps_json_beside32(__m256i v, __m256i folded) {
    const __m256i spaces = _mm256_setr_epi8(PS_JSON_SPACES, PS_JSON_SPACES);
    const __m256i brackets = _mm256_setr_epi8(PS_JSON_BRACKETS, PS_JSON_BRACKETS);
    __m256i found = _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_shuffle_epi8(spaces, v)),
                                    _mm256_cmpeq_epi8(folded, _mm256_shuffle_epi8(brackets, v)));
    return ps_json_bits32(_mm256_or_si256(found, _mm256_cmpeq_epi8(v, _mm256_set1_epi8(':'))));
}

static inline ps_json_masks ps_json_masks_of(const char *p) {
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    const __m256i bit = _mm256_set1_epi8(0x20);
    const __m256i fa = _mm256_or_si256(a, bit);
    const __m256i fb = _mm256_or_si256(b, bit);
    return (ps_json_masks){
        .quotes = ps_json_eq32(a, '"') | (uint64_t)ps_json_eq32(b, '"') << 32,
        .backslashes = ps_json_eq32(a, '\\') | (uint64_t)ps_json_eq32(b, '\\') << 32,
        .opening = ps_json_eq32(fa, '{') | (uint64_t)ps_json_eq32(fb, '{') << 32,
        .closing = ps_json_eq32(fa, '}') | (uint64_t)ps_json_eq32(fb, '}') << 32,
        .beside = ps_json_beside32(a, fa) | (uint64_t)ps_json_beside32(b, fb) << 32};
}

/* Bit i: an odd number of the bits 0..i is set. */
static inline uint64_t ps_json_prefix_xor(uint64_t bits) {
    __m128i all = _mm_set1_epi8((char)0xFF);
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)bits), all, 0));
}

/* Quotes and backslashes of 32 bytes. */
static inline uint32_t ps_json_quote_bits(const char *p) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return ps_json_bits32(_mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')),
                                          _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'))));
}

/* Whether the bytes of 32 that `mask` names are the same. */
static inline bool ps_json_same32(const char *a, const char *b, uint32_t mask) {
    __m256i va = _mm256_loadu_si256((const __m256i *)(const void *)a);
    __m256i vb = _mm256_loadu_si256((const __m256i *)(const void *)b);
    return (~ps_json_bits32(_mm256_cmpeq_epi8(va, vb)) & mask) == 0;
}

#elif defined(PS_JSON_NEON)

/* Four vectors of 0x00 and 0xFF bytes to 64 bits. */
static inline uint64_t ps_json_bits64(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    static const uint8_t BITS[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t bits = vld1q_u8(BITS);
    uint8x16_t ab = vpaddq_u8(vandq_u8(a, bits), vandq_u8(b, bits));
    uint8x16_t cd = vpaddq_u8(vandq_u8(c, bits), vandq_u8(d, bits));
    uint8x16_t all = vpaddq_u8(ab, cd);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

static inline uint64_t ps_json_eq64(const uint8x16_t v[4], char c) {
    const uint8x16_t x = vdupq_n_u8((uint8_t)c);
    return ps_json_bits64(vceqq_u8(v[0], x), vceqq_u8(v[1], x), vceqq_u8(v[2], x),
                          vceqq_u8(v[3], x));
}

static inline uint8x16_t ps_json_beside16(uint8x16_t v, uint8x16_t folded) {
    static const uint8_t SPACES[16] = {PS_JSON_SPACES};
    static const uint8_t BRACKETS[16] = {PS_JSON_BRACKETS};
    const uint8x16_t low = vandq_u8(v, vdupq_n_u8(15));
    uint8x16_t found = vorrq_u8(vceqq_u8(v, vqtbl1q_u8(vld1q_u8(SPACES), low)),
                                vceqq_u8(folded, vqtbl1q_u8(vld1q_u8(BRACKETS), low)));
    return vorrq_u8(found, vceqq_u8(v, vdupq_n_u8(':')));
}

static inline ps_json_masks ps_json_masks_of(const char *p) {
    uint8x16_t v[4];
    uint8x16_t f[4];
    uint8x16_t beside[4];
    for (int i = 0; i < 4; i++) {
        v[i] = vld1q_u8((const uint8_t *)p + 16 * i);
        f[i] = vorrq_u8(v[i], vdupq_n_u8(0x20));
        beside[i] = ps_json_beside16(v[i], f[i]);
    }
    return (ps_json_masks){.quotes = ps_json_eq64(v, '"'),
                           .backslashes = ps_json_eq64(v, '\\'),
                           .opening = ps_json_eq64(f, '{'),
                           .closing = ps_json_eq64(f, '}'),
                           .beside = ps_json_bits64(beside[0], beside[1], beside[2], beside[3])};
}

static inline uint64_t ps_json_prefix_xor(uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) {
        bits ^= bits << shift;
    }
    return bits;
}

static inline uint32_t ps_json_quote_bits(const char *p) {
    const uint8x16_t zero = vdupq_n_u8(0);
    uint8x16_t low = vld1q_u8((const uint8_t *)p);
    uint8x16_t high = vld1q_u8((const uint8_t *)p + 16);
    low = vorrq_u8(vceqq_u8(low, vdupq_n_u8('"')), vceqq_u8(low, vdupq_n_u8('\\')));
    high = vorrq_u8(vceqq_u8(high, vdupq_n_u8('"')), vceqq_u8(high, vdupq_n_u8('\\')));
    return (uint32_t)ps_json_bits64(low, high, zero, zero);
}

static inline bool ps_json_same32(const char *a, const char *b, uint32_t mask) {
    const uint8x16_t zero = vdupq_n_u8(0);
    uint8x16_t low = vceqq_u8(vld1q_u8((const uint8_t *)a), vld1q_u8((const uint8_t *)b));
    uint8x16_t high =
        vceqq_u8(vld1q_u8((const uint8_t *)a + 16), vld1q_u8((const uint8_t *)b + 16));
    return (~(uint32_t)ps_json_bits64(low, high, zero, zero) & mask) == 0;
}

#else

static inline ps_json_masks ps_json_masks_of(const char *p) {
    ps_json_masks m = {0};
    for (int i = 0; i < 64; i++) {
        const uint64_t bit = (uint64_t)1 << i;
        switch (p[i]) {
        case '"':
            m.quotes |= bit;
            break;
        case '\\':
            m.backslashes |= bit;
            break;
        case '{':
        case '[':
            m.opening |= bit;
            m.beside |= bit;
            break;
        case '}':
        case ']':
            m.closing |= bit;
            m.beside |= bit;
            break;
        case ',':
        case ':':
        case ' ':
        case '\t':
        case '\n':
        case '\r':
            m.beside |= bit;
            break;
        default:
            break;
        }
    }
    return m;
}

static inline uint64_t ps_json_prefix_xor(uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) {
        bits ^= bits << shift;
    }
    return bits;
}

static inline uint32_t ps_json_quote_bits(const char *p) {
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++) {
        bits |= (uint32_t)(p[i] == '"' || p[i] == '\\') << i;
    }
    return bits;
}

static inline bool ps_json_same32(const char *a, const char *b, uint32_t mask) {
    size_t n = mask == 0 ? 0 : 32 - (size_t)__builtin_clz(mask);
    return memcmp(a, b, n) == 0; /* masks begin at the first byte and have no holes */
}

#endif

/* --- made of these ----------------------------------------------------------------------------------- */

static inline uint32_t ps_json_first_bits(size_t n) {
    return n >= 32 ? UINT32_MAX : ((uint32_t)1 << n) - 1;
}

/* Whether n bytes are the same; up to 32 may be read of both. */
static inline bool ps_json_same(const char *a, const char *b, size_t n) {
    return n <= 32 ? ps_json_same32(a, b, ps_json_first_bits(n)) : memcmp(a, b, n) == 0;
}

/* The quote that ends the string whose text begins at p; NULL when there is none before `end`. */
static inline const char *ps_json_string_end(const char *p, const char *end, bool *has_escape) {
    while (p < end) {
        const char *next = p + 32;
        uint32_t bits = ps_json_quote_bits(p);
        while (bits != 0) {
            int i = __builtin_ctz(bits);
            if (p[i] == '"') {
                return p + i < end ? p + i : NULL;
            }
            *has_escape = true;
            next += i == 31; /* the byte behind the backslash is in the next 32 */
            bits &= ~((uint32_t)3 << i);
        }
        p = next;
    }
    return NULL;
}

/* Bits of bytes that a backslash takes out of the syntax. *carry: the last byte is a backslash that does so with the
 * next. */
static inline uint64_t ps_json_escaped(uint64_t backslashes, uint64_t *carry) {
    if (backslashes == 0) {
        uint64_t escaped = *carry;
        *carry = 0;
        return escaped;
    }
    uint64_t escaped = *carry;
    *carry = 0;
    backslashes &= ~escaped;
    while (backslashes != 0) {
        int at = __builtin_ctzll(backslashes);
        backslashes &= backslashes - 1;
        if (at == 63) {
            *carry = 1;
        } else {
            escaped |= (uint64_t)2 << at;
            backslashes &= ~((uint64_t)2 << at);
        }
    }
    return escaped;
}

/* Behind the bracket that closes the one at p, by the state of strings and brackets. NULL when there is none before
 * `end`, when it is nested deeper than `max_depth`, or when what stands beside a string, or a backslash outside of one,
 * cannot be JSON. */
static inline const char *ps_json_skip_brackets(const char *p, const char *end, int max_depth) {
    uint64_t escape_carry = 0;
    uint64_t string_carry = 0; /* all ones inside a string */
    uint64_t beside_carry = 1; /* the byte before may stand before a string */
    uint64_t closed_carry = 0; /* the byte before ended a string */
    int depth = 0;
    for (; p < end; p += 64) {
        ps_json_masks m = ps_json_masks_of(p);
        uint64_t quotes = m.quotes & ~ps_json_escaped(m.backslashes, &escape_carry);
        uint64_t inside = ps_json_prefix_xor(quotes) ^ string_carry; /* with the opening quote */
        uint64_t opened = quotes & inside;
        uint64_t closed = quotes & ~inside;
        uint64_t wrong = (m.backslashes & ~inside) | (opened & ~(m.beside << 1 | beside_carry)) |
                         ((closed << 1 | closed_carry) & ~m.beside);
        uint64_t opening = m.opening & ~inside;
        uint64_t closing = m.closing & ~inside;
        while (closing != 0) {
            uint64_t bit = closing & -closing;
            depth += __builtin_popcountll(opening & (bit - 1));
            opening &= ~(bit - 1);
            if (depth > max_depth || (wrong & (bit - 1)) != 0) {
                return NULL;
            }
            if (--depth == 0) {
                p += __builtin_ctzll(bit) + 1;
                return p <= end ? p : NULL;
            }
            closing &= closing - 1;
        }
        depth += __builtin_popcountll(opening);
        if (depth > max_depth || wrong != 0) {
            return NULL;
        }
        string_carry = (uint64_t)((int64_t)inside >> 63);
        beside_carry = m.beside >> 63;
        closed_carry = closed >> 63;
    }
    return NULL;
}

/* --- digits -------------------------------------------------------------------------------------------- */

static inline uint64_t ps_json_load8(const char *p) {
    uint64_t word = 0;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* How many of the 8 bytes at p are digits before any other byte. */
static inline unsigned ps_json_n_digits8(const char *p) {
    uint64_t t = ps_json_load8(p) ^ 0x3030303030303030u;
    uint64_t other = (t | (t + 0x7676767676767676u)) & 0x8080808080808080u;
    return other == 0 ? 8 : (unsigned)__builtin_ctzll(other) >> 3;
}

/* The same, and the number that they make. */
static inline __attribute__((always_inline)) unsigned ps_json_digits8(const char *p,
                                                                      uint64_t *value) {
    uint64_t t = ps_json_load8(p) ^ 0x3030303030303030u;
    uint64_t other = (t | (t + 0x7676767676767676u)) & 0x8080808080808080u;
    unsigned n = other == 0 ? 8 : (unsigned)__builtin_ctzll(other) >> 3;
    if (n == 0) {
        *value = 0;
        return 0;
    }
    t <<= 64 - 8 * n;
    t = (t * 10) + (t >> 8);
    t = ((t & 0x000000FF000000FFu) * 0x000F424000000064u +
         (t >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u) >>
        32;
    *value = t;
    return n;
}

static const uint64_t PS_JSON_POW10[] = {1,      10,      100,      1000,     10000,
                                         100000, 1000000, 10000000, 100000000};

static inline bool ps_json_is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

/* The digits at p as a number; returns the byte behind them. More than 19 are not read to their end. Where there are
 * eight or sixteen the way on does not wait for their count. */
static inline __attribute__((always_inline)) const char *ps_json_digits(const char *p,
                                                                        uint64_t *value) {
    uint64_t more = 0;
    unsigned n = ps_json_digits8(p, value);
    if (n < 8 || !ps_json_is_digit(p[8])) {
        return n < 8 ? p + n : p + 8;
    }
    n = ps_json_digits8(p + 8, &more);
    *value = *value * PS_JSON_POW10[n] + more;
    if (n < 8 || !ps_json_is_digit(p[16])) {
        return n < 8 ? p + 8 + n : p + 16;
    }
    n = ps_json_digits8(p + 16, &more);
    *value = *value * PS_JSON_POW10[n & 3] + more;
    return p + 16 + n;
}

#endif
