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

void ps_lacks_add_search(ps_lang lang, ps_table *lacks, const ps_diag *diag, const char *what) {
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (diag->counts[k] == 0 || ps_oddity_severity((ps_oddity)k) != PS_SEV_ERROR) {
            continue;
        }
        ps_buf reason = {0};
        ps_diag_say(lang, diag, (ps_oddity)k, &reason);
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

void ps_lacks_say(ps_lang lang, const ps_table *lacks, const char *before, const char *after,
                  ps_buf *out) {
    size_t n = ps_lacks_any(lacks) ? lacks->n_rows : 0;
    for (size_t r = 0; r < n && r < MOST_SAID; r++) {
        const char *mode = lack_text(lacks, r, MODE);
        ps_buf_addf(out, PS_SAY(lang, "%sNot in it: %s%s%s: %s%s", "%s未包含：%s%s%s：%s%s"),
                    before, mode != NULL ? mode : "",
                    mode != NULL ? PS_SAY(lang, " of ", "，") : "", lack_text(lacks, r, WHAT),
                    lack_text(lacks, r, REASON), after);
    }
    if (n > MOST_SAID) {
        ps_buf_addf(out, PS_SAY(lang, "%sNot in it: %zu more%s", "%s未包含：另有 %zu 项%s"), before,
                    n - MOST_SAID, after);
    }
}
