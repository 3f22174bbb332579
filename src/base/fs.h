/* Files and directories, with errors that name them. */
#ifndef PS_BASE_FS_H
#define PS_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* What tells whether a file is still the one that was read. */
typedef struct ps_file_id {
    uint64_t device, inode;
    int64_t size_bytes, mtime_ns;
} ps_file_id;

/* The same for a database with its write-ahead log (all zero when there is none). */
typedef struct ps_file_stamp {
    ps_file_id file, wal;
    uint32_t change_counter; /* of the database header */
} ps_file_stamp;

/* PS_NOT_FOUND or PS_IO when it cannot be had. */
PS_MUST_USE ps_code ps_file_identify(const char *path, ps_file_id *out, ps_err *err);
bool ps_file_same(const ps_file_id *a, const ps_file_id *b);

bool ps_is_dir(const char *path);
bool ps_is_file(const char *path);

typedef enum ps_path_kind { PS_PATH_NONE, PS_PATH_FILE, PS_PATH_DIR, PS_PATH_OTHER } ps_path_kind;

/* What is at a path; PS_OK also where nothing is. Else it cannot be looked at, *kind is PS_PATH_NONE, and err says why: PS_NOT_FOUND for
 * a link that leads nowhere or round itself, PS_IO for all else (no permission, a fault of the disk). ps_is_dir and ps_is_file take such
 * a path for absent: they are for paths whose error shows anyway when they are opened. */
PS_MUST_USE ps_code ps_path_look(const char *path, ps_path_kind *kind, ps_err *err);

/* Nobody's permission bits allow writing, or this process may not write. Mode bits count for root too: a
 * file marked read-only is meant to stay as it is. */
bool ps_is_readonly(const char *path);

/* Names in a directory, without "." and "..", sorted by bytes. *names is an array of n strings, all in the
 * arena. */
PS_MUST_USE ps_code ps_list_dir(const char *path, ps_arena *arena, const char ***names, size_t *n,
                                ps_err *err);

/* Creates the directory and its parents. An existing directory is fine; PS_NOT_FOUND for an empty path. */
PS_MUST_USE ps_code ps_make_dirs(const char *path, ps_err *err);

/* The whole file, at most max_bytes (PS_RANGE beyond). PS_IO for anything but a regular file: no pipe is waited for. */
PS_MUST_USE ps_code ps_read_file(const char *path, size_t max_bytes, ps_buf *out, ps_err *err);

/* The same for a file that need not be there: PS_OK and *is_there false where nothing is, or no regular file, or a link that leads
 * nowhere. */
PS_MUST_USE ps_code ps_read_file_if_there(const char *path, size_t max_bytes, ps_buf *out,
                                          bool *is_there, ps_err *err);

/* False, with errno, when not all of it could be written. */
PS_MUST_USE bool ps_write_all(int fd, const void *bytes, size_t n);

/* The whole file at once, unflushed (base/publish.h): one of many. */
PS_MUST_USE ps_code ps_write_file(const char *path, const void *bytes, size_t n, ps_err *err);
/* The same, on the disk when it returns. */
PS_MUST_USE ps_code ps_write_file_flushed(const char *path, const void *bytes, size_t n,
                                          ps_err *err);

/* Whether an SQLite rollback journal ends with the name of a super-journal, a file that libsqlite3 deletes after it
 * rolled back: whoever wrote the journal chose the name. `at_magic` gets the place of the mark that makes it one, 8
 * bytes long. False when the file cannot be read. */
bool ps_journal_names_another(const char *path, uint64_t *at_magic);

/* Bytes free for this user on the file system that holds `path` (which exists). */
PS_MUST_USE ps_code ps_free_space(const char *path, uint64_t *out_bytes, ps_err *err);

/* "a/b" from "a" or "a/" and "b", in the arena; NULL when memory is out. */
char *ps_path_join(ps_arena *arena, const char *dir, const char *name);

/* The last component, pointing into `path` ("/" at the end ignored only when it is all there is). */
const char *ps_path_base(const char *path);

/* Everything before the last component, "." when there is none; in the arena. */
char *ps_path_dir(ps_arena *arena, const char *path);

bool ps_ends_with(const char *s, const char *tail);

#endif
