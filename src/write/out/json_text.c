#include "write/out/json_text.h"

#include <math.h>

#include "model/lacks.h"
#include "write/out/number_text.h"

enum { MAX_DIGITS = 20 };

/* The digits of `value` before `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t value) {
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return end;
}

/* Most numbers in profiles have few decimals: r / 10^d is the double nearest to that decimal, since both are exact
 * below 2^53. False when `value` is none of them. */
static bool put_short_real(ps_json *j, double value) {
    static const double POWERS[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6};
    double size = fabs(value);
    for (unsigned d = 1; d < sizeof POWERS / sizeof POWERS[0]; d++) {
        double scaled = nearbyint(size * POWERS[d]);
        if (scaled >= 9007199254740992.0) {
            return false;
        }
        if (scaled / POWERS[d] != size) {
            continue;
        }
        char text[MAX_DIGITS + 8];
        char *end = text + sizeof text;
        uint64_t number = (uint64_t)scaled;
        char *at = end;
        for (unsigned i = 0; i < d; i++) {
            *--at = (char)('0' + number % 10);
            number /= 10;
        }
        *--at = '.';
        at = digits_before(at, number);
        if (signbit(value)) {
            *--at = '-';
        }
        ps_json_raw(j, at, (size_t)(end - at));
        return true;
    }
    return false;
}

void ps_json_typed_real(ps_json *j, double value) {
    if (isnan(value) || isinf(value)) {
        ps_json_str(j, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    } else if (!put_short_real(j, value)) {
        char text[PS_NUMBER_TEXT + 2];
        ps_real_shortest(value, text);
        if (strpbrk(text, ".e") == NULL) {
            memcpy(text + strlen(text), ".0", 3);
        }
        ps_json_raw(j, text, strlen(text));
    }
}

void ps_json_short_real(ps_json *j, double value) {
    if (!isfinite(value)) {
        ps_json_null(j);
        return;
    }
    char text[PS_NUMBER_TEXT];
    ps_real_shortest(value, text);
    ps_json_raw(j, text, strlen(text));
}

void ps_json_lacks(ps_json *j, int indent, const ps_table *lacks) {
    if (!ps_lacks_any(lacks)) {
        return;
    }
    ps_json_line(j, indent);
    ps_json_key_array(j, "lacks");
    for (size_t r = 0; r < lacks->n_rows; r++) {
        ps_json_line(j, indent > 0 ? indent + 1 : 0);
        ps_json_object(j);
        for (size_t c = 0; c < lacks->n_columns; c++) {
            const char *name = lacks->columns[c].name;
            ps_json_name(j, name, strlen(name));
            ps_json_cell(j, &lacks->columns[c], ps_table_cell(lacks, r, c));
        }
        ps_json_close(j);
    }
    ps_json_close(j);
}

void ps_json_cell(ps_json *j, const ps_column *column, const ps_value *cell) {
    if (cell->is_null) {
        ps_json_null(j);
    } else if (column->type == PS_COL_INT) {
        ps_json_int(j, cell->u.i);
    } else if (column->type == PS_COL_REAL) {
        ps_json_short_real(j, cell->u.r);
    } else {
        ps_json_str(j, cell->u.text);
    }
}
