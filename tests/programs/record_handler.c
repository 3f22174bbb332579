/* Threads whose first event is one of a signal handler that interrupted malloc. The library, named by the first word, is loaded late,
 * when those threads are there already and the places for thread-specific values that need no malloc are taken. malloc is the
 * program's own, which notes whoever calls it in such a handler. Then threads come and go: their rings are used again.
 *
 * Prints how often malloc was called where it must not be, how many events were recorded and lost, and how many rings were made.
 * Exit status 77 in builds that have a malloc of their own. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "pipescope/record.h"

#if defined(__has_feature)
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS(address_sanitizer) ||     \
    HAS(thread_sanitizer)
int main(void) {
    return 77;
}
#else

enum { N_THREADS = 8, N_CHURNED = 300, N_KEYS = 64 };

/* --- malloc ---------------------------------------------------------------------------------------------------------- */

static _Thread_local volatile sig_atomic_t armed;  /* the next call is interrupted */
static _Thread_local volatile sig_atomic_t inside; /* and is being so */
static atomic_uint n_forbidden;

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);

/* The C library's too, and the dynamic linker's. */
#define EVERYBODYS __attribute__((visibility("default")))

static void enter(void) {
    if (inside) {
        atomic_fetch_add(&n_forbidden, 1);
    }
    if (armed) {
        armed = 0;
        inside = 1;
        (void)raise(SIGUSR1);
        inside = 0;
    }
}

EVERYBODYS void *malloc(size_t n) {
    enter();
    return __libc_malloc(n);
}
EVERYBODYS void *calloc(size_t n, size_t size) {
    enter();
    return __libc_calloc(n, size);
}
EVERYBODYS void *realloc(void *p, size_t n) {
    enter();
    return __libc_realloc(p, n);
}
EVERYBODYS void free(void *p) {
    enter();
    __libc_free(p);
}

/* --- the library ----------------------------------------------------------------------------------------------------- */

static int (*start)(void);
static void (*mark)(ps_record_domain *, const char *, void *);
static uint64_t (*range_start)(ps_record_domain *, const char *, void *);
static void (*range_end)(uint64_t);
static int (*get_stats)(ps_record_stats *);
static int (*directory)(char *, uint32_t);

static void find(void *library, const char *name, void *function) {
    void *at = dlsym(library, name);
    if (at == NULL) {
        (void)fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    memcpy(function, &at, sizeof at);
}

static void load(const char *path) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        (void)fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    find(library, "ps_record_start", &start);
    find(library, "ps_record_mark", &mark);
    find(library, "ps_record_range_start", &range_start);
    find(library, "ps_record_range_end", &range_end);
    find(library, "ps_record_get_stats", &get_stats);
    find(library, "ps_record_directory", &directory);
}

/* --- threads --------------------------------------------------------------------------------------------------------- */

static void on_signal(int signal) {
    (void)signal;
    mark(NULL, "in the handler", NULL);
    range_end(range_start(NULL, "a range in the handler", PS_RECORD_HOST_STREAM));
}

static pthread_barrier_t loaded;

/* Every other one has its handlers on a stack of their own, which is small. */
static void *be_interrupted(void *number) {
    size_t size = (size_t)getauxval(AT_MINSIGSTKSZ) + 6144;
    stack_t stack = {.ss_size = size < 8192 ? 8192 : size};
    stack.ss_sp =
        mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((uintptr_t)number % 2 == 1 && sigaltstack(&stack, NULL) != 0) {
        exit(1);
    }
    (void)pthread_barrier_wait(&loaded);
    armed = 1;
    free(malloc(100));
    range_end(range_start(NULL, "after it", NULL));
    return NULL;
}

static void *come_and_go(void *unused) {
    mark(NULL, "shortly there", NULL);
    return unused;
}

static unsigned count_rings(void) {
    char path[4096 + 16];
    unsigned n = 0;
    int length = directory(path, 4096);
    memcpy(path + length, "/FRAMEWORK", sizeof "/FRAMEWORK");
    DIR *dir = opendir(path);
    for (struct dirent *e = NULL; dir != NULL && (e = readdir(dir)) != NULL;) {
        n += strstr(e->d_name, ".ring") != NULL;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return n;
}

int main(int argc, char **argv) {
    pthread_t threads[N_THREADS];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    pthread_key_t key;
    for (int i = 0; i < N_KEYS; i++) {
        (void)pthread_key_create(&key, NULL);
    }
    (void)pthread_barrier_init(&loaded, NULL, N_THREADS + 1);
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        if (pthread_create(&threads[i], NULL, be_interrupted, (void *)i) != 0) {
            return 1;
        }
    }
    load(argc > 1 ? argv[1] : "");
    if (sigaction(SIGUSR1, &action, NULL) != 0 || start() != 0) {
        return 1;
    }
    mark(NULL, "the first", NULL); /* makes the folder */
    (void)pthread_barrier_wait(&loaded);
    for (int i = 0; i < N_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < N_CHURNED; i++) {
        if (pthread_create(&threads[0], NULL, come_and_go, NULL) != 0) {
            return 1;
        }
        (void)pthread_join(threads[0], NULL);
    }
    ps_record_stats stats = {.size = sizeof stats};
    (void)get_stats(&stats);
    printf("malloc %u marks %llu ranges %llu lost %llu %s\n", atomic_load(&n_forbidden),
           (unsigned long long)stats.n_marks, (unsigned long long)stats.n_ranges,
           (unsigned long long)stats.n_dropped,
           count_rings() <= N_THREADS + 4 ? "rings used again" : "too many rings");
    return 0;
}
#endif
