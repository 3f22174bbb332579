#include "run/run_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/sort.h"
#include "run/run_key.h"

#define PREFIX "pipescope-rank-"
#define MAX_STATE_BYTES ((size_t)UINT32_MAX)

struct ps_run_cache {
    const char *dir;
    int64_t max_bytes;
    ps_arena arena;
};

ps_run_cache *ps_run_cache_open(const char *dir, int64_t max_bytes, ps_err *err) {
    if (ps_make_dirs(dir, err) != PS_OK) {
        return NULL;
    }
    ps_run_cache *c = ps_calloc(1, sizeof *c);
    if (c != NULL) {
        ps_arena_init(&c->arena);
        c->dir = ps_arena_strndup(&c->arena, dir, strlen(dir));
        c->max_bytes = max_bytes > 0 ? max_bytes : PS_CACHE_USUAL_BYTES;
    }
    if (c == NULL || c->dir == NULL) {
        ps_free(c);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return c;
}

/* The caller ends the buffer. */
static const char *path_of(const ps_run_cache *c, const char *key, ps_buf *path) {
    ps_buf_init(path, 0);
    ps_buf_addf(path, "%s/" PREFIX, c->dir);
    ps_hash_key_add(key, strlen(key), path);
    return ps_buf_ok(path) ? ps_buf_str(path) : NULL;
}

ps_rank_state *ps_run_cache_get(const ps_run_cache *c, const char *key,
                                const ps_analysis *const *analyses, size_t n_analyses,
                                bool *damaged) {
    ps_buf path;
    ps_buf bytes;
    bool is_there = false;
    const char *file = path_of(c, key, &path);
    ps_buf_init(&bytes, MAX_STATE_BYTES);
    ps_code code = file != NULL
                       ? ps_read_file_if_there(file, MAX_STATE_BYTES, &bytes, &is_there, NULL)
                       : PS_NOMEM;
    ps_rank_state *state =
        code == PS_OK && is_there ? ps_rank_state_new(analyses, n_analyses) : NULL;
    if (state != NULL) {
        code = ps_archive_read(ps_rank_state_archive, state, bytes.data, bytes.len, NULL);
        bool fits = code == PS_OK && state->key != NULL && strcmp(state->key, key) == 0;
        *damaged = code == PS_SYNTAX;
        if (fits) { /* used now */
            (void)utimensat(AT_FDCWD, file, NULL, 0);
        } else {
            ps_rank_state_free(state);
            state = NULL;
        }
    }
    ps_buf_fini(&bytes);
    ps_buf_fini(&path);
    return state;
}

ps_code ps_run_cache_put(const ps_run_cache *c, const char *key, ps_rank_state *state,
                         ps_err *err) {
    ps_buf path;
    ps_buf bytes;
    const char *file = path_of(c, key, &path);
    ps_buf_init(&bytes, MAX_STATE_BYTES);
    state->key = key;
    ps_code code = file != NULL ? ps_archive_write(ps_rank_state_archive, state, &bytes, err)
                                : ps_fail_nomem(err);
    state->key = NULL;
    code = code == PS_OK ? ps_write_file(file, bytes.data, bytes.len, err) : code;
    ps_buf_fini(&bytes);
    ps_buf_fini(&path);
    return code;
}

/* --- what is too much ---------------------------------------------------------------------------------------------- */

typedef struct kept_file {
    int64_t used_ns, size_bytes;
    const char *path;
} kept_file;

static const ps_sort_key OLDEST_FIRST[] = {PS_UP(kept_file, used_ns), PS_UP(kept_file, path)};

/* A file of a cache, or what a run that ended early left of one: nobody else's. */
static bool is_kept_name(const char *name) {
    enum { KEY_DIGITS = 32 };
    bool begins = strncmp(name, PREFIX, sizeof PREFIX - 1) == 0;
    const char *key = name + (begins ? sizeof PREFIX - 1 : 0);
    return begins && strspn(key, "0123456789abcdef") == KEY_DIGITS &&
           (key[KEY_DIGITS] == '\0' || key[KEY_DIGITS] == '.');
}

static void prune(ps_run_cache *c) {
    const char **names = NULL;
    size_t n = 0;
    size_t n_kept = 0;
    int64_t bytes = 0;
    if (ps_list_dir(c->dir, &c->arena, &names, &n, NULL) != PS_OK) {
        return;
    }
    kept_file *kept = ps_calloc(n, sizeof *kept);
    for (size_t i = 0; kept != NULL && i < n; i++) {
        ps_file_id id;
        const char *path =
            is_kept_name(names[i]) ? ps_path_join(&c->arena, c->dir, names[i]) : NULL;
        if (path != NULL && ps_file_identify(path, &id, NULL) == PS_OK) {
            kept[n_kept++] = (kept_file){id.mtime_ns, id.size_bytes, path};
            bytes += id.size_bytes;
        }
    }
    if (kept != NULL) {
        ps_sort_by(kept, n_kept, sizeof *kept, PS_KEYS(OLDEST_FIRST));
    }
    for (size_t i = 0; i < n_kept && bytes > c->max_bytes; i++) {
        bool is_gone = unlink(kept[i].path) == 0 || errno == ENOENT; /* by another run */
        bytes -= is_gone ? kept[i].size_bytes : 0;
    }
    ps_free(kept);
}

void ps_run_cache_close(ps_run_cache *c) {
    if (c != NULL) {
        prune(c);
        ps_arena_fini(&c->arena);
        ps_free(c);
    }
}
