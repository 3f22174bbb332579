/* Parsing walks the words once. Every message names the option as the spec spells it and, for an unknown word,
 * the nearest known one; it is one line and complete without the help page. */
#include "cli/options.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/utf8.h"
#include "write/out/wrap.h"

#define MAX_WORD 64 /* longer words are compared by their beginning */
#define MILLIONTHS 1000000

/* --- nearest words ----------------------------------------------------------------------------------------- */

static char fold_option(char c) {
    if (c == '_') {
        return '-';
    }
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t min3(size_t a, size_t b, size_t c) {
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b) {
    size_t rows[3][MAX_WORD + 1];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];
    for (size_t j = 0; j <= n_b; j++) {
        last[j] = j;
        before[j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            char ca = fold_option(a[i - 1]);
            char cb = fold_option(b[j - 1]);
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (ca != cb));
            bool swapped =
                i > 1 && j > 1 && ca == fold_option(b[j - 2]) && fold_option(a[i - 2]) == cb;
            if (swapped && before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[n_b];
}

typedef struct nearest {
    const char *word; /* looked for */
    size_t n;
    const char *best;
    size_t distance;
} nearest;

static nearest nearest_begin(const char *word, size_t n) {
    return (nearest){.word = word, .n = n < MAX_WORD ? n : MAX_WORD, .distance = SIZE_MAX};
}

static void nearest_try(nearest *s, const char *candidate) {
    size_t n = strlen(candidate);
    n = n < MAX_WORD ? n : MAX_WORD;
    size_t distance = edit_distance(s->word, s->n, candidate, n);
    /* A beginning that was cut short is as good as one slip: "--rank" for "--rank_list". */
    if (s->n >= 3 && n > s->n && edit_distance(s->word, s->n, candidate, s->n) == 0) {
        distance = 1;
    }
    size_t longer = n > s->n ? n : s->n;
    if (distance < s->distance && distance <= (longer + 2) / 3 && distance < longer) {
        s->best = candidate;
        s->distance = distance;
    }
}

const char *ps_nearest(const char *word, const char *const *words, size_t n) {
    nearest s = nearest_begin(word, strlen(word));
    for (size_t i = 0; i < n; i++) {
        nearest_try(&s, words[i]);
    }
    return s.best;
}

/* --- the spec ---------------------------------------------------------------------------------------------- */

size_t ps_options_count(const ps_option_spec *spec) {
    return spec->n_options + spec->n_common;
}

/* The row of an option of analyses: what a command says in other words stays. */
static ps_option row_of_analyses(const ps_option *own) {
    static const ps_option_kind KINDS[] = {
        [PS_ANALYSIS_FLAG] = PS_OPTION_FLAG,    [PS_ANALYSIS_INT] = PS_OPTION_INT,
        [PS_ANALYSIS_BYTES] = PS_OPTION_TEXT,   [PS_ANALYSIS_REAL] = PS_OPTION_REAL,
        [PS_ANALYSIS_TEXT] = PS_OPTION_TEXT,    [PS_ANALYSIS_SCHEDULE] = PS_OPTION_TEXT,
        [PS_ANALYSIS_ORDER] = PS_OPTION_CHOICE, [PS_ANALYSIS_CLOCKS] = PS_OPTION_FLAG,
        [PS_ANALYSIS_LANG] = PS_OPTION_CHOICE};
    const ps_analysis_option *o = ps_analysis_option_of(own->of);
    return (ps_option){.name = o->name,
                       .short_name = own->short_name,
                       .kind = KINDS[o->kind],
                       .arg = o->arg,
                       .fallback_shown = o->shown,
                       .help = own->help != NULL ? own->help : o->help,
                       .group = own->group != NULL ? own->group : o->group,
                       .min = o->least,
                       .max = o->most,
                       .choices = o->kind == PS_ANALYSIS_ORDER  ? ps_layout_names
                                  : o->kind == PS_ANALYSIS_LANG ? ps_analysis_langs
                                                                : NULL,
                       .positive = o->kind == PS_ANALYSIS_REAL,
                       .also = own->also,
                       .of = own->of};
}

ps_option ps_options_at(const ps_option_spec *spec, size_t i) {
    const ps_option *o =
        i < spec->n_options ? &spec->options[i] : &spec->common[i - spec->n_options];
    return o->of != PS_NO_ANALYSIS_OPTION ? row_of_analyses(o) : *o;
}

static bool option_same_name(const char *name, const char *s, size_t n) {
    if (strlen(name) != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        char a = name[i] == '_' ? '-' : name[i];
        char b = s[i] == '_' ? '-' : s[i];
        if (a != b) {
            return false;
        }
    }
    return true;
}

/* Row of the long name, or their count. */
static size_t find_long(const ps_option_spec *spec, const char *s, size_t n) {
    for (size_t i = 0; i < ps_options_count(spec); i++) {
        ps_option o = ps_options_at(spec, i);
        if (option_same_name(o.name, s, n) || (o.also != NULL && option_same_name(o.also, s, n))) {
            return i;
        }
    }
    return ps_options_count(spec);
}

static size_t find_short(const ps_option_spec *spec, char c) {
    size_t i = 0;
    while (i < ps_options_count(spec) && (c == '\0' || ps_options_at(spec, i).short_name != c)) {
        i++;
    }
    return i;
}

/* Row of the option that a word with one hyphen names ("-d", "-bp"), or their count. */
static size_t find_one_hyphen(const ps_option_spec *spec, const char *word) {
    if (word[1] != '\0' && word[2] == '\0') {
        return find_short(spec, word[1]);
    }
    size_t row = find_long(spec, word + 1, strlen(word + 1));
    bool is_one = row < ps_options_count(spec) && ps_options_at(spec, row).one_hyphen;
    return is_one ? row : ps_options_count(spec);
}

bool ps_options_has(const ps_option_spec *spec, const char *name) {
    return find_long(spec, name, strlen(name)) < ps_options_count(spec);
}

/* --- values ------------------------------------------------------------------------------------------------ */

static ps_code fail_range(const ps_option *o, const char *text, ps_err *err) {
    /* Times are kept in ns and written in microseconds. */
    long long scale = o->kind == PS_OPTION_US ? 1000 : 1;
    const char *unit = o->kind == PS_OPTION_US ? " us" : "";
    if (o->max == INT64_MAX) {
        return ps_fail(err, PS_USAGE, "--%s: %s is too small (at least %lld%s)", o->name, text,
                       (long long)o->min / scale, unit);
    }
    return ps_fail(err, PS_USAGE, "--%s: %s is out of range (%lld to %lld%s)", o->name, text,
                   (long long)o->min / scale, (long long)o->max / scale, unit);
}

static ps_code fail_choice(const ps_option *o, const char *text, ps_err *err) {
    char list[300] = "";
    size_t used = 0;
    nearest s = nearest_begin(text, strlen(text));
    for (size_t i = 0; o->choices[i] != NULL; i++) {
        size_t n = strlen(o->choices[i]);
        if (used + n + 3 < sizeof list) {
            memcpy(list + used, i > 0 ? ", " : "", i > 0 ? 2 : 0);
            used += i > 0 ? 2 : 0;
            memcpy(list + used, o->choices[i], n + 1);
            used += n;
        }
        nearest_try(&s, o->choices[i]);
    }
    if (s.best != NULL) {
        return ps_fail(err, PS_USAGE, "--%s: unknown word '%s'; did you mean '%s'?", o->name, text,
                       s.best);
    }
    return ps_fail(err, PS_USAGE, "--%s: unknown word '%s' (one of %s)", o->name, text, list);
}

static ps_code parse_choice(const ps_option *o, const char *text, ps_option_value *v, ps_err *err) {
    for (size_t i = 0; o->choices[i] != NULL; i++) {
        if (option_same_name(o->choices[i], text, strlen(text))) {
            v->text = o->choices[i];
            return PS_OK;
        }
    }
    return fail_choice(o, text, err);
}

static ps_code parse_value(const ps_option *o, const char *text, ps_option_value *v, ps_err *err) {
    v->text = text;
    bool bounded = o->min != 0 || o->max != 0;
    switch (o->kind) {
    case PS_OPTION_FLAG:
        v->text = "1";
        v->number = 1;
        return PS_OK;
    case PS_OPTION_INT:
        if (!ps_parse_i64(text, strlen(text), &v->number)) {
            return ps_fail(err, PS_USAGE, "--%s: '%s' is not a whole number", o->name, text);
        }
        break;
    case PS_OPTION_US:
        if (!ps_parse_us_as_ns(text, strlen(text), &v->number)) {
            return ps_fail(
                err, PS_USAGE,
                "--%s: '%s' is not a time in microseconds (12, 0.25; at most 3 decimals)", o->name,
                text);
        }
        break;
    case PS_OPTION_REAL:
        if (!ps_parse_scaled(text, strlen(text), MILLIONTHS, &v->number)) {
            return ps_fail(err, PS_USAGE, "--%s: '%s' is not a decimal number (12, 0.25)", o->name,
                           text);
        }
        if (bounded && (v->number < o->min * MILLIONTHS || v->number > o->max * MILLIONTHS)) {
            return fail_range(o, text, err);
        }
        if (o->positive && v->number <= 0) {
            return ps_fail(err, PS_USAGE, "--%s %s: give a number above 0", o->name, text);
        }
        return PS_OK;
    case PS_OPTION_CHOICE:
        return parse_choice(o, text, v, err);
    case PS_OPTION_PATH:
        if (text[0] == '\0') {
            return ps_fail(err, PS_USAGE, "--%s: the %s is empty", o->name,
                           o->arg != NULL ? o->arg : "path");
        }
        return PS_OK;
    case PS_OPTION_TEXT:
        return PS_OK;
    }
    if (bounded && (v->number < o->min || v->number > o->max)) {
        return fail_range(o, text, err);
    }
    return PS_OK;
}

/* --- words ------------------------------------------------------------------------------------------------- */

typedef struct parser {
    ps_option_values *out;
    const ps_option_spec *spec;
    char *const *argv;
    size_t argc, at;
    ps_err *err;
} parser;

static ps_code fail_unknown(parser *p, const char *word) {
    size_t dashes = strspn(word, "-");
    size_t n = strcspn(word, "=");
    nearest s = nearest_begin(word + dashes, n - dashes);
    for (size_t i = 0; i < ps_options_count(p->spec); i++) {
        if (!ps_options_at(p->spec, i).hidden) {
            nearest_try(&s, ps_options_at(p->spec, i).name);
        }
    }
    if (s.best != NULL) {
        return ps_fail(p->err, PS_USAGE, "unknown option '%.*s'; did you mean '--%s'?", (int)n,
                       word, s.best);
    }
    return ps_fail(p->err, PS_USAGE, "unknown option '%.*s'", (int)n, word);
}

/* An option of this command, so not the value of the option before it; "-1" is a number. */
static bool is_known_option(const ps_option_spec *spec, const char *word) {
    if (word[0] != '-' || word[1] == '\0') {
        return false;
    }
    if (word[1] == '-') {
        size_t n = strcspn(word + 2, "=");
        return n == 0 || find_long(spec, word + 2, n) < ps_options_count(spec);
    }
    return find_one_hyphen(spec, word) < ps_options_count(spec);
}

/* A value that is there: `-o -`, which commands with several files cannot mean. */
static ps_code take_value(parser *p, const ps_option *o, const char *text, ps_option_value *v) {
    if (o->short_name != 'o' || strcmp(text, "-") != 0) {
        return parse_value(o, text, v, p->err);
    }
    if (!o->or_terminal) {
        return ps_fail(
            p->err, PS_USAGE,
            "--%s: '-' is no %s: this command writes nothing to the terminal that could be it",
            o->name, o->arg);
    }
    *v = (ps_option_value){.text = NULL};
    return PS_OK;
}

/* Takes the value from `attached` (after '=' or glued on) or from the next word. */
static ps_code take_option(parser *p, size_t row, const char *attached) {
    const ps_option row_of = ps_options_at(p->spec, row);
    const ps_option *o = &row_of;
    ps_option_value *v = &p->out->values[row];
    v->given = true;
    if (o->kind == PS_OPTION_FLAG) {
        if (attached != NULL) {
            return ps_fail(p->err, PS_USAGE, "--%s takes no value", o->name);
        }
        return parse_value(o, "", v, p->err);
    }
    if (attached != NULL) {
        return take_value(p, o, attached, v);
    }
    if (p->at >= p->argc || is_known_option(p->spec, p->argv[p->at])) {
        return ps_fail(p->err, PS_USAGE, "--%s needs a value%s%s", o->name,
                       o->arg != NULL ? ": " : "", o->arg != NULL ? o->arg : "");
    }
    return take_value(p, o, p->argv[p->at++], v);
}

static ps_code take_long(parser *p, const char *word) {
    const char *name = word + 2;
    size_t n = strcspn(name, "=");
    size_t row = find_long(p->spec, name, n);
    if (row == ps_options_count(p->spec)) {
        return fail_unknown(p, word);
    }
    return take_option(p, row, name[n] == '=' ? name + n + 1 : NULL);
}

static ps_code take_short(parser *p, const char *word) {
    size_t row = find_one_hyphen(p->spec, word);
    if (row < ps_options_count(p->spec)) {
        return take_option(p, row, NULL);
    }
    row = find_short(p->spec, word[1]);
    if (row == ps_options_count(p->spec)) {
        return fail_unknown(p, word);
    }
    /* Only numbers may be glued on, as in -j8: "-mode" shall not mean "-m ode". */
    if (ps_options_at(p->spec, row).kind == PS_OPTION_INT &&
        strspn(word + 2, "0123456789") == strlen(word + 2)) {
        return take_option(p, row, word + 2);
    }
    return fail_unknown(p, word);
}

static ps_code take_positional(parser *p, const char *word) {
    if (p->out->n_positionals >= p->spec->max_positionals) {
        return ps_fail(p->err, PS_USAGE, "unexpected argument '%s'", word);
    }
    p->out->positionals[p->out->n_positionals++] = word;
    return PS_OK;
}

/* -d DIR is the first of the words. */
static ps_code take_input(parser *p) {
    for (size_t i = 0; i < ps_options_count(p->spec); i++) {
        const ps_option_value *v = &p->out->values[i];
        if (!ps_options_at(p->spec, i).is_input || !v->given) {
            continue;
        }
        size_t n = p->out->n_positionals;
        if (n >= p->spec->max_positionals) {
            return ps_fail(p->err, PS_USAGE, "-d %s and the word '%s': which of them?", v->text,
                           p->out->positionals[0]);
        }
        memmove(p->out->positionals + 1, p->out->positionals, n * sizeof *p->out->positionals);
        p->out->positionals[0] = v->text;
        p->out->n_positionals++;
    }
    return PS_OK;
}

/* "--format json" and "--format text" of a command that has these forms. */
static ps_code take_form(parser *p) {
    size_t n = ps_options_count(p->spec);
    size_t format = find_long(p->spec, "format", strlen("format"));
    const char *text = format < n ? p->out->values[format].text : NULL;
    bool is_json = text != NULL && strcmp(text, "json") == 0;
    if (!is_json && (text == NULL || strcmp(text, "text") != 0)) {
        return PS_OK;
    }
    size_t as = find_long(p->spec, "as", strlen("as"));
    size_t json = find_long(p->spec, "json", strlen("json"));
    if (as == n && json == n) {
        return PS_OK; /* the reader of that name is looked for, and told to be unknown */
    }
    p->out->values[format] = (ps_option_value){.text = NULL};
    if (as < n) {
        ps_option o = ps_options_at(p->spec, as);
        p->out->values[as].given = true;
        return parse_value(&o, text, &p->out->values[as], p->err);
    }
    p->out->values[json] =
        (ps_option_value){.text = is_json ? "1" : NULL, .number = is_json, .given = is_json};
    return PS_OK;
}

static ps_code take_words(parser *p) {
    bool options = true;
    ps_code code = PS_OK;
    while (code == PS_OK && p->at < p->argc) {
        const char *word = p->argv[p->at++];
        if (!options || word[0] != '-' || word[1] == '\0') {
            code = take_positional(p, word); /* "-" alone is a name: stdin */
            options = options && !p->spec->runs_words;
        } else if (strcmp(word, "--") == 0) {
            options = false;
        } else if (word[1] == '-') {
            code = take_long(p, word);
        } else {
            code = take_short(p, word);
        }
    }
    code = code == PS_OK ? take_input(p) : code;
    code = code == PS_OK ? take_form(p) : code;
    if (code == PS_OK && p->out->n_positionals < p->spec->min_positionals) {
        code = ps_fail(p->err, PS_USAGE, "%s is missing", p->spec->positional);
    }
    return code;
}

/* How many words come before the command line of another program. */
static size_t n_own_words(const ps_option_spec *spec, size_t argc, char *const *argv) {
    size_t i = 0;
    while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0' && strcmp(argv[i], "--") != 0) {
        const char *w = argv[i++];
        bool is_long = w[1] == '-';
        size_t row = is_long ? find_long(spec, w + 2, strlen(w + 2)) : find_one_hyphen(spec, w);
        bool alone = row < ps_options_count(spec);
        if (alone && ps_options_at(spec, row).kind != PS_OPTION_FLAG && i < argc &&
            !is_known_option(spec, argv[i])) {
            i++; /* its value */
        }
    }
    return i;
}

/* Someone who asks for help gets it, whatever else is on the line. */
static bool asks_for_help(const ps_option_spec *spec, size_t argc, char *const *argv) {
    argc = spec->runs_words ? n_own_words(spec, argc, argv) : argc;
    for (size_t i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *w = argv[i];
        size_t row = ps_options_count(spec);
        if (strncmp(w, "--", 2) == 0) {
            row = find_long(spec, w + 2, strlen(w + 2));
        } else if (w[0] == '-' && w[1] != '\0' && w[2] == '\0') {
            row = find_short(spec, w[1]);
        }
        if (row < ps_options_count(spec) && strcmp(ps_options_at(spec, row).name, "help") == 0) {
            return true;
        }
    }
    return false;
}

static void set_fallbacks(ps_option_values *out, const ps_option_spec *spec) {
    for (size_t i = 0; i < ps_options_count(spec); i++) {
        ps_option o = ps_options_at(spec, i);
        if (o.fallback != NULL) {
            ps_code code = parse_value(&o, o.fallback, &out->values[i], NULL);
            assert(code == PS_OK);
            (void)code;
        }
    }
}

ps_code ps_options_parse(ps_option_values *out, const ps_option_spec *spec, int argc,
                         char *const *argv, bool *wants_help, ps_err *err) {
    size_t n_words = argc > 0 ? (size_t)argc : 0;
    *out = (ps_option_values){.spec = spec};
    out->values = ps_calloc(ps_options_count(spec) + 1, sizeof *out->values);
    out->positionals = ps_calloc(n_words + 1, sizeof *out->positionals);
    if (out->values == NULL || out->positionals == NULL) {
        ps_options_fini(out);
        return ps_fail_nomem(err);
    }
    set_fallbacks(out, spec);
    *wants_help = asks_for_help(spec, n_words, argv);
    if (*wants_help) {
        return PS_OK;
    }
    parser p = {.out = out, .spec = spec, .argv = argv, .argc = n_words, .err = err};
    ps_code code = take_words(&p);
    if (code != PS_OK) {
        ps_options_fini(out);
    }
    return code;
}

void ps_options_fini(ps_option_values *v) {
    ps_free(v->values);
    ps_free(v->positionals);
    *v = (ps_option_values){0};
}

const ps_option_value *ps_options_get(const ps_option_values *v, const char *name) {
    static const ps_option_value NONE = {0};
    size_t row = find_long(v->spec, name, strlen(name));
    bool known = row < ps_options_count(v->spec);
    assert(known);
    return known ? &v->values[row] : &NONE;
}

/* --- help -------------------------------------------------------------------------------------------------- */

enum { HELP_LEFT_MAX = 30 };

/* "  -d, --directory DIR" */
static void option_left(const ps_option *o, ps_buf *out) {
    if (o->short_name != '\0') {
        ps_buf_addf(out, "  -%c, --%s", o->short_name, o->name);
    } else {
        ps_buf_addf(out, "      --%s", o->name);
    }
    if (o->kind != PS_OPTION_FLAG) {
        ps_buf_addf(out, " %s", o->arg != NULL ? o->arg : "VALUE");
    }
}

/* Some help says what each word means. */
static bool help_names_choices(const ps_option *o) {
    size_t i = 0;
    while (o->choices[i] != NULL && strstr(o->help, o->choices[i]) != NULL) {
        i++;
    }
    return o->choices[i] == NULL;
}

void ps_option_explain(const ps_option *o, ps_buf *out) {
    ps_buf_add_str(out, o->help);
    if (o->kind == PS_OPTION_CHOICE && !help_names_choices(o)) {
        for (size_t i = 0; o->choices[i] != NULL; i++) {
            ps_buf_addf(out, "%s%s", i == 0 ? ": " : ", ", o->choices[i]);
        }
    }
    const char *fallback = o->fallback_shown != NULL ? o->fallback_shown : o->fallback;
    if (fallback != NULL && fallback[0] != '\0') {
        ps_buf_addf(out, " (default %s)", fallback);
    }
}

static size_t left_column(const ps_option_spec *spec) {
    size_t left = 0;
    for (size_t i = 0; i < ps_options_count(spec); i++) {
        ps_buf text = {0};
        ps_option o = ps_options_at(spec, i);
        option_left(&o, &text);
        size_t n = ps_utf8_columns(ps_buf_str(&text), text.len);
        ps_buf_fini(&text);
        left = n > left && n <= HELP_LEFT_MAX && !o.hidden ? n : left;
    }
    return left + 2;
}

static void help_line(const ps_option *o, size_t left, size_t width, ps_buf *out) {
    ps_buf text = {0};
    option_left(o, &text);
    size_t n = ps_utf8_columns(ps_buf_str(&text), text.len);
    ps_buf_add_str(out, ps_buf_str(&text));
    if (n + 2 > left) {
        ps_buf_add_char(out, '\n');
        n = 0;
    }
    ps_buf_add_fill(out, ' ', left - n);
    ps_buf_clear(&text);
    ps_option_explain(o, &text);
    ps_wrap(out, ps_buf_str(&text), left, left, width);
    ps_buf_add_char(out, '\n');
    ps_buf_fini(&text);
}

const char *ps_options_group(const ps_option_spec *spec, size_t row) {
    const char *group = ps_options_at(spec, row).group;
    return group != NULL ? group : "Options";
}

bool ps_options_begin_group(const ps_option_spec *spec, size_t row) {
    for (size_t i = 0; i < row; i++) {
        if (!ps_options_at(spec, i).hidden &&
            strcmp(ps_options_group(spec, i), ps_options_group(spec, row)) == 0) {
            return false;
        }
    }
    return !ps_options_at(spec, row).hidden;
}

void ps_options_help(const ps_option_spec *spec, size_t width, ps_buf *out) {
    size_t left = left_column(spec);
    for (size_t g = 0; g < ps_options_count(spec); g++) {
        if (!ps_options_begin_group(spec, g)) {
            continue;
        }
        ps_buf_addf(out, "\n%s:\n", ps_options_group(spec, g));
        for (size_t i = g; i < ps_options_count(spec); i++) {
            ps_option o = ps_options_at(spec, i);
            if (!o.hidden && strcmp(ps_options_group(spec, i), ps_options_group(spec, g)) == 0) {
                help_line(&o, left, width, out);
            }
        }
    }
}
