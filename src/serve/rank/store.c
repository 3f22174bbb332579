/* One lock guards states, queue and who holds what; it is never held while a file is read, memory is given back, or
 * somebody is told of a change.
 *
 * A rank goes WAITING -> QUEUED -> READING -> READY or FAILED, and from READY back to WAITING when others need its memory; from any of
 * them to CLOSED with its capture, while READING when the reader has seen it.
 * What somebody asked for comes first, the latest wish before the earlier ones; then the first PS_STORE_AUTO ranks in
 * order, as long as they fit.
 *
 * A key promises that what stands under it never changes. So a file that is no longer the one that was found is not read
 * under the old key: the rank fails and says so. What is in memory stays, whatever becomes of the file. A rank may have more
 * files than the one its key is made of (tables beside a timeline, the log of a database): when it is read again, it must
 * hold what it held before, since caches have numbers of its slices. */
#include "serve/rank/store.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/monotonic.h"
#include "base/threads.h"
#include "read/readers.h"
#include "serve/rank/loaded_make.h"
#include "serve/rank/roots.h"
#include "serve/rank/store_ranks.h"

/* How often a rank that is read tells of it: not at all for what is read in a blink, and no more often than eyes follow, for the page
 * that hears of it draws on the processors that read. */
enum { PROGRESS_STEPS = 32, PROGRESS_LEAST_BYTES = 4 << 20, PROGRESS_LEAST_MS = 250 };

#define MIN_BUDGET_BYTES ((size_t)256 << 20)

/* What changes of a rank. */
typedef struct place {
    ps_store *store;
    ps_rank_state state;
    uint64_t seq;      /* of the last change */
    int64_t told_ms;   /* when it last told how far it is */
    uint64_t wish;     /* when somebody last asked for it, 0: nobody */
    uint64_t last_use; /* when it was last taken */
    size_t n_held, bytes;
    bool is_closed;
    uint64_t fingerprint; /* when it was read first; 0: never */
    ps_watch watch;       /* of reading it */
    ps_outline outline;   /* while it is read; has a lock of its own */
    ps_loaded *loaded;
    ps_err err;
} place;

struct ps_store {
    ps_rank_list list;
    place *places; /* [list.cap] */
    ps_roots roots;
    ps_store_opts opts;
    pthread_t *threads;
    size_t n_started; /* of them; with the lock of opening */
    size_t n_threads; /* that may read side by side, in one file or several */
    size_t n_reading;
    size_t held_bytes;       /* ps_store_hold() */
    size_t n_open;           /* clusters */
    size_t baseline;         /* with has_baseline */
    bool *closed;            /* [list.cap_clusters] */
    pthread_mutex_t opening; /* one capture after the other; taken before the other lock */
    pthread_mutex_t lock;    /* of all that changes */
    pthread_cond_t work;
    uint64_t seq, clock;
    bool is_stopping, has_opening, has_lock, has_cond;
};

/* --- states (with the lock held) -------------------------------------------------------------------------------- */

static void set_state(ps_store *s, size_t i, ps_rank_state state) {
    s->places[i].state = state;
    s->places[i].seq = ++s->seq;
}

static size_t bytes_used(const ps_store *s) {
    size_t sum = s->held_bytes;
    for (size_t i = 0; i < s->list.n; i++) {
        sum += s->places[i].bytes;
    }
    return sum;
}

/* What reading a file will about take: measured on the samples, where text takes a quarter of its size and databases
 * little more than theirs. It only keeps several readers from going far beyond the budget at once. */
static size_t bytes_expected(const ps_store *s, size_t i) {
    return (size_t)s->list.files[i].size_bytes / 2;
}

static void measure_store(ps_store *s) {
    for (size_t i = 0; i < s->list.n; i++) {
        place *p = &s->places[i];
        if (p->loaded != NULL) {
            p->bytes = ps_loaded_total_bytes(p->loaded);
        } else if (p->state != PS_STATE_READING) {
            p->bytes = 0;
        }
    }
}

/* Takes out the rank that nobody holds and that was looked at longest ago; NULL when there is none but `but`. */
static ps_loaded *take_idle(ps_store *s, size_t but) {
    size_t oldest = SIZE_MAX;
    for (size_t i = 0; i < s->list.n; i++) {
        const place *p = &s->places[i];
        bool is_idle = i != but && p->state == PS_STATE_READY && p->n_held == 0;
        if (is_idle && (oldest == SIZE_MAX || p->last_use < s->places[oldest].last_use)) {
            oldest = i;
        }
    }
    if (oldest == SIZE_MAX) {
        return NULL;
    }
    place *p = &s->places[oldest];
    ps_loaded *l = p->loaded;
    p->loaded = NULL;
    p->bytes = 0;
    p->wish = 0;
    set_state(s, oldest, PS_STATE_WAITING);
    return l;
}

/* What a closed rank still holds, once nobody looks at it; else NULL. */
static ps_loaded *take_closed(place *p) {
    ps_loaded *l = p->n_held == 0 ? p->loaded : NULL;
    p->loaded = l != NULL ? NULL : p->loaded;
    p->bytes = l != NULL ? 0 : p->bytes;
    return l;
}

/* The next rank to read, SIZE_MAX when there is none. */
static size_t next_queued(const ps_store *s) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->list.n; i++) {
        const place *p = &s->places[i];
        if (p->state == PS_STATE_QUEUED && (best == SIZE_MAX || p->wish > s->places[best].wish)) {
            best = i;
        }
    }
    return best;
}

static size_t n_queued(const ps_store *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->list.n; i++) {
        n += s->places[i].state == PS_STATE_QUEUED;
    }
    return n;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

static void tell_store(ps_store *s) {
    if (s->opts.changed != NULL) {
        s->opts.changed(s->opts.context);
    }
}

/* Lets idle ranks go until `more` bytes fit as well. Unlocks while it frees. */
static void make_store_room(ps_store *s, size_t more, size_t but) {
    measure_store(s);
    while (bytes_used(s) + more > s->opts.max_bytes) {
        ps_loaded *l = take_idle(s, but);
        if (l == NULL) {
            return;
        }
        (void)pthread_mutex_unlock(&s->lock);
        ps_loaded_free(l);
        tell_store(s);
        (void)pthread_mutex_lock(&s->lock);
    }
}

/* So that those who wait for changes see how far it is. */
static void tell_further(place *p, bool at_once) {
    ps_store *s = p->store;
    int64_t now_ms = ps_monotonic_ms();
    (void)pthread_mutex_lock(&s->lock);
    bool is_due = at_once || now_ms - p->told_ms >= PROGRESS_LEAST_MS;
    if (is_due) {
        p->told_ms = now_ms;
        p->seq = ++s->seq;
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (is_due) {
        tell_store(s);
    }
}

static void come_further(void *context) {
    tell_further(context, false);
}

/* The first that there is to see is told of at once. */
static void add_outline(void *context, const ps_trace *so_far) {
    place *p = context;
    bool is_first = p->outline.n_slices == 0;
    ps_outline_add(&p->outline, so_far);
    tell_further(p, is_first);
}

static ps_loaded *read_store_rank(ps_store *s, size_t i, size_t n_threads, ps_err *err) {
    if (ps_rank_list_check(&s->list, i, err) != PS_OK) {
        return NULL;
    }
    ps_src src = ps_cluster_src(s->list.ranks[i].rank);
    src.n_threads = n_threads;
    src.watch = &s->places[i].watch;
    src.watcher = &(ps_build_watcher){add_outline, &s->places[i]};
    ps_trace *trace = ps_read(&src, PS_VIEW_NEEDS, err);
    if (trace == NULL) {
        return NULL;
    }
    if (ps_rank_list_check(&s->list, i, err) != PS_OK) { /* half of it may be of the new file */
        ps_trace_free(trace);
        return NULL;
    }
    if (ps_trace_slices(trace)->n == 0 && ps_trace_counters(trace)->n == 0) {
        ps_trace_free(trace);
        (void)ps_fail_file_said(err, PS_NOTHING, src.path, "holds no events", "没有事件");
        return NULL;
    }
    return ps_loaded_new(trace, n_threads, err);
}

/* The rank as it was when it was read first, else NULL. */
static ps_loaded *read_same(ps_store *s, size_t i, size_t n_threads, ps_err *err) {
    ps_loaded *l = read_store_rank(s, i, n_threads, err);
    if (l == NULL) {
        return NULL;
    }
    place *p = &s->places[i]; /* this one is of the thread that reads the rank */
    uint64_t now = ps_loaded_fingerprint(l);
    if (p->fingerprint != 0 && p->fingerprint != now) {
        ps_loaded_free(l);
        (void)ps_rank_list_changed(&s->list, i, err);
        return NULL;
    }
    p->fingerprint = now;
    return l;
}

/* The rows of all lanes, so that nobody who draws waits for them; where memory is out, whoever looks tries again. */
static void prepare_lanes(const ps_loaded *l, size_t n_threads) {
    for (int i = 0; i < PS_N_LAYERS; i++) {
        (void)!ps_lod_build_all(ps_loaded_layer(l, i)->lod, n_threads, NULL);
    }
}

/* Reads rank i; the lock is held before and afterwards. */
static void load_store(ps_store *s, size_t i) {
    place *p = &s->places[i];
    bool is_wanted = p->wish > 0;
    size_t expected = bytes_expected(s, i);
    if (!is_wanted) {
        measure_store(s);
        if (bytes_used(s) + expected > s->opts.max_bytes) { /* nobody asked: others stay for it */
            set_state(s, i, PS_STATE_WAITING);
            (void)pthread_mutex_unlock(&s->lock);
            tell_store(s);
            (void)pthread_mutex_lock(&s->lock);
            return;
        }
    }
    atomic_store(&p->watch.done_bytes, 0);
    set_state(s, i, PS_STATE_READING);
    p->bytes = expected;
    s->n_reading++;
    size_t side_by_side = s->n_reading + n_queued(s);
    size_t n =
        ps_threads_each(s->n_threads, side_by_side < s->n_threads ? side_by_side : s->n_threads);
    if (is_wanted) {
        make_store_room(s, 0, i);
    }
    (void)pthread_mutex_unlock(&s->lock);
    tell_store(s);
    ps_err err = PS_ERR_INIT;
    ps_loaded *l = read_same(s, i, n, &err);
    ps_outline_clear(&p->outline);
    (void)pthread_mutex_lock(&s->lock);
    s->n_reading--;
    if (p->is_closed) {
        p->bytes = 0;
        set_state(s, i, PS_STATE_CLOSED);
        (void)pthread_mutex_unlock(&s->lock);
        ps_loaded_free(l);
        tell_store(s);
        (void)pthread_mutex_lock(&s->lock);
        return;
    }
    p->loaded = l;
    p->bytes = l != NULL ? ps_loaded_total_bytes(l) : 0;
    p->err = err;
    p->last_use = ++s->clock;
    if (l != NULL) {
        ps_loaded_set_owner(l, p);
    }
    set_state(s, i, l != NULL ? PS_STATE_READY : PS_STATE_FAILED);
    if (l != NULL) {
        p->n_held++; /* by us, for the lanes; making room lets go of the lock */
        make_store_room(s, 0, i);
    }
    (void)pthread_mutex_unlock(&s->lock);
    tell_store(s);
    if (l != NULL) {
        prepare_lanes(l, n);
        ps_loaded_release(l);
    }
    (void)pthread_mutex_lock(&s->lock);
}

static void *work(void *arg) {
    ps_store *s = arg;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->is_stopping) {
        size_t i = next_queued(s);
        if (i == SIZE_MAX) {
            (void)pthread_cond_wait(&s->work, &s->lock);
        } else {
            load_store(s, i);
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------------------------- */

static size_t default_budget(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long size = sysconf(_SC_PAGESIZE);
    size_t all = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
    return all / 10 * 6 > MIN_BUDGET_BYTES ? all / 10 * 6 : MIN_BUDGET_BYTES;
}

static ps_store *new_store(const ps_store_opts *opts, ps_err *err) {
    ps_store *s = ps_calloc(1, sizeof *s);
    if (s == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    if (opts != NULL) {
        s->opts = *opts;
    }
    s->opts.max_bytes = s->opts.max_bytes > 0 ? s->opts.max_bytes : default_budget();
    s->n_threads = s->opts.n_threads > 0 ? s->opts.n_threads : ps_n_processors();
    s->has_opening = pthread_mutex_init(&s->opening, NULL) == 0;
    s->has_lock = pthread_mutex_init(&s->lock, NULL) == 0;
    s->has_cond = pthread_cond_init(&s->work, NULL) == 0;
    if (!s->has_opening || !s->has_lock || !s->has_cond) {
        ps_store_free(s);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return s;
}

static void make_place(ps_store *s, size_t i) {
    place *p = &s->places[i];
    uint64_t step = (uint64_t)s->list.files[i].size_bytes / PROGRESS_STEPS;
    *p = (place){.store = s, .outline = PS_OUTLINE_INIT, .err = PS_ERR_INIT};
    p->watch.progress = come_further;
    p->watch.context = p;
    p->watch.step_bytes = step > PROGRESS_LEAST_BYTES ? step : PROGRESS_LEAST_BYTES;
}

static bool make_places(ps_store *s) {
    s->places = ps_calloc(s->list.cap, sizeof *s->places);
    s->closed = ps_calloc(s->list.cap_clusters, sizeof *s->closed);
    s->n_open = s->list.n_clusters;
    for (size_t i = 0; s->places != NULL && i < s->list.n; i++) {
        make_place(s, i);
    }
    return s->places != NULL && s->closed != NULL;
}

/* As many as there are ranks to read, at most. */
static ps_code start_threads(ps_store *s, ps_err *err) {
    size_t n = s->n_threads < s->list.n ? s->n_threads : s->list.n;
    if (s->threads == NULL) {
        s->threads = ps_calloc(s->n_threads, sizeof *s->threads);
    }
    if (s->threads == NULL) {
        return ps_fail_nomem(err);
    }
    while (s->n_started < n && pthread_create(&s->threads[s->n_started], NULL, work, s) == 0) {
        s->n_started++;
    }
    return s->n_started > 0 ? PS_OK
                            : ps_fail_said(err, PS_NOMEM, "no thread can be started for reading",
                                           "无法启动读取线程");
}

ps_store *ps_store_new(const char *const *paths, size_t n_paths, const ps_store_opts *opts,
                       ps_err *err) {
    ps_store *s = new_store(opts, err);
    if (s == NULL) {
        return NULL;
    }
    ps_code code =
        ps_rank_list_find(&s->list, paths, n_paths, s->opts.reader, s->opts.rank_from, err);
    if (code == PS_OK && !make_places(s)) {
        code = ps_fail_nomem(err);
    }
    code = code == PS_OK ? ps_roots_find(&s->roots, paths, n_paths, s->opts.captures, err) : code;
    for (size_t i = 0; code == PS_OK && i < s->list.n && i < PS_STORE_AUTO; i++) {
        set_state(s, i, PS_STATE_QUEUED);
    }
    s->baseline = code == PS_OK && s->opts.has_baseline ? s->list.n_clusters - 1 : 0;
    code = code == PS_OK ? start_threads(s, err) : code;
    if (code != PS_OK) {
        ps_store_free(s);
        return NULL;
    }
    return s;
}

ps_store *ps_store_of_trace(ps_trace *trace, const char *key, ps_err *err) {
    ps_store *s = new_store(NULL, err);
    ps_loaded *l = NULL;
    if (s == NULL || ps_rank_list_of_trace(&s->list, trace, key, err) != PS_OK) {
        ps_trace_free(trace);
        ps_store_free(s);
        return NULL;
    }
    l = ps_loaded_new(trace, 1, err);
    if (l == NULL || !make_places(s)) {
        ps_loaded_free(l);
        ps_store_free(s);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    s->places[0].loaded = l;
    ps_loaded_set_owner(l, &s->places[0]);
    set_state(s, 0, PS_STATE_READY);
    return s;
}

void ps_store_free(ps_store *s) {
    if (s == NULL) {
        return;
    }
    if (s->threads != NULL) {
        (void)pthread_mutex_lock(&s->lock);
        s->is_stopping = true;
        for (size_t i = 0; i < s->list.n; i++) {
            atomic_store(&s->places[i].watch.stop, true);
        }
        (void)pthread_cond_broadcast(&s->work);
        (void)pthread_mutex_unlock(&s->lock);
        for (size_t i = 0; i < s->n_started; i++) {
            (void)pthread_join(s->threads[i], NULL);
        }
    }
    for (size_t i = 0; s->places != NULL && i < s->list.n; i++) {
        ps_loaded_free(s->places[i].loaded);
    }
    ps_free(s->threads);
    ps_free(s->places);
    ps_free(s->closed);
    ps_roots_fini(&s->roots);
    ps_rank_list_fini(&s->list);
    if (s->has_opening) {
        (void)pthread_mutex_destroy(&s->opening);
    }
    if (s->has_cond) {
        (void)pthread_cond_destroy(&s->work);
    }
    if (s->has_lock) {
        (void)pthread_mutex_destroy(&s->lock);
    }
    ps_free(s);
}

/* --- what is there ---------------------------------------------------------------------------------------------- */

/* A const store may be looked at by many threads: its lock is what makes that so. */
static pthread_mutex_t *lock_of(const ps_store *s) {
    return (pthread_mutex_t *)&s->lock;
}

size_t ps_store_n_clusters(const ps_store *s) {
    return ps_rank_list_n_clusters(&s->list);
}

bool ps_store_is_open(const ps_store *s, size_t cluster) {
    bool is_there = cluster < ps_store_n_clusters(s);
    if (is_there) {
        (void)pthread_mutex_lock(lock_of(s));
        is_there = !s->closed[cluster];
        (void)pthread_mutex_unlock(lock_of(s));
    }
    return is_there;
}

int64_t ps_store_first(const ps_store *s) {
    size_t i = 0;
    while (i + 1 < ps_store_n_clusters(s) && !ps_store_is_open(s, i)) {
        i++;
    }
    return (int64_t)i;
}

size_t ps_store_baseline(const ps_store *s) {
    return s->opts.has_baseline && ps_store_is_open(s, s->baseline) ? s->baseline : SIZE_MAX;
}

const ps_cluster *ps_store_cluster(const ps_store *s, size_t i) {
    return s->list.clusters[i];
}

size_t ps_store_n_ranks(const ps_store *s) {
    return ps_rank_list_n(&s->list);
}

const ps_rank_entry *ps_store_rank(const ps_store *s, size_t i) {
    return &s->list.ranks[i];
}

const char *ps_store_label(const ps_store *s, size_t i) {
    return __atomic_load_n(&s->list.ranks[i].label, __ATOMIC_ACQUIRE);
}

size_t ps_store_find(const ps_store *s, const char *key, size_t n) {
    (void)pthread_mutex_lock(lock_of(s));
    size_t row = ps_rank_list_row(&s->list, key, n);
    row = row < s->list.n ? row : SIZE_MAX;
    (void)pthread_mutex_unlock(lock_of(s));
    return row;
}

const ps_roots *ps_store_roots(const ps_store *s) {
    return &s->roots;
}

uint64_t ps_store_seq(const ps_store *s) {
    (void)pthread_mutex_lock(lock_of(s));
    uint64_t seq = s->seq;
    (void)pthread_mutex_unlock(lock_of(s));
    return seq;
}

/* The last part is arranging what was read: sorting, lanes, colours. */
#define SHARE_OF_READING 0.9

static double progress_of(const ps_store *s, size_t i) {
    const place *p = &s->places[i];
    double all = (double)s->list.files[i].size_bytes;
    double done = (double)atomic_load(&p->watch.done_bytes);
    if (p->state != PS_STATE_READING || all <= 0) {
        return p->state == PS_STATE_READY ? 1 : 0;
    }
    return SHARE_OF_READING * (done < all ? done / all : 1);
}

ps_rank_status_now ps_store_status(const ps_store *s, size_t i) {
    (void)pthread_mutex_lock(lock_of(s));
    const place *p = &s->places[i];
    ps_rank_status_now now = {
        .state = p->state, .seq = p->seq, .progress = progress_of(s, i), .err = p->err};
    (void)pthread_mutex_unlock(lock_of(s));
    return now;
}

ps_outline *ps_store_outline(ps_store *s, size_t i) {
    return &s->places[i].outline;
}

void ps_store_want(ps_store *s, size_t i) {
    (void)pthread_mutex_lock(&s->lock);
    place *p = &s->places[i];
    bool is_new = p->state == PS_STATE_WAITING || p->state == PS_STATE_FAILED;
    if (is_new || p->state == PS_STATE_QUEUED) {
        p->wish = ++s->clock;
    }
    if (is_new && s->threads != NULL) {
        p->err = PS_ERR_INIT;
        set_state(s, i, PS_STATE_QUEUED);
        (void)pthread_cond_signal(&s->work);
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (is_new) {
        tell_store(s);
    }
}

/* --- taking and giving back ------------------------------------------------------------------------------------- */

static size_t store_n_before(const ps_store *s, size_t i) {
    size_t n = s->n_reading;
    for (size_t k = 0; k < s->list.n; k++) {
        bool is_before = s->places[k].wish > s->places[i].wish ||
                         (s->places[k].wish == s->places[i].wish && k < i);
        n += s->places[k].state == PS_STATE_QUEUED && is_before;
    }
    return n;
}

/* Why a rank cannot be had. */
static ps_code say_not_ready(const ps_store *s, size_t i, ps_err *err) {
    const place *p = &s->places[i];
    const char *label = ps_store_label(s, i);
    char why[640];
    char why_chinese[640];
    size_t before = 0;
    switch (p->state) {
    case PS_STATE_QUEUED:
        before = store_n_before(s, i);
        return ps_fail_said(err, PS_NOTHING, "%s waits to be read, behind %zu other%s",
                            "%s 正在等待读取，前面还有 %zu 个%.0s", label, before,
                            before == 1 ? "" : "s");
    case PS_STATE_READING:
        return ps_fail_said(err, PS_NOTHING, "%s is being read: %.0f %%", "正在读取 %s：%.0f %%",
                            label, 100 * progress_of(s, i));
    case PS_STATE_FAILED:
        ps_err_format(&p->err, why, sizeof why);
        ps_err_say(PS_CHINESE, &p->err, why_chinese, sizeof why_chinese);
        return ps_fail_said(err, PS_NOTHING, "%s could not be read: %s%.0s", "%s 无法读取：%.0s%s",
                            label, why, why_chinese);
    case PS_STATE_CLOSED:
        return ps_fail_said(err, PS_NOTHING, "%s was closed", "%s 已关闭", label);
    case PS_STATE_WAITING:
    case PS_STATE_READY:
        break;
    }
    return ps_fail_said(err, PS_NOTHING, "%s has not been read yet: nobody has asked for it",
                        "%s 尚未读取：还没有被请求", label);
}

static ps_code take_store(ps_store *s, size_t i, bool is_use, ps_loaded **out, ps_err *err) {
    (void)pthread_mutex_lock(&s->lock);
    place *p = &s->places[i];
    bool is_ready = p->state == PS_STATE_READY;
    ps_code code = PS_OK;
    *out = NULL;
    if (is_ready) {
        p->n_held++;
        p->last_use = is_use ? ++s->clock : p->last_use;
        *out = p->loaded;
    } else {
        code = say_not_ready(s, i, err);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return code;
}

ps_code ps_store_get(ps_store *s, size_t i, ps_loaded **out, ps_err *err) {
    return take_store(s, i, true, out, err);
}

ps_code ps_store_peek(ps_store *s, size_t i, ps_loaded **out, ps_err *err) {
    return take_store(s, i, false, out, err);
}

void ps_loaded_release(ps_loaded *l) {
    if (l == NULL) {
        return;
    }
    place *p = ps_loaded_owner(l);
    (void)pthread_mutex_lock(&p->store->lock);
    p->n_held--;
    ps_loaded *gone = p->is_closed ? take_closed(p) : NULL;
    if (p->store->held_bytes > 0) { /* somebody needs room, for which this rank could not go */
        make_store_room(p->store, 0, SIZE_MAX);
    }
    (void)pthread_mutex_unlock(&p->store->lock);
    ps_loaded_free(gone);
}

/* --- opening and closing ------------------------------------------------------------------------------------------- */

/* With the lock of opening. The cluster is the list's when it is PS_OK. */
static ps_code add_capture(ps_store *s, ps_cluster *c, size_t *cluster, ps_err *err) {
    ps_code code = ps_rank_list_prepare(&s->list, c, err);
    if (code != PS_OK) {
        return code;
    }
    size_t first = s->list.n;
    for (size_t i = first; i < first + c->n_ranks; i++) {
        make_place(s, i);
    }
    (void)pthread_mutex_lock(&s->lock);
    *cluster = s->list.n_clusters;
    code = ps_rank_list_add(&s->list, c, err);
    for (size_t i = 0; code == PS_OK && i < s->list.n; i++) {
        bool is_new = i >= first;
        bool is_read = is_new && i - first < PS_STORE_AUTO;
        if (!s->places[i].is_closed) { /* the others have other labels, perhaps */
            set_state(s, i, is_read ? PS_STATE_QUEUED : s->places[i].state);
        }
    }
    s->n_open += code == PS_OK;
    (void)pthread_cond_broadcast(&s->work);
    (void)pthread_mutex_unlock(&s->lock);
    return code;
}

ps_code ps_store_open_own(ps_store *s, const char *path, size_t *cluster, ps_err *err) {
    ps_cluster *c = ps_cluster_find_as(path, s->opts.reader, s->opts.rank_from, err);
    if (c == NULL) {
        return err->code;
    }
    ps_code code = PS_OK;
    if (c->n_ranks == 0) {
        code = c->no_profile.code != PS_OK
                   ? ps_fail_file_said(err, c->no_profile.code, path, "%s%.0s", "%.0s%s",
                                       ps_err_text(PS_ENGLISH, &c->no_profile),
                                       ps_err_text(PS_CHINESE, &c->no_profile))
                   : ps_fail_file_said(err, PS_NOTHING, path, "no profile is there",
                                       "此处没有采集数据");
    }
    (void)pthread_mutex_lock(&s->opening);
    code = code == PS_OK ? add_capture(s, c, cluster, err) : code;
    if (code != PS_OK) {
        ps_cluster_free(c);
    } else {
        code = start_threads(s, err);
    }
    (void)pthread_mutex_unlock(&s->opening);
    tell_store(s);
    return code;
}

ps_code ps_store_open(ps_store *s, const char *path, size_t *cluster, ps_err *err) {
    char *found = ps_roots_resolve(&s->roots, path, err);
    ps_code code = found != NULL ? ps_store_open_own(s, found, cluster, err) : err->code;
    ps_free(found);
    return code;
}

ps_code ps_store_close(ps_store *s, size_t cluster, ps_err *err) {
    (void)pthread_mutex_lock(&s->lock);
    bool is_open = cluster < s->list.n_clusters && !s->closed[cluster];
    if (!is_open || s->n_open == 1) {
        (void)pthread_mutex_unlock(&s->lock);
        return is_open ? ps_fail_said(err, PS_USAGE, "the last capture stays open",
                                      "最后一份采集数据不能关闭")
                       : ps_fail(err, PS_NOT_FOUND, "cluster: no capture %zu is open", cluster);
    }
    s->closed[cluster] = true;
    s->n_open--;
    for (size_t i = 0; i < s->list.n; i++) {
        place *p = &s->places[i];
        if (s->list.ranks[i].cluster != s->list.clusters[cluster]) {
            continue;
        }
        p->is_closed = true;
        atomic_store(&p->watch.stop, true);
        if (p->state != PS_STATE_READING) {
            set_state(s, i, PS_STATE_CLOSED);
        }
        ps_loaded *gone = take_closed(p);
        if (gone != NULL) {
            (void)pthread_mutex_unlock(&s->lock);
            ps_loaded_free(gone);
            (void)pthread_mutex_lock(&s->lock);
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    tell_store(s);
    return PS_OK;
}

/* --- memory of others ------------------------------------------------------------------------------------------------ */

size_t ps_store_max_bytes(const ps_store *s) {
    return s->opts.max_bytes;
}

void ps_store_hold(ps_store *s, size_t bytes) {
    (void)pthread_mutex_lock(&s->lock);
    s->held_bytes += bytes;
    make_store_room(s, 0, SIZE_MAX);
    (void)pthread_mutex_unlock(&s->lock);
}

void ps_store_unhold(ps_store *s, size_t bytes) {
    (void)pthread_mutex_lock(&s->lock);
    s->held_bytes -= bytes;
    (void)pthread_mutex_unlock(&s->lock);
}
