/* Below which folders a page may open captures: those that are served, and the one of --captures. Links are followed before it is
 * looked where a path lies. */
#ifndef PS_SERVE_ROOTS_H
#define PS_SERVE_ROOTS_H

#include <stddef.h>

#include "base/err.h"

typedef struct ps_roots {
    char **paths; /* real ones, without a slash at their end; only "/" is one */
    size_t n;
} ps_roots;

/* Of the paths those that are folders, and `captures` (or NULL), which must be one. PS_NOT_FOUND, PS_NOMEM, PS_IO where one cannot be
 * looked at. End with ps_roots_fini() in
 * any case. */
PS_MUST_USE ps_code ps_roots_find(ps_roots *roots, const char *const *paths, size_t n_paths,
                                  const char *captures, ps_err *err);
void ps_roots_fini(ps_roots *roots);

/* The real path of what lies in one of the folders, or is one: `path` is absolute, or looked for in each. The caller frees it with
 * ps_free(). NULL with PS_NOT_FOUND, in the same words for what is not there and what lies elsewhere; PS_NOMEM. */
char *ps_roots_resolve(const ps_roots *roots, const char *path, ps_err *err);

#endif
