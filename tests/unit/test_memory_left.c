/* What a machine and a control group leave, told by files of both versions; and the budget that ranks share. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/memory_left.h"
#include "base/publish.h"
#include "base/threads.h"
#include "model/trace.h"
#include "run/run_memory.h"

enum { PATH_ROOM = 512 };
static char root[PATH_ROOM];

static void put_file(const char *dir, const char *name, const char *text) {
    char path[2 * PATH_ROOM];
    (void)snprintf(path, sizeof path, "%s%s", root, dir);
    assert_int_equal(ps_make_dirs(path, NULL), PS_OK);
    (void)snprintf(path, sizeof path, "%s%s/%s", root, dir, name);
    assert_int_equal(ps_write_file(path, text, strlen(text), NULL), PS_OK);
}

static void begin_root(void) {
    (void)snprintf(root, sizeof root, "%s/pipescope_memory_XXXXXX",
                   getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(root));
}

static void machine_and_groups(void **state) {
    (void)state;
    begin_root();
    assert_true(ps_memory_left_below(root) == INT64_MAX);
    put_file("/proc", "meminfo", "MemTotal:  2000 kB\nMemAvailable:     1000 kB\nCached: 7 kB\n");
    assert_true(ps_memory_left_below(root) == 1000 * 1024);
    /* 300,000 of which 200,000 are held, 50,000 of them cache: 150,000; the group above leaves more. */
    put_file("/proc/self", "cgroup", "0::/above/job\n");
    put_file("/sys/fs/cgroup/above/job", "memory.max", "300000\n");
    put_file("/sys/fs/cgroup/above/job", "memory.current", "200000\n");
    put_file("/sys/fs/cgroup/above/job", "memory.stat", "anon 9\ninactive_file 50000\n");
    put_file("/sys/fs/cgroup/above", "memory.max", "max\n");
    assert_true(ps_memory_left_below(root) == 150000);
    put_file("/sys/fs/cgroup/above", "memory.max", "210000\n");
    put_file("/sys/fs/cgroup/above", "memory.current", "200000\n");
    assert_true(ps_memory_left_below(root) == 10000);
    /* Version 1; the path is that of the host, and the files lie at the top. Held more than is allowed: nothing is left. */
    put_file("/proc/self", "cgroup", "9:cpu:/\n4:memory:/host/path\n0::/nowhere\n");
    put_file("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "500000\n");
    put_file("/sys/fs/cgroup/memory", "memory.usage_in_bytes", "100000\n");
    put_file("/sys/fs/cgroup/memory", "memory.stat",
             "inactive_file 1\ntotal_inactive_file 20000\n");
    assert_true(ps_memory_left_below(root) == 420000);
    put_file("/sys/fs/cgroup/memory", "memory.usage_in_bytes", "900000\n");
    assert_true(ps_memory_left_below(root) == 0);
    put_file("/proc/self", "cgroup", "nonsense\n::\n4:memory\n");
    assert_true(ps_memory_left_below(root) == 1000 * 1024);
    assert_true(ps_memory_held() > 0);
    assert_int_equal(ps_remove_tree(root, NULL), PS_OK);
}

/* Of 100,000 bytes: a database 1 and 5 of memory for each, text a half and one, gzip ten; two ranks of a file share it. */
static void what_ranks_take(void **state) {
    (void)state;
    begin_root();
    char path[2 * PATH_ROOM];
    char gzip[2 * PATH_ROOM];
    char *text = ps_calloc(1, 100001);
    memset(text, 'x', 100000);
    put_file("", "a", text);
    put_file("", "a.gz", text);
    ps_free(text);
    (void)snprintf(path, sizeof path, "%s/a", root);
    (void)snprintf(gzip, sizeof gzip, "%s/a.gz", root);
    static const ps_reader CHROME = {.name = "chrome"};
    ps_cluster_rank ranks[] = {{.path = path},
                               {.path = gzip, .reader = &CHROME},
                               {.path = path, .reader = &CHROME},
                               {.path = path, .reader = &CHROME, .part = 1},
                               {.path = "nowhere"}};
    static const struct {
        uint32_t needs;
        int64_t bytes[5];
    } CASES[] = {{PS_NEED_MARKS, {100000, 1000000, 25000, 25000, 0}},
                 {PS_NEED_SLICES, {500000, 1000000, 50000, 50000, 0}}};
    ps_cluster cluster = {.ranks = ranks, .n_ranks = 5};
    for (size_t i = 0; i < 2; i++) {
        int64_t *bytes = ps_ranks_bytes(&cluster, CASES[i].needs);
        assert_non_null(bytes);
        for (size_t r = 0; r < 5; r++) {
            assert_int_equal(bytes[r] - (1 << 20), CASES[i].bytes[r]);
        }
        ps_free(bytes);
    }
    assert_int_equal(ps_remove_tree(root, NULL), PS_OK);
}

typedef struct crowd {
    ps_budget memory;
    int64_t bytes;
    atomic_int n, most;
} crowd;

static void read_one(void *context, size_t i) {
    crowd *c = context;
    (void)i;
    ps_budget_take(&c->memory, c->bytes);
    int n = atomic_fetch_add(&c->n, 1) + 1;
    int most = atomic_load(&c->most);
    while (n > most && !atomic_compare_exchange_weak(&c->most, &most, n)) {
    }
    atomic_fetch_sub(&c->n, 1);
    ps_budget_give(&c->memory, c->bytes);
}

/* A budget of 10 TiB: 4 TiB go in twice, 6 TiB once, and 12 TiB are refused. */
static void as_many_as_fit(void **state) {
    (void)state;
    static const int64_t TIB = (int64_t)1 << 40;
    static const struct {
        int64_t bytes;
        int most;
    } CASES[] = {{4, 2}, {6, 1}};
    for (size_t i = 0; i < 2; i++) {
        crowd c = {.bytes = CASES[i].bytes * TIB};
        assert_int_equal(ps_budget_init(&c.memory, 10 * TIB, NULL), PS_OK);
        ps_parallel(64, 4, read_one, &c);
        assert_true(atomic_load(&c.most) >= 1 && atomic_load(&c.most) <= CASES[i].most);
        assert_int_equal(c.memory.n_most_in_flight <= (size_t)CASES[i].most, 1);
        assert_int_equal(c.memory.in_use_bytes, 0);
        ps_budget_fini(&c.memory);
    }
    ps_budget m;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_budget_init(&m, 10 * TIB, NULL), PS_OK);
    ps_cluster_rank rank = {.path = "job/rank3.json"};
    assert_int_equal(ps_budget_check(&m, &rank, 10 * TIB, &err), PS_OK);
    assert_int_equal(ps_budget_check(&m, &rank, 12 * TIB, &err), PS_RANGE);
    assert_string_equal(err.msg,
                        "reading it may take 12582912.0 MiB, and --memory allows 10485760.0 MiB");
    ps_budget_fini(&m);
    /* More than there is of a budget that is smaller than the process: one at a time, and it goes on. */
    crowd c = {.bytes = 2};
    assert_int_equal(ps_budget_init(&c.memory, 4, NULL), PS_OK);
    ps_parallel(64, 4, read_one, &c);
    assert_int_equal(c.memory.n_most_in_flight, 1);
    ps_budget_fini(&c.memory);
    assert_int_equal(ps_budget_init(&m, 0, NULL), PS_OK);
    assert_true(m.budget_bytes > 0 && !m.is_given);
    ps_budget_fini(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_and_groups),
        cmocka_unit_test(what_ranks_take),
        cmocka_unit_test(as_many_as_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
