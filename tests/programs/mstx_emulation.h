/* The client side of mstx, as its header compiles it into every shared object that uses it: pointers of its own, filled by
 * the tool that MSTX_INJECTION_PATH names or that was loaded before the program. N_MSTX_CORE may be set smaller before,
 * for an older header: without mstxGetToolId (4) and without the memory module. */
#ifndef MSTX_EMULATION_H
#define MSTX_EMULATION_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/mstx/mstx_abi.h"

#ifndef N_MSTX_CORE
#define N_MSTX_CORE 5
#endif

static mstxFuncPointer emu_core[8], emu_domain[8], emu_mem[8];

/* Addresses of the pointers: there before any thread asks. */
#define EMU_ADDRESSES(f)                                                                           \
    { &(f)[0], &(f)[1], &(f)[2], &(f)[3], &(f)[4], &(f)[5], &(f)[6], &(f)[7] }

static int emu_module_table(int module, mstxFuncTable *table, unsigned *size) {
    static mstxFuncPointer *pointers[4][8] = {
        {NULL}, EMU_ADDRESSES(emu_core), EMU_ADDRESSES(emu_domain), EMU_ADDRESSES(emu_mem)};
    static const unsigned SIZES[4] = {0, N_MSTX_CORE, 6, N_MSTX_CORE > 4 ? 5 : 0};
    if (module < 1 || module > 3 || SIZES[module] == 0) {
        return MSTX_FAIL;
    }
    *table = pointers[module];
    *size = SIZES[module];
    return MSTX_SUCCESS;
}

/* 1 when a tool has come, -1 when it refused. */
static int emu_attach(void) {
    const char *path = getenv("MSTX_INJECTION_PATH");
    void *library = path == NULL ? RTLD_DEFAULT : dlopen(path, RTLD_LAZY);
    if (path != NULL && library == NULL) {
        return 0;
    }
    void *symbol = dlsym(library, "InitInjectionMstx");
    int (*init)(mstxGetModuleFuncTableFunc) = NULL;
    memcpy(&init, &symbol, sizeof symbol);
    if (init == NULL) {
        return 0;
    }
    return init(emu_module_table) == MSTX_SUCCESS ? 1 : -1;
}

static inline void emu_mark(const char *message, void *stream) {
    if (emu_core[MSTX_CORE_MARK_A] != NULL) {
        ((void (*)(const char *, void *))emu_core[MSTX_CORE_MARK_A])(message, stream);
    }
}
static inline uint64_t emu_start(const char *message, void *stream) {
    return emu_core[MSTX_CORE_RANGE_START_A] == NULL
               ? 0
               : ((uint64_t(*)(const char *, void *))emu_core[MSTX_CORE_RANGE_START_A])(message,
                                                                                        stream);
}
static inline void emu_end(uint64_t id) {
    if (emu_core[MSTX_CORE_RANGE_END] != NULL) {
        ((void (*)(uint64_t))emu_core[MSTX_CORE_RANGE_END])(id);
    }
}
static inline mstxDomainHandle_t emu_domain_create(const char *name) {
    return emu_domain[MSTX_DOMAIN_CREATE_A] == NULL
               ? NULL
               : ((mstxDomainHandle_t(*)(const char *))emu_domain[MSTX_DOMAIN_CREATE_A])(name);
}
static inline void emu_domain_destroy(mstxDomainHandle_t domain) {
    ((void (*)(mstxDomainHandle_t))emu_domain[MSTX_DOMAIN_DESTROY])(domain);
}
static inline void emu_domain_mark(mstxDomainHandle_t domain, const char *message, void *stream) {
    ((void (*)(mstxDomainHandle_t, const char *, void *))emu_domain[MSTX_DOMAIN_MARK_A])(
        domain, message, stream);
}
static inline uint64_t emu_domain_start(mstxDomainHandle_t domain, const char *message,
                                        void *stream) {
    return ((uint64_t(*)(mstxDomainHandle_t, const char *,
                         void *))emu_domain[MSTX_DOMAIN_RANGE_START_A])(domain, message, stream);
}
static inline void emu_domain_end(mstxDomainHandle_t domain, uint64_t id) {
    ((void (*)(mstxDomainHandle_t, uint64_t))emu_domain[MSTX_DOMAIN_RANGE_END])(domain, id);
}

#endif
