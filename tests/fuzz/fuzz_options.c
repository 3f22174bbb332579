/* The words of a command line. The first byte chooses the command; a line each is a word of the rest. What the command accepts is taken apart,
 * and the words that are a language of their own: questions (--without, --scale, --set), labels and patterns of pp_chart. Nothing runs.
 *
 * link: the commands */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pipeline/host_labels.h"
#include "analyze/whatif/question.h"
#include "cli/cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = 64, MOST_BYTES = 8192 };

/* The longest of a command's texts, as each of what is read from texts. */
static void read_language(const char *text) {
    ps_question q;
    ps_label_rules rules;
    ps_analysis_opts o = {.forward_re = text, .backward_re = text, .microbatch_re = text};
    (void)ps_question_read(text, NULL, NULL, NULL, &q, NULL);
    ps_question_fini(&q);
    (void)ps_question_read(NULL, text, text, NULL, &q, NULL);
    ps_question_fini(&q);
    (void)ps_label_rules_init(&rules, &o, NULL);
    ps_label_rules_fini(&rules);
}

/* A value lies within what its option says. */
static void check(const ps_option_values *v) {
    for (size_t i = 0; i < ps_options_count(v->spec); i++) {
        const ps_option o = ps_options_at(v->spec, i);
        const ps_option_value *value = ps_options_get(v, o.name);
        bool is_bounded = o.kind == PS_OPTION_INT && (o.min != 0 || o.max != 0) && value->given;
        if (is_bounded && (value->number < o.min || value->number > o.max)) {
            abort();
        }
        if (value->given && (o.kind == PS_OPTION_TEXT) && value->text != NULL) {
            read_language(value->text);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const ps_command *const *commands = ps_commands();
    char text[MOST_BYTES + 1];
    char *words[MOST_WORDS];
    int n = 0;
    size_t n_commands = 0;
    if (size == 0) {
        return 0;
    }
    while (commands[n_commands] != NULL) {
        n_commands++;
    }
    size_t bytes = size - 1 < MOST_BYTES ? size - 1 : MOST_BYTES;
    memcpy(text, data + 1, bytes);
    text[bytes] = '\0';
    for (char *at = text; n < MOST_WORDS && *at != '\0';) {
        words[n++] = at;
        at += strcspn(at, "\n");
        if (*at == '\n') {
            *at++ = '\0';
        }
    }
    const ps_option_spec spec = ps_cli_spec(commands[data[0] % n_commands]);
    ps_option_values values;
    bool wants_help = false;
    ps_err err = PS_ERR_INIT;
    if (ps_options_parse(&values, &spec, n, words, &wants_help, &err) == PS_OK) {
        if (!wants_help) {
            check(&values);
        }
        ps_options_fini(&values);
    } else if (err.msg[0] == '\0') {
        abort(); /* a mistake without a word */
    }
    return 0;
}
