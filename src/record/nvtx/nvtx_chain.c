/* Another NVTX tool behind this one: clients can load only one, and a launcher may want two.
 *
 * The tool is initialised once, with tables of ours in the place of a client's; what it installs there is called from our
 * callbacks. Clients get its handles and ids, so that everything can be handed on as it comes, also what is deep inside
 * of payloads; here they are looked up. Where the tool gives none, clients get ours. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "record/nvtx/nvtx.h"
#include "record/ring/config.h"
#include "record/ring/fork_gate.h"
#include "record/ring/log.h"

NvtxFunctionPointer ps_nvtx_chain[NVTX_CB_MODULE_SIZE][64];
intptr_t ps_nvtx_chain_payload[NVTX_EXT_PAYLOAD_SLOTS];

static atomic_bool chained;
static NvtxExtInitializeInjectionFunc_t init_extension;

bool ps_nvtx_chained(void) {
    return atomic_load_explicit(&chained, memory_order_relaxed);
}

/* --- tables -------------------------------------------------------------------------------------------------------- */

static const unsigned SIZES[NVTX_CB_MODULE_SIZE] = {
    [NVTX_CB_MODULE_CORE] = NVTX_CORE_SIZE,
    [NVTX_CB_MODULE_CUDA] = NVTX_CUDA_SIZE,
    [NVTX_CB_MODULE_OPENCL] = 15,
    [NVTX_CB_MODULE_CUDART] = NVTX_CUDART_SIZE,
    [NVTX_CB_MODULE_CORE2] = NVTX_CORE2_SIZE,
    [NVTX_CB_MODULE_SYNC] = 7,
};

static int module_table(int module, NvtxFunctionTable *table, unsigned *size) {
    static NvtxFunctionPointer *pointers[NVTX_CB_MODULE_SIZE][64];
    if (module < NVTX_CB_MODULE_CORE || module >= NVTX_CB_MODULE_SIZE) {
        return 0;
    }
    for (unsigned id = 0; id < SIZES[module]; id++) {
        pointers[module][id] = &ps_nvtx_chain[module][id];
    }
    if (table != NULL) {
        *table = pointers[module];
    }
    if (size != NULL) {
        *size = SIZES[module];
    }
    return 1;
}

static void note_version(uint32_t version) {
    (void)version;
}

static const void *export_table(uint32_t id) {
    static const NvtxExportTableCallbacks callbacks = {sizeof callbacks, module_table};
    static const NvtxExportTableVersionInfo version = {sizeof version, 3, 0, note_version};
    return id == NVTX_ETID_CALLBACKS     ? (const void *)&callbacks
           : id == NVTX_ETID_VERSIONINFO ? (const void *)&version
                                         : NULL;
}

/* dlsym gives an object pointer for a function; POSIX says that the two fit. */
static void find_chain(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

/* Whether an address lies in this library. (The name of its function may stand for that of another tool.) */
static bool is_here(NvtxInitializeInjectionNvtxFunc_t function) {
    void *address = NULL;
    memcpy(&address, &function, sizeof address);
    Dl_info there;
    Dl_info here;
    return dladdr(address, &there) != 0 && dladdr(&ps_nvtx_chain, &here) != 0 &&
           there.dli_fbase == here.dli_fbase;
}

void ps_nvtx_chain_open(bool (*may_init)(void)) {
    const char *path = ps_rec_config_text("nvtx_chain");
    if (path[0] == '\0') {
        return;
    }
    ps_fork_work_begin();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ps_fork_work_end();
    if (library == NULL) {
        ps_rec_log_once("nvtx_chain", "nvtx_chain: %s: going on without it", dlerror());
        return;
    }
    if (!may_init()) {
        ps_rec_log_once("nvtx_chain", "nvtx_chain: %s takes too long to load: going on without it",
                        path);
        return;
    }
    NvtxInitializeInjectionNvtxFunc_t init = NULL;
    find_chain(library, "InitializeInjectionNvtx2", &init);
    if (init == NULL || is_here(init)) {
        ps_rec_log_once("nvtx_chain", "nvtx_chain: %s is %s: going on without it", path,
                        init == NULL ? "no NVTX tool (it has no InitializeInjectionNvtx2)"
                                     : "this library itself");
        return;
    }
    if (init(export_table) == 0) {
        memset(ps_nvtx_chain, 0, sizeof ps_nvtx_chain);
        ps_rec_log_once("nvtx_chain", "nvtx_chain: %s refused to start: going on without it", path);
        return;
    }
    find_chain(library, "InitializeInjectionNvtxExtension", &init_extension);
    atomic_store(&chained, true);
}

bool ps_nvtx_chain_extension(nvtxExtModuleInfo_t *info) {
    if (init_extension == NULL) {
        return false;
    }
    if (info->moduleId != NVTX_EXT_PAYLOAD_MODULEID) {
        return init_extension(info) !=
               0; /* its handles are the client's: nothing of ours is needed */
    }
    static atomic_flag done = ATOMIC_FLAG_INIT;
    static atomic_bool works;
    if (!atomic_flag_test_and_set(&done)) {
        nvtxExtModuleSegment_t segment = {0, NVTX_EXT_PAYLOAD_SLOTS - 1, ps_nvtx_chain_payload};
        nvtxExtModuleInfo_t copy = *info;
        copy.segmentsCount = 1;
        copy.segments = &segment;
        if (init_extension(&copy) != 0) {
            atomic_store(&works, true);
        } else {
            memset(ps_nvtx_chain_payload, 0, sizeof ps_nvtx_chain_payload);
        }
    }
    return atomic_load(&works);
}

/* --- handles: a table that only grows, read without a lock --------------------------------------------------------- */

enum { N_HANDLES = 1 << 20, ANY_DOMAIN = 0xffff, A_DOMAIN = 0x10000 };

typedef struct handle_pair {
    _Atomic uint64_t theirs; /* 0: free */
    _Atomic uint32_t kind;   /* A_DOMAIN, or the id of a string's domain */
    void *_Atomic ours;
} handle_pair;

static handle_pair *_Atomic handles;
static uint32_t n_handles; /* under the lock */

static uint32_t chain_first_place(uint64_t theirs, uint32_t kind) {
    return (uint32_t)(((theirs ^ (uint64_t)kind << 44) * UINT64_C(0x9e3779b97f4a7c15)) >> 32) %
           N_HANDLES;
}

static handle_pair *chain_place_of(handle_pair *all, uint64_t theirs, uint32_t kind) {
    for (uint32_t i = chain_first_place(theirs, kind);; i = (i + 1) % N_HANDLES) {
        uint64_t there = atomic_load_explicit(&all[i].theirs, memory_order_acquire);
        if (there == 0 ||
            (there == theirs && atomic_load_explicit(&all[i].kind, memory_order_relaxed) == kind)) {
            return &all[i];
        }
    }
}

static void put_chained(uint64_t theirs, uint32_t kind, void *ours) {
    ps_nvtx_lock();
    handle_pair *all = atomic_load_explicit(&handles, memory_order_relaxed);
    if (all == NULL) {
        void *memory = mmap(NULL, N_HANDLES * sizeof *all, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        all = memory == MAP_FAILED ? NULL : memory;
        atomic_store_explicit(&handles, all, memory_order_release);
    }
    if (all != NULL && theirs != 0) {
        handle_pair *pair = chain_place_of(all, theirs, kind);
        if (atomic_load_explicit(&pair->theirs, memory_order_relaxed) != 0) {
            atomic_store_explicit(&pair->ours, ours, memory_order_release);
        } else if (n_handles < N_HANDLES / 2) {
            n_handles++;
            atomic_store_explicit(&pair->ours, ours, memory_order_relaxed);
            atomic_store_explicit(&pair->kind, kind, memory_order_relaxed);
            atomic_store_explicit(&pair->theirs, theirs, memory_order_release);
        } else {
            ps_rec_log_once("nvtx_chain handles",
                            "nvtx_chain: more than %d handles: events of "
                            "the others have no name",
                            N_HANDLES / 2);
        }
    }
    ps_nvtx_unlock();
}

static void *get(uint64_t theirs, uint32_t kind) {
    handle_pair *all = atomic_load_explicit(&handles, memory_order_acquire);
    if (all == NULL || theirs == 0) {
        return NULL;
    }
    const handle_pair *pair = chain_place_of(all, theirs, kind);
    return atomic_load_explicit(&pair->theirs, memory_order_relaxed) == 0
               ? NULL
               : atomic_load_explicit(&pair->ours, memory_order_acquire);
}

void ps_nvtx_chain_put_domain(nvtxDomainHandle_t theirs, ps_record_domain *ours) {
    put_chained((uint64_t)(uintptr_t)theirs, A_DOMAIN, ours);
}

ps_record_domain *ps_nvtx_chain_domain(nvtxDomainHandle_t theirs) {
    return get((uint64_t)(uintptr_t)theirs, A_DOMAIN);
}

/* A tool may number the strings of each domain anew; a client may use a string with another domain. */
void ps_nvtx_chain_put_string(const ps_record_domain *domain, nvtxStringHandle_t theirs,
                              ps_nvtx_string *ours) {
    put_chained((uint64_t)(uintptr_t)theirs, domain->id, ours);
    put_chained((uint64_t)(uintptr_t)theirs, ANY_DOMAIN, ours);
}

ps_nvtx_string *ps_nvtx_chain_string(const ps_record_domain *domain, nvtxStringHandle_t theirs) {
    void *string = get((uint64_t)(uintptr_t)theirs, domain->id);
    return string != NULL ? string : get((uint64_t)(uintptr_t)theirs, ANY_DOMAIN);
}

/* --- ranges that are open ------------------------------------------------------------------------------------------ */

enum { N_RANGES = 1 << 18 };
#define OURS_ALONE (UINT64_C(1) << 63) /* the tool gave no id */

typedef struct range_pair {
    uint64_t theirs, ours; /* 0: free */
} range_pair;

static range_pair *ranges; /* under the lock, as the next */
static uint32_t n_ranges;

static uint32_t home_of(uint64_t theirs) {
    return (uint32_t)((theirs * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % N_RANGES;
}

static uint32_t range_place(uint64_t theirs) {
    uint32_t i = home_of(theirs);
    while (ranges[i].theirs != 0 && ranges[i].theirs != theirs) {
        i = (i + 1) % N_RANGES;
    }
    return i;
}

/* Takes out entry i and moves those behind it that it kept from their place. */
static void range_remove(uint32_t i) {
    for (uint32_t j = (i + 1) % N_RANGES; ranges[j].theirs != 0; j = (j + 1) % N_RANGES) {
        uint32_t home = home_of(ranges[j].theirs);
        if ((j - home) % N_RANGES >= (j - i) % N_RANGES) {
            ranges[i] = ranges[j];
            i = j;
        }
    }
    ranges[i] = (range_pair){0, 0};
    n_ranges--;
}

uint64_t ps_nvtx_chain_range(uint64_t theirs, uint64_t ours) {
    if (!ps_nvtx_chained()) {
        return ours;
    }
    if (theirs == 0 || ours == 0) {
        return theirs != 0 ? theirs : ours == 0 ? 0 : ours | OURS_ALONE;
    }
    ps_nvtx_lock();
    if (ranges == NULL) {
        void *memory = mmap(NULL, N_RANGES * sizeof *ranges, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ranges = memory == MAP_FAILED ? NULL : memory;
    }
    if (ranges != NULL && n_ranges < N_RANGES / 2) {
        uint32_t i = range_place(theirs);
        n_ranges += ranges[i].theirs == 0;
        ranges[i] = (range_pair){theirs, ours};
    } else {
        ps_rec_log_once("nvtx_chain ranges",
                        "nvtx_chain: more than %d ranges are open: the ends "
                        "of the others are not recorded",
                        N_RANGES / 2);
    }
    ps_nvtx_unlock();
    return theirs;
}

uint64_t ps_nvtx_chain_range_end(uint64_t id) {
    if (!ps_nvtx_chained()) {
        return id;
    }
    uint64_t ours = (id & OURS_ALONE) != 0 ? id & ~OURS_ALONE : 0;
    ps_nvtx_lock();
    if (ranges != NULL && id != 0) {
        uint32_t i = range_place(id);
        if (ranges[i].theirs != 0) {
            ours = ranges[i].ours;
            range_remove(i);
        }
    }
    ps_nvtx_unlock();
    return ours;
}
