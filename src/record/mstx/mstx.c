/* mstx: the library that its programs link or load (libms_tools_ext.so), and the tool that its header loads.
 *
 * A client of the header has a table of pointers for each shared object it is compiled into, so InitInjectionMstx comes
 * several times, from any thread, while other threads wait for it: it fills the pointers and records nothing.
 *
 * The pointers lead to functions of this file that have no name outside. Were they the exported ones, the dynamic linker
 * could find the client's own functions of these names for them, which would then call themselves for ever. */
#include "record/mstx/mstx_abi.h"

#include <string.h>

#include "pipescope/record.h"
#include "record/core/events.h"
#include "record/session/session.h"

/* Longer than any message that is taken; what is longer is refused by its length alone. */
enum { LONGEST_LOOK = PS_RECORD_MAX_TEXT + 1 };

static ps_text mstx_message_of(const char *message) {
    size_t length = message == NULL ? 0 : strnlen(message, LONGEST_LOOK);
    return (ps_text){.bytes = message == NULL ? "" : message, .length = length, .check = true};
}

/* NULL, counted, for a handle that is not a living domain. */
static ps_record_domain *mstx_domain_of(mstxDomainHandle_t handle) {
    ps_record_domain *domain = ps_domain_check(handle);
    if (domain == NULL) {
        ps_event_drop(PS_DROP_BAD_DOMAIN);
    }
    return domain;
}

/* --- events -------------------------------------------------------------------------------------------------------- */

static void domain_mark(mstxDomainHandle_t handle, const char *message, aclrtStream stream) {
    if (!ps_is_recording()) {
        return;
    }
    const ps_record_domain *domain = mstx_domain_of(handle);
    if (domain != NULL) {
        ps_event_mark(domain, mstx_message_of(message), stream, NULL);
    }
}

static mstxRangeId domain_range_start(mstxDomainHandle_t handle, const char *message,
                                      aclrtStream stream) {
    if (!ps_is_recording()) {
        return 0;
    }
    const ps_record_domain *domain = mstx_domain_of(handle);
    return domain == NULL ? 0 : ps_event_start(domain, mstx_message_of(message), stream, NULL);
}

static void domain_range_end(mstxDomainHandle_t handle, mstxRangeId id) {
    if (id == 0 || !ps_is_recording()) {
        return;
    }
    const ps_record_domain *domain = mstx_domain_of(handle);
    if (domain != NULL) {
        ps_event_end(domain, id);
    }
}

static void mark(const char *message, aclrtStream stream) {
    domain_mark(NULL, message, stream);
}

static mstxRangeId range_start(const char *message, aclrtStream stream) {
    return domain_range_start(NULL, message, stream);
}

static void range_end(mstxRangeId id) {
    domain_range_end(NULL, id);
}

/* --- domains, and what is accepted without effect ------------------------------------------------------------------ */

static mstxDomainHandle_t domain_create(const char *name) {
    ps_process_init();
    if (name == NULL) {
        return NULL;
    }
    size_t length = strnlen(name, LONGEST_LOOK);
    ps_record_domain *domain = ps_event_domain(name, length);
    if (domain == NULL) {
        /* One too many. NULL would put its events into "default"; this is no domain, so they are counted. */
        static char none;
        return (mstxDomainHandle_t)(void *)&none;
    }
    return domain->id == 0 ? NULL : (mstxDomainHandle_t)domain; /* "default" has no handle */
}

static void domain_destroy(mstxDomainHandle_t handle) {
    if (handle != NULL) {
        ps_domain_destroy(handle);
    }
}

static void get_tool_id(uint64_t *id) {
    if (id != NULL) {
        *id = PS_MSTX_TOOL_ID;
    }
}

static mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const void *desc) {
    (void)domain;
    (void)desc;
    return NULL;
}

static void heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
    (void)domain;
    (void)heap;
}

static void regions(mstxDomainHandle_t domain, const void *desc) {
    (void)domain;
    (void)desc;
}

/* --- injection ----------------------------------------------------------------------------------------------------- */

static const mstxFuncPointer CORE[] = {
    [MSTX_CORE_MARK_A] = (mstxFuncPointer)mark,
    [MSTX_CORE_RANGE_START_A] = (mstxFuncPointer)range_start,
    [MSTX_CORE_RANGE_END] = (mstxFuncPointer)range_end,
    [MSTX_CORE_GET_TOOL_ID] = (mstxFuncPointer)get_tool_id,
};
static const mstxFuncPointer CORE_DOMAIN[] = {
    [MSTX_DOMAIN_CREATE_A] = (mstxFuncPointer)domain_create,
    [MSTX_DOMAIN_DESTROY] = (mstxFuncPointer)domain_destroy,
    [MSTX_DOMAIN_MARK_A] = (mstxFuncPointer)domain_mark,
    [MSTX_DOMAIN_RANGE_START_A] = (mstxFuncPointer)domain_range_start,
    [MSTX_DOMAIN_RANGE_END] = (mstxFuncPointer)domain_range_end,
};
static const mstxFuncPointer CORE_MEM[] = {
    [MSTX_MEM_HEAP_REGISTER] = (mstxFuncPointer)heap_register,
    [MSTX_MEM_HEAP_UNREGISTER] = (mstxFuncPointer)heap_unregister,
    [MSTX_MEM_REGIONS_REGISTER] = (mstxFuncPointer)regions,
    [MSTX_MEM_REGIONS_UNREGISTER] = (mstxFuncPointer)regions,
};

/* Fills as many pointers as this client's header knows of. */
static void fill_mstx_table(mstxGetModuleFuncTableFunc get_table, int module,
                            const mstxFuncPointer *ours, unsigned n) {
    mstxFuncTable table = NULL;
    unsigned size = 0;
    if (get_table(module, &table, &size) != MSTX_SUCCESS || table == NULL) {
        return; /* an older header */
    }
    for (unsigned id = 1; id < n && id < size; id++) {
        if (table[id] != NULL) {
            __atomic_store_n(table[id], ours[id], __ATOMIC_RELEASE);
        }
    }
}

#define COUNT(table) ((unsigned)(sizeof(table) / sizeof((table)[0])))

PS_API int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table);
int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table) {
    if (get_table == NULL) {
        return MSTX_FAIL;
    }
    ps_process_init();
    fill_mstx_table(get_table, MSTX_MODULE_CORE, CORE, COUNT(CORE));
    fill_mstx_table(get_table, MSTX_MODULE_CORE_DOMAIN, CORE_DOMAIN, COUNT(CORE_DOMAIN));
    fill_mstx_table(get_table, MSTX_MODULE_CORE_MEM, CORE_MEM, COUNT(CORE_MEM));
    return MSTX_SUCCESS;
}

/* --- for programs that link or dlopen this library ----------------------------------------------------------------- */

PS_API void mstxMarkA(const char *message, aclrtStream stream);
PS_API mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream);
PS_API void mstxRangeEnd(mstxRangeId id);
PS_API void mstxGetToolId(uint64_t *id);
PS_API mstxDomainHandle_t mstxDomainCreateA(const char *name);
PS_API void mstxDomainDestroy(mstxDomainHandle_t domain);
PS_API void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream);
PS_API mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message,
                                         aclrtStream stream);
PS_API void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);
PS_API mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, const void *desc);
PS_API void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
PS_API void mstxMemRegionsRegister(mstxDomainHandle_t domain, const void *desc);
PS_API void mstxMemRegionsUnregister(mstxDomainHandle_t domain, const void *desc);

void mstxMarkA(const char *message, aclrtStream stream) {
    mark(message, stream);
}
mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream) {
    return range_start(message, stream);
}
void mstxRangeEnd(mstxRangeId id) {
    range_end(id);
}
void mstxGetToolId(uint64_t *id) {
    get_tool_id(id);
}
mstxDomainHandle_t mstxDomainCreateA(const char *name) {
    return domain_create(name);
}
void mstxDomainDestroy(mstxDomainHandle_t domain) {
    domain_destroy(domain);
}
void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream) {
    domain_mark(domain, message, stream);
}
mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message,
                                  aclrtStream stream) {
    return domain_range_start(domain, message, stream);
}
void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
    domain_range_end(domain, id);
}
mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, const void *desc) {
    return heap_register(domain, desc);
}
void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
    heap_unregister(domain, heap);
}
void mstxMemRegionsRegister(mstxDomainHandle_t domain, const void *desc) {
    regions(domain, desc);
}
void mstxMemRegionsUnregister(mstxDomainHandle_t domain, const void *desc) {
    regions(domain, desc);
}
