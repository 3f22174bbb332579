#include "model/lacks.h"

#include <string.h>

#include "base/utf8_text.h"

enum { MOST_SAID = 8 };

typedef enum lack_column { RANK, WHAT, MODE, REASON } lack_column;

typedef struct lack_row {
    int64_t rank;
    const char *what, *mode, *reason;
} lack_row;

static const ps_column LACKS[] = {
    [RANK] = {.name = "rank", PS_FIELD(lack_row, rank), .unknown_below_zero = true},
    [WHAT] = {.name = "what", PS_FIELD(lack_row, what)},
    [MODE] = {.name = "mode", PS_FIELD(lack_row, mode)},
    [REASON] = {.name = "reason", PS_FIELD(lack_row, reason)},
};

ps_table *ps_lacks_new(const char *name) {
    return ps_table_new(name, "not in it", PS_COLUMNS(LACKS));
}

/* Reasons hold names of files, which hold anything. */
static void add_clean(ps_buf *out, const char *text) {
    ps_utf8_add(out, text, strlen(text));
    for (size_t i = 0; ps_buf_ok(out) && i < out->len; i++) {
        unsigned char c = (unsigned char)out->data[i];
        out->data[i] = c < 0x20 || c == 0x7F ? ' ' : out->data[i];
    }
}

void ps_lacks_add(ps_table *lacks, int64_t rank, const char *what, const char *mode,
                  const char *reason) {
    ps_buf clean_what = {0};
    ps_buf clean_reason = {0};
    add_clean(&clean_what, what);
    add_clean(&clean_reason, reason);
    if (ps_buf_ok(&clean_what) && ps_buf_ok(&clean_reason)) {
        ps_table_put(lacks, &(lack_row){rank, ps_buf_str(&clean_what), ps_text_or_null(mode),
                                        ps_buf_str(&clean_reason)});
    } else {
        ps_table_fail(lacks);
    }
    ps_buf_fini(&clean_what);
    ps_buf_fini(&clean_reason);
}

void ps_lacks_add_search(ps_table *lacks, const ps_diag *diag, const char *what) {
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (diag->counts[k] == 0 || ps_oddity_severity((ps_oddity)k) != PS_SEV_ERROR) {
            continue;
        }
        ps_buf reason = {0};
        char text[256];
        ps_oddity_text((ps_oddity)k, diag->counts[k], text, sizeof text);
        ps_buf_add_str(&reason, text);
        for (int i = 0; i < PS_DIAG_PLACES && diag->places[k][i][0] != '\0'; i++) {
            ps_buf_addf(&reason, "%s%s", i == 0 ? ": " : "; ", diag->places[k][i]);
        }
        if (ps_diag_has_more_places(diag, (ps_oddity)k)) {
            ps_buf_add_str(&reason, "; ...");
        }
        if (ps_buf_ok(&reason)) {
            ps_lacks_add(lacks, -1, what, NULL, ps_buf_str(&reason));
        } else {
            ps_table_fail(lacks);
        }
        ps_buf_fini(&reason);
    }
}

bool ps_lacks_any(const ps_table *lacks) {
    return lacks != NULL && lacks->n_rows > 0;
}

static const char *lack_text(const ps_table *lacks, size_t row, lack_column column) {
    const ps_value *cell = ps_table_cell(lacks, row, column);
    return cell->is_null ? NULL : cell->u.text;
}

ps_table *ps_lacks_of_mode(const ps_table *lacks, const char *mode, const char *name) {
    ps_table *own = ps_lacks_new(name);
    for (size_t r = 0; own != NULL && r < lacks->n_rows; r++) {
        const ps_value *rank = ps_table_cell(lacks, r, RANK);
        const char *of = lack_text(lacks, r, MODE);
        if (of == NULL || strcmp(of, mode) == 0) {
            ps_table_put(own, &(lack_row){rank->is_null ? -1 : rank->u.i, lack_text(lacks, r, WHAT),
                                          of, lack_text(lacks, r, REASON)});
        }
    }
    return ps_table_end(own);
}

size_t ps_lacks_n_lines(const ps_table *lacks) {
    size_t n = ps_lacks_any(lacks) ? lacks->n_rows : 0;
    return n > MOST_SAID ? MOST_SAID + 1 : n;
}

void ps_lacks_say(const ps_table *lacks, const char *before, const char *after, ps_buf *out) {
    size_t n = ps_lacks_any(lacks) ? lacks->n_rows : 0;
    for (size_t r = 0; r < n && r < MOST_SAID; r++) {
        const char *mode = lack_text(lacks, r, MODE);
        ps_buf_addf(out, "%sNot in it: %s%s%s: %s%s", before, mode != NULL ? mode : "",
                    mode != NULL ? " of " : "", lack_text(lacks, r, WHAT),
                    lack_text(lacks, r, REASON), after);
    }
    if (n > MOST_SAID) {
        ps_buf_addf(out, "%sNot in it: %zu more%s", before, n - MOST_SAID, after);
    }
}
