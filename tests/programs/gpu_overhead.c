/* What recording costs on the host, for the reader of docs/recording.md: ns per range with a device time, without one, and of two
 * plain events; and how much longer steps take, of 500 ranges around kernels each: gpu_overhead [STEPS [ROUNDS]]. Prints `cost WHAT NS`
 * and `steps off|on MS`. Times are printed, never judged.
 *
 * link: pipescope-record */
#include <pipescope/record.h>

#include <unistd.h>

#include "gpu_driver.h"

enum { BATCH = 500, MAX_ROUNDS = 60 };
static int rounds = MAX_ROUNDS;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

typedef void (*body)(void *stream, void *const *events);

static void device_range(void *stream, void *const *events) {
    (void)events;
    ps_record_range_end(ps_record_range_start(NULL, "{'name': 'forward_step'}", stream));
}
static void host_range(void *stream, void *const *events) {
    (void)stream;
    (void)events;
    ps_record_range_end(ps_record_range_start(NULL, "{'name': 'forward_step'}", NULL));
}
static void two_events(void *stream, void *const *events) {
    (void)gpu.EventRecord(events[0], stream);
    (void)gpu.EventRecord(events[1], stream);
}

/* The median of batches; between them the device is let catch up, and the recorder its events. */
static void cost(const char *what, body run, void *stream, void *const *events) {
    double ns[MAX_ROUNDS];
    for (int r = 0; r < rounds; r++) {
        int64_t before = gpu_mono_ns();
        for (int i = 0; i < BATCH; i++) {
            run(stream, events);
        }
        ns[r] = (double)(gpu_mono_ns() - before) / BATCH;
        gpu_check(gpu.StreamSynchronize(stream), "cuStreamSynchronize");
        (void)ps_record_step();
        (void)usleep(15000);
    }
    qsort(ns, (size_t)rounds, sizeof *ns, by_value);
    (void)printf("cost %s %.0f\n", what, ns[rounds / 2]);
}

static double steps(void *spin, void *stream, int n) {
    int64_t before = gpu_mono_ns();
    for (int i = 0; i < n; i++) {
        (void)ps_record_step_begin(i);
        for (int k = 0; k < 500; k++) {
            uint64_t range = ps_record_range_start(NULL, "kernel", stream);
            gpu_spin(spin, 200, stream); /* a step of 100 ms */
            ps_record_range_end(range);
        }
        gpu_check(gpu.StreamSynchronize(stream), "cuStreamSynchronize");
        (void)ps_record_step_end();
    }
    return (double)(gpu_mono_ns() - before) / 1e6 / n;
}

int main(int argc, char **argv) {
    void *context, *stream, *events[2];
    int n = argc > 1 ? atoi(argv[1]) : 20;
    if (argc > 2 && atoi(argv[2]) > 0 && atoi(argv[2]) < MAX_ROUNDS) {
        rounds = atoi(argv[2]);
    }
    gpu_load();
    gpu_check(gpu.CtxCreate(&context, 0, 0), "cuCtxCreate");
    gpu_say_device();
    void *spin = gpu_spin_function();
    gpu_calibrate(spin);
    gpu_check(gpu.StreamCreate(&stream, 1), "cuStreamCreate");
    gpu_check(gpu.EventCreate(&events[0], 0), "cuEventCreate");
    gpu_check(gpu.EventCreate(&events[1], 0), "cuEventCreate");
    (void)ps_record_stop(); /* the comparison, when we are being recorded from the beginning */
    (void)ps_record_discard();
    cost("disabled", device_range, stream, events);
    cost("two_plain_events", two_events, stream, events);
    (void)steps(spin, stream, 2);
    double off = steps(spin, stream, n);
    (void)ps_record_start();
    cost("device_range", device_range, stream, events);
    cost("host_range", host_range, stream, events);
    (void)steps(spin, stream, 2);
    double on = steps(spin, stream, n);
    (void)printf("steps off %.3f\nsteps on %.3f\n", off, on);
    (void)fflush(stdout);
    return 0;
}
