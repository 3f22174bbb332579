/* Work in processes of its own: answers, ends, words, several at once, a signal meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/publish.h"

typedef struct question {
    int number;
    int gate; /* a byte comes when the work may go on; -1: at once */
} question;

static void square(void *context, void *answer) {
    const question *q = context;
    char byte = 0;
    if (q->gate >= 0 && read(q->gate, &byte, 1) != 1) {
        return;
    }
    *(int *)answer = q->number * q->number;
    ps_free(ps_alloc(100));
}

static void crash(void *context, void *answer) {
    (void)context;
    *(int *)answer = 1;
    abort();
}

static void leave(void *context, void *answer) {
    (void)context;
    *(int *)answer = 1;
    _exit(5);
}

static void complain(void *context, void *answer) {
    (void)context;
    (void)!write(STDERR_FILENO, "fine\n[ERROR] no room\nmore\n", 26);
    *(int *)answer = 1;
}

static ps_code run_one(ps_child_fn *work, const char *complaint, int *answer, ps_err *err) {
    question q = {12, -1};
    ps_child c;
    ps_code code = ps_child_begin(&c, work, &q, sizeof *answer, "a.xlsx", err);
    return code == PS_OK ? ps_child_end(&c, answer, complaint, err) : code;
}

static void an_answer_comes_back(void **state) {
    (void)state;
    int answer = 0;
    int64_t before = ps_alloc_count();
    assert_int_equal(run_one(square, NULL, &answer, NULL), PS_OK);
    assert_int_equal(answer, 144);
    assert_int_equal(ps_alloc_count() - before, 1); /* the child's count here, too */
}

static void what_goes_wrong_is_told(void **state) {
    (void)state;
    int answer = 7;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(run_one(crash, NULL, &answer, &err), PS_IO);
    assert_non_null(strstr(err.msg, "crashed (signal 6)"));
    assert_string_equal(err.file, "a.xlsx");
    assert_int_equal(run_one(leave, NULL, &answer, &err), PS_IO);
    assert_non_null(strstr(err.msg, "crashed (status 5)"));
    assert_int_equal(run_one(complain, "[ERROR]", &answer, &err), PS_IO);
    assert_string_equal(err.msg, "cannot write the file: [ERROR] no room");
    assert_int_equal(answer, 7);
    assert_int_equal(run_one(complain, NULL, &answer, &err), PS_OK);
    assert_int_equal(answer, 1);
}

/* Each waits at its own gate; they are opened from the last to the first, and the children end in that order. */
static void several_at_once(void **state) {
    (void)state;
    enum { N = 4 };
    ps_child c[N];
    const ps_child *running[N];
    question q[N];
    int gates[N];
    for (int i = 0; i < N; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        gates[i] = ends[1];
        q[i] = (question){i + 1, ends[0]};
        running[i] = &c[i];
        assert_int_equal(ps_child_begin(&c[i], square, &q[i], sizeof(int), "b", NULL), PS_OK);
    }
    for (int i = N - 1; i >= 0; i--) {
        int answer = 0;
        assert_int_equal(write(gates[i], "x", 1), 1);
        assert_int_equal(ps_child_wait(running, (size_t)i + 1), i);
        assert_int_equal(ps_child_end(&c[i], &answer, NULL, NULL), PS_OK);
        assert_int_equal(answer, (i + 1) * (i + 1));
        assert_int_equal(close(gates[i]), 0);
        assert_int_equal(close(q[i].gate), 0);
    }
}

/* --- ends of this process, which a copy of it plays ------------------------------------------------------------ */

static int play(void (*part)(int said), char *said) {
    int ends[2];
    int status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t player = fork();
    if (player == 0) {
        const struct sigaction once = {.sa_handler = ps_unfinished_end,
                                       .sa_flags = (int)SA_RESETHAND};
        (void)sigaction(SIGTERM, &once, NULL);
        part(ends[1]);
        _exit(0);
    }
    assert_int_equal(close(ends[1]), 0);
    size_t n = 0;
    for (ssize_t got = 1; got > 0 && n < 7; n += (size_t)got) {
        got = read(ends[0], said + n, 7 - n); /* until all who could write have ended */
        got = got < 0 ? 0 : got;
    }
    said[n] = '\0';
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(waitpid(player, &status, 0), player);
    return status;
}

static void wait_for_ever(void *context, void *answer) {
    (void)context;
    (void)answer;
    for (;;) {
        (void)pause();
    }
}

static void play_a_signal(int said) {
    ps_child c;
    const ps_child *running = &c;
    int answer = 0;
    ps_unfinished_hold();
    bool ok = ps_child_begin(&c, wait_for_ever, NULL, sizeof answer, "a", NULL) == PS_OK;
    (void)raise(SIGTERM);
    ok = ok && ps_child_wait(&running, 1) == 0 && ps_child_end(&c, &answer, NULL, NULL) == PS_IO;
    (void)!write(said, ok ? "ended" : "wrong", 5);
    ps_unfinished_release();
}

static void a_signal_ends_the_children(void **state) {
    (void)state;
    char said[8];
    int status = play(play_a_signal, said);
    assert_string_equal(said, "ended");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void play_an_end(int said) {
    ps_child c;
    bool ok = ps_child_begin(&c, wait_for_ever, NULL, 0, "a", NULL) == PS_OK;
    (void)!write(said, ok ? "left" : "none", 4);
}

/* The child, which holds the pipe too, does not outlive it. */
static void the_end_of_the_parent_ends_it(void **state) {
    (void)state;
    char said[8];
    assert_int_equal(play(play_an_end, said), 0);
    assert_string_equal(said, "left");
}

static void begin_a_file(void *context, void *answer) {
    const char *path = context;
    *(int *)answer = ps_unfinished_is_ended() ? 1 : 2;
    ps_unfinished_hold();
    ps_unfinished_release();
    ps_unfinished_done(ps_unfinished_add(path));
}

static void play_a_signal_before(int said) {
    char path[] = "a";
    ps_child c;
    int answer = 0;
    ps_unfinished_hold();
    (void)raise(SIGTERM);
    bool ok = ps_child_begin(&c, begin_a_file, path, sizeof answer, "a", NULL) == PS_OK &&
              ps_child_end(&c, &answer, NULL, NULL) == PS_OK && answer == 2;
    (void)!write(said, ok ? "free" : "held", 4);
    ps_unfinished_release();
}

/* What is to end this process, or keeps it from ending, is not the child's. */
static void a_child_begins_anew(void **state) {
    (void)state;
    char said[8];
    int status = play(play_a_signal_before, said);
    assert_string_equal(said, "free");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_back),
        cmocka_unit_test(what_goes_wrong_is_told),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(a_signal_ends_the_children),
        cmocka_unit_test(the_end_of_the_parent_ends_it),
        cmocka_unit_test(a_child_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
