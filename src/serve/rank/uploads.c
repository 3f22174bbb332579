#include "serve/rank/uploads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/publish.h"

enum { MOST_UPLOADS = 32, MOST_NAME = 120 };

struct ps_upload {
    ps_uploads *of;
    char *folder; /* NULL: removed */
    char *path;
    int fd;            /* -1: complete; only who holds it writes there and closes it */
    int unfinished[2]; /* file and folder */
    size_t bytes;
    size_t cluster; /* SIZE_MAX: of none yet */
    bool is_held;   /* by who sends it */
    ps_upload *next;
};

struct ps_uploads {
    pthread_mutex_t lock; /* of all below */
    size_t max_bytes, bytes, n;
    ps_upload *first;
};

ps_uploads *ps_uploads_new(size_t max_bytes) {
    ps_uploads *u = ps_calloc(1, sizeof *u);
    if (u != NULL) {
        u->max_bytes = max_bytes;
        (void)pthread_mutex_init(&u->lock, NULL);
    }
    return u;
}

/* With the lock. Who holds it may still write into the file that has no name any more. */
static ps_code remove_upload(ps_upload *up, ps_err *err) {
    if (up->folder == NULL) {
        return PS_OK;
    }
    ps_code code = ps_scratch_end(up->folder, err);
    up->folder = NULL;
    ps_unfinished_done(up->unfinished[0]);
    ps_unfinished_done(up->unfinished[1]);
    up->of->bytes -= up->bytes;
    up->of->n--;
    up->bytes = 0;
    return code;
}

/* With the lock. Frees those that are removed and that nobody holds. */
static void sweep_uploads(ps_uploads *u) {
    for (ps_upload **at = &u->first; *at != NULL;) {
        ps_upload *up = *at;
        if (up->folder != NULL || up->is_held) {
            at = &up->next;
            continue;
        }
        *at = up->next;
        ps_free(up->path);
        ps_free(up);
    }
}

ps_code ps_uploads_clear(ps_uploads *u, ps_err *err) {
    ps_code code = PS_OK;
    (void)pthread_mutex_lock(&u->lock);
    for (ps_upload *up = u->first; up != NULL; up = up->next) {
        ps_code one = remove_upload(up, code == PS_OK ? err : NULL);
        code = code == PS_OK ? one : code;
    }
    sweep_uploads(u);
    (void)pthread_mutex_unlock(&u->lock);
    return code;
}

void ps_uploads_free(ps_uploads *u) {
    if (u == NULL) {
        return;
    }
    (void)ps_uploads_clear(u, NULL);
    (void)pthread_mutex_destroy(&u->lock);
    ps_free(u);
}

size_t ps_uploads_room(ps_uploads *u) {
    (void)pthread_mutex_lock(&u->lock);
    size_t room = u->max_bytes - u->bytes;
    (void)pthread_mutex_unlock(&u->lock);
    return room;
}

ps_code ps_uploads_close(ps_uploads *u, size_t cluster, ps_err *err) {
    ps_code code = PS_OK;
    if (u == NULL) {
        return code;
    }
    (void)pthread_mutex_lock(&u->lock);
    for (ps_upload *up = u->first; up != NULL; up = up->next) {
        if (up->cluster == cluster) {
            code = remove_upload(up, err); /* a capture is one file */
        }
    }
    sweep_uploads(u);
    (void)pthread_mutex_unlock(&u->lock);
    return code;
}

static ps_code fail_upload(const char *what, ps_err *err) {
    char text[128] = "";
    return ps_fail_said(err, PS_IO, "cannot %s what is sent: %s; TMPDIR can name another place",
                        "无法%.0s写入所上传的文件：%s；可用 TMPDIR 指定其他位置", what,
                        ps_errno_text(errno, text, sizeof text));
}

/* The path of a file in its folder. NULL: memory is out. */
static char *upload_path(const ps_upload *up, const char *name) {
    size_t room = strlen(up->folder) + strlen(name) + sizeof "/";
    char *path = ps_alloc(room);
    if (path != NULL) {
        (void)snprintf(path, room, "%s/%s", up->folder, name);
    }
    return path;
}

static ps_code make_upload_file(ps_upload *up, ps_err *err) {
    const char *tmp = getenv("TMPDIR");
    ps_code code = ps_scratch_begin(tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp", &up->folder, err);
    if (code != PS_OK) {
        return code;
    }
    up->path = upload_path(up, "upload");
    if (up->path == NULL) {
        return ps_fail_nomem(err);
    }
    up->unfinished[0] = ps_unfinished_add(up->path);
    up->unfinished[1] = ps_unfinished_add(up->folder);
    if (up->unfinished[0] < 0 || up->unfinished[1] < 0) {
        return ps_fail_said(err, PS_RANGE, "too many files are written at once",
                            "同时写入的文件过多");
    }
    up->fd = open(up->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return up->fd >= 0 ? PS_OK : fail_upload("keep", err);
}

ps_upload *ps_upload_begin(ps_uploads *u, ps_err *err) {
    ps_upload *up = ps_calloc(1, sizeof *up);
    if (up == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    *up = (ps_upload){
        .of = u, .fd = -1, .unfinished = {-1, -1}, .cluster = SIZE_MAX, .is_held = true};
    (void)pthread_mutex_lock(&u->lock);
    bool fits = u->n < MOST_UPLOADS;
    ps_code code = fits ? make_upload_file(up, err)
                        : ps_fail_said(err, PS_RANGE,
                                       "%d files that were sent are open: close one of them first",
                                       "已打开 %d 个上传的文件：请先关闭其中一个", MOST_UPLOADS);
    up->next = u->first;
    u->first = up;
    u->n++;
    if (code != PS_OK) {
        u->n -= up->folder == NULL;
        (void)remove_upload(up, NULL);
        up->is_held = false;
        sweep_uploads(u);
    }
    (void)pthread_mutex_unlock(&u->lock);
    return code == PS_OK ? up : NULL;
}

ps_code ps_upload_add(ps_upload *up, const char *bytes, size_t n, ps_err *err) {
    ps_uploads *u = up->of;
    (void)pthread_mutex_lock(&u->lock);
    bool fits = up->folder != NULL && n <= u->max_bytes - u->bytes;
    up->bytes += fits ? n : 0;
    u->bytes += fits ? n : 0;
    (void)pthread_mutex_unlock(&u->lock);
    if (!fits) {
        return ps_fail_said(
            err, PS_RANGE,
            "there is no room for this file: all that are sent stay below --memory "
            "together; close another one, or open it by its path",
            "没有空间容纳该文件：全部上传的文件合计须在 --memory 之内；请关闭另一个，或按路径打开它");
    }
    while (n > 0) {
        ssize_t written = write(up->fd, bytes, n);
        if (written < 0 && errno != EINTR) {
            return fail_upload("keep", err);
        }
        bytes += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return PS_OK;
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

/* A signal at any moment removes the file, whichever name it has. */
static ps_code name_upload(ps_upload *up, const char *plain, const char **path, ps_err *err) {
    ps_code code = PS_OK;
    (void)pthread_mutex_lock(&up->of->lock);
    char *to = up->folder != NULL ? upload_path(up, plain) : NULL;
    int unfinished = to != NULL ? ps_unfinished_add(to) : -1;
    if (up->folder == NULL) {
        code = ps_fail_said(err, PS_BUSY, "the server ends", "服务器即将结束");
    } else if (to == NULL) {
        code = ps_fail_nomem(err);
    } else if (unfinished < 0) {
        code =
            ps_fail_said(err, PS_RANGE, "too many files are written at once", "同时写入的文件过多");
    } else if (rename(up->path, to) != 0) {
        code = fail_upload("name", err);
    }
    if (code == PS_OK) {
        ps_unfinished_done(up->unfinished[0]);
        ps_free(up->path);
        up->path = to;
        up->unfinished[0] = unfinished;
    } else {
        ps_unfinished_done(unfinished);
        ps_free(to);
    }
    *path = up->path;
    (void)pthread_mutex_unlock(&up->of->lock);
    return code;
}

ps_code ps_upload_end(ps_upload *up, const char *name, const char **path, ps_err *err) {
    char plain[MOST_NAME + 1];
    const char *slash = name != NULL ? strrchr(name, '/') : NULL;
    const char *from = slash != NULL ? slash + 1 : name != NULL ? name : "";
    size_t len = strlen(from);
    from += len > MOST_NAME ? len - MOST_NAME : 0; /* the end says the kind */
    size_t n = 0;
    for (; from[n] != '\0'; n++) {
        plain[n] = is_plain(from[n]) && (n > 0 || from[n] != '.') ? from[n] : '_';
    }
    plain[n] = '\0';
    if (n == 0) {
        return ps_fail(err, PS_USAGE, "say what the file is called, as parameter name");
    }
    if (up->bytes == 0) {
        return ps_fail_said(err, PS_USAGE, "the file is empty", "文件为空");
    }
    ps_code code = close(up->fd) == 0 ? PS_OK : fail_upload("keep", err);
    up->fd = -1;
    return code == PS_OK ? name_upload(up, plain, path, err) : code;
}

void ps_upload_keep(ps_upload *up, size_t cluster) {
    (void)pthread_mutex_lock(&up->of->lock);
    up->cluster = cluster;
    (void)pthread_mutex_unlock(&up->of->lock);
}

void ps_upload_leave(ps_upload *up) {
    if (up == NULL) {
        return;
    }
    ps_uploads *u = up->of;
    if (up->fd >= 0) {
        (void)close(up->fd);
    }
    (void)pthread_mutex_lock(&u->lock);
    if (up->cluster == SIZE_MAX) {
        (void)remove_upload(up, NULL);
    }
    up->is_held = false;
    sweep_uploads(u);
    (void)pthread_mutex_unlock(&u->lock);
}
