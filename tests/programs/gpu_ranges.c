/* Ranges of 1, 10, 100 and 1000 us on side streams, the default stream and the thread's own default stream, each beside a pair of
 * events of the program's own; then ranges in each other, and on several streams at once: gpu_ranges [N]. Prints a line for each:
 *
 *     range MESSAGE REFERENCE_NS UNIX_NS_BEFORE UNIX_NS_AFTER
 *
 * GPU_LATE=1: the driver is loaded, and the context made, after the recording has begun and with a range open.
 *
 * link: pipescope-record */
#include <pipescope/record.h>

#include <unistd.h>

#include "gpu_driver.h"

enum { STREAMS = 4 };

static void one(void *spin, int us, void *stream, const char *where, int i, void *const *events) {
    char message[64];
    (void)snprintf(message, sizeof message, "%s %d us %d", where, us, i);
    int64_t before = gpu_unix_ns();
    uint64_t range = ps_record_range_start(NULL, message, stream);
    gpu_check(gpu.EventRecord(events[0], stream), "cuEventRecord");
    gpu_spin(spin, us, stream);
    gpu_check(gpu.EventRecord(events[1], stream), "cuEventRecord");
    ps_record_range_end(range);
    gpu_check(gpu.StreamSynchronize(stream), "cuStreamSynchronize");
    int64_t after = gpu_unix_ns();
    for (char *s = message; *s != 0; s++) {
        *s = *s == ' ' ? '_' : *s;
    }
    (void)printf("range %s %.0f %lld %lld\n", message, gpu_elapsed_ns(events[0], events[1]),
                 (long long)before, (long long)after);
}

/* Many at once, nested and behind each other, without waiting: their order must hold. */
static void many(void *spin, int n, void *stream) {
    for (int i = 0; i < n; i++) {
        uint64_t outer = ps_record_range_start(NULL, "outer", stream);
        uint64_t inner = ps_record_range_start(NULL, "inner", stream);
        gpu_spin(spin, 5, stream);
        ps_record_range_end(inner);
        ps_record_mark(NULL, "between", stream);
        gpu_spin(spin, 5, stream);
        ps_record_range_end(outer);
    }
    (void)printf("many %d\n", n);
}

/* On several streams at once: each has its own order, and nothing of the others'. */
static void spread(void *spin, int n) {
    void *streams[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        gpu_check(gpu.StreamCreate(&streams[s], 1), "cuStreamCreate");
    }
    for (int i = 0; i < n * STREAMS; i++) {
        char message[32];
        (void)snprintf(message, sizeof message, "spread %d", i % STREAMS);
        uint64_t range = ps_record_range_start(NULL, message, streams[i % STREAMS]);
        gpu_spin(spin, 50, streams[i % STREAMS]);
        ps_record_range_end(range);
    }
    (void)printf("spread %d\n", n);
}

int main(int argc, char **argv) {
    static const int lengths[] = {1, 10, 100, 1000};
    int n = argc > 1 ? atoi(argv[1]) : 50;
    void *context, *side, *events[2];
    uint64_t open = 0;
    if (getenv("GPU_LATE") != NULL) {
        open = ps_record_range_start(NULL, "before the driver", GPU_LEGACY);
    }
    gpu_load();
    if (open != 0) {
        (void)usleep(300000); /* the recorder looks for a driver every tenth of a second at least */
    }
    gpu_check(gpu.CtxCreate(&context, 0, 0), "cuCtxCreate");
    gpu_say_device();
    void *spin = gpu_spin_function();
    gpu_calibrate(spin);
    gpu_check(gpu.StreamCreate(&side, 1), "cuStreamCreate");
    gpu_check(gpu.EventCreate(&events[0], 0), "cuEventCreate");
    gpu_check(gpu.EventCreate(&events[1], 0), "cuEventCreate");
    ps_record_range_end(open);
    for (int i = 0; i < n; i++) {
        (void)ps_record_step_begin_on(i, side);
        for (int k = 0; k < 4; k++) {
            one(spin, lengths[k], side, "side", i, events);
            one(spin, lengths[k], GPU_LEGACY, "legacy", i, events);
            one(spin, lengths[k], GPU_PER_THREAD, "own", i, events);
        }
        (void)ps_record_step_end();
    }
    many(spin, n, side);
    spread(spin, n);
    (void)fflush(stdout);
    return 0; /* without waiting: the recording does, when it ends */
}
