/* The bytes of a database through libsqlite3's own descriptor. Another descriptor of the file would be a trap: when
 * any descriptor of a file is closed, POSIX drops all locks that the process holds on it, those of other connections
 * too. Internal to src/read/sqlite. */
#ifndef PS_READ_SQLITE_FILE_H
#define PS_READ_SQLITE_FILE_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What can be done about damage, at the end of a message that tells of it. */
#define PS_DAMAGE_REMEDY                                                                           \
    "; copy the file again, or save what is left: sqlite3 FILE .recover | sqlite3 NEW"

/* Exactly n bytes (below 2 GiB). PS_CHANGED when the file ends before, PS_IO. `path` is for messages. */
PS_MUST_USE ps_code ps_sqlite_file_read(sqlite3 *handle, const char *path, void *out, size_t n,
                                        uint64_t offset, ps_err *err);

PS_MUST_USE ps_code ps_sqlite_file_size(sqlite3 *handle, const char *path, uint64_t *out,
                                        ps_err *err);

#endif
