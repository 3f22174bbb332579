/* Random bytes, also of kernels that do not know the call by its number: a filter of system calls stands for one, in a process of its
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/random.h"

enum { NO_FILTER = 77, N_BYTES = 1000 };

static bool fills_differently(void) {
    unsigned char first[N_BYTES] = {0};
    unsigned char second[N_BYTES] = {0};
    static const unsigned char NOTHING[N_BYTES / 10];
    return ps_random_bytes(first, N_BYTES) && ps_random_bytes(second, N_BYTES) &&
           memcmp(first, second, N_BYTES) != 0 &&
           memcmp(first + N_BYTES - sizeof NOTHING, NOTHING, sizeof NOTHING) != 0;
}

static void bytes_are_random(void **state) {
    (void)state;
    assert_true(fills_differently());
    assert_true(ps_random_bytes(NULL, 0));
}

static bool forget_calls(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* seccomp_data.nr */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof rules[0], .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void answer_seven(void *context, void *answer) {
    (void)context;
    *(int *)answer = 7;
}

static bool child_answers(void) {
    ps_child child;
    ps_err err = PS_ERR_INIT;
    int answer = 0;
    return ps_child_begin(&child, answer_seven, NULL, sizeof answer, "some file", &err) == PS_OK &&
           ps_child_end(&child, &answer, NULL, &err) == PS_OK && answer == 7;
}

/* What says in which respect the process without the calls failed: 0 none. */
static int in_old_system(void) {
    if (!forget_calls()) {
        return NO_FILTER;
    }
    char byte = 0;
    if (syscall(SYS_getrandom, &byte, 1, 0) != -1 || errno != ENOSYS) {
        return 1;
    }
    return !fills_differently() ? 2 : !child_answers() ? 3 : 0;
}

static void old_systems_give_them_too(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        _exit(in_old_system());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER) {
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_random),
        cmocka_unit_test(old_systems_give_them_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
