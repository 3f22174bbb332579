/* Ranks read in the background: states, wishes, budget, files that vanish or change. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "serve/rank/loaded.h"
#include "serve/rank/store.h"
#include "support/profile.h"
#include "support/trace_samples.h"

/* --- traces and waiting --------------------------------------------------------------------------------------- */

/* A trace of `n` slices on one thread. */
static void write_trace(const char *path, int n) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("{\"traceEvents\":[", f);
    for (int i = 0; i < n; i++) {
        (void)fprintf(f,
                      "%s{\"ph\":\"X\",\"name\":\"op %d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}",
                      i > 0 ? ",\n" : "", i % 100, 2 * i);
    }
    (void)fputs("]}\n", f);
    assert_int_equal(fclose(f), 0);
}

static void write_ranks(const place *p, int n) {
    for (int i = 0; i < n; i++) {
        write_trace(place_path(p, "rank_%d.json", i), 100 + i);
    }
}

static ps_store *open_store(const place *p, const ps_store_opts *opts) {
    const char *path = p->dir;
    ps_err err = PS_ERR_INIT;
    ps_store *s = ps_store_new(&path, 1, opts, &err);
    if (s == NULL) {
        fail_msg("%s", err.msg);
    }
    return s;
}

static void wait_for(ps_store *s, size_t i, ps_rank_state state) {
    for (int turn = 0; turn < 20000; turn++) {
        ps_rank_status_now now = ps_store_status(s, i);
        if (now.state == state) {
            return;
        }
        if (now.state == PS_STATE_FAILED) {
            fail_msg("rank %zu failed: %s", i, now.err.msg);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    fail_msg("rank %zu never came to state %d", i, (int)state);
}

static ps_loaded *take(ps_store *s, size_t i) {
    ps_loaded *l = NULL;
    ps_err err = PS_ERR_INIT;
    if (ps_store_get(s, i, &l, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    return l;
}

static void expect_refused(ps_store *s, size_t i, const char *with) {
    ps_loaded *l = NULL;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_store_get(s, i, &l, &err), PS_NOTHING);
    assert_null(l);
    if (strstr(err.msg, with) == NULL) {
        fail_msg("'%s' does not say '%s'", err.msg, with);
    }
}

/* --- cases ---------------------------------------------------------------------------------------------------- */

static atomic_uint n_changes;

static void changed(void *context) {
    assert_string_equal(context, "told");
    atomic_fetch_add(&n_changes, 1);
}

static void all_are_read(void **state) {
    place *p = *state;
    write_ranks(p, 5);
    ps_store *s = open_store(p, &(ps_store_opts){.changed = changed, .context = (char *)"told"});
    assert_int_equal(ps_store_n_ranks(s), 5);
    assert_int_equal(ps_store_n_clusters(s), 1);
    for (size_t i = 0; i < 5; i++) {
        wait_for(s, i, PS_STATE_READY);
        const ps_rank_entry *e = ps_store_rank(s, i);
        char label[32];
        (void)snprintf(label, sizeof label, "rank %zu", i);
        assert_string_equal(e->label, label);
        assert_string_equal(e->host, "");
        assert_int_equal(strlen(e->key), 16);
        assert_int_equal(strspn(e->key, "0123456789abcdef"), 16);
        assert_int_equal(ps_store_find(s, e->key, 16), i);
        ps_loaded *l = take(s, i);
        assert_int_equal(ps_loaded_n_slices(l), 100 + i);
        ps_loaded_release(l);
        assert_true(ps_store_status(s, i).progress == 1);
        assert_true(ps_store_status(s, i).seq <= ps_store_seq(s));
    }
    assert_int_equal(ps_store_find(s, "0123456789abcdef", 16), SIZE_MAX);
    assert_int_equal(ps_store_find(s, ps_store_rank(s, 0)->key, 15), SIZE_MAX);
    ps_store_free(s);
    assert_true(atomic_load(&n_changes) >= 10); /* reading and ready, five times */
}

/* The same file has the same key next time; another one has not. */
static void keys(void **state) {
    place *p = *state;
    write_ranks(p, 2);
    ps_store *s = open_store(p, NULL);
    char first[32];
    (void)snprintf(first, sizeof first, "%s", ps_store_rank(s, 0)->key);
    assert_string_not_equal(first, ps_store_rank(s, 1)->key);
    ps_store_free(s);
    s = open_store(p, NULL);
    assert_string_equal(first, ps_store_rank(s, 0)->key);
    ps_store_free(s);
    write_trace(place_path(p, "rank_0.json"), 77);
    s = open_store(p, NULL);
    assert_string_not_equal(first, ps_store_rank(s, 0)->key);
    ps_store_free(s);
    /* one folder given twice: two entries, two keys; its name, since nothing tells them apart */
    const char *paths[] = {p->dir, p->dir};
    s = ps_store_new(paths, 2, NULL, NULL);
    assert_non_null(s);
    assert_int_equal(ps_store_n_ranks(s), 4);
    assert_int_equal(ps_store_n_clusters(s), 2);
    assert_string_not_equal(ps_store_rank(s, 0)->key, ps_store_rank(s, 2)->key);
    char label[TEST_PATH];
    (void)snprintf(label, sizeof label, "rank 0 in %s", strrchr(p->dir, '/') + 1);
    assert_string_equal(ps_store_rank(s, 0)->label, label);
    ps_store_free(s);
    /* two folders: the names of the folders */
    place one = place_inner(p, "before");
    place two = place_inner(p, "after");
    write_ranks(&one, 1);
    write_ranks(&two, 1);
    const char *both[] = {one.dir, two.dir};
    s = ps_store_new(both, 2, NULL, NULL);
    assert_non_null(s);
    assert_string_equal(ps_store_rank(s, 0)->label, "rank 0 in before");
    assert_string_equal(ps_store_rank(s, 1)->label, "rank 0 in after");
    ps_store_free(s);
}

static void nothing_there(void **state) {
    place *p = *state;
    const char *path = p->dir;
    ps_err err = PS_ERR_INIT;
    assert_null(ps_store_new(&path, 1, NULL, &err));
    assert_int_equal(err.code, PS_NOTHING);
    path = place_path(p, "no such folder");
    assert_null(ps_store_new(&path, 1, NULL, &err));
    assert_int_equal(err.code, PS_NOT_FOUND);
}

/* Of many ranks the first ones are read; others when somebody asks, the last wish first. */
static void wanted_first(void **state) {
    place *p = *state;
    write_ranks(p, PS_STORE_AUTO + 4);
    ps_store *s = open_store(p, &(ps_store_opts){.n_threads = 1});
    size_t last = PS_STORE_AUTO + 3;
    expect_refused(s, last, "nobody has asked for it");
    ps_store_want(s, last);
    wait_for(s, last, PS_STATE_READY);
    for (size_t i = 0; i < PS_STORE_AUTO; i++) {
        wait_for(s, i, PS_STATE_READY);
    }
    for (size_t i = PS_STORE_AUTO; i < last; i++) {
        assert_int_equal(ps_store_status(s, i).state, PS_STATE_WAITING);
    }
    uint64_t seq = ps_store_seq(s);
    ps_store_want(s, 0); /* is there */
    assert_int_equal(ps_store_seq(s), seq);
    ps_store_free(s);
}

/* What does not fit goes: nobody's first, never what is held. */
static void budget(void **state) {
    place *p = *state;
    for (int i = 0; i < 3; i++) {
        write_trace(place_path(p, "rank_%d.json", i), 20000);
    }
    ps_store *s = open_store(p, &(ps_store_opts){.n_threads = 1, .max_bytes = 1});
    /* nothing fits into a byte: what nobody asks for is not read */
    for (size_t i = 0; i < 3; i++) {
        wait_for(s, i, PS_STATE_WAITING);
    }
    ps_store_want(s, 0);
    wait_for(s, 0, PS_STATE_READY);
    ps_loaded *held = take(s, 0);
    ps_store_want(s, 1);
    wait_for(s, 1, PS_STATE_READY);
    assert_int_equal(ps_store_status(s, 0).state, PS_STATE_READY); /* held */
    ps_store_want(s, 2);
    wait_for(s, 2, PS_STATE_READY);
    assert_int_equal(ps_store_status(s, 1).state, PS_STATE_WAITING);
    assert_int_equal(ps_loaded_n_slices(held), 20000);
    ps_loaded_release(held);
    expect_refused(s, 1, "nobody has asked");
    ps_store_want(s, 1);
    wait_for(s, 1, PS_STATE_READY);
    assert_int_equal(ps_store_status(s, 0).state, PS_STATE_WAITING);
    assert_int_equal(ps_store_status(s, 2).state, PS_STATE_WAITING);
    ps_store_free(s);
}

static void wait_failed(ps_store *s, size_t i) {
    for (int turn = 0; turn < 20000 && ps_store_status(s, i).state != PS_STATE_FAILED; turn++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(ps_store_status(s, i).state, PS_STATE_FAILED);
}

/* What is in memory stays when its file goes; what is not there fails with the file's name, and can be tried again. */
static void file_goes(void **state) {
    place *p = *state;
    write_ranks(p, PS_STORE_AUTO + 2);
    ps_store *s = open_store(p, NULL);
    wait_for(s, 0, PS_STATE_READY);
    assert_int_equal(unlink(place_path(p, "rank_0.json")), 0);
    ps_loaded *l = take(s, 0);
    assert_int_equal(ps_loaded_n_slices(l), 100);
    ps_loaded_release(l);
    size_t late = PS_STORE_AUTO + 1;
    const char *path = place_path(p, "rank_%zu.json", late);
    char aside[TEST_PATH];
    (void)snprintf(aside, sizeof aside, "%s.aside", path);
    assert_int_equal(rename(path, aside), 0);
    ps_store_want(s, late);
    wait_failed(s, late);
    ps_err err = ps_store_status(s, late).err;
    assert_int_equal(err.code, PS_NOT_FOUND);
    assert_non_null(strstr(err.file, "rank_17.json"));
    expect_refused(s, late, "could not be read");
    assert_int_equal(rename(aside, place_path(p, "rank_%zu.json", late)), 0);
    ps_store_want(s, late);
    wait_for(s, late, PS_STATE_READY);
    ps_store_free(s);
}

/* A key never stands for two contents. */
static void file_changes(void **state) {
    place *p = *state;
    write_ranks(p, PS_STORE_AUTO + 1);
    ps_store *s = open_store(p, NULL);
    assert_int_equal(truncate(place_path(p, "rank_%d.json", PS_STORE_AUTO), 200), 0);
    ps_store_want(s, PS_STORE_AUTO);
    wait_failed(s, PS_STORE_AUTO);
    assert_int_equal(ps_store_status(s, PS_STORE_AUTO).err.code, PS_CHANGED);
    expect_refused(s, PS_STORE_AUTO, "start pipescope serve again");
    ps_store_free(s);
}

/* The same to look at (size, times, place), another inside: as when a table beside the timeline was written anew. */
static void content_changes(void **state) {
    place *p = *state;
    for (int i = 0; i < 2; i++) {
        write_trace(place_path(p, "rank_%d.json", i), 20000);
    }
    ps_store *s = open_store(p, &(ps_store_opts){.n_threads = 1, .max_bytes = 1});
    for (size_t i = 0; i < 2; i++) {
        wait_for(s, i, PS_STATE_WAITING);
    }
    ps_store_want(s, 0);
    wait_for(s, 0, PS_STATE_READY);
    ps_store_want(s, 1);
    wait_for(s, 1, PS_STATE_READY);
    assert_int_equal(ps_store_status(s, 0).state, PS_STATE_WAITING);
    struct stat before;
    const char *path = place_path(p, "rank_0.json");
    assert_int_equal(stat(path, &before), 0);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(
        fseek(f, (long)strlen("{\"traceEvents\":[{\"ph\":\"X\",\"name\":\""), SEEK_SET), 0);
    (void)fputs("no", f);
    assert_int_equal(fclose(f), 0);
    const struct timespec times[] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    ps_store_want(s, 0);
    wait_failed(s, 0);
    assert_int_equal(ps_store_status(s, 0).err.code, PS_CHANGED);
    expect_refused(s, 0, "start pipescope serve again");
    ps_store_free(s);
}

static void one_trace(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    ps_store *s = ps_store_of_trace(sample_of_everything(), "some-key", &err);
    assert_non_null(s);
    assert_int_equal(ps_store_n_ranks(s), 1);
    assert_int_equal(ps_store_find(s, "some-key", 8), 0);
    assert_int_equal(ps_store_status(s, 0).state, PS_STATE_READY);
    ps_loaded *l = take(s, 0);
    assert_true(ps_loaded_n_slices(l) > 0);
    ps_loaded_release(l);
    ps_store_want(s, 0);
    ps_loaded_release(NULL);
    ps_store_free(s);
    ps_store_free(NULL);
}

/* A file of some size tells how far it is, and reading it ends when nobody wants it any more. */
static void ends_early(void **state) {
    place *p = *state;
    write_trace(place_path(p, "rank_0.json"), 400000);
    atomic_store(&n_changes, 0);
    for (int turn = 0; turn < 3; turn++) {
        ps_store *s =
            open_store(p, &(ps_store_opts){.changed = changed, .context = (char *)"told"});
        uint64_t seq = ps_store_seq(s);
        while (turn > 0 && ps_store_status(s, 0).state != PS_STATE_READY) {
            ps_rank_status_now now = ps_store_status(s, 0);
            assert_true(now.progress >= 0 && now.progress <= 1 && now.seq >= seq);
            seq = now.seq;
        }
        ps_store_free(s); /* the first time while it is read */
    }
    /* Each is begun, ready, and tells of 22 MB once on the way at least; a machine that takes long hears of more. */
    assert_true(atomic_load(&n_changes) >= 2 * 3);
}

static unsigned outlined_slices(ps_store *s, size_t i) {
    ps_buf out = {0};
    ps_json j = ps_json_to(&out);
    ps_outline_put(ps_store_outline(s, i), &j);
    const char *at = strstr(ps_buf_str(&out), "\"slices\":");
    assert_non_null(at);
    unsigned n = (unsigned)strtoul(at + strlen("\"slices\":"), NULL, 10);
    ps_buf_fini(&out);
    return n;
}

/* What the threads that read saw of the second rank's outline when they told of it. */
typedef struct outline_seen {
    pthread_mutex_t lock;
    ps_store *s; /* NULL: not yet */
    unsigned least, most;
} outline_seen;

static void see_outline(void *context) {
    outline_seen *seen = context;
    (void)pthread_mutex_lock(&seen->lock);
    unsigned n = seen->s != NULL && ps_store_n_ranks(seen->s) > 1 ? outlined_slices(seen->s, 1) : 0;
    seen->least = n > 0 && (seen->least == 0 || n < seen->least) ? n : seen->least;
    seen->most = n > seen->most ? n : seen->most;
    (void)pthread_mutex_unlock(&seen->lock);
}

/* The first 65,536 slices are told of when they are there, whatever the time; a rank that is there has no outline. */
static void outline_on_the_way(void **state) {
    place *p = *state;
    write_trace(place_path(p, "rank_0.json"), 100);
    assert_int_equal(mkdir(place_path(p, "more"), 0700), 0);
    write_trace(place_path(p, "more/rank_0.json"), 200000);
    const char *first = place_path(p, "rank_0.json");
    const char *paths[] = {first};
    outline_seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    ps_err err = PS_ERR_INIT;
    ps_store_opts opts = {.changed = see_outline, .context = &seen, .captures = p->dir};
    ps_store *s = ps_store_new(paths, 1, &opts, &err);
    assert_non_null(s);
    (void)pthread_mutex_lock(&seen.lock);
    seen.s = s;
    (void)pthread_mutex_unlock(&seen.lock);
    size_t cluster = 0;
    assert_int_equal(ps_store_open(s, place_path(p, "more"), &cluster, &err), PS_OK);
    wait_for(s, 1, PS_STATE_READY);
    assert_int_equal(outlined_slices(s, 1), 0);
    ps_store_free(s);
    assert_int_equal(seen.least, 65536);
    assert_true(seen.most % 65536 == 0 && seen.most <= 196608);
}

/* Many threads want, take and give back while a small budget makes ranks come and go. */
typedef struct client {
    ps_store *s;
    unsigned seed;
} client;

static void *use(void *context) {
    client *c = context;
    for (int i = 0; i < 300; i++) {
        c->seed = c->seed * 1103515245u + 12345u;
        size_t rank = (c->seed >> 16) % ps_store_n_ranks(c->s);
        ps_loaded *l = NULL;
        ps_err err = PS_ERR_INIT;
        if (ps_store_get(c->s, rank, &l, &err) == PS_OK) {
            (void)ps_loaded_links(l, &err);
            (void)ps_loaded_n_slices(l);
            ps_loaded_release(l);
        } else {
            ps_store_want(c->s, rank);
        }
        (void)ps_store_status(c->s, rank);
    }
    return NULL;
}

static void many_clients(void **state) {
    place *p = *state;
    write_ranks(p, 6);
    ps_store *s = open_store(p, &(ps_store_opts){.n_threads = 2, .max_bytes = 60000});
    enum { N = 4 };
    pthread_t threads[N];
    client clients[N];
    for (unsigned i = 0; i < N; i++) {
        clients[i] = (client){s, i};
        assert_int_equal(pthread_create(&threads[i], NULL, use, &clients[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    ps_store_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(all_are_read),    IN_PLACE(keys),
        IN_PLACE(nothing_there),   IN_PLACE(wanted_first),
        IN_PLACE(budget),          IN_PLACE(file_goes),
        IN_PLACE(file_changes),    IN_PLACE(many_clients),
        IN_PLACE(ends_early),      IN_PLACE(outline_on_the_way),
        IN_PLACE(content_changes), cmocka_unit_test(one_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
