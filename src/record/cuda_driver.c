/* The driver is found in the list of loaded objects. The list carries a count of all loads so far, so that asking again
 * while nothing was loaded is cheap; device.c asks at events, once a tick. Only when the driver is in the list is dlopen called
 * (RTLD_NOLOAD), which takes the loader's lock for longer.
 *
 * Entry points come from cuGetProcAddress where the driver has it: that is what tools which stand between a program and the
 * driver expect, and it names the newest form of each call up to the version asked for. */
#include "record/cuda_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "record/log.h"

/* The interface asked for: nothing newer is used, and each later driver has it. */
enum { WANTED_VERSION = 12000, OLDEST_PROC_ADDRESS = 11030 };

static ps_cuda_calls calls;
static const ps_cuda_calls *_Atomic found;
static _Atomic unsigned long long loads_seen; /* plus one; 0: never looked */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

typedef struct search {
    const char *library; /* base name, or NULL */
    unsigned long long loads;
    bool first;
    char path[4096]; /* found; "" not */
} search;

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int each_object(struct dl_phdr_info *info, size_t size, void *context) {
    search *s = context;
    (void)size;
    if (s->first) {
        s->first = false;
        s->loads = info->dlpi_adds;
        if (atomic_load_explicit(&loads_seen, memory_order_relaxed) == s->loads + 1) {
            return 1;
        }
    }
    const char *name = info->dlpi_name != NULL ? base_name(info->dlpi_name) : "";
    bool match = strncmp(name, "libcuda.so", 10) == 0 ||
                 (s->library != NULL && *s->library != 0 && strcmp(name, s->library) == 0);
    if (!match || strlen(info->dlpi_name) >= sizeof s->path) {
        return 0;
    }
    (void)snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
    return 1;
}

typedef void (*entry)(void);

static entry symbol_of(void *library, const char *name) {
    void *address = dlsym(library, name);
    entry e;
    memcpy(&e, &address, sizeof e);
    return e;
}

/* cuGetProcAddress has a fifth parameter since 12.0, under a name of its own. */
static entry proc_address(void *library, int version, const char *name) {
    void *address = NULL;
    int (*with_status)(const char *, void **, int, uint64_t, int *);
    entry e = symbol_of(library, "cuGetProcAddress_v2");
    if (e != NULL && version >= WANTED_VERSION) {
        int status = 0;
        memcpy(&with_status, &e, sizeof e);
        if (with_status(name, &address, WANTED_VERSION, 0, &status) != PS_CU_OK) {
            address = NULL;
        }
    } else if (version >= OLDEST_PROC_ADDRESS &&
               (e = symbol_of(library, "cuGetProcAddress")) != NULL) {
        int (*plain)(const char *, void **, int, uint64_t);
        memcpy(&plain, &e, sizeof e);
        if (plain(name, &address, OLDEST_PROC_ADDRESS, 0) != PS_CU_OK) {
            address = NULL;
        }
    }
    memcpy(&e, &address, sizeof e);
    return e;
}

static bool fill(void *library) {
    int version = 0;
    entry ask = symbol_of(library, "cuDriverGetVersion");
    if (ask == NULL) {
        return false;
    }
    int (*get_version)(int *);
    memcpy(&get_version, &ask, sizeof ask);
    if (get_version(&version) != PS_CU_OK) {
        version = 0;
    }
    const char *missing = NULL;
    entry e;
#define X(required, name, symbol, params)                                                          \
    e = proc_address(library, version, "cu" #name);                                                \
    e = e != NULL ? e : symbol_of(library, symbol);                                                \
    memcpy(&calls.name, &e, sizeof e);                                                             \
    missing = (required) && e == NULL ? symbol : missing;
    PS_CUDA_CALLS(X)
#undef X
    if (missing != NULL) {
        ps_rec_log_once(
            "cuda_old",
            "the CUDA driver (version %d) has no %s: no device times from it; ranges keep "
            "the host's times",
            version, missing);
    }
    return missing == NULL;
}

const ps_cuda_calls *ps_cuda_driver_found(void) {
    return atomic_load_explicit(&found, memory_order_acquire);
}

const ps_cuda_calls *ps_cuda_driver(const char *library) {
    const ps_cuda_calls *have = ps_cuda_driver_found();
    if (have != NULL) {
        return have;
    }
    search s = {.library = library != NULL ? base_name(library) : NULL, .first = true};
    (void)dl_iterate_phdr(each_object, &s);
    if (s.path[0] == 0) {
        atomic_store_explicit(&loads_seen, s.loads + 1, memory_order_relaxed);
        return NULL;
    }
    (void)pthread_mutex_lock(&looking);
    if (ps_cuda_driver_found() == NULL) {
        /* Never closed: the driver's code must not go while we hold pointers into it. */
        void *handle = dlopen(s.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle != NULL && fill(handle)) {
            atomic_store_explicit(&found, &calls, memory_order_release);
        } else {
            atomic_store_explicit(&loads_seen, s.loads + 1, memory_order_relaxed);
        }
    }
    (void)pthread_mutex_unlock(&looking);
    return ps_cuda_driver_found();
}

void ps_cuda_driver_forget(void) {
    atomic_store(&found, NULL);
    atomic_store(&loads_seen, 0);
    (void)pthread_mutex_init(&looking, NULL);
}
