/* Chooses where device times come from (device.h).
 *
 * Whether a program uses a GPU shows only while it runs: recording may begin before the program has loaded a driver or made
 * a context. So unless the host was asked for, a recording begins *watching*: a backend that is called "host" and replaces itself once
 * there is a driver. Looking for it is the work of other threads: the writer, with each of its rounds, looks through the list of
 * loaded libraries; once the driver is there, the GPU thread asks for its functions, for which it may have to wait until the program
 * has loaded what it is loading. An event with a stream only looks at a pointer, but for the first one of a recording, which
 * looks for itself: most programs have loaded their driver long before, and want the times of their first ranges. What is
 * found:
 *
 *     auto        cuda_event, once a CUDA context is current at an event
 *     cuda_event  cuda_event, once the driver is loaded
 *     cupti       the same, and cupti as soon as it is open: it can take as long as the program's own cuInit, so this happens on a
 *                 thread of its own, which waits for the driver from the beginning: kernels do not wait for ranges */
#include "record/gpu/device_choose.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "record/core/threads_shared.h"
#include "record/gpu/cuda_driver.h"
#include "record/gpu/device_gpu.h"
#include "record/gpu/gpu_thread.h"
#include "record/ring/log.h"

enum { OPENING_MS = 2000, WAIT_NS = 5000000 };

static void watch_mark(uint64_t id, void *stream);
static void watch_start(uint64_t id, void *stream);
static void watch_look(void);
static void watch_drain(unsigned timeout_ms);
static void watch_close(void);
static void watch_forget(void);

/* Without a tick: a program that never uses a GPU is not to be woken for it. */
static const ps_rec_device watching_events = {.name = "host",
                                              .open = ps_device_host_open,
                                              .mark = watch_mark,
                                              .start = watch_start,
                                              .look = watch_look,
                                              .drain = watch_drain,
                                              .close = watch_close,
                                              .forget = watch_forget};

static const ps_rec_device watching = {.name = "host",
                                       .open = ps_device_host_open,
                                       .mark = watch_mark,
                                       .start = watch_start,
                                       .tick = watch_look,
                                       .drain = watch_drain,
                                       .close = watch_close,
                                       .forget = watch_forget};

static ps_rec_config chosen; /* of the recording at hand */
static atomic_bool looked; /* a thread of the program has looked for the driver in this recording */
static atomic_bool starting; /* somebody starts, or has started, the GPU thread for it */
static atomic_bool changing; /* somebody opens, or has opened, a backend */
static const ps_rec_device *_Atomic opened; /* to be closed before the next is chosen */
static atomic_bool give_up_waiting;         /* the recording ends: nobody needs a driver any more */
static pthread_mutex_t handing =
    PTHREAD_MUTEX_INITIALIZER; /* a short one: of `chosen`, and see hand_over() */

static void close_opened(void) {
    const ps_rec_device *device = atomic_exchange(&opened, NULL);
    if (device != NULL && device->close != NULL) {
        device->close();
    }
}

/* Once a recording, by the first caller; what it opens is a part of cupti, too, which may have taken the place already. */
static bool open_cuda(bool *first) {
    *first = !atomic_exchange(&changing, true);
    if (!*first) {
        return true;
    }
    const ps_rec_device *before = atomic_load(&ps_device), *nothing = NULL;
    bool ok = ps_device_cuda.open(&chosen);
    if (before != &ps_device_cupti) {
        (void)atomic_compare_exchange_strong(&opened, &nothing, ok ? &ps_device_cuda : NULL);
        (void)atomic_compare_exchange_strong(&ps_device, &before,
                                             ok ? &ps_device_cuda : &ps_device_host);
    }
    return ok;
}

/* What was opened becomes the recording's, unless that has ended while it opened. */
static bool hand_over(bool ok) {
    (void)pthread_mutex_lock(&handing);
    bool wanted = !ps_gpu_thread_given_up();
    if (wanted && ok) {
        atomic_store(&opened, &ps_device_cupti);
        atomic_store(&ps_device, &ps_device_cupti);
    }
    (void)pthread_mutex_unlock(&handing);
    return wanted;
}

/* The GPU thread has answered, or is given up: it hands nothing over from here on. */
static void wait_for_opening(void) {
    atomic_store(&give_up_waiting, true);
    (void)ps_gpu_thread_do(0, OPENING_MS);
    (void)pthread_mutex_lock(&handing);
    (void)pthread_mutex_unlock(&handing);
}

/* On the GPU thread, from the beginning of the recording on. */
static void open_cupti(void) {
    const struct timespec pause = {.tv_nsec = WAIT_NS};
    (void)pthread_mutex_lock(&handing);
    const ps_rec_config own = chosen; /* the next recording may begin while CUPTI opens */
    (void)pthread_mutex_unlock(&handing);
    while (ps_cuda_driver(own.cuda_library) == NULL) {
        if (atomic_load(&give_up_waiting)) {
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
    bool ok = ps_device_cupti.open(&own);
    if (!hand_over(ok)) {
        return; /* the recording has ended: PS_GPU_LET_GO follows */
    }
    bool first;
    (void)open_cuda(&first);
    ps_device_tell();
}

/* In any other mode what this thread asks of the driver would break captures of the program's threads. */
static void relax_captures(void) {
    static _Thread_local bool relaxed;
    const ps_cuda_calls *cu = ps_cuda_driver_found();
    if (!relaxed && cu != NULL && cu->ThreadExchangeStreamCaptureMode != NULL) {
        int mode = PS_CU_CAPTURE_MODE_RELAXED;
        (void)cu->ThreadExchangeStreamCaptureMode(&mode);
        relaxed = true;
    }
}

/* On the GPU thread. What was asked for by name is opened at once; `auto` waits for an event with a context. */
static void find_driver(void) {
    if (ps_cuda_driver(chosen.cuda_library) != NULL && !ps_gpu_thread_given_up() &&
        chosen.backend == PS_BACKEND_CUDA_EVENT) {
        bool first;
        if (open_cuda(&first) && first) {
            ps_device_tell();
        }
    }
}

void ps_gpu_work(uint32_t wishes) {
    if (wishes == PS_GPU_LET_GO) {
        ps_cupti_let_go();
        return;
    }
    if ((wishes & PS_GPU_FIND) != 0) {
        find_driver();
    }
    relax_captures();
    if ((wishes & PS_GPU_OPEN_CUPTI) != 0) {
        open_cupti();
    }
    if ((wishes & PS_GPU_TELL) != 0) {
        ps_device_tell();
    }
    if ((wishes & PS_GPU_CUDA) != 0) {
        ps_cuda_work(wishes);
    }
    if ((wishes & PS_GPU_CUPTI) != 0) {
        ps_cupti_work(wishes);
    }
}

/* False when there is none, or another thread is just starting it. */
static bool start_thread(void) {
    if (!atomic_exchange(&starting, true) && !ps_gpu_thread_running() &&
        !ps_gpu_thread_start(ps_gpu_work, PS_GPU_LET_GO)) {
        ps_rec_log_once("gpu_thread", "no thread for the GPU can be had: no device times");
    }
    return ps_gpu_thread_running();
}

/* The driver is there: true when the event at hand may be given to cuda_event. Events are taken from the first moment on; the thread
 * comes after that, since threads of the program that come here meanwhile do not wait. */
static bool open_gpu(void) {
    bool first;
    if (!open_cuda(&first)) {
        return false;
    }
    if (first && start_thread()) {
        ps_gpu_thread_ask(PS_GPU_TELL | PS_GPU_SETUP);
    }
    return true;
}

/* The stream is not shown to the driver yet: in a program without a context it may be anything. */
static bool context_current(const ps_cuda_calls *cu) {
    ps_cu_context context = NULL;
    return cu->CtxGetCurrent(&context) == PS_CU_OK && context != NULL;
}

static bool watch_event(void) {
    const ps_cuda_calls *cu = ps_cuda_driver_found();
    if (cu == NULL && !atomic_load_explicit(&looked, memory_order_relaxed) &&
        !atomic_exchange(&looked, true)) {
        cu = ps_cuda_driver(chosen.cuda_library);
    }
    return cu != NULL && (chosen.backend != PS_BACKEND_AUTO || context_current(cu)) && open_gpu();
}

static void watch_mark(uint64_t id, void *stream) {
    if (watch_event()) {
        ps_device_cuda.mark(id, stream);
    }
}

static void watch_start(uint64_t id, void *stream) {
    if (watch_event()) {
        ps_device_cuda.start(id, stream);
    }
}

/* On the writer thread, which waits for nobody. */
static void watch_look(void) {
    if (ps_cuda_driver_found() == NULL) {
        if (ps_cuda_driver_listed(chosen.cuda_library) && start_thread()) {
            ps_gpu_thread_ask(PS_GPU_FIND);
        }
    } else if (chosen.backend == PS_BACKEND_CUDA_EVENT) {
        (void)open_gpu();
    }
}

/* The caller still saw us, though a backend may have been opened a moment ago. */
static void watch_drain(unsigned timeout_ms) {
    wait_for_opening();
    const ps_rec_device *late = atomic_load(&opened);
    if (late != NULL) {
        late->drain(timeout_ms);
    } else if (chosen.backend != PS_BACKEND_AUTO) {
        ps_rec_log_once(
            "no_driver",
            "backend %s was asked for, but the program loaded no CUDA driver: device rows "
            "have the host's times",
            chosen.backend == PS_BACKEND_CUPTI ? "cupti" : "cuda_event");
    }
}

static void watch_close(void) {
    wait_for_opening();
    close_opened();
    (void)ps_gpu_thread_stop(OPENING_MS);
}

static void watch_forget(void) {
    (void)pthread_mutex_init(&handing, NULL);
    ps_device_cuda.forget();
    ps_device_cupti.forget();
}

void ps_device_tell(void) {
    const ps_rec_device *device = atomic_load(&ps_device);
    ps_shared_pair(PS_REC_INFO, "backend", device->name, strlen(device->name));
}

/* Options that only CUPTI can fulfil. */
static void say_unused(const ps_rec_config *config) {
    bool cupti = config->backend == PS_BACKEND_CUPTI && config->level >= PS_LEVEL_0;
    if (!cupti && config->correlate != NULL && config->correlate[0] != 0) {
        ps_rec_log_once("correlate",
                        "the option correlate needs backend cupti and a level from 0 on: "
                        "not followed");
    }
    if (!cupti && config->whole_graphs) {
        ps_rec_log_once("cuda_graphs",
                        "the option cuda_graphs needs backend cupti and a level from 0 "
                        "on: not followed");
    }
}

void ps_device_choose(const ps_rec_config *config) {
    close_opened();
    say_unused(config);
    (void)pthread_mutex_lock(&handing);
    chosen = *config;
    (void)pthread_mutex_unlock(&handing);
    atomic_store(&changing, false);
    atomic_store(&looked, false);
    atomic_store(&starting, false);
    atomic_store(&give_up_waiting, false);
    if (config->backend == PS_BACKEND_HOST) {
        atomic_store(&ps_device, &ps_device_host);
    } else if (config->backend != PS_BACKEND_CUDA_EVENT) {
        atomic_store(&ps_device, &watching_events);
    } else {
        atomic_store(&ps_device, &watching);
        if (ps_cuda_driver(chosen.cuda_library) != NULL) {
            (void)open_gpu();
        }
    }
    if (config->backend == PS_BACKEND_CUPTI && start_thread()) {
        ps_gpu_thread_ask(PS_GPU_OPEN_CUPTI);
    }
}
