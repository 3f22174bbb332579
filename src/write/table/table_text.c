/* A table for people:
 *
 *   rank  name              time (ms)  busy (%)
 *   ───────────────────────────────────────────
 *      0  aclnnMatmul…all        12.4      81.2
 *
 * First all cells become text (column_units.h says in which unit and with how many digits), then the widths are settled: texts
 * and headers give way to a minimum, longest first; columns that still find no room go into a further block below,
 * which repeats the columns that tell the rows apart. Nothing is left out. A header wider than its column is shown whole over
 * several lines. A text in the last column is a note: it is shown whole, in a block of its own and over several lines where it
 * must. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "write/out/column_units.h"
#include "write/out/number_text.h"
#include "write/out/shorten.h"
#include "write/out/writers.h"

enum { GAP = 2, SHORT = 12, WIDTH_MIN = 40 };
enum { LONG_TEXT = 60, HEADER_LEAST = 16 }; /* that other columns give way to at first */
enum { NOTE_LINES = 6 };

/* How a column's numbers are shown. */
typedef struct column_look {
    const char *header; /* with the unit */
    const char *unit;
    double own, per; /* shown = value * own / per */
    unsigned decimals;
    bool as_is; /* exact values */
    bool is_text;
    size_t natural;       /* columns of the widest cell or header */
    size_t widest;        /* cell */
    size_t longest_word;  /* of the header, in columns */
    size_t least;         /* that it can make do with */
    size_t width;         /* granted */
    const size_t *places; /* of texts, where each is cut: ps_cut_places() */
} column_look;

typedef struct layout {
    const ps_table *table;
    const ps_text_style *style;
    column_look *looks;
    const char **texts; /* row-major, as shown */
    size_t n_keys;      /* first columns that every block repeats, at least one */
    size_t note;        /* the last column where it is a note, else SIZE_MAX */
    ps_arena arena;
    ps_buf *out;
    bool failed; /* memory ran out outside of `out` */
} layout;

/* --- numbers ----------------------------------------------------------------------------------------------- */

static column_look table_text_look_at(const ps_column *column, const ps_column_numbers *numbers,
                                      bool exact) {
    column_look look = {.unit = ps_unit_name(column->unit), .own = 1, .per = 1};
    look.is_text = ps_column_is_text(column);
    bool is_count = column->type == PS_COL_INT && numbers->kind == PS_UNITS_NONE &&
                    column->unit != PS_UNIT_PERCENT;
    look.as_is = exact || column->exact || is_count;
    if (look.is_text || look.as_is) {
        return look;
    }
    look.decimals = column->unit == PS_UNIT_PERCENT ? 1 : numbers->decimals;
    if (numbers->kind != PS_UNITS_NONE) {
        look.unit = numbers->unit.name;
        look.own = (double)numbers->own;
        look.per = (double)numbers->unit.size;
    }
    return look;
}

/* A number that would read 0 and is not: "<0.01", "-<0.01". */
static void show_small(double value, unsigned decimals, char out[PS_NUMBER_TEXT]) {
    if (value != 0 && strpbrk(out, "123456789") == NULL) {
        (void)snprintf(out, PS_NUMBER_TEXT, "%s%.*f", value < 0 ? "-<" : "<", (int)decimals,
                       pow(10, -(double)decimals));
    }
}

static void number_text(const column_look *look, const ps_column *column, const ps_value *cell,
                        char out[PS_NUMBER_TEXT]) {
    bool whole = column->type == PS_COL_INT;
    if (look->as_is && whole) {
        (void)snprintf(out, PS_NUMBER_TEXT, "%lld", (long long)cell->u.i);
    } else if (look->as_is || (!whole && !isfinite(cell->u.r))) {
        ps_real_shortest(cell->u.r, out);
    } else {
        double value = (whole ? (double)cell->u.i : cell->u.r) * look->own / look->per;
        (void)snprintf(out, PS_NUMBER_TEXT, "%.*f", (int)look->decimals, value);
        show_small(value, look->decimals, out);
    }
}

/* --- texts ------------------------------------------------------------------------------------------------- */

static size_t columns_of(const char *s) {
    return ps_utf8_columns(s, strlen(s));
}

/* The column's name without the unit that it may end in: "bubble_ns", "bubble(ns)" and "bubbleNs" in milliseconds are
 * "bubble (ms)". */
static const char *header_text(layout *l, size_t c) {
    static const char *const ENDS[] = {"_ns",  "_us",  "_ms",  "_bytes", "_percent",
                                       "(ns)", "(us)", "(ms)", "Ns"};
    const ps_column *column = &l->table->columns[c];
    const char *unit = l->looks[c].unit;
    const char *name =
        ps_text_clean(&l->arena, column->shown != NULL ? column->shown : column->name);
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

/* Global ranks; -1 is one that nobody said. */
static bool is_rank(const ps_column *column) {
    return strcasecmp(column->name, "rank") == 0 || strcasecmp(column->name, "rankid") == 0 ||
           strcasecmp(column->name, "rank_id") == 0;
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
    if (column->type == PS_COL_INT && cell->u.i < 0 && is_rank(column)) {
        return "?";
    }
    char number[PS_NUMBER_TEXT];
    number_text(&l->looks[c], column, cell, number);
    return ps_arena_strndup(&l->arena, number, strlen(number));
}

/* Whether a line may end before text[k]: a header's words end at blanks, underscores, brackets and small letters. */
static bool is_break(const char *text, size_t k, bool is_header) {
    char before = text[k - 1];
    char after = text[k];
    if (after == ' ' && (before == '/' || text[k + 1] == '/')) {
        return false; /* "new / base" is one word */
    }
    return after == ' ' ||
           (is_header && (before == '_' || before == '/' || after == '(' ||
                          (islower((unsigned char)before) && isupper((unsigned char)after))));
}

static size_t longest_word_of(const char *header) {
    size_t longest = 0;
    for (size_t from = 0, k = 1; header[from] != '\0'; k++) {
        if (header[k] == '\0' || is_break(header, k, true)) {
            from += header[from] == ' ';
            size_t word = ps_utf8_columns(header + from, k - from);
            longest = word > longest ? word : longest;
            from = k;
        }
    }
    return longest;
}

static bool make_texts(layout *l) {
    size_t n = l->table->n_columns;
    const ps_column_numbers *numbers = ps_column_units(&l->arena, l->table, 0, l->table->n_rows);
    for (size_t c = 0; numbers != NULL && c < n; c++) {
        column_look *look = &l->looks[c];
        *look = table_text_look_at(&l->table->columns[c], &numbers[c], l->style->exact);
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
        look->widest = widest;
        look->longest_word = longest_word_of(look->header);
    }
    return numbers != NULL;
}

/* --- widths and blocks ------------------------------------------------------------------------------------- */

static size_t page_width(const layout *l) {
    size_t width = l->style->width > 0 ? l->style->width : 100;
    return width < WIDTH_MIN ? WIDTH_MIN : width;
}

/* Texts, and numbers that name something. */
static bool is_table_text_key(const layout *l, size_t c) {
    static const char *const IDS[] = {"rank",     "rankid",    "rank_id", "ranks",
                                      "step",     "stepid",    "stage",   "device",
                                      "deviceid", "device_id", "step_id"};
    const ps_column *column = &l->table->columns[c];
    bool is_id = false;
    for (size_t i = 0; i < sizeof IDS / sizeof IDS[0]; i++) {
        is_id = is_id || strcasecmp(column->name, IDS[i]) == 0;
    }
    return l->looks[c].is_text || (column->type == PS_COL_INT && is_id);
}

/* How narrow texts may become: the first of the keys, the others, and what is no key. */
typedef struct narrowness {
    size_t first, key, other;
} narrowness;

static void find_leasts(layout *l, size_t least_text) {
    for (size_t c = 0; c < l->table->n_columns; c++) {
        column_look *look = &l->looks[c];
        size_t least = look->is_text ? least_text : SHORT;
        if (!look->is_text) { /* numbers stay whole, and the words above them */
            least = look->longest_word < HEADER_LEAST ? look->longest_word : HEADER_LEAST;
            least = look->widest > least ? look->widest : least;
        }
        look->least = look->natural < least ? look->natural : least;
    }
}

/* The columns up to the first measure, as long as they take no more than half of the page. */
static void find_table_text_keys(layout *l, narrowness narrow) {
    size_t n = l->table->n_columns;
    find_leasts(l, narrow.other);
    l->n_keys = n > 0 ? 1 : 0;
    l->note = n > 1 && l->looks[n - 1].is_text ? n - 1 : SIZE_MAX;
    size_t half = page_width(l) / 2;
    size_t used = 0;
    for (size_t c = 0; c < n && c != l->note && (c == 0 || is_table_text_key(l, c)); c++) {
        column_look *look = &l->looks[c];
        used += look->least + (c > 0 ? GAP : 0);
        if (c > 0 && used > half) {
            break;
        }
        l->n_keys = c + 1;
        size_t more = c == 0 ? narrow.first : narrow.key;
        more = look->natural < more ? look->natural : more;
        if (look->is_text && more > look->least && used - look->least + more <= half) {
            used += more - look->least;
            look->least = more;
        }
    }
}

/* The columns of a block: the keys, then [from, to). */
typedef struct block {
    size_t from, to;
} block;

static size_t next_in(const layout *l, const block *b, size_t c) {
    return c + 1 == l->n_keys && b->from > l->n_keys ? b->from : c + 1;
}

/* As many columns from `from` on as fit beside the keys; always at least one. A note is not cut for others' sake. */
static block cut_block(const layout *l, size_t from) {
    block b = {.from = from, .to = from};
    size_t used = 0;
    for (size_t c = 0; c < l->n_keys; c++) {
        used += l->looks[c].least + (c > 0 ? GAP : 0);
    }
    while (b.to < l->table->n_columns) {
        used += (b.to == l->note ? l->looks[b.to].natural : l->looks[b.to].least) + GAP;
        if (used > page_width(l) && b.to > from) {
            break;
        }
        b.to++;
    }
    return b;
}

static bool is_one_block(const layout *l) {
    block b = cut_block(l, l->n_keys);
    return b.to >= l->table->n_columns || b.to == l->note;
}

/* Names want room, but more than a little of it only where the table is in several blocks anyway. */
static void find_layout(layout *l) {
    static const narrowness WIDE = {30, 30, 20};
    static const narrowness SLIM = {18, SHORT, SHORT};
    find_table_text_keys(l, SLIM);
    if (!is_one_block(l)) {
        find_table_text_keys(l, WIDE);
    }
}

static size_t block_width(const layout *l, const block *b) {
    size_t width = 0;
    for (size_t c = 0; c < b->to; c = next_in(l, b, c)) {
        width += l->looks[c].width + (c > 0 ? GAP : 0);
    }
    return width;
}

enum { FROM_LONG_TEXTS, FROM_HEADERS, FROM_KEYS, FROM_NOTE, N_ROUNDS };

/* How narrow a column may become in a round. */
static size_t floor_of(const layout *l, size_t c, int round) {
    const column_look *look = &l->looks[c];
    if (c == l->note) {
        return round == FROM_NOTE ? SHORT : look->natural;
    }
    if (round >= FROM_KEYS) {
        return look->least;
    }
    if (look->is_text != (round == FROM_LONG_TEXTS)) {
        return look->natural;
    }
    return look->is_text && look->least < LONG_TEXT ? LONG_TEXT : look->least;
}

/* Takes columns from the widest until the block fits: first from long texts, then from headers over numbers, which lose nothing by
 * that, then from texts that tell rows apart, and from a note last. */
static void resolve_widths(layout *l, const block *b) {
    for (size_t c = 0; c < b->to; c = next_in(l, b, c)) {
        l->looks[c].width = l->looks[c].natural;
    }
    size_t width = block_width(l, b);
    for (int round = 0; round < N_ROUNDS; round++) {
        for (column_look *widest = l->looks; widest != NULL && width > page_width(l);) {
            widest = NULL;
            for (size_t c = 0; c < b->to; c = next_in(l, b, c)) {
                column_look *look = &l->looks[c];
                bool can_give = look->width > floor_of(l, c, round);
                widest =
                    can_give && (widest == NULL || look->width > widest->width) ? look : widest;
            }
            if (widest != NULL) {
                widest->width--;
                width--;
            }
        }
    }
}

/* --- output ------------------------------------------------------------------------------------------------ */

static void put_table_text(layout *l, size_t c, const char *text, size_t place, bool last) {
    const column_look *look = &l->looks[c];
    size_t before = l->out->len;
    size_t columns = columns_of(text);
    size_t pad = columns < look->width ? look->width - columns : 0;
    if (!look->is_text) {
        ps_buf_add_fill(l->out, ' ', pad);
    }
    ps_text_cut(l->out, text, look->width, place, l->style->utf8);
    if (look->is_text && !last && ps_buf_ok(l->out)) {
        /* Cutting wide characters can leave one column more. */
        columns = ps_utf8_columns(l->out->data + before, l->out->len - before);
        ps_buf_add_fill(l->out, ' ', columns < look->width ? look->width - columns : 0);
    }
}

/* The bytes of the next line of a text that goes over several. */
static size_t line_of(const char *text, size_t width, bool is_header) {
    size_t n = strlen(text);
    size_t fit = ps_utf8_fit(text, n, width);
    if (fit == n) {
        return n;
    }
    for (size_t k = fit; k > (is_header ? 0 : fit / 2); k--) {
        if (is_break(text, k, is_header)) {
            return k;
        }
    }
    return fit > 0 ? fit : n;
}

/* Goes on in further lines under its own column. */
static void put_note(layout *l, const block *b, const char *text) {
    size_t width = l->looks[l->note].width;
    size_t indent = block_width(l, b) - width;
    for (int line = 0; line < NOTE_LINES; line++) {
        size_t n = line + 1 < NOTE_LINES ? line_of(text, width, false) : strlen(text);
        const char *part = ps_arena_strndup(&l->arena, text, n);
        put_table_text(l, l->note, part != NULL ? part : "", 0, true);
        text += n;
        text += strspn(text, " ");
        if (*text == '\0') {
            return;
        }
        ps_buf_add_char(l->out, '\n');
        ps_buf_add_fill(l->out, ' ', indent);
    }
}

static void put_table_text_row(layout *l, const block *b, size_t row) {
    for (size_t c = 0; c < b->to; c = next_in(l, b, c)) {
        ps_buf_add_str(l->out, c > 0 ? "  " : "");
        const char *text = l->texts[row * l->table->n_columns + c];
        const size_t *places = l->looks[c].places;
        if (c == l->note) {
            put_note(l, b, text);
        } else {
            put_table_text(l, c, text, places != NULL ? places[row] : 0, next_in(l, b, c) >= b->to);
        }
    }
}

static size_t count_header_lines(const column_look *look) {
    size_t n = 0;
    for (const char *text = look->header; n == 0 || *text != '\0'; n++) {
        text += line_of(text, look->width, true);
        text += strspn(text, " ");
    }
    return n;
}

/* Line `line` of a header, "" before its first. */
static const char *header_line(layout *l, const column_look *look, size_t line, size_t n_lines) {
    size_t n_before = n_lines - count_header_lines(look);
    const char *text = look->header;
    size_t n = line < n_before ? 0 : line_of(text, look->width, true);
    for (size_t i = n_before; i < line; i++) {
        text += n;
        text += strspn(text, " ");
        n = line_of(text, look->width, true);
    }
    return ps_arena_strndup(&l->arena, text, n);
}

static void drop_blanks_at_end(ps_buf *out) {
    while (out->len > 0 && out->data[out->len - 1] == ' ') {
        out->data[--out->len] = '\0';
    }
}

static void put_table_text_header(layout *l, const block *b) {
    bool colour = l->style->colours != PS_COLOURS_NONE;
    size_t n_lines = 1;
    for (size_t c = 0; c < b->to; c = next_in(l, b, c)) {
        size_t n = count_header_lines(&l->looks[c]);
        n_lines = n > n_lines ? n : n_lines;
    }
    ps_buf_add_str(l->out, colour ? "\033[1m" : "");
    for (size_t line = 0; line < n_lines; line++) {
        ps_buf_add_str(l->out, line > 0 ? "\n" : "");
        for (size_t c = 0; c < b->to; c = next_in(l, b, c)) {
            const char *text = header_line(l, &l->looks[c], line, n_lines);
            ps_buf_add_str(l->out, c > 0 ? "  " : "");
            put_table_text(l, c, text != NULL ? text : "", 0, next_in(l, b, c) >= b->to);
            l->failed = l->failed || text == NULL;
        }
        drop_blanks_at_end(l->out);
    }
    ps_buf_add_str(l->out, colour ? "\033[0m\n\033[2m" : "\n");
    for (size_t i = block_width(l, b); i > 0; i--) {
        ps_buf_add_str(l->out, l->style->utf8 ? "─" : "-");
    }
    ps_buf_add_str(l->out, colour ? "\033[0m\n" : "\n");
}

static void find_places(layout *l, const block *b) {
    size_t n = l->table->n_columns;
    for (size_t c = 0; c < b->to; c = next_in(l, b, c)) {
        column_look *look = &l->looks[c];
        bool is_cut = look->is_text && c != l->note && look->width < look->natural;
        look->places = is_cut ? ps_cut_places(&l->arena, l->texts + c, l->table->n_rows, n,
                                              look->width, l->style->utf8)
                              : NULL;
        l->failed = l->failed || (is_cut && look->places == NULL);
    }
}

static void put_table_text_table(layout *l) {
    const char *title = ps_text_clean(&l->arena, l->table->title);
    if (title != NULL && title[0] != '\0') {
        ps_text_middle(l->out, title, page_width(l), l->style->utf8);
        ps_buf_add_str(l->out, "\n\n");
    }
    find_layout(l);
    size_t from = l->n_keys;
    for (bool first = true; first || from < l->table->n_columns; first = false) {
        block b = cut_block(l, from);
        resolve_widths(l, &b);
        find_places(l, &b);
        ps_buf_add_str(l->out, first ? "" : "\n");
        put_table_text_header(l, &b);
        for (size_t r = 0; r < l->table->n_rows; r++) {
            put_table_text_row(l, &b, r);
            ps_buf_add_char(l->out, '\n');
        }
        from = b.to;
    }
    ps_buf_add_str(l->out, l->table->n_rows == 0 ? "(no rows)\n" : "");
}

ps_code ps_write_table_text(const ps_table *table, const ps_text_style *style, ps_buf *out,
                            ps_err *err) {
    layout l = {.table = table, .style = style, .out = out};
    size_t n_cells = table->n_rows * table->n_columns;
    l.looks = ps_arena_alloc(&l.arena, (table->n_columns + 1) * sizeof *l.looks);
    l.texts = ps_arena_alloc(&l.arena, (n_cells + 1) * sizeof *l.texts);
    bool ok = l.looks != NULL && l.texts != NULL && make_texts(&l);
    if (ok) {
        put_table_text_table(&l);
    }
    ps_arena_fini(&l.arena);
    return ok && !l.failed && ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}
