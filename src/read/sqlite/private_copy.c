/* A database with a left-over -wal (without its -shm) or a hot -journal is repaired by whoever opens it next, in
 * place. We must not touch the user's files, so the repair happens on a copy:
 *
 *     $TMPDIR/pipescope-XXXXXX/copy.db, copy.db-wal, copy.db-journal
 *
 * The last connection that can write checkpoints and removes the -wal when it closes; a -journal is rolled back by
 * the first read. A -journal that names a super-journal loses that name: libsqlite3 would delete the file. */
#include "read/sqlite/private_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/publish.h"
#include "read/sqlite/file.h"
#include "read/sqlite/schema.h"

enum { CHUNK_BYTES = 1024 * 1024 };

static const char *const companions[] = {"-wal", "-journal", "-shm"};
enum { N_COPIED = 2, N_COMPANIONS = 3 }; /* the first two are copied; a -shm may appear */

static const char *with_suffix(ps_arena *arena, const char *path, const char *suffix) {
    size_t n = strlen(path);
    char *out = ps_arena_alloc(arena, n + strlen(suffix) + 1);
    if (out != NULL) {
        memcpy(out, path, n);
        memcpy(out + n, suffix, strlen(suffix) + 1);
    }
    return out;
}

/* Errors about the temporary place name the user's file, with what to do. */
static ps_code fail_place(const char *file, const char *dir, const char *what, ps_err *err) {
    int e = errno;
    char text[128] = "";
    const char *reason = ps_errno_text(e, text, sizeof text);
    return ps_fail_file(
        err, PS_IO, file,
        "needs recovery, which is done on a copy: cannot %s %s: %s; TMPDIR can name another place",
        what, dir, reason);
}

static uint64_t size_or_zero(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static ps_code check_space(const char *file, const char *tmp, uint64_t size_bytes, ps_arena *arena,
                           ps_err *err) {
    /* Twice the companions: the copy may grow by what its -wal holds. */
    uint64_t need = size_bytes + CHUNK_BYTES;
    for (size_t i = 0; i < N_COPIED; i++) {
        const char *companion = with_suffix(arena, file, companions[i]);
        if (companion == NULL) {
            return ps_fail_nomem(err);
        }
        need += 2 * size_or_zero(companion);
    }
    uint64_t have = 0;
    ps_code code = ps_free_space(tmp, &have, err);
    if (code == PS_OK && have < need) {
        code = ps_fail_file(
            err, PS_IO, file,
            "needs recovery, which is done on a copy: %llu MB wanted in %s, %llu MB free; "
            "set TMPDIR to a directory with more room",
            (unsigned long long)(need >> 20), tmp, (unsigned long long)(have >> 20));
    }
    return code;
}

static int create(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static ps_code copy_database(const ps_private_copy *copy, sqlite3 *handle, const char *file,
                             uint64_t size_bytes, unsigned char *chunk, ps_err *err) {
    int out = create(copy->path);
    if (out < 0) {
        return fail_place(file, copy->path, "create", err);
    }
    ps_code code = PS_OK;
    for (uint64_t at = 0; code == PS_OK && at < size_bytes;) {
        size_t n = size_bytes - at < CHUNK_BYTES ? (size_t)(size_bytes - at) : CHUNK_BYTES;
        code = ps_sqlite_file_read(handle, file, chunk, n, at, err);
        if (code == PS_OK && !ps_write_all(out, chunk, n)) {
            code = fail_place(file, copy->path, "write", err);
        }
        at += n;
    }
    (void)close(out);
    return code;
}

/* -wal and -journal carry no locks: they may be opened beside libsqlite3. An absent one is fine. */
static ps_code copy_companion(const char *file, const char *from, const char *to,
                              unsigned char *chunk, ps_err *err) {
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0) {
        return errno == ENOENT ? PS_OK : fail_place(file, from, "read", err);
    }
    int out = create(to);
    ps_code code = out >= 0 ? PS_OK : fail_place(file, to, "create", err);
    while (code == PS_OK) {
        ssize_t got = read(in, chunk, CHUNK_BYTES);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            code = fail_place(file, from, "read", err);
        } else if (got == 0) {
            break;
        } else if (!ps_write_all(out, chunk, (size_t)got)) {
            code = fail_place(file, to, "write", err);
        }
    }
    if (out >= 0) {
        (void)close(out);
    }
    (void)close(in);
    return code;
}

/* Else the rollback would end with deleting the file that the journal names, which may be any file of the user. */
static ps_code forget_super_journal(const char *file, const char *journal, ps_err *err) {
    static const unsigned char ZEROS[8] = {0};
    uint64_t at = 0;
    if (!ps_journal_names_another(journal, &at)) {
        return PS_OK;
    }
    int fd = open(journal, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && pwrite(fd, ZEROS, sizeof ZEROS, (off_t)at) == (ssize_t)sizeof ZEROS;
    ps_code code = done ? PS_OK : fail_place(file, journal, "write", err);
    if (fd >= 0) {
        (void)close(fd);
    }
    return code;
}

static ps_code copy_all(const ps_private_copy *copy, sqlite3 *handle, const char *file,
                        uint64_t size_bytes, ps_arena *arena, ps_err *err) {
    unsigned char *chunk = ps_alloc(CHUNK_BYTES);
    if (chunk == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = copy_database(copy, handle, file, size_bytes, chunk, err);
    for (size_t i = 0; code == PS_OK && i < N_COPIED; i++) {
        const char *from = with_suffix(arena, file, companions[i]);
        const char *to = with_suffix(arena, copy->path, companions[i]);
        code = from != NULL && to != NULL ? copy_companion(file, from, to, chunk, err)
                                          : ps_fail_nomem(err);
        code = code == PS_OK ? forget_super_journal(file, to, err) : code;
    }
    ps_free(chunk);
    return code;
}

/* Opens the copy for writing, which repairs it, and closes it again. */
static ps_code recover(const ps_private_copy *copy, const char *file, ps_arena *arena,
                       ps_err *err) {
    sqlite3 *handle = NULL;
    int rc =
        sqlite3_open_v2(copy->path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(handle, "PRAGMA synchronous = OFF; SELECT 1 FROM sqlite_master LIMIT 1",
                          NULL, NULL, NULL);
    }
    ps_code code = PS_OK;
    if (rc != SQLITE_OK) {
        code = handle != NULL ? ps_sqlite_fail(handle, file, "recovering a copy", err)
                              : ps_fail_nomem(err);
    }
    (void)sqlite3_close(handle);
    for (size_t i = 0; code == PS_OK && i < N_COPIED; i++) {
        const char *companion = with_suffix(arena, copy->path, companions[i]);
        if (companion == NULL) {
            code = ps_fail_nomem(err);
        } else if (size_or_zero(companion) > 0) {
            code = ps_fail_file(err, PS_IO, file,
                                "needs recovery, which did not succeed on a copy in %s; "
                                "TMPDIR can name another place",
                                copy->dir);
        }
    }
    return code;
}

/* Noted before they are there: a signal in between would leave them. False and errno when there is no such folder now. */
static bool make_noted_dir(ps_private_copy *copy, const char *dir, const char *path) {
    *copy = (ps_private_copy){
        .dir = dir, .path = path, .unfinished = {ps_unfinished_add(dir), ps_unfinished_add(path)}};
    if (mkdir(dir, 0700) == 0) {
        return true;
    }
    int error = errno;
    ps_unfinished_done(copy->unfinished[0]);
    ps_unfinished_done(copy->unfinished[1]);
    *copy = (ps_private_copy){.dir = NULL};
    errno = error;
    return false;
}

static ps_code make_dir(ps_private_copy *copy, const char *file, const char *tmp, ps_arena *arena,
                        ps_err *err) {
    errno = EEXIST;
    for (long attempt = 0; attempt < 1000 && errno == EEXIST; attempt++) {
        struct timespec now = {0};
        char name[64];
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        (void)snprintf(name, sizeof name, "pipescope-%ld-%lx", (long)getpid(),
                       (unsigned long)now.tv_nsec + (unsigned long)attempt);
        const char *dir = ps_path_join(arena, tmp, name);
        const char *path = dir != NULL ? ps_path_join(arena, dir, "copy.db") : NULL;
        if (path == NULL) {
            return ps_fail_nomem(err);
        }
        if (make_noted_dir(copy, dir, path)) {
            return PS_OK;
        }
    }
    return fail_place(file, tmp, "make a directory in", err);
}

ps_code ps_private_copy_make(ps_private_copy *copy, sqlite3 *handle, const char *file,
                             ps_arena *arena, ps_err *err) {
    *copy = (ps_private_copy){.dir = NULL};
    const char *tmp = getenv("TMPDIR");
    tmp = tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
    uint64_t size_bytes = 0;
    ps_code code = ps_sqlite_file_size(handle, file, &size_bytes, err);
    if (code == PS_OK) {
        code = make_dir(copy, file, tmp, arena, err);
    }
    if (code == PS_OK) {
        code = check_space(file, tmp, size_bytes, arena, err);
    }
    if (code == PS_OK) {
        code = copy_all(copy, handle, file, size_bytes, arena, err);
    }
    if (code == PS_OK) {
        code = recover(copy, file, arena, err);
    }
    if (code != PS_OK) {
        ps_private_copy_delete(copy);
    }
    return code;
}

void ps_private_copy_delete(ps_private_copy *copy) {
    if (copy->dir == NULL) {
        return;
    }
    char name
        [4096]; /* no allocation, so that it cannot fail half-way; longer paths could not be created */
    for (size_t i = 0; i < N_COMPANIONS; i++) {
        (void)snprintf(name, sizeof name, "%s%s", copy->path, companions[i]);
        (void)unlink(name);
    }
    (void)unlink(copy->path);
    (void)rmdir(copy->dir);
    ps_unfinished_done(copy->unfinished[0]);
    ps_unfinished_done(copy->unfinished[1]);
    *copy = (ps_private_copy){.dir = NULL};
}
