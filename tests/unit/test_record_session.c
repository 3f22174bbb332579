/* Recordings one after the other: codes of calls in any order, folders, memory instead of files, windows, metadata. Each
 * test is a child of its own, so that nothing of another one is left in the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipescope/record.h"
#include "record/ring/memory.h"
#include "support/record_child.h"
#include "support/scratch.h"

#define NEED RECORD_CHILD_NEED

static const char *const dir = scratch_dir;

static void run(void (*body)(void)) {
    record_child_exits(record_child_start(dir, body), 0);
}

static void ranges(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        uint64_t range = ps_record_range_start(NULL, "work", PS_RECORD_HOST_STREAM);
        NEED(range != 0);
        ps_record_range_end(range);
    }
}

static uint64_t n_ranges(void) {
    ps_record_stats stats = {.size = sizeof stats};
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK);
    return stats.n_ranges;
}

static bool has_folder(char *out, uint32_t size) {
    return ps_record_directory(out, size) > 0 && access(out, F_OK) == 0;
}

static long long rows(size_t folder, const char *where) {
    char sql[512];
    (void)snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM MSTX_EVENTS m JOIN STRING_IDS s ON s.id = m.message WHERE %s", where);
    return record_child_query(dir, folder, sql);
}

/* --- codes ----------------------------------------------------------------------------------------------------------- */

static void call_in_any_order(void) {
    char folder[4096] = "x";
    ps_record_stats stats = {.size = sizeof stats};
    ps_record_stats old = {.size = 16};
    NEED(ps_record_stop() == PS_RECORD_WRONG_TIME);
    NEED(ps_record_export(NULL) == PS_RECORD_NOTHING);
    NEED(ps_record_discard() == PS_RECORD_NOTHING);
    NEED(ps_record_step_end() == PS_RECORD_WRONG_TIME);
    NEED(ps_record_get_stats(NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK && stats.recording == 0);
    NEED(ps_record_get_stats(&old) == PS_RECORD_OK && old.size == 16);
    NEED(ps_record_directory(folder, sizeof folder) == 0 && folder[0] == '\0');
    NEED(ps_record_range_start(NULL, "x", NULL) == 0 &&
         ps_record_range_push(NULL, "x", NULL) == -1);
    NEED(ps_record_enabled() == 0);

    NEED(ps_record_start() == PS_RECORD_OK && ps_record_enabled() == 1);
    NEED(ps_record_start() == PS_RECORD_WRONG_TIME);
    NEED(ps_record_warmup() == PS_RECORD_WRONG_TIME);
    NEED(ps_record_export(NULL) == PS_RECORD_WRONG_TIME);
    NEED(ps_record_directory(NULL, 0) == 0);
    NEED(ps_record_stop() == PS_RECORD_OK);
    NEED(ps_record_stop() == PS_RECORD_WRONG_TIME);
    NEED(ps_record_export(NULL) == PS_RECORD_NOTHING);

    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(3);
    NEED(has_folder(folder, sizeof folder));
    NEED(ps_record_directory(folder, 5) > 5 && strlen(folder) == 4);
    NEED(ps_record_discard() == PS_RECORD_OK);
    NEED(ps_record_export(NULL) == PS_RECORD_NOTHING);

    for (int code = -7; code < 2; code++) {
        NEED(ps_record_error_text(code)[0] != '\0');
    }
    NEED(ps_record_set("no_such", "1") == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_set("level", "7") == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_set(NULL, "7") == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_set("level", "1") == PS_RECORD_OK);
    NEED(ps_record_set("level", NULL) == PS_RECORD_OK);
}

static void calls_in_any_order(void **state) {
    (void)state;
    run(call_in_any_order);
    assert_int_equal(record_child_n_folders(dir), 0);
}

static void record_nothing(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    NEED(ps_record_add_metadata("key", "1") == PS_RECORD_OK);
}

static void nothing_leaves_nothing(void **state) {
    (void)state;
    run(record_nothing);
    assert_int_equal(record_child_n_folders(dir), 0);
}

/* --- one and several ------------------------------------------------------------------------------------------------- */

static void record_one(void) {
    char folder[4096];
    struct stat st;
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(10);
    ps_record_mark(NULL, "mark", NULL);
    NEED(has_folder(folder, sizeof folder) && folder[0] == '/');
    NEED(stat(folder, &st) == 0 && (st.st_mode & 0777 & ~0750u) == 0);
    NEED(ps_record_stop() == PS_RECORD_OK);
    NEED(n_ranges() == 10);
    NEED(ps_record_export(NULL) == PS_RECORD_OK);
    NEED(n_ranges() == 10); /* of the last one */
    NEED(has_folder(folder, sizeof folder));
    NEED(ps_record_export(NULL) == PS_RECORD_NOTHING);
    (void)strncat(folder, "/FRAMEWORK", sizeof folder - strlen(folder) - 1);
    NEED(access(folder, F_OK) != 0);
}

static void one_recording(void **state) {
    (void)state;
    run(record_one);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(rows(0, "value = 'work'"), 10);
    assert_int_equal(record_child_query(dir, 0, "SELECT count(*) FROM TASK"), 10);
}

static void keep_raw(void) {
    NEED(ps_record_set("keep_raw", "1") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(1);
    NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_OK);
}

static void raw_files_are_kept_when_asked(void **state) {
    char raw[4096];
    (void)state;
    run(keep_raw);
    assert_true(record_child_folder(dir, raw, sizeof raw));
    assert_int_equal(access(raw, F_OK), 0);
}

/* Three recordings: the second exported by the program elsewhere, the others when it ends. */
static void record_three(void) {
    char elsewhere[SCRATCH_BYTES + 32];
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", dir);
    for (unsigned i = 1; i <= 3; i++) {
        NEED(ps_record_start() == PS_RECORD_OK);
        ranges(i);
        NEED(ps_record_stop() == PS_RECORD_OK);
        NEED(n_ranges() == i);
        if (i == 2) {
            NEED(ps_record_export(elsewhere) == PS_RECORD_OK);
        }
    }
}

static void several_recordings(void **state) {
    char elsewhere[SCRATCH_BYTES + 32];
    (void)state;
    run(record_three);
    assert_int_equal(record_child_n_folders(dir), 2);
    assert_int_equal(rows(0, "1"), 1);
    assert_int_equal(rows(1, "1"), 3);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", dir);
    assert_int_equal(record_child_n_folders(elsewhere), 1);
    assert_int_equal(record_child_query(elsewhere, 0, "SELECT count(*) FROM MSTX_EVENTS"), 2);
}

/* The order in which the database of a folder was written. */
static int64_t written_ns(const char *where, size_t folder) {
    char path[4096];
    char file[4200];
    struct stat st;
    assert_true(record_child_folder_at(where, folder, false, path, sizeof path));
    (void)snprintf(file, sizeof file, "%s/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db", path);
    assert_int_equal(stat(file, &st), 0);
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* Five recordings: two exported by their numbers while others wait, the rest as the process ends. */
static void record_five(void) {
    char elsewhere[SCRATCH_BYTES + 16];
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", dir);
    NEED(ps_record_last() == 0 && ps_record_export_recording(0, NULL) == PS_RECORD_BAD_ARGUMENT);
    for (unsigned i = 1; i <= 5; i++) {
        NEED(ps_record_start() == PS_RECORD_OK);
        ranges(i);
        NEED(ps_record_stop() == PS_RECORD_OK && ps_record_last() == i);
        (void)usleep(2000); /* folders are named by milliseconds */
    }
    NEED(ps_record_export_recording(6, NULL) == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_start() == PS_RECORD_OK);
    NEED(ps_record_export_recording(2, elsewhere) == PS_RECORD_OK);
    NEED(ps_record_export_recording(2, NULL) == PS_RECORD_NOTHING);
    NEED(ps_record_export_recording(4, elsewhere) == PS_RECORD_OK);
    NEED(ps_record_discard() == PS_RECORD_OK && ps_record_last() == 6);
    NEED(ps_record_export_recording(6, NULL) == PS_RECORD_NOTHING);
}

static void exported_in_their_order(void **state) {
    static const unsigned REST[] = {1, 3, 5};
    char elsewhere[SCRATCH_BYTES + 16];
    int64_t before = 0;
    (void)state;
    run(record_five);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", dir);
    assert_int_equal(record_child_n_folders(elsewhere), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(record_child_query(elsewhere, i, "SELECT count(*) FROM MSTX_EVENTS"),
                         2 * (i + 1));
    }
    assert_int_equal(record_child_n_folders(dir), 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(rows(i, "1"), REST[i]);
        int64_t now = written_ns(dir, i);
        assert_true(now > before);
        before = now;
    }
}

/* One without events is the last all the same: an older one is neither exported nor forgotten in its place. */
static void empty_after_full(void) {
    char folder[4096];
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(1);
    NEED(ps_record_stop() == PS_RECORD_OK && has_folder(folder, sizeof folder));
    NEED(ps_record_start() == PS_RECORD_OK && ps_record_stop() == PS_RECORD_OK);
    NEED(ps_record_export(NULL) == PS_RECORD_NOTHING);
    NEED(ps_record_start() == PS_RECORD_OK && ps_record_discard() == PS_RECORD_OK);
    NEED(ps_record_discard() == PS_RECORD_NOTHING);
    NEED(access(folder, F_OK) == 0);
}

static void the_last_may_be_empty(void **state) {
    (void)state;
    run(empty_after_full);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(rows(0, "1"), 1);
}

/* What was only made ready is no recording: calling it off leaves the last one what it was. */
static void warmup_after_full(void) {
    char folder[4096];
    char now[4096];
    ps_record_stats stats = {.size = sizeof stats};
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(1);
    NEED(ps_record_stop() == PS_RECORD_OK && has_folder(folder, sizeof folder));
    NEED(ps_record_warmup() == PS_RECORD_OK && ps_record_discard() == PS_RECORD_OK);
    NEED(access(folder, F_OK) == 0);
    NEED(ps_record_warmup() == PS_RECORD_OK && ps_record_stop() == PS_RECORD_OK);
    NEED(ps_record_directory(now, sizeof now) > 0 && strcmp(now, folder) == 0);
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK && stats.n_ranges == 1);
    NEED(ps_record_export(NULL) == PS_RECORD_OK);
    NEED(ps_record_warmup() == PS_RECORD_OK && ps_record_discard() == PS_RECORD_OK);
    NEED(ps_record_discard() == PS_RECORD_NOTHING);
}

static void warmups_are_no_recordings(void **state) {
    (void)state;
    run(warmup_after_full);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(rows(0, "1"), 1);
}

/* Options hold from the next start on, also when it was made ready before they were set. */
static void set_after_warmup(void) {
    char folder[4096];
    NEED(ps_record_warmup() == PS_RECORD_OK && has_folder(folder, sizeof folder));
    NEED(ps_record_set("worker", "another") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK && access(folder, F_OK) != 0);
    ranges(1);
    NEED(has_folder(folder, sizeof folder) && strstr(folder, "/another_") != NULL);
}

static void options_after_warmup(void **state) {
    (void)state;
    run(set_after_warmup);
    assert_int_equal(record_child_n_folders(dir), 1);
}

enum { SAME = 20 };

static void record_same_name(void) {
    NEED(ps_record_set("worker", "same") == PS_RECORD_OK);
    for (unsigned i = 0; i < SAME; i++) {
        NEED(ps_record_start() == PS_RECORD_OK);
        ps_record_mark(NULL, "mark", NULL);
        NEED(ps_record_stop() == PS_RECORD_OK);
    }
}

/* Two processes with one name, many recordings: some begin in the same millisecond. */
static void names_that_are_taken(void **state) {
    (void)state;
    pid_t other = record_child_start(dir, record_same_name);
    run(record_same_name);
    record_child_exits(other, 0);
    assert_int_equal(record_child_n_folders(dir), 2 * SAME);
}

static void warm_up(void) {
    char folder[4096];
    char again[4096];
    NEED(ps_record_warmup() == PS_RECORD_OK && ps_record_warmup() == PS_RECORD_OK);
    NEED(has_folder(folder, sizeof folder) && ps_record_enabled() == 0);
    NEED(ps_record_stop() == PS_RECORD_OK && access(folder, F_OK) != 0);
    NEED(ps_record_warmup() == PS_RECORD_OK && has_folder(folder, sizeof folder));
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(2);
    NEED(has_folder(again, sizeof again) && strcmp(folder, again) == 0);
}

static void warmup(void **state) {
    (void)state;
    run(warm_up);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(rows(0, "1"), 2);
}

/* --- where no file can be made --------------------------------------------------------------------------------------- */

static void record_in_memory(void) {
    ps_record_stats stats = {.size = sizeof stats};
    char folder[4096];
    NEED(ps_record_set("output_dir", "/proc/no/such/folder") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(50000); /* more than a ring at a time */
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK && stats.crash_safe == 0);
    NEED(ps_record_directory(folder, sizeof folder) == 0);
    NEED(ps_record_stop() == PS_RECORD_OK);
    NEED(ps_record_export(NULL) == PS_RECORD_IO);
    NEED(ps_record_export(dir) == PS_RECORD_OK);
    NEED(has_folder(folder, sizeof folder) && strncmp(folder, dir, strlen(dir)) == 0);
}

static void memory_instead_of_files(void **state) {
    (void)state;
    run(record_in_memory);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(rows(0, "1"), 50000);
}

/* Threads that find no memory for a ring of their own share one: nothing is lost. */
static void *record_and_wait(void *barrier) {
    ranges(5);
    (void)pthread_barrier_wait(barrier);
    return NULL;
}

static void share_memory(void) {
    enum { N = 80, EACH = 5 };
    ps_record_stats stats = {.size = sizeof stats};
    pthread_t threads[N];
    pthread_barrier_t barrier;
    NEED(ps_record_set("max_bytes", "16M") == PS_RECORD_OK);
    NEED(ps_record_set("ring_slots", "2048") == PS_RECORD_OK);
    for (unsigned round = 0; round < 2; round++) { /* what the first took it has given back */
        NEED(ps_record_start() == PS_RECORD_OK);
        (void)pthread_barrier_init(&barrier, NULL, N + 1);
        for (unsigned i = 0; i < N; i++) {
            NEED(pthread_create(&threads[i], NULL, record_and_wait, &barrier) == 0);
        }
        (void)pthread_barrier_wait(&barrier);
        uint64_t taken = ps_memory_taken();
        NEED(taken > 12 << 20 && taken <= 16 << 20);
        NEED(ps_record_get_stats(&stats) == PS_RECORD_OK);
        NEED(stats.n_threads == N && stats.n_ranges == EACH * N && stats.n_dropped == 0);
        for (unsigned i = 0; i < N; i++) {
            (void)pthread_join(threads[i], NULL);
        }
        NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_OK);
    }
}

static void memory_is_shared(void **state) {
    (void)state;
    run(share_memory);
    assert_int_equal(record_child_n_folders(dir), 2);
    assert_int_equal(rows(0, "1"), 400);
    assert_int_equal(rows(1, "1"), 400);
}

/* More than the disk may take: as much as it may, ends of all ranges that began, and the rest counted. Rings of some threads are
 * memory then, which is said. */
static void *take_a_ring(void *barrier) {
    ps_record_mark(NULL, "here", NULL);
    (void)pthread_barrier_wait(barrier);
    (void)pthread_barrier_wait(barrier);
    return NULL;
}

static void use_up_disk(void) {
    enum { N = 40 };
    ps_record_stats stats = {.size = sizeof stats};
    pthread_t threads[N];
    pthread_barrier_t barrier;
    NEED(ps_record_set("max_disk", "1M") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    uint64_t open = ps_record_range_start(NULL, "open", NULL);
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK && stats.crash_safe == 1);
    (void)pthread_barrier_init(&barrier, NULL, N + 1);
    for (unsigned i = 0; i < N; i++) {
        NEED(pthread_create(&threads[i], NULL, take_a_ring, &barrier) == 0);
    }
    (void)pthread_barrier_wait(&barrier);
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK && stats.crash_safe == 0);
    (void)pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < N; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < 50000; i++) {
        ps_record_range_end(ps_record_range_start(NULL, "work", NULL));
        if (i % 200 == 0) {
            (void)usleep(500);
        }
    }
    ps_record_range_end(open);
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK);
    NEED(stats.n_dropped > 0 && stats.n_ranges + stats.n_dropped >= 50001);
    NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_OK);
}

static void disk_used_up(void **state) {
    (void)state;
    run(use_up_disk);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_true(rows(0, "1") > 1000);
    assert_int_equal(rows(0, "s.value = 'open'"), 1);
    assert_int_equal(record_child_query(dir, 0, "SELECT count(*) FROM PIPESCOPE_OPEN_RANGES"), 0);
    assert_int_equal(
        record_child_query(dir, 0,
                           "SELECT count(*) FROM META_DATA WHERE name = 'collector.drops' AND "
                           "value LIKE '%max_disk%'"),
        1);
}

/* What does not fit is counted by its kind, and everything else is whole. */
static void use_up_memory(void) {
    ps_record_stats stats = {.size = sizeof stats};
    NEED(ps_record_set("output_dir", "/proc/no/such/folder") == PS_RECORD_OK);
    NEED(ps_record_set("max_bytes", "8M") == PS_RECORD_OK);
    NEED(ps_record_set("ring_slots", "1024") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    for (unsigned i = 0; i < 200000; i++) {
        ps_record_range_end(ps_record_range_start(NULL, "work", NULL));
        if (i % 200 == 0) {
            (void)usleep(50);
        }
    }
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK);
    NEED(stats.n_dropped > 0 && stats.n_ranges > 0 && stats.n_ranges + stats.n_dropped >= 200000);
    NEED(ps_record_stop() == PS_RECORD_OK);
    NEED(ps_record_export(dir) == PS_RECORD_OK);
}

static void memory_used_up(void **state) {
    (void)state;
    run(use_up_memory);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_true(rows(0, "1") > 1000);
    assert_int_equal(
        record_child_query(dir, 0,
                           "SELECT count(*) FROM META_DATA WHERE name = 'collector.drops' AND "
                           "value LIKE '%ring_full%'"),
        1);
}

/* A link where a folder is to be made: its target is not written to. */
static void export_over_link(void) {
    char folder[4096];
    char link[4300];
    char target[SCRATCH_BYTES + 32];
    (void)snprintf(target, sizeof target, "%s/target", dir);
    NEED(mkdir(target, 0755) == 0);
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(1);
    NEED(ps_record_stop() == PS_RECORD_OK);
    NEED(has_folder(folder, sizeof folder));
    char elsewhere[SCRATCH_BYTES + 32];
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", dir);
    NEED(mkdir(elsewhere, 0755) == 0);
    (void)snprintf(link, sizeof link, "%s/%s", elsewhere, strrchr(folder, '/') + 1);
    NEED(symlink(target, link) == 0);
    NEED(ps_record_export(elsewhere) == PS_RECORD_IO);
    NEED(rmdir(target) == 0); /* still empty */
    NEED(unlink(link) == 0);
    NEED(ps_record_export(elsewhere) == PS_RECORD_OK);
}

static void links_are_refused(void **state) {
    (void)state;
    run(export_over_link);
    assert_int_equal(record_child_n_folders(dir), 0);
}

/* --- steps and windows ----------------------------------------------------------------------------------------------- */

static void step(int64_t number) {
    char text[32];
    NEED(ps_record_step_begin(number) == PS_RECORD_OK);
    (void)snprintf(text, sizeof text, "in %d", (int)number);
    ps_record_mark(NULL, text, NULL);
    NEED(ps_record_step_end() == PS_RECORD_OK);
}

static void steps_in_window(void) {
    char folder[4096];
    NEED(ps_record_set("window", "2:4") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK && ps_record_enabled() == 0);
    for (int64_t i = 0; i < 4; i++) {
        step(i);
        NEED(ps_record_enabled() == (i == 2));
    }
    NEED(has_folder(folder, sizeof folder)); /* exported by now */
    (void)strncat(folder, "/ASCEND_PROFILER_OUTPUT", sizeof folder - strlen(folder) - 1);
    NEED(access(folder, F_OK) == 0);
    for (int64_t i = 4; i < 8; i++) {
        step(i);
    }
    step(2); /* never again */
    NEED(ps_record_start() == PS_RECORD_WRONG_TIME);
    NEED(ps_record_stop() == PS_RECORD_WRONG_TIME);
}

static void check_window(void) {
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(rows(0, "value LIKE 'in %'"), 2);
    assert_int_equal(rows(0, "value IN ('in 2', 'in 3')"), 2);
    assert_int_equal(record_child_query(dir, 0, "SELECT count(*) FROM STEP_TIME"), 2);
    assert_int_equal(record_child_query(dir, 0, "SELECT min(id) FROM STEP_TIME"), 2);
}

static void a_window_of_steps(void **state) {
    (void)state;
    run(steps_in_window);
    check_window();
}

static void one_call_a_step(void) {
    NEED(ps_record_set("window", "2:4") == PS_RECORD_OK);
    for (int i = 0; i < 7; i++) {
        char text[32];
        NEED(ps_record_step() == PS_RECORD_OK);
        (void)snprintf(text, sizeof text, "in %d", i);
        ps_record_mark(NULL, text, NULL);
    }
}

static void a_window_of_single_calls(void **state) {
    (void)state;
    run(one_call_a_step);
    check_window();
}

/* The window is still open when the program ends; its steps skip some numbers. */
static void end_in_window(void) {
    NEED(ps_record_set("window", "2:100") == PS_RECORD_OK);
    step(0);
    step(3);
    NEED(ps_record_enabled() == 1);
    NEED(ps_record_step_begin(7) == PS_RECORD_OK);
    ranges(1);
}

static void a_window_that_does_not_end(void **state) {
    (void)state;
    run(end_in_window);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(record_child_query(dir, 0, "SELECT count(*) FROM STEP_TIME"), 2);
    assert_int_equal(record_child_query(dir, 0, "SELECT max(id) FROM STEP_TIME"), 7);
}

/* The program goes on after its last step, which ends with what began in it. */
static void last_step(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    step(0);
    NEED(ps_record_step_begin(1) == PS_RECORD_OK);
    ranges(2);
    (void)usleep(20000);
    NEED(ps_record_stop() == PS_RECORD_OK);
}

static void a_last_step_ends_with_its_work(void **state) {
    (void)state;
    run(last_step);
    assert_int_equal(record_child_query(dir, 0, "SELECT count(*) FROM STEP_TIME"), 2);
    assert_int_equal(
        record_child_query(dir, 0,
                           "SELECT count(*) FROM STEP_TIME s WHERE s.id = 1 AND s.endNs = (SELECT "
                           "max(e.endNs) FROM MSTX_EVENTS e WHERE e.startNs > s.startNs)"),
        1);
}

/* A program that calls step() behind each step begins one more than it has. */
static void step_behind_each(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    for (int i = 0; i < 3; i++) {
        ranges(1);
        NEED(ps_record_step() == PS_RECORD_OK);
    }
    (void)usleep(20000);
}

static void a_last_step_without_work_is_none(void **state) {
    (void)state;
    run(step_behind_each);
    assert_int_equal(record_child_query(dir, 0, "SELECT count(*) FROM STEP_TIME"), 2);
    assert_int_equal(record_child_query(dir, 0, "SELECT max(id) FROM STEP_TIME"), 1);
}

/* Steps that were open when recording began or ended. */
static void steps_across(void) {
    NEED(ps_record_step_begin(1) == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(1);
    NEED(ps_record_step_end() == PS_RECORD_OK);
    NEED(ps_record_step() == PS_RECORD_OK); /* 2 */
    ranges(1);
    NEED(ps_record_stop() == PS_RECORD_OK);
    NEED(ps_record_step() == PS_RECORD_OK);
}

static void steps_without_window(void **state) {
    (void)state;
    run(steps_across);
    assert_int_equal(record_child_query(dir, 0, "SELECT count(*) FROM STEP_TIME"), 1);
    assert_int_equal(record_child_query(dir, 0, "SELECT id FROM STEP_TIME"), 2);
    assert_int_equal(record_child_query(dir, 0, "SELECT endNs > startNs FROM STEP_TIME"), 1);
}

/* --- metadata -------------------------------------------------------------------------------------------------------- */

static char *text_of(size_t n) {
    char *text = malloc(n + 3);
    NEED(text != NULL);
    memset(text, 'v', n + 2);
    text[0] = text[n + 1] = '"';
    text[n + 2] = '\0';
    return text;
}

static void add_metadata(void) {
    static const char *const BAD[] = {"",    " ",  "{",   "{'a': 1}",  "nul",
                                      "1 2", "[1", "\"a", "{\"a\" 1}", "]["};
    static const char *const GOOD[] = {
        "1",  "-1.5e3",   "true",          "null",           "\"text\"", "[]",
        "{}", " [1, 2] ", "{\"a\": [{}]}", "\"\\u00e9\\n\"", "\"\""};
    char key[64];
    NEED(ps_record_add_metadata(NULL, "1") == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_add_metadata("", "1") == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_add_metadata("k", NULL) == PS_RECORD_BAD_ARGUMENT);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        NEED(ps_record_add_metadata("bad", BAD[i]) == PS_RECORD_BAD_ARGUMENT);
    }
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        (void)snprintf(key, sizeof key, "good %zu", i);
        NEED(ps_record_add_metadata(key, GOOD[i]) == PS_RECORD_OK);
    }
    NEED(ps_record_add_metadata("twice", "1") == PS_RECORD_OK);
    NEED(ps_record_add_metadata("twice", "2") == PS_RECORD_OK);
    char *long_one = text_of(4094);
    char *too_long = text_of(4095);
    NEED(ps_record_add_metadata("too long", too_long) == PS_RECORD_BAD_ARGUMENT);
    unsigned n = 0;
    for (int code = PS_RECORD_OK; code == PS_RECORD_OK && n < 100; n++) {
        (void)snprintf(key, sizeof key, "long %u", n);
        code = ps_record_add_metadata(key, long_one);
    }
    NEED(n == 12 + 1); /* 50 KiB in all */
    free(long_one);
    free(too_long);
    NEED(ps_record_start() == PS_RECORD_OK);
    NEED(ps_record_add_metadata("before the first event", "1") == PS_RECORD_OK);
    ranges(1);
    NEED(ps_record_add_metadata("after it", "{\"x\": 1}") == PS_RECORD_OK);
    NEED(ps_record_add_metadata("after it", "{\"x\": 2}") == PS_RECORD_OK);
    NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK); /* the next has it too */
    ranges(1);
    NEED(ps_record_name_stream(PS_RECORD_HOST_STREAM, "main") == PS_RECORD_OK);
    NEED(ps_record_name_stream(NULL, "main") == PS_RECORD_BAD_ARGUMENT);
    NEED(ps_record_name_stream(PS_RECORD_HOST_STREAM, "") == PS_RECORD_BAD_ARGUMENT);
}

static void metadata(void **state) {
    (void)state;
    run(add_metadata);
    assert_int_equal(record_child_n_folders(dir), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            record_child_query(dir, i, "SELECT count(*) FROM META_DATA WHERE name LIKE 'good %'"),
            11);
        assert_int_equal(
            record_child_query(dir, i, "SELECT count(*) FROM META_DATA WHERE name LIKE 'long %'"),
            12);
        assert_int_equal(
            record_child_query(dir, i, "SELECT value FROM META_DATA WHERE name = 'twice'"), 2);
        assert_int_equal(
            record_child_query(
                dir, i, "SELECT json_extract(value, '$.x') FROM META_DATA WHERE name = 'after it'"),
            2);
        assert_int_equal(
            record_child_query(dir, i, "SELECT count(*) FROM META_DATA WHERE name = 'bad'"), 0);
    }
}

/* --- threads that never rest ----------------------------------------------------------------------------------------- */

enum { N_THREADS = 3 };
static atomic_bool enough;

static void *record_for_ever(void *context) {
    char text[32];
    ps_record_domain *domain = ps_record_domain_named("busy");
    for (unsigned i = 0; !atomic_load_explicit(&enough, memory_order_relaxed); i++) {
        (void)snprintf(text, sizeof text, "%u of %u", i % 100, (unsigned)(uintptr_t)context);
        uint64_t range = ps_record_range_start(domain, text, NULL);
        (void)ps_record_range_push(NULL, "nested", PS_RECORD_HOST_STREAM);
        ps_record_mark(domain, "mark", NULL);
        (void)ps_record_range_pop(NULL);
        ps_record_range_end(range);
        if (i % 16 == 0) {
            (void)usleep(100);
        }
    }
    return NULL;
}

static void cycles_with_threads(void) {
    pthread_t threads[N_THREADS];
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        NEED(pthread_create(&threads[i], NULL, record_for_ever, (void *)i) == 0);
    }
    unsigned rounds = record_child_rounds(40, 10);
    for (unsigned i = 0; i < rounds; i++) {
        char folder[4096];
        NEED(ps_record_start() == PS_RECORD_OK);
        (void)usleep(1000 * (i % 12));
        ps_record_mark(NULL, "cycle", NULL);
        NEED(ps_record_stop() == PS_RECORD_OK);
        ps_record_stats stats = {.size = sizeof stats};
        NEED(ps_record_get_stats(&stats) == PS_RECORD_OK && stats.n_marks > 0);
        if (i % 4 == 0) {
            NEED(ps_record_discard() == PS_RECORD_OK);
        } else if (i % 4 == 1) {
            NEED(ps_record_export(NULL) == PS_RECORD_OK && has_folder(folder, sizeof folder));
        } /* else it waits for the end */
    }
    atomic_store(&enough, true);
    for (unsigned i = 0; i < N_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static void threads_never_rest(void **state) {
    (void)state;
    run(cycles_with_threads);
    unsigned rounds = record_child_rounds(40, 10);
    size_t n = rounds - (rounds + 3) / 4;
    assert_int_equal(record_child_n_folders(dir), n);
    for (size_t i = 0; i < n; i++) {
        assert_true(rows(i, "value = 'cycle'") == 1);
        assert_int_equal(
            record_child_query(dir, i, "SELECT count(*) FROM MSTX_EVENTS WHERE endNs < startNs"),
            0);
    }
}

/* Control calls of several threads at the same time: codes, never a crash, nothing lost. */
static void *call_at_random(void *context) {
    unsigned n = (unsigned)(uintptr_t)context;
    ps_record_stats stats = {.size = sizeof stats};
    char folder[256];
    for (unsigned i = 0; i < 60; i++) {
        switch ((i * 7 + n * 3) % 9) {
        case 0:
        case 1:
            (void)ps_record_start();
            break;
        case 2:
            (void)ps_record_stop();
            break;
        case 3:
            (void)ps_record_export(NULL);
            break;
        case 4:
            (void)ps_record_get_stats(&stats);
            break;
        case 5:
            (void)ps_record_directory(folder, sizeof folder);
            break;
        case 6:
            (void)ps_record_add_metadata("k", "1");
            break;
        case 7:
            (void)ps_record_step();
            break;
        default:
            (void)(i % 2 == 0 ? ps_record_discard() : ps_record_warmup());
            break;
        }
        ps_record_mark(NULL, "mark", NULL);
    }
    return NULL;
}

static void all_at_once(void) {
    pthread_t threads[N_THREADS];
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        NEED(pthread_create(&threads[i], NULL, call_at_random, (void *)i) == 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static void control_calls_at_once(void **state) {
    char raw[4096];
    (void)state;
    run(all_at_once);
    for (size_t i = 0; i < record_child_n_folders(dir); i++) {
        assert_true(record_child_folder_at(dir, i, true, raw, sizeof raw));
        assert_int_not_equal(access(raw, F_OK), 0); /* all exported */
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(calls_in_any_order),
        CASE(nothing_leaves_nothing),
        CASE(one_recording),
        CASE(raw_files_are_kept_when_asked),
        CASE(several_recordings),
        CASE(exported_in_their_order),
        CASE(the_last_may_be_empty),
        CASE(warmups_are_no_recordings),
        CASE(options_after_warmup),
        CASE(names_that_are_taken),
        CASE(warmup),
        CASE(memory_instead_of_files),
        CASE(memory_used_up),
        CASE(memory_is_shared),
        CASE(disk_used_up),
        CASE(links_are_refused),
        CASE(a_window_of_steps),
        CASE(a_window_of_single_calls),
        CASE(a_window_that_does_not_end),
        CASE(steps_without_window),
        CASE(a_last_step_ends_with_its_work),
        CASE(a_last_step_without_work_is_none),
        CASE(metadata),
        CASE(threads_never_rest),
        CASE(control_calls_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
