#include "write/out/wrap.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* The bytes of one character. */
static size_t character(const char *s) {
    size_t n = ps_utf8_len(s, strlen(s));
    return n > 0 ? n : 1;
}

static bool is_wide(const char *s, size_t n) {
    return n > 1 && ps_utf8_columns(s, n) == 2;
}

static bool is_mark(const char *s, size_t n, const char *const *marks, size_t n_marks) {
    for (size_t i = 0; i < n_marks; i++) {
        if (strlen(marks[i]) == n && memcmp(s, marks[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* What is not broken: letters up to a blank; of Chinese, which has none, a character with the marks that belong to it. */
static size_t word(const char *s) {
    static const char *const OPENING[] = {"（", "“"};
    static const char *const CLOSING[] = {"。", "，", "、", "；", "：", "）", "”"};
    size_t n = 0;
    bool ends = false;
    while (s[n] != '\0' && s[n] != ' ' && s[n] != '\n') {
        size_t more = character(s + n);
        bool wide = is_wide(s + n, more);
        bool closes = wide && is_mark(s + n, more, CLOSING, sizeof CLOSING / sizeof *CLOSING);
        bool opens = wide && is_mark(s + n, more, OPENING, sizeof OPENING / sizeof *OPENING);
        if (n > 0 && !closes && (ends || (wide && !opens && !ends) || opens)) {
            bool is_after_opening =
                !ends && is_mark(s, n, OPENING, sizeof OPENING / sizeof *OPENING);
            if (!is_after_opening) {
                break;
            }
        }
        n += more;
        ends = wide && !opens;
    }
    return n;
}

void ps_wrap(ps_buf *out, const char *text, size_t column, size_t indent, size_t width) {
    bool first = true; /* on its line */
    while (*text != '\0') {
        size_t blanks = strspn(text, " ");
        size_t n = word(text + blanks);
        size_t columns = ps_utf8_columns(text + blanks, n);
        if (n > 0 && !first && column + blanks + columns > width) {
            ps_buf_add_char(out, '\n');
            ps_buf_add_fill(out, ' ', indent);
            column = indent;
            blanks = 0;
            text += strspn(text, " ");
        }
        ps_buf_add(out, text, blanks + n);
        column += blanks + columns;
        text += blanks + n;
        first = first && n == 0;
        if (*text == '\n') {
            ps_buf_add_char(out, '\n');
            if (text[1] != '\n' && text[1] != '\0') {
                ps_buf_add_fill(out, ' ', indent);
            }
            column = indent;
            first = true;
            text++;
        }
    }
}
