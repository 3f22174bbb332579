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

#endif
