/* What the tests of src/read/sqlite share: a directory of their own, SQL, listings, and a scan written out as bytes. */
#ifndef TEST_SQLITE_TOOLS_H
#define TEST_SQLITE_TOOLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "read/sqlite/db.h"
#include "read/sqlite/scan.h"
#include "support/scratch.h"

enum { PATH_BYTES = 512 };

/* A fresh directory with a file name in it. */
typedef struct place {
    char dir[PATH_BYTES / 2];
    char path[PATH_BYTES];
} place;

static inline void make_place(place *p, const char *file) {
    scratch_make(p->dir, sizeof p->dir);
    (void)snprintf(p->path, sizeof p->path, "%s/%s", p->dir, file);
}

/* Each entry as "name size mtime"; of -shm files, which are nobody's data, the name only. */
static inline void list_place(const char *dir, ps_buf *out) {
    ps_arena arena;
    ps_arena_init(&arena);
    const char **names = NULL;
    size_t n = 0;
    assert_int_equal(ps_list_dir(dir, &arena, &names, &n, NULL), PS_OK);
    for (size_t i = 0; i < n; i++) {
        ps_file_id id;
        assert_int_equal(ps_file_identify(ps_path_join(&arena, dir, names[i]), &id, NULL), PS_OK);
        ps_buf_add_str(out, names[i]);
        if (!ps_ends_with(names[i], "-shm")) {
            ps_buf_addf(out, " %lld %lld", (long long)id.size_bytes, (long long)id.mtime_ns);
        }
        ps_buf_add_char(out, '\n');
    }
    ps_arena_fini(&arena);
}

static inline void remove_place(const place *p) {
    ps_arena arena;
    ps_arena_init(&arena);
    const char **names = NULL;
    size_t n = 0;
    assert_int_equal(ps_list_dir(p->dir, &arena, &names, &n, NULL), PS_OK);
    for (size_t i = 0; i < n; i++) {
        (void)unlink(ps_path_join(&arena, p->dir, names[i]));
    }
    ps_arena_fini(&arena);
    assert_int_equal(rmdir(p->dir), 0);
}

static inline sqlite3 *open_writer(const char *path) {
    sqlite3 *handle = NULL;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    return handle;
}

static inline void run_sql(sqlite3 *handle, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

static inline void make_db(const char *path, const char *sql) {
    sqlite3 *handle = open_writer(path);
    run_sql(handle, sql);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static inline void copy_file(const char *from, const char *to) {
    ps_buf bytes;
    ps_buf_init(&bytes, 0);
    assert_int_equal(ps_read_file(from, (size_t)1 << 30, &bytes, NULL), PS_OK);
    FILE *out = fopen(to, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(ps_buf_str(&bytes), 1, bytes.len, out), bytes.len);
    assert_int_equal(fclose(out), 0);
    ps_buf_fini(&bytes);
}

/* Writes rows as bytes, so that two scans are equal exactly when their bytes are, whatever the batches were. Checks
 * what scan.h promises of a batch. */
static inline ps_code dump_batch(void *context, const ps_scan_batch *b, ps_err *err) {
    (void)err;
    ps_buf *out = context;
    assert_in_range(b->n_rows, 1, PS_SCAN_BATCH);
    for (size_t c = 0; c < b->n_columns; c++) {
        uint32_t seen = 0;
        for (size_t row = 0; row < b->n_rows; row++) {
            seen |= PS_CELL_BIT(b->columns[c].types[row]);
        }
        assert_int_equal(seen, b->columns[c].seen);
    }
    for (size_t row = 0; row < b->n_rows; row++) {
        ps_buf_add(out, &b->rowids[row], sizeof b->rowids[row]);
        for (size_t c = 0; c < b->n_columns; c++) {
            const ps_scan_column *column = &b->columns[c];
            ps_buf_add(out, &column->types[row], 1);
            if (column->types[row] < PS_CELL_TEXT) {
                ps_buf_add(out, &column->ints[row], sizeof column->ints[row]);
            } else {
                assert_non_null(column->bytes[row].data);
                assert_int_equal(column->ints[row], 0);
                ps_buf_add(out, &column->bytes[row].size_bytes, sizeof(size_t));
                ps_buf_add(out, column->bytes[row].data, column->bytes[row].size_bytes);
            }
        }
    }
    return PS_OK;
}

#endif
