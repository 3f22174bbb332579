/* libsqlite3, opened when it is needed: the library that programs load must not need it. The few functions are declared here by
 * hand; they have not changed since SQLite 3.5 (2007). */
#ifndef PS_RECORD_SQLITE_LIB_H
#define PS_RECORD_SQLITE_LIB_H

#include <stdint.h>

typedef struct ps_sq_handle ps_sq_handle;
typedef struct ps_sq_statement ps_sq_statement;

enum {
    PS_SQ_OK = 0,
    PS_SQ_NOMEM = 7,
    PS_SQ_FULL = 13,
    PS_SQ_DONE = 101,
    PS_SQ_OPEN_READWRITE = 2,
    PS_SQ_OPEN_CREATE = 4,
    PS_SQ_OPEN_NOMUTEX = 0x8000
};

typedef struct ps_sqlite_lib {
    int (*open_v2)(const char *path, ps_sq_handle **out, int flags, const char *vfs);
    int (*close)(ps_sq_handle *handle);
    int (*exec)(ps_sq_handle *handle, const char *sql, int (*row)(void *, int, char **, char **),
                void *context, char **message);
    int (*prepare_v2)(ps_sq_handle *handle, const char *sql, int n, ps_sq_statement **out,
                      const char **tail);
    int (*bind_int64)(ps_sq_statement *statement, int index, int64_t value);
    int (*bind_null)(ps_sq_statement *statement, int index);
    /* `destroy` NULL: the text lives until the statement is stepped. */
    int (*bind_text)(ps_sq_statement *statement, int index, const char *text, int n,
                     void (*destroy)(void *));
    int (*step)(ps_sq_statement *statement);
    int (*reset)(ps_sq_statement *statement);
    int (*finalize)(ps_sq_statement *statement);
    int (*errcode)(ps_sq_handle *handle);
    const char *(*errmsg)(ps_sq_handle *handle);
    int (*system_errno)(ps_sq_handle *handle); /* of the last call of the system that failed */
    /* `call` after about n instructions of a statement, again and again; not 0 from it interrupts. */
    void (*progress_handler)(ps_sq_handle *handle, int n, int (*call)(void *), void *context);
} ps_sqlite_lib;

/* NULL when there is none; stays open. Any thread. */
const ps_sqlite_lib *ps_sqlite_lib_get(void);

#endif
