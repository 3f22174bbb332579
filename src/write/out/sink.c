/* Readers of a result see the old file or the whole new one; a failed run leaves no half file. */
#include "write/out/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static ps_code fail_errno(ps_err *err, const char *path, const char *what) {
    int e = errno;
    char text[128] = "";
    const char *reason = ps_errno_text(e, text, sizeof text);
    return ps_fail_file(err, e == ENOENT || e == ENOTDIR ? PS_NOT_FOUND : PS_IO, path, "%s: %s",
                        what, reason);
}

static void forget(ps_sink *sink) {
    ps_free(sink->path);
    *sink = (ps_sink){0};
}

/* A device or a pipe. */
static FILE *open_in_place(const char *path) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL && fd >= 0) {
        (void)close(fd);
    }
    return file;
}

/* A stream of its own: closing it leaves the file to be published. */
static FILE *stream_of(const ps_publish *p) {
    int fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL && fd >= 0) {
        (void)close(fd);
    }
    return file;
}

ps_code ps_sink_open_file(ps_sink *sink, const char *path, ps_err *err) {
    char real[PATH_MAX];
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISREG(st.st_mode) && realpath(path, real) != NULL) {
        path = real; /* the file behind a link is replaced, not the link */
    }
    *sink = (ps_sink){.path = ps_strdup(path)};
    if (sink->path == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = PS_OK;
    if (exists && !S_ISREG(st.st_mode)) {
        sink->file = open_in_place(path);
    } else {
        code = ps_publish_begin(&sink->published, path, err);
        sink->file = code == PS_OK ? stream_of(&sink->published) : NULL;
    }
    if (code == PS_OK && sink->file == NULL) {
        code = fail_errno(err, path, "cannot create the file");
    }
    if (code != PS_OK) {
        ps_publish_abort(&sink->published);
        forget(sink);
    }
    return code;
}

ps_sink ps_sink_stream(FILE *file) {
    return (ps_sink){.file = file};
}

ps_sink ps_sink_buf(ps_buf *buf) {
    return (ps_sink){.buf = buf};
}

ps_code ps_sink_write(ps_sink *sink, const void *bytes, size_t n, ps_err *err) {
    if (sink->buf != NULL) {
        ps_buf_add(sink->buf, bytes, n);
        return ps_buf_ok(sink->buf) ? PS_OK : ps_fail_nomem(err);
    }
    if (n > 0 && fwrite(bytes, 1, n, sink->file) != n) {
        return fail_errno(err, sink->path != NULL ? sink->path : "output", "cannot write");
    }
    return PS_OK;
}

ps_code ps_sink_commit(ps_sink *sink, ps_err *err) {
    if (sink->buf != NULL) {
        bool ok = ps_buf_ok(sink->buf);
        forget(sink);
        return ok ? PS_OK : ps_fail_nomem(err);
    }
    const char *shown = sink->path != NULL ? sink->path : "output";
    ps_code code = PS_OK;
    if (fflush(sink->file) != 0 || ferror(sink->file) != 0) {
        code = fail_errno(err, shown, "cannot write");
    }
    if (sink->path != NULL) {
        if (fclose(sink->file) != 0 && code == PS_OK) {
            code = fail_errno(err, shown, "cannot write");
        }
        if (code == PS_OK && sink->published.path != NULL) {
            code = ps_publish_commit(&sink->published, sink->is_of_many ? PS_UNFLUSHED : PS_FLUSHED,
                                     err);
        }
        ps_publish_abort(&sink->published);
    }
    forget(sink);
    return code;
}

void ps_sink_abort(ps_sink *sink) {
    if (sink->path != NULL && sink->file != NULL) {
        (void)fclose(sink->file);
        ps_publish_abort(&sink->published);
    }
    forget(sink);
}

ps_code ps_sink_store(const char *path, const ps_buf *text, ps_err *err) {
    ps_sink sink = {0};
    ps_code code = ps_buf_ok(text) ? ps_sink_open_file(&sink, path, err) : ps_fail_nomem(err);
    code = code == PS_OK ? ps_sink_write(&sink, text->data, text->len, err) : code;
    code = code == PS_OK ? ps_sink_commit(&sink, err) : code;
    ps_sink_abort(&sink);
    return code;
}
