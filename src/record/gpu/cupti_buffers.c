/* A pool under a lock that nobody holds for longer than a few instructions: CUPTI asks for buffers in the middle of the program's
 * calls. */
#include "record/gpu/cupti_parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "record/ring/memory.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[PS_CUPTI_BUFFERS];
static ps_cupti_buffer completed[PS_CUPTI_BUFFERS]; /* oldest first, around */
static unsigned n_made, n_spare, first_completed, n_completed;
static _Atomic uint64_t misses;

uint8_t *ps_cupti_buffer_take(void) {
    uint8_t *bytes = NULL;
    (void)pthread_mutex_lock(&lock);
    bool make = n_spare == 0 && n_made < PS_CUPTI_BUFFERS;
    if (n_spare > 0) {
        bytes = spare[--n_spare];
    }
    n_made += make ? 1 : 0;
    (void)pthread_mutex_unlock(&lock);
    if (make) {
        /* Mapped, not touched: the system gives pages as records come. */
        bool may = ps_memory_take(PS_CUPTI_BUFFER_BYTES);
        void *mapped = !may ? MAP_FAILED
                            : mmap(NULL, PS_CUPTI_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        bytes = mapped != MAP_FAILED ? mapped : NULL;
        if (bytes == NULL) {
            ps_memory_give(may ? PS_CUPTI_BUFFER_BYTES : 0);
            (void)pthread_mutex_lock(&lock);
            n_made--;
            (void)pthread_mutex_unlock(&lock);
        }
    }
    if (bytes == NULL) {
        (void)atomic_fetch_add(&misses, 1);
    }
    return bytes;
}

void ps_cupti_buffer_completed(uint8_t *bytes, size_t valid) {
    (void)pthread_mutex_lock(&lock);
    if (valid == 0) {
        spare[n_spare++] = bytes;
    } else {
        completed[(first_completed + n_completed++) % PS_CUPTI_BUFFERS] =
            (ps_cupti_buffer){.bytes = bytes, .valid = valid};
    }
    (void)pthread_mutex_unlock(&lock);
}

bool ps_cupti_buffer_next(ps_cupti_buffer *out) {
    (void)pthread_mutex_lock(&lock);
    bool any = n_completed > 0;
    if (any) {
        *out = completed[first_completed];
        first_completed = (first_completed + 1) % PS_CUPTI_BUFFERS;
        n_completed--;
    }
    (void)pthread_mutex_unlock(&lock);
    return any;
}

void ps_cupti_buffer_free(uint8_t *bytes) {
    (void)pthread_mutex_lock(&lock);
    spare[n_spare++] = bytes;
    (void)pthread_mutex_unlock(&lock);
}

uint64_t ps_cupti_buffer_misses(void) {
    return atomic_exchange(&misses, 0);
}

/* What CUPTI has not given back stays mapped. */
void ps_cupti_buffers_release(void) {
    (void)pthread_mutex_lock(&lock);
    while (n_spare > 0) {
        (void)munmap(spare[--n_spare], PS_CUPTI_BUFFER_BYTES);
        ps_memory_give(PS_CUPTI_BUFFER_BYTES);
        n_made--;
    }
    (void)pthread_mutex_unlock(&lock);
}

void ps_cupti_buffers_forget(void) {
    (void)pthread_mutex_init(&lock, NULL);
    n_made = n_spare = n_completed = 0;
}
