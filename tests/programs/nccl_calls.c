/* Calls of NCCL that need no GPU to be seen by NVTX: they fail, but say what they were asked for first. The argument is the
 * library. It is to be run where no GPU is visible. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct unique_id {
    char internal[128];
} unique_id;

static void *library;

static void find(const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

enum { FLOAT = 7, SUM = 0 };

int main(int argc, char **argv) {
    library = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", argc < 2 ? "which library?" : dlerror());
        return 1;
    }
    int (*get_unique_id)(unique_id *) = NULL;
    int (*init_rank)(void **, int, unique_id, int) = NULL;
    int (*init_all)(void **, int, const int *) = NULL;
    int (*group_start)(void) = NULL;
    int (*group_end)(void) = NULL;
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *) = NULL;
    int (*all_gather)(const void *, void *, size_t, int, void *, void *) = NULL;
    int (*broadcast)(const void *, void *, size_t, int, int, void *, void *) = NULL;
    int (*send)(const void *, size_t, int, int, void *, void *) = NULL;
    int (*recv)(void *, size_t, int, int, void *, void *) = NULL;
    find("ncclGetUniqueId", &get_unique_id);
    find("ncclCommInitRank", &init_rank);
    find("ncclCommInitAll", &init_all);
    find("ncclGroupStart", &group_start);
    find("ncclGroupEnd", &group_end);
    find("ncclAllReduce", &all_reduce);
    find("ncclAllGather", &all_gather);
    find("ncclBroadcast", &broadcast);
    find("ncclSend", &send);
    find("ncclRecv", &recv);
    unique_id id;
    memset(&id, 0, sizeof id);
    void *comms[2] = {NULL, NULL};
    const int devices[2] = {0, 1};
    static char data[1 << 16];
    (void)get_unique_id(&id); /* registers the layouts; it may work */
    int failed = init_rank(comms, 2, id, 1) != 0;
    failed += init_all(comms, 2, devices) != 0;
    (void)group_start();
    (void)group_end();
    /* without a communicator */
    failed += all_reduce(data, data, 1024, FLOAT, SUM, NULL, NULL) != 0;
    failed += all_gather(data, data, 512, FLOAT, NULL, NULL) != 0;
    failed += broadcast(data, data, 256, FLOAT, 1, NULL, NULL) != 0;
    failed += send(data, 128, FLOAT, 3, NULL, NULL) != 0;
    failed += recv(data, 64, FLOAT, 2, NULL, NULL) != 0;
    printf("%d calls failed, as they must\n", failed);
    return 0;
}
