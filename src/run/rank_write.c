#include "run/rank_write.h"

#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "read/sqlite/db.h"
#include "run/rank_state.h"
#include "write/table/sqlite.h"

/* --- databases and copies of them -------------------------------------------------------------------------------- */

static ps_code recheck(void *context, sqlite3 *handle, ps_err *err) {
    const ps_rank_write *w = context;
    if (!w->has_stamp) {
        return PS_OK;
    }
    ps_db_stamp stamp = {w->stamp.file, w->stamp.wal, w->stamp.change_counter};
    return ps_db_stamp_check(&stamp, sqlite3_db_filename(handle, "main"), handle, err);
}

/* A link that leads nowhere is something, too. */
static ps_code look_at_sidecar(const char *path, ps_path_kind *kind, ps_err *err) {
    ps_code code = ps_path_look(path, kind, err);
    if (code == PS_NOT_FOUND) {
        *kind = PS_PATH_OTHER;
        code = PS_OK;
    }
    return code;
}

/* The profiler's small JSON files go along, so that the mirrored directory is a rank directory too. What is there
 * already stays: it may be someone else's. For a lone database, rel_path a bare name, their place would be outside
 * the output directory. */
static ps_code copy_sidecars(const ps_cluster_rank *rank, const char *target, ps_err *err) {
    if (rank->rank_dir == NULL || strchr(rank->rel_path, '/') == NULL) {
        return PS_OK;
    }
    ps_arena arena = {0};
    ps_buf text = {0};
    const char **names = NULL;
    size_t n = 0;
    const char *inner = ps_path_dir(&arena, target);
    const char *dir = inner != NULL ? ps_path_dir(&arena, inner) : NULL;
    ps_code code =
        dir != NULL ? ps_list_dir(rank->rank_dir, &arena, &names, &n, err) : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        if (strncmp(names[i], "profiler_", 9) != 0 || !ps_ends_with(names[i], ".json")) {
            continue;
        }
        const char *from = ps_path_join(&arena, rank->rank_dir, names[i]);
        const char *to = ps_path_join(&arena, dir, names[i]);
        ps_path_kind ours = PS_PATH_NONE;
        ps_path_kind there = PS_PATH_NONE;
        code = from != NULL && to != NULL ? look_at_sidecar(from, &ours, err) : ps_fail_nomem(err);
        code = code == PS_OK ? look_at_sidecar(to, &there, err) : code;
        if (code == PS_OK && ours == PS_PATH_FILE && there == PS_PATH_NONE) {
            ps_buf_clear(&text);
            code = ps_read_file(from, (size_t)64 << 20, &text, err);
            code = code == PS_OK ? ps_write_file(to, ps_buf_str(&text), text.len, err) : code;
        }
    }
    ps_buf_fini(&text);
    ps_arena_fini(&arena);
    return code;
}

static const ps_table **tables_of(const ps_rank_write *w) {
    return (const ps_table **)(uintptr_t)w->tables;
}

static ps_code write_copy(const ps_rank_write *w, ps_err *err) {
    ps_arena arena = {0};
    const char *dir = ps_path_dir(&arena, w->target);
    ps_code code = dir != NULL ? ps_make_dirs(dir, err) : ps_fail_nomem(err);
    ps_arena_fini(&arena);
    ps_db *db = code == PS_OK ? ps_db_open(w->rank->path, err) : NULL;
    if (db == NULL) {
        return code != PS_OK ? code : (err != NULL ? err->code : PS_IO);
    }
    ps_db_stamp now = ps_db_get_stamp(db);
    if (!ps_file_same(&now.file, &w->stamp.file) || !ps_file_same(&now.wal, &w->stamp.wal) ||
        now.change_counter != w->stamp.change_counter) {
        code = ps_fail_file_said(err, PS_CHANGED, w->rank->path,
                                 "changed while it was analysed: run again",
                                 "分析期间发生变化：请重新运行");
    }
    code = code == PS_OK ? ps_sqlite_copy(ps_db_handle(db), w->target, PS_COPY_APPLICATION_ID,
                                          tables_of(w), w->n_tables, err)
                         : code;
    ps_db_close(db);
    return code == PS_OK ? copy_sidecars(w->rank, w->target, err) : code;
}

static void write_rank_database(void *context, size_t i) {
    ps_rank_write *w = (ps_rank_write *)context + i;
    if (w->target == NULL || w->export_type != PS_EXPORT_DB) {
        return;
    }
    w->code = w->is_copy
                  ? write_copy(w, &w->err)
                  : ps_sqlite_apply(w->target, tables_of(w), w->n_tables, recheck, w, &w->err);
}

/* --- files ---------------------------------------------------------------------------------------------------------- */

/* <folder>/<table>_<rank>.csv, <table>_<profiler>_<rank>.csv where several profilers know a rank of that number; NULL
 * when memory is out. */
static const char *rank_file_path(const ps_rank_write *w, const ps_table *t, ps_arena *arena) {
    ps_buf path = {0};
    const char *suffix = t->mode == PS_TABLE_ADD_COLUMN ? "_connection" : "";
    ps_buf_addf(&path, "%s/%s%s_%s%s%lld.%s", w->target, t->name, suffix,
                w->many_profilers ? ps_cluster_profiler(w->rank) : "", w->many_profilers ? "_" : "",
                (long long)w->rank->rank, ps_table_file_end(t, w->export_type));
    const char *copy =
        ps_buf_ok(&path) ? ps_arena_strndup(arena, ps_buf_str(&path), path.len) : NULL;
    ps_buf_fini(&path);
    return copy;
}

/* Adds the rank's to the list, which has room for them, and makes their folder. */
static ps_code list_rank_files(const ps_rank_write *w, ps_arena *arena, ps_table_file *files,
                               size_t *n, ps_err *err) {
    ps_code code = ps_make_dirs(w->target, err);
    for (size_t i = 0; code == PS_OK && i < w->n_tables; i++) {
        const ps_table *t = w->tables[i];
        const char *path = t->n_rows > 0 ? rank_file_path(w, t, arena) : NULL;
        if (path != NULL) {
            files[(*n)++] =
                (ps_table_file){.path = path, .tables = &tables_of(w)[i], .n_tables = 1};
        } else if (t->n_rows > 0) {
            code = ps_fail_nomem(err);
        }
    }
    return code;
}

/* The files of the i-th are those from ends[i - 1] to ends[i]. */
static void write_listed(ps_rank_write *writes, size_t n_writes, size_t n_threads,
                         ps_table_file *files, size_t *ends) {
    ps_arena arena = {0};
    size_t n = 0;
    for (size_t i = 0; i < n_writes; i++) {
        ps_rank_write *w = &writes[i];
        size_t first = n;
        w->code = w->target != NULL ? list_rank_files(w, &arena, files, &n, &w->err) : PS_OK;
        n = w->code == PS_OK ? n : first;
        ends[i] = n;
    }
    ps_table_files_write(files, n, n_threads);
    for (size_t i = 0, f = 0; i < n_writes; i++) {
        for (; f < ends[i]; f++) {
            if (files[f].code != PS_OK && writes[i].code == PS_OK) {
                writes[i].code = files[f].code;
                writes[i].err = files[f].err;
            }
            writes[i].n_cut += files[f].report.n_cut;
        }
    }
    ps_arena_fini(&arena);
}

static void write_files(ps_rank_write *writes, size_t n_writes, size_t n_threads) {
    size_t n = 0;
    for (size_t i = 0; i < n_writes; i++) {
        n += writes[i].target != NULL ? writes[i].n_tables : 0;
    }
    ps_table_file *files = ps_calloc(n + 1, sizeof *files);
    size_t *ends = ps_calloc(n_writes + 1, sizeof *ends);
    bool ok = files != NULL && ends != NULL;
    if (ok) {
        write_listed(writes, n_writes, n_threads, files, ends);
    }
    for (size_t i = 0; !ok && i < n_writes; i++) {
        writes[i].code = writes[i].target != NULL ? ps_fail_nomem(&writes[i].err) : PS_OK;
    }
    ps_free(files);
    ps_free(ends);
}

void ps_rank_writes_do(ps_rank_write *writes, size_t n, size_t n_threads) {
    if (n > 0 && writes[0].export_type == PS_EXPORT_DB) {
        ps_parallel(n, n_threads, write_rank_database, writes);
    } else {
        write_files(writes, n, n_threads);
    }
}

/* --- as bytes --------------------------------------------------------------------------------------------------------- */

static void rank_table_archive(ps_archive *a, void *table) {
    ps_table_archive(a, table);
    if (ps_archive_is_reading(a) && *(ps_table **)table == NULL) {
        ps_archive_refuse(a, "tables");
    }
}

void ps_rank_write_archive(ps_archive *a, void *rank_write) {
    ps_rank_write *x = rank_write;
    (void)ps_archive_use_arena(a, &x->arena);
    PS_ARCHIVE(a, x, target, has_stamp, is_copy, many_profilers);
    PS_ARCHIVE_BELOW(a, x, export_type, PS_EXPORT_XLSX + 1);
    ps_file_stamp_archive(a, &x->stamp);
    PS_ARCHIVE_ARRAY(a, x, tables, n_tables, rank_table_archive);
    if (ps_archive_is_reading(a) && x->target == NULL) {
        ps_archive_refuse(a, "target");
    }
}

void ps_rank_write_fini(ps_rank_write *write) {
    for (size_t i = 0; write->tables != NULL && i < write->n_tables; i++) {
        ps_table_free(write->tables[i]);
    }
    ps_free(write->tables);
    ps_arena_fini(&write->arena);
    write->tables = NULL;
}

void ps_rank_written_archive(ps_archive *a, void *rank_write) {
    ps_rank_write *x = rank_write;
    PS_ARCHIVE(a, x, n_cut);
    PS_ARCHIVE_BELOW(a, x, code, PS_NO_ROOM + 1);
    ps_err_archive(a, &x->err);
}
