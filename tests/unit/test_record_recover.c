/* Finding what processes left when they died, and making databases of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "record/export/recover.h"
#include "support/record_slots.h"
#include "support/scratch.h"

static const char *const dir = scratch_dir;

static void below(char *out, size_t size, const char *name) {
    (void)snprintf(out, size, "%s/%s", dir, name);
}

static bool is_there(const char *name) {
    char path[512];
    struct stat st;
    below(path, sizeof path, name);
    return stat(path, &st) == 0;
}

static void put_folder(made_recording *r, const char *name) {
    char path[512];
    below(path, sizeof path, name);
    put_text(r, 1, 1, "range");
    put_event(r, 1, PS_REC_RANGE_START, 2000, 1, 1, 1, 0);
    put_event(r, 1, PS_REC_RANGE_END, 2100, 1, 0, 0, 0);
    put_event(r, 1, PS_REC_RANGE_START, 2200, 2, 1, 1, 0);
    put_pair(r, PS_REC_INFO, 0, "session", "{\"launch\": \"job 1\"}");
    write_recording(r, path);
}

static void make_folder(const char *name, int rank) {
    made_recording r;
    recording_begin(&r, rank);
    put_folder(&r, name);
    recording_end(&r);
}

static size_t find(ps_arena *arena, ps_raw_folder **out) {
    size_t n = 0;
    ps_arena_init(arena);
    assert_int_equal(ps_recover_find(dir, arena, out, &n, NULL), PS_OK);
    return n;
}

static void test_folders(void **state) {
    (void)state;
    ps_arena arena;
    ps_raw_folder *f = NULL;
    ps_export_result result;
    make_folder("b_2_ascend_pt", 1);
    make_folder("a_1_ascend_pt", 0);
    make_folder("no_output_folder", 2);
    assert_int_equal(find(&arena, &f), 2);
    assert_string_equal(ps_path_base(f[0].profile_dir), "a_1_ascend_pt");
    assert_int_equal(f[0].pid, 4242);
    assert_int_equal(f[1].rank, 1);
    assert_string_equal(f[1].launch, "job 1");
    assert_false(f[0].running);
    assert_int_equal(ps_recover_folder(&f[0], NULL, &result, NULL), PS_OK);
    assert_int_equal(result.n_ranges, 1);
    assert_int_equal(result.n_open, 1);
    assert_true(is_there("a_1_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"));
    assert_true(is_there("a_1_ascend_pt/profiler_info_0.json"));
    assert_false(is_there("a_1_ascend_pt/FRAMEWORK"));
    const ps_export_options keep = {.keep_raw = true, .nvtx_push_pop_type = 2};
    assert_int_equal(ps_recover_folder(&f[1], &keep, &result, NULL), PS_OK);
    assert_true(is_there("b_2_ascend_pt/FRAMEWORK/events.spool"));
    ps_arena_fini(&arena);
    assert_int_equal(find(&arena, &f), 1); /* one is left; once more gives the same */
    assert_int_equal(ps_recover_folder(&f[0], NULL, &result, NULL), PS_OK);
    assert_false(is_there("b_2_ascend_pt/FRAMEWORK"));
    ps_arena_fini(&arena);
    assert_int_equal(find(&arena, &f), 0);
    ps_arena_fini(&arena);
}

/* Killed before its first event: no damage, and nothing to keep. */
static void test_nothing_recorded(void **state) {
    (void)state;
    ps_arena arena;
    ps_raw_folder *f = NULL;
    ps_export_result result;
    char path[512];
    char logs[512];
    made_recording r;
    recording_begin(&r, 0);
    below(path, sizeof path, "a_1_ascend_pt");
    write_recording(&r, path);
    below(logs, sizeof logs, "a_1_ascend_pt/logs");
    assert_int_equal(mkdir(logs, 0750), 0);
    ps_ring_header half = {.format = PS_RECORD_FORMAT, .number = 3}; /* its magic was to come */
    below(path, sizeof path, "a_1_ascend_pt/FRAMEWORK/3.ring");
    assert_int_equal(ps_write_file(path, &half, sizeof half, NULL), PS_OK);
    assert_int_equal(truncate(path, PS_RING_HEADER_BYTES), 0);
    below(path, sizeof path, "b_2_ascend_pt");
    write_recording(&r, path);
    recording_end(&r);
    below(path, sizeof path, "b_2_ascend_pt/FRAMEWORK/events.spool");
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(find(&arena, &f), 2);
    assert_int_equal(ps_recover_folder(&f[0], NULL, &result, NULL), PS_NOTHING);
    assert_false(is_there("a_1_ascend_pt"));
    assert_int_equal(ps_recover_folder(&f[1], NULL, &result, NULL), PS_NOTHING);
    assert_false(is_there("b_2_ascend_pt"));
    ps_arena_fini(&arena);
}

/* The folder itself may be named. */
static void test_one_folder(void **state) {
    (void)state;
    ps_arena arena;
    ps_raw_folder *f = NULL;
    size_t n = 0;
    char path[512];
    make_folder("a_1_ascend_pt", 0);
    below(path, sizeof path, "a_1_ascend_pt");
    ps_arena_init(&arena);
    assert_int_equal(ps_recover_find(path, &arena, &f, &n, NULL), PS_OK);
    assert_int_equal(n, 1);
    assert_string_equal(f[0].profile_dir, path);
    assert_int_equal(ps_recover_find("/nowhere/at/all", &arena, &f, &n, NULL), PS_NOT_FOUND);
    ps_arena_fini(&arena);
}

/* What it was told while it recorded. */
static void test_options(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_pair(&r, PS_REC_INFO, 0, "session",
             "{\"config\": {\"export_type\": \"db,text\", \"keep_raw\": \"1\"}}");
    r.header.pid = 0;
    char path[512];
    below(path, sizeof path, "a_1_ascend_pt");
    put_event(&r, 1, PS_REC_MARK, 2000, 1, 0, 0, 0);
    write_recording(&r, path);
    recording_end(&r);
    ps_arena arena;
    ps_raw_folder *f = NULL;
    ps_export_result result;
    assert_int_equal(find(&arena, &f), 1);
    assert_int_equal(ps_recover_folder(&f[0], NULL, &result, NULL), PS_OK);
    assert_true(is_there("a_1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"));
    assert_false(is_there("a_1_ascend_pt/FRAMEWORK")); /* keeping is for who recovers to say */
    ps_arena_fini(&arena);
}

/* Of this process, which is alive; of one of the same number that began long after the recording; of another boot. */
static void test_running(void **state) {
    (void)state;
    char boot_id[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f == NULL || fgets(boot_id, sizeof boot_id, f) == NULL) {
        skip();
    }
    (void)fclose(f);
    boot_id[strcspn(boot_id, "\n")] = '\0';
    struct timespec now;
    struct timespec up;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)clock_gettime(CLOCK_MONOTONIC, &up);
    if (up.tv_sec < 60) {
        skip(); /* nothing can have been recorded long before this process began */
    }
    const struct {
        int64_t real_s, mono_s;
        bool same_boot, running;
    } cases[] = {{now.tv_sec, up.tv_sec, true, true},
                 {now.tv_sec - up.tv_sec + 1, 1, true, false}, /* its number was given out anew */
                 {now.tv_sec, up.tv_sec, false, false},
                 {now.tv_sec - 3600, up.tv_sec, true, true}}; /* the wall clock was set */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        made_recording r;
        char name[32];
        recording_begin(&r, (int)i);
        r.header.pid = (uint32_t)getpid();
        (void)snprintf(r.header.boot_id, sizeof r.header.boot_id, "%.39s",
                       cases[i].same_boot ? boot_id : "another");
        memcpy(r.spool, &r.header, sizeof r.header);
        r.rings[0].slots[0].id = (uint64_t)cases[i].real_s * 1000000000u;
        r.rings[0].slots[0].aux = (uint64_t)cases[i].mono_s * 1000000000u;
        (void)snprintf(name, sizeof name, "%zu_ascend_pt", i);
        put_folder(&r, name);
        recording_end(&r);
    }
    ps_arena arena;
    ps_raw_folder *found = NULL;
    ps_export_result result;
    assert_int_equal(find(&arena, &found), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(found[i].running, cases[i].running);
    }
    assert_int_equal(ps_recover_folder(&found[0], NULL, &result, NULL), PS_BUSY);
    assert_true(is_there("0_ascend_pt/FRAMEWORK/events.spool"));
    ps_arena_fini(&arena);
}

/* A process that cannot be seen from here (another container) has its file locked. */
static void test_locked(void **state) {
    (void)state;
    char path[512];
    int ready[2];
    int end[2];
    made_recording r;
    recording_begin(&r, 0);
    put_folder(&r, "a_ascend_pt");
    recording_end(&r);
    below(path, sizeof path, "a_ascend_pt/FRAMEWORK/events.spool");
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_WRONLY);
        (void)close(end[1]);
        bool ok = fd >= 0 && fcntl(fd, F_SETLK, &whole) == 0 && write(ready[1], "r", 1) == 1 &&
                  read(end[0], &byte, 1) == 0;
        _exit(ok ? 0 : 1);
    }
    assert_true(child > 0);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    ps_arena arena;
    ps_raw_folder *found = NULL;
    assert_int_equal(find(&arena, &found), 1);
    assert_true(found[0].running);
    ps_arena_fini(&arena);
    (void)close(end[1]);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(find(&arena, &found), 1);
    assert_false(found[0].running);
    ps_arena_fini(&arena);
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)close(end[0]);
}

/* What can be had is had; the raw files stay, and the database says what was damaged. */
static void test_damaged(void **state) {
    (void)state;
    char path[512];
    made_recording r;
    recording_begin(&r, 0);
    put_event(&r, 2, PS_REC_MARK, 2050, 9, 0, 0, 0);
    put_folder(&r, "a_1_ascend_pt");
    recording_end(&r);
    below(path, sizeof path, "a_1_ascend_pt/FRAMEWORK/2.ring");
    assert_int_equal(truncate(path, 100), 0);
    make_folder("b_2_ascend_pt", 1);
    below(path, sizeof path, "b_2_ascend_pt/FRAMEWORK/events.spool");
    assert_int_equal(truncate(path, 10), 0); /* the rings are enough */
    make_folder("c_3_ascend_pt", 2);
    below(path, sizeof path, "c_3_ascend_pt/FRAMEWORK");
    char command[1200];
    (void)snprintf(command, sizeof command,
                   "cd '%s' && rm 1.ring && : > 0.ring && echo nothing > events.spool", path);
    assert_int_equal(system(command), 0);
    ps_arena arena;
    ps_raw_folder *f = NULL;
    ps_export_result result;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(find(&arena, &f), 3);
    assert_int_equal(ps_recover_folder(&f[0], NULL, &result, &err), PS_OK);
    assert_int_equal(result.n_ranges, 1);
    assert_true(result.damaged_bytes > 0);
    assert_non_null(strstr(result.damage, "2.ring"));
    assert_true(is_there("a_1_ascend_pt/FRAMEWORK/events.spool"));
    assert_int_equal(ps_recover_folder(&f[1], NULL, &result, &err), PS_OK);
    assert_int_equal(result.n_ranges, 1);
    assert_non_null(strstr(result.damage, "events.spool, byte 0"));
    assert_int_equal(ps_recover_folder(&f[2], NULL, &result, &err), PS_SYNTAX);
    assert_non_null(strstr(err.msg, "events.spool"));
    ps_arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folders, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_recorded, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_one_folder, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_options, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_running, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_locked, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_damaged, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests_name("record_recover", tests, NULL, NULL);
}
