/* Command line options as data: a command lists ps_option records; parsing, range checks, messages and the help
 * text follow from them. Nothing here prints.
 *
 *   --name value   --name=value   -x value   -jN (INT options only)   --flag   -- ends the options
 *   -bp value (options that say so)
 *
 * Hyphen and underscore are the same inside a long name: --export_type is --export-type. Given twice, the last
 * one counts. */
#ifndef PS_CLI_OPTIONS_H
#define PS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis_options.h"
#include "base/buf.h"
#include "base/err.h"

typedef enum ps_option_kind {
    PS_OPTION_FLAG,   /* no value */
    PS_OPTION_INT,    /* decimal, min..max */
    PS_OPTION_TEXT,   /* anything */
    PS_OPTION_PATH,   /* a file or directory; not looked at while parsing */
    PS_OPTION_CHOICE, /* one of `choices` */
    PS_OPTION_US,     /* decimal microseconds ("0.25"), kept as ns; min..max in ns */
    PS_OPTION_REAL    /* a decimal of up to six digits after the point; min..max in whole numbers */
} ps_option_kind;

typedef struct ps_option {
    const char *name; /* long, without "--", in the spelling to show ("export_type") */
    char short_name;  /* 'd' for -d, 0 for none */
    ps_option_kind kind;
    const char *arg;            /* in help: "DIR", "N"; NULL for a flag */
    const char *fallback;       /* value when not given, as text; NULL for none */
    const char *fallback_shown; /* in help instead of `fallback` ("F + B"); "" hides it */
    const char *help;           /* one sentence, no full stop; wrapped by the help printer */
    const char *group;          /* heading in help; NULL: "Options" */
    int64_t min, max;           /* INT, US; both 0: any */
    const char *const *choices; /* CHOICE: NULL-terminated */
    bool positive;              /* REAL: 0 is refused, since it stands for "not given" */
    bool hidden;                /* works, but is not in help */
    bool one_hyphen;            /* "-bp" is "--bp", as users of another tool write it */
    bool is_input;              /* PATH: the first word of the command, given as an option */
    bool
        or_terminal; /* PATH of an output: "-" is the terminal, as if it were not given; other outputs refuse it */
    const char *also;         /* a second long name, NULL: none */
    ps_analysis_option_id of; /* an option of analyses: what is not said here is as in their list */
} ps_option;

/* The members of a row, the same order for all kinds: its group and name, what the value is called, what it is when nobody
 * gives one, its range, its help. Members that are rarer stand before them: {.short_name = 'o', PS_ROW_PATH(...)}. */
#define PS_ROW_FLAG(in, n, text) .kind = PS_OPTION_FLAG, .group = (in), .name = (n), .help = (text)
#define PS_ROW_OF(k, in, n, a, unsaid, text)                                                       \
    .kind = (k), .group = (in), .name = (n), .arg = (a), unsaid, .help = (text)
#define PS_ROW_INT(in, n, a, unsaid, low, high, text)                                              \
    PS_ROW_OF(PS_OPTION_INT, in, n, a, unsaid, text), .min = (low), .max = (high)
#define PS_ROW_US(in, n, a, unsaid, low, high, text)                                               \
    PS_ROW_OF(PS_OPTION_US, in, n, a, unsaid, text), .min = (low), .max = (high)
#define PS_ROW_TEXT(in, n, a, unsaid, text) PS_ROW_OF(PS_OPTION_TEXT, in, n, a, unsaid, text)
#define PS_ROW_PATH(in, n, a, unsaid, text) PS_ROW_OF(PS_OPTION_PATH, in, n, a, unsaid, text)
#define PS_ROW_CHOICE(in, n, a, unsaid, list, text)                                                \
    PS_ROW_OF(PS_OPTION_CHOICE, in, n, a, unsaid, text), .choices = (list)
/* What an option is when nobody gives it: nothing, this, or what only the help says. */
#define PS_UNSAID .fallback = NULL
#define PS_IS(text) .fallback = (text)
#define PS_SHOWN(text) .fallback_shown = (text)
/* An option of analyses. */
#define PS_ROW_ANALYSIS(field) .of = PS_ANALYSIS_OPTION_##field

#define PS_MANY SIZE_MAX

/* What a command accepts; `common` is added to every command (may be NULL). */
typedef struct ps_option_spec {
    const ps_option *options;
    size_t n_options;
    const ps_option *common;
    size_t n_common;
    const char *positional; /* as shown, "PATH"; NULL when the command takes none */
    size_t min_positionals, max_positionals;
    bool
        runs_words; /* the first positional ends the options: what follows is another program's command line */
} ps_option_spec;

typedef struct ps_option_value {
    const char *
        text; /* as given or the fallback, NULL for neither; of a CHOICE the spelling of the list, of a FLAG "1" */
    int64_t number; /* INT; US in ns; REAL in millionths; FLAG 0 or 1 */
    bool given;
} ps_option_value;

/* Values borrow from argv and from the spec. */
typedef struct ps_option_values {
    const ps_option_spec *spec;
    ps_option_value *values; /* [n_options + n_common] */
    const char **positionals;
    size_t n_positionals;
} ps_option_values;

/* Parses argv[0..argc), without program and command name. PS_USAGE with a message that names the nearest known
 * word, or PS_NOMEM; a failed parse leaves nothing to free. --help among the arguments sets *wants_help, and
 * then no other mistake is reported. "--format json" and "--format text", which no input is, say the form of the output: they
 * are --json and no --json, or --as where a command has more forms. */
PS_MUST_USE ps_code ps_options_parse(ps_option_values *out, const ps_option_spec *spec, int argc,
                                     char *const *argv, bool *wants_help, ps_err *err);
void ps_options_fini(ps_option_values *v);

/* The value of option `name` (the spelling of the spec); never NULL: an unknown name is a bug of the caller and is
 * asserted. */
const ps_option_value *ps_options_get(const ps_option_values *v, const char *name);

/* Whether there is an option of that long name. */
bool ps_options_has(const ps_option_spec *spec, const char *name);

/* How many there are, and the i-th as it is in help, `of` resolved. */
size_t ps_options_count(const ps_option_spec *spec);
ps_option ps_options_at(const ps_option_spec *spec, size_t i);

/* What help says of an option: its sentence, its words, its default. */
void ps_option_explain(const ps_option *o, ps_buf *out);

/* Options are shown in groups, which come in the order of their first option: the group of a row, and whether the row is the first
 * of its group that is shown. */
const char *ps_options_group(const ps_option_spec *spec, size_t row);
bool ps_options_begin_group(const ps_option_spec *spec, size_t row);

/* Help of the options: one group after the other, two columns, at most `width` terminal columns. */
void ps_options_help(const ps_option_spec *spec, size_t width, ps_buf *out);

/* The word of the list that is nearest to `word` when it is near enough to be meant, else NULL. Case, hyphens and
 * underscores do not count. `words` are n strings. */
const char *ps_nearest(const char *word, const char *const *words, size_t n);

#endif
