/* Options of a recording: where a value comes from, what is refused, what a wrong one becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/ring/config.h"
#include "record/ring/config_texts.h"

static const char *const VARIABLES[] = {
#define X(name, environment, fallback, help) environment,
#include "record/ring/options.def"
#undef X
    "RANK",       "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "PADDLE_TRAINER_ID",
    "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "PADDLE_TRAINERS_NUM"};

static const char *const NAMES[] = {
#define X(name, environment, fallback, help) #name,
#include "record/ring/options.def"
#undef X
};

static int nothing_set(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++) {
        (void)unsetenv(VARIABLES[i]);
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        assert_true(ps_rec_config_set(NAMES[i], NULL));
    }
    ps_rec_option_look();
    assert_true(ps_rec_config_set("quiet", "1")); /* what is wrong here is so on purpose */
    return 0;
}

static ps_rec_config c; /* big */

static void defaults(void **state) {
    (void)state;
    char here[4096];
    char worker[512];
    char host[256] = "";
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    (void)snprintf(worker, sizeof worker, "%s_%ld", host, (long)getpid());
    ps_rec_config_read(&c);
    assert_string_equal(c.output_dir, here);
    assert_string_equal(c.worker, worker);
    assert_int_equal(c.rank, -1);
    assert_string_equal(c.rank_source, "");
    assert_int_equal(c.backend, PS_BACKEND_AUTO);
    assert_int_equal(c.level, PS_LEVEL_0);
    assert_int_equal(c.clock, -1);
    assert_false(c.record || c.keep_raw || c.follow_fork || c.has_window || c.export_text);
    assert_int_equal(c.ring_slots, 131072);
    assert_int_equal(c.max_bytes, 1 << 30);
    assert_true(c.max_disk == UINT64_C(16) << 30);
    assert_int_equal(c.exit_timeout_s, 60);
    assert_int_equal(c.nvtx_push_pop_type, 2);
}

static void set_wins_over_environment(void **state) {
    (void)state;
    (void)setenv("PIPESCOPE_OUTPUT_DIR", "/from/environment", 1);
    (void)setenv("PIPESCOPE_LEVEL", "2", 1);
    ps_rec_config_read(&c);
    assert_string_equal(c.output_dir, "/from/environment");
    assert_int_equal(c.level, PS_LEVEL_2);
    assert_true(ps_rec_config_set("output_dir", "/set"));
    assert_string_equal(ps_rec_config_text("output_dir"), "/set");
    assert_true(ps_rec_config_set("level", "none"));
    ps_rec_config_read(&c);
    assert_string_equal(c.output_dir, "/set");
    assert_int_equal(c.level, PS_LEVEL_NONE);
    assert_true(ps_rec_config_set("output_dir", NULL));
    ps_rec_config_read(&c);
    assert_string_equal(c.output_dir, "/from/environment");
    assert_false(ps_rec_config_set("no_such_option", "1"));
    assert_string_equal(ps_rec_config_text("no_such_option"), "");
    (void)setenv("PIPESCOPE_LEVEL", "", 1); /* counts as not set */
    assert_true(ps_rec_config_set("level", NULL));
    ps_rec_config_read(&c);
    assert_int_equal(c.level, PS_LEVEL_0);
}

static void a_text_stays_when_its_option_changes(void **state) {
    (void)state;
    char value[] = "first";
    assert_true(ps_rec_config_set("domain_include", value));
    const char *first = ps_rec_config_text("domain_include");
    value[0] = 'F';
    assert_true(ps_rec_config_set("domain_include", "second"));
    assert_string_equal(first, "first");
}

static void relative_folders_become_absolute(void **state) {
    (void)state;
    char here[4096];
    char wanted[4200];
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(wanted, sizeof wanted, "%s/a/b", here);
    assert_true(ps_rec_config_set("output_dir", "./a/b"));
    ps_rec_config_read(&c);
    assert_string_equal(c.output_dir, wanted);
}

static void ranks_of_launchers(void **state) {
    (void)state;
    (void)setenv("PADDLE_TRAINER_ID", "6", 1);
    (void)setenv("PADDLE_TRAINERS_NUM", "9", 1);
    ps_rec_config_read(&c);
    assert_int_equal(c.rank, 6);
    assert_int_equal(c.world_size, 9);
    (void)setenv("SLURM_PROCID", "7", 1);
    ps_rec_config_read(&c);
    assert_int_equal(c.rank, 7);
    assert_string_equal(c.rank_source, "SLURM_PROCID");
    assert_int_equal(c.world_size, 0);
    (void)setenv("SLURM_NTASKS", "8", 1);
    ps_rec_config_read(&c);
    assert_int_equal(c.world_size, 8);
    (void)setenv("OMPI_COMM_WORLD_RANK", "6", 1);
    (void)setenv("RANK", "nonsense", 1);
    ps_rec_config_read(&c);
    assert_int_equal(c.rank, 6);
    assert_string_equal(c.rank_source, "OMPI_COMM_WORLD_RANK");
    assert_int_equal(c.world_size, 0); /* that of another launcher is not its */
    (void)setenv("OMPI_COMM_WORLD_SIZE", "6", 1);
    ps_rec_config_read(&c);
    assert_int_equal(c.world_size, 0); /* rank 6 is the seventh */
    (void)setenv("OMPI_COMM_WORLD_SIZE", "7", 1);
    ps_rec_config_read(&c);
    assert_int_equal(c.world_size, 7);
    assert_true(ps_rec_config_set("rank", "0"));
    ps_rec_config_read(&c);
    assert_int_equal(c.rank, 0);
    assert_string_equal(c.rank_source, "rank");
    assert_int_equal(c.world_size, 7);
}

static void window(const char *text, bool ok, int64_t first, int64_t end) {
    assert_int_equal(ps_rec_config_takes("window", text), ok);
    assert_true(ps_rec_config_set("window", text));
    ps_rec_config_read(&c);
    assert_int_equal(c.has_window, ok);
    int64_t a = 0;
    int64_t b = 0;
    assert_int_equal(ps_rec_config_window(&a, &b), ok);
    if (ok) {
        assert_int_equal(c.window_first, first);
        assert_int_equal(c.window_end, end);
        assert_true(a == first && b == end);
    }
}

static void windows(void **state) {
    (void)state;
    window("3:5", true, 3, 5);
    window("0:1", true, 0, 1);
    window("7:", true, 7, INT64_MAX);
    window(":7", true, 0, 7);
    window("5:5", false, 0, 0);
    window("6:5", false, 0, 0);
    window("-1:5", false, 0, 0);
    window(":", false, 0, 0);
    window("5", false, 0, 0);
    window("a:b", false, 0, 0);
    window("1:2:3", false, 0, 0);
}

static void values_that_make_no_sense(void **state) {
    (void)state;
    static const char *const BAD[][2] = {
        {"backend", "gpu"},     {"level", "3"},         {"record", "maybe"},
        {"ring_slots", "10"},   {"ring_slots", "-1"},   {"max_bytes", "1"},
        {"max_bytes", "9999G"}, {"clock", "sundial"},   {"export_type", "x"},
        {"rank", "-5"},         {"rank", "1.5"},        {"exit_timeout_s", "-1"},
        {"event_pool", "0"},    {"device_id", "-1"},    {"nvtx_push_pop_type", "3"},
        {"max_disk", "1"},      {"max_disk", "much"},   {"worker", ".."},
        {"output_dir", ""},     {"cuda_graphs", "none"}};
    ps_rec_config plain;
    ps_rec_config_read(&plain);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        assert_false(ps_rec_config_takes(BAD[i][0], BAD[i][1]));
        assert_true(ps_rec_config_set(BAD[i][0], BAD[i][1]));
    }
    ps_rec_config_read(&c);
    assert_string_equal(c.output_dir, plain.output_dir);
    assert_string_equal(c.worker, plain.worker);
    assert_int_equal(c.backend, plain.backend);
    assert_int_equal(c.level, plain.level);
    assert_int_equal(c.ring_slots, plain.ring_slots);
    assert_int_equal(c.max_bytes, plain.max_bytes);
    assert_int_equal(c.max_disk, plain.max_disk);
    assert_int_equal(c.rank, -1);
    assert_int_equal(c.event_pool, plain.event_pool);
    assert_int_equal(c.exit_timeout_s, plain.exit_timeout_s);
    assert_false(c.whole_graphs);
}

static void values_in_other_words(void **state) {
    (void)state;
    assert_true(ps_rec_config_set("ring_slots", "5000"));
    assert_true(ps_rec_config_set("max_bytes", "64M"));
    assert_true(ps_rec_config_set("cuda_graphs", "whole"));
    assert_true(ps_rec_config_set("correlate", "Module, default"));
    assert_true(ps_rec_config_set("max_disk", "0"));
    assert_true(ps_rec_config_set("level", "Level1"));
    assert_true(ps_rec_config_set("keep_raw", "true"));
    assert_true(ps_rec_config_set("export_type", "text"));
    assert_true(ps_rec_config_set("worker", "node/7"));
    ps_rec_config_read(&c);
    assert_true(c.whole_graphs);
    assert_string_equal(c.correlate, "Module, default");
    assert_int_equal(c.ring_slots, 8192);
    assert_int_equal(c.max_bytes, 64 << 20);
    assert_int_equal(c.max_disk, 0);
    assert_int_equal(c.level, PS_LEVEL_1);
    assert_true(c.keep_raw && c.export_text);
    assert_string_equal(c.worker, "node_7");
}

static void json_of_what_differs(void **state) {
    (void)state;
    ps_buf b;
    ps_buf_init(&b, 0);
    ps_rec_config_json(&b);
    assert_string_equal(ps_buf_str(&b), "{\"quiet\": \"1\"}");
    ps_buf_clear(&b);
    assert_true(ps_rec_config_set("worker", "a\"b"));
    ps_rec_config_json(&b);
    assert_string_equal(ps_buf_str(&b), "{\"worker\": \"a\\\"b\", \"quiet\": \"1\"}");
    ps_buf_fini(&b);
}

/* Steps ask for the window each time: the environment, which the program may be changing, is not looked at then. */
static void environment_is_looked_at_where_a_recording_begins(void **state) {
    (void)state;
    int64_t first = 0;
    int64_t end = 0;
    ps_rec_config_read(&c);
    assert_int_equal(setenv("PIPESCOPE_WINDOW", "2:4", 1), 0);
    assert_false(ps_rec_config_window(&first, &end));
    ps_rec_config_read(&c);
    assert_true(ps_rec_config_window(&first, &end));
    assert_int_equal(unsetenv("PIPESCOPE_WINDOW"), 0);
    assert_true(ps_rec_config_window(&first, &end));
    assert_int_equal(first, 2);
    assert_int_equal(end, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults, nothing_set),
        cmocka_unit_test_setup(set_wins_over_environment, nothing_set),
        cmocka_unit_test_setup(a_text_stays_when_its_option_changes, nothing_set),
        cmocka_unit_test_setup(relative_folders_become_absolute, nothing_set),
        cmocka_unit_test_setup(ranks_of_launchers, nothing_set),
        cmocka_unit_test_setup(windows, nothing_set),
        cmocka_unit_test_setup(values_that_make_no_sense, nothing_set),
        cmocka_unit_test_setup(values_in_other_words, nothing_set),
        cmocka_unit_test_setup(json_of_what_differs, nothing_set),
        cmocka_unit_test_setup(environment_is_looked_at_where_a_recording_begins, nothing_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
