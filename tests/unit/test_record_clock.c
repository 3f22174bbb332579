/* What recordings keep besides events: offsets of clocks, what the recorder costs, the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "pipescope/record.h"
#include "record/export/clock_offsets.h"
#include "support/record_child.h"
#include "support/record_slots.h"
#include "support/scratch.h"

#define NEED RECORD_CHILD_NEED

static const char *const dir = scratch_dir;

static void run(void (*body)(void)) {
    record_child_exits(record_child_start(dir, body), 0);
}

static long long ask(size_t folder, const char *sql) {
    return record_child_query(dir, folder, sql);
}

static long long meta_like(size_t folder, const char *name, const char *pattern) {
    char sql[512];
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM META_DATA WHERE name = '%s' AND value LIKE '%s'", name,
                   pattern);
    return ask(folder, sql);
}

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void work(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        ps_record_range_end(ps_record_range_start(NULL, "work", NULL));
    }
}

/* --- offsets while recording ---------------------------------------------------------------------------------------- */

static void measure_before_and_after(void) {
    NEED(ps_record_clock_offset(0, now_ns() - 5000000, 1000, 50, NULL) == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    work(3);
    NEED(ps_record_clock_offset(0, 0, 3000, 70, "exchange") == PS_RECORD_OK);
    NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_OK);
    /* The next recording has them too. */
    NEED(ps_record_start() == PS_RECORD_OK);
    work(1);
}

static void test_offsets(void **state) {
    (void)state;
    run(measure_before_and_after);
    for (size_t folder = 0; folder < 2; folder++) {
        assert_int_equal(
            meta_like(folder, "collector.clock",
                      "{%\"kernel\":%\"method\":\"exchange\",\"reference\":0,%\"readings\":2,"
                      "\"drift_ppm\":%"),
            1);
        assert_int_equal(
            ask(folder, "SELECT count(*) FROM PIPESCOPE_CLOCK_ANCHOR WHERE kind = 'sync'"), 2);
        /* Within what the two clocks of this machine are read apart. */
        assert_int_equal(ask(folder,
                             "SELECT count(*) FROM PIPESCOPE_CLOCK_ANCHOR WHERE kind = 'sync' AND "
                             "deviceId = 0 AND hostNs - otherNs BETWEEN -99000 AND 103000"),
                         2);
        assert_int_equal(ask(folder, "SELECT min(uncertaintyNs) * 1000 + max(uncertaintyNs) FROM "
                                     "PIPESCOPE_CLOCK_ANCHOR WHERE kind = 'sync'"),
                         50070);
    }
}

static void give_nonsense(void) {
    const int64_t day_ns = INT64_C(86400) * 1000000000;
    NEED(ps_record_clock_offset(-1, 0, 0, 0, NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, 0, 0, -1, NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, 0, INT64_MAX, 0, NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, 0, INT64_MIN, 0, NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, 1, 0, 0, NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, INT64_MIN, 0, 0, NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, now_ns() + 2 * day_ns, 0, 0, NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, 0, 0, 0, "") == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, 0, 0, 0, "by \"hand\"") == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_clock_offset(0, 0, 0, 0, "a-method-of-more-than-31-characters") ==
         PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_start() == PS_RECORD_OK);
    work(1);
}

static void test_nonsense(void **state) {
    (void)state;
    run(give_nonsense);
    assert_int_equal(meta_like(0, "collector.clock", "%\"method\"%"), 0);
    assert_int_equal(ask(0, "SELECT count(*) FROM PIPESCOPE_CLOCK_ANCHOR WHERE kind = 'sync'"), 0);
}

/* The first one stays, and the last ones. */
static void measure_often(void) {
    int64_t begun = now_ns() - INT64_C(1000000000);
    for (int i = 0; i < 200; i++) {
        NEED(ps_record_clock_offset(0, begun + i * 1000000, i, 10, NULL) == PS_RECORD_OK);
    }
    NEED(ps_record_start() == PS_RECORD_OK);
    work(1);
}

static void test_many_readings(void **state) {
    (void)state;
    run(measure_often);
    assert_int_equal(ask(0, "SELECT count(*) FROM PIPESCOPE_CLOCK_ANCHOR WHERE kind = 'sync'"), 64);
    assert_int_equal(ask(0, "SELECT (max(hostNs) - min(hostNs) + 500000) / 1000000 FROM "
                            "PIPESCOPE_CLOCK_ANCHOR WHERE kind = 'sync'"),
                     199);
}

static void die_after_measuring(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    work(1);
    NEED(ps_record_clock_offset(2, 0, 77, 5, "ptp") == PS_RECORD_OK);
    _exit(0);
}

/* It is in the ring when the call returns, like any event. */
static void test_death(void **state) {
    (void)state;
    run(die_after_measuring);
    char raw[256];
    ps_capture *c = NULL;
    ps_clock_reading *readings = NULL;
    size_t n = 0;
    assert_true(record_child_folder(dir, raw, sizeof raw));
    assert_int_equal(ps_capture_read(raw, &c, NULL), PS_OK);
    assert_int_equal(ps_clock_offsets_read(c, &readings, &n, NULL), PS_OK);
    assert_int_equal(n, 1);
    assert_int_equal(readings[0].reference, 2);
    assert_string_equal(readings[0].method, "ptp");
    assert_int_equal(readings[0].uncertainty_ns, 5);
    ps_free(readings);
    ps_capture_free(c);
}

/* --- the line -------------------------------------------------------------------------------------------------------- */

static ps_clock_reading at(int64_t at_ms, int64_t offset_ns, int64_t uncertainty_ns) {
    return (ps_clock_reading){.at_ns = SLOTS_BASE + at_ms * 1000000,
                              .offset_ns = offset_ns,
                              .uncertainty_ns = uncertainty_ns,
                              .method = "exchange"};
}

static void test_line(void **state) {
    (void)state;
    const ps_clock_reading one = at(5, -300, 40);
    ps_clock_offset_line line = ps_clock_offsets_fit(&one, 1);
    assert_false(line.has_drift);
    assert_int_equal(line.offset_ns, -300);
    assert_int_equal(line.uncertainty_ns, 40);
    assert_int_equal(line.at_ns, one.at_ns);

    /* 20 us in 2 s are 10 ppm; equal weights meet in the middle. */
    const ps_clock_reading two[] = {at(0, 1000, 100), at(2000, 21000, 100)};
    line = ps_clock_offsets_fit(two, 2);
    assert_true(line.has_drift);
    assert_int_equal(line.offset_ns, 11000);
    assert_int_equal(line.at_ns - SLOTS_BASE, 1000000000);
    assert_int_equal(line.to_ns - line.from_ns, 2000000000);
    assert_true(line.drift_ppm > 9.999999 && line.drift_ppm < 10.000001);
    assert_true(line.drift_uncertainty_ppm > 0.0999 && line.drift_uncertainty_ppm < 0.1001);
    assert_int_equal(line.uncertainty_ns, 100);

    /* One that lies beside the line makes it less certain. */
    const ps_clock_reading three[] = {at(0, 0, 100), at(1000, 3000, 100), at(2000, 0, 100)};
    line = ps_clock_offsets_fit(three, 3);
    assert_int_equal(line.offset_ns, 1000);
    assert_int_equal(line.uncertainty_ns, 2100);
    /* Both ends miss it by 1000, so its slope, too: 2 * 1100 in 2 s. */
    assert_true(line.drift_uncertainty_ppm > 1.0999 && line.drift_uncertainty_ppm < 1.1001);

    /* Exact ones, as of one machine; ones at almost the same moment; a clock that was set in between. */
    const ps_clock_reading exact[] = {at(0, 0, 0), at(1000, 0, 0)};
    line = ps_clock_offsets_fit(exact, 2);
    assert_int_equal(line.offset_ns, 0);
    assert_int_equal(line.uncertainty_ns, 0);
    ps_clock_reading close[] = {at(0, 0, 100), at(0, 60, 100)};
    close[1].at_ns += 1000;
    line = ps_clock_offsets_fit(close, 2);
    assert_false(line.has_drift);
    assert_int_equal(line.offset_ns, 30);
    assert_int_equal(line.uncertainty_ns, 130);
    const ps_clock_reading set[] = {at(0, 0, 10), at(1000, 500000000, 10)};
    line = ps_clock_offsets_fit(set, 2);
    assert_false(line.has_drift);
    assert_int_equal(line.uncertainty_ns, 250000010);
}

/* Of raw files that may be damaged: what is no reading, twice the same, another reference; a wall clock that was set by 40 ns
 * since the recording began, whose times go on as if it had not. */
static void test_raw_readings(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        "{",
        "{\"reference\": 0, \"unix_ns\": 7, \"mono_ns\": 9000, \"offset_ns\": 1}",
        "{\"reference\": 9, \"unix_ns\": 1000000000000009000, \"mono_ns\": 9000, \"offset_ns\": 1, "
        "\"uncertainty_ns\": 2, \"method\": \"x\"}",
        "{\"reference\": 0, \"unix_ns\": 1000000000000005040, \"mono_ns\": 5000, \"offset_ns\": "
        "540, \"uncertainty_ns\": 2, \"method\": \"exchange\"}",
        "{\"reference\": 0, \"unix_ns\": 1000000000000003000, \"mono_ns\": 3000, \"offset_ns\": "
        "300, \"uncertainty_ns\": 2, \"method\": \"exchange\"}",
        "{\"reference\": 0, \"unix_ns\": 1000000000000003000, \"mono_ns\": 3000, \"offset_ns\": "
        "300, \"uncertainty_ns\": 2, \"method\": \"exchange\"}",
        "{\"reference\": 0, \"unix_ns\": 1000000000000007000, \"mono_ns\": 7000, \"offset_ns\": "
        "700, \"uncertainty_ns\": 2, \"method\": \"a\\\",\\\"b\"}",
        "{\"reference\": 0, \"unix_ns\": 1000000000000008000, \"mono_ns\": 8000, \"offset_ns\": "
        "800, \"uncertainty_ns\": 2, \"method\": \"\"}"};
    made_recording r;
    recording_begin(&r, 1);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        put_pair(&r, PS_REC_INFO, 0, "clock_offset", TEXTS[i]);
    }
    put_thread(&r, 1, 5, "main");
    put_event(&r, 1, PS_REC_MARK, 2000, 1, 0, 0, 0);
    spool_all(&r);
    ps_capture *c = NULL;
    assert_int_equal(ps_capture_read_memory(r.spool, r.spool_bytes, &c, NULL), PS_OK);
    ps_clock_reading *readings = NULL;
    size_t n = 0;
    assert_int_equal(ps_clock_offsets_read(c, &readings, &n, NULL), PS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(readings[0].at_ns - SLOTS_BASE, 3000);
    assert_int_equal(readings[0].offset_ns, 300);
    assert_int_equal(readings[1].at_ns - SLOTS_BASE, 5000);
    assert_int_equal(readings[1].offset_ns, 500);
    ps_free(readings);
    ps_buf out;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_clock_offsets_describe(c, 12, "{\"ptp\":false}", &out, NULL), PS_OK);
    assert_non_null(
        strstr(ps_buf_str(&out), "{\"ptp\":false,\"method\":\"exchange\",\"reference\":0,"));
    assert_non_null(strstr(ps_buf_str(&out), ",\"drift_ppm\":null,\"machine\":\"12\"}"));
    ps_buf_clear(&out);
    assert_int_equal(ps_clock_offsets_describe(c, 12, "{}", &out, NULL), PS_OK);
    assert_int_equal(strncmp(ps_buf_str(&out), "{\"method\"", 9), 0);
    ps_buf_fini(&out);
    ps_capture_free(c);
    recording_end(&r);
}

/* --- what the recorder costs ----------------------------------------------------------------------------------------- */

static void record_for_a_while(void) {
    NEED(ps_record_set("domain_exclude", "default") == PS_RECORD_OK); /* measured all the same */
    NEED(ps_record_start() == PS_RECORD_OK);
    for (int i = 0; i < 100; i++) {
        ps_record_mark(ps_record_domain_named("other"), "m", NULL);
        (void)usleep(1000);
    }
    ps_record_stats stats = {.size = sizeof stats};
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK);
    NEED(stats.n_ranges == 0 && stats.n_marks == 100); /* nothing of it is counted */
    NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    ps_record_mark(ps_record_domain_named("other"), "m", NULL);
}

static void test_self_test(void **state) {
    (void)state;
    run(record_for_a_while);
    for (size_t folder = 0; folder < 2; folder++) {
        assert_int_equal(meta_like(folder, "collector.overhead_self_test",
                                   "{\"range_ns\": %, \"mark_ns\": %, \"clock_ns\": %, "
                                   "\"batches\": %}"),
                         1);
        assert_int_equal(ask(folder, "SELECT count(*) FROM STRING_IDS WHERE value LIKE "
                                     "'%overhead_self_test%'"),
                         0);
    }
    assert_int_equal(ask(1, "SELECT min(rangeId) FROM MSTX_EVENTS"),
                     ask(0, "SELECT min(rangeId) FROM MSTX_EVENTS"));
}

/* --- programs with another decimal point ------------------------------------------------------------------------------ */

static char locales[SCRATCH_BYTES];

static void record_in_german(void) {
    NEED(setenv("LOCPATH", locales, 1) == 0);
    NEED(setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL);
    char number[8];
    NEED(snprintf(number, sizeof number, "%.1f", 0.5) == 3 && number[1] == ',');
    NEED(ps_record_clock_offset(0, now_ns() - 2000000000, 1000, 50, NULL) == PS_RECORD_OK);
    NEED(ps_record_clock_offset(0, 0, -19000, 50, NULL) == PS_RECORD_OK); /* -10 ppm */
    NEED(ps_record_start() == PS_RECORD_OK);
    for (int i = 0; i < 100; i++) {
        work(1);
        (void)usleep(1000);
    }
}

/* Made here, since few machines have one. */
static bool make_locale(void) {
    char path[SCRATCH_BYTES + 16];
    (void)snprintf(path, sizeof path, "%s/de_DE.UTF-8", locales);
    char *const command[] = {"localedef", "-c", "-i", "de_DE", "-f", "UTF-8", path, NULL};
    char *const no_variables[] = {"PATH=/usr/bin:/bin", NULL};
    posix_spawn_file_actions_t quiet;
    (void)posix_spawn_file_actions_init(&quiet);
    (void)posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", 1, 0);
    pid_t pid = 0;
    int status = -1;
    bool ran = posix_spawnp(&pid, command[0], &quiet, NULL, command, no_variables) == 0 &&
               waitpid(pid, &status, 0) == pid;
    (void)posix_spawn_file_actions_destroy(&quiet);
    (void)strcat(path, "/LC_NUMERIC");
    return ran && access(path, R_OK) == 0;
}

static void test_decimal_comma(void **state) {
    (void)state;
    scratch_make(locales, sizeof locales);
    bool has_locale = make_locale();
    if (has_locale) {
        run(record_in_german);
    }
    scratch_remove(locales);
    if (!has_locale) {
        skip();
    }
    assert_int_equal(
        ask(0,
            "SELECT count(*) FROM META_DATA WHERE name LIKE 'collector.%' AND NOT json_valid(value) AND value LIKE '{%'"),
        0);
    assert_int_equal(meta_like(0, "collector.overhead_self_test", "{%.%}"), 1);
    assert_int_equal(meta_like(0, "collector.clock", "%\"frequency_ppm\":%.___,\"method\"%"), 1);
    assert_int_equal(
        meta_like(0, "collector.clock",
                  "%\"drift_ppm\":-%.______,\"drift_uncertainty_ppm\":%.______,\"machine\"%"),
        1);
}

/* --- the environment ------------------------------------------------------------------------------------------------- */

static void record_environment(void) {
    char name[64];
    char value[3000];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    NEED(setenv("NCCL_DEBUG", "INFO \"all\"\n", 1) == 0 && setenv("WORLD_SIZE", "8", 1) == 0);
    NEED(setenv("NCCL_API_TOKEN", "secret1", 1) == 0 && setenv("HOME", "/secret2", 1) == 0);
    NEED(setenv("NCCL_SSH_KEY", "secret3", 1) == 0 && setenv("WORLD_SIZE_OF", "secret4", 1) == 0);
    NEED(setenv("TORCH_PROXY", "http://me:secret5@host:1", 1) == 0);
    NEED(setenv("FLAGS_store_password", "secret6", 1) == 0); /* Paddle's are small letters */
    NEED(setenv("UCX_APIKEY", "secret7", 1) == 0 && setenv("FLAGS_db_pwd", "secret8", 1) == 0);
    NEED(setenv("MEGATRON_ARGS", "--lr 1 --wandb-api-key secret9", 1) == 0);
    NEED(setenv("TORCH_STORE", "host=a;Password=secret10", 1) == 0);
    NEED(setenv("MEGATRON_MORE", "--tokenizer=bpe --max-tokens=5", 1) == 0);
    NEED(setenv("TASK_QUEUE_ENABLE", "2", 1) == 0 && setenv("NCCL_LONG", value, 1) == 0);
    for (int i = 0; i < 40; i++) { /* more than a record holds */
        (void)snprintf(name, sizeof name, "OMP_VARIABLE_%d", i);
        NEED(setenv(name, "0123456789012345678901234567890123456789\001\002", 1) == 0);
    }
    NEED(ps_record_start() == PS_RECORD_OK);
    work(1);
}

static void test_environment(void **state) {
    (void)state;
    run(record_environment);
#define VARIABLE(name)                                                                             \
    "(SELECT json_extract(value, '$." name "') FROM META_DATA WHERE name = 'ENV_VARIABLES')"
    assert_int_equal(ask(0, "SELECT json_valid(value) FROM META_DATA WHERE name = 'ENV_VARIABLES'"),
                     1);
    assert_int_equal(ask(0, "SELECT " VARIABLE("WORLD_SIZE") " = '8'"), 1);
    assert_int_equal(ask(0, "SELECT " VARIABLE("TASK_QUEUE_ENABLE") " = '2'"), 1);
    assert_int_equal(ask(0, "SELECT " VARIABLE("NCCL_DEBUG") " = 'INFO \"all\"' || char(10)"), 1);
    assert_int_equal(ask(0, "SELECT length(" VARIABLE("NCCL_LONG") ") < 1100"), 1);
    assert_int_equal(ask(0, "SELECT " VARIABLE("NCCL_LONG") " LIKE '%(2999 bytes)'"), 1);
    assert_int_equal(ask(0, "SELECT count(*) FROM META_DATA m, json_each(m.value) j WHERE m.name = "
                            "'ENV_VARIABLES' AND j.key LIKE 'OMP_VARIABLE%'"),
                     40);
    assert_int_equal(meta_like(0, "ENV_VARIABLES", "%secret%"), 0);
    assert_int_equal(ask(0, "SELECT " VARIABLE("TORCH_PROXY") " LIKE '(left out: %'"), 1);
    assert_int_equal(ask(0, "SELECT " VARIABLE("MEGATRON_ARGS") " LIKE '(left out: %'"), 1);
    assert_int_equal(ask(0, "SELECT " VARIABLE("TORCH_STORE") " LIKE '(left out: %'"), 1);
    assert_int_equal(
        ask(0, "SELECT " VARIABLE("MEGATRON_MORE") " = '--tokenizer=bpe --max-tokens=5'"), 1);
    assert_int_equal(meta_like(0, "ENV_VARIABLES", "%HOME%"), 0);
}

static void say_it_oneself(void) {
    NEED(setenv("WORLD_SIZE", "8", 1) == 0);
    NEED(ps_record_add_metadata("ENV_VARIABLES", "{\"OWN\": \"1\"}") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    work(1);
}

static void test_environment_of_the_program(void **state) {
    (void)state;
    run(say_it_oneself);
    assert_int_equal(meta_like(0, "ENV_VARIABLES", "{\"OWN\": \"1\"}"), 1);
    assert_int_equal(ask(0, "SELECT count(*) FROM META_DATA WHERE name = 'ENV_VARIABLES'"), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_offsets),
        TEST(test_nonsense),
        TEST(test_many_readings),
        TEST(test_death),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_raw_readings),
        TEST(test_self_test),
        TEST(test_environment),
        TEST(test_environment_of_the_program),
        TEST(test_decimal_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
