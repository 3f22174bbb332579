#include "record/export/sqlite_lib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/ring/fork_gate.h"

static ps_sqlite_lib lib;
static bool is_there;
static pthread_once_t once = PTHREAD_ONCE_INIT;

typedef struct symbol {
    const char *name;
    size_t offset; /* in ps_sqlite_lib */
} symbol;

static const symbol SYMBOLS[] = {
    {"sqlite3_open_v2", offsetof(ps_sqlite_lib, open_v2)},
    {"sqlite3_close", offsetof(ps_sqlite_lib, close)},
    {"sqlite3_exec", offsetof(ps_sqlite_lib, exec)},
    {"sqlite3_prepare_v2", offsetof(ps_sqlite_lib, prepare_v2)},
    {"sqlite3_bind_int64", offsetof(ps_sqlite_lib, bind_int64)},
    {"sqlite3_bind_null", offsetof(ps_sqlite_lib, bind_null)},
    {"sqlite3_bind_text", offsetof(ps_sqlite_lib, bind_text)},
    {"sqlite3_step", offsetof(ps_sqlite_lib, step)},
    {"sqlite3_reset", offsetof(ps_sqlite_lib, reset)},
    {"sqlite3_finalize", offsetof(ps_sqlite_lib, finalize)},
    {"sqlite3_errcode", offsetof(ps_sqlite_lib, errcode)},
    {"sqlite3_errmsg", offsetof(ps_sqlite_lib, errmsg)},
    {"sqlite3_system_errno", offsetof(ps_sqlite_lib, system_errno)},
    {"sqlite3_progress_handler", offsetof(ps_sqlite_lib, progress_handler)},
};

static bool take_symbols(void *library) {
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof SYMBOLS[0]; i++) {
        void *found = dlsym(library, SYMBOLS[i].name);
        if (found == NULL) {
            return false;
        }
        memcpy((char *)&lib + SYMBOLS[i].offset, &found, sizeof found);
    }
    return true;
}

static bool take_sqlite(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library != NULL && take_symbols(library);
}

/* In wheels there is one under another name, which the analysis needs: it is found through that. */
static bool take_sqlite_beside(void) {
    Dl_info self;
    char path[4096];
    if (dladdr(&once, &self) == 0 || self.dli_fname == NULL) {
        return false;
    }
    const char *slash = strrchr(self.dli_fname, '/');
    int n_dir = slash != NULL ? (int)(slash - self.dli_fname) + 1 : 0;
    int n = snprintf(path, sizeof path, "%.*slibpipescope.so.0", n_dir, self.dli_fname);
    return n_dir > 0 && n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0 &&
           take_sqlite(path);
}

/* The system's, what the process has already (the program itself), what a wheel brings. */
static void open_lib(void) {
    ps_fork_work_begin();
    is_there = take_sqlite("libsqlite3.so.0") || take_sqlite("libsqlite3.so") ||
               take_symbols(RTLD_DEFAULT) || take_sqlite_beside();
    ps_fork_work_end();
}

const ps_sqlite_lib *ps_sqlite_lib_get(void) {
    (void)pthread_once(&once, open_lib);
    return is_there ? &lib : NULL;
}
