#include "record/export/database.h"
#include "record/export/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "record/ring/fork_gate.h"

/* --- schema ------------------------------------------------------------------------------------------------------- */

typedef struct column_of {
    const char *table, *name, *type;
} column_of;

static const column_of COLUMNS[] = {
#define PS_COLUMN_1_2(table, name, type) {#table, #name, type},
#define PS_COLUMN_OWN(table, name, type) {#table, #name, type},
#include "base/ascend_schema.def"
};
#define N_COLUMNS (sizeof COLUMNS / sizeof COLUMNS[0])

typedef struct enum_row {
    const char *table, *sql;
} enum_row;

static const enum_row ENUM_ROWS[] = {
#define PS_ENUM_ROW_1_2(table, id, name)                                                           \
    {#table, "INSERT INTO " #table " VALUES (" #id ",'" name "');"},
#include "base/ascend_schema.def"
};

typedef struct index_of {
    const char *name, *table, *columns;
} index_of;

static const index_of INDEXES[] = {
#define PS_INDEX(index, table, columns) {#index, #table, columns},
#define PS_INDEX_OWN(index, table, columns) {#index, #table, columns},
#include "base/ascend_schema.def"
};

/* Tables that only some recordings have. */
static bool is_database_wanted(const char *table, ps_database_tables tables) {
    static const char *const DEVICE[] = {
        "CANN_API",           "COMMUNICATION_OP",    "COMMUNICATION_TASK_INFO",
        "MEMCPY_INFO",        "ENUM_HCCL_LINK_TYPE", "ENUM_HCCL_TRANSPORT_TYPE",
        "ENUM_HCCL_RDMA_TYPE"};
    static const char *const OPERATORS[] = {"PYTORCH_API", "CONNECTION_IDS"};
    for (size_t i = 0; i < sizeof DEVICE / sizeof DEVICE[0]; i++) {
        if (strcmp(table, DEVICE[i]) == 0) {
            return tables.device;
        }
    }
    for (size_t i = 0; i < sizeof OPERATORS / sizeof OPERATORS[0]; i++) {
        if (strcmp(table, OPERATORS[i]) == 0) {
            return tables.operators;
        }
    }
    if (strcmp(table, "COMPUTE_TASK_INFO") == 0) {
        return tables.device || tables.operators;
    }
    return strcmp(table, "PYTORCH_CALLCHAINS") != 0;
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

static ps_code fail_database(const ps_database *d, ps_err *err) {
    if (d->handle == NULL) {
        return ps_fail_nomem(err);
    }
    int code = d->lib->errcode(d->handle);
    if (code == PS_SQ_NOMEM) {
        return ps_fail_nomem(err);
    }
    /* SQLite tells a full disk alone from other errors; a quota or a limit on files is no room, too. */
    int system = d->lib->system_errno(d->handle);
    bool is_full = code == PS_SQ_FULL || system == EDQUOT || system == EFBIG || system == ENOSPC;
    return ps_fail_file(err, is_full ? PS_NO_ROOM : PS_IO, d->path, "cannot write the database: %s",
                        d->lib->errmsg(d->handle));
}

static ps_code execute_database(const ps_database *d, const char *sql, ps_err *err) {
    return d->lib->exec(d->handle, sql, NULL, NULL, NULL) == PS_SQ_OK ? PS_OK
                                                                      : fail_database(d, err);
}

static ps_code execute_buf(const ps_database *d, ps_buf *sql, ps_err *err) {
    ps_code code = ps_buf_ok(sql) ? execute_database(d, ps_buf_str(sql), err) : ps_fail_nomem(err);
    ps_buf_fini(sql);
    return code;
}

/* --- forks -------------------------------------------------------------------------------------------------------- */

/* SQLite's locks are the process's, and a child of a fork would wait for one that we hold: from opening to closing we are at work
 * (fork_gate.h), and pause between rows and, in statements that take long, every so many of SQLite's instructions. */
enum { INSTRUCTIONS_TO_PAUSE = 1000 };

static int pause_database_work(void *unused) {
    (void)unused;
    ps_fork_work_pause();
    return 0;
}

static void begin_database_work(ps_database *d) {
    ps_fork_work_begin();
    d->at_work = true;
}

static void end_database_work(ps_database *d) {
    if (d->at_work) {
        d->at_work = false;
        ps_fork_work_end();
    }
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static ps_code create_tables(const ps_database *d, ps_database_tables tables, ps_err *err) {
    ps_buf sql;
    ps_buf_init(&sql, 0);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const column_of *c = &COLUMNS[i];
        if (!is_database_wanted(c->table, tables)) {
            continue;
        }
        bool first = i == 0 || strcmp(c->table, COLUMNS[i - 1].table) != 0;
        bool last = i + 1 == N_COLUMNS || strcmp(c->table, COLUMNS[i + 1].table) != 0;
        if (first) {
            ps_buf_addf(&sql, "CREATE TABLE %s (", c->table);
        }
        ps_buf_addf(&sql, "%s%s %s%s", first ? "" : ",", c->name, c->type, last ? ");" : "");
    }
    for (size_t i = 0; i < sizeof ENUM_ROWS / sizeof ENUM_ROWS[0]; i++) {
        if (is_database_wanted(ENUM_ROWS[i].table, tables)) {
            ps_buf_add_str(&sql, ENUM_ROWS[i].sql);
        }
    }
    return execute_buf(d, &sql, err);
}

static bool has_table(const ps_database *d, const char *table) {
    ps_sq_statement *s = NULL;
    char sql[128];
    (void)snprintf(sql, sizeof sql, "SELECT 1 FROM %s", table);
    bool there = d->lib->prepare_v2(d->handle, sql, -1, &s, NULL) == PS_SQ_OK;
    (void)d->lib->finalize(s);
    return there;
}

static ps_code create_indexes(const ps_database *d, ps_err *err) {
    ps_buf sql;
    ps_buf_init(&sql, 0);
    for (size_t i = 0; i < sizeof INDEXES / sizeof INDEXES[0]; i++) {
        if (has_table(d, INDEXES[i].table)) {
            ps_buf_addf(&sql, "CREATE INDEX %s ON %s (%s);", INDEXES[i].name, INDEXES[i].table,
                        INDEXES[i].columns);
        }
    }
    return execute_buf(d, &sql, err);
}

/* Made by us: nothing that lay there is followed or kept. */
static ps_code make_database_file(const ps_database *d, ps_err *err) {
    (void)unlink(d->temporary);
    int fd = open(d->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) {
        return ps_fail_system(err, d->temporary, "cannot make the database", errno);
    }
    (void)close(fd);
    return PS_OK;
}

ps_code ps_database_open(ps_database *d, const char *path, ps_database_tables tables, ps_err *err) {
    *d = (ps_database){.lib = ps_sqlite_lib_get()};
    int n = snprintf(d->path, sizeof d->path, "%s", path);
    if (n < 0 || (size_t)n >= sizeof d->path) {
        return ps_fail_file(err, PS_IO, path, "the path is too long");
    }
    if (d->lib == NULL) {
        return ps_fail(err, PS_UNSUPPORTED,
                       "there is no libsqlite3 here: the raw files stay; install it, or run "
                       "pipescope record --recover where it is");
    }
    (void)snprintf(d->temporary, sizeof d->temporary, "%s.tmp", path);
    ps_code code = make_database_file(d, err);
    int flags = PS_SQ_OPEN_READWRITE | PS_SQ_OPEN_NOMUTEX;
    if (code != PS_OK) {
        return code;
    }
    begin_database_work(d);
    if (d->lib->open_v2(d->temporary, &d->handle, flags, NULL) != PS_SQ_OK) {
        code = fail_database(d, err);
    } else {
        d->lib->progress_handler(d->handle, INSTRUCTIONS_TO_PAUSE, pause_database_work, NULL);
    }
    if (code == PS_OK) {
        code =
            execute_database(d,
                             "PRAGMA page_size=4096;PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;"
                             "PRAGMA locking_mode=EXCLUSIVE;PRAGMA cache_size=-65536;"
                             "PRAGMA temp_store=MEMORY;BEGIN",
                             err);
    }
    return code == PS_OK ? create_tables(d, tables, err) : code;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

ps_code ps_database_begin(ps_database *d, const char *table, ps_err *err) {
    ps_buf sql;
    ps_buf_init(&sql, 0);
    /* Kernels of one launched graph share the number of the call, which is a key there. */
    bool keyed = strcmp(table, "CANN_API") == 0;
    ps_buf_addf(&sql, "INSERT %sINTO %s VALUES (", keyed ? "OR IGNORE " : "", table);
    d->n_columns = 0;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (strcmp(COLUMNS[i].table, table) == 0) {
            ps_buf_add_str(&sql, d->n_columns++ == 0 ? "?" : ",?");
        }
    }
    ps_buf_add_char(&sql, ')');
    memset(d->is_bound, 0, sizeof d->is_bound);
    (void)d->lib->finalize(d->insert);
    d->insert = NULL;
    ps_code code = PS_OK;
    if (!ps_buf_ok(&sql)) {
        code = ps_fail_nomem(err);
    } else if (d->lib->prepare_v2(d->handle, ps_buf_str(&sql), -1, &d->insert, NULL) != PS_SQ_OK) {
        code = fail_database(d, err);
    }
    ps_buf_fini(&sql);
    return code;
}

void ps_database_int(ps_database *d, int column, int64_t value) {
    if (!d->is_bound[column] || d->bound[column] != value) {
        (void)d->lib->bind_int64(d->insert, column + 1, value);
        d->bound[column] = value;
        d->is_bound[column] = true;
    }
}

void ps_database_text(ps_database *d, int column, const char *text, size_t n) {
    (void)d->lib->bind_text(d->insert, column + 1, text, (int)n, NULL);
    d->is_bound[column] = false;
}

void ps_database_null(ps_database *d, int column) {
    (void)d->lib->bind_null(d->insert, column + 1);
    d->is_bound[column] = false;
}

ps_code ps_database_put(ps_database *d, ps_err *err) {
    ps_fork_work_pause();
    bool ok = d->lib->step(d->insert) == PS_SQ_DONE;
    ok = d->lib->reset(d->insert) == PS_SQ_OK && ok;
    d->n_rows += ok;
    return ok ? PS_OK : fail_database(d, err);
}

ps_code ps_database_put_ints(ps_database *d, const int64_t *values, size_t n, ps_err *err) {
    if (n != (size_t)d->n_columns) {
        return ps_fail(err, PS_INTERNAL, "%zu values for %d columns", n, d->n_columns);
    }
    for (size_t i = 0; i < n; i++) {
        ps_database_int(d, (int)i, values[i]);
    }
    return ps_database_put(d, err);
}

ps_code ps_database_pair(ps_database *d, const char *name, const char *value, ps_err *err) {
    ps_database_text(d, 0, name, strlen(name));
    ps_database_text(d, 1, value, strlen(value));
    return ps_database_put(d, err);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* Nothing of SQLite is called behind this. */
static ps_code close_handle(ps_database *d, ps_err *err) {
    ps_code code = PS_OK;
    (void)d->lib->finalize(d->insert);
    d->insert = NULL;
    if (d->handle != NULL && d->lib->close(d->handle) != PS_SQ_OK) {
        code = ps_fail_file(err, PS_IO, d->path, "cannot close the database");
    }
    d->handle = NULL;
    end_database_work(d);
    return code;
}

static ps_code sync_file(const char *path, ps_err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok ? PS_OK : ps_fail_system(err, path, "cannot write", error);
}

ps_code ps_database_finish(ps_database *d, ps_err *err) {
    (void)d->lib->finalize(d->insert);
    d->insert = NULL;
    ps_code code = create_indexes(d, err);
    if (code == PS_OK) {
        code = execute_database(d, "COMMIT", err);
    }
    if (code == PS_OK) {
        code = close_handle(d, err);
    }
    return code == PS_OK ? sync_file(d->temporary, err) : code;
}

ps_code ps_database_publish(ps_database *d, ps_err *err) {
    return rename(d->temporary, d->path) == 0
               ? PS_OK
               : ps_fail_system(err, d->path, "cannot rename the finished database to its name",
                                errno);
}

void ps_database_drop(ps_database *d) {
    if (d->lib == NULL) {
        return;
    }
    (void)close_handle(d, NULL);
    (void)unlink(d->temporary);
}
