/* JSON text into a buffer of fixed size, for payloads: no allocation, and never half a value. A value that does not fit is
 * taken back by whoever wrote its key; what is open can always be closed. */
#ifndef PS_RECORD_NVTX_JSON_H
#define PS_RECORD_NVTX_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PS_JSON_OUT_RESERVE = 64 }; /* for closing brackets and the mark of what is missing */

typedef struct ps_json_out {
    char *out;
    size_t n;
    size_t limit; /* size of `out` less the reserve */
    bool full;    /* something did not fit */
} ps_json_out;

void ps_json_out_init(ps_json_out *j, char *out, size_t size);

/* False, and nothing written, when it does not fit. */
bool ps_json_out_raw(ps_json_out *j, const char *text, size_t n);
bool ps_json_out_u64(ps_json_out *j, uint64_t v);
bool ps_json_out_i64(ps_json_out *j, int64_t v);
bool ps_json_out_u128(ps_json_out *j, uint64_t high, uint64_t low, bool negative);
bool ps_json_out_bits(ps_json_out *j, uint64_t v); /* "0x..." */
/* Infinities and what is no number as strings. `single`: it was a float. */
bool ps_json_out_real(ps_json_out *j, double v, bool single);
bool ps_json_out_text(ps_json_out *j, const char *s, size_t n); /* with quotes; UTF-8 repaired */
/* "..." in hexadecimal, at most `max` bytes of them. */
bool ps_json_out_hex(ps_json_out *j, const void *bytes, size_t n, size_t max);

/* Closing: has room always. */
void ps_json_out_close(ps_json_out *j, const char *text);

#endif
