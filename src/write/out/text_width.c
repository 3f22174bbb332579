#include "write/out/text_width.h"

#include <string.h>

#include "base/utf8.h"

/* Letters of about one width, in em; what is in none is as wide as most of its kind. */
typedef struct width_class {
    const char *letters;
    double em;
} width_class;

static double letter_em(char c) {
    static const width_class CLASSES[] = {{"ijlI|'", 0.30}, {" .,:;", 0.34},  {"frt()[]/-", 0.41},
                                          {"mMW%@", 0.98},  {"w+=<>~", 0.84}, {"OQGDHNU", 0.78},
                                          {"csvxyzk", 0.59}};
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++) {
        if (c != '\0' && strchr(CLASSES[i].letters, c) != NULL) {
            return CLASSES[i].em;
        }
    }
    return c >= 'A' && c <= 'Z' ? 0.69 : 0.64;
}

double ps_text_width(const char *text, double size) {
    double em = 0;
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        size_t bytes = ps_utf8_len(text + i, n - i);
        if (bytes > 1) {
            em += ps_utf8_columns(text + i, bytes) > 1 ? 1.05 : 0.66;
        } else {
            em += letter_em(text[i]);
        }
        i += bytes > 0 ? bytes : 1;
    }
    return em * size;
}
