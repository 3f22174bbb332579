/* The cache: made once, kept while held, the oldest go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "serve/rank/cache.h"

typedef struct maker {
    atomic_int n_made, n_freed;
    size_t bytes;
    int n_failures; /* before it works */
} maker;

typedef struct value {
    maker *by;
    int number;
} value;

static void free_value(void *v) {
    atomic_fetch_add(&((value *)v)->by->n_freed, 1);
    ps_free(v);
}

static ps_code make(void *context, ps_cached *out, ps_err *err) {
    maker *m = context;
    (void)usleep(2000); /* so that others come meanwhile */
    int number = atomic_fetch_add(&m->n_made, 1);
    if (number < m->n_failures) {
        return ps_fail(err, PS_IO, "not yet");
    }
    value *v = ps_alloc(sizeof *v);
    *v = (value){m, number};
    *out = (ps_cached){.value = v, .bytes = m->bytes, .free_value = free_value};
    return PS_OK;
}

static value *get(ps_cache *c, const char *key, maker *m) {
    void *v = NULL;
    assert_int_equal(ps_cache_get(c, key, make, m, NULL, &v, NULL), PS_OK);
    return v;
}

static void kept_and_evicted(void **state) {
    (void)state;
    enum { MUCH = 1 << 20 }; /* beside what keeping a value costs */
    ps_cache *c = ps_cache_new(100 * MUCH);
    maker m = {.bytes = 40 * MUCH};
    value *a = get(c, "a", &m);
    assert_ptr_equal(get(c, "a", &m), a);
    assert_int_equal(m.n_made, 1);
    ps_cache_release(c, a);
    value *b = get(c, "b", &m);
    value *d = get(c, "d", &m); /* 120 MiB: too much, but all are held */
    assert_int_equal(m.n_freed, 0);
    ps_cache_release(c, a); /* the last holder of the oldest */
    assert_int_equal(m.n_freed, 1);
    ps_cache_release(c, b);
    ps_cache_release(c, d);
    assert_int_equal(m.n_freed, 1);
    ps_cache_release(c, get(c, "b", &m)); /* now the newer one */
    ps_cache_release(c, get(c, "e", &m));
    assert_int_equal(m.n_made, 4);
    assert_int_equal(m.n_freed, 2);
    ps_cache_release(c, get(c, "b", &m));
    assert_int_equal(m.n_made, 4);
    ps_cache_release(c, NULL);
    ps_cache_free(c);
    assert_int_equal(m.n_freed, 4);
    ps_cache_free(NULL);
}

static void larger_than_all(void **state) {
    (void)state;
    ps_cache *c = ps_cache_new(100);
    maker m = {.bytes = 1000};
    value *a = get(c, "a", &m);
    assert_ptr_equal(get(c, "a", &m), a);
    ps_cache_release(c, a);
    assert_int_equal(m.n_freed, 0);
    ps_cache_release(c, a);
    assert_int_equal(m.n_freed, 1);
    ps_cache_free(c);
}

static void failures_are_not_kept(void **state) {
    (void)state;
    ps_cache *c = ps_cache_new(100);
    maker m = {.bytes = 1, .n_failures = 1};
    void *v = &m;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_cache_get(c, "a", make, &m, NULL, &v, &err), PS_IO);
    assert_null(v);
    assert_string_equal(err.msg, "not yet");
    ps_cache_release(c, get(c, "a", &m));
    assert_int_equal(m.n_made, 2);
    ps_cache_free(c);
}

typedef struct crowd {
    ps_cache *cache;
    maker *maker;
} crowd;

static void *one_of_many(void *context) {
    crowd *all = context;
    for (int i = 0; i < 50; i++) {
        char key[8];
        (void)snprintf(key, sizeof key, "%d", i % 5);
        void *v = NULL;
        if (ps_cache_get(all->cache, key, make, all->maker, NULL, &v, NULL) == PS_OK) {
            ps_cache_release(all->cache, v);
        }
    }
    return NULL;
}

static void threads(void **state) {
    (void)state;
    maker m = {.bytes = 10, .n_failures = 3};
    crowd all = {ps_cache_new(1000), &m};
    pthread_t t[8];
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&t[i], NULL, one_of_many, &all), 0);
    }
    for (int i = 0; i < 8; i++) {
        (void)pthread_join(t[i], NULL);
    }
    assert_int_equal(m.n_made, 5 + 3); /* each once */
    ps_cache_free(all.cache);
    assert_int_equal(m.n_freed, 5);
}

static ps_code make_passing(void *context, ps_cached *out, ps_err *err) {
    ps_code code = make(context, out, err);
    out->is_passing = true;
    return code;
}

/* What was made while something failed is shared by those who ask meanwhile, and made anew for the next one. */
static void passing_values_are_not_kept(void **state) {
    (void)state;
    ps_cache *c = ps_cache_new(1000);
    maker m = {.bytes = 10};
    void *a = NULL;
    void *b = NULL;
    assert_int_equal(ps_cache_get(c, "a", make_passing, &m, NULL, &a, NULL), PS_OK);
    assert_int_equal(ps_cache_get(c, "a", make_passing, &m, NULL, &b, NULL), PS_OK);
    assert_ptr_equal(a, b);
    ps_cache_release(c, a);
    ps_cache_release(c, b);
    assert_int_equal(m.n_freed, 1);
    ps_cache_release(c, get(c, "a", &m));
    assert_int_equal(m.n_made, 2);
    ps_cache_free(c);
    assert_int_equal(m.n_freed, 2);
}

/* A request that waits for what another one makes gives up when its own client has gone. */
typedef struct slow_get {
    ps_cache *cache;
    atomic_bool has_begun, may_end;
} slow_get;

static ps_code make_slowly(void *context, ps_cached *out, ps_err *err) {
    slow_get *s = context;
    (void)out;
    atomic_store(&s->has_begun, true);
    while (!atomic_load(&s->may_end)) {
        (void)usleep(1000);
    }
    return ps_fail(err, PS_IO, "never made");
}

static void *get_slowly(void *context) {
    slow_get *s = context;
    void *v = NULL;
    assert_int_equal(ps_cache_get(s->cache, "slow", make_slowly, s, NULL, &v, NULL), PS_IO);
    return NULL;
}

static void waiters_give_up(void **state) {
    (void)state;
    slow_get s = {.cache = ps_cache_new(1000)};
    ps_watch gone = {.stop = true};
    maker m = {.bytes = 10};
    pthread_t t;
    ps_err err = PS_ERR_INIT;
    void *v = NULL;
    assert_int_equal(pthread_create(&t, NULL, get_slowly, &s), 0);
    while (!atomic_load(&s.has_begun)) {
        (void)usleep(1000);
    }
    assert_int_equal(ps_cache_get(s.cache, "slow", make, &m, &gone, &v, &err), PS_BUSY);
    assert_int_equal(m.n_made, 0);
    atomic_store(&s.may_end, true);
    (void)pthread_join(t, NULL);
    ps_cache_free(s.cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_and_evicted),
        cmocka_unit_test(larger_than_all),
        cmocka_unit_test(failures_are_not_kept),
        cmocka_unit_test(threads),
        cmocka_unit_test(passing_values_are_not_kept),
        cmocka_unit_test(waiters_give_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
