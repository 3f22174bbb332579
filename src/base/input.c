/* Three sources (file, stdin, memory) behind one read; gzip is told by its first bytes. */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ahead.h"
#include "base/alloc.h"
#include "base/inflate.h"
#include "base/threads.h"

enum { HEAD_BYTES = 4096, GZIP_BLOCK = 1 << 18, AHEAD_FROM = 1 << 20 };

struct ps_input {
    char *path;
    int fd; /* -1 for memory */
    const uint8_t *memory;
    size_t n_memory, memory_at;
    uint8_t head[HEAD_BYTES]; /* read ahead to tell gzip from text */
    size_t n_head, head_at;
    ps_inflate *inflate; /* NULL for plain bytes */
    uint8_t *packed;     /* [GZIP_BLOCK] */
    const uint8_t *packed_at;
    size_t n_packed;
    bool packed_end, is_cut, ended;
    ps_ahead *ahead; /* once there is much to inflate: its thread has all of the above */
    bool alone;      /* no thread: it would be of no use, or there was none to be had */
    uint64_t offset, raw_offset, file_bytes;
    struct timespec written; /* when the file was, as reading began */
    bool may_grow;
    ps_watch *watch; /* or NULL */
};

static ps_code fail_read(const ps_input *in, ps_err *err, int error) {
    char text[128] = "";
    (void)ps_fail_file(err, PS_IO, in->path, "cannot read the file: %s",
                       ps_errno_text(error, text, sizeof text));
    if (err != NULL) {
        err->offset = in->raw_offset;
    }
    return PS_IO;
}

/* Bytes as they lie in the source; *n < cap only at its end. */
static ps_code read_source(ps_input *in, uint8_t *out, size_t cap, size_t *n, ps_err *err) {
    *n = 0;
    size_t ahead = in->n_head - in->head_at;
    if (ahead > 0) {
        *n = ahead < cap ? ahead : cap;
        memcpy(out, in->head + in->head_at, *n);
        in->head_at += *n;
    }
    if (in->fd < 0) {
        size_t left = in->n_memory - in->memory_at;
        size_t take = left < cap - *n ? left : cap - *n;
        if (take > 0) {
            memcpy(out + *n, in->memory + in->memory_at, take);
        }
        in->memory_at += take;
        *n += take;
        return PS_OK;
    }
    while (*n < cap) {
        ssize_t got = read(in->fd, out + *n, cap - *n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_read(in, err, errno);
        }
        if (got == 0) {
            break;
        }
        *n += (size_t)got;
        in->raw_offset += (uint64_t)got;
    }
    return ps_watch_add(in->watch, *n, err);
}

static ps_code inflate_some(void *context, uint8_t *out, size_t cap, size_t *n, ps_err *err) {
    ps_input *in = context;
    uint8_t *at = out;
    size_t room = cap;
    while (room > 0 && !in->ended) {
        if (in->n_packed == 0) {
            ps_code code = read_source(in, in->packed, GZIP_BLOCK, &in->n_packed, err);
            if (code != PS_OK) {
                *n = cap - room;
                return code;
            }
            in->packed_at = in->packed;
            in->packed_end = in->n_packed == 0;
        }
        size_t had_room = room;
        ps_inflate_end end = ps_inflate_run(in->inflate, &in->packed_at, &in->n_packed, &at, &room);
        if (end == PS_INFLATE_NO_MEMORY) {
            *n = cap - room;
            return ps_fail_nomem(err);
        }
        in->ended = end != PS_INFLATE_GOES_ON || (in->packed_end && room == had_room);
        in->is_cut = end == PS_INFLATE_DAMAGED ||
                     (end == PS_INFLATE_GOES_ON && in->ended && !ps_inflate_may_end(in->inflate));
    }
    *n = cap - room;
    return PS_OK;
}

/* The first bytes are inflated here: whoever only looks at the head of a file needs no thread. */
static ps_code read_gzip(ps_input *in, uint8_t *out, size_t cap, size_t *n, ps_err *err) {
    if (in->ahead == NULL && !in->alone && !in->ended && in->offset >= AHEAD_FROM) {
        in->ahead = ps_n_processors() > 1 ? ps_ahead_new(inflate_some, in) : NULL;
        in->alone = in->ahead == NULL;
    }
    if (in->ahead == NULL) {
        return inflate_some(in, out, cap, n, err);
    }
    ps_code code = ps_ahead_read(in->ahead, out, cap, n, err);
    if (code == PS_OK && *n < cap) { /* the end: what was read may need the memory */
        ps_ahead_free(in->ahead);
        in->ahead = NULL;
        in->alone = true;
    }
    return code;
}

/* Looks at the first bytes and prepares for gzip. */
static ps_code input_recognise(ps_input *in, ps_err *err) {
    size_t n = 0;
    ps_code code = read_source(in, in->head, sizeof in->head, &n, err);
    in->n_head = n;
    in->head_at = 0;
    if (code != PS_OK || n < 3 || in->head[0] != 0x1F || in->head[1] != 0x8B ||
        in->head[2] != 0x08) {
        return code;
    }
    in->inflate = ps_inflate_new();
    in->packed = ps_alloc(GZIP_BLOCK);
    return in->inflate != NULL && in->packed != NULL ? PS_OK : ps_fail_nomem(err);
}

static ps_input *new_input(const char *name, int fd, ps_err *err) {
    ps_input *in = ps_calloc(1, sizeof *in);
    if (in != NULL) {
        in->fd = fd;
        in->path = ps_strdup(name);
        if (in->path != NULL) {
            return in;
        }
    }
    if (fd > STDIN_FILENO) {
        (void)close(fd);
    }
    ps_free(in);
    (void)ps_fail_nomem(err);
    return NULL;
}

/* A file descriptor of a regular file, -1 with `err`. */
static int open_file(const char *path, ps_err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    struct stat st;
    if (fd < 0) {
        int error = errno;
        char text[128] = "";
        (void)ps_fail_file(err, error == ENOENT || error == ENOTDIR ? PS_NOT_FOUND : PS_IO, path,
                           "cannot open the file: %s", ps_errno_text(error, text, sizeof text));
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(fd);
        (void)ps_fail_file(err, PS_IO, path, "not a regular file");
        return -1;
    }
    return fd;
}

ps_input *ps_input_open(const char *path, ps_err *err) {
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open_file(path, err);
    ps_input *in = fd >= 0 ? new_input(is_stdin ? "<stdin>" : path, fd, err) : NULL;
    if (in == NULL) {
        return NULL;
    }
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        in->file_bytes = (uint64_t)st.st_size;
        in->written = st.st_mtim;
    }
    if (input_recognise(in, err) != PS_OK) {
        ps_input_close(in);
        return NULL;
    }
    return in;
}

ps_input *ps_input_of_memory(const void *bytes, size_t n, ps_err *err) {
    ps_input *in = new_input("<memory>", -1, err);
    if (in != NULL) {
        in->memory = bytes;
        in->n_memory = n;
        in->file_bytes = n;
        if (input_recognise(in, err) != PS_OK) {
            ps_input_close(in);
            return NULL;
        }
    }
    return in;
}

void ps_input_close(ps_input *in) {
    if (in != NULL) {
        ps_ahead_free(in->ahead);
        if (in->fd > STDIN_FILENO) {
            (void)close(in->fd);
        }
        ps_inflate_free(in->inflate);
        ps_free(in->packed);
        ps_free(in->path);
        ps_free(in);
    }
}

/* What was read may be half of the old content and half of the new one. One that another file took the place of is still whole. */
static ps_code check_unchanged(const ps_input *in, ps_err *err) {
    struct stat st;
    if (in->file_bytes == 0 || in->fd <= STDIN_FILENO || fstat(in->fd, &st) != 0 ||
        ((uint64_t)st.st_size == in->file_bytes && st.st_mtim.tv_sec == in->written.tv_sec &&
         st.st_mtim.tv_nsec == in->written.tv_nsec)) {
        return PS_OK;
    }
    if (in->may_grow && (uint64_t)st.st_size > in->file_bytes) {
        return PS_OK;
    }
    return ps_fail_file(err, PS_CHANGED, in->path, "%s",
                        "another program wrote to the file while it was read: run again when that "
                        "one has ended");
}

ps_code ps_input_read(ps_input *in, void *buffer, size_t cap, size_t *n, ps_err *err) {
    *n = 0;
    ps_code code = in->inflate != NULL ? read_gzip(in, buffer, cap, n, err)
                                       : read_source(in, buffer, cap, n, err);
    in->offset += *n;
    return code == PS_OK && *n < cap ? check_unchanged(in, err) : code;
}

void ps_input_may_grow(ps_input *in) {
    in->may_grow = true;
}

void ps_input_watch(ps_input *in, ps_watch *watch) {
    in->watch = watch;
}

bool ps_input_is_gzip(const ps_input *in) {
    return in->inflate != NULL;
}

bool ps_input_is_cut(const ps_input *in) {
    return in->is_cut;
}

uint64_t ps_input_offset(const ps_input *in) {
    return in->offset;
}

const char *ps_input_path(const ps_input *in) {
    return in->path;
}

uint64_t ps_input_file_bytes(const ps_input *in) {
    return in->file_bytes;
}

ps_code ps_input_head(const char *path, void *buffer, size_t cap, size_t *n, ps_err *err) {
    ps_err local = PS_ERR_INIT;
    *n = 0;
    ps_input *in = ps_input_open(path, err != NULL ? err : &local);
    if (in == NULL) {
        return err != NULL ? err->code : local.code;
    }
    ps_code code = ps_input_read(in, buffer, cap, n, err);
    ps_input_close(in);
    return code;
}
