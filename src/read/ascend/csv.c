/* A window over the input slides from row to row. A row is found by walking its cells; when the window ends inside it,
 * the window is moved and filled, and the walk goes on where it stopped. Cells are unquoted in place, which is safe
 * once the end of the row is known, as text only shrinks. */
#include "read/ascend/csv.h"

#include <string.h>

#include "base/alloc.h"

#define WINDOW_BYTES ((size_t)256 << 10)

/* The walk through one row. Cells follow one another, so while it is not complete only their lengths are kept: the
 * window may still move. */
typedef struct walk {
    size_t at;   /* next byte to look at, from the beginning of the row */
    size_t cell; /* where the cell begins */
    size_t n_cells;
    bool in_quotes, has_quotes;
} walk;

void ps_csv_init(ps_csv *c, ps_input *in) {
    *c = (ps_csv){.in = in, .line = 1, .is_at_start = true};
}

void ps_csv_fini(ps_csv *c) {
    ps_free(c->bytes);
    ps_free(c->cells);
    *c = (ps_csv){0};
}

bool ps_csv_is_cut(const ps_csv *c) {
    return c->is_cut;
}

static ps_code fail_row(const ps_csv *c, ps_err *err, const char *why) {
    ps_code code = ps_fail_file(err, PS_RANGE, ps_input_path(c->in), "%s", why);
    if (err != NULL) {
        err->line = c->line < UINT32_MAX ? (uint32_t)c->line : 0;
    }
    return code;
}

/* --- the window -------------------------------------------------------------------------------------- */

static ps_code make_csv_room(ps_csv *c, ps_err *err) {
    if (c->begin > 0 && c->begin < c->end) {
        memmove(c->bytes, c->bytes + c->begin, c->end - c->begin);
    }
    c->end -= c->begin;
    c->begin = 0;
    if (c->end < c->cap) {
        return PS_OK;
    }
    if (c->cap >= PS_CSV_MAX_ROW_BYTES) {
        return fail_row(c, err, "a row is longer than 16 MiB: a quote may lack its end");
    }
    size_t cap = c->cap == 0 ? WINDOW_BYTES : c->cap * 2;
    char *bytes = ps_realloc_array(c->bytes, cap + 1, 1);
    if (bytes == NULL) {
        return ps_fail_nomem(err);
    }
    c->bytes = bytes;
    c->cap = cap;
    return PS_OK;
}

static ps_code fill_csv(ps_csv *c, ps_err *err) {
    ps_code code = make_csv_room(c, err);
    size_t n = 0;
    if (code == PS_OK) {
        code = ps_input_read(c->in, c->bytes + c->end, c->cap - c->end, &n, err);
    }
    if (code == PS_OK) {
        c->end += n;
        c->is_at_end = n == 0;
    }
    return code;
}

static ps_code skip_mark(ps_csv *c, ps_err *err) {
    ps_code code = PS_OK;
    while (code == PS_OK && !c->is_at_end && c->end < 3) {
        code = fill_csv(c, err);
    }
    if (code == PS_OK && c->end >= 3 && memcmp(c->bytes, "\xEF\xBB\xBF", 3) == 0) {
        c->begin = 3;
    }
    c->is_at_start = false;
    return code;
}

/* --- one row ------------------------------------------------------------------------------------------ */

/* In quotes a doubled quote is one, and a lone quote leaves them; behind that, quotes are text. */
static size_t unquote(char *text, size_t n) {
    size_t out = 0;
    bool in_quotes = true;
    for (size_t i = 1; i < n; i++) {
        if (in_quotes && text[i] == '"') {
            in_quotes = i + 1 < n && text[i + 1] == '"';
            if (!in_quotes) {
                continue;
            }
            i++;
        }
        text[out++] = text[i];
    }
    return out;
}

static ps_code end_cell(ps_csv *c, walk *w, ps_err *err) {
    if (w->n_cells == PS_CSV_MAX_CELLS) {
        return fail_row(c, err, "a row has more than 65536 cells");
    }
    return PS_ADD(c->cells, w->n_cells, c->cap_cells, PS_CSV_MAX_CELLS,
                  (ps_csv_cell){.n = w->at - w->cell})
               ? PS_OK
               : ps_fail_nomem(err);
}

/* Goes to the end of a quoted part. False when the window ends before that can be told. */
static bool leave_quotes(const ps_csv *c, walk *w) {
    const char *row = c->bytes + c->begin;
    size_t n = c->end - c->begin;
    while (w->at < n) {
        const char *quote = memchr(row + w->at, '"', n - w->at);
        if (quote == NULL) {
            w->at = n;
            return false;
        }
        w->at = (size_t)(quote - row);
        if (w->at + 1 == n && !c->is_at_end) {
            return false;
        }
        bool is_doubled = w->at + 1 < n && quote[1] == '"';
        w->at += is_doubled ? 2 : 1;
        if (!is_doubled) {
            w->in_quotes = false;
            return true;
        }
    }
    return false;
}

/* Walks as far as the window goes; *done when the row has ended at w->at. */
static ps_code walk_window(ps_csv *c, walk *w, bool *done, ps_err *err) {
    const char *row = c->bytes + c->begin;
    size_t n = c->end - c->begin;
    while (w->at < n) {
        if (w->in_quotes && !leave_quotes(c, w)) {
            return PS_OK;
        }
        if (w->at == w->cell && w->at < n && row[w->at] == '"') {
            w->in_quotes = true;
            w->has_quotes = true;
            w->at++;
            continue;
        }
        while (w->at < n && row[w->at] != ',' && row[w->at] != '\n') {
            w->at++;
        }
        if (w->at == n) {
            return PS_OK;
        }
        ps_code code = end_cell(c, w, err);
        if (code != PS_OK || row[w->at] == '\n') {
            *done = true;
            return code;
        }
        w->cell = ++w->at;
    }
    return PS_OK;
}

static uint64_t count_lines(const char *s, size_t n) {
    uint64_t lines = 0;
    for (const char *p = s; (p = memchr(p, '\n', n - (size_t)(p - s))) != NULL; p++) {
        lines++;
    }
    return lines;
}

/* Lengths become texts. */
static void cut_cells(ps_csv *c, const walk *w) {
    char *at = c->bytes + c->begin;
    for (size_t i = 0; i < w->n_cells; i++) {
        ps_csv_cell *cell = &c->cells[i];
        size_t n = cell->n;
        char *text = at;
        at += n + 1;
        if (i + 1 == w->n_cells && n > 0 && text[n - 1] == '\r') {
            n--;
        }
        if (n >= 2 && text[0] == '"' && memchr(text + 1, '"', n - 1) == text + n - 1) {
            text++;
            n -= 2;
        } else if (n > 0 && text[0] == '"') {
            n = unquote(text, n);
        }
        while (n > 0 && text[n - 1] == '\t') {
            n--;
        }
        text[n] = '\0';
        *cell = (ps_csv_cell){text, n};
    }
}

static ps_code next_row(ps_csv *c, walk *w, ps_err *err) {
    bool done = false;
    for (;;) {
        ps_code code = walk_window(c, w, &done, err);
        if (code != PS_OK || done) {
            return code;
        }
        if (c->is_at_end) {
            c->is_cut = c->is_cut || w->in_quotes;
            return w->at > 0 ? end_cell(c, w, err) : PS_OK;
        }
        code = fill_csv(c, err);
        if (code != PS_OK) {
            return code;
        }
    }
}

ps_code ps_csv_next(ps_csv *c, ps_csv_row *row, ps_err *err) {
    *row = (ps_csv_row){0};
    ps_code code = c->is_at_start ? skip_mark(c, err) : PS_OK;
    while (code == PS_OK) {
        walk w = {0};
        code = next_row(c, &w, err);
        if (code != PS_OK || w.n_cells == 0) {
            return code;
        }
        uint64_t line = c->line;
        size_t n_bytes = w.at < c->end - c->begin ? w.at + 1 : w.at;
        c->line += w.has_quotes ? count_lines(c->bytes + c->begin, n_bytes) : 1;
        cut_cells(c, &w);
        c->begin += n_bytes;
        if (w.n_cells > 1 || c->cells[0].n > 0) {
            *row = (ps_csv_row){c->cells, w.n_cells, line};
            return PS_OK;
        }
    }
    return code;
}
