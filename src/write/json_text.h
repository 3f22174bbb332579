/* JSON into a ps_byte_out, without a call of printf for each number: outputs of millions of events. */
#ifndef PS_WRITE_JSON_TEXT_H
#define PS_WRITE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "write/byte_out.h"

/* Deeper values are not valid here: readers of events have a limit too. */
#define PS_JSON_MAX_DEPTH 48

/* With its quotes. Bytes that are not UTF-8 become U+FFFD. */
void ps_json_put_str(ps_byte_out *out, const char *s, size_t n);

void ps_json_put_i64(ps_byte_out *out, int64_t value);

/* Nanoseconds as microseconds with three decimals: -1500 is "-1.500". */
void ps_json_put_us(ps_byte_out *out, int64_t ns);

/* The shortest decimal that reads back as the same double, always with a point or exponent, so that it stays a real
 * number: "2.0". Where there is no such number in JSON: the string "NaN", "Infinity" or "-Infinity". */
void ps_json_put_real(ps_byte_out *out, double value);

/* Whether the text is one JSON number, or one JSON value of at most PS_JSON_MAX_DEPTH levels in UTF-8. */
bool ps_json_is_number(const char *s, size_t n);
bool ps_json_is_value(const char *s, size_t n);

#endif
