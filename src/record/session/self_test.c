/* The functions of events.h themselves, on a thread's structure that nobody else knows: its ring is emptied between batches, and
 * its numbers of ranges start anew, so that none of the process is used up. */
#include "record/session/self_test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "record/core/events.h"
#include "record/core/threads.h"
#include "record/core/threads_shared.h"
#include "record/ring/clock.h"
#include "record/ring/ring.h"

enum { BATCHES = 9, BATCHES_A_ROUND = 3, EVENTS = 128, SLOTS = 1024, FIRST_NUMBER = PS_ID_BLOCK };

static const char TEXT[] = "collector.overhead_self_test";

typedef struct scratch {
    ps_rec_thread thread;
    ps_lane lane;
    ps_record_domain domain;
} scratch;

static scratch *s;         /* of the writer's thread, while it is measured */
static scratch *abandoned; /* of a parent */
static unsigned n_batches;
static double range_ns[BATCHES], mark_ns[BATCHES], clock_ns[BATCHES];

static atomic_bool is_done; /* set once `result` is whole */
static char result[192];
static volatile uint64_t sink;

/* --- the ring ------------------------------------------------------------------------------------------------------- */

static void drop_scratch(void) {
    if (s != NULL) {
        ps_ring_drop(&s->lane.ring, false);
        (void)munmap(s, sizeof *s);
        s = NULL;
    }
}

static bool make_scratch(int clock) {
    /* Tables of texts are large and mostly not touched: no memory from malloc, as for all lanes. */
    void *memory =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    s = memory;
    if (!ps_ring_make(&s->lane.ring, NULL, PS_MAX_RINGS, SLOTS, 0)) {
        drop_scratch();
        return false;
    }
    s->lane.number = PS_MAX_RINGS;
    s->lane.writer_tid = 1;
    s->lane.wake_at = UINT64_MAX;
    s->domain = (ps_record_domain){.length = 7, .name = "default"};
    atomic_init(&s->domain.recorded, true);
    s->thread.lane = &s->lane;
    s->thread.clock = clock;
    s->thread.tid = 1;
    return true;
}

static void empty_ring(void) {
    ps_ring *ring = &s->lane.ring;
    atomic_store_explicit(&ring->header->tail, ring->head, memory_order_relaxed);
    s->thread.next_id = FIRST_NUMBER;
    s->thread.end_id = FIRST_NUMBER + PS_ID_BLOCK;
    s->thread.first_id = FIRST_NUMBER;
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

static double ns_each(uint64_t since_ns, unsigned n) {
    return (double)(ps_mono_ns() - since_ns) / n;
}

static void put_ranges(unsigned n) {
    ps_text text = {.bytes = TEXT, .length = sizeof TEXT - 1};
    for (unsigned i = 0; i < n; i++) {
        ps_event_end(NULL, ps_event_start(&s->domain, text, NULL, NULL));
    }
}

static void put_marks(unsigned n) {
    ps_text text = {.bytes = TEXT, .length = sizeof TEXT - 1};
    for (unsigned i = 0; i < n; i++) {
        ps_event_mark(&s->domain, text, NULL, NULL);
    }
}

static void read_clock(int clock, unsigned n) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += ps_clock_ticks(clock);
    }
    sink = sum;
}

/* False when recording ended meanwhile: events cost nothing then. The first few bring caches back that slept. */
static bool measure_batch(int clock) {
    enum { FIRST = 8 };
    s->thread.generation = atomic_load_explicit(ps_recording, memory_order_relaxed);
    if (s->thread.generation == 0) {
        return false;
    }
    ps_this_thread = &s->thread;
    empty_ring();
    put_ranges(FIRST);
    uint64_t begun = ps_mono_ns();
    put_ranges(EVENTS - FIRST);
    range_ns[n_batches] = ns_each(begun, EVENTS - FIRST);
    empty_ring();
    begun = ps_mono_ns();
    put_marks(EVENTS);
    mark_ns[n_batches] = ns_each(begun, EVENTS);
    begun = ps_mono_ns();
    read_clock(clock, EVENTS);
    clock_ns[n_batches] = ns_each(begun, EVENTS);
    ps_this_thread = NULL;
    bool whole = s->thread.next_id == FIRST_NUMBER + EVENTS &&
                 atomic_load_explicit(ps_recording, memory_order_relaxed) == s->thread.generation;
    n_batches += whole;
    return whole;
}

/* --- the result ----------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double self_test_median(double *values, unsigned n) {
    qsort(values, n, sizeof *values, by_size);
    return values[n / 2];
}

static void put_median(ps_json *j, double *values, unsigned n) {
    ps_json_value(j);
    ps_buf_add_fixed(j->out, self_test_median(values, n), 1);
}

static void conclude(void) {
    unsigned n = n_batches;
    drop_scratch();
    if (n == 0 || atomic_load(&is_done)) {
        return;
    }
    ps_buf text;
    ps_buf_init(&text, sizeof result);
    ps_json j = ps_json_spaced_to(&text);
    ps_json_object(&j);
    ps_json_key(&j, "range_ns");
    put_median(&j, range_ns, n);
    ps_json_key(&j, "mark_ns");
    put_median(&j, mark_ns, n);
    ps_json_key(&j, "clock_ns");
    put_median(&j, clock_ns, n);
    ps_json_key_uint(&j, "batches", n);
    ps_json_close(&j);
    bool whole = ps_buf_ok(&text) && text.len < sizeof result;
    if (whole) {
        memcpy(result, ps_buf_str(&text), text.len + 1);
    }
    ps_buf_fini(&text);
    if (!whole) {
        return;
    }
    atomic_store_explicit(&is_done, true, memory_order_release);
    ps_self_test_define();
}

void ps_self_test_round(int clock) {
    if (atomic_load_explicit(&is_done, memory_order_acquire) || !ps_is_recording() ||
        (s == NULL && !make_scratch(clock))) {
        return;
    }
    bool on = true;
    for (unsigned i = 0; on && i < BATCHES_A_ROUND && n_batches < BATCHES; i++) {
        on = measure_batch(clock);
    }
    if (n_batches == BATCHES) {
        conclude();
    }
}

void ps_self_test_end(void) {
    conclude();
}

void ps_self_test_define(void) {
    if (atomic_load_explicit(&is_done, memory_order_acquire)) {
        ps_shared_pair(PS_REC_INFO, "overhead_self_test", result, strlen(result));
    }
}

void ps_self_test_forget(void) {
    abandoned = s; /* its ring is not mapped here */
    s = NULL;
    n_batches = 0;
}
