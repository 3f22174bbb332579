#include "record/session/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "record/core/device.h"
#include "record/core/recording.h"
#include "record/core/threads.h"
#include "record/core/threads_shared.h"
#include "record/ring/clock.h"
#include "record/ring/fork_gate.h"
#include "record/ring/log.h"
#include "record/ring/memory.h"
#include "record/ring/signal_mask.h"
#include "record/ring/wake.h"
#include "record/session/self_test.h"

enum { ROUND_NS = 10000000, IDLE_NS = 100000000, ANCHOR_NS = 1000000000 };

/* The kernel slews a clock by at most 0.5 ms a second: more was set by somebody. */
enum { STEP_NS = 5000000 };

static struct {
    atomic_bool stop;
    bool running; /* of those who start and stop it */
    pthread_t thread;
    ps_spool *spool;
    const ps_writer_hooks *hooks;
    int clock;
    bool said_full, said_held;
    bool exit_early; /* this recording's exit handler is before those of the driver */
    uint64_t next_anchor_ns;
    int64_t real_minus_mono_ns; /* at the last anchor */
    bool has_anchor;
} g;

static void take_ring(void *taken, ps_ring *ring, uint32_t number) {
    uint64_t n = ps_spool_take(g.spool, ring, number);
    *(uint64_t *)taken += n;
    if (n > 0) { /* the next round may bring as much again, and some more */
        ps_ring_prepare(ring, n > PS_RING_AHEAD / 2 ? 2 * n : PS_RING_AHEAD);
    }
}

/* A disk that is full may have room again; the option's limit stays reached. */
static void say_capped(void) {
    atomic_store(&ps_full_drop, PS_DROP_MAX_DISK);
    ps_rec_log(
        "the raw files take %llu bytes, and more may not fit into what the option max_disk allows: "
        "new ranges and marks are left out and "
        "counted as max_disk; those that are open get their ends",
        (unsigned long long)(g.spool->bytes + g.spool->beside_bytes));
}

/* In the gate: the text of an error is looked up under locks of the locale. */
static const char *spool_error(char *text, size_t size) {
    ps_fork_gate_enter();
    const char *reason = ps_errno_text(g.spool->error, text, size);
    ps_fork_gate_leave();
    return reason;
}

/* Not written yet, and not lost. */
static void say_held(void) {
    char text[128] = "";
    if (g.spool->held > 0 && !g.said_held) {
        g.said_held = true;
        ps_rec_log(
            "cannot write the raw file (%s): tried again every second; events are kept in memory meanwhile, at most %llu bytes of them",
            spool_error(text, sizeof text), (unsigned long long)g.spool->max_held);
    }
}

static void say_full(void) {
    say_held();
    if (!g.spool->full || g.said_full) {
        return;
    }
    g.said_full = true;
    if (g.spool->capped) {
        say_capped();
        return;
    }
    char text[128] = "";
    const char *reason = spool_error(text, sizeof text);
    if (g.spool->fd < 0 || g.said_held) {
        ps_rec_log(
            "the memory for events is used up (option max_bytes): what does not fit into the rings "
            "any more is counted as ring_full");
    } else {
        ps_rec_log(
            "cannot write the raw file (%s): tried again every second; what does not fit into the "
            "rings meanwhile is counted as ring_full",
            reason);
    }
}

static void tell_held(void *unused, ps_ring *ring, uint32_t number) {
    (void)unused;
    ps_spool_tell_held(g.spool, ring, number);
}

static void add_file_bytes(void *bytes, ps_ring *ring, uint32_t number) {
    (void)number;
    *(uint64_t *)bytes += ring->in_file ? ring->mapped_bytes : 0;
}

/* One round over all rings, which stay until the writer is stopped. */
static uint64_t take_all_writer(void) {
    uint64_t taken = 0;
    g.spool->beside_bytes = 0;
    ps_threads_each_ring(add_file_bytes, &g.spool->beside_bytes);
    if (ps_spool_flush(g.spool)) {
        ps_threads_each_ring(tell_held, NULL);
    }
    ps_threads_each_ring(take_ring, &taken);
    if (ps_shared_waits()) {
        ps_shared_flush();
    }
    say_full();
    if (ps_memory_refused() && !g.spool->full) {
        ps_rec_log_once(
            "memory",
            "the recorder has taken the memory it may (option max_bytes): further threads share a ring, "
            "further buffers and registered texts are done without");
    }
    return taken;
}

static void store_anchor(uint64_t now_ns) {
    g.next_anchor_ns = now_ns + ANCHOR_NS;
    ps_anchor a = ps_clock_anchor(g.clock);
    int64_t difference = a.real_ns - a.mono_ns;
    int64_t moved = difference - g.real_minus_mono_ns;
    if (g.has_anchor && (moved > STEP_NS || moved < -STEP_NS)) {
        ps_shared_drop(PS_DROP_CLOCK_STEP, 1);
        ps_rec_log_once(
            "clock_step",
            "the wall clock was set while recording: times go on as if it had not been");
    }
    g.real_minus_mono_ns = difference;
    g.has_anchor = true;
    ps_shared_anchor(a.ticks, a.real_ns, a.mono_ns,
                     a.half_width_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)a.half_width_ns);
}

/* The writer's own records found ring 0 full. */
static void make_writer_room(void) {
    (void)take_all_writer();
}

static void *run_writer(void *unused) {
    (void)unused;
    (void)prctl(PR_SET_NAME, "pipescope");
    ps_shared_set_taker(make_writer_room);
    uint64_t pause_ns = ROUND_NS;
    g.next_anchor_ns = ps_mono_ns() + ANCHOR_NS;
    while (!atomic_load(&g.stop)) {
        ps_wake_awake();
        g.hooks->round();
        uint64_t taken = take_all_writer();
        ps_self_test_round(g.clock);
        const ps_rec_device *device = atomic_load(&ps_device);
        if (!g.exit_early && strcmp(device->name, "host") != 0) {
            g.exit_early = true;
            g.hooks->device_is_used();
        }
        if (device->tick != NULL) {
            device->tick();
        }
        if (device->look != NULL) {
            device->look();
        }
        uint64_t now_ns = ps_mono_ns();
        if (now_ns >= g.next_anchor_ns) {
            store_anchor(now_ns);
        }
        /* A program that records nothing for a while is woken for less often. */
        bool busy = taken > 1 || device->tick != NULL;
        pause_ns = busy ? ROUND_NS : pause_ns * 2 > IDLE_NS ? IDLE_NS : pause_ns * 2;
        ps_wake_nap(pause_ns, &g.stop);
    }
    ps_self_test_end();
    return NULL;
}

bool ps_writer_start(ps_spool *spool, int clock, const ps_writer_hooks *hooks) {
    ps_wake_awake();
    atomic_store(&g.stop, false);
    g.spool = spool;
    g.clock = clock;
    g.hooks = hooks;
    g.said_full = false;
    g.said_held = false;
    atomic_store(&ps_full_drop, PS_DROP_RING_FULL);
    g.exit_early = false;
    g.has_anchor = false;
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    g.running = pthread_create(&g.thread, NULL, run_writer, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return g.running;
}

void ps_writer_stop(void) {
    if (g.running) {
        atomic_store(&g.stop, true);
        ps_wake_writer();
        (void)pthread_join(g.thread, NULL);
        g.running = false;
    }
    if (g.spool == NULL) {
        return;
    }
    ps_spool_retry(g.spool); /* also when no thread could be had: the rings are all there is then */
    ps_signal_mask calm = ps_signal_mask_begin();
    bool waits;
    do { /* what waited for ring 0 goes through it, as much at a time as it holds */
        uint64_t taken = take_all_writer();
        waits = ps_shared_waits() && taken > 0;
    } while (waits);
    (void)take_all_writer();
    ps_shared_lose();
    ps_signal_mask_end(&calm);
    g.spool = NULL;
}

void ps_writer_forget(void) {
    g.running = false;
    g.spool = NULL;
    ps_wake_awake();
}
