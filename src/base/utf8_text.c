#include "base/utf8_text.h"

#include "base/utf8.h"

void ps_utf8_add(ps_buf *out, const char *s, size_t n) {
    size_t run = ps_utf8_run(s, n);
    ps_buf_add(out, s, run);
    for (size_t i = run; i < n; i += run) {
        ps_buf_add(out, "\xEF\xBF\xBD", 3);
        i++;
        run = ps_utf8_run(s + i, n - i);
        ps_buf_add(out, s + i, run);
    }
}
