/* Threads that come, go, and record while recordings begin and end. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/core/threads_shared.h"
#include "support/record_double.h"

static ps_text text_of(const char *s) {
    return (ps_text){.bytes = s, .length = strlen(s), .check = true};
}

static const ps_record_domain *none(void) {
    return ps_domain_check(NULL);
}

static int teardown(void **state) {
    (void)state;
    (void)ps_double_stop();
    ps_double_reset();
    return 0;
}

static void *one_range(void *context) {
    char name[32];
    (void)snprintf(name, sizeof name, "range %d", (int)(intptr_t)context % 50);
    ps_event_end(none(), ps_event_start(none(), text_of(name), NULL, NULL));
    return NULL;
}

static void run(pthread_t *threads, int n, void *(*body)(void *)) {
    for (int i = 0; i < n; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i), 0);
    }
    for (int i = 0; i < n; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

/* Ten thousand threads, four at a time, need no more rings than four. */
static void test_churn(void **state) {
    (void)state;
    int n = getenv("PIPESCOPE_QUICK") != NULL ? 1000 : 10000;
    (void)ps_double_start(
        NULL, 1 << 16); /* one ring would hold it all: the thread that drains may have no turn */
    ps_double_drain_start();
    pthread_t threads[4];
    for (int i = 0; i < n; i += 4) {
        run(threads, 4, one_range);
    }
    assert_int_equal(ps_double_stop(), 0);
    assert_true(ps_double_rings() <= 1 + 4);
    assert_int_equal(ps_threads_count(), n);
    assert_int_equal(ps_double_count(PS_REC_RANGE_START), n);
    assert_int_equal(ps_double_count(PS_REC_RANGE_END), n);
    assert_int_equal(ps_double_count(PS_REC_THREAD), n);
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        assert_int_equal(ps_double_drops(i), 0);
    }
}

/* More threads at a time than rings: those beyond share ring 0, and each event still has its thread. */
enum { MANY = 160, EACH = 20 };
static pthread_barrier_t barrier;
static _Atomic uint32_t tids[MANY];

static void *many_ranges(void *context) {
    int self = (int)(intptr_t)context;
    char name[32];
    (void)snprintf(name, sizeof name, "thread %d", self);
    (void)ps_event_push(none(), text_of(name), NULL, NULL);
    tids[self] = ps_this_thread->tid;
    (void)pthread_barrier_wait(&barrier);
    for (int i = 1; i < EACH; i++) {
        (void)ps_event_push(none(), text_of(name), (void *)1, NULL);
        (void)ps_event_pop(none());
    }
    (void)ps_event_pop(none());
    (void)pthread_barrier_wait(&barrier);
    return NULL;
}

static void test_more_threads_than_rings(void **state) {
    (void)state;
    (void)pthread_barrier_init(&barrier, NULL, MANY);
    (void)ps_double_start(NULL, 1 << 13);
    ps_double_drain_start();
    static pthread_t threads[MANY];
    run(threads, MANY, many_ranges);
    assert_int_equal(ps_double_stop(), 0);
    (void)pthread_barrier_destroy(&barrier);
    assert_int_equal(ps_double_rings(), PS_MAX_RINGS);
    assert_int_equal(ps_double_count(PS_REC_PUSH), MANY * EACH);
    assert_int_equal(ps_double_count(PS_REC_RANGE_END), MANY * EACH);
    size_t n;
    const ps_double_record *r = ps_double_records(&n);
    size_t in_zero = 0;
    for (size_t i = 0; i < n; i++) {
        if (r[i].slot.kind == PS_REC_PUSH) {
            int self = atoi(r[i].text + strlen("thread "));
            assert_int_equal(r[i].tid, tids[self]);
            in_zero += r[i].ring == 0;
        }
    }
    assert_int_equal(in_zero, (MANY - (PS_MAX_RINGS - 1)) * EACH);
}

/* Ranges begun by one thread and ended by another. */
static uint64_t handed[1000];
static void *end_all(void *context) {
    for (int i = 0; i < 1000; i++) {
        ps_event_end(NULL, handed[i]);
    }
    return context;
}

static void test_ends_elsewhere(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 1 << 12);
    for (int round = 0; round < 3;
         round++) { /* more open ranges than half a ring, if ends did not count */
        for (int i = 0; i < 1000; i++) {
            handed[i] = ps_event_start(none(), text_of("handed on"), NULL, NULL);
            assert_int_not_equal(handed[i], 0);
        }
        pthread_t other;
        assert_int_equal(pthread_create(&other, NULL, end_all, NULL), 0);
        assert_int_equal(pthread_join(other, NULL), 0);
        ps_double_take();
    }
    ps_lane *lane = ps_this_thread->lane;
    assert_int_equal(lane->n_begun, 3000);
    assert_int_equal(lane->n_ended, 0);
    assert_int_equal(lane->n_ended_elsewhere, 3000);
    assert_int_equal(ps_double_stop(), 0);
    assert_int_equal(ps_double_count(PS_REC_RANGE_END), 3000);
    assert_int_equal(ps_double_drops(PS_DROP_UNKNOWN_RANGE), 0);
}

/* Ends of ranges of other threads leave the room for the thread's own, and go to ring 0 then. */
enum { FOREIGN = 8 };
static uint64_t foreign[FOREIGN];

static void *fill_and_end(void *context) {
    uint64_t own[64];
    int n = 0;
    while ((own[n] = ps_event_start(none(), text_of("own"), NULL, NULL)) != 0) {
        n++;
    }
    for (int i = 0; i < FOREIGN; i++) {
        ps_event_end(NULL, foreign[i]);
    }
    while (n > 0) {
        ps_event_end(NULL, own[--n]);
    }
    return context;
}

static void test_end_in_ring_0(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 64);
    for (int i = 0; i < FOREIGN; i++) {
        foreign[i] = ps_event_start(none(), text_of("main"), NULL, NULL);
    }
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, fill_and_end, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(ps_double_stop(), 0);
    size_t n;
    const ps_double_record *r = ps_double_records(&n);
    size_t n_started = 0;
    size_t n_ended = 0;
    size_t in_zero = 0;
    for (size_t i = 0; i < n; i++) {
        n_started += r[i].slot.kind == PS_REC_RANGE_START;
        if (r[i].slot.kind == PS_REC_RANGE_END) {
            assert_int_not_equal(r[i].tid, (uint32_t)getpid());
            n_ended++;
            in_zero += r[i].ring == 0;
        }
    }
    assert_int_equal(n_ended, n_started);
    assert_true(in_zero >= FOREIGN - 2);
    assert_int_equal(ps_double_drops(PS_DROP_END_LOST), 0);
}

/* Recordings begin and end under threads that never stop recording: whole records, no event of another recording. */
static _Atomic bool go_on;
static _Atomic uint64_t highest; /* id given out in a recording that has ended */

static void *record_on(void *context) {
    uint64_t last = 0;
    while (atomic_load(&go_on)) {
        (void)ps_event_push(none(), text_of("outer"), NULL, NULL);
        uint64_t id = ps_event_start(none(), text_of("inner"), NULL, NULL);
        if (id != 0) {
            uint64_t number = ps_range_number(id);
            if (number <= last) {
                return "a number was given out twice";
            }
            last = number;
        }
        ps_event_end(NULL, id);
        (void)ps_event_pop(none());
    }
    return context;
}

static void recordings_under_threads(void) {
    enum { THREADS = 4, RECORDINGS = 60 };
    pthread_t threads[THREADS];
    atomic_store(&go_on, true);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, record_on, NULL), 0);
    }
    for (int i = 0; i < RECORDINGS; i++) {
        (void)ps_double_start(NULL, 1 << 10);
        ps_double_drain_start();
        (void)usleep(2000);
        assert_int_equal(ps_double_stop(), 0);
        size_t n;
        const ps_double_record *r = ps_double_records(&n);
        uint64_t top = atomic_load(&highest);
        uint64_t seen = top;
        for (size_t k = 0; k < n; k++) {
            uint8_t kind = r[k].slot.kind;
            if (kind == PS_REC_PUSH || kind == PS_REC_RANGE_START || kind == PS_REC_RANGE_END) {
                assert_true(r[k].slot.id > top);
                seen = r[k].slot.id > seen ? r[k].slot.id : seen;
            }
        }
        atomic_store(&highest, seen);
        ps_double_reset();
    }
    atomic_store(&go_on, false);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

static void test_generations(void **state) {
    (void)state;
    recordings_under_threads();
}

/* The same where the kernel refuses membarrier, as in some containers. In this program started anew, because whether there is one
 * is found out once, and a filter is for good. */
#define IN_CHILD "PS_TEST_WITHOUT_MEMBARRIER"

static bool refuse_membarrier(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void test_child_without_membarrier(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 256);
    ps_event_mark(none(), text_of("m"), NULL, NULL);
    assert_true(ps_this_thread->fences);
    assert_int_equal(ps_double_stop(), 0);
    ps_double_reset();
    recordings_under_threads();
}

static void test_without_membarrier(void **state) {
    (void)state;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv(IN_CHILD, "1", 1);
        (void)close(STDOUT_FILENO); /* its cases are not ours to list */
        (void)open("/dev/null", O_WRONLY);
        (void)execl(self, self, (char *)NULL);
        _exit(126);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A thread that does not come out of an event keeps its ring; the others go on. */
static _Atomic int stuck_state;
static void *stuck_thread(void *context) {
    ps_event_mark(none(), text_of("before"), NULL, NULL);
    atomic_store(&ps_this_thread->busy, 1);
    atomic_store(&stuck_state, 1);
    while (atomic_load(&stuck_state) == 1) {
        (void)usleep(500);
    }
    ps_ring *ring = &ps_this_thread->lane->ring;
    ring->slots[ring->mask].id = 1; /* still mapped */
    atomic_store(&ps_this_thread->busy, 0);
    ps_event_mark(none(), text_of("after"), NULL, NULL);
    return context;
}

static void test_stuck_thread(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 256);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stuck_thread, NULL), 0);
    while (atomic_load(&stuck_state) == 0) {
        (void)usleep(500);
    }
    atomic_store(ps_recording, 0);
    assert_int_equal(ps_threads_quiesce(20), 1);
    ps_double_take();
    assert_int_equal(ps_double_count(PS_REC_MARK), 1);
    ps_double_reset();
    (void)ps_double_start(NULL, 256);
    ps_event_mark(none(), text_of("main"), NULL, NULL);
    atomic_store(&stuck_state, 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ps_double_stop(), 0);
    assert_int_equal(ps_double_count(PS_REC_MARK), 2);
}

static void count_ring(void *context, ps_ring *ring, uint32_t number) {
    (void)number;
    *(size_t *)context += ring->header != NULL;
}

/* Rings made before the recording: first events find one, and threads beyond make theirs. */
static void test_prepare(void **state) {
    (void)state;
    uint32_t generation = ps_double_start(NULL, 256);
    atomic_store(ps_recording, 0);
    ps_shared_anchor(1, 2, 3, 4);
    const ps_ring_place where = {.n_slots = 256, .session = 77};
    ps_threads_prepare(generation, &where);
    size_t seen = 0;
    ps_threads_each_ring(count_ring, &seen);
    assert_true(seen >= 2);
    assert_int_equal(ps_threads_count(), 0);
    atomic_store(ps_recording, generation);
    ps_event_mark(none(), text_of("main"), NULL, NULL);
    size_t after = 0;
    ps_threads_each_ring(count_ring, &after);
    assert_int_equal(after, seen);
    pthread_t threads[4];
    run(threads, 4, one_range);
    assert_int_equal(ps_double_stop(), 0);
    assert_int_equal(ps_double_count(PS_REC_MARK), 1);
    assert_int_equal(ps_double_count(PS_REC_RANGE_END), 4);
    assert_int_equal(ps_double_count(PS_REC_ANCHOR), 1);
}

/* Ring 0 stays full for longer than a fact waits for room: it comes when there is room again, in its order, and is not lost. */
static void test_facts_wait_for_ring_0(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 256);
    ps_event_mark(none(), text_of("main"), NULL, NULL); /* makes the rings */
    char json[16];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(json, sizeof json, "\"%03d\"", i);
        ps_shared_pair(PS_REC_META, "key", json, 5);
    }
    assert_true(ps_shared_waits());
    for (int i = 0; i < 10 && ps_shared_waits(); i++) {
        ps_double_take();
        ps_shared_flush();
    }
    assert_false(ps_shared_waits());
    assert_int_equal(ps_double_stop(), 0);
    assert_int_equal(ps_double_drops(PS_DROP_RING_FULL), 0);
    size_t n = 0;
    int next = 0;
    const ps_double_record *records = ps_double_records(&n);
    for (size_t i = 0; i < n; i++) {
        if (records[i].slot.kind == PS_REC_META) {
            (void)snprintf(json, sizeof json, "\"%03d\"", next++);
            assert_memory_equal(records[i].text + 3, json, 5);
        }
    }
    assert_int_equal(next, 300);
}

/* Nothing can be written to the end: counted. */
static void test_facts_that_are_lost(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 256);
    ps_event_mark(none(), text_of("main"), NULL, NULL);
    for (int i = 0; i < 300; i++) {
        ps_shared_pair(PS_REC_META, "key", "1", 1);
    }
    ps_shared_lose();
    assert_false(ps_shared_waits());
    assert_int_equal(ps_double_stop(), 0);
    size_t n = ps_double_count(PS_REC_META);
    assert_true(n < 300);
    assert_int_equal(ps_double_drops(PS_DROP_RING_FULL), 300 - n);
}

int main(void) {
    if (getenv(IN_CHILD) != NULL) {
        const struct CMUnitTest child[] = {
            cmocka_unit_test_teardown(test_child_without_membarrier, teardown)};
        return refuse_membarrier() ? cmocka_run_group_tests(child, NULL, NULL) : 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_churn, teardown),
        cmocka_unit_test_teardown(test_more_threads_than_rings, teardown),
        cmocka_unit_test_teardown(test_ends_elsewhere, teardown),
        cmocka_unit_test_teardown(test_end_in_ring_0, teardown),
        cmocka_unit_test_teardown(test_generations, teardown),
        cmocka_unit_test(test_without_membarrier),
        cmocka_unit_test_teardown(test_stuck_thread, teardown),
        cmocka_unit_test_teardown(test_prepare, teardown),
        cmocka_unit_test_teardown(test_facts_wait_for_ring_0, teardown),
        cmocka_unit_test_teardown(test_facts_that_are_lost, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
