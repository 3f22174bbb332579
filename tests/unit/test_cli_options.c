/* Option parsing: every kind, every mistake, help. The program is no library, so its file is compiled in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/options.c"

static const char *const ORDERS[] = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", NULL};
static const ps_option OPTIONS[] = {
    {.name = "mode",
     .short_name = 'm',
     .kind = PS_OPTION_TEXT,
     .arg = "MODE",
     .help = "what to compute"},
    {.name = "dir",
     .short_name = 'd',
     .kind = PS_OPTION_PATH,
     .arg = "DIR",
     .help = "where the profiles lie"},
    {.name = "export_type",
     .kind = PS_OPTION_TEXT,
     .arg = "TYPE",
     .fallback = "db",
     .help = "what to write"},
    {.name = "step_id",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .fallback = "-1",
     .fallback_shown = "all",
     .help = "one step"},
    {.name = "jobs",
     .short_name = 'j',
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 1,
     .max = 64,
     .help = "threads"},
    {.name = "steps",
     .kind = PS_OPTION_INT,
     .arg = "N",
     .min = 1,
     .max = INT64_MAX,
     .fallback = "1",
     .help = "steps"},
    {.name = "order",
     .kind = PS_OPTION_CHOICE,
     .arg = "ORDER",
     .choices = ORDERS,
     .group = "Ranks",
     .help = "rank order"},
    {.name = "f-us",
     .kind = PS_OPTION_US,
     .arg = "X",
     .max = 1000000,
     .fallback = "10",
     .help = "forward"},
    {.name = "likeness", .kind = PS_OPTION_REAL, .arg = "X", .max = 1, .hidden = true, .help = ""},
    {.name = "secret", .kind = PS_OPTION_FLAG, .hidden = true, .help = ""},
};
static const ps_option COMMON[] = {
    {.name = "quiet", .kind = PS_OPTION_FLAG, .help = "less"},
    {.name = "help", .short_name = 'h', .kind = PS_OPTION_FLAG, .help = "this page"},
};
static const ps_option_spec SPEC = {.options = OPTIONS,
                                    .n_options = sizeof OPTIONS / sizeof OPTIONS[0],
                                    .common = COMMON,
                                    .n_common = 2,
                                    .positional = "PATH",
                                    .max_positionals = 2};

/* Words separated by one blank; "''" is an empty one. */
static ps_code parse_as(const ps_option_spec *spec, const char *line, ps_option_values *out,
                        bool *help, ps_err *err) {
    static char words[512];
    static char *argv[32];
    int argc = 0;
    assert_true(strlen(line) < sizeof words);
    memcpy(words, line, strlen(line) + 1);
    for (char *p = words; *p != '\0';) {
        size_t n = strcspn(p, " ");
        bool last = p[n] == '\0';
        p[n] = '\0';
        argv[argc++] = strcmp(p, "''") == 0 ? p + 2 : p;
        p += n + (last ? 0 : 1);
    }
    return ps_options_parse(out, spec, argc, argv, help, err);
}

static ps_option_values parsed(const char *line) {
    ps_option_values v;
    bool help = false;
    ps_err err = PS_ERR_INIT;
    ps_code code = parse_as(&SPEC, line, &v, &help, &err);
    if (code != PS_OK) {
        fail_msg("%s: %s", line, err.msg);
    }
    assert_false(help);
    return v;
}

static void refuse(const char *line, const char *message) {
    ps_option_values v;
    bool help = false;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(parse_as(&SPEC, line, &v, &help, &err), PS_USAGE);
    assert_string_equal(err.msg, message);
    assert_null(v.values);
}

static void test_defaults(void **context) {
    (void)context;
    ps_option_values v = parsed("");
    assert_null(ps_options_get(&v, "mode")->text);
    assert_string_equal(ps_options_get(&v, "export_type")->text, "db");
    assert_int_equal(ps_options_get(&v, "step_id")->number, -1);
    assert_int_equal(ps_options_get(&v, "f-us")->number, 10000);
    assert_false(ps_options_get(&v, "steps")->given);
    assert_int_equal(ps_options_get(&v, "quiet")->number, 0);
    ps_options_fini(&v);
}

static void test_spellings(void **context) {
    (void)context;
    ps_option_values v = parsed(
        "a -m all --dir=x=y --export-type csv --step_id -1 -j8 --f_us 0.25 --quiet - --order "
        "tp_cp_ep_pp_dp");
    assert_string_equal(ps_options_get(&v, "mode")->text, "all");
    assert_string_equal(ps_options_get(&v, "dir")->text, "x=y");
    assert_string_equal(ps_options_get(&v, "export_type")->text, "csv");
    assert_true(ps_options_get(&v, "step_id")->given);
    assert_int_equal(ps_options_get(&v, "jobs")->number, 8);
    assert_int_equal(ps_options_get(&v, "f_us")->number, 250);
    assert_int_equal(ps_options_get(&v, "quiet")->number, 1);
    assert_string_equal(ps_options_get(&v, "order")->text, "tp-cp-ep-pp-dp");
    assert_int_equal(v.n_positionals, 2);
    assert_string_equal(v.positionals[0], "a");
    assert_string_equal(v.positionals[1], "-");
    ps_options_fini(&v);

    v = parsed("--steps 2 --steps 3 -- --mode -j");
    assert_int_equal(ps_options_get(&v, "steps")->number, 3);
    assert_string_equal(v.positionals[0], "--mode");
    assert_string_equal(v.positionals[1], "-j");
    ps_options_fini(&v);

    v = parsed("--likeness 0.8125");
    assert_int_equal(ps_options_get(&v, "likeness")->number, 812500);
    ps_options_fini(&v);

    v = parsed("--mode= --secret");
    assert_string_equal(ps_options_get(&v, "mode")->text, "");
    assert_true(ps_options_get(&v, "secret")->given);
    ps_options_fini(&v);
}

static void test_unknown(void **context) {
    (void)context;
    refuse("--exprot_type db", "unknown option '--exprot_type'; did you mean '--export_type'?");
    refuse("--export=db", "unknown option '--export'; did you mean '--export_type'?");
    refuse("-step_id 1", "unknown option '-step_id'; did you mean '--step_id'?");
    refuse("-mode x", "unknown option '-mode'; did you mean '--mode'?");
    refuse("--frobnicate", "unknown option '--frobnicate'");
    refuse("--secre", "unknown option '--secre'");
    refuse("-x", "unknown option '-x'");
    refuse("-j8x", "unknown option '-j8x'");
}

static void test_values(void **context) {
    (void)context;
    refuse("--mode", "--mode needs a value: MODE");
    refuse("-m --dir x", "--mode needs a value: MODE");
    refuse("--dir=", "--dir: the DIR is empty");
    refuse("-d ''", "--dir: the DIR is empty");
    refuse("--likeness 1.01", "--likeness: 1.01 is out of range (0 to 1)");
    refuse("--likeness -1", "--likeness: '-1' is not a decimal number (12, 0.25)");
    refuse("--likeness 1e-3", "--likeness: '1e-3' is not a decimal number (12, 0.25)");
    refuse("--quiet=yes", "--quiet takes no value");
    refuse("--step_id one", "--step_id: 'one' is not a whole number");
    refuse("--step_id 9223372036854775808",
           "--step_id: '9223372036854775808' is not a whole number");
    refuse("-j 0", "--jobs: 0 is out of range (1 to 64)");
    refuse("-j65", "--jobs: 65 is out of range (1 to 64)");
    refuse("--steps 0", "--steps: 0 is too small (at least 1)");
    refuse("--f-us 0.0001",
           "--f-us: '0.0001' is not a time in microseconds (12, 0.25; at most 3 decimals)");
    refuse("--f-us 1000.001", "--f-us: 1000.001 is out of range (0 to 1000 us)");
    refuse("--order tp-cp-ep-dp",
           "--order: unknown word 'tp-cp-ep-dp'; did you mean 'tp-cp-ep-dp-pp'?");
    refuse("--order x", "--order: unknown word 'x' (one of tp-cp-ep-dp-pp, tp-cp-ep-pp-dp)");
    refuse("a b c", "unexpected argument 'c'");
}

static void test_positionals(void **context) {
    (void)context;
    ps_option_spec spec = SPEC;
    spec.min_positionals = 1;
    ps_option_values v;
    bool help = false;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(parse_as(&spec, "--quiet", &v, &help, &err), PS_USAGE);
    assert_string_equal(err.msg, "PATH is missing");
    spec.max_positionals = PS_MANY;
    assert_int_equal(parse_as(&spec, "a b c d", &v, &help, &err), PS_OK);
    assert_int_equal(v.n_positionals, 4);
    ps_options_fini(&v);
}

/* What follows the first word that is no option belongs to another program. */
static void test_runs_words(void **context) {
    (void)context;
    ps_option_spec spec = SPEC;
    spec.runs_words = true;
    spec.max_positionals = PS_MANY;
    const char *lines[] = {"--quiet -m x -j8 a --quiet -h -- --nonsense",
                           "--quiet --mode=x -j 8 -- a --quiet -h -- --nonsense"};
    for (size_t i = 0; i < 2; i++) {
        ps_option_values v;
        bool help = true;
        assert_int_equal(parse_as(&spec, lines[i], &v, &help, NULL), PS_OK);
        assert_false(help);
        assert_int_equal(v.n_positionals, 5);
        assert_string_equal(v.positionals[0], "a");
        assert_string_equal(v.positionals[2], "-h");
        assert_string_equal(v.positionals[3], "--");
        assert_string_equal(v.positionals[4], "--nonsense");
        assert_string_equal(ps_options_get(&v, "mode")->text, "x");
        assert_int_equal(ps_options_get(&v, "jobs")->number, 8);
        ps_options_fini(&v);
    }
    const char *asking[] = {"-m x -h a", "--mode x --help", "-h -- a", "--nonsense -h"};
    for (size_t i = 0; i < 4; i++) {
        ps_option_values v;
        bool help = false;
        assert_int_equal(parse_as(&spec, asking[i], &v, &help, NULL), PS_OK);
        assert_true(help);
        ps_options_fini(&v);
    }
}

static void test_help_wins(void **context) {
    (void)context;
    ps_option_values v;
    bool help = false;
    assert_int_equal(parse_as(&SPEC, "--nonsense a b c d -h", &v, &help, NULL), PS_OK);
    assert_true(help);
    ps_options_fini(&v);
    assert_int_equal(parse_as(&SPEC, "a -- -h", &v, &help, NULL), PS_OK);
    assert_false(help);
    ps_options_fini(&v);
}

static void test_help_text(void **context) {
    (void)context;
    ps_buf b;
    ps_buf_init(&b, 0);
    ps_options_help(&SPEC, 60, &b);
    assert_string_equal(ps_buf_str(&b), "\nOptions:\n"
                                        "  -m, --mode MODE         what to compute\n"
                                        "  -d, --dir DIR           where the profiles lie\n"
                                        "      --export_type TYPE  what to write (default db)\n"
                                        "      --step_id N         one step (default all)\n"
                                        "  -j, --jobs N            threads\n"
                                        "      --steps N           steps (default 1)\n"
                                        "      --f-us X            forward (default 10)\n"
                                        "      --quiet             less\n"
                                        "  -h, --help              this page\n"
                                        "\nRanks:\n"
                                        "      --order ORDER       rank order: tp-cp-ep-dp-pp,\n"
                                        "                          tp-cp-ep-pp-dp\n");
    ps_buf_fini(&b);
}

static void test_nearest(void **context) {
    (void)context;
    static const char *const WORDS[] = {"cluster", "info", "simulate", "schedules"};
    assert_string_equal(ps_nearest("simulat", WORDS, 4), "simulate");
    assert_string_equal(ps_nearest("SCHEDULE", WORDS, 4), "schedules");
    assert_string_equal(ps_nearest("ifno", WORDS, 4), "info");
    assert_string_equal(ps_nearest("clu", WORDS, 4), "cluster");
    assert_null(ps_nearest("zzz", WORDS, 4));
    assert_null(ps_nearest("", WORDS, 4));
    /* Longer than what is compared: no more than a wrong guess can come of it. */
    char word[300];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_null(ps_nearest(word, WORDS, 4));
}

static void test_wrap(void **context) {
    (void)context;
    ps_buf b;
    ps_buf_init(&b, 0);
    ps_wrap(&b, "one two three\nfour a-word-that-is-too-long five", 4, 2, 12);
    assert_string_equal(ps_buf_str(&b),
                        "one two\n  three\n  four\n  a-word-that-is-too-long\n  five");
    ps_buf_fini(&b);
}

static void test_memory(void **context) {
    (void)context;
    for (int64_t n = 0; n < 2; n++) {
        ps_option_values v;
        bool help = false;
        (void)ps_alloc_fail_at(n);
        ps_code code = parse_as(&SPEC, "a -m x", &v, &help, NULL);
        (void)ps_alloc_fail_at(-1);
        assert_int_equal(code, PS_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_unknown),     cmocka_unit_test(test_values),
        cmocka_unit_test(test_positionals), cmocka_unit_test(test_runs_words),
        cmocka_unit_test(test_help_wins),   cmocka_unit_test(test_help_text),
        cmocka_unit_test(test_nearest),     cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
