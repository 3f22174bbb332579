/* The client side of NVTX version 3, as its header compiles it into every program and library that uses it: tables of
 * pointers of this shared object alone, filled by the tool that NVTX_INJECTION64_PATH names. Made from the declarations in
 * record/nvtx/nvtx_abi.h; N_CORE and N_CORE2 may be set smaller before, for a header of an older release. */
#ifndef NVTX_EMULATION_H
#define NVTX_EMULATION_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/nvtx/nvtx_abi.h"

#ifndef N_CORE
#define N_CORE NVTX_CORE_SIZE
#endif
#ifndef N_CORE2
#define N_CORE2 NVTX_CORE2_SIZE
#endif

static NvtxFunctionPointer emu_functions[NVTX_CB_MODULE_SIZE][64];
static NvtxFunctionPointer *emu_tables[NVTX_CB_MODULE_SIZE][64];
static uint32_t emu_tool_version;
static intptr_t emu_payload[64]; /* slots of the payload extension */

static int emu_module_table(int module, NvtxFunctionTable *table, unsigned *size) {
    static const unsigned SIZES[NVTX_CB_MODULE_SIZE] = {0, N_CORE, 9, 15, 7, N_CORE2, 7};
    if (module < 1 || module >= NVTX_CB_MODULE_SIZE || SIZES[module] == 0) {
        return 0;
    }
    for (unsigned i = 0; i < SIZES[module]; i++) {
        emu_tables[module][i] = &emu_functions[module][i];
    }
    *table = emu_tables[module];
    *size = SIZES[module];
    return 1;
}

static void emu_set_version(uint32_t version) {
    emu_tool_version = version;
}

static const void *emu_export_table(uint32_t id) {
    static const NvtxExportTableCallbacks callbacks = {sizeof callbacks, emu_module_table};
    static const NvtxExportTableVersionInfo version = {sizeof version, 3, 0, emu_set_version};
    return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&version : NULL;
}

static void emu_find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

/* 1 when a tool was loaded. What it leaves empty stays NULL: the header puts functions there that do nothing. */
static inline int emu_load(void) {
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path == NULL ? NULL : dlopen(path, RTLD_LAZY);
    NvtxInitializeInjectionNvtxFunc_t init = NULL;
    if (library == NULL) {
        return 0;
    }
    emu_find(library, "InitializeInjectionNvtx2", &init);
    if (init == NULL || init(emu_export_table) == 0) {
        memset(emu_functions, 0, sizeof emu_functions);
        (void)dlclose(library);
        return 0;
    }
    return 1;
}

static inline int emu_load_extension(uint16_t module, size_t slots) {
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    NvtxExtInitializeInjectionFunc_t init = NULL;
    emu_find(library, "InitializeInjectionNvtxExtension", &init);
    nvtxExtModuleSegment_t segment = {0, slots, emu_payload};
    nvtxExtModuleInfo_t info = {3, sizeof info, module, 0x0103, 1, &segment, NULL, NULL};
    return init == NULL ? 0 : init(&info);
}

/* A function of a table, with its type; its result is whatever is expected where the tool has none. */
/* Atomic for the thread sanitizer: a second thread in its first call writes what stands there once more. */
#define EMU(module, id, type) ((type)__atomic_load_n(&emu_functions[module][id], __ATOMIC_RELAXED))
#define EMU_CORE(id, type) EMU(NVTX_CB_MODULE_CORE, id, type)
#define EMU_CORE2(id, type) EMU(NVTX_CB_MODULE_CORE2, id, type)

typedef int (*emu_push_a)(const char *);
typedef int (*emu_pop)(void);
typedef int (*emu_domain_push)(nvtxDomainHandle_t, const nvtxEventAttributes_t *);
typedef int (*emu_domain_pop)(nvtxDomainHandle_t);
typedef nvtxDomainHandle_t (*emu_domain_create_a)(const char *);
typedef nvtxStringHandle_t (*emu_register_a)(nvtxDomainHandle_t, const char *);

static inline nvtxEventAttributes_t emu_attr(const char *message) {
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = 3;
    a.size = sizeof a;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = message;
    return a;
}

#endif
