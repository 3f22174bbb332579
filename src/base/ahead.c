#include "base/ahead.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

enum { N_PIECES = 3 };
#define PIECE_BYTES ((size_t)1 << 19)

typedef struct piece {
    uint8_t *bytes;
    size_t n, at;
} piece;

struct ps_ahead {
    ps_ahead_fill *fill;
    void *context;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below; a piece belongs to one side at a time */
    pthread_cond_t changed;
    piece
        ring[N_PIECES]; /* pieces first .. first + n - 1 (mod N_PIECES) are made and not yet read */
    size_t first, n;
    bool ended, stop;
    ps_code code;
    ps_err err;
};

static void *ahead_work(void *arg) {
    ps_ahead *a = arg;
    (void)pthread_mutex_lock(&a->lock);
    while (!a->stop && !a->ended) {
        if (a->n == N_PIECES) {
            (void)pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        piece *p = &a->ring[(a->first + a->n) % N_PIECES];
        (void)pthread_mutex_unlock(&a->lock);
        ps_err err = PS_ERR_INIT;
        p->at = 0;
        ps_code code = a->fill(a->context, p->bytes, PIECE_BYTES, &p->n, &err);
        (void)pthread_mutex_lock(&a->lock);
        a->n += code == PS_OK;
        a->ended = code != PS_OK || p->n < PIECE_BYTES;
        a->code = code;
        a->err = err;
        (void)pthread_cond_signal(&a->changed);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void free_all(ps_ahead *a) {
    for (size_t i = 0; i < N_PIECES; i++) {
        ps_free(a->ring[i].bytes);
    }
    (void)pthread_cond_destroy(&a->changed);
    (void)pthread_mutex_destroy(&a->lock);
    ps_free(a);
}

ps_ahead *ps_ahead_new(ps_ahead_fill *fill, void *context) {
    ps_ahead *a = ps_calloc(1, sizeof *a);
    if (a == NULL) {
        return NULL;
    }
    a->fill = fill;
    a->context = context;
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_cond_init(&a->changed, NULL);
    bool ok = true;
    for (size_t i = 0; i < N_PIECES; i++) {
        a->ring[i].bytes = ps_alloc(PIECE_BYTES);
        ok = ok && a->ring[i].bytes != NULL;
    }
    if (!ok || pthread_create(&a->thread, NULL, ahead_work, a) != 0) {
        free_all(a);
        return NULL;
    }
    return a;
}

void ps_ahead_free(ps_ahead *a) {
    if (a != NULL) {
        (void)pthread_mutex_lock(&a->lock);
        a->stop = true;
        (void)pthread_cond_signal(&a->changed);
        (void)pthread_mutex_unlock(&a->lock);
        (void)pthread_join(a->thread, NULL);
        free_all(a);
    }
}

/* The piece to read from; NULL at the end. */
static piece *wait_for_piece(ps_ahead *a) {
    (void)pthread_mutex_lock(&a->lock);
    while (a->n == 0 && !a->ended) {
        (void)pthread_cond_wait(&a->changed, &a->lock);
    }
    piece *p = a->n > 0 ? &a->ring[a->first] : NULL;
    (void)pthread_mutex_unlock(&a->lock);
    return p;
}

static void release_ahead(ps_ahead *a) {
    (void)pthread_mutex_lock(&a->lock);
    a->first = (a->first + 1) % N_PIECES;
    a->n--;
    (void)pthread_cond_signal(&a->changed);
    (void)pthread_mutex_unlock(&a->lock);
}

ps_code ps_ahead_read(ps_ahead *a, uint8_t *out, size_t cap, size_t *n, ps_err *err) {
    *n = 0;
    while (*n < cap) {
        piece *p = wait_for_piece(a);
        if (p == NULL) {
            if (a->code != PS_OK) {
                if (err != NULL) {
                    *err = a->err;
                }
                return a->code;
            }
            return PS_OK;
        }
        size_t left = p->n - p->at;
        size_t take = left < cap - *n ? left : cap - *n;
        memcpy(out + *n, p->bytes + p->at, take);
        p->at += take;
        *n += take;
        if (p->at == p->n) {
            release_ahead(a);
        }
    }
    return PS_OK;
}
