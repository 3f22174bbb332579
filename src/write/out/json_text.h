/* Real numbers as values of JSON, without a call of printf for most: outputs of millions of events. */
#ifndef PS_WRITE_JSON_TEXT_H
#define PS_WRITE_JSON_TEXT_H

#include "base/json_write.h"
#include "model/table.h"

/* The shortest decimal that reads back as the same double, always with a point or exponent, so that it stays a real
 * number: "2.0". Where there is no such number in JSON: the string "NaN", "Infinity" or "-Infinity". */
void ps_json_typed_real(ps_json *j, double value);

/* The same without a point where none is needed ("2"); null where there is no such number. */
void ps_json_short_real(ps_json *j, double value);
/* A cell of a table so; a NULL is null. */
void ps_json_cell(ps_json *j, const ps_column *column, const ps_value *cell);
/* "lacks":[{"rank":3,"what":"rank 3","mode":null,"reason":".."}], a row of the list (model/lacks.h) a line, as a member of the object that is
 * open, on a line of its own; nothing where nothing is lacking. */
void ps_json_lacks(ps_json *j, int indent, const ps_table *lacks);

#endif
