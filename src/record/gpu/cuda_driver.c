/* The driver is found in the list of loaded objects. The list carries a count of all loads so far, so that asking again
 * while nothing was loaded is cheap; device.c asks on the writer thread. Only when the driver is in the list is dlopen called
 * (RTLD_NOLOAD), on a thread that may wait: whoever loads a library holds the loader's lock until its constructors are done.
 *
 * Entry points come from cuGetProcAddress where the driver has it: that is what tools which stand between a program and the
 * driver expect, and it names the newest form of each call up to the version asked for. */
#include "record/gpu/cuda_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "record/ring/fork_gate.h"
#include "record/ring/log.h"
#include "record/ring/signal_lock.h"

/* The interface asked for: nothing newer is used, and each later driver has it. */
enum { WANTED_VERSION = 12000, OLDEST_PROC_ADDRESS = 11030 };

/* Threads that find it at the same time each fill a table of their own, and the first one counts: none of them waits for another, which
 * may wait for the loader while the first is what the loader waits for. */
enum { TABLES = 8 };
static ps_cuda_calls tables[TABLES];
static _Atomic unsigned n_tables;
static const ps_cuda_calls *_Atomic found;
static _Atomic unsigned long long loads_seen; /* plus one; 0: never looked */

typedef struct search {
    const char *prefix, *name; /* of base names; `name` may be NULL or "" */
    bool if_new, first;
    unsigned long long loads;
    char path[4096]; /* the object at hand, or, at the end, the one found */
} search;

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The loader's own memory, under the loader's own lock, of which the thread sanitizer knows nothing. */
__attribute__((no_sanitize("thread"))) static bool copy_name(char *out, size_t size,
                                                             const volatile char *name) {
    for (size_t i = 0; name != NULL && i < size; i++) {
        out[i] = name[i];
        if (name[i] == 0) {
            return true;
        }
    }
    return false;
}

static int each_object(struct dl_phdr_info *info, size_t size, void *context) {
    search *s = context;
    (void)size;
    if (s->first) {
        s->first = false;
        s->loads = info->dlpi_adds;
        if (s->if_new && atomic_load_explicit(&loads_seen, memory_order_relaxed) == s->loads + 1) {
            return 1;
        }
    }
    if (!copy_name(s->path, sizeof s->path, info->dlpi_name)) {
        s->path[0] = 0;
    }
    const char *name = base_name(s->path);
    if (strncmp(name, s->prefix, strlen(s->prefix)) == 0 ||
        (s->name != NULL && *s->name != 0 && strcmp(name, s->name) == 0)) {
        return 1;
    }
    s->path[0] = 0;
    return 0;
}

static void walk_objects(search *s) {
    if (ps_signal_locks_held > 0) {
        return; /* a handler, and the thread that it interrupts may be in the gate */
    }
    ps_fork_gate_enter();
    (void)dl_iterate_phdr(each_object, s);
    ps_fork_gate_leave();
}

void *ps_open_library(const char *path, int more_flags) {
    ps_fork_work_begin();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | more_flags);
    ps_fork_work_end();
    return library;
}

void *ps_loaded_library(const char *prefix) {
    search s = {.prefix = prefix, .first = true};
    walk_objects(&s);
    return s.path[0] != 0 ? ps_open_library(s.path, RTLD_NOLOAD) : NULL;
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

static bool fill_driver_table(void *library, ps_cuda_calls *calls) {
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
    memcpy(&calls->name, &e, sizeof e);                                                            \
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

/* s->path is empty when there is no driver, or nothing was loaded since the last search. */
static void look_driver_table(search *s, const char *library) {
    *s = (search){.prefix = "libcuda.so",
                  .name = library != NULL ? base_name(library) : NULL,
                  .if_new = true,
                  .first = true};
    walk_objects(s);
    if (s->path[0] == 0) {
        atomic_store_explicit(&loads_seen, s->loads + 1, memory_order_relaxed);
    }
}

bool ps_cuda_driver_listed(const char *library) {
    search s;
    look_driver_table(&s, library);
    return s.path[0] != 0;
}

const ps_cuda_calls *ps_cuda_driver(const char *library) {
    const ps_cuda_calls *have = ps_cuda_driver_found();
    if (have != NULL) {
        return have;
    }
    search s;
    look_driver_table(&s, library);
    if (s.path[0] == 0) {
        return NULL;
    }
    /* Never closed: the driver's code must not go while we hold pointers into it. */
    void *handle = ps_open_library(s.path, RTLD_NOLOAD);
    ps_cuda_calls calls = {0};
    if (handle == NULL || !fill_driver_table(handle, &calls)) {
        atomic_store_explicit(&loads_seen, s.loads + 1, memory_order_relaxed);
        return ps_cuda_driver_found();
    }
    unsigned mine = atomic_fetch_add(&n_tables, 1);
    const ps_cuda_calls *nothing = NULL;
    if (mine < TABLES) {
        tables[mine] = calls;
        (void)atomic_compare_exchange_strong(&found, &nothing, &tables[mine]);
    }
    return ps_cuda_driver_found();
}

void ps_cuda_driver_forget(void) {
    atomic_store(&found, NULL);
    atomic_store(&loads_seen, 0);
    atomic_store(&n_tables, 0);
}
