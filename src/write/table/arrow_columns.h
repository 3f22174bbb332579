/* Rows as columns, as Arrow has them: what its file (arrow.c) and its C data interface (arrow_stream.c) share. */
#ifndef PS_WRITE_ARROW_COLUMNS_H
#define PS_WRITE_ARROW_COLUMNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "write/table/arrow.h"

typedef union ps_arrow_number {
    int64_t i;
    double r;
} ps_arrow_number;

typedef struct ps_arrow_column {
    const char *name, *unit;
    ps_col_type type;
    bool is_typed; /* a value has said the type */
    /* [n_rows + 1]: a zero, then the values; of texts where each begins in `text`, then where the last one ends. */
    ps_arrow_number *numbers;
    uint8_t *valid; /* a bit a row */
    size_t n_null;
    size_t cap_numbers, cap_valid;
    ps_buf text;
} ps_arrow_column;

/* What a ps_col_type is in Arrow. */
typedef struct ps_arrow_type {
    int64_t number;     /* of the union Type in Schema.fbs */
    const char *format; /* of the C data interface */
} ps_arrow_type;

/* Numbers of Schema.fbs. */
enum { PS_ARROW_INT = 2, PS_ARROW_FLOAT = 3, PS_ARROW_LARGE_UTF8 = 20 };

enum { PS_ARROW_MOST_COLUMNS = 4096 };

struct ps_arrow {
    atomic_size_t n_users;    /* ps_arrow_free() of the last one frees it */
    ps_arrow_column *columns; /* NULL before the first call */
    size_t n_columns, n_rows;
    const char *note_key, *note; /* NULL: none */
    ps_arena arena;
};

ps_arrow *ps_arrow_share(ps_arrow *a);
ps_arrow_type ps_arrow_type_of(const ps_arrow_column *c);
/* Room for `n` rows behind the last in all columns: numbers that are 0, none NULL. Who fills them says at last that there are so many more. */
PS_MUST_USE ps_code ps_arrow_make_room(ps_arrow *a, size_t n, ps_err *err);
/* Of a row made so: its number becomes 0. */
void ps_arrow_set_null(ps_arrow_column *c, size_t row);
bool ps_arrow_is_valid(const ps_arrow_column *c, size_t row);
/* The numbers without the zero before them; of texts the first ends at [0]. */
static inline const ps_arrow_number *ps_arrow_values(const ps_arrow_column *c) {
    return c->numbers != NULL ? c->numbers + 1 : NULL;
}

#endif
