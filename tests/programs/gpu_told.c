/* Ranges without a stream, of domains that ask for their kernels and of one that does not, with kernels, and a graph launched, inside
 * and outside of them: gpu_told [N]. Prints `told MESSAGE KERNELS`: how many the range launched itself, and in ranges inside of it.
 *
 * link: pipescope-record */
#include <pipescope/record.h>

#include <pthread.h>

#include "gpu_driver.h"

static void *context, *spin, *stream;

static void launches(int n) {
    for (int i = 0; i < n; i++) {
        gpu_spin(spin, 3, stream);
    }
}

/* Two threads at once, each with its own ranges: what one launches must not be taken for the other's. */
static void *nested(void *argument) {
    const char *who = argument;
    ps_record_domain *asks = ps_record_domain_named("asks");
    char outer[64], inner[64];
    gpu_check(gpu.CtxSetCurrent(context), "cuCtxSetCurrent");
    (void)snprintf(outer, sizeof outer, "outer %s", who);
    (void)snprintf(inner, sizeof inner, "inner %s", who);
    for (int i = 0; i < 20; i++) {
        launches(1);
        uint64_t a = ps_record_range_start(asks, outer, NULL);
        launches(1);
        uint64_t b = ps_record_range_start(asks, inner, NULL);
        launches(2);
        ps_record_range_end(b);
        ps_record_range_end(a);
        ps_record_range_end(ps_record_range_start(asks, "empty", NULL));
        a = ps_record_range_start(NULL, "not asking", NULL);
        launches(1);
        ps_record_range_end(a);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    void *graph = NULL, *exec = NULL;
    gpu_load();
    gpu_check(gpu.CtxCreate(&context, 0, 0), "cuCtxCreate");
    gpu_say_device();
    spin = gpu_spin_function();
    gpu_calibrate(spin);
    gpu_check(gpu.StreamCreate(&stream, 1), "cuStreamCreate");
    ps_record_mark(NULL, "ready", stream);
    (void)pthread_create(&threads[0], NULL, nested, (void *)"one");
    (void)pthread_create(&threads[1], NULL, nested, (void *)"two");
    (void)pthread_join(threads[0], NULL);
    (void)pthread_join(threads[1], NULL);
    gpu_check(gpu.StreamBeginCapture(stream, 2), "cuStreamBeginCapture");
    launches(4);
    gpu_check(gpu.StreamEndCapture(stream, &graph), "cuStreamEndCapture");
    gpu_check(gpu.GraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
    for (int i = 0; i < 3; i++) {
        uint64_t a = ps_record_range_start(ps_record_domain_named("asks"), "replay", NULL);
        gpu_check(gpu.GraphLaunch(exec, stream), "cuGraphLaunch");
        ps_record_range_end(a);
    }
    gpu_check(gpu.CtxSynchronize(), "cuCtxSynchronize");
    (void)printf("told outer 3\ntold inner 2\ntold replay 1\ntold empty 0\n");
    (void)fflush(stdout);
    return 0;
}
