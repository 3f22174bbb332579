/* Two threads whose first call of NVTX comes while the chained tool is loaded, for as long as the second one has not gone on: as with a
 * library whose constructor uses NVTX and holds the loader's lock. The tool (lib_nvtx_tool.c) waits for the file that NVTX_TOOL_WAITS
 * names, and says with another one that it does. */
#include "nvtx_emulation.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static NvtxInitializeInjectionNvtxFunc_t init;

static void *first(void *unused) {
    (void)unused;
    (void)init(emu_export_table);
    return NULL;
}

static void await_file(const char *path) {
    for (int i = 0; i < 60000 && access(path, F_OK) != 0; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

int main(void) {
    const char *go = getenv("NVTX_TOOL_WAITS");
    char loading[4096];
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    if (go == NULL || library == NULL) {
        return 2;
    }
    (void)snprintf(loading, sizeof loading, "%s.loading", go);
    emu_find(library, "InitializeInjectionNvtx2", &init);
    pthread_t thread;
    if (init == NULL || pthread_create(&thread, NULL, first, NULL) != 0) {
        return 2;
    }
    await_file(loading);
    printf("second %d\n", init(emu_export_table));
    (void)EMU_CORE(NVTX_CORE_RangePushA, emu_push_a)("second thread");
    (void)EMU_CORE(NVTX_CORE_RangePop, emu_pop)();
    FILE *f = fopen(go, "w");
    (void)(f != NULL && fclose(f));
    (void)pthread_join(thread, NULL);
    return 0;
}
