#include "cli/thresholds.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define MAX_THRESHOLD 1000000000000 /* in thousandths */

typedef struct threshold_names {
    const char *what, *example;
    const char *const *names;
    size_t n;
} threshold_names;

/* One "NAME=VALUE" of n bytes. */
static int set_threshold(ps_cli *cli, const threshold_names *known, const char *text, size_t n,
                         double *out) {
    char word[128];
    const char *equals = memchr(text, '=', n);
    int64_t thousandths = 0;
    if (n >= sizeof word || equals == NULL) {
        return ps_cli_usage(cli, "--threshold %.*s: give NAME=VALUE[,NAME=VALUE...], as %s",
                            (int)(n < 100 ? n : 100), text, known->example);
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)(equals - text), text);
    size_t n_value = n - (size_t)(equals + 1 - text);
    for (size_t i = 0; i < known->n; i++) {
        if (strcmp(known->names[i], word) != 0) {
            continue;
        }
        if (!ps_parse_scaled(equals + 1, n_value, 1000, &thousandths) ||
            thousandths > MAX_THRESHOLD) {
            return ps_cli_usage(cli, "--threshold %s: '%.*s' is no number from 0 to 1000000000",
                                word, (int)n_value, equals + 1);
        }
        out[i] = (double)thousandths / 1000;
        return PS_EXIT_OK;
    }
    return ps_cli_unknown(cli, known->what, word, known->names, known->n);
}

int ps_cli_thresholds(ps_cli *cli, const char *what, const char *const *names, size_t n,
                      const char *example, double *out) {
    const threshold_names known = {what, example, names, n};
    const char *text = ps_cli_text(cli, "threshold");
    int status = PS_EXIT_OK;
    while (text != NULL && *text != '\0' && status == PS_EXIT_OK) {
        size_t length = strcspn(text, ",");
        status = set_threshold(cli, &known, text, length, out);
        text += length + (text[length] == ',');
    }
    return status;
}
