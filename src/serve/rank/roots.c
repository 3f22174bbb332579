#include "serve/rank/roots.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"

static bool is_root_folder(const char *real) {
    struct stat st;
    return stat(real, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool add_root(ps_roots *roots, const char *path) {
    char real[PATH_MAX];
    if (realpath(path, real) == NULL || !is_root_folder(real)) {
        return true; /* a file that is served has no folder that is */
    }
    roots->paths[roots->n] = ps_strdup(real);
    return roots->paths[roots->n++] != NULL;
}

ps_code ps_roots_find(ps_roots *roots, const char *const *paths, size_t n_paths,
                      const char *captures, ps_err *err) {
    *roots = (ps_roots){.paths = ps_calloc(n_paths + 1, sizeof *roots->paths)};
    bool ok = roots->paths != NULL;
    for (size_t i = 0; ok && i < n_paths; i++) {
        ok = add_root(roots, paths[i]);
    }
    size_t before = roots->n;
    ok = ok && (captures == NULL || add_root(roots, captures));
    if (ok && captures != NULL && roots->n == before) {
        return ps_fail_file(err, PS_NOT_FOUND, captures, "no such folder (--captures)");
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_roots_fini(ps_roots *roots) {
    for (size_t i = 0; i < roots->n; i++) {
        ps_free(roots->paths[i]);
    }
    ps_free(roots->paths);
    *roots = (ps_roots){0};
}

static bool is_below(const char *real, const char *root) {
    size_t n = strlen(root);
    return strncmp(real, root, n) == 0 &&
           (real[n] == '\0' || real[n] == '/' || strcmp(root, "/") == 0);
}

static bool is_in_any(const ps_roots *roots, const char *real) {
    bool found = false;
    for (size_t i = 0; i < roots->n && !found; i++) {
        found = is_below(real, roots->paths[i]);
    }
    return found;
}

char *ps_roots_resolve(const ps_roots *roots, const char *path, ps_err *err) {
    bool is_absolute = path[0] == '/';
    for (size_t i = 0; i < roots->n; i++) {
        char whole[PATH_MAX];
        char real[PATH_MAX];
        int n = snprintf(whole, sizeof whole, "%s%s%s", is_absolute ? "" : roots->paths[i],
                         is_absolute ? "" : "/", path);
        if (n > 0 && (size_t)n < sizeof whole && realpath(whole, real) != NULL &&
            is_in_any(roots, real)) {
            char *found = ps_strdup(real);
            if (found == NULL) {
                (void)ps_fail_nomem(err);
            }
            return found;
        }
    }
    (void)ps_fail_said(
        err, PS_NOT_FOUND,
        "'%.200s' is not below a folder that is served (pipescope serve DIR, or "
        "--captures DIR)",
        "“%.200s”不在服务器提供的目录之下（pipescope serve 目录，或 --captures 目录）", path);
    return NULL;
}
