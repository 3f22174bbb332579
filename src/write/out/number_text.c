#include "write/out/number_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

size_t ps_int_text(int64_t value, char out[PS_NUMBER_TEXT]) {
    char digits[24];
    size_t n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    size_t length = 0;
    if (value < 0) {
        out[length++] = '-';
    }
    while (n > 0) {
        out[length++] = digits[--n];
    }
    out[length] = '\0';
    return length;
}

void ps_add_number(ps_buf *out, ps_col_type type, const ps_value *cell) {
    char number[PS_NUMBER_TEXT];
    if (type == PS_COL_INT) {
        ps_buf_add(out, number, ps_int_text(cell->u.i, number));
        return;
    }
    ps_real_shortest(cell->u.r, number);
    ps_buf_add_str(out, number);
}

/* Numbers of at most 15 digits, three of them behind the point, such as microseconds: what %.15g would print, sooner. */
static bool thousandths(double value, char out[PS_NUMBER_TEXT]) {
    double scaled = value * 1000;
    if (!(fabs(scaled) < 1e15) || (value == 0 && signbit(value))) {
        return false;
    }
    int64_t whole = llround(scaled);
    if ((double)whole / 1000 != value) {
        return false;
    }
    int64_t part = whole % 1000 < 0 ? -(whole % 1000) : whole % 1000;
    size_t n = 0;
    if (whole < 0 && whole > -1000) {
        out[n++] = '-';
    }
    n += ps_int_text(whole / 1000, out + n);
    if (part > 0) {
        out[n++] = '.';
        for (int64_t step = 100; part > 0; step /= 10) {
            out[n++] = (char)('0' + part / step);
            part %= step;
        }
    }
    out[n] = '\0';
    return true;
}

void ps_real_shortest(double value, char out[PS_NUMBER_TEXT]) {
    if (isnan(value) || isinf(value)) {
        (void)snprintf(out, PS_NUMBER_TEXT, "%s",
                       isnan(value) ? "nan"
                       : value > 0  ? "inf"
                                    : "-inf");
        return;
    }
    if (thousandths(value, out)) {
        return;
    }
    /* 15 digits always survive a round trip as text, 17 always tell two doubles apart. */
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, PS_NUMBER_TEXT, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
}

void ps_int_scaled(int64_t value, int64_t scale, unsigned decimals, char out[PS_NUMBER_TEXT]) {
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t step = (uint64_t)scale; /* of the last digit kept */
    uint64_t one = 1;                /* in such steps */
    unsigned kept = 0;               /* the scale has no more digits than that; zeros follow */
    while (kept < decimals && step > 1) {
        step /= 10;
        one *= 10;
        kept++;
    }
    uint64_t steps = size / step + (step > 1 && size % step >= step / 2 ? 1 : 0);
    const char *sign = value < 0 && steps > 0 ? "-" : "";
    int n = snprintf(out, PS_NUMBER_TEXT, "%s%llu", sign, (unsigned long long)(steps / one));
    if (decimals > 0) {
        n += snprintf(out + n, PS_NUMBER_TEXT - (size_t)n, ".");
        if (kept > 0) {
            n += snprintf(out + n, PS_NUMBER_TEXT - (size_t)n, "%0*llu", (int)kept,
                          (unsigned long long)(steps % one));
        }
        (void)snprintf(out + n, PS_NUMBER_TEXT - (size_t)n, "%.*s", (int)(decimals - kept),
                       "000000000");
    }
}
