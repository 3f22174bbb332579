/* Another NVTX tool, to be chained: it writes down what it is called with. Its handles and ids are small numbers, so that
 * whoever followed them, or mixed them up with its own, would not get far. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/nvtx/nvtx_abi.h"

static int n_inits, n_domains, n_strings, n_ranges, depth;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...) {
    const char *path = getenv("NVTX_TOOL_LOG");
    FILE *f = path == NULL ? NULL : fopen(path, "a");
    if (f != NULL) {
        va_list args;
        va_start(args, fmt);
        (void)vfprintf(f, fmt, args);
        va_end(args);
        (void)fclose(f);
    }
}

static int push_a(const char *message) {
    note("push %s\n", message);
    return depth++;
}
static int pop(void) {
    note("pop\n");
    return --depth;
}
static nvtxRangeId_t start_a(const char *message) {
    note("start %s\n", message);
    return (nvtxRangeId_t)(100 + n_ranges++);
}
static void end(nvtxRangeId_t id) {
    note("end %d\n", (int)id);
}
static nvtxDomainHandle_t domain_create(const char *name) {
    note("domain %s\n", name);
    return (nvtxDomainHandle_t)(uintptr_t)(1 + n_domains++);
}
static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char *text) {
    note("string %d %s\n", (int)(uintptr_t)domain, text);
    return (nvtxStringHandle_t)(uintptr_t)(1 + n_strings++);
}
static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attr) {
    note("push %d string %d\n", (int)(uintptr_t)domain,
         attr->messageType == NVTX_MESSAGE_TYPE_REGISTERED
             ? (int)(uintptr_t)attr->message.registered
             : -1);
    return depth++;
}
static int domain_pop(nvtxDomainHandle_t domain) {
    note("pop %d\n", (int)(uintptr_t)domain);
    return --depth;
}
static uint64_t schema_register(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t *attr) {
    note("schema %d %d\n", (int)(uintptr_t)domain, (int)attr->numEntries);
    return NVTX_ID_DYNAMIC_START + 4711;
}

#define EXPORT __attribute__((visibility("default")))
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info);

static void set(const NvtxExportTableCallbacks *callbacks, int module, unsigned id,
                NvtxFunctionPointer function) {
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (callbacks->GetModuleFunctionTable(module, &table, &size) != 0 && id < size) {
        *table[id] = function;
    }
}

/* Being loaded takes as long as the program says: until there is a file, half a minute at most. */
__attribute__((constructor)) static void load_slowly(void) {
    const char *go = getenv("NVTX_TOOL_WAITS");
    char loading[4096];
    if (go == NULL || access(go, F_OK) == 0) {
        return;
    }
    (void)snprintf(loading, sizeof loading, "%s.loading", go);
    FILE *f = fopen(loading, "w");
    (void)(f != NULL && fclose(f));
    int n = 0;
    for (; n < 30000 && access(go, F_OK) != 0; n++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    note("%s\n", n < 30000 ? "loaded" : "nobody came");
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
    const NvtxExportTableCallbacks *c = get(1);
    note("init %d\n", ++n_inits);
    set(c, 1, NVTX_CORE_RangePushA, (NvtxFunctionPointer)push_a);
    set(c, 1, NVTX_CORE_RangePop, (NvtxFunctionPointer)pop);
    set(c, 1, NVTX_CORE_RangeStartA, (NvtxFunctionPointer)start_a);
    set(c, 1, NVTX_CORE_RangeEnd, (NvtxFunctionPointer)end);
    set(c, 5, NVTX_CORE2_DomainCreateA, (NvtxFunctionPointer)domain_create);
    set(c, 5, NVTX_CORE2_DomainRegisterStringA, (NvtxFunctionPointer)register_string);
    set(c, 5, NVTX_CORE2_DomainRangePushEx, (NvtxFunctionPointer)domain_push);
    set(c, 5, NVTX_CORE2_DomainRangePop, (NvtxFunctionPointer)domain_pop);
    return getenv("NVTX_TOOL_REFUSES") == NULL;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info) {
    note("extension %d\n", info->moduleId);
    if (info->moduleId == 2) {
        info->segments[0].functionSlots[0] = (intptr_t)schema_register;
    }
    return 1;
}
