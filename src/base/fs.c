#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/publish.h"

static ps_code fail_errno(ps_err *err, const char *path, const char *what) {
    int e = errno;
    if (e == ENOENT) {
        return ps_fail_file(err, PS_NOT_FOUND, path, "%s: there is no such file or directory",
                            what);
    }
    char text[128] = "";
    const char *reason = ps_errno_text(e, text, sizeof text);
    ps_code code = e == ENOTDIR ? PS_NOT_FOUND : e == ENOSPC || e == EDQUOT ? PS_NO_ROOM : PS_IO;
    return ps_fail_file(err, code, path, "%s: %s", what, reason);
}

ps_code ps_file_identify(const char *path, ps_file_id *out, ps_err *err) {
    struct stat st;
    if (stat(path, &st) != 0) {
        return fail_errno(err, path, "not readable");
    }
    *out = (ps_file_id){.device = (uint64_t)st.st_dev,
                        .inode = (uint64_t)st.st_ino,
                        .size_bytes = (int64_t)st.st_size,
                        .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
    return PS_OK;
}

bool ps_file_same(const ps_file_id *a, const ps_file_id *b) {
    return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
           a->mtime_ns == b->mtime_ns;
}

bool ps_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool ps_is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

ps_code ps_path_look(const char *path, ps_path_kind *kind, ps_err *err) {
    struct stat st;
    *kind = PS_PATH_NONE;
    if (stat(path, &st) == 0) {
        *kind = S_ISREG(st.st_mode)   ? PS_PATH_FILE
                : S_ISDIR(st.st_mode) ? PS_PATH_DIR
                                      : PS_PATH_OTHER;
        return PS_OK;
    }
    if (errno == ENOENT || errno == ELOOP) {
        bool is_round = errno == ELOOP;
        return lstat(path, &st) != 0 ? PS_OK
                                     : ps_fail_file(err, PS_NOT_FOUND, path, "a link that leads %s",
                                                    is_round ? "round itself" : "nowhere");
    }
    ps_code code = fail_errno(err, path, "cannot be looked at");
    return code == PS_NOT_FOUND ? PS_OK : PS_IO; /* a part of the path is gone */
}

bool ps_is_readonly(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) {
        return false;
    }
    return (st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 || access(path, W_OK) != 0;
}

ps_code ps_list_dir(const char *path, ps_arena *arena, const char ***names, size_t *n,
                    ps_err *err) {
    *names = NULL;
    *n = 0;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return fail_errno(err, path, "cannot read the directory");
    }
    const char **list = NULL;
    size_t cap = 0;
    ps_code code = PS_OK;
    while (code == PS_OK) {
        errno = 0;
        const struct dirent *e = readdir(dir);
        if (e == NULL) {
            code =
                errno != 0 ? fail_errno(err, path, "cannot read the directory to its end") : code;
            break;
        }
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        char *copy = ps_arena_strndup(arena, e->d_name, strlen(e->d_name));
        if (copy == NULL || !ps_grow(&list, &cap, *n + 1, SIZE_MAX / sizeof *list, sizeof *list)) {
            code = ps_fail_nomem(err);
            break;
        }
        list[(*n)++] = copy;
    }
    (void)closedir(dir);
    *n = code == PS_OK ? *n : 0;
    if (*n > 0) {
        qsort(list, *n, sizeof *list, ps_compare_texts);
        *names = ps_arena_alloc(arena, *n * sizeof **names);
        if (*names != NULL) {
            memcpy(*names, list, *n * sizeof *list);
        } else {
            code = ps_fail_nomem(err);
        }
    }
    ps_free(list);
    return code;
}

ps_code ps_make_dirs(const char *path, ps_err *err) {
    if (path[0] == '\0') {
        return ps_fail_file(err, PS_NOT_FOUND, path, "an empty name is no directory");
    }
    /* Mostly the last is the only one that is not there yet. */
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && ps_is_dir(path))) {
        return PS_OK;
    }
    ps_arena arena;
    ps_arena_init(&arena);
    char *copy = ps_arena_strndup(&arena, path, strlen(path));
    ps_code code = copy != NULL ? PS_OK : ps_fail_nomem(err);
    for (char *p = copy; code == PS_OK && p != NULL; p = strchr(p + 1, '/')) {
        char *slash = strchr(p + 1, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            code = fail_errno(err, copy, "cannot create the directory");
        } else if (!ps_is_dir(copy)) {
            code = ps_fail_file(err, PS_IO, copy, "exists and is not a directory");
        }
        if (slash == NULL) {
            break;
        }
        *slash = '/';
    }
    ps_arena_fini(&arena);
    return code;
}

ps_code ps_read_file_if_there(const char *path, size_t max_bytes, ps_buf *out, bool *is_there,
                              ps_err *err) {
    ps_path_kind kind = PS_PATH_NONE;
    ps_code code = ps_path_look(path, &kind, err);
    *is_there = kind == PS_PATH_FILE;
    if (code == PS_NOT_FOUND || (code == PS_OK && !*is_there)) {
        return PS_OK;
    }
    return code == PS_OK ? ps_read_file(path, max_bytes, out, err) : code;
}

ps_code ps_read_file(const char *path, size_t max_bytes, ps_buf *out, ps_err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    if (fd < 0) {
        return fail_errno(err, path, "cannot open the file");
    }
    struct stat st;
    ps_code code = PS_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        code = ps_fail_file(err, PS_IO, path, "not a regular file");
    }
    char block[16384];
    while (code == PS_OK) {
        ssize_t got = read(fd, block, sizeof block);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            code = fail_errno(err, path, "cannot read the file");
        }
        if (got <= 0) {
            break;
        }
        if ((size_t)got > max_bytes - out->len) {
            code = ps_fail_file(err, PS_RANGE, path, "larger than %zu bytes", max_bytes);
            break;
        }
        ps_buf_add(out, block, (size_t)got);
    }
    (void)close(fd);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

bool ps_write_all(int fd, const void *from, size_t n) {
    const char *bytes = from;
    while (n > 0) {
        ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        bytes += put;
        n -= (size_t)put;
    }
    return true;
}

static ps_code write_file(const char *path, const void *bytes, size_t n, ps_publish_how how,
                          ps_err *err) {
    ps_publish p;
    ps_code code = ps_publish_begin(&p, path, err);
    if (code == PS_OK && !ps_write_all(p.fd, bytes, n)) {
        code = fail_errno(err, path, "cannot write the file");
    }
    code = code == PS_OK ? ps_publish_commit(&p, how, err) : code;
    ps_publish_abort(&p);
    return code;
}

ps_code ps_write_file(const char *path, const void *bytes, size_t n, ps_err *err) {
    return write_file(path, bytes, n, PS_UNFLUSHED, err);
}

ps_code ps_write_file_flushed(const char *path, const void *bytes, size_t n, ps_err *err) {
    return write_file(path, bytes, n, PS_FLUSHED, err);
}

/* <super-journal's name> <its length, 4 bytes> <checksum, 4 bytes> <8 bytes of magic> <end of file> */
bool ps_journal_names_another(const char *path, uint64_t *at_magic) {
    static const unsigned char MAGIC[8] = {0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7};
    unsigned char tail[8] = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 16 &&
                 pread(fd, tail, sizeof tail, st.st_size - 8) == (ssize_t)sizeof tail &&
                 memcmp(tail, MAGIC, sizeof tail) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    *at_magic = found ? (uint64_t)st.st_size - 8 : 0;
    return found;
}

ps_code ps_free_space(const char *path, uint64_t *out_bytes, ps_err *err) {
    struct statvfs fs;
    if (statvfs(path, &fs) != 0) {
        return fail_errno(err, path, "cannot ask for free space");
    }
    *out_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    return PS_OK;
}

char *ps_path_join(ps_arena *arena, const char *dir, const char *name) {
    size_t n_dir = strlen(dir);
    size_t n_name = strlen(name);
    while (n_dir > 1 && dir[n_dir - 1] == '/') {
        n_dir--;
    }
    bool slash = n_dir > 0 && dir[n_dir - 1] != '/';
    char *out = ps_arena_alloc(arena, n_dir + n_name + 2);
    if (out != NULL) {
        memcpy(out, dir, n_dir);
        if (slash) {
            out[n_dir] = '/';
        }
        memcpy(out + n_dir + slash, name, n_name + 1);
    }
    return out;
}

const char *ps_path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

char *ps_path_dir(ps_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return ps_arena_strndup(arena, ".", 1);
    }
    return ps_arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

bool ps_ends_with(const char *s, const char *tail) {
    size_t n = strlen(s);
    size_t t = strlen(tail);
    return n >= t && strcmp(s + n - t, tail) == 0;
}
