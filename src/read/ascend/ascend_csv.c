/* Two passes over a file: the first learns what each column holds, the second fills the cells, so that no text is kept
 * for what proves to be a number. A file that changes in between gives NULLs, counted, and nothing worse. */
#include "read/ascend/ascend_csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/num.h"
#include "read/ascend/csv.h"

#define MAX_COLUMNS ((size_t)4096)
#define MAX_TEXTS ((size_t)1 << 31)
/* A real of so many digits need not come out of a double as it went in. */
#define MAX_EXACT_DIGITS 17
/* Microseconds with so many digits before the point are points in time: 2001 and later, or 11 days of a duration. */
#define MIN_EPOCH_DIGITS 13

/* A row is stored as wide as the header. These bound what narrow rows may cost: so many cells for each that the file has,
 * and some besides. */
#define CELLS_FOR_EACH ((size_t)4)
#define CELLS_BESIDES ((uint64_t)65536)

typedef enum cell_kind { CELL_MISSING, CELL_ODD, CELL_INT, CELL_REAL, CELL_TEXT } cell_kind;

/* What the first pass saw in a column. */
typedef struct seen {
    size_t n[CELL_TEXT + 1];
    bool is_lossy;    /* a number that a double cannot hold */
    bool has_epoch;   /* a number as large as an epoch in microseconds */
    bool is_time;     /* decided after the pass */
    ps_col_type type; /* likewise */
    uint32_t n_names; /* columns that have this one's name, or that with a number behind it */
} seen;

typedef struct reading {
    const ps_ascend_csv_src *src;
    const char *file; /* of those of the source the one that is being read: its name in messages */
    ps_diag *diag;
    ps_table *table;
    seen *seen;
    ps_column *columns;
    const char **headers;
    size_t n_columns;
    uint64_t n_free_cells; /* that the table may have beyond those it has */
    ps_idmap
        name_columns;   /* hash of a column's name, or the next free key after it -> the column */
    ps_idmap text_rows; /* hash of a text, or the next free key after it -> row in texts */
    const char **texts;
    size_t n_texts, cap_texts;
} reading;

/* --- cells ------------------------------------------------------------------------------------------------ */

static bool is_csv_table_word(const char *text, size_t n, const char *const *words) {
    for (; *words != NULL; words++) {
        if (n == strlen(*words) && memcmp(text, *words, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Digits of a decimal number, without leading zeros. */
typedef struct digits {
    size_t n, n_whole; /* all, and those before the point */
} digits;

/* Digits with at most one point and exponent. Leading zeros are those of an id, and make a text. */
static bool is_decimal(const char *s, size_t n, bool *is_integer, digits *count) {
    size_t i = n > 0 && s[0] == '-' ? 1 : 0;
    size_t first = i;
    size_t n_all = 0;
    *is_integer = true;
    *count = (digits){0};
    for (; i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] == '.' && *is_integer)); i++) {
        if (s[i] == '.') {
            *is_integer = false;
            continue;
        }
        n_all++;
        count->n += count->n > 0 || s[i] != '0';
        count->n_whole = *is_integer ? count->n : count->n_whole;
    }
    bool is_id = first + 1 < n && s[first] == '0' && s[first + 1] >= '0' && s[first + 1] <= '9';
    if (n_all == 0 || is_id) {
        return false;
    }
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        *is_integer = false;
        i += i + 1 < n && (s[i + 1] == '-' || s[i + 1] == '+') ? 2 : 1;
        size_t exponent = i;
        while (i < n && s[i] >= '0' && s[i] <= '9') {
            i++;
        }
        return i == n && i > exponent && i - exponent <= 3;
    }
    return i == n;
}

static cell_kind csv_table_classify(const ps_csv_cell *c, digits *count) {
    static const char *const MISSING[] = {"N/A", "NA", "None", "null", NULL};
    static const char *const NO_NUMBERS[] = {"nan",  "NaN",      "NAN",       "inf",
                                             "-inf", "Infinity", "-Infinity", NULL};
    bool is_integer = false;
    int64_t value = 0;
    if (c->n == 0 || is_csv_table_word(c->text, c->n, MISSING)) {
        return CELL_MISSING;
    }
    if (c->text[0] == '-' || c->text[0] == '.' || (c->text[0] >= '0' && c->text[0] <= '9')) {
        if (is_decimal(c->text, c->n, &is_integer, count)) {
            bool is_int = is_integer && ps_parse_i64(c->text, c->n, &value);
            return is_int ? CELL_INT : is_integer ? CELL_TEXT : CELL_REAL;
        }
    }
    return is_csv_table_word(c->text, c->n, NO_NUMBERS) ? CELL_ODD : CELL_TEXT;
}

static void see(seen *s, const ps_csv_cell *c) {
    digits count = {0};
    cell_kind kind = csv_table_classify(c, &count);
    s->n[kind]++;
    if (kind == CELL_INT || kind == CELL_REAL) {
        s->has_epoch = s->has_epoch || count.n_whole >= MIN_EPOCH_DIGITS;
        s->is_lossy = s->is_lossy || count.n > (kind == CELL_INT ? 15 : MAX_EXACT_DIGITS);
    }
}

/* --- columns ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    ps_unit unit;
} UNITS[] = {
    {"(us)", PS_UNIT_US}, {"(ms)", PS_UNIT_MS}, {"(ns)", PS_UNIT_NS}, {"(%)", PS_UNIT_PERCENT}};

static bool is_known_time(const char *header) {
    static const char *const TIMES[] = {"Start Time(us)",
                                        "Timestamp(us)",
                                        "Allocation Time(us)",
                                        "Release Time(us)",
                                        "Active Release Time(us)",
                                        "End Time(us)",
                                        "Task Start Time(us)",
                                        "Task Stop Time(us)",
                                        "Start Timestamp(us)",
                                        "Stop Time(us)",
                                        "timestamp(us)",
                                        "task_start(us)",
                                        "task_stop(us)",
                                        "FP Start(us)",
                                        "BP End(us)",
                                        "Iteration End(us)",
                                        NULL};
    return is_csv_table_word(header, strlen(header), TIMES);
}

static ps_col_type csv_table_type_of(seen *s, const char *header, bool is_measure) {
    size_t n = s->n[CELL_INT] + s->n[CELL_REAL];
    s->is_time = s->n[CELL_TEXT] == 0 && ps_ends_with(header, "(us)") &&
                 (is_known_time(header) || s->has_epoch);
    if (s->is_time) {
        return PS_COL_INT;
    }
    if (s->n[CELL_TEXT] > 0) {
        return PS_COL_TEXT;
    }
    bool is_real = is_measure || s->n[CELL_REAL] > 0;
    if (n == 0) {
        return is_measure ? PS_COL_REAL : PS_COL_TEXT;
    }
    return !is_real ? PS_COL_INT : s->is_lossy ? PS_COL_TEXT : PS_COL_REAL;
}

/* The column of this name, or PS_IDMAP_NONE and the key that the name is to have. */
static uint32_t column_named(const reading *r, const char *name, uint64_t *key) {
    uint32_t column = PS_IDMAP_NONE;
    *key = ps_hash64_seeded(name, strlen(name));
    while ((column = ps_idmap_get(&r->name_columns, *key)) != PS_IDMAP_NONE &&
           strcmp(r->columns[column].name, name) != 0) {
        ++*key;
    }
    return column;
}

/* "Name" once more becomes "Name 2": tables are written where names are unique. NULL when memory is out. */
static const char *unique_name(reading *r, size_t column, const char *name) {
    char text[256];
    uint64_t key = 0;
    (void)snprintf(text, sizeof text, "%s", name);
    uint32_t first = column_named(r, text, &key);
    for (uint32_t other = first; other != PS_IDMAP_NONE; other = column_named(r, text, &key)) {
        (void)snprintf(text, sizeof text, "%.240s %u", name, ++r->seen[first].n_names);
    }
    return ps_idmap_put(&r->name_columns, key, (uint32_t)column)
               ? ps_arena_strndup(&r->table->arena, text, strlen(text))
               : NULL;
}

/* Columns of step_trace_time are microseconds, all but those that say which step. */
static bool is_untitled_us(const char *table, const char *header) {
    static const char *const WHICH[] = {"Step", "Device_id", "Device ID", "Index", "Type", NULL};
    return strcmp(table, "step_trace_time") == 0 &&
           !is_csv_table_word(header, strlen(header), WHICH) && !ps_ends_with(header, "Index");
}

/* Name, unit and type from the header's text and what the cells are. */
static bool make_column(reading *r, size_t i) {
    const char *header = r->headers[i];
    size_t n = strlen(header);
    ps_unit unit = PS_UNIT_NONE;
    size_t cut = n;
    for (size_t u = 0; u < sizeof UNITS / sizeof *UNITS; u++) {
        if (ps_ends_with(header, UNITS[u].text) && n > strlen(UNITS[u].text)) {
            unit = UNITS[u].unit;
            cut = n - strlen(UNITS[u].text);
        }
    }
    if (is_untitled_us(r->table->name, header)) {
        unit = PS_UNIT_US;
    }
    bool is_bytes = strstr(header, "(Byte") != NULL || strstr(header, "(B)") != NULL;
    bool is_measure = unit != PS_UNIT_NONE || (n > 0 && header[n - 1] == ')' && !is_bytes);
    seen *s = &r->seen[i];
    s->n_names = 1;
    s->type = csv_table_type_of(s, header, is_measure);
    char name[256];
    if (n == 0) {
        (void)snprintf(name, sizeof name, "column %zu", i + 1);
    } else {
        (void)snprintf(name, sizeof name, "%.*s", (int)(cut < 255 ? cut : 255), header);
    }
    r->columns[i] = (ps_column){.name = unique_name(r, i, name),
                                .type = s->type,
                                .unit = s->is_time               ? PS_UNIT_NS
                                        : s->type == PS_COL_TEXT ? PS_UNIT_NONE
                                                                 : unit,
                                .exact = s->is_time};
    return r->columns[i].name != NULL;
}

/* --- the two passes -------------------------------------------------------------------------------------- */

/* `part` 0: the file itself, else one that goes on with it. */
static ps_input *open_source(const ps_ascend_csv_src *src, size_t part, ps_err *err) {
    return part > 0             ? ps_input_open(src->more[part - 1], err)
           : src->bytes != NULL ? ps_input_of_memory(src->bytes, src->n_bytes, err)
                                : ps_input_open(src->path, err);
}

static ps_csv_cell without_blanks(const ps_csv_cell *c) {
    ps_csv_cell out = *c;
    while (out.n > 0 && out.text[0] == ' ') {
        out.text++;
        out.n--;
    }
    return out;
}

static bool is_same_header(const reading *r, const ps_csv_row *header) {
    bool same = (header->n < MAX_COLUMNS ? header->n : MAX_COLUMNS) == r->n_columns;
    for (size_t i = 0; same && i < r->n_columns; i++) {
        ps_csv_cell c = without_blanks(&header->cells[i]);
        same = strlen(r->headers[i]) == c.n && memcmp(r->headers[i], c.text, c.n) == 0;
    }
    return same;
}

static ps_code make_columns(reading *r, const ps_csv_row *header, ps_err *err) {
    r->n_columns = header->n < MAX_COLUMNS ? header->n : MAX_COLUMNS;
    r->columns = ps_arena_alloc(&r->table->arena, r->n_columns * sizeof *r->columns);
    r->headers = ps_arena_alloc(&r->table->arena, r->n_columns * sizeof *r->headers);
    r->seen = ps_calloc(r->n_columns, sizeof *r->seen);
    if (r->columns == NULL || r->headers == NULL || r->seen == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < r->n_columns; i++) {
        ps_csv_cell c = without_blanks(&header->cells[i]);
        r->headers[i] = ps_arena_strndup(&r->table->arena, c.text, c.n);
        if (r->headers[i] == NULL) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

/* Cells beyond the header are lost, those that are missing are NULL: both are counted, once a row. */
static void check_width(reading *r, const ps_csv_row *row, bool is_kept) {
    bool is_odd = row->n < r->n_columns;
    for (size_t i = r->n_columns; i < row->n && !is_odd; i++) {
        is_odd = row->cells[i].n > 0;
    }
    if (is_odd) {
        ps_diag_add(r->diag, PS_ODD_TABLE_ROW, "%s line %llu: %zu cells, the header has %zu%s",
                    r->file, (unsigned long long)row->line, row->n, r->n_columns,
                    is_kept ? "" : "; left out");
    }
}

/* Walks the rows. `fn` gets the header first. A file that cannot be read is a failure; anything else but PS_NOMEM ends the walk and is
 * counted with `count_odd`. */
typedef ps_code row_fn(reading *r, const ps_csv_row *row, bool is_header, ps_err *err);

static ps_code walk_part(reading *r, size_t part, row_fn *fn, bool count_odd, ps_err *err) {
    ps_err odd = PS_ERR_INIT;
    r->file = ps_path_base(part > 0 ? r->src->more[part - 1] : r->src->path);
    ps_input *in = open_source(r->src, part, &odd);
    ps_csv csv;
    ps_csv_init(&csv, in);
    ps_csv_row row = {0};
    bool is_other = false;
    ps_code code = in != NULL ? PS_OK : odd.code;
    for (bool is_header = true; code == PS_OK; is_header = false) {
        code = ps_csv_next(&csv, &row, &odd);
        if (code != PS_OK || row.n == 0) {
            break;
        }
        is_other = is_header && part > 0 && !is_same_header(r, &row);
        if (is_other) {
            break;
        }
        code = is_header && part > 0 ? PS_OK : fn(r, &row, is_header, &odd);
    }
    bool is_cut = in != NULL && !is_other && (ps_csv_is_cut(&csv) || ps_input_is_cut(in));
    ps_csv_fini(&csv);
    ps_input_close(in);
    if (code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    if (code == PS_IO ||
        (code == PS_NOT_FOUND && !count_odd)) { /* gone, or unreadable: not empty */
        if (err != NULL) {
            *err = odd;
        }
        return code;
    }
    if (count_odd && code != PS_OK) {
        ps_diag_add(r->diag, PS_ODD_FILE, "%s: %s", r->file, odd.msg);
    } else if (count_odd && is_other) {
        ps_diag_add(r->diag, PS_ODD_FILE, "%s: left out, its header is not that of %s", r->file,
                    ps_path_base(r->src->path));
    } else if (count_odd && is_cut) {
        ps_diag_add(r->diag, PS_ODD_TRUNCATED, "%s", r->file);
    }
    return PS_OK;
}

static ps_code walk_rows(reading *r, row_fn *fn, bool count_odd, ps_err *err) {
    r->n_free_cells = CELLS_BESIDES;
    ps_code code = walk_part(r, 0, fn, count_odd, err);
    for (size_t i = 0; code == PS_OK && r->n_columns > 0 && i < r->src->n_more; i++) {
        code = walk_part(r, i + 1, fn, count_odd, err);
    }
    return code;
}

/* Whether the table may have this row, given those before it: the same in both passes. */
static bool has_csv_table_room(reading *r, const ps_csv_row *row) {
    r->n_free_cells += (row->n < r->n_columns ? row->n : r->n_columns) * CELLS_FOR_EACH;
    bool is_kept = r->n_free_cells >= r->n_columns;
    r->n_free_cells -= is_kept ? r->n_columns : 0;
    return is_kept;
}

static ps_code learn_row(reading *r, const ps_csv_row *row, bool is_header, ps_err *err) {
    if (is_header) {
        return make_columns(r, row, err);
    }
    bool is_kept = has_csv_table_room(r, row);
    check_width(r, row, is_kept);
    for (size_t i = 0; is_kept && i < row->n && i < r->n_columns; i++) {
        see(&r->seen[i], &row->cells[i]);
    }
    return PS_OK;
}

/* The one copy of a text, NULL when memory is out. */
static const char *keep_csv_table_text(reading *r, const ps_csv_cell *c) {
    uint64_t key = ps_hash64_seeded(c->text, c->n);
    for (uint32_t row; (row = ps_idmap_get(&r->text_rows, key)) != PS_IDMAP_NONE; key++) {
        if (strlen(r->texts[row]) == c->n && memcmp(r->texts[row], c->text, c->n) == 0) {
            return r->texts[row];
        }
    }
    const char *copy = ps_arena_strndup(&r->table->arena, c->text, c->n);
    if (copy == NULL ||
        !ps_grow(&r->texts, &r->cap_texts, r->n_texts + 1, MAX_TEXTS, sizeof *r->texts) ||
        !ps_idmap_put(&r->text_rows, key, (uint32_t)r->n_texts)) {
        return NULL;
    }
    r->texts[r->n_texts++] = copy;
    return copy;
}

/* False when memory is out; a cell that cannot be what its column is stays NULL. */
static bool fill_cell(reading *r, size_t column, const ps_csv_cell *c, uint64_t line) {
    const seen *s = &r->seen[column];
    digits count = {0};
    cell_kind kind = csv_table_classify(c, &count);
    int64_t value = 0;
    bool ok = true;
    if (kind == CELL_MISSING) {
        return true;
    }
    if (s->type == PS_COL_TEXT) {
        const char *text = keep_csv_table_text(r, c);
        if (text != NULL) {
            ps_table_share_text(r->table, column, text);
        }
        return text != NULL;
    }
    if (s->is_time) {
        ok = ps_parse_scaled(c->text, c->n, 1000, &value);
    } else if (s->type == PS_COL_INT) {
        ok = ps_parse_i64(c->text, c->n, &value);
    } else {
        ok = kind == CELL_INT || kind == CELL_REAL;
        if (ok) {
            ps_table_set_real(r->table, column, strtod(c->text, NULL));
        }
    }
    if (ok && s->type == PS_COL_INT) {
        ps_table_set_int(r->table, column, value);
    }
    if (!ok) {
        ps_diag_add(r->diag, s->is_time ? PS_ODD_TIME : PS_ODD_NUMBER, "%s line %llu, %.60s",
                    r->file, (unsigned long long)line, r->headers[column]);
    }
    return true;
}

static ps_code fill_row(reading *r, const ps_csv_row *row, bool is_header, ps_err *err) {
    if (is_header) {
        return PS_OK;
    }
    if (!has_csv_table_room(r, row)) {
        return PS_OK; /* counted by the first pass */
    }
    bool ok = ps_table_add_row(r->table);
    for (size_t i = 0; ok && i < row->n && i < r->n_columns; i++) {
        ok = fill_cell(r, i, &row->cells[i], row->line);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

static ps_code read_table(reading *r, ps_err *err) {
    ps_code code = walk_rows(r, learn_row, true, err);
    for (size_t i = 0; code == PS_OK && i < r->n_columns; i++) {
        code = make_column(r, i) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK && r->n_columns > 0) {
        r->table->columns = r->columns;
        r->table->n_columns = r->n_columns;
        code = walk_rows(r, fill_row, false, err);
    }
    return code;
}

ps_code ps_ascend_csv_read(const ps_ascend_csv_src *src, const char *table_name, ps_diag *diag,
                           ps_ascend_csv *out, ps_err *err) {
    *out = (ps_ascend_csv){0};
    reading r = {.src = src, .diag = diag};
    r.table = ps_table_new(table_name, ps_path_base(src->path), NULL, 0);
    ps_code code = r.table != NULL ? read_table(&r, err) : ps_fail_nomem(err);
    if (code == PS_OK && r.n_columns > 0) {
        *out = (ps_ascend_csv){r.table, r.headers};
    } else {
        ps_table_free(r.table);
    }
    ps_free(r.seen);
    ps_free(r.texts);
    ps_idmap_fini(&r.text_rows);
    ps_idmap_fini(&r.name_columns);
    return code;
}

/* --- names ------------------------------------------------------------------------------------------------ */

static const char PART[] = "_slice";
enum { PART_CHARS = sizeof PART - 1 };

void ps_ascend_csv_table_name(const char *file_name, char *out, size_t size) {
    size_t n = strlen(file_name);
    n -= ps_ends_with(file_name, ".csv") ? 4 : 0;
    for (;;) { /* numbers of ranks, parts and times at the end */
        size_t first = n;
        while (first > 0 && file_name[first - 1] >= '0' && file_name[first - 1] <= '9') {
            first--;
        }
        if (first == n || first < 2 || file_name[first - 1] != '_') {
            break;
        }
        n = first - 1;
        bool is_part = n > PART_CHARS && memcmp(file_name + n - PART_CHARS, PART, PART_CHARS) == 0;
        n -= is_part ? PART_CHARS : 0;
    }
    (void)snprintf(out, size, "%.*s", (int)(n < 200 ? n : 200), file_name);
}

/* Where the number of a part stands and ends; 0 where the name is that of no part. */
static size_t find_csv_table_part(const char *file_name, size_t *end) {
    const char *number = NULL;
    for (const char *at = file_name; (at = strstr(at, PART)) != NULL; at++) {
        const char *from = at + PART_CHARS + 1;
        bool is_one = at > file_name && at[PART_CHARS] == '_' && from[0] >= '0' && from[0] <= '9';
        number = is_one ? from : number;
    }
    size_t n = number != NULL ? strspn(number, "0123456789") : 0;
    *end = number != NULL ? (size_t)(number - file_name) + n : 0;
    bool is_part = n > 0 && (number[n] == '_' || strcmp(number + n, ".csv") == 0);
    return is_part && ps_ends_with(file_name, ".csv") ? *end - n : 0;
}

int64_t ps_ascend_csv_part(const char *file_name) {
    size_t end = 0;
    size_t at = find_csv_table_part(file_name, &end);
    int64_t part = -1;
    return at > 0 && ps_parse_i64(file_name + at, end - at, &part) ? part : -1;
}

bool ps_ascend_csv_same_parts(const char *file_name, const char *other) {
    size_t end = 0;
    size_t other_end = 0;
    size_t at = find_csv_table_part(file_name, &end);
    return at > 0 && find_csv_table_part(other, &other_end) == at &&
           memcmp(file_name, other, at) == 0 && strcmp(file_name + end, other + other_end) == 0;
}

size_t ps_ascend_csv_column(const ps_table *t, const char *name) {
    for (size_t i = 0; i < t->n_columns; i++) {
        if (strcmp(t->columns[i].name, name) == 0) {
            return i;
        }
    }
    return PS_NO_COLUMN;
}

/* --- counters --------------------------------------------------------------------------------------------- */

/* A process of our own for the counters of a file that names none; its number never comes out. */
#define FIRST_OWN_PID (-1000000001)

typedef struct counter_file {
    const char *table, *process;
    int64_t pid;
    const char *series; /* names are "series/component"; NULL: "component/column" */
} counter_file;

/* "NPU:0" -> 0; -1 when it names none. */
static int64_t device_of(const ps_value *v) {
    const char *colon = v->is_null ? NULL : strrchr(v->u.text, ':');
    int64_t device = -1;
    bool ok = colon != NULL && ps_parse_i64(colon + 1, strlen(colon + 1), &device);
    return ok && device >= 0 ? device : -1;
}

ps_str ps_ascend_csv_unit(ps_builder *b, const char *unit, size_t n) {
    bool is_binary = n >= 2 && (unit[0] == 'K' || unit[0] == 'M') && unit[1] == 'B';
    char text[16];
    if (!is_binary || n + sizeof "i" > sizeof text) {
        return ps_builder_str(b, unit, n);
    }
    int length = snprintf(text, sizeof text, "%ciB%.*s", unit[0], (int)n - 2, unit + 2);
    return ps_builder_str(b, text, (size_t)length);
}

/* Adds one column of one row. `name` is "PTA/Total Reserved". */
static void add_csv_table_value(ps_builder *b, const counter_file *f, const char *name, ps_str unit,
                                int64_t device, int64_t time_ns, double value) {
    ps_track track = {.kind = PS_TRACK_COUNTER,
                      .pid = f->pid,
                      .tid = -1,
                      .device = device,
                      .name = ps_builder_str(b, name, strlen(name))};
    uint32_t row = ps_builder_track(b, track);
    ps_builder_track_unit(b, row, unit);
    if (!ps_builder_counter(b, row, time_ns, value) && !ps_builder_failed(b)) {
        ps_diag_add(ps_builder_diag(b), PS_ODD_TIME, "%s.csv: %s", f->table, name);
    }
}

static void add_rows(const ps_table *t, ps_builder *b, const counter_file *f) {
    size_t component = ps_ascend_csv_column(t, "Component");
    size_t time = ps_ascend_csv_column(t, "Timestamp");
    size_t device = ps_ascend_csv_column(t, "Device Type");
    device = device != PS_NO_COLUMN ? device : ps_ascend_csv_column(t, "Device");
    if (component == PS_NO_COLUMN || time == PS_NO_COLUMN || t->columns[time].type != PS_COL_INT ||
        t->columns[component].type != PS_COL_TEXT) {
        return;
    }
    bool has_device = device != PS_NO_COLUMN && t->columns[device].type == PS_COL_TEXT;
    for (size_t c = 0; c < t->n_columns; c++) {
        const char *header = t->columns[c].name;
        const char *unit = strchr(header, '(');
        if (strncmp(header, "Total ", 6) != 0 || unit == NULL ||
            t->columns[c].type != PS_COL_REAL) {
            continue;
        }
        ps_str unit_text = ps_ascend_csv_unit(b, unit + 1, strcspn(unit + 1, ")"));
        for (size_t row = 0; row < t->n_rows && !ps_builder_failed(b); row++) {
            const ps_value *value = ps_table_cell(t, row, c);
            const ps_value *what = ps_table_cell(t, row, component);
            const ps_value *when = ps_table_cell(t, row, time);
            if (value->is_null || what->is_null || when->is_null) {
                continue;
            }
            char name[256];
            if (f->series != NULL) {
                (void)snprintf(name, sizeof name, "%s/%.120s", f->series, what->u.text);
            } else {
                (void)snprintf(name, sizeof name, "%.120s/%.*s", what->u.text, (int)(unit - header),
                               header);
            }
            add_csv_table_value(b, f, name, unit_text,
                                has_device ? device_of(ps_table_cell(t, row, device)) : -1,
                                when->u.i, value->u.r);
        }
    }
}

void ps_ascend_csv_counters(const ps_table *t, ps_builder *b) {
    static const counter_file FILES[] = {
        {"memory_record", "Memory Record", FIRST_OWN_PID, NULL},
        {"npu_module_mem", "NPU Module Mem", FIRST_OWN_PID - 1, "NPU Module Mem"},
    };
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        if (strcmp(t->name, FILES[i].table) == 0) {
            ps_str name = ps_builder_str(b, FILES[i].process, strlen(FILES[i].process));
            ps_builder_process(b, (ps_process){.pid = FILES[i].pid,
                                               .name = name,
                                               .order = PS_NO_ORDER,
                                               .pid_is_text = true});
            add_rows(t, b, &FILES[i]);
        }
    }
}
