/* name: lib_clock_shift.so
 * To be preloaded: makes a process believe that it runs on another machine. The wall clock of its own is CLOCK_SHIFT_NS ahead
 * and gains CLOCK_SHIFT_PPM; the file BOOT_ID stands in the place of the kernel's boot id. CLOCK_MONOTONIC gains the same, as of a
 * machine whose crystal is fast. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char BOOT_ID[] = "/proc/sys/kernel/random/boot_id";

static int64_t number(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* Gained since the process first asked: sleeps until a moment of the clock are not much longer than meant. */
static int64_t gained_ns(void) {
    static _Atomic int64_t first_ns;
    struct timespec t;
    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    int64_t now_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    int64_t begun_ns = 0;
    if (atomic_compare_exchange_strong(&first_ns, &begun_ns, now_ns)) {
        begun_ns = now_ns;
    }
    return (now_ns - begun_ns) * number("CLOCK_SHIFT_PPM") / 1000000;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    long code = syscall(SYS_clock_gettime, clock, out);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)) {
        int64_t ns = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec + gained_ns() +
                     (clock == CLOCK_REALTIME ? number("CLOCK_SHIFT_NS") : 0);
        out->tv_sec = (time_t)(ns / 1000000000);
        out->tv_nsec = (long)(ns % 1000000000);
    }
    return (int)code;
}

static const char *instead(const char *path) {
    const char *other = getenv("BOOT_ID");
    return other != NULL && strcmp(path, BOOT_ID) == 0 ? other : path;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return (int)syscall(SYS_openat, AT_FDCWD, instead(path), flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return (int)syscall(SYS_openat, AT_FDCWD, instead(path), flags, mode);
}
