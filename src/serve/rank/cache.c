/* Entries in a chained hash table and in a list by last use. A value that is being made is an entry already, so that a
 * second thread that wants it waits instead of making it too. What is larger than the cache lives while it is held. */
#include "serve/rank/cache.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { N_BUCKETS = 512, MAX_ENTRIES = 2048, LOOK_MS = 250 };

typedef struct entry {
    struct entry *chain;         /* of its bucket */
    struct entry *newer, *older; /* by last use */
    uint64_t hash;
    ps_cached cached;
    size_t n_holders;
    bool is_made;
    char key[];
} entry;

struct ps_cache {
    pthread_mutex_t lock;
    pthread_cond_t made; /* or given up */
    entry *buckets[N_BUCKETS];
    entry *newest, *oldest;
    size_t n, bytes, max_bytes;
};

ps_cache *ps_cache_new(size_t max_bytes) {
    ps_cache *c = ps_calloc(1, sizeof *c);
    if (c != NULL) {
        pthread_condattr_t attr;
        (void)pthread_condattr_init(&attr);
        (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        (void)pthread_mutex_init(&c->lock, NULL);
        (void)pthread_cond_init(&c->made, &attr);
        (void)pthread_condattr_destroy(&attr);
        c->max_bytes = max_bytes;
    }
    return c;
}

/* --- the list, under the lock ---------------------------------------------------------------------------------- */

static void unlist(ps_cache *c, entry *e) {
    *(e->newer != NULL ? &e->newer->older : &c->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &c->oldest) = e->newer;
    e->newer = NULL;
    e->older = NULL;
}

static void list_newest(ps_cache *c, entry *e) {
    e->older = c->newest;
    *(c->newest != NULL ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static entry *find_cache(const ps_cache *c, uint64_t hash, const char *key) {
    entry *e = c->buckets[hash % N_BUCKETS];
    while (e != NULL && (e->hash != hash || strcmp(e->key, key) != 0)) {
        e = e->chain;
    }
    return e;
}

static entry *add_cache(ps_cache *c, uint64_t hash, const char *key) {
    size_t n = strlen(key) + 1;
    entry *e = ps_calloc(1, sizeof *e + n);
    if (e != NULL) {
        memcpy(e->key, key, n);
        e->hash = hash;
        e->chain = c->buckets[hash % N_BUCKETS];
        c->buckets[hash % N_BUCKETS] = e;
        list_newest(c, e);
        c->n++;
    }
    return e;
}

static void take_out(ps_cache *c, entry *e) {
    entry **link = &c->buckets[e->hash % N_BUCKETS];
    while (*link != e) {
        link = &(*link)->chain;
    }
    *link = e->chain;
    unlist(c, e);
    c->n--;
    c->bytes -= e->is_made ? e->cached.bytes : 0;
}

static void free_entry(entry *e) {
    if (e->is_made && e->cached.free_value != NULL) {
        e->cached.free_value(e->cached.value);
    }
    ps_free(e);
}

/* Takes out what is too much and nobody holds; a chain of entries that the caller frees without the lock. */
static entry *evict(ps_cache *c) {
    entry *gone = NULL;
    entry *e = c->oldest;
    while (e != NULL && (c->bytes > c->max_bytes || c->n > MAX_ENTRIES)) {
        entry *newer = e->newer;
        if (e->is_made && e->n_holders == 0) {
            take_out(c, e);
            e->chain = gone;
            gone = e;
        }
        e = newer;
    }
    return gone;
}

static void free_chain(entry *e) {
    while (e != NULL) {
        entry *next = e->chain;
        free_entry(e);
        e = next;
    }
}

/* --- for others ------------------------------------------------------------------------------------------------ */

void ps_cache_free(ps_cache *c) {
    if (c == NULL) {
        return;
    }
    while (c->oldest != NULL) {
        entry *e = c->oldest;
        take_out(c, e);
        free_entry(e);
    }
    (void)pthread_cond_destroy(&c->made);
    (void)pthread_mutex_destroy(&c->lock);
    ps_free(c);
}

/* Until an entry is made or given up, or for a moment. Under the lock. */
static void wait_for_made(ps_cache *c) {
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += (long)LOOK_MS * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&c->made, &c->lock, &end);
}

/* The entry of a key, held by the caller: made, or (*is_mine) to be made by the caller. NULL: no memory, PS_BUSY. */
static entry *hold_cache(ps_cache *c, const char *key, const ps_watch *watch, bool *is_mine,
                         ps_err *err) {
    uint64_t hash = ps_hash64_seeded(key, strlen(key));
    *is_mine = false;
    (void)pthread_mutex_lock(&c->lock);
    entry *e = find_cache(c, hash, key);
    ps_code code = PS_OK;
    while (code == PS_OK && e != NULL && !e->is_made) {
        wait_for_made(c);
        code = ps_watch_ask(watch, err);
        e = find_cache(c, hash, key);
    }
    if (code == PS_OK && e == NULL) {
        e = add_cache(c, hash, key);
        *is_mine = true;
        code = e != NULL ? PS_OK : ps_fail_nomem(err);
    }
    e = code == PS_OK ? e : NULL;
    if (e != NULL) {
        e->n_holders++;
        unlist(c, e);
        list_newest(c, e);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return e;
}

ps_code ps_cache_get(ps_cache *c, const char *key,
                     ps_code (*make)(void *context, ps_cached *out, ps_err *err), void *context,
                     const ps_watch *watch, void **value, ps_err *err) {
    ps_err own = PS_ERR_INIT;
    err = err != NULL ? err : &own;
    *value = NULL;
    bool is_mine = false;
    entry *e = hold_cache(c, key, watch, &is_mine, err);
    if (e == NULL) {
        return err->code;
    }
    if (!is_mine) {
        *value = e->cached.value;
        return PS_OK;
    }
    ps_cached cached = {0};
    ps_code code = make(context, &cached, err);
    (void)pthread_mutex_lock(&c->lock);
    entry *gone = NULL;
    if (code == PS_OK) {
        cached.bytes += sizeof *e + strlen(e->key);
        e->cached = cached;
        e->is_made = true;
        c->bytes += cached.bytes;
        *value = cached.value;
        gone = evict(c);
    } else {
        take_out(c, e);
        e->chain = NULL;
        gone = e;
    }
    (void)pthread_cond_broadcast(&c->made);
    (void)pthread_mutex_unlock(&c->lock);
    free_chain(gone);
    return code;
}

void ps_cache_release(ps_cache *c, void *value) {
    if (value == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&c->lock);
    entry *e = c->newest;
    while (e != NULL && !(e->is_made && e->n_holders > 0 && e->cached.value == value)) {
        e = e->older;
    }
    if (e != NULL) {
        e->n_holders--;
    }
    entry *gone = evict(c);
    bool is_there = e != NULL && find_cache(c, e->hash, e->key) == e;
    if (is_there && e->n_holders == 0 && e->cached.is_passing) {
        take_out(c, e);
        e->chain = gone;
        gone = e;
    }
    (void)pthread_mutex_unlock(&c->lock);
    free_chain(gone);
}
