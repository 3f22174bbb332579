/* A ring of blocks. One thread at a time reads the next one from the input, whichever is free; then it parses what it
 * read, and reads again. The caller's thread takes part while the block that it wants is not ready. */
#include "read/events/trace_events_blocks.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"

#define BLOCK_BYTES ((size_t)1 << 19)
enum { MAX_THREADS = 64 };

enum { FREE, BUSY, READY, TAKEN };

typedef struct worker {
    struct ps_blocks *blocks;
    pthread_t thread;
    ps_shapes shapes;
} worker;

struct ps_blocks {
    ps_input *in;
    const ps_event_schema *schema;
    ps_stretch_fast *fast;
    size_t block_bytes;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    ps_event_block
        *ring; /* blocks first .. first + n - 1 (mod n_ring) are in file order, the others free */
    size_t n_ring, first, n;
    bool reading, ended, stop, ahead, is_object;

    /* of the thread that reads */
    char *carry; /* what was cut off the block before */
    size_t n_carry;
    uint64_t offset;
    bool cut_at_event;

    worker caller, *workers;
    size_t n_workers, n_started;
    bool no_more_threads;
};

/* --- reading --------------------------------------------------------------------------------------------- */

static const char *space_before(const char *begin, const char *p) {
    while (p > begin && ps_json_is_space(p[-1])) {
        p--;
    }
    return p;
}

/* Whether `}`, `,` stand before the brace and `"` behind it, with white space or without. */
static bool looks_like_event(const char *begin, const char *brace, const char *end) {
    const char *comma = space_before(begin, brace);
    if (comma == begin || comma[-1] != ',') {
        return false;
    }
    const char *before = space_before(begin, comma - 1);
    if (before == begin || before[-1] != '}') {
        return false;
    }
    const char *behind = brace + 1;
    while (behind < end && ps_json_is_space(*behind)) {
        behind++;
    }
    return behind < end && *behind == '"';
}

/* Bytes before the last brace that looks like the beginning of an event, or all. */
static size_t find_cut(const char *text, size_t n) {
    size_t left = n;
    const char *brace = NULL;
    while (left > 0 && (brace = memrchr(text, '{', left)) != NULL) {
        if (looks_like_event(text, brace, text + n)) {
            return (size_t)(brace - text);
        }
        left = (size_t)(brace - text);
    }
    return n;
}

static void fill_block(ps_blocks *b, ps_event_block *k) {
    size_t want = b->block_bytes - b->n_carry;
    size_t got = 0;
    k->code = PS_OK;
    k->err = PS_ERR_INIT;
    k->is_parsed = false;
    k->begins_event = b->cut_at_event;
    k->offset = b->offset;
    if (k->text == NULL && (k->text = ps_alloc(b->block_bytes + PS_JSON_PAD)) == NULL) {
        k->code = ps_fail_nomem(&k->err);
    }
    if (k->code == PS_OK) {
        memcpy(k->text, b->carry, b->n_carry);
        k->code = ps_input_read(b->in, k->text + b->n_carry, want, &got, &k->err);
    }
    k->is_last = k->code != PS_OK || got < want;
    k->n = k->code == PS_OK ? b->n_carry + got : 0;
    size_t all = k->n;
    k->n = k->is_last ? all : find_cut(k->text, all);
    b->n_carry = all - k->n;
    b->cut_at_event = b->n_carry > 0;
    b->offset += k->n;
    if (k->code == PS_OK) {
        memcpy(b->carry, k->text + k->n, b->n_carry);
        memset(k->text + k->n, 0, PS_JSON_PAD);
    }
}

/* --- parsing ahead ----------------------------------------------------------------------------------------- */

static bool prepare_block(ps_stretch *x, const ps_blocks *b, worker *w) {
    if (x->schema == NULL && !ps_stretch_init(x, b->schema)) {
        *x = (ps_stretch){0};
        return false;
    }
    x->shapes = &w->shapes;
    x->fast = b->fast;
    return true;
}

static void parse_block(ps_blocks *b, worker *w, ps_event_block *k, bool is_object) {
    ps_stretch *x = &k->x;
    if (k->code != PS_OK || !k->begins_event || !prepare_block(x, b, w)) {
        return; /* without memory the caller fares no better, and says so */
    }
    x->begin = x->at = k->text;
    x->end = k->text + k->n;
    x->offset = k->offset;
    x->at_eof = k->is_last;
    x->is_object = is_object;
    x->is_first = false;
    x->expect = PS_EXPECT_ELEMENT;
    k->end = ps_stretch_run(x);
    k->is_parsed = true;
}

/* With the lock held: reads the next block, which must be free to be read, and parses it when that is wanted. */
static void take_turn(ps_blocks *b, worker *w) {
    ps_event_block *k = &b->ring[(b->first + b->n) % b->n_ring];
    b->reading = true;
    k->state = BUSY;
    b->n++;
    (void)pthread_mutex_unlock(&b->lock);
    fill_block(b, k);
    (void)pthread_mutex_lock(&b->lock);
    b->reading = false;
    b->ended = k->is_last;
    bool is_object = b->is_object;
    bool is_next = w == &b->caller && k == &b->ring[b->first];
    if (b->ahead && !is_next) {
        (void)pthread_cond_broadcast(&b->changed);
        (void)pthread_mutex_unlock(&b->lock);
        parse_block(b, w, k, is_object);
        (void)pthread_mutex_lock(&b->lock);
    }
    k->state = READY;
    (void)pthread_cond_broadcast(&b->changed);
}

static bool may_read(const ps_blocks *b) {
    return !b->reading && !b->ended && b->n < b->n_ring;
}

static void *block_work(void *arg) {
    worker *w = arg;
    ps_blocks *b = w->blocks;
    (void)pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        if (b->ahead && may_read(b)) {
            take_turn(b, w);
        } else {
            (void)pthread_cond_wait(&b->changed, &b->lock);
        }
    }
    (void)pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* --- the caller's side --------------------------------------------------------------------------------------- */

/* Fewer threads do the same work, so one that cannot be started is no error. */
static void start_workers(ps_blocks *b) {
    while (b->n_started < b->n_workers && !b->no_more_threads) {
        worker *w = &b->workers[b->n_started];
        b->no_more_threads = pthread_create(&w->thread, NULL, block_work, w) != 0;
        b->n_started += !b->no_more_threads;
    }
}

ps_event_block *ps_blocks_next(ps_blocks *b, bool ahead, bool is_object) {
    ps_event_block *k = NULL;
    (void)pthread_mutex_lock(&b->lock);
    if (ahead && !b->ahead) {
        (void)pthread_cond_broadcast(&b->changed);
    }
    b->ahead = ahead && b->n_workers > 0;
    b->is_object = is_object;
    if (b->ahead && !b->ended) {
        start_workers(b);
    }
    for (;;) {
        k = b->n > 0 ? &b->ring[b->first] : NULL;
        if ((k != NULL && k->state == READY) || (k == NULL && b->ended)) {
            break;
        }
        if (may_read(b)) {
            take_turn(b, &b->caller);
        } else {
            (void)pthread_cond_wait(&b->changed, &b->lock);
        }
    }
    if (k != NULL) {
        k->state = TAKEN;
    }
    (void)pthread_mutex_unlock(&b->lock);
    return k;
}

void ps_blocks_release(ps_blocks *b, ps_event_block *block) {
    (void)pthread_mutex_lock(&b->lock);
    block->state = FREE;
    b->first = (b->first + 1) % b->n_ring;
    b->n--;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->lock);
}

ps_shapes *ps_blocks_shapes(ps_blocks *b) {
    return &b->caller.shapes;
}

ps_stretch_fast *ps_blocks_fast(const ps_blocks *b) {
    return b->fast;
}

static bool init_workers(ps_blocks *b) {
    b->workers = ps_calloc(b->n_workers, sizeof *b->workers);
    bool ok = b->workers != NULL && ps_shapes_init(&b->caller.shapes, b->schema);
    for (size_t i = 0; ok && i < b->n_workers; i++) {
        b->workers[i].blocks = b;
        ok = ps_shapes_init(&b->workers[i].shapes, b->schema);
    }
    return ok;
}

ps_blocks *ps_blocks_new(ps_input *in, const ps_event_schema *schema,
                         const ps_event_tuning *tuning) {
    ps_blocks *b = ps_calloc(1, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    size_t n_threads = tuning->n_threads > 0 ? tuning->n_threads : ps_n_processors();
    n_threads = n_threads < MAX_THREADS ? n_threads : MAX_THREADS;
    b->in = in;
    b->schema = schema;
    b->fast = ps_stretch_fast_of(tuning->simd);
    b->block_bytes = tuning->block_bytes > 0 ? tuning->block_bytes : BLOCK_BYTES;
    b->n_workers = n_threads - 1;
    b->n_ring = n_threads > 1 ? n_threads + 2 : 1;
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_cond_init(&b->changed, NULL);
    b->ring = ps_calloc(b->n_ring, sizeof *b->ring);
    b->carry = ps_alloc(b->block_bytes);
    if (b->ring == NULL || b->carry == NULL || !init_workers(b)) {
        ps_blocks_free(b);
        return NULL;
    }
    return b;
}

void ps_blocks_free(ps_blocks *b) {
    if (b == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&b->lock);
    b->stop = true;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->lock);
    for (size_t i = 0; i < b->n_started; i++) {
        (void)pthread_join(b->workers[i].thread, NULL);
    }
    for (size_t i = 0; b->ring != NULL && i < b->n_ring; i++) {
        ps_free(b->ring[i].text);
        ps_stretch_fini(&b->ring[i].x);
    }
    for (size_t i = 0; b->workers != NULL && i < b->n_workers; i++) {
        ps_shapes_fini(&b->workers[i].shapes);
    }
    ps_shapes_fini(&b->caller.shapes);
    ps_free(b->workers);
    ps_free(b->ring);
    ps_free(b->carry);
    (void)pthread_cond_destroy(&b->changed);
    (void)pthread_mutex_destroy(&b->lock);
    ps_free(b);
}
