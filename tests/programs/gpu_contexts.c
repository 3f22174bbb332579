/* Two contexts on one device, one of them destroyed while the recorder still waits for its times, others made and destroyed one
 * after the other: what a program may do at any time must not bring it down.
 *
 * link: pipescope-record */
#include <pipescope/record.h>

#include "gpu_driver.h"

static void range(void *spin, const char *message, void *stream) {
    uint64_t id = ps_record_range_start(NULL, message, stream);
    gpu_spin(spin, 50, stream);
    ps_record_range_end(id);
}

int main(void) {
    void *first, *second, *streams[2];
    gpu_load();
    gpu_check(gpu.CtxCreate(&first, 0, 0), "cuCtxCreate");
    gpu_say_device();
    void *spin_first = gpu_spin_function();
    gpu_calibrate(spin_first);
    gpu_check(gpu.StreamCreate(&streams[0], 1), "cuStreamCreate");
    gpu_check(gpu.CtxCreate(&second, 0, 0), "cuCtxCreate");
    void *spin_second = gpu_spin_function();
    gpu_check(gpu.StreamCreate(&streams[1], 1), "cuStreamCreate");
    for (int i = 0; i < 50; i++) {
        gpu_check(gpu.CtxSetCurrent(first), "cuCtxSetCurrent");
        range(spin_first, "first", streams[0]);
        range(spin_first, "first default", GPU_LEGACY);
        gpu_check(gpu.CtxSetCurrent(second), "cuCtxSetCurrent");
        range(spin_second, "second", streams[1]);
        range(spin_second, "second default", GPU_LEGACY);
        ps_record_range_end(
            ps_record_range_start(NULL, "across", streams[0])); /* not of the current context */
        (void)ps_record_step();
    }
    gpu_check(gpu.CtxSynchronize(), "cuCtxSynchronize");
    gpu_check(gpu.CtxDestroy(second), "cuCtxDestroy");
    for (int i = 0; i < 5; i++) {
        void *passing;
        gpu_check(gpu.CtxCreate(&passing, 0, 0), "cuCtxCreate");
        void *spin = gpu_spin_function();
        range(spin, "passing", GPU_LEGACY);
        gpu_check(gpu.CtxSynchronize(), "cuCtxSynchronize");
        gpu_check(gpu.CtxDestroy(passing), "cuCtxDestroy");
    }
    gpu_check(gpu.CtxSetCurrent(first), "cuCtxSetCurrent");
    range(spin_first, "last", streams[0]);
    gpu_check(gpu.CtxSynchronize(), "cuCtxSynchronize");
    (void)printf("done\n");
    (void)fflush(stdout);
    return 0;
}
