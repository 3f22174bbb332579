/* What the gpu_*.c programs share: the driver by dlopen (GPU_DRIVER names another file, as that of the emulation), a kernel that spins
 * for a number of clock cycles, and its calibration. The programs end with status 77 and a line that says why where there is no
 * GPU. They run on the emulated driver, too: there a cycle is a nanosecond. */
#ifndef TESTS_GPU_DRIVER_H
#define TESTS_GPU_DRIVER_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GPU_CALLS(X)                                                                               \
    X(Init, "cuInit", (unsigned))                                                                  \
    X(DeviceGetCount, "cuDeviceGetCount", (int *))                                                 \
    X(DeviceGetName, "cuDeviceGetName", (char *, int, int))                                        \
    X(DriverGetVersion, "cuDriverGetVersion", (int *))                                             \
    X(CtxCreate, "cuCtxCreate_v2", (void **, unsigned, int))                                       \
    X(CtxDestroy, "cuCtxDestroy_v2", (void *))                                                     \
    X(CtxSetCurrent, "cuCtxSetCurrent", (void *))                                                  \
    X(CtxSynchronize, "cuCtxSynchronize", (void))                                                  \
    X(StreamCreate, "cuStreamCreate", (void **, unsigned))                                         \
    X(StreamSynchronize, "cuStreamSynchronize", (void *))                                          \
    X(StreamBeginCapture, "cuStreamBeginCapture_v2", (void *, int))                                \
    X(StreamEndCapture, "cuStreamEndCapture", (void *, void **))                                   \
    X(GraphInstantiate, "cuGraphInstantiateWithFlags", (void **, void *, unsigned long long))      \
    X(GraphLaunch, "cuGraphLaunch", (void *, void *))                                              \
    X(EventCreate, "cuEventCreate", (void **, unsigned))                                           \
    X(EventRecord, "cuEventRecord", (void *, void *))                                              \
    X(EventElapsedTime, "cuEventElapsedTime", (float *, void *, void *))                           \
    X(ModuleLoadData, "cuModuleLoadData", (void **, const void *))                                 \
    X(ModuleGetFunction, "cuModuleGetFunction", (void **, void *, const char *))                   \
    X(LaunchKernel, "cuLaunchKernel",                                                              \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,       \
       void **, void **))

static struct {
#define X(name, symbol, params) int(*name) params;
    GPU_CALLS(X)
#undef X
} gpu;

static double gpu_cycles_per_us;

#define GPU_LEGACY ((void *)1)
#define GPU_PER_THREAD ((void *)2)

static inline void gpu_check(int result, const char *what) {
    if (result != 0) {
        (void)fprintf(stderr, "%s: error %d of the driver\n", what, result);
        exit(1);
    }
}

static inline void gpu_skip(const char *why) {
    (void)printf("skipped: %s\n", why);
    exit(77);
}

static inline int64_t gpu_unix_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline int64_t gpu_mono_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char gpu_ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                              ".visible .entry spin(.param .u64 cycles)\n{\n"
                              ".reg .u64 %a<4>;\n.reg .pred %p;\n"
                              "ld.param.u64 %a0, [cycles];\nmov.u64 %a1, %clock64;\n"
                              "again:\nmov.u64 %a2, %clock64;\nsub.u64 %a3, %a2, %a1;\n"
                              "setp.lt.u64 %p, %a3, %a0;\n@%p bra again;\nret;\n}\n";

/* The driver, initialised; no context. */
static inline void gpu_load(void) {
    const char *file = getenv("GPU_DRIVER");
    void *library = dlopen(file != NULL ? file : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        gpu_skip("no CUDA driver (libcuda.so.1)");
    }
#define X(name, symbol, params)                                                                    \
    do {                                                                                           \
        void *address = dlsym(library, symbol);                                                    \
        if (address == NULL) {                                                                     \
            gpu_skip("the CUDA driver has no " symbol);                                            \
        }                                                                                          \
        memcpy(&gpu.name, &address, sizeof address);                                               \
    } while (0);
    GPU_CALLS(X)
#undef X
    int n = 0;
    if (gpu.Init(0) != 0 || gpu.DeviceGetCount(&n) != 0 || n == 0) {
        gpu_skip("a CUDA driver, but no GPU");
    }
}

/* The spinning kernel, in the current context. */
static inline void *gpu_spin_function(void) {
    void *module, *function;
    gpu_check(gpu.ModuleLoadData(&module, gpu_ptx), "cuModuleLoadData");
    gpu_check(gpu.ModuleGetFunction(&function, module, "spin"), "cuModuleGetFunction");
    return function;
}

static inline void gpu_spin(void *function, double us, void *stream) {
    uint64_t cycles = (uint64_t)(us * gpu_cycles_per_us);
    gpu_check(gpu.LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&cycles}, NULL),
              "cuLaunchKernel");
}

/* Between two events of the program's own, ns. */
static inline double gpu_elapsed_ns(void *from, void *to) {
    float ms = 0;
    gpu_check(gpu.EventElapsedTime(&ms, from, to), "cuEventElapsedTime");
    return (double)ms * 1e6;
}

/* Warms the clocks up for a tenth of a second, then times a million cycles. */
static inline void gpu_calibrate(void *function) {
    void *events[2];
    gpu_check(gpu.EventCreate(&events[0], 0), "cuEventCreate");
    gpu_check(gpu.EventCreate(&events[1], 0), "cuEventCreate");
    gpu_cycles_per_us = 1000;
    for (int64_t until = gpu_mono_ns() + 100000000; gpu_mono_ns() < until;) {
        gpu_check(gpu.EventRecord(events[0], GPU_LEGACY), "cuEventRecord");
        gpu_spin(function, 1000, GPU_LEGACY);
        gpu_check(gpu.EventRecord(events[1], GPU_LEGACY), "cuEventRecord");
        gpu_check(gpu.CtxSynchronize(), "cuCtxSynchronize");
    }
    gpu_cycles_per_us = 1000 * 1e6 / gpu_elapsed_ns(events[0], events[1]);
}

static inline void gpu_say_device(void) {
    char name[128] = "?";
    int version = 0;
    (void)gpu.DeviceGetName(name, (int)sizeof name, 0);
    (void)gpu.DriverGetVersion(&version);
    (void)printf("device %s\ndriver %d\n", name, version);
}

#endif
