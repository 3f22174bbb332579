/* Numbers as text, without a locale and the same on every machine. */
#ifndef PS_WRITE_NUMBER_TEXT_H
#define PS_WRITE_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/table.h"

enum { PS_NUMBER_TEXT = 400 }; /* room for any of them: %f of the largest double */

/* The shortest decimal that reads back as the same double: "0.1", "1e+20"; "nan", "inf", "-inf". */
void ps_real_shortest(double value, char out[PS_NUMBER_TEXT]);

/* Decimal digits; returns how many bytes. */
size_t ps_int_text(int64_t value, char out[PS_NUMBER_TEXT]);

/* A number of a table: an integer, or the shortest of a real. Not NULL, not a text. */
void ps_add_number(ps_buf *out, ps_col_type type, const ps_value *cell);

/* value / scale (a power of ten) with `decimals` digits after the point, rounded half away from zero; in integers
 * all the way. */
void ps_int_scaled(int64_t value, int64_t scale, unsigned decimals, char out[PS_NUMBER_TEXT]);

#endif
