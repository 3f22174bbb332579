/* Which rank wrote a file, cheaply: distributedInfo stands before the events, or behind them in files of on-demand
 * recordings; else the name tells: "rank-3.json", "<host>_<pid>.<ns>.pt.trace.json". */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "read/events/trace_head.h"
#include "read/kineto/kineto.h"

#define TAIL_BYTES ((size_t)1 << 20)

int64_t ps_kineto_rank_of_name(const char *path) {
    int64_t rank = -1;
    for (const char *p = ps_path_base(path); (p = strstr(p, "rank")) != NULL;) {
        p += 4;
        const char *digits = *p == '-' || *p == '_' ? p + 1 : p;
        size_t n = strspn(digits, "0123456789");
        if (n > 0 && !ps_parse_i64(digits, n, &rank)) {
            rank = -1;
        }
    }
    return rank;
}

/* "" when the name is not of that form. The worker's own name may hold underscores and dots. */
static const char *host_of_name(const char *path, ps_arena *arena) {
    const char *name = ps_path_base(path);
    const char *end = strstr(name, ".pt.trace.json");
    while (end != NULL && end > name && isdigit((unsigned char)end[-1])) {
        end--; /* the time */
    }
    if (end == NULL || end == name || end[-1] != '.') {
        return "";
    }
    const char *pid = --end;
    while (pid > name && isdigit((unsigned char)pid[-1])) {
        pid--;
    }
    bool has_pid = pid < end && pid > name + 1 && pid[-1] == '_';
    return has_pid ? ps_arena_strndup(arena, name, (size_t)(pid - 1 - name)) : "";
}

/* Looks at the members that follow the last `key` in the text. */
static ps_trace_head look_behind(char *text, size_t n, const char *key) {
    size_t key_n = strlen(key);
    ps_trace_head none = {.rank = -1};
    for (size_t at = n; at > key_n; at--) {
        char *p = text + at - key_n;
        if (*p == '"' && memcmp(p, key, key_n) == 0) {
            char before = p[-1];
            p[-1] = '{'; /* as if the object began here */
            ps_trace_head found = ps_trace_head_look(p - 1, n - (size_t)(p - 1 - text));
            p[-1] = before;
            return found;
        }
    }
    return none;
}

/* The last TAIL_BYTES at least of a gzip stream, when it has as many; `tail` has room for twice that. */
static ps_code stream_tail(const char *path, char *tail, size_t *n, ps_err *err) {
    ps_input *in = ps_input_open(path, err);
    if (in == NULL) {
        return err->code;
    }
    ps_code code = PS_OK;
    for (size_t got = 1; code == PS_OK && got > 0;) {
        if (*n > TAIL_BYTES) {
            memmove(tail, tail + *n - TAIL_BYTES, TAIL_BYTES);
            *n = TAIL_BYTES;
        }
        code = ps_input_read(in, tail + *n, TAIL_BYTES, &got, err);
        *n += got;
    }
    ps_input_close(in);
    return code;
}

/* The last TAIL_BYTES of a plain file. */
static ps_code seek_tail(const char *path, char *tail, size_t *n, ps_err *err) {
    ps_file_id id;
    ps_code code = ps_file_identify(path, &id, err);
    if (code != PS_OK) {
        return code;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int64_t from = id.size_bytes > (int64_t)TAIL_BYTES ? id.size_bytes - (int64_t)TAIL_BYTES : 0;
    ssize_t got = fd >= 0 ? pread(fd, tail, TAIL_BYTES, from) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    *n = got > 0 ? (size_t)got : 0;
    return got >= 0 ? PS_OK : ps_fail_file(err, PS_IO, path, "cannot read the file");
}

static ps_code look_at_tail(const char *path, bool is_gzip, ps_trace_head *head, ps_err *err) {
    char *tail = ps_alloc(2 * TAIL_BYTES);
    if (tail == NULL) {
        return ps_fail_nomem(err);
    }
    size_t n = 0;
    ps_code code = is_gzip ? stream_tail(path, tail, &n, err) : seek_tail(path, tail, &n, err);
    if (code == PS_OK) {
        head->rank = look_behind(tail, n, "\"distributedInfo\"").rank;
        ps_trace_head found = look_behind(tail, n, "\"host_name\"");
        if (found.host[0] != '\0') {
            memcpy(head->host, found.host, sizeof head->host);
        }
    }
    ps_free(tail);
    return code;
}

/* The first bytes; is_gzip by the file's own first two. */
static ps_code look_at_head(const char *path, ps_trace_head *head, bool *is_gzip, ps_err *err) {
    char *bytes = ps_alloc(PS_HEAD_BYTES);
    size_t n = 0;
    ps_code code =
        bytes != NULL ? ps_input_head(path, bytes, PS_HEAD_BYTES, &n, err) : ps_fail_nomem(err);
    if (code == PS_OK) {
        *head = ps_trace_head_look(bytes, n);
        ps_input *in = ps_input_open(path, err);
        *is_gzip = in != NULL && ps_input_is_gzip(in);
        code = in != NULL ? PS_OK : err->code;
        ps_input_close(in);
    }
    ps_free(bytes);
    return code;
}

ps_code ps_kineto_parts(const char *path, ps_arena *arena, ps_part **parts, size_t *n,
                        ps_err *err) {
    ps_err own = PS_ERR_INIT;
    err = err != NULL ? err : &own;
    ps_trace_head head = {.rank = -1};
    ps_code code = PS_OK;
    if (strcmp(path, "-") != 0) { /* what is read from there is gone */
        bool is_gzip = false;
        code = look_at_head(path, &head, &is_gzip, err);
        if (code == PS_OK && head.rank < 0) {
            code = look_at_tail(path, is_gzip, &head, err);
        }
    }
    ps_part *part = code == PS_OK ? ps_arena_alloc(arena, sizeof *part) : NULL;
    const char *host = head.host[0] != '\0' ? ps_arena_strndup(arena, head.host, strlen(head.host))
                                            : host_of_name(path, arena);
    if (part == NULL || host == NULL) {
        return code != PS_OK ? code : ps_fail_nomem(err);
    }
    *part = (ps_part){.rank = head.rank >= 0 ? head.rank : ps_kineto_rank_of_name(path),
                      .host = host,
                      .machine = -1};
    *parts = part;
    *n = 1;
    return PS_OK;
}
