/* How much of a test of the same kind over and over is worth running: under the thread sanitizer, where all is twenty times
 * slower, races are looked for, which a few rounds show as well as many. Damage to bytes is the address sanitizer's. */
#ifndef PS_TESTS_SANITIZED_H
#define PS_TESTS_SANITIZED_H

#if defined(__SANITIZE_THREAD__)
#define PS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PS_THREAD_SANITIZER 1
#endif
#endif
#ifndef PS_THREAD_SANITIZER
#define PS_THREAD_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PS_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef PS_ADDRESS_SANITIZER
#define PS_ADDRESS_SANITIZER 0
#endif

#define PS_ROUNDS(full, with_thread_sanitizer)                                                     \
    (PS_THREAD_SANITIZER ? (with_thread_sanitizer) : (full))

/* From one allocation that fails to the next, in tests that let each fail: what is lost then is the address sanitizer's. */
#define PS_NEXT_FAILURE PS_ROUNDS(1, 7)

/* In the source of a test that begins many processes: a fork copies the tables of all pages, most of which hold what the address sanitizer keeps
 * of freed memory, 256 MiB of it by itself. */
#define PS_TEST_FORKS_OFTEN                                                                        \
    __attribute__((visibility("default"))) const char *__asan_default_options(void);               \
    const char *__asan_default_options(void) {                                                     \
        return "quarantine_size_mb=8";                                                             \
    }

#endif
