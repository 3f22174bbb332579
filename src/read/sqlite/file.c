#include "read/sqlite/file.h"

static sqlite3_file *file_of(sqlite3 *handle) {
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return rc == SQLITE_OK && file != NULL && file->pMethods != NULL ? file : NULL;
}

ps_code ps_sqlite_file_read(sqlite3 *handle, const char *path, void *out, size_t n, uint64_t offset,
                            ps_err *err) {
    sqlite3_file *file = file_of(handle);
    int rc = SQLITE_IOERR;
    if (file != NULL) {
        rc = file->pMethods->xRead(file, out, (int)n, (sqlite3_int64)offset);
    }
    if (rc == SQLITE_OK) {
        return PS_OK;
    }
    ps_code code =
        rc == SQLITE_IOERR_SHORT_READ
            ? ps_fail_file(err, PS_CHANGED, path, "the file became shorter while it was read")
            : ps_fail_file(err, PS_IO, path, "cannot read the file: %s", sqlite3_errstr(rc));
    if (err != NULL) {
        err->offset = offset;
    }
    return code;
}

ps_code ps_sqlite_file_size(sqlite3 *handle, const char *path, uint64_t *out, ps_err *err) {
    sqlite3_file *file = file_of(handle);
    sqlite3_int64 size = 0;
    if (file == NULL || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
        return ps_fail_file(err, PS_IO, path, "cannot ask for the file's size");
    }
    *out = (uint64_t)size;
    return PS_OK;
}
