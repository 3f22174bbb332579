/* kill -9 at random moments: every event whose call had returned is read back.
 *
 * A child records from several threads, in several domains, unique and repeated messages, short and long ones, and counts in
 * memory that it shares with us each event after its call has returned. It is killed; what is in its folder must be at least
 * what it counted. Events that a full ring dropped have returned too, so they may be missing as far as they are counted; the
 * child records slowly enough that there should be none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "pipescope/record.h"
#include "record/export/capture.h"
#include "record/export/recover.h"
#include "support/record_child.h"
#include "support/scratch.h"

enum { N_THREADS = 3, N_DOMAINS = 3, N_REPEATED = 7, LONG = 300 };

typedef struct counted {
    _Atomic uint32_t tid;
    _Atomic uint64_t marks, starts, ends; /* whose calls have returned */
} counted;

typedef struct shared {
    counted threads[N_THREADS];
    atomic_bool ready; /* the child is about to record */
} shared;

static shared *counts;

/* --- the child ------------------------------------------------------------------------------------------------------- */

static const char *domain_name(uint64_t k) {
    static const char *const NAMES[N_DOMAINS] = {"default", "forward", "Module"};
    return NAMES[k % N_DOMAINS];
}

static void add_one(_Atomic uint64_t *n) {
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
                          memory_order_release);
}

static void record_one(unsigned thread, uint64_t k) {
    counted *c = &counts->threads[thread];
    char text[LONG + 64];
    ps_record_domain *domain = ps_record_domain_named(domain_name(k));
    int n = snprintf(text, sizeof text, "mark %u %llu ", thread, (unsigned long long)k);
    if (k % 50 == 7) { /* longer than what is remembered of a message */
        memset(text + n, 'x', LONG);
        text[n + LONG] = '\0';
    }
    ps_record_mark(domain, text, NULL);
    add_one(&c->marks);
    (void)snprintf(text, sizeof text, "range %u", (unsigned)(k % N_REPEATED));
    uint64_t range = ps_record_range_start(domain, text, k % 2 == 0 ? PS_RECORD_HOST_STREAM : NULL);
    add_one(&c->starts);
    ps_record_range_end(range);
    add_one(&c->ends);
}

static void *record_for_ever(void *context) {
    unsigned thread = (unsigned)(uintptr_t)context;
    atomic_store(&counts->threads[thread].tid, (uint32_t)syscall(SYS_gettid));
    for (uint64_t k = 0;; k++) {
        record_one(thread, k);
        if (k % 20 == 19) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
        }
    }
    return NULL;
}

static void child(void) {
    pthread_t threads[N_THREADS];
    (void)ps_record_start();
    atomic_store(&counts->ready, true);
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        if (pthread_create(&threads[i], NULL, record_for_ever, (void *)i) != 0) {
            _exit(3);
        }
    }
    for (;;) {
        (void)pause();
    }
}

/* --- what is left of it ---------------------------------------------------------------------------------------------- */

typedef struct found {
    uint64_t marks, starts, ends, wrong;
    uint8_t *seen; /* marks by their number */
    uint64_t n_seen;
} found;

/* An event of the thread; what it says must fit together. */
static void look_at(const ps_capture *c, const ps_events *e, size_t row, unsigned thread,
                    found *f) {
    size_t length = 0;
    const char *text = ps_capture_text(c, e->message[row], &length);
    unsigned long long k = 0;
    unsigned of = 0;
    if (e->what[row] == PS_EVENT_RANGE) {
        f->starts++;
        f->ends += e->end_ns[row] != PS_STILL_OPEN;
        f->wrong += sscanf(text, "range %u", &of) != 1 || of >= N_REPEATED;
        return;
    }
    f->marks++;
    if (sscanf(text, "mark %u %llu ", &of, &k) != 2 || of != thread) {
        f->wrong++;
        return;
    }
    const char *domain = ps_capture_text(c, ps_capture_domains(c)->value[e->domain[row]], NULL);
    f->wrong += strcmp(domain, domain_name(k)) != 0;
    f->wrong += k % 50 == 7 && length < LONG;
    if (k < f->n_seen) {
        f->wrong += f->seen[k]; /* twice */
        f->seen[k] = 1;
    }
}

static uint64_t missing(uint64_t wanted, uint64_t got) {
    return wanted > got ? wanted - got : 0;
}

/* How many counted events of the thread are not there. */
static uint64_t check_thread(const ps_capture *c, unsigned thread) {
    const counted *wanted = &counts->threads[thread];
    const ps_events *e = ps_capture_events(c);
    uint64_t n_marks = atomic_load(&wanted->marks);
    found f = {.seen = calloc(n_marks + 1, 1), .n_seen = n_marks};
    assert_non_null(f.seen);
    for (size_t row = 0; row < e->n; row++) {
        if (e->tid[row] == atomic_load(&wanted->tid)) {
            look_at(c, e, row, thread, &f);
        }
    }
    assert_int_equal(f.wrong, 0);
    uint64_t lost = 0;
    for (uint64_t k = 0; k < n_marks; k++) {
        lost += !f.seen[k];
    }
    free(f.seen);
    return lost + missing(atomic_load(&wanted->starts), f.starts) +
           missing(atomic_load(&wanted->ends), f.ends);
}

static uint64_t n_counted(void) {
    uint64_t n = 0;
    for (unsigned i = 0; i < N_THREADS; i++) {
        const counted *c = &counts->threads[i];
        n += atomic_load(&c->marks) + atomic_load(&c->starts) + atomic_load(&c->ends);
    }
    return n;
}

typedef struct totals {
    uint64_t rounds, events, dropped, early; /* early: killed before anything was recorded */
} totals;

/* The database has what the raw files had, which go then. */
static void check_recovery(const char *dir, const char *raw, size_t n_events) {
    ps_arena arena;
    ps_raw_folder *folders = NULL;
    size_t n = 0;
    ps_err err = PS_ERR_INIT;
    const ps_export_options options = {.nvtx_push_pop_type = 2};
    ps_export_result result = {0};
    ps_arena_init(&arena);
    assert_int_equal(ps_recover_find(dir, &arena, &folders, &n, &err), PS_OK);
    assert_int_equal(n, 1);
    assert_false(folders[0].running);
    assert_int_equal(ps_recover_folder(&folders[0], &options, &result, &err), PS_OK);
    ps_arena_fini(&arena);
    long long rows = record_child_query(dir, 0,
                                        "SELECT (SELECT count(*) FROM MSTX_EVENTS) + "
                                        "(SELECT count(*) FROM PIPESCOPE_OPEN_RANGES)");
    assert_int_equal(rows, n_events);
    assert_int_equal(record_child_query(dir, 0, "SELECT endTimeNs IS NULL FROM SESSION_TIME_INFO"),
                     1);
    assert_int_not_equal(access(raw, F_OK), 0);
}

static void check_folder(const char *dir, totals *t) {
    char raw[4096];
    ps_err err = PS_ERR_INIT;
    ps_capture *c = NULL;
    uint64_t n = n_counted();
    if (!record_child_folder(dir, raw, sizeof raw) || ps_capture_read(raw, &c, &err) != PS_OK) {
        assert_int_equal(n, 0); /* killed while the folder was being made */
        t->early++;
        return;
    }
    uint64_t dropped = 0;
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        dropped += ps_capture_drops(c, i);
    }
    uint64_t lost = 0;
    for (unsigned i = 0; i < N_THREADS; i++) {
        lost += check_thread(c, i);
    }
    if (lost > dropped) {
        fail_msg("%llu of %llu events are missing, %llu dropped", (unsigned long long)lost,
                 (unsigned long long)n, (unsigned long long)dropped);
    }
    bool ended = true;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    ps_capture_span(c, &start_ns, &end_ns, &ended);
    assert_false(ended);
    size_t n_events = ps_capture_events(c)->n;
    ps_capture_free(c);
    t->events += n;
    t->dropped += dropped;
    if (t->rounds++ % 8 == 0 && n_events > 0) {
        check_recovery(dir, raw, n_events);
    }
}

/* --- rounds ---------------------------------------------------------------------------------------------------------- */

static void sleep_us(uint64_t us) {
    struct timespec t = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    (void)nanosleep(&t, NULL);
}

/* When the child dies: some while its files are being made, most soon after that, some after many rounds of the writer. */
static void wait_a_while(pid_t pid, ps_rng *rng) {
    uint64_t kind = ps_rng_below(rng, 8);
    while (!atomic_load(&counts->ready) && kill(pid, 0) == 0) {
        sleep_us(100);
    }
    if (kind == 0) {
        sleep_us(ps_rng_below(rng, 20000));
        return;
    }
    for (unsigned i = 0; n_counted() == 0 && i < 50000; i++) {
        sleep_us(200);
    }
    sleep_us(ps_rng_below(rng, kind == 1 ? 200000 : 40000));
}

static void one_round(ps_rng *rng, totals *t) {
    char dir[SCRATCH_BYTES];
    memset(counts, 0, sizeof *counts);
    scratch_make(dir, sizeof dir);
    pid_t pid = record_child_start(dir, child);
    wait_a_while(pid, rng);
    (void)kill(pid, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    check_folder(dir, t);
    scratch_remove(dir);
}

static void killed_at_any_moment(void **state) {
    (void)state;
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(counts != MAP_FAILED);
    ps_rng rng = ps_rng_seed((uint64_t)getpid());
    totals t = {0};
    for (unsigned round = 0; round < record_child_rounds(200, 15); round++) {
        one_round(&rng, &t);
    }
    print_message(
        "# %llu events counted and found; %llu dropped; %llu rounds ended before the first\n",
        (unsigned long long)t.events, (unsigned long long)t.dropped, (unsigned long long)t.early);
    assert_true(t.events > 0);
    (void)munmap(counts, sizeof *counts);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_at_any_moment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
