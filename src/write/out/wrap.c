#include "write/out/wrap.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

void ps_wrap(ps_buf *out, const char *text, size_t column, size_t indent, size_t width) {
    bool first = true; /* on its line */
    while (*text != '\0') {
        size_t blanks = strspn(text, " ");
        size_t n = strcspn(text + blanks, " \n");
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
