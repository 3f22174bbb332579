/* The one list of options of analyses: every option is a parameter of the server, fills its field, and tells results apart in the
 * cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "base/fs.h"
#include "serve/cluster/cluster_ask.h"
#include "support/small_runs.h"

static const uint32_t KINDS[] = {PS_OF_MODES, PS_OF_CHARTS, PS_OF_WHATIF, PS_OF_PLAN};

/* A value that each kind takes and that is not the one of an option that nobody gave. */
static const char *a_value(const ps_analysis_option *o) {
    static const char *const VALUES[] = {
        [PS_ANALYSIS_FLAG] = "1",        [PS_ANALYSIS_INT] = "3",
        [PS_ANALYSIS_BYTES] = "4GiB",    [PS_ANALYSIS_REAL] = "0.5",
        [PS_ANALYSIS_TEXT] = "dp \"x\"", [PS_ANALYSIS_SCHEDULE] = "1f1b",
        [PS_ANALYSIS_ORDER] = "mindie",  [PS_ANALYSIS_CLOCKS] = "1",
        [PS_ANALYSIS_LANG] = "zh"};
    return VALUES[o->kind];
}

static const char *a_wrong_value(const ps_analysis_option *o) {
    return o->kind == PS_ANALYSIS_TEXT ? NULL : "no such";
}

static void key_of(const ps_analysis_opts *opts, uint32_t of, ps_buf *out) {
    ps_buf_clear(out);
    ps_analysis_opts_key(opts, of, out);
    assert_true(ps_buf_ok(out));
}

static const char *parameter(const ps_analysis_option *o, char out[64]) {
    (void)snprintf(out, 64, "%s", o->name);
    for (char *at = strchr(out, '-'); at != NULL; at = strchr(at, '-')) {
        *at = '_';
    }
    return out;
}

/* A server's store is where the first capture is looked up. */
static ps_store *options_store;

static int open_options_store(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    (void)small_thread(b, 1);
    options_store = ps_store_of_trace(small_seal(b), "r0", NULL);
    return options_store != NULL ? 0 : -1;
}

static int close_options_store(void **state) {
    (void)state;
    ps_store_free(options_store);
    return 0;
}

static bool ask(const char *name, const char *value, uint32_t of, ps_analysis_opts *out) {
    ps_request q = {
        .path = "/api/mode", .store = options_store, .params = {{name, value}}, .n_params = 1};
    ps_reply r;
    size_t cluster = 0;
    ps_reply_init(&r);
    bool ok = ps_ask_analysis(&q, &r, of, &cluster, out);
    assert_int_equal(r.status, ok ? 200 : 400);
    ps_reply_fini(&r);
    return ok;
}

static void test_every_option_is_a_parameter_and_in_the_key(void **state) {
    (void)state;
    ps_analysis_opts none;
    ps_analysis_opts_init(&none);
    ps_buf plain = {0};
    ps_buf key = {0};
    for (int id = PS_NO_ANALYSIS_OPTION + 1; id < PS_ANALYSIS_OPTIONS_END; id++) {
        const ps_analysis_option *o = ps_analysis_option_of((ps_analysis_option_id)id);
        assert_true(o->of != 0);
        for (size_t k = 0; o->name != NULL && k < sizeof KINDS / sizeof *KINDS; k++) {
            char name[64];
            ps_analysis_opts opts;
            assert_true(ask(parameter(o, name), a_value(o), KINDS[k], &opts));
            key_of(&none, KINDS[k], &plain);
            key_of(&opts, KINDS[k], &key);
            bool differs = strcmp(ps_buf_str(&plain), ps_buf_str(&key)) != 0;
            if (differs != ((o->of & KINDS[k]) != 0)) {
                fail_msg("%s: the key is %s", o->name, ps_buf_str(&key));
            }
            bool is_wrong = a_wrong_value(o) != NULL && differs;
            assert_true(!is_wrong || !ask(name, a_wrong_value(o), KINDS[k], &opts));
        }
    }
    ps_buf_fini(&plain);
    ps_buf_fini(&key);
}

/* What no parameter says, the program does: the file of a whatif is another result than its tables. */
static void test_what_the_program_says_is_in_the_key(void **state) {
    (void)state;
    ps_analysis_opts a;
    ps_analysis_opts b;
    ps_analysis_opts_init(&a);
    ps_analysis_opts_init(&b);
    b.with_timeline = true;
    ps_buf keys[2] = {{0}};
    key_of(&a, PS_OF_WHATIF, &keys[0]);
    key_of(&b, PS_OF_WHATIF, &keys[1]);
    assert_string_not_equal(ps_buf_str(&keys[0]), ps_buf_str(&keys[1]));
    /* Texts that stand side by side do not run into one another. */
    a = b;
    a.without = "kind=x";
    b.scale = "kind=x";
    key_of(&a, PS_OF_WHATIF, &keys[0]);
    key_of(&b, PS_OF_WHATIF, &keys[1]);
    assert_string_not_equal(ps_buf_str(&keys[0]), ps_buf_str(&keys[1]));
    ps_buf_fini(&keys[0]);
    ps_buf_fini(&keys[1]);
}

static bool is_of_charts(const char *word, size_t n) {
    for (int id = PS_NO_ANALYSIS_OPTION + 1; id < PS_ANALYSIS_OPTIONS_END; id++) {
        const ps_analysis_option *o = ps_analysis_option_of((ps_analysis_option_id)id);
        char name[64];
        if (o->name != NULL && (o->of & PS_OF_CHARTS) != 0 && strlen(parameter(o, name)) == n &&
            memcmp(name, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* The page's form of what metadata should have said. */
static void test_the_form_asks_for_options_of_charts(void **state) {
    (void)state;
    ps_buf text = {0};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_read_file("web/src/pages/job_state.ts", 1 << 20, &text, &err), PS_OK);
    const char *at = strstr(ps_buf_str(&text), "JOB_FIELDS = [");
    assert_non_null(at);
    const char *end = strchr(at, ']');
    size_t n_fields = 0;
    for (at = strchr(at, '"'); at != NULL && at < end; n_fields++) {
        const char *close = strchr(at + 1, '"');
        if (!is_of_charts(at + 1, (size_t)(close - at - 1))) {
            fail_msg("no option of charts: %.*s", (int)(close - at), at);
        }
        at = strchr(close + 1, '"');
    }
    assert_true(n_fields >= 10);
    ps_buf_fini(&text);
}

static void test_names_are_told_apart(void **state) {
    (void)state;
    for (int id = PS_NO_ANALYSIS_OPTION + 1; id < PS_ANALYSIS_OPTIONS_END; id++) {
        const ps_analysis_option *o = ps_analysis_option_of((ps_analysis_option_id)id);
        for (int other = id + 1; o->name != NULL && other < PS_ANALYSIS_OPTIONS_END; other++) {
            const char *name = ps_analysis_option_of((ps_analysis_option_id)other)->name;
            assert_true(name == NULL || strcmp(name, o->name) != 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_option_is_a_parameter_and_in_the_key),
        cmocka_unit_test(test_what_the_program_says_is_in_the_key),
        cmocka_unit_test(test_the_form_asks_for_options_of_charts),
        cmocka_unit_test(test_names_are_told_apart),
    };
    return cmocka_run_group_tests(tests, open_options_store, close_options_store);
}
