#include "serve/rank/roots.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

static ps_code add_root(ps_roots *roots, const char *path, ps_err *err) {
    char real[PATH_MAX];
    char text[128] = "";
    ps_path_kind kind = PS_PATH_NONE;
    ps_code code = ps_path_look(path, &kind, err);
    if (code != PS_OK && code != PS_NOT_FOUND) {
        return code;
    }
    if (code == PS_NOT_FOUND || kind != PS_PATH_DIR) {
        return PS_OK; /* a file that is served has no folder that is */
    }
    if (realpath(path, real) == NULL) {
        return ps_fail_file_said(err, PS_IO, path, "cannot follow its links: %s",
                                 "无法解析其链接：%s", ps_errno_text(errno, text, sizeof text));
    }
    roots->paths[roots->n] = ps_strdup(real);
    return roots->paths[roots->n++] != NULL ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_roots_find(ps_roots *roots, const char *const *paths, size_t n_paths,
                      const char *captures, ps_err *err) {
    *roots = (ps_roots){.paths = ps_calloc(n_paths + 1, sizeof *roots->paths)};
    ps_code code = roots->paths != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < n_paths; i++) {
        code = add_root(roots, paths[i], err);
    }
    size_t before = roots->n;
    code = code == PS_OK && captures != NULL ? add_root(roots, captures, err) : code;
    if (code == PS_OK && captures != NULL && roots->n == before) {
        return ps_fail_file(err, PS_NOT_FOUND, captures, "no such folder (--captures)");
    }
    return code;
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
