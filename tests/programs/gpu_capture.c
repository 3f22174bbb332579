/* CUDA graphs captured in each mode while the program records ranges, on the captured stream and on others, from the capturing thread
 * and another one. Prints `capture MODE RESULT` (0: the capture was not broken) and, for each replay, `replay MODE NS`.
 *
 * link: pipescope-record */
#include <pipescope/record.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "gpu_driver.h"

static void *context, *spin, *other_stream;
static atomic_bool stop;

/* Records all the time on a stream of its own, so that the recorder has things to ask for while others capture. */
static void *busy(void *unused) {
    (void)unused;
    gpu_check(gpu.CtxSetCurrent(context), "cuCtxSetCurrent");
    for (int i = 0; !atomic_load(&stop); i++) {
        uint64_t range = ps_record_range_start(NULL, "elsewhere", other_stream);
        ps_record_range_end(range);
        (void)ps_record_step();
        (void)usleep(1000);
    }
    return NULL;
}

static void capture(int mode, void *stream, void *side) {
    void *graph = NULL, *exec = NULL, *events[2];
    gpu_check(gpu.EventCreate(&events[0], 0), "cuEventCreate");
    gpu_check(gpu.EventCreate(&events[1], 0), "cuEventCreate");
    uint64_t around = ps_record_range_start(NULL, "around the capture", side);
    uint64_t across = ps_record_range_start(NULL, "into the capture", stream);
    gpu_check(gpu.StreamBeginCapture(stream, mode), "cuStreamBeginCapture");
    for (int i = 0; i < 20; i++) {
        uint64_t range = ps_record_range_start(NULL, "captured", stream);
        gpu_spin(spin, 20, stream);
        ps_record_range_end(range);
        range = ps_record_range_start(NULL, "default stream", GPU_LEGACY);
        ps_record_range_end(range);
        range = ps_record_range_start(NULL, "side stream", side);
        ps_record_range_end(range);
        (void)usleep(2000);
    }
    ps_record_range_end(across);
    int result = gpu.StreamEndCapture(stream, &graph);
    ps_record_range_end(around);
    (void)printf("capture %d %d\n", mode, result);
    if (result != 0) {
        return;
    }
    gpu_check(gpu.GraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
    for (int i = 0; i < 3; i++) {
        uint64_t range = ps_record_range_start(NULL, "replay", stream);
        gpu_check(gpu.EventRecord(events[0], stream), "cuEventRecord");
        gpu_check(gpu.GraphLaunch(exec, stream), "cuGraphLaunch");
        gpu_check(gpu.EventRecord(events[1], stream), "cuEventRecord");
        ps_record_range_end(range);
        gpu_check(gpu.StreamSynchronize(stream), "cuStreamSynchronize");
        (void)printf("replay %d %.0f\n", mode, gpu_elapsed_ns(events[0], events[1]));
    }
}

int main(void) {
    void *blocking, *side;
    pthread_t thread;
    gpu_load();
    gpu_check(gpu.CtxCreate(&context, 0, 0), "cuCtxCreate");
    gpu_say_device();
    spin = gpu_spin_function();
    gpu_calibrate(spin);
    gpu_check(gpu.StreamCreate(&blocking, 0), "cuStreamCreate");
    gpu_check(gpu.StreamCreate(&side, 1), "cuStreamCreate");
    gpu_check(gpu.StreamCreate(&other_stream, 1), "cuStreamCreate");
    ps_record_mark(NULL, "ready",
                   side); /* the recorder finds the driver here, not while two threads record */
    (void)pthread_create(&thread, NULL, busy, NULL);
    for (int mode = 0; mode < 3; mode++) {
        capture(mode, blocking, side);
    }
    atomic_store(&stop, true);
    (void)pthread_join(thread, NULL);
    gpu_check(gpu.CtxSynchronize(), "cuCtxSynchronize");
    (void)fflush(stdout);
    return 0;
}
