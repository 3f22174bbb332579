#include "base/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

/* --- what a signal would leave behind ------------------------------------------------------------------------------- */

enum { MAX_UNFINISHED = 256, SUFFIX_ROOM = 16 };
typedef enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_SET } slot_state;

/* Fixed, since a handler may neither lock nor allocate. */
static struct {
    int state;
    char path[PATH_MAX + SUFFIX_ROOM];
} unfinished_files[MAX_UNFINISHED];
static int is_ending, n_holds, ended_by;

/* The signal ends this thread, too, unless another one is in the middle of something. */
static void wait_while_ending(void) {
    while (__atomic_load_n(&is_ending, __ATOMIC_SEQ_CST) != 0) {
        (void)poll(NULL, 0, 1);
    }
}

int ps_unfinished_add(const char *path) {
    size_t n = strlen(path);
    wait_while_ending();
    for (int i = 0; i < MAX_UNFINISHED && n < PATH_MAX; i++) {
        int free_slot = SLOT_FREE;
        if (__atomic_compare_exchange_n(&unfinished_files[i].state, &free_slot, SLOT_TAKEN, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            memcpy(unfinished_files[i].path, path, n + 1);
            __atomic_store_n(&unfinished_files[i].state, SLOT_SET, __ATOMIC_RELEASE);
            return i;
        }
    }
    return -1;
}

void ps_unfinished_done(int unfinished) {
    if (unfinished >= 0) {
        __atomic_store_n(&unfinished_files[unfinished].state, SLOT_FREE, __ATOMIC_RELEASE);
    }
}

static void remove_with_suffixes(char *path) {
    static const char *const SUFFIXES[] = {"-journal", "-wal", "-shm", ""};
    size_t n = strlen(path);
    for (size_t s = 0; s < sizeof SUFFIXES / sizeof *SUFFIXES; s++) {
        memcpy(path + n, SUFFIXES[s], strlen(SUFFIXES[s]) + 1);
        (void)unlink(path);
    }
}

static void remove_unfinished(bool folders) {
    for (int i = 0; i < MAX_UNFINISHED; i++) {
        if (__atomic_load_n(&unfinished_files[i].state, __ATOMIC_ACQUIRE) != SLOT_SET) {
            continue;
        }
        if (folders) {
            (void)rmdir(unfinished_files[i].path);
        } else {
            remove_with_suffixes(unfinished_files[i].path);
        }
    }
}

void ps_unfinished_remove(void) {
    __atomic_store_n(&is_ending, 1, __ATOMIC_SEQ_CST);
    /* Twice: a thread may have said what it begins, and not have created it yet. */
    for (int pass = 0; pass < 2; pass++) {
        (void)poll(NULL, 0, pass == 0 ? 0 : 2);
        remove_unfinished(false);
        remove_unfinished(true);
    }
}

static void end_process(int number) {
    ps_unfinished_remove();
    (void)raise(number); /* in a handler: as soon as it returns */
}

void ps_unfinished_end(int number) {
    int error = errno;
    __atomic_store_n(&ended_by, number, __ATOMIC_SEQ_CST);
    /* First this, then a look at the holds; a hold does both the other way round: one of the two sees the other. */
    __atomic_store_n(&is_ending, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&n_holds, __ATOMIC_SEQ_CST) == 0) {
        end_process(number);
    } else {
        __atomic_store_n(&is_ending, 0, __ATOMIC_SEQ_CST);
    }
    errno = error;
}

void ps_unfinished_hold(void) {
    (void)__atomic_add_fetch(&n_holds, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&is_ending, __ATOMIC_SEQ_CST) != 0) {
        (void)__atomic_sub_fetch(&n_holds, 1, __ATOMIC_SEQ_CST);
        wait_while_ending();
        (void)__atomic_add_fetch(&n_holds, 1, __ATOMIC_SEQ_CST);
    }
}

bool ps_unfinished_is_ended(void) {
    return __atomic_load_n(&ended_by, __ATOMIC_SEQ_CST) != 0;
}

void ps_unfinished_release(void) {
    int left = __atomic_sub_fetch(&n_holds, 1, __ATOMIC_SEQ_CST);
    int number = __atomic_load_n(&ended_by, __ATOMIC_SEQ_CST);
    if (left == 0 && number != 0) {
        end_process(number);
    }
}

void ps_unfinished_forget(void) {
    for (int i = 0; i < MAX_UNFINISHED; i++) {
        __atomic_store_n(&unfinished_files[i].state, SLOT_FREE, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&is_ending, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&n_holds, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ended_by, 0, __ATOMIC_SEQ_CST);
}

/* --- a file --------------------------------------------------------------------------------------------------------------- */

static ps_code fail_publish(const ps_publish *p, const char *what, ps_err *err) {
    int e = errno;
    char text[128] = "";
    const char *reason = ps_errno_text(e, text, sizeof text);
    return e == ENOMEM ? ps_fail_nomem(err)
                       : ps_fail_file(err, e == ENOENT || e == ENOTDIR ? PS_NOT_FOUND : PS_IO,
                                      p->path, "%s: %s", what, reason);
}

static void forget_publish(ps_publish *p) {
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    ps_unfinished_done(p->unfinished);
    ps_free(p->path);
    ps_free(p->tmp);
    *p = (ps_publish){.fd = -1, .unfinished = -1};
}

/* Unlike with mkstemp the umask gives its mode. */
static bool create_beside(ps_publish *p) {
    size_t room = strlen(p->path) + 64;
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    p->tmp = ps_alloc(room);
    errno = ENOMEM;
    for (long attempt = 0; p->tmp != NULL && attempt < 1000; attempt++) {
        (void)snprintf(p->tmp, room, "%s.%ld-%lx.tmp", p->path, (long)getpid(),
                       (unsigned long)now.tv_nsec + (unsigned long)attempt);
        p->unfinished = ps_unfinished_add(p->tmp); /* before it is there: no moment lies between */
        p->fd = open(p->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (p->fd >= 0) {
            return true;
        }
        int error = errno;
        ps_unfinished_done(p->unfinished);
        p->unfinished = -1;
        errno = error;
        if (error != EEXIST) {
            break;
        }
    }
    return false;
}

ps_code ps_publish_begin(ps_publish *p, const char *path, ps_err *err) {
    *p = (ps_publish){.path = ps_strdup(path), .fd = -1, .unfinished = -1};
    if (p->path == NULL) {
        return ps_fail_nomem(err);
    }
    if (!create_beside(p)) {
        ps_code code = fail_publish(p, "cannot create the file", err);
        forget_publish(p);
        return code;
    }
    return PS_OK;
}

/* File systems that cannot flush a folder name it in their own time. */
static void flush_folder_of(char *path) {
    char *slash = strrchr(path, '/');
    char kept = '\0';
    const char *folder = slash == NULL ? "." : slash == path ? "/" : path;
    if (slash != NULL && slash != path) {
        kept = *slash;
        *slash = '\0';
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    if (kept != '\0') {
        *slash = kept;
    }
}

ps_code ps_publish_commit(ps_publish *p, ps_publish_how how, ps_err *err) {
    ps_code code = PS_OK;
    bool cannot_flush =
        how == PS_FLUSHED && fsync(p->fd) != 0 && errno != EINVAL && errno != ENOSYS;
    int fd = p->fd;
    if (cannot_flush) {
        code = fail_publish(p, "cannot write the file", err);
    }
    p->fd = -1;
    if (close(fd) != 0 && code == PS_OK) {
        code = fail_publish(p, "cannot write the file", err);
    }
    if (code == PS_OK && rename(p->tmp, p->path) != 0) {
        code = fail_publish(p, "cannot replace the file", err);
    }
    if (code == PS_OK && how == PS_FLUSHED) {
        flush_folder_of(p->path);
    }
    if (code != PS_OK) {
        (void)unlink(p->tmp);
    }
    forget_publish(p);
    return code;
}

void ps_publish_abort(ps_publish *p) {
    if (p->path == NULL) {
        return;
    }
    if (p->tmp != NULL) {
        (void)unlink(p->tmp);
    }
    forget_publish(p);
}

/* --- databases, scratch folders ------------------------------------------------------------------------------------------- */

void ps_remove_database(const char *path) {
    char names[PATH_MAX + SUFFIX_ROOM];
    if (strlen(path) < PATH_MAX) {
        (void)snprintf(names, sizeof names, "%s", path);
        remove_with_suffixes(names);
    }
}

ps_code ps_scratch_begin(const char *dir, char **folder, ps_err *err) {
    size_t room = strlen(dir) + 32;
    *folder = ps_alloc(room);
    if (*folder == NULL) {
        return ps_fail_nomem(err);
    }
    (void)snprintf(*folder, room, "%s/pipescope-XXXXXX", dir);
    if (mkdtemp(*folder) != NULL) {
        return PS_OK;
    }
    const ps_publish p = {.path = *folder};
    ps_code code = fail_publish(&p, "cannot create a folder for what is written meanwhile", err);
    ps_free(*folder);
    *folder = NULL;
    return code;
}

/* The first failure is told, and the rest is removed all the same. */
static ps_code remove_scratch_file(const char *folder, int dir, const char *name, ps_err *err) {
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) {
        return PS_OK;
    }
    char text[128] = "";
    const char *reason = ps_errno_text(errno, text, sizeof text);
    return ps_fail_file(err, PS_IO, folder, "%s in it cannot be removed: %s", name, reason);
}

ps_code ps_scratch_end(char *folder, ps_err *err) {
    if (folder == NULL) {
        return PS_OK;
    }
    ps_code code = PS_OK;
    DIR *dir = opendir(folder);
    for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            ps_code removed =
                remove_scratch_file(folder, dirfd(dir), e->d_name, code == PS_OK ? err : NULL);
            code = code == PS_OK ? removed : code;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    if (rmdir(folder) != 0 && code == PS_OK) {
        char text[128] = "";
        const char *reason = ps_errno_text(errno, text, sizeof text);
        code = ps_fail_file(err, PS_IO, folder, "the folder cannot be removed: %s", reason);
    }
    ps_free(folder);
    return code;
}

static int remove_entry(const char *path, const struct stat *st, int what, struct FTW *at) {
    (void)st;
    (void)what;
    (void)at;
    (void)remove(path); /* what stays shows in the folder around it */
    return 0;
}

ps_code ps_remove_tree(const char *path, ps_err *err) {
    enum { OPEN_FOLDERS = 16 };
    struct stat st;
    (void)nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    return lstat(path, &st) != 0 && errno == ENOENT
               ? PS_OK
               : ps_fail_file(err, PS_IO, path, "what was begun there cannot be removed");
}
