/* Processes that end, fork and are replaced while they are recorded; threads that come and go; signals. What is left behind is
 * counted: in databases, and in raw files after recovery. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pipescope/record.h"
#include "record/export/recover.h"
#include "record/export/sqlite_lib.h"
#include "record/gpu/cuda_driver.h"
#include "record/ring/fork_gate.h"
#include "record/ring/log.h"
#include "support/record_child.h"
#include "support/sanitized.h"
#include "support/scratch.h"

#define NEED RECORD_CHILD_NEED

static const char *const dir = scratch_dir;

static pid_t start(void (*body)(void)) {
    return record_child_start(dir, body);
}

/* It does not know children of a process with threads, nor a descriptor that is closed under a thread that uses it. */
static void not_with_thread_sanitizer(void) {
    if (record_child_thread_sanitizer()) {
        skip();
    }
}

static void ranges(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        ps_record_range_end(ps_record_range_start(NULL, "work", PS_RECORD_HOST_STREAM));
    }
}

static long long rows(size_t folder) {
    return record_child_query(dir, folder, "SELECT count(*) FROM MSTX_EVENTS");
}

static bool has_raw(size_t folder) {
    char raw[4096];
    assert_true(record_child_folder_at(dir, folder, true, raw, sizeof raw));
    return access(raw, F_OK) == 0;
}

/* Makes databases of all raw files. Returns how many there were. */
static size_t recover(void) {
    ps_arena arena;
    ps_raw_folder *folders = NULL;
    size_t n = 0;
    ps_err err = PS_ERR_INIT;
    ps_arena_init(&arena);
    assert_int_equal(ps_recover_find(dir, &arena, &folders, &n, &err), PS_OK);
    for (size_t i = 0; i < n; i++) {
        ps_export_options options = {.nvtx_push_pop_type = 2};
        ps_export_result result = {0};
        assert_false(folders[i].running);
        assert_int_equal(ps_recover_folder(&folders[i], &options, &result, &err), PS_OK);
    }
    ps_arena_fini(&arena);
    return n;
}

/* Before the process forks: the address sanitizer takes locks of its allocator as a thread begins, and a child that is made
 * meanwhile finds them held for ever. The C library's own allocator needs no such care, so the other builds fork at once. */
static void let_writer_begin(void) {
#if PS_ADDRESS_SANITIZER
    for (unsigned i = 0; i < 5000 && !record_child_has_thread("pipescope"); i++) {
        (void)usleep(1000);
    }
    NEED(record_child_has_thread("pipescope"));
#endif
}

static void wait_for(pid_t pid) {
    int status = 0;
    NEED(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- the end --------------------------------------------------------------------------------------------------------- */

static atomic_uint n_returned;

static void *record_for_ever(void *unused) {
    for (;;) {
        ranges(1);
        atomic_fetch_add(&n_returned, 1);
        (void)usleep(50);
    }
    return unused;
}

static void *end_process(void *unused) {
    while (atomic_load(&n_returned) < 100) {
        (void)usleep(100);
    }
    exit(0);
    return unused;
}

static void exit_of_a_thread(void) {
    pthread_t threads[3];
    NEED(ps_record_start() == PS_RECORD_OK);
    for (unsigned i = 0; i < 3; i++) {
        NEED(pthread_create(&threads[i], NULL, i < 2 ? record_for_ever : end_process, NULL) == 0);
    }
    for (;;) {
        ranges(1);
        (void)usleep(50);
    }
}

static void exit_from_another_thread(void **state) {
    (void)state;
    record_child_exits(start(exit_of_a_thread), 0);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_true(rows(0) >= 100);
    assert_false(has_raw(0));
}

/* Handlers that the program registered run before the library's. */
static void last_words(void) {
    ps_record_mark(NULL, "last words", NULL);
}

static void record_at_exit(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(1);
    NEED(atexit(last_words) == 0);
}

static void recorded_at_exit(void **state) {
    (void)state;
    record_child_exits(start(record_at_exit), 0);
    assert_int_equal(rows(0), 2);
}

static void leave_at_once(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(7);
    _exit(0);
}

static void exit_without_handlers(void **state) {
    (void)state;
    record_child_exits(start(leave_at_once), 0);
    assert_true(has_raw(0));
    assert_int_equal(recover(), 1);
    assert_int_equal(rows(0), 7);
    assert_int_equal(record_child_query(dir, 0, "SELECT endTimeNs IS NULL FROM SESSION_TIME_INFO"),
                     1);
}

static void run_out_of_time(void) {
    NEED(ps_record_set("exit_timeout_s", "0") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(40000);
}

/* Either the helper was quick enough after all or everything is in the raw files. */
static void export_takes_too_long(void **state) {
    (void)state;
    record_child_exits(start(run_out_of_time), 0);
    if (has_raw(0)) {
        assert_int_equal(recover(), 1);
    }
    assert_int_equal(rows(0), 40000);
}

static int deadly;

static void die_by_signal(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(9);
    ps_record_range_start(NULL, "open", NULL);
    if (deadly == SIGABRT) {
        abort();
    }
    (void)raise(deadly);
}

static void killed_by_signals(void **state) {
    static const int SIGNALS[] = {SIGTERM, SIGINT, SIGABRT, SIGUSR1};
    (void)state;
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
        deadly = SIGNALS[i];
        record_child_killed(start(die_by_signal), deadly);
    }
    assert_int_equal(recover(), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rows(i), 9);
        assert_int_equal(record_child_query(dir, i, "SELECT count(*) FROM PIPESCOPE_OPEN_RANGES"),
                         1);
    }
}

static void become_another(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(11);
    (void)execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
}

static void replaced_by_exec(void **state) {
    (void)state;
    record_child_exits(start(become_another), 5);
    assert_int_equal(recover(), 1);
    assert_int_equal(rows(0), 11);
}

/* --- fork ------------------------------------------------------------------------------------------------------------ */

static void fork_once(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(10);
    let_writer_begin();
    pid_t pid = fork();
    NEED(pid >= 0);
    if (pid == 0) {
        NEED(!ps_record_enabled());
        ranges(4);
        exit(0);
    }
    wait_for(pid);
    ranges(10);
}

static void a_child_is_silent(void **state) {
    (void)state;
    record_child_exits(start(fork_once), 0);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(rows(0), 20);
}

static void fork_and_follow(void) {
    NEED(ps_record_set("follow_fork", "1") == PS_RECORD_OK);
    NEED(ps_record_add_metadata("of the parent", "1") == PS_RECORD_OK);
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(10);
    let_writer_begin();
    pid_t pid = fork();
    NEED(pid >= 0);
    if (pid == 0) {
        NEED(ps_record_enabled());
        ranges(4);
        let_writer_begin();
        pid_t grandchild = fork();
        NEED(grandchild >= 0);
        ranges(grandchild == 0 ? 2 : 1);
        if (grandchild > 0) {
            wait_for(grandchild);
        }
        exit(0);
    }
    wait_for(pid);
    ranges(10);
}

static void a_child_is_followed(void **state) {
    long long all = 0;
    (void)state;
    not_with_thread_sanitizer();
    record_child_exits(start(fork_and_follow), 0);
    assert_int_equal(record_child_n_folders(dir), 3);
    for (size_t i = 0; i < 3; i++) {
        long long n = rows(i);
        assert_true(n == 20 || n == 5 || n == 2);
        all += n;
        assert_int_equal(record_child_query(
                             dir, i, "SELECT count(*) FROM META_DATA WHERE name = 'of the parent'"),
                         1);
        assert_false(has_raw(i));
    }
    assert_int_equal(all, 27);
}

/* No fork handler runs for this one. */
static void clone_raw(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(10);
    let_writer_begin();
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    NEED(pid >= 0);
    if (pid == 0) {
        ps_record_stats stats = {.size = sizeof stats};
        if (ps_record_enabled()) {
            _exit(3);
        }
        ranges(4);
        if (ps_record_get_stats(&stats) != PS_RECORD_OK || stats.n_ranges != 0) {
            _exit(4);
        }
        exit(0);
    }
    wait_for((pid_t)pid);
    ranges(10);
}

static void a_cloned_child_is_silent(void **state) {
    (void)state;
    not_with_thread_sanitizer();
    record_child_exits(start(clone_raw), 0);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_int_equal(rows(0), 20);
}

/* A child that records by itself, of a parent whose threads record all the time: no lock of theirs is in its way. */
static void fork_among_threads(void) {
    pthread_t threads[2];
    NEED(ps_record_start() == PS_RECORD_OK);
    for (unsigned i = 0; i < 2; i++) {
        NEED(pthread_create(&threads[i], NULL, record_for_ever, NULL) == 0);
    }
    while (atomic_load(&n_returned) == 0) {
        (void)usleep(
            100); /* or they have no turn before the process ends, and nothing is recorded */
    }
    unsigned rounds = record_child_rounds(10, 4);
    for (unsigned i = 0; i < rounds; i++) {
        pid_t pid = fork();
        NEED(pid >= 0);
        if (pid == 0) {
            (void)alarm(30);
            NEED(!ps_record_enabled());
            NEED(ps_record_add_metadata("of the child", "1") == PS_RECORD_OK);
            NEED(ps_record_domain_named("of the child") != NULL);
            NEED(ps_record_start() == PS_RECORD_OK);
            ranges(3);
            NEED(ps_record_stop() == PS_RECORD_OK && ps_record_discard() == PS_RECORD_OK);
            _exit(0); /* a leak checker would wait for the threads of the parent */
        }
        wait_for(pid);
    }
}

static void children_of_busy_parents(void **state) {
    (void)state;
    if (PS_ADDRESS_SANITIZER) {
        skip(); /* its allocator's lock may be held by another thread as the process forks, and stays so in the child */
    }
    not_with_thread_sanitizer();
    record_child_exits(start(fork_among_threads), 0);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_true(rows(0) > 0);
}

static void *walk_objects_for_ever(void *unused) {
    for (;;) {
        (void)ps_loaded_library("no such library");
    }
    return unused;
}

/* The loader's lock, too: a child that found it held would wait in its first import of a module. */
static void fork_beside_the_loader(void) {
    pthread_t threads[2];
    NEED(ps_record_start() == PS_RECORD_OK);
    for (unsigned i = 0; i < 2; i++) {
        NEED(pthread_create(&threads[i], NULL, walk_objects_for_ever, NULL) == 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        pid_t pid = fork();
        NEED(pid >= 0);
        if (pid == 0) {
            (void)alarm(30);
            NEED(ps_loaded_library("no such library") == NULL);
            _exit(0);
        }
        wait_for(pid);
    }
}

static void children_find_the_loader_free(void **state) {
    (void)state;
    not_with_thread_sanitizer();
    record_child_exits(start(fork_beside_the_loader), 0);
}

static volatile bool in_a_call; /* of a library, by a thread at work */

static void *work_for_ever(void *unused) {
    ps_fork_work_begin();
    for (;;) {
        in_a_call = true;
        (void)usleep(300);
        in_a_call = false;
        ps_fork_work_pause();
    }
    return unused;
}

/* Work pauses between two calls while the process forks. */
static void fork_beside_work(void) {
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, work_for_ever, NULL) == 0);
    for (unsigned i = 0; i < 100; i++) {
        pid_t pid = fork();
        NEED(pid >= 0);
        if (pid == 0) {
            NEED(!in_a_call);
            _exit(0);
        }
        wait_for(pid);
    }
    _exit(0);
}

static void work_pauses_for_forks(void **state) {
    (void)state;
    not_with_thread_sanitizer();
    record_child_exits(start(fork_beside_work), 0);
}

static void *export_for_ever(void *unused) {
    for (;;) {
        ranges(2000);
        NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_OK);
        NEED(ps_record_start() == PS_RECORD_OK);
    }
    return unused;
}

/* And SQLite's: a child that makes a database of its own, while the parent writes one. */
static void fork_beside_an_export(void) {
    pthread_t thread;
    const ps_sqlite_lib *lib = ps_sqlite_lib_get();
    NEED(lib != NULL && ps_record_start() == PS_RECORD_OK);
    NEED(pthread_create(&thread, NULL, export_for_ever, NULL) == 0);
    for (unsigned i = 0; i < 300; i++) {
        pid_t pid = fork();
        NEED(pid >= 0);
        if (pid == 0) {
            ps_sq_handle *handle = NULL;
            (void)alarm(30);
            NEED(lib->open_v2(":memory:", &handle, PS_SQ_OPEN_READWRITE | PS_SQ_OPEN_CREATE,
                              NULL) == PS_SQ_OK);
            NEED(lib->exec(handle, "CREATE TABLE t (n)", NULL, NULL, NULL) == PS_SQ_OK);
            NEED(lib->close(handle) == PS_SQ_OK);
            _exit(0);
        }
        wait_for(pid);
    }
    _exit(0);
}

static void children_find_sqlite_free(void **state) {
    (void)state;
    if (PS_ADDRESS_SANITIZER) {
        skip(); /* its allocator's lock, see above */
    }
    not_with_thread_sanitizer();
    record_child_exits(start(fork_beside_an_export), 0);
}

/* --- threads that are cancelled ------------------------------------------------------------------------------------------ */

static void *control_for_ever(void *unused) {
    for (;;) {
        (void)ps_record_start();
        ranges(1);
        (void)ps_record_add_metadata("key", "1");
        (void)ps_record_stop();
        (void)ps_record_discard();
        pthread_testcancel();
    }
    return unused;
}

/* No lock goes with a thread that is cancelled in a control call. */
static void cancel_in_control_calls(void) {
    for (unsigned i = 0; i < 100; i++) {
        pthread_t thread;
        NEED(pthread_create(&thread, NULL, control_for_ever, NULL) == 0);
        (void)usleep(1000 + i * 37 % 1000);
        NEED(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
        (void)ps_record_stop();
        (void)ps_record_discard();
        NEED(ps_record_start() == PS_RECORD_OK);
        ranges(1);
        NEED(ps_record_stop() == PS_RECORD_OK && ps_record_discard() == PS_RECORD_OK);
    }
    _exit(0);
}

static void cancelled_threads_hold_no_locks(void **state) {
    (void)state;
    not_with_thread_sanitizer();
    record_child_exits(start(cancel_in_control_calls), 0);
}

/* --- a file system that hangs ------------------------------------------------------------------------------------------ */

static void *say_into_file(void *unused) {
    ps_rec_log("into a file that hangs");
    return unused;
}

/* A pipe without a reader stands for it: to open it takes for ever. */
static void log_beside_a_hung_file(void) {
    char path[4096];
    pthread_t thread;
    (void)snprintf(path, sizeof path, "%s/recorder.log", dir);
    NEED(ps_record_set("quiet", "1") == PS_RECORD_OK && mkfifo(path, 0600) == 0);
    ps_rec_log_file(path);
    NEED(pthread_create(&thread, NULL, say_into_file, NULL) == 0);
    (void)usleep(100000);
    ps_rec_log_error_stream("while another thread hangs");
    ps_rec_log_file(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    wait_for(pid);
    _exit(0);
}

static void others_go_on_beside_a_hung_log(void **state) {
    (void)state;
    not_with_thread_sanitizer();
    record_child_exits(start(log_beside_a_hung_file), 0);
}

/* --- threads, signals, descriptors ----------------------------------------------------------------------------------- */

static void *record_and_end(void *unused) {
    ranges(3);
    return unused;
}

static void churn(void) {
    unsigned n = record_child_rounds(2000, 200);
    NEED(ps_record_start() == PS_RECORD_OK);
    for (unsigned i = 0; i < n; i += 4) {
        pthread_t threads[4];
        for (unsigned k = 0; k < 4; k++) {
            NEED(pthread_create(&threads[k], NULL, record_and_end, NULL) == 0);
        }
        for (unsigned k = 0; k < 4; k++) {
            (void)pthread_join(threads[k], NULL);
        }
    }
    ps_record_stats stats = {.size = sizeof stats};
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK);
    NEED(stats.n_ranges == 3 * n && stats.n_dropped == 0);
}

static void threads_come_and_go(void **state) {
    (void)state;
    record_child_exits(start(churn), 0);
    assert_int_equal(rows(0), 3 * record_child_rounds(2000, 200));
}

static volatile sig_atomic_t n_handled;

static void on_alarm(int signal) {
    (void)signal;
    ps_record_mark(NULL, "in the handler", NULL);
    n_handled++;
}

/* A handler interrupts the recorder wherever it is, also in control calls. */
static void record_in_handler(void) {
    struct itimerval every = {.it_interval = {.tv_usec = 500}, .it_value = {.tv_usec = 500}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(1);
    NEED(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
    while (n_handled < 200) {
        ps_record_stats stats = {.size = sizeof stats};
        char folder[64];
        ranges(20);
        (void)ps_record_get_stats(&stats);
        (void)ps_record_directory(folder, sizeof folder);
        (void)ps_record_add_metadata("k", "1");
        (void)usleep(100); /* or the export takes longer than all of this */
    }
    every = (struct itimerval){0};
    NEED(setitimer(ITIMER_REAL, &every, NULL) == 0);
    NEED(ps_record_stop() == PS_RECORD_OK);
}

static void signal_handlers_may_record(void **state) {
    (void)state;
    record_child_exits(start(record_in_handler), 0);
    assert_true(record_child_query(dir, 0,
                                   "SELECT count(*) FROM MSTX_EVENTS m JOIN STRING_IDS s ON s.id = "
                                   "m.message WHERE s.value = 'in the handler'") > 0);
}

/* What daemons do. */
static void close_descriptors(void) {
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(5);
    for (int fd = 3; fd < 256; fd++) {
        (void)close(fd);
    }
    NEED(chdir("/") == 0);
    ranges(60000); /* more than a ring */
    ps_record_stats stats = {.size = sizeof stats};
    NEED(ps_record_get_stats(&stats) == PS_RECORD_OK);
    NEED(stats.n_ranges + stats.n_dropped >= 60005);
}

static void descriptors_are_closed(void **state) {
    (void)state;
    not_with_thread_sanitizer();
    record_child_exits(start(close_descriptors), 0);
    assert_int_equal(record_child_n_folders(dir), 1);
    assert_true(rows(0) > 5);
    assert_false(has_raw(0));
}

/* Signals that writing may raise would end the program. */
static void write_past_limits(void) {
    int ends[2];
    struct rlimit limit = {.rlim_cur = 1 << 16, .rlim_max = RLIM_INFINITY};
    NEED(signal(SIGXFSZ, SIG_DFL) != SIG_ERR && signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    NEED(pipe(ends) == 0 && close(ends[0]) == 0);
    int words = dup(STDERR_FILENO);
    NEED(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    NEED(ps_record_set("quiet", "0") == PS_RECORD_OK);
    NEED(ps_record_set("ring_slots", "4096") == PS_RECORD_OK);
    NEED(ps_record_add_metadata("no JSON", "{") == PS_RECORD_BAD_ARGUMENT); /* said into the pipe */
    (void)getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 1 << 16;
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0); /* not even a ring: in memory */
    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(2000);
    NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_IO);
    limit.rlim_cur = limit.rlim_max;
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    NEED(ps_record_export(dir) == PS_RECORD_OK);

    NEED(ps_record_start() == PS_RECORD_OK);
    ranges(1);
    limit.rlim_cur = 1 << 16;
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0); /* the spool ends here, and the database */
    ranges(2000);
    NEED(ps_record_stop() == PS_RECORD_OK && ps_record_export(NULL) == PS_RECORD_IO);
    limit.rlim_cur = limit.rlim_max;
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    NEED(ps_record_export(NULL) == PS_RECORD_OK);
    NEED(dup2(words, STDERR_FILENO) == STDERR_FILENO);
}

static void limits_and_broken_pipes(void **state) {
    (void)state;
    record_child_exits(start(write_past_limits), 0);
    assert_int_equal(record_child_n_folders(dir), 2);
    assert_int_equal(rows(0), 2000);
    assert_int_equal(rows(1), 2001);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(exit_from_another_thread),
        CASE(recorded_at_exit),
        CASE(exit_without_handlers),
        CASE(export_takes_too_long),
        CASE(killed_by_signals),
        CASE(replaced_by_exec),
        CASE(a_child_is_silent),
        CASE(a_child_is_followed),
        CASE(a_cloned_child_is_silent),
        CASE(children_of_busy_parents),
        CASE(children_find_the_loader_free),
        CASE(work_pauses_for_forks),
        CASE(others_go_on_beside_a_hung_log),
        CASE(cancelled_threads_hold_no_locks),
        CASE(children_find_sqlite_free),
        CASE(threads_come_and_go),
        CASE(signal_handlers_may_record),
        CASE(descriptors_are_closed),
        CASE(limits_and_broken_pipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
