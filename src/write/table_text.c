/* A table for people:
 *
 *   rank  name              time (ms)  busy (%)
 *   ───────────────────────────────────────────
 *      0  aclnnMatmul…all        12.4      81.2
 *
 * First all cells become text (one unit and one number of decimals a column), then the widths are settled: texts
 * and headers give way to a minimum, longest first; columns that still find no room go into a further block below,
 * which repeats the first column. Nothing is left out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "write/number_text.h"
#include "write/shorten.h"
#include "write/writers.h"

enum { GAP = 2, SHORT = 12, WIDTH_MIN = 40 };

/* How a column's numbers are shown. */
typedef struct column_look {
    const char *header; /* with the unit */
    const char *unit;
    int64_t scale; /* of the column's own unit in one shown; integers, a power of ten */
    double factor; /* shown = value * factor, for reals and bytes */
    unsigned decimals;
    bool as_is; /* exact values */
    bool is_text;
    size_t natural; /* columns of the widest cell or header */
    size_t least;   /* that it can make do with */
    size_t width;   /* granted */
} column_look;

typedef struct layout {
    const ps_table *table;
    const ps_text_style *style;
    column_look *looks;
    const char **texts; /* row-major, as shown */
    ps_arena arena;
    ps_buf *out;
} layout;

/* --- numbers ----------------------------------------------------------------------------------------------- */

static double number_of(const ps_column *column, const ps_value *cell) {
    return column->type == PS_COL_INT ? (double)cell->u.i : cell->u.r;
}

/* Largest and smallest size in a column that are not 0; 0 for none. */
static void sizes(const ps_table *t, size_t column, double *largest, double *smallest,
                  bool *whole) {
    *largest = 0;
    *smallest = 0;
    *whole = true;
    for (size_t r = 0; r < t->n_rows; r++) {
        const ps_value *cell = ps_table_cell(t, r, column);
        double size = cell->is_null ? 0 : fabs(number_of(&t->columns[column], cell));
        if (size == 0 || !isfinite(size)) {
            continue;
        }
        *largest = size > *largest ? size : *largest;
        *smallest = *smallest == 0 || size < *smallest ? size : *smallest;
        *whole = *whole && size == floor(size);
    }
}

typedef struct unit_step {
    const char *name;
    int64_t scale;
} unit_step;

/* The largest unit in which the largest value is at least 1. */
static unit_step pick_unit(const unit_step *steps, size_t n, double largest) {
    size_t i = 0;
    while (i + 1 < n && largest >= (double)steps[i + 1].scale) {
        i++;
    }
    return steps[i];
}

static int64_t ns_per(ps_unit unit) {
    return unit == PS_UNIT_MS ? 1000000 : unit == PS_UNIT_US ? 1000 : 1;
}

/* The largest value shows three significant digits; one digit more where the smallest would lose too many. */
static unsigned pick_decimals(double largest, double smallest) {
    unsigned few = ps_decimals_for(largest);
    unsigned many = ps_decimals_for(smallest);
    return many > few + 1 ? few + 1 : few;
}

static bool is_time(const ps_column *column) {
    bool number = column->type == PS_COL_INT || column->type == PS_COL_REAL;
    return number && !column->exact &&
           (column->unit == PS_UNIT_NS || column->unit == PS_UNIT_US || column->unit == PS_UNIT_MS);
}

/* Times of a table share one unit, so that they can be added up and compared by eye, but for columns that are a
 * thousand times smaller: those would lose their digits. */
static double largest_time_ns(const ps_table *t) {
    double largest_ns = 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        double largest = 0;
        double smallest = 0;
        bool whole = true;
        if (is_time(&t->columns[c])) {
            sizes(t, c, &largest, &smallest, &whole);
            largest *= (double)ns_per(t->columns[c].unit);
            largest_ns = largest > largest_ns ? largest : largest_ns;
        }
    }
    return largest_ns;
}

static void look_at_time(column_look *look, const ps_column *column, double table_largest_ns,
                         double largest, double smallest) {
    static const unit_step STEPS[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    double own = (double)ns_per(column->unit);
    bool shared = largest * own * 1000 >= table_largest_ns || largest == 0;
    unit_step unit =
        pick_unit(STEPS, sizeof STEPS / sizeof STEPS[0], shared ? table_largest_ns : largest * own);
    look->unit = unit.name;
    look->factor = own / (double)unit.scale;
    /* An integer of a unit coarser than the one shown is multiplied, which only the real path does. */
    look->scale = unit.scale >= ns_per(column->unit) ? unit.scale / ns_per(column->unit) : 0;
    bool whole = look->scale == 1 && column->type == PS_COL_INT; /* no fraction there could be */
    look->decimals = whole ? 0 : pick_decimals(largest * look->factor, smallest * look->factor);
}

static void look_at_bytes(column_look *look, double largest, double smallest) {
    static const unit_step STEPS[] = {{"bytes", 1},
                                      {"KiB", 1 << 10},
                                      {"MiB", 1 << 20},
                                      {"GiB", 1 << 30},
                                      {"TiB", (int64_t)1 << 40}};
    unit_step unit = pick_unit(STEPS, sizeof STEPS / sizeof STEPS[0], largest);
    look->unit = unit.name;
    look->factor = 1 / (double)unit.scale;
    look->scale = unit.scale == 1 ? 1 : 0;
    look->decimals =
        unit.scale == 1 ? 0 : pick_decimals(largest * look->factor, smallest * look->factor);
}

static column_look look_at(const ps_table *t, size_t c, bool exact) {
    const ps_column *column = &t->columns[c];
    column_look look = {.unit = ps_unit_name(column->unit), .scale = 1, .factor = 1};
    look.is_text = column->type == PS_COL_TEXT || column->type == PS_COL_STRING_ID;
    if (look.is_text) {
        return look;
    }
    double largest = 0;
    double smallest = 0;
    bool whole = true;
    sizes(t, c, &largest, &smallest, &whole);
    switch (column->unit) {
    case PS_UNIT_NS:
    case PS_UNIT_US:
    case PS_UNIT_MS:
        look.as_is = exact || column->exact;
        if (!look.as_is) {
            look_at_time(&look, column, largest_time_ns(t), largest, smallest);
        }
        break;
    case PS_UNIT_BYTES:
        look.as_is = exact || column->exact;
        if (!look.as_is) {
            look_at_bytes(&look, largest, smallest);
        }
        break;
    case PS_UNIT_PERCENT:
        look.as_is = exact || column->exact;
        look.decimals = 1;
        break;
    case PS_UNIT_MB:
    case PS_UNIT_GB_PER_S:
    case PS_UNIT_TFLOPS:
    case PS_UNIT_MHZ:
    case PS_UNIT_NONE:
    case PS_UNIT_COUNT:
        look.as_is = exact || column->exact || column->type == PS_COL_INT;
        look.decimals = whole ? 0 : pick_decimals(largest, smallest);
        break;
    }
    return look;
}

/* A number that would read 0 and is not: "<0.01". */
static void show_small(double value, unsigned decimals, char out[PS_NUMBER_TEXT]) {
    if (value != 0 && strpbrk(out, "123456789") == NULL) {
        (void)snprintf(out, PS_NUMBER_TEXT, "%s%.*f", value < 0 ? ">-" : "<", (int)decimals,
                       pow(10, -(double)decimals));
    }
}

static void number_text(const column_look *look, const ps_column *column, const ps_value *cell,
                        char out[PS_NUMBER_TEXT]) {
    bool whole = column->type == PS_COL_INT;
    if (look->as_is && whole) {
        (void)snprintf(out, PS_NUMBER_TEXT, "%lld", (long long)cell->u.i);
    } else if (look->as_is || (!whole && !isfinite(cell->u.r))) {
        ps_real_shortest(number_of(column, cell), out);
    } else {
        double value = number_of(column, cell) * look->factor;
        if (whole && look->scale > 0) {
            ps_int_scaled(cell->u.i, look->scale, look->decimals, out);
        } else {
            (void)snprintf(out, PS_NUMBER_TEXT, "%.*f", (int)look->decimals, value);
        }
        show_small(value, look->decimals, out);
    }
}

/* --- texts ------------------------------------------------------------------------------------------------- */

static size_t columns_of(const char *s) {
    return ps_utf8_columns(s, strlen(s));
}

/* The column's name without the unit that it may end in: "bubble_ns" in milliseconds is "bubble (ms)". */
static const char *header_text(layout *l, size_t c) {
    static const char *const ENDS[] = {"_ns", "_us", "_ms", "_bytes", "_percent"};
    const ps_column *column = &l->table->columns[c];
    const char *unit = l->looks[c].unit;
    const char *name = ps_text_clean(&l->arena, column->name);
    if (name == NULL || unit[0] == '\0' || l->looks[c].is_text) {
        return name;
    }
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++) {
        size_t e = strlen(ENDS[i]);
        if (n > e && strcmp(name + n - e, ENDS[i]) == 0) {
            n -= e;
            break;
        }
    }
    size_t size = n + strlen(unit) + sizeof " ()";
    char *text = ps_arena_alloc(&l->arena, size);
    if (text != NULL) {
        (void)snprintf(text, size, "%.*s (%s)", (int)n, name, unit);
    }
    return text;
}

static const char *cell_text(layout *l, size_t r, size_t c) {
    const ps_column *column = &l->table->columns[c];
    const ps_value *cell = ps_table_cell(l->table, r, c);
    if (cell->is_null) {
        return "-";
    }
    if (l->looks[c].is_text) {
        return ps_text_clean(&l->arena, cell->u.text);
    }
    char number[PS_NUMBER_TEXT];
    number_text(&l->looks[c], column, cell, number);
    return ps_arena_strndup(&l->arena, number, strlen(number));
}

static bool make_texts(layout *l) {
    size_t n = l->table->n_columns;
    for (size_t c = 0; c < n; c++) {
        column_look *look = &l->looks[c];
        *look = look_at(l->table, c, l->style->exact);
        look->header = header_text(l, c);
        if (look->header == NULL) {
            return false;
        }
        size_t widest = 0;
        for (size_t r = 0; r < l->table->n_rows; r++) {
            const char *text = cell_text(l, r, c);
            if (text == NULL) {
                return false;
            }
            l->texts[r * n + c] = text;
            size_t wide = columns_of(text);
            widest = wide > widest ? wide : widest;
        }
        size_t header = columns_of(look->header);
        look->natural = header > widest ? header : widest;
        look->least = look->natural < SHORT ? look->natural : SHORT;
        look->least =
            !look->is_text && widest > look->least ? widest : look->least; /* numbers stay whole */
    }
    return true;
}

/* --- widths and blocks ------------------------------------------------------------------------------------- */

/* The columns of a block: the first one of the table, then [from, to). */
typedef struct block {
    size_t from, to;
} block;

static size_t next_in(const block *b, size_t c) {
    return c == 0 && b->from > 1 ? b->from : c + 1;
}

static size_t page_width(const layout *l) {
    size_t width = l->style->width > 0 ? l->style->width : 100;
    return width < WIDTH_MIN ? WIDTH_MIN : width;
}

/* As many columns from `from` on as fit beside the first; always at least one. */
static block cut_block(const layout *l, size_t from) {
    block b = {.from = from, .to = from};
    size_t used = from > 0 ? l->looks[0].least : 0;
    while (b.to < l->table->n_columns) {
        used += l->looks[b.to].least + (b.to > 0 ? GAP : 0);
        if (used > page_width(l) && b.to > from) {
            break;
        }
        b.to++;
    }
    return b;
}

static size_t block_width(const layout *l, const block *b) {
    size_t width = 0;
    for (size_t c = 0; c < b->to; c = next_in(b, c)) {
        width += l->looks[c].width + (c > 0 ? GAP : 0);
    }
    return width;
}

/* Takes columns from the widest until the block fits. */
static void settle_widths(layout *l, const block *b) {
    for (size_t c = 0; c < b->to; c = next_in(b, c)) {
        l->looks[c].width = l->looks[c].natural;
    }
    for (size_t width = block_width(l, b); width > page_width(l); width--) {
        column_look *widest = NULL;
        for (size_t c = 0; c < b->to; c = next_in(b, c)) {
            column_look *look = &l->looks[c];
            bool can_give = look->width > look->least;
            widest = can_give && (widest == NULL || look->width > widest->width) ? look : widest;
        }
        if (widest == NULL) {
            return;
        }
        widest->width--;
    }
}

/* --- output ------------------------------------------------------------------------------------------------ */

static void put_text(layout *l, size_t c, const char *text, bool last) {
    const column_look *look = &l->looks[c];
    size_t before = l->out->len;
    size_t columns = columns_of(text);
    size_t pad = columns < look->width ? look->width - columns : 0;
    if (!look->is_text) {
        ps_buf_add_fill(l->out, ' ', pad);
    }
    ps_text_middle(l->out, text, look->width, l->style->utf8);
    if (look->is_text && !last && ps_buf_ok(l->out)) {
        /* Cutting wide characters can leave one column more. */
        columns = ps_utf8_columns(l->out->data + before, l->out->len - before);
        ps_buf_add_fill(l->out, ' ', columns < look->width ? look->width - columns : 0);
    }
}

/* Row `row` of the texts, or the header for SIZE_MAX. */
static void put_row(layout *l, const block *b, size_t row) {
    for (size_t c = 0; c < b->to; c = next_in(b, c)) {
        ps_buf_add_str(l->out, c > 0 ? "  " : "");
        bool last = next_in(b, c) >= b->to;
        put_text(l, c,
                 row == SIZE_MAX ? l->looks[c].header : l->texts[row * l->table->n_columns + c],
                 last);
    }
}

static void put_header(layout *l, const block *b) {
    bool colour = l->style->colours != PS_COLOURS_NONE;
    ps_buf_add_str(l->out, colour ? "\033[1m" : "");
    put_row(l, b, SIZE_MAX);
    ps_buf_add_str(l->out, colour ? "\033[0m\n\033[2m" : "\n");
    for (size_t i = block_width(l, b); i > 0; i--) {
        ps_buf_add_str(l->out, l->style->utf8 ? "─" : "-");
    }
    ps_buf_add_str(l->out, colour ? "\033[0m\n" : "\n");
}

static void put_table(layout *l) {
    const char *title = ps_text_clean(&l->arena, l->table->title);
    if (title != NULL && title[0] != '\0') {
        ps_text_middle(l->out, title, page_width(l), l->style->utf8);
        ps_buf_add_str(l->out, "\n\n");
    }
    size_t from = 0;
    while (from < l->table->n_columns) {
        block b = cut_block(l, from);
        settle_widths(l, &b);
        ps_buf_add_str(l->out, from > 0 ? "\n" : "");
        put_header(l, &b);
        for (size_t r = 0; r < l->table->n_rows; r++) {
            put_row(l, &b, r);
            ps_buf_add_char(l->out, '\n');
        }
        from = b.to;
    }
    ps_buf_add_str(l->out, l->table->n_rows == 0 ? "(no rows)\n" : "");
}

ps_code ps_write_table_text(const ps_table *table, const ps_text_style *style, ps_buf *out,
                            ps_err *err) {
    layout l = {.table = table, .style = style, .out = out};
    ps_arena_init(&l.arena);
    size_t n_cells = table->n_rows * table->n_columns;
    l.looks = ps_arena_alloc(&l.arena, (table->n_columns + 1) * sizeof *l.looks);
    l.texts = ps_arena_alloc(&l.arena, (n_cells + 1) * sizeof *l.texts);
    bool ok = l.looks != NULL && l.texts != NULL && make_texts(&l);
    if (ok) {
        put_table(&l);
    }
    ps_arena_fini(&l.arena);
    return ok && ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}
