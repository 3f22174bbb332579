/* The call by its number: the C library has had its name since glibc 2.25 only, and nothing else here needs so new a one. Kernels
 * before 3.17 do not know the number; what is behind it is then read from the device. */
#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { DO_NOT_WAIT = 1 }; /* GRND_NONBLOCK */

static ssize_t ask_kernel(void *out, size_t n) {
#ifdef SYS_getrandom
    return (ssize_t)syscall(SYS_getrandom, out, n, DO_NOT_WAIT);
#else
    (void)out;
    (void)n;
    errno = ENOSYS;
    return -1;
#endif
}

static bool read_random_device(unsigned char *out, size_t n) {
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    size_t got = 0;
    while (fd >= 0 && got < n) {
        ssize_t part = read(fd, out + got, n - got);
        if (part <= 0 && !(part < 0 && errno == EINTR)) {
            break;
        }
        got += part > 0 ? (size_t)part : 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0 && got == n;
}

bool ps_random_bytes(void *out, size_t n) {
    unsigned char *bytes = out;
    size_t got = 0;
    while (got < n) {
        ssize_t part = ask_kernel(bytes + got, n - got);
        if (part < 0 && errno == ENOSYS) {
            return read_random_device(bytes + got, n - got);
        }
        if (part < 0 && errno != EINTR) {
            return false;
        }
        got += part > 0 ? (size_t)part : 0;
    }
    return true;
}
