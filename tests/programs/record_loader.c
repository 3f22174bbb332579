/* Loads the library named by its first word late, from a thread among others, and unloads it again: what it gave must go on
 * working. Then ends without a stop. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t start_fn(void *, const char *, void *);
typedef void end_fn(uint64_t);
typedef int call_fn(void);

static start_fn *range_start;
static end_fn *range_end;

static void *record(void *unused) {
    for (int i = 0; i < 100; i++) {
        range_end(range_start(NULL, "loaded late", NULL));
    }
    return unused;
}

static void *load(void *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    call_fn *start = (call_fn *)(intptr_t)dlsym(library, "ps_record_start");
    range_start = (start_fn *)(intptr_t)dlsym(library, "ps_record_range_start");
    range_end = (end_fn *)(intptr_t)dlsym(library, "ps_record_range_end");
    if (start == NULL || range_start == NULL || range_end == NULL || start() != 0) {
        return NULL;
    }
    (void)record(NULL);
    (void)dlclose(library);
    return library;
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *loaded = NULL;
    if (argc < 2 || pthread_create(&thread, NULL, load, argv[1]) != 0 ||
        pthread_join(thread, &loaded) != 0 || loaded == NULL) {
        return 1;
    }
    (void)record(NULL);
    if (pthread_create(&thread, NULL, record, NULL) != 0 || pthread_join(thread, NULL) != 0) {
        return 1;
    }
    return 0;
}
