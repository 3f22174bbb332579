/* Threads, lanes and the end of a recording: threads.h says how they fit together.
 *
 * Nothing here comes from malloc: the first event of a thread may be one of a signal handler that interrupted malloc. Structures
 * are mapped and never given back; a process has as many of them as it had threads at a time. */
#include "record/core/threads.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/core/recording.h"
#include "record/core/threads_shared.h"
#include "record/ring/clock.h"
#include "record/ring/log.h"
#include "record/ring/memory.h"
#include "record/ring/signal_lock.h"

_Thread_local ps_rec_thread *ps_this_thread;

/* Set while the thread is in code that a signal handler of its own must not enter again. */
static _Thread_local volatile bool attaching, holds_shared;

static struct {
    pthread_mutex_t lock; /* of all but what says otherwise */
    pthread_once_t once;
    bool has_key;
    pthread_key_t key; /* its destructor takes the lane of a thread that ends */

    ps_rec_thread *all, *unused;

    uint32_t generation;                    /* of the lanes, 0 none */
    _Atomic(ps_lane *) lanes[PS_MAX_RINGS]; /* read without the lock */
    _Atomic uint32_t n_lanes;     /* slots of `lanes` that were ever set in this recording */
    ps_lane *free_lanes;          /* of this recording, without a thread */
    ps_lane *spare_lanes;         /* without a ring */
    _Atomic uint32_t n_threads;   /* attached in this recording */
    uint64_t first_id;            /* number of the first range of this recording */
    uint32_t n_numbers, n_making; /* of lanes that were given out; whose ring is being made */
    uint32_t failed;              /* the recording that could not have a ring */
    uint64_t file_bytes;          /* of the files of its rings */
    bool membarrier;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* Taken alone or after all.lock. */
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

/* Events of signal handlers that interrupted the recorder, and of threads without memory: counted in ring 0 later. */
static _Atomic uint64_t n_nested, n_no_ring;

/* --- numbers of ranges ----------------------------------------------------------------------------------------------- */

/* Which lane gave out a block: its number + 1, 0 nobody. Past 2^30 ranges old blocks give way to new ones, so that what was open
 * for so long is counted as ended on the wrong lane. Most of these pages are never touched. */
enum { N_BLOCKS = 1 << 22 };

static _Atomic uint64_t next_number;
static _Atomic uint8_t lane_of_block[N_BLOCKS];

void ps_thread_more_ids(ps_rec_thread *me) {
    uint64_t first = atomic_fetch_add_explicit(&next_number, PS_ID_BLOCK, memory_order_relaxed);
    atomic_store_explicit(&lane_of_block[first / PS_ID_BLOCK % N_BLOCKS],
                          (uint8_t)(me->lane->number + 1), memory_order_relaxed);
    me->next_id = first == 0 ? 1 : first;
    me->end_id = first + PS_ID_BLOCK;
}

ps_lane *ps_thread_of_range(uint64_t number) {
    if (number >= atomic_load_explicit(&next_number, memory_order_relaxed)) {
        return NULL;
    }
    unsigned lane =
        atomic_load_explicit(&lane_of_block[number / PS_ID_BLOCK % N_BLOCKS], memory_order_relaxed);
    return lane == 0 ? NULL : atomic_load_explicit(&all.lanes[lane - 1], memory_order_acquire);
}

/* --- lane 0 ---------------------------------------------------------------------------------------------------------- */

bool ps_lane_shared_lock(ps_lane **lane) {
    if (holds_shared) {
        return false;
    }
    holds_shared = true;
    atomic_signal_fence(memory_order_seq_cst);
    (void)pthread_mutex_lock(&shared_lock);
    *lane = atomic_load_explicit(&all.lanes[0], memory_order_acquire);
    return true;
}

void ps_lane_shared_unlock(void) {
    (void)pthread_mutex_unlock(&shared_lock);
    atomic_signal_fence(memory_order_seq_cst);
    holds_shared = false;
}

/* Not on the thread's lane: what was interrupted may be an event that has yet to find out that its recording has ended. */
void ps_thread_count_nested(void) {
    (void)atomic_fetch_add_explicit(&n_nested, 1, memory_order_relaxed);
}

static ps_ring_place_fn *_Atomic find_ring_place;

/* Into ring 0, where there is one. */
static void count_early(void) {
    ps_shared_drop(PS_DROP_NESTED, atomic_exchange_explicit(&n_nested, 0, memory_order_relaxed));
    ps_shared_drop(PS_DROP_NO_RING, atomic_exchange_explicit(&n_no_ring, 0, memory_order_relaxed));
}

/* --- lanes ----------------------------------------------------------------------------------------------------------- */

static void *map_pages(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* A lane without a ring; NULL when memory is out, or taken up. */
static ps_lane *blank_lane(uint32_t number) {
    ps_lane *lane = all.spare_lanes;
    if (lane == NULL) {
        bool may = true; /* without ring 0 nothing is recorded */
        if (number == 0) {
            ps_memory_take_anyway(sizeof *lane);
        } else {
            may = ps_memory_take(sizeof *lane);
        }
        lane = may ? map_pages(sizeof *lane) : NULL;
        if (may && lane == NULL) {
            ps_memory_give(sizeof *lane);
        }
    } else {
        all.spare_lanes = lane->next;
        memset(lane, 0, sizeof *lane);
    }
    if (lane != NULL) {
        lane->number = number;
    }
    return lane;
}

static uint64_t ring_bytes(const ps_ring_place *where) {
    return PS_RING_HEADER_BYTES + where->n_slots * sizeof(ps_slot);
}

/* Where no file can be had, or files of rings take what they may already, the ring is in memory. With all.lock held, under which
 * `where` is looked at. */
static void name_ring(ps_lane *lane, const ps_ring_place *where) {
    uint64_t bytes = ring_bytes(where);
    bool in_file = where->dir != NULL && (where->file_bytes == 0 || lane->number == 0 ||
                                          all.file_bytes + bytes <= where->file_bytes);
    if (!ps_ring_name(&lane->ring, in_file ? where->dir : NULL, lane->number)) {
        (void)ps_ring_name(&lane->ring, NULL, lane->number);
    }
    all.file_bytes += lane->ring.path[0] != '\0' ? bytes : 0;
}

/* Takes a millisecond or two. */
static bool make_ring(ps_lane *lane, const ps_ring_place *where) {
    if (!ps_ring_map(&lane->ring, lane->number, where->n_slots, where->session)) {
        if (lane->ring.path[0] == '\0' ||
            !ps_ring_make(&lane->ring, NULL, lane->number, where->n_slots, where->session)) {
            return false;
        }
    }
    lane->wake_at = where->n_slots / 2;
    return true;
}

static void keep_spare(ps_lane *lane) {
    lane->next = all.spare_lanes;
    all.spare_lanes = lane;
}

/* The rings of a recording that ended. */
static void drop_lanes(void) {
    uint32_t n = atomic_load_explicit(&all.n_lanes, memory_order_relaxed);
    ps_lane *zero;
    if (!ps_lane_shared_lock(&zero)) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        ps_lane *lane = atomic_load_explicit(&all.lanes[i], memory_order_relaxed);
        atomic_store_explicit(&all.lanes[i], NULL, memory_order_relaxed);
        if (lane != NULL && !lane->stuck) {
            ps_memory_give(lane->ring.mapped_bytes);
            ps_ring_drop(&lane->ring, false);
            keep_spare(lane);
        }
    }
    ps_lane_shared_unlock();
    atomic_store_explicit(&all.n_lanes, 0, memory_order_release);
    all.free_lanes = NULL;
    all.generation = 0;
    all.file_bytes = 0;
}

static void put_in_table(ps_lane *lane) {
    atomic_store_explicit(&all.lanes[lane->number], lane, memory_order_release);
    if (lane->number >= atomic_load_explicit(&all.n_lanes, memory_order_relaxed)) {
        atomic_store_explicit(&all.n_lanes, lane->number + 1, memory_order_release);
    }
}

static void thread_ends(void *context);

static void once_a_process(void) {
    all.has_key = pthread_key_create(&all.key, thread_ends) == 0;
    all.membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* Makes ring 0 of a recording that has none yet, with what waits for it. False when there cannot be one. */
static bool open_generation(uint32_t generation, const ps_ring_place *where) {
    if (all.generation == generation) {
        return true;
    }
    drop_lanes();
    ps_lane *lane = blank_lane(0);
    if (lane != NULL) {
        name_ring(lane, where);
        ps_memory_take_anyway(ring_bytes(where));
    }
    if (lane == NULL || !make_ring(lane, where)) {
        if (lane != NULL) {
            ps_memory_give(ring_bytes(where));
            keep_spare(lane);
        }
        return false;
    }
    all.generation = generation;
    all.n_numbers = 1;
    all.first_id = atomic_load_explicit(&next_number, memory_order_relaxed);
    atomic_store_explicit(&all.n_threads, 0, memory_order_relaxed);
    put_in_table(lane);
    ps_shared_flush(); /* before any event */
    count_early();
    return true;
}

/* A new one for this recording, not in any list. The lock is given back while its ring is made, so that threads that begin
 * together do so together; whoever ends the recording waits for it. NULL when there are enough, or no memory. */
static ps_lane *new_lane(const ps_ring_place *where) {
    if (all.n_numbers == PS_MAX_RINGS || !ps_memory_take(ring_bytes(where))) {
        return NULL;
    }
    ps_lane *lane = blank_lane(all.n_numbers);
    if (lane == NULL) {
        ps_memory_give(ring_bytes(where));
        return NULL;
    }
    uint32_t generation = all.generation;
    all.n_numbers++;
    all.n_making++;
    name_ring(lane, where);
    (void)pthread_mutex_unlock(&all.lock);
    bool made = make_ring(lane, where);
    (void)pthread_mutex_lock(&all.lock);
    all.n_making--;
    if (made && all.generation != generation) { /* took longer than the end's patience */
        ps_ring_drop(&lane->ring, true);
        made = false;
    }
    if (!made) {
        ps_memory_give(ring_bytes(where));
        keep_spare(lane);
        return NULL;
    }
    put_in_table(lane);
    return lane;
}

static void free_lane(ps_lane *lane) {
    lane->next = all.free_lanes;
    all.free_lanes = lane;
}

/* --- threads that end ------------------------------------------------------------------------------------------------- */

/* Its lane goes to the next new thread; what it records after this attaches it anew. With all.lock held. */
static void let_go(ps_rec_thread *t) {
    if (t->previous != NULL) {
        t->previous->next = t->next;
    } else {
        all.all = t->next;
    }
    if (t->next != NULL) {
        t->next->previous = t->previous;
    }
    ps_lane *lane = t->lane;
    bool whole = atomic_load_explicit(&t->busy, memory_order_relaxed) ==
                 0; /* else it was cut off in an event */
    if (all.generation != 0 && t->generation == all.generation && lane->number != 0 && whole) {
        for (uint32_t i = 0; i < t->depth; i++) { /* nobody can pop these any more */
            lane->n_ended += t->stack[i].id != 0;
        }
        free_lane(lane);
    }
    t->next = all.unused;
    all.unused = t;
}

/* Destructor of the key. */
static void thread_ends(void *context) {
    attaching = true;
    atomic_signal_fence(memory_order_seq_cst);
    (void)pthread_mutex_lock(&all.lock);
    ps_this_thread = NULL;
    let_go(context);
    (void)pthread_mutex_unlock(&all.lock);
    atomic_signal_fence(memory_order_seq_cst);
    attaching = false;
}

/* glibc has places for the values of the first keys in each thread; for others it calls malloc. */
enum { KEYS_WITHOUT_MALLOC = 32 };

static void know_end(ps_rec_thread *me) {
    me->watched =
        !all.has_key || all.key >= KEYS_WITHOUT_MALLOC || pthread_setspecific(all.key, me) != 0;
}

/* Those of which no destructor will tell. The kernel uses numbers of threads again: of two with the same one, the one that asks
 * is alive. */
static void look_for_ended(uint32_t own_tid) {
    pid_t pid = getpid();
    for (ps_rec_thread *next = NULL, *t = all.all; t != NULL; t = next) {
        next = t->next;
        if (t->watched && t != ps_this_thread && t->generation != 0 &&
            (t->tid == own_tid || (syscall(SYS_tgkill, pid, t->tid, 0) != 0 && errno == ESRCH))) {
            let_go(t);
        }
    }
}

/* One without a thread, a new one, or lane 0. */
static ps_lane *any_lane(const ps_ring_place *where, uint32_t own_tid) {
    if (all.free_lanes == NULL) {
        look_for_ended(own_tid);
    }
    ps_lane *lane = all.free_lanes;
    if (lane != NULL) {
        all.free_lanes = lane->next;
        lane->next = NULL;
        return lane;
    }
    lane = new_lane(where);
    return lane != NULL ? lane : atomic_load_explicit(&all.lanes[0], memory_order_relaxed);
}

/* The structure of the calling thread, made when it has none. */
static ps_rec_thread *own_structure(void) {
    ps_rec_thread *me = ps_this_thread;
    if (me != NULL) {
        return me;
    }
    me = all.unused;
    if (me != NULL) {
        all.unused = me->next;
        memset(me, 0, sizeof *me);
    } else {
        me = map_pages(sizeof *me);
    }
    if (me == NULL) {
        return NULL;
    }
    know_end(me);
    me->next = all.all;
    if (me->next != NULL) {
        me->next->previous = me;
    }
    all.all = me;
    ps_this_thread = me; /* of no generation yet */
    return me;
}

/* --- attaching ------------------------------------------------------------------------------------------------------- */

/* Gives the structure a lane of this recording; false when it has ended meanwhile. With all.lock held. */
static bool take_lane(ps_rec_thread *me, uint32_t generation, const ps_ring_place *where) {
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    ps_lane *lane = any_lane(where, tid);
    if (all.generation != generation) {
        return false;
    }
    if (lane->number == 0) {
        ps_lane *zero;
        if (ps_lane_shared_lock(&zero)) {
            lane->writer_tid = 0; /* numbers of threads are used again, with other names */
            ps_lane_shared_unlock();
        }
    } else {
        lane->writer_tid = 0;
    }
    me->lane = lane;
    me->generation = generation;
    me->clock = where->clock;
    me->fences = !all.membarrier;
    me->first_id = all.first_id;
    me->next_id = me->end_id = 0;
    me->depth = 0;
    me->tid = tid;
    if (prctl(PR_GET_NAME, me->name) != 0) {
        me->name[0] = '\0';
    }
    (void)atomic_fetch_add_explicit(&all.n_threads, 1, memory_order_relaxed);
    return true;
}

/* With all.lock held. *fails: there is no memory for its events. */
static ps_rec_thread *attach(uint32_t generation, const ps_ring_place *where, bool *fails) {
    /* Looked at again under the lock: see the end of a recording in threads.h. */
    if (atomic_load_explicit(ps_recording, memory_order_seq_cst) != generation) {
        return NULL;
    }
    ps_rec_thread *me = all.failed != generation ? own_structure() : NULL;
    *fails = me == NULL || !open_generation(generation, where);
    if (*fails) {
        all.failed = generation; /* not again and again for each event */
        (void)atomic_fetch_add_explicit(&n_no_ring, 1, memory_order_relaxed);
        return NULL;
    }
    return take_lane(me, generation, where) ? me : NULL;
}

void ps_threads_set_ring_place(ps_ring_place_fn *ring_place) {
    atomic_store_explicit(&find_ring_place, ring_place, memory_order_release);
}

ps_rec_thread *ps_thread_attach(uint32_t generation) {
    if (attaching || holds_shared) {
        ps_thread_count_nested();
        return NULL;
    }
    attaching = true;
    atomic_signal_fence(memory_order_seq_cst);
    int cancel = 0;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* files are opened below */
    int error = errno;
    (void)pthread_once(&all.once, once_a_process);
    ps_ring_place where = {0};
    ps_rec_thread *me = NULL;
    ps_ring_place_fn *ring_place = atomic_load_explicit(&find_ring_place, memory_order_acquire);
    bool fails = false;
    if (ring_place != NULL && ring_place(generation, &where)) {
        (void)pthread_mutex_lock(&all.lock);
        me = attach(generation, &where, &fails);
        (void)pthread_mutex_unlock(&all.lock);
    } else if (ps_signal_locks_held == 0 && /* else the session has counted a signal handler */
               atomic_load_explicit(ps_recording, memory_order_relaxed) == generation) {
        (void)atomic_fetch_add_explicit(&n_no_ring, 1, memory_order_relaxed);
    }
    if (fails) { /* without a lock of ours */
        ps_rec_log_once("no_ring", "threads record nothing: there is no memory for their events");
    }
    errno = error;
    (void)pthread_setcancelstate(cancel, NULL);
    atomic_signal_fence(memory_order_seq_cst);
    attaching = false;
    return me;
}

void ps_threads_prepare(uint32_t generation, const ps_ring_place *where) {
    (void)pthread_once(&all.once, once_a_process);
    attaching = true;
    atomic_signal_fence(memory_order_seq_cst);
    (void)pthread_mutex_lock(&all.lock);
    unsigned n = 0;
    for (const ps_rec_thread *t = all.all; t != NULL; t = t->next) {
        n++;
    }
    bool open = open_generation(generation, where);
    for (unsigned i = 0; open && i < (n > 0 ? n : 1); i++) {
        ps_lane *lane = new_lane(where);
        open = lane != NULL;
        if (open) {
            ps_ring_prepare(&lane->ring, where->n_slots);
            free_lane(lane);
        }
    }
    (void)pthread_mutex_unlock(&all.lock);
    atomic_signal_fence(memory_order_seq_cst);
    attaching = false;
}

/* --- the end of a recording ------------------------------------------------------------------------------------------ */

static unsigned count_busy(void) {
    unsigned n = 0;
    for (ps_rec_thread *t = all.all; t != NULL; t = t->next) {
        n += t != ps_this_thread && atomic_load_explicit(&t->busy, memory_order_seq_cst) != 0;
    }
    return n;
}

/* Lanes that are still written to stay mapped, and are nobody's any more. */
static void give_up_lanes(void) {
    for (ps_rec_thread *t = all.all; t != NULL; t = t->next) {
        if (t != ps_this_thread && atomic_load_explicit(&t->busy, memory_order_seq_cst) != 0) {
            t->lane->stuck = true;
        }
    }
}

unsigned ps_threads_quiesce(unsigned patience_ms) {
    (void)pthread_once(&all.once, once_a_process);
    if (all.membarrier) {
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    }
    uint64_t deadline = ps_mono_ns() + (uint64_t)patience_ms * 1000000u;
    unsigned n_busy;
    for (;;) {
        (void)pthread_mutex_lock(&all.lock);
        n_busy = count_busy() + all.n_making;
        if (n_busy == 0 || ps_mono_ns() >= deadline) {
            break;
        }
        (void)pthread_mutex_unlock(&all.lock);
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    give_up_lanes();
    (void)pthread_mutex_unlock(&all.lock);
    count_early();
    return n_busy;
}

void ps_threads_release(void) {
    (void)pthread_mutex_lock(&all.lock);
    drop_lanes();
    (void)pthread_mutex_unlock(&all.lock);
    ps_shared_forget();
}

void ps_threads_each_ring(void (*fn)(void *context, ps_ring *ring, uint32_t number),
                          void *context) {
    uint32_t n = atomic_load_explicit(&all.n_lanes, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        ps_lane *lane = atomic_load_explicit(&all.lanes[i], memory_order_acquire);
        if (lane != NULL) {
            fn(context, &lane->ring, i);
        }
    }
}

uint32_t ps_threads_count(void) {
    return atomic_load_explicit(&all.n_threads, memory_order_relaxed);
}

void ps_threads_forget(void) {
    /* Rings are not mapped here, and the structures of the other threads are of nobody: all of it is left as it is. */
    all.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    shared_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    uint32_t n = atomic_load_explicit(&all.n_lanes, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        const ps_lane *lane = atomic_load_explicit(&all.lanes[i], memory_order_relaxed);
        ps_memory_give(lane != NULL ? lane->ring.mapped_bytes : 0);
        atomic_store_explicit(&all.lanes[i], NULL, memory_order_relaxed);
    }
    atomic_store_explicit(&all.n_lanes, 0, memory_order_relaxed);
    atomic_store_explicit(&all.n_threads, 0, memory_order_relaxed);
    all.all = all.unused = NULL;
    all.free_lanes = all.spare_lanes = NULL;
    all.generation = all.failed = 0;
    all.n_numbers = all.n_making = 0;
    ps_this_thread = NULL;
    attaching = holds_shared = false;
    if (all.has_key) {
        (void)pthread_setspecific(all.key, NULL);
    }
    ps_shared_abandon();
}
