#include "write/out/column_units.h"

#include <math.h>

#include "base/sort.h"

/* Before the point, of the largest: with more there is a larger unit, and a smaller one is not taken for others' sake. */
#define TOO_WIDE 1e5
#define WIDE 1e4

/* What is less of its unit has fewer than three digits that count, since MOST_DECIMALS are behind the point. */
#define LEAST 0.1

enum { MOST_DECIMALS = 3 }; /* unless all of the column is smaller */
enum { MOST_OF_ALL = 9 };   /* even then */
enum { MOST_DIGITS = 5 }; /* of the largest, for the sake of small ones and of what lies between */
enum { MORE_DECIMALS = 2 }; /* than the three digits of the largest take, for the middle's sake */

static const ps_unit_step TIMES[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
static const ps_unit_step SIZES[] = {
    {"bytes", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", (int64_t)1 << 40}};

/* --- the numbers of a column ------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static bool is_number_column(const ps_column *column) {
    return column->type == PS_COL_INT || column->type == PS_COL_REAL;
}

static void find_unit_kind(ps_column_numbers *numbers, const ps_column *column) {
    bool may_scale = is_number_column(column) && !column->exact;
    numbers->own = 1;
    switch (column->unit) {
    case PS_UNIT_MS:
    case PS_UNIT_US:
    case PS_UNIT_NS:
        numbers->kind = may_scale ? PS_UNITS_TIME : PS_UNITS_NONE;
        numbers->own = column->unit == PS_UNIT_MS ? 1000000 : column->unit == PS_UNIT_US ? 1000 : 1;
        break;
    case PS_UNIT_BYTES:
        numbers->kind = may_scale ? PS_UNITS_SIZE : PS_UNITS_NONE;
        break;
    case PS_UNIT_MB:
    case PS_UNIT_GB_PER_S:
    case PS_UNIT_TFLOPS:
    case PS_UNIT_MHZ:
    case PS_UNIT_PERCENT:
    case PS_UNIT_NONE:
    case PS_UNIT_COUNT:
        break;
    }
}

static bool gather_numbers(ps_arena *arena, const ps_table *t, size_t column, size_t from,
                           size_t to, ps_column_numbers *out) {
    const ps_column *c = &t->columns[column];
    *out = (ps_column_numbers){.unit = {"", 1}};
    find_unit_kind(out, c);
    if (!is_number_column(c)) {
        return true;
    }
    out->sizes = ps_arena_alloc(arena, (to - from + 1) * sizeof *out->sizes);
    if (out->sizes == NULL) {
        return false;
    }
    double least = INFINITY;
    double most = -INFINITY;
    for (size_t r = from; r < to; r++) {
        const ps_value *cell = ps_table_cell(t, r, column);
        double value = cell->is_null ? NAN : c->type == PS_COL_INT ? (double)cell->u.i : cell->u.r;
        value *= (double)out->own;
        if (!isfinite(value)) {
            continue;
        }
        least = fmin(least, value);
        most = fmax(most, value);
        if (value != 0) {
            out->sizes[out->n++] = fabs(value);
        }
    }
    out->between = most > least ? most - least : 0;
    ps_sort(out->sizes, out->n, sizeof *out->sizes, compare_doubles);
    return true;
}

/* --- units ------------------------------------------------------------------------------------------------------------- */

typedef struct unit_steps {
    const ps_unit_step *step; /* the smallest first */
    size_t n, none;           /* of zeros alone */
} unit_steps;

static unit_steps unit_steps_of(ps_unit_kind kind) {
    return kind == PS_UNITS_TIME ? (unit_steps){TIMES, sizeof TIMES / sizeof *TIMES, 2}
                                 : (unit_steps){SIZES, sizeof SIZES / sizeof *SIZES, 0};
}

/* That suits the middle of sorted sizes, and in which the largest is not too wide. */
static size_t step_for(const unit_steps *steps, const double *sizes, size_t n) {
    if (n == 0) {
        return steps->none;
    }
    size_t at = 0;
    while (at + 1 < steps->n && (sizes[n / 2] >= (double)steps->step[at + 1].size ||
                                 sizes[n - 1] >= TOO_WIDE * (double)steps->step[at].size)) {
        at++;
    }
    return at;
}

/* All of a column is so small that a smaller unit shows more digits. */
static bool loses_digits(const unit_steps *steps, const ps_column_numbers *c, size_t at) {
    return at > 0 && c->n > 0 && c->sizes[c->n - 1] < LEAST * (double)steps->step[at].size;
}

/* Columns that have no unit yet. */
typedef struct column_group {
    unit_steps steps;
    ps_column_numbers **column;
    size_t n;
} column_group;

static size_t count_unit_losers(const column_group *g, size_t at) {
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        n += loses_digits(&g->steps, g->column[i], at);
    }
    return n;
}

/* The unit of those together; `room` has place for all their sizes. */
static size_t shared_step(const column_group *g, double *room) {
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        for (size_t k = 0; k < g->column[i]->n; k++) {
            room[n++] = g->column[i]->sizes[k];
        }
    }
    ps_sort(room, n, sizeof *room, compare_doubles);
    size_t best = step_for(&g->steps, room, n);
    size_t least = count_unit_losers(g, best);
    for (size_t at = best; least > 0 && at > 0; at--) {
        if (room[n - 1] >= WIDE * (double)g->steps.step[at - 1].size) {
            break;
        }
        size_t losers = count_unit_losers(g, at - 1);
        best = losers < least ? at - 1 : best;
        least = losers < least ? losers : least;
    }
    return best;
}

/* Gives a unit to those of the group that keep their digits in it, and leaves the others, which are fewer: the largest number is no
 * less than its unit. */
static void share_unit(column_group *g, double *room) {
    size_t at = shared_step(g, room);
    size_t n_left = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (loses_digits(&g->steps, g->column[i], at)) {
            g->column[n_left++] = g->column[i];
        } else {
            g->column[i]->unit = g->steps.step[at];
        }
    }
    g->n = n_left;
}

static bool find_column_units(ps_arena *arena, ps_column_numbers *columns, size_t n,
                              ps_unit_kind kind) {
    column_group g = {.steps = unit_steps_of(kind)};
    size_t n_sizes = 0;
    g.column = ps_arena_alloc(arena, (n + 1) * sizeof *g.column);
    for (size_t c = 0; g.column != NULL && c < n; c++) {
        if (columns[c].kind == kind) {
            g.column[g.n++] = &columns[c];
            n_sizes += columns[c].n;
        }
    }
    double *room = ps_arena_alloc(arena, (n_sizes + 1) * sizeof *room);
    if (g.column == NULL || room == NULL) {
        return false;
    }
    while (g.n > 0) {
        share_unit(&g, room);
    }
    return true;
}

/* --- digits ------------------------------------------------------------------------------------------------------------ */

/* Behind the point, so that a number has so many digits that count; 9.996 is "10.0". */
static unsigned decimals_of(double size, int digits) {
    double decimals = digits - 1 - floor(log10(size) + 2e-4);
    return decimals > MOST_OF_ALL ? MOST_OF_ALL : decimals > 0 ? (unsigned)decimals : 0;
}

static unsigned smaller_of(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Whether the smallest number that one digit more shows has less than two without it. */
static bool has_small(const ps_column_numbers *c, unsigned decimals) {
    double least = 0.5 * pow(10, -(double)decimals - 1) * (double)c->unit.size;
    size_t i = 0;
    while (c->sizes[i] < least) {
        i++;
    }
    return decimals_of(c->sizes[i] / (double)c->unit.size, 2) > decimals;
}

static bool is_fraction(double number) {
    return fabs(number - round(number)) > 1e-9 * number;
}

/* "0.25" and "2.00", but not "2.000" where no number has a third one. Of times and sizes the largest keeps its three digits. */
static unsigned without_zeros(const ps_column_numbers *c, unsigned least, unsigned decimals) {
    unsigned needed = least;
    for (size_t i = 0; i < c->n && needed < decimals; i++) {
        while (needed < decimals &&
               is_fraction(c->sizes[i] / (double)c->unit.size * pow(10, needed))) {
            needed++;
        }
    }
    return needed;
}

static unsigned find_decimals(const ps_column_numbers *c) {
    if (c->n == 0) {
        return 0;
    }
    double per = (double)c->unit.size;
    double largest = c->sizes[c->n - 1] / per;
    double between = c->between / per;
    unsigned few = decimals_of(largest, 3);
    unsigned most = few > MOST_DECIMALS ? few : MOST_DECIMALS;
    unsigned told = smaller_of(most, decimals_of(largest, MOST_DIGITS));
    double middle = c->sizes[c->n / 2] / per;
    unsigned out = smaller_of(most, decimals_of(middle, 3));
    if (out > few + MORE_DECIMALS && middle >= pow(10, -(double)few - MORE_DECIMALS)) {
        out = few + MORE_DECIMALS; /* enough for it to have a digit */
    }
    if (between >= pow(10, -(double)told)) {
        unsigned differ = smaller_of(told, decimals_of(between, 2));
        out = differ > out ? differ : out;
    }
    out += out == few && out < told && has_small(c, out);
    return without_zeros(c, c->kind == PS_UNITS_NONE ? 0 : few, out);
}

/* An integer has no more of them than its own unit has in the one shown. */
static unsigned most_decimals(const ps_column_numbers *c, const ps_column *column) {
    if (column->type != PS_COL_INT || c->unit.size <= c->own) {
        return column->type == PS_COL_INT ? 0 : UINT8_MAX;
    }
    return (unsigned)lround(log10((double)c->unit.size / (double)c->own));
}

/* --- columns that are read against one another ------------------------------------------------------------------------------ */

/* The numbers of columns [from, to), which have one unit, as if they were one column. */
static bool pool_columns(ps_arena *arena, const ps_column_numbers *columns, size_t from, size_t to,
                         ps_column_numbers *out) {
    size_t n = 0;
    for (size_t c = from; c < to; c++) {
        n += columns[c].n;
    }
    *out = columns[from];
    out->n = 0;
    out->sizes = ps_arena_alloc(arena, (n + 1) * sizeof *out->sizes);
    if (out->sizes == NULL) {
        return false;
    }
    for (size_t c = from; c < to; c++) {
        for (size_t k = 0; k < columns[c].n; k++) {
            out->sizes[out->n++] = columns[c].sizes[k];
        }
        out->between = fmax(out->between, columns[c].between);
    }
    ps_sort(out->sizes, out->n, sizeof *out->sizes, compare_doubles);
    return true;
}

/* Behind the columns that are read against column `from` and have its unit. */
static size_t end_of_beside(const ps_table *t, const ps_column_numbers *columns, size_t from) {
    size_t to = from + 1;
    while (to < t->n_columns && t->columns[to].is_beside &&
           columns[to].unit.size == columns[from].unit.size) {
        to++;
    }
    return to;
}

static bool give_decimals(ps_arena *arena, const ps_table *t, ps_column_numbers *columns) {
    for (size_t from = 0, to = 0; from < t->n_columns; from = to) {
        to = end_of_beside(t, columns, from);
        ps_column_numbers pool = columns[from];
        if (to - from > 1 && !pool_columns(arena, columns, from, to, &pool)) {
            return false;
        }
        unsigned decimals = find_decimals(&pool);
        for (size_t c = from; c < to; c++) {
            columns[c].decimals = smaller_of(decimals, most_decimals(&columns[c], &t->columns[c]));
        }
    }
    return true;
}

ps_column_numbers *ps_column_units(ps_arena *arena, const ps_table *t, size_t from, size_t to) {
    ps_column_numbers *out = ps_arena_alloc(arena, (t->n_columns + 1) * sizeof *out);
    for (size_t c = 0; out != NULL && c < t->n_columns; c++) {
        out = gather_numbers(arena, t, c, from, to, &out[c]) ? out : NULL;
    }
    bool ok = out != NULL && find_column_units(arena, out, t->n_columns, PS_UNITS_TIME) &&
              find_column_units(arena, out, t->n_columns, PS_UNITS_SIZE);
    return ok && give_decimals(arena, t, out) ? out : NULL;
}
