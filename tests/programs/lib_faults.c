/* name: lib_faults.so
 * To be preloaded: makes one call of a program fail, or counts its calls.
 *
 * FAULT=KIND:N[:ERRNO]  the N-th call (from 1) of the kind fails, by itself; with ERRNO (a number) instead of the kind's own
 * FAULT_STICKS=1        and all that follow, too: a disk stays full
 * FAULT_TRACE=1         the calls that led to it, on stderr: addresses for addr2line
 * FAULT_COUNT=FILE      holds the counters: a long for each kind, then the names of the kinds, a line each. Whoever is given the same
 *                       file counts on in it: processes that run one another have one N-th call
 *
 * FAULT_PLACES=FILE     gets a number of eight bytes for each allocation: the same where the same functions called one another
 *
 * Calls of forked children count with those of their parent.
 *
 * Calls on the standard streams are never touched, so that the program can say what it found, nor what threads wake one another with
 * (eventfd), which no disk and no network lets fail. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KINDS(X)                                                                                   \
    X(OPEN, "open", EIO)                                                                           \
    X(OPENDIR, "opendir", EIO)                                                                     \
    X(READDIR, "readdir", EIO)                                                                     \
    X(STAT, "stat", EIO)                                                                           \
    X(READ, "read", EIO)                                                                           \
    X(WRITE, "write", ENOSPC)                                                                      \
    X(SYNC, "sync", EIO)                                                                           \
    X(RENAME, "rename", EIO)                                                                       \
    X(UNLINK, "unlink", EIO)                                                                       \
    X(MKDIR, "mkdir", ENOSPC)                                                                      \
    X(TRUNCATE, "truncate", ENOSPC)                                                                \
    X(MMAP, "mmap", ENOMEM)                                                                        \
    X(CLOSE, "close", EIO)                                                                         \
    X(LOCK, "lock", ENOLCK)                                                                        \
    X(THREAD, "thread", EAGAIN)                                                                    \
    X(MEMORY, "memory", ENOMEM)

typedef enum kind {
#define X(kind, name, code) kind,
    KINDS(X)
#undef X
        N_KINDS
} kind;

static const char *const NAMES[N_KINDS] = {
#define X(kind, name, code) [kind] = name,
    KINDS(X)
#undef X
};

static const int CODES[N_KINDS] = {
#define X(kind, name, code) [kind] = code,
    KINDS(X)
#undef X
};

static _Atomic long own_calls[N_KINDS];
static _Atomic long *calls = own_calls; /* in memory that other processes share */
static int wanted = -2;                 /* the kind that fails; -1 none, -2 not read yet */
static long wanted_call;
static int wanted_code;
static bool sticks;
static int places = -1;              /* the file of FAULT_PLACES */
static _Thread_local bool is_noting; /* looking at the calls calls, too, the first time */

/* Calls of the system by number: those of the library would be counted. */
static int open_counters(const char *path) {
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof own_calls) != 0) {
        return -1;
    }
    off_t at = sizeof own_calls;
    for (int k = 0; k < N_KINDS; k++) {
        (void)syscall(SYS_pwrite64, fd, NAMES[k], strlen(NAMES[k]), at);
        at += (off_t)strlen(NAMES[k]);
        (void)syscall(SYS_pwrite64, fd, "\n", 1, at++);
    }
    return (int)fd;
}

static void share_counters(void) {
    const char *path = getenv("FAULT_COUNT");
    int fd = path != NULL ? open_counters(path) : -1;
    long at = syscall(SYS_mmap, NULL, sizeof own_calls, PROT_READ | PROT_WRITE,
                      fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    if (at != -1) {
        calls = (_Atomic long *)at;
    }
    if (fd >= 0) {
        (void)syscall(SYS_close, fd);
    }
}

/* Before the first call; only one thread is there then. No memory is asked for. */
static void read_wish(void) {
    const char *text = getenv("FAULT");
    const char *path = NULL;
    wanted = -1;
    share_counters();
    for (int k = 0; text != NULL && k < N_KINDS; k++) {
        size_t n = strlen(NAMES[k]);
        if (strncmp(text, NAMES[k], n) == 0 && text[n] == ':') {
            char *end = NULL;
            wanted_call = strtol(text + n + 1, &end, 10);
            wanted_code = *end == ':' ? (int)strtol(end + 1, NULL, 10) : CODES[k];
            wanted = k;
        }
    }
    sticks = getenv("FAULT_STICKS") != NULL;
    path = getenv("FAULT_PLACES");
    places = path != NULL
                 ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0644)
                 : -1;
}

/* Where allocation `n` comes from. */
static void note_place(long n) {
    is_noting = true;
    void *frames[40];
    int depth = backtrace(frames, 40);
    uint64_t hash = 1469598103934665603u; /* FNV-1a */
    for (int i = 0; i < depth; i++) {
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    }
    (void)syscall(SYS_pwrite64, places, &hash, sizeof hash, (off_t)(n - 1) * (off_t)sizeof hash);
    is_noting = false;
}

/* Counts a call; true: it is to fail, and errno says why. */
static bool fails(kind k) {
    if (is_noting) {
        return false;
    }
    if (wanted == -2) {
        read_wish();
    }
    long n = atomic_fetch_add(&calls[k], 1) + 1;
    if (k == MEMORY && places >= 0) {
        note_place(n);
    }
    if ((int)k != wanted || (sticks ? n < wanted_call : n != wanted_call)) {
        return false;
    }
    if (getenv("FAULT_TRACE") != NULL) {
        void *frames[24];
        backtrace_symbols_fd(frames, backtrace(frames, 24), 2);
    }
    errno = wanted_code;
    return true;
}

static void *real_call(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* REAL(read) is the function behind this library's own. */
#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (real == NULL) {                                                                            \
        *(void **)&real = real_call(#name);                                                        \
    }

static bool is_standard(int fd) {
    struct stat st;
    return (fd >= 0 && fd <= 2) || (syscall(SYS_fstat, fd, &st) == 0 && (st.st_mode & S_IFMT) == 0);
}

/* --- memory: without dlsym, which asks for memory itself ------------------------------------------------------------ */

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n) {
    return fails(MEMORY) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return fails(MEMORY) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    return fails(MEMORY) ? NULL : __libc_realloc(p, n);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static int mode_of(int flags, va_list list) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, int) : 0;
}

#define OPEN_LIKE(name)                                                                            \
    int name(const char *path, int flags, ...) {                                                   \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        int mode = mode_of(flags, list);                                                           \
        va_end(list);                                                                              \
        REAL(name)                                                                                 \
        return fails(OPEN) ? -1 : real(path, flags, mode);                                         \
    }
OPEN_LIKE(open)
OPEN_LIKE(open64)

#define FOPEN_LIKE(name)                                                                           \
    FILE *name(const char *restrict path, const char *restrict mode) {                             \
        REAL(name)                                                                                 \
        return fails(OPEN) ? NULL : real(path, mode);                                              \
    }
FOPEN_LIKE(fopen)
FOPEN_LIKE(fopen64)

DIR *opendir(const char *path) {
    REAL(opendir)
    return fails(OPENDIR) ? NULL : real(path);
}

struct dirent *readdir(DIR *d) {
    REAL(readdir)
    return fails(READDIR) ? NULL : real(d);
}

struct dirent64 *readdir64(DIR *d) {
    REAL(readdir64)
    return fails(READDIR) ? NULL : real(d);
}

#define STAT_LIKE(name, type)                                                                      \
    int name(const char *restrict path, struct type *restrict st) {                                \
        REAL(name)                                                                                 \
        return fails(STAT) ? -1 : real(path, st);                                                  \
    }
STAT_LIKE(stat, stat)
STAT_LIKE(lstat, stat)
STAT_LIKE(stat64, stat64)
STAT_LIKE(lstat64, stat64)

#define FSTAT_LIKE(name, type)                                                                     \
    int name(int fd, struct type *st) {                                                            \
        REAL(name)                                                                                 \
        return !is_standard(fd) && fails(STAT) ? -1 : real(fd, st);                                \
    }
FSTAT_LIKE(fstat, stat)
FSTAT_LIKE(fstat64, stat64)

ssize_t read(int fd, void *to, size_t n) {
    REAL(read)
    return !is_standard(fd) && fails(READ) ? -1 : real(fd, to, n);
}

ssize_t write(int fd, const void *from, size_t n) {
    REAL(write)
    return !is_standard(fd) && fails(WRITE) ? -1 : real(fd, from, n);
}

#define PREAD_LIKE(name, kind, pointer, offset)                                                    \
    ssize_t name(int fd, pointer p, size_t n, offset at) {                                         \
        REAL(name)                                                                                 \
        return fails(kind) ? -1 : real(fd, p, n, at);                                              \
    }
PREAD_LIKE(pread, READ, void *, off_t)
PREAD_LIKE(pread64, READ, void *, off64_t)
PREAD_LIKE(pwrite, WRITE, const void *, off_t)
PREAD_LIKE(pwrite64, WRITE, const void *, off64_t)

#define FD_LIKE(name, kind)                                                                        \
    int name(int fd) {                                                                             \
        REAL(name)                                                                                 \
        return fails(kind) ? -1 : real(fd);                                                        \
    }
FD_LIKE(fsync, SYNC)
FD_LIKE(fdatasync, SYNC)

/* Closed in any case, as the kernel does. */
int close(int fd) {
    REAL(close)
    bool is_wrong = !is_standard(fd) && fails(CLOSE);
    int code = errno;
    int status = real(fd);
    errno = is_wrong ? code : errno;
    return is_wrong ? -1 : status;
}

int rename(const char *from, const char *to) {
    REAL(rename)
    return fails(RENAME) ? -1 : real(from, to);
}

int unlink(const char *path) {
    REAL(unlink)
    return fails(UNLINK) ? -1 : real(path);
}

int unlinkat(int dir, const char *path, int flags) {
    REAL(unlinkat)
    return fails(UNLINK) ? -1 : real(dir, path, flags);
}

int rmdir(const char *path) {
    REAL(rmdir)
    return fails(UNLINK) ? -1 : real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir)
    return fails(MKDIR) ? -1 : real(path, mode);
}

char *mkdtemp(char *template) {
    REAL(mkdtemp)
    return fails(MKDIR) ? NULL : real(template);
}

int ftruncate(int fd, off_t n) {
    REAL(ftruncate)
    return fails(TRUNCATE) ? -1 : real(fd, n);
}

int ftruncate64(int fd, off64_t n) {
    REAL(ftruncate64)
    return fails(TRUNCATE) ? -1 : real(fd, n);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    REAL(mmap)
    return fails(MMAP) ? MAP_FAILED : real(at, n, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t offset) {
    REAL(mmap64)
    return fails(MMAP) ? MAP_FAILED : real(at, n, protection, flags, fd, offset);
}

#define FCNTL_LIKE(name)                                                                           \
    int name(int fd, int what, ...) {                                                              \
        va_list list;                                                                              \
        va_start(list, what);                                                                      \
        void *argument = va_arg(list, void *);                                                     \
        va_end(list);                                                                              \
        REAL(name)                                                                                 \
        bool is_lock = what == F_SETLK || what == F_SETLKW;                                        \
        return is_lock && fails(LOCK) ? -1 : real(fd, what, argument);                             \
    }
FCNTL_LIKE(fcntl)
FCNTL_LIKE(fcntl64)

int pthread_create(pthread_t *restrict t, const pthread_attr_t *restrict attr, void *(*run)(void *),
                   void *restrict argument) {
    REAL(pthread_create)
    return fails(THREAD) ? wanted_code : real(t, attr, run, argument);
}
