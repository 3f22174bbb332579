/* A recovered copy of a database whose own files cannot be read without changing them. Internal to
 * src/read/sqlite. */
#ifndef PS_READ_SQLITE_PRIVATE_COPY_H
#define PS_READ_SQLITE_PRIVATE_COPY_H

#include <sqlite3.h>

#include "base/arena.h"
#include "base/err.h"

/* Strings live in the arena given to ps_private_copy_make. All NULL: no copy. */
typedef struct ps_private_copy {
    const char *dir; /* 0700, below $TMPDIR */
    const char *path;
    int unfinished[2]; /* of both, while they are there (base/publish.h) */
} ps_private_copy;

/* Copies the database behind `handle` and its -wal or -journal, and lets libsqlite3 recover or roll back the copy,
 * which is then an ordinary file without companions. `file` is the database's path as libsqlite3 resolved it.
 * After a failure nothing is left. */
PS_MUST_USE ps_code ps_private_copy_make(ps_private_copy *copy, sqlite3 *handle, const char *file,
                                         ps_arena *arena, ps_err *err);

/* Deletes it. */
void ps_private_copy_delete(ps_private_copy *copy);

#endif
