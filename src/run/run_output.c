#include "run/run_output.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/threads.h"
#include "read/sqlite/db.h"
#include "run/table_file.h"
#include "write/table/sqlite.h"

typedef struct output {
    ps_run *run;
    const ps_cluster *cluster;
    const ps_rank_output *outputs;
    const ps_run_opts *opts;
    const char *
        *targets; /* [n_ranks]: database, copy, or folder for files; NULL: nothing to write */
    bool copies;
    bool many_profilers; /* a rank's number alone names no file */
} output;

static bool same_place(const char *a, const char *b) {
    ps_file_id x;
    ps_file_id y;
    return ps_file_identify(a, &x, NULL) == PS_OK && ps_file_identify(b, &y, NULL) == PS_OK &&
           ps_file_same(&x, &y);
}

static char *join3(ps_arena *arena, const char *a, const char *b, const char *c) {
    char *ab = b != NULL ? ps_path_join(arena, a, b) : ps_arena_strndup(arena, a, strlen(a));
    return ab != NULL && c != NULL ? ps_path_join(arena, ab, c) : ab;
}

/* --- where to ------------------------------------------------------------------------------------------------ */

/* The mirrored place of a rank's database; `folder` NULL mirrors straight below -o. */
static const char *copy_target(output *o, const char *folder, const ps_cluster_rank *rank) {
    const char *base = o->opts->out_dir != NULL ? o->opts->out_dir : o->cluster->root;
    ps_arena *arena = &o->run->arena;
    if (folder == NULL) {
        return ps_path_join(arena, base, rank->rel_path);
    }
    const char *top = join3(arena, base, PS_OUTPUT_FOLDER, folder);
    return top != NULL ? ps_path_join(arena, top, rank->rel_path) : NULL;
}

static ps_code choose_targets(output *o, const char *folder, bool in_place, ps_err *err) {
    bool files = o->opts->export_type != PS_EXPORT_DB;
    o->copies = !files && (!in_place || o->opts->out_dir != NULL);
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        const ps_cluster_rank *rank = o->run->ranks[r].rank;
        if (o->outputs[r].n_tables == 0) {
            continue;
        }
        if (files) {
            const char *base = o->opts->out_dir != NULL ? o->opts->out_dir : o->cluster->root;
            o->targets[r] = join3(&o->run->arena, base, PS_OUTPUT_FOLDER, folder);
        } else {
            o->targets[r] = o->copies ? copy_target(o, in_place ? NULL : folder, rank) : rank->path;
        }
        if (o->targets[r] == NULL) {
            return ps_fail_nomem(err);
        }
        if (o->copies && same_place(o->targets[r], rank->path)) { /* -o names the input itself */
            return ps_fail_file(
                err, PS_USAGE, o->targets[r],
                "-o would write the copy onto its original; leave -o out to write in place");
        }
    }
    return PS_OK;
}

/* --- checks before the first byte ------------------------------------------------------------------------ */

/* What of a database may not be written, NULL when all may. */
static const char *locked_part(const char *path, ps_arena *arena) {
    const char *dir = ps_path_dir(arena, path); /* the journal appears there while writing */
    return ps_is_readonly(path) ? path : dir != NULL && ps_is_readonly(dir) ? dir : NULL;
}

/* Analyses count a stale result as removed when they hand over an empty table; here it stays. */
static void keep_stale(ps_rank_report *report) {
    report->diag.counts[PS_ODD_STALE] = 0;
    memset(report->diag.places[PS_ODD_STALE], 0, sizeof report->diag.places[PS_ODD_STALE]);
}

static bool has_results(const output *o, size_t r) {
    bool any = o->run->ranks[r].status == PS_RANK_DONE;
    for (size_t i = 0; i < o->outputs[r].n_tables; i++) {
        any = any || o->outputs[r].tables[i]->n_rows > 0;
    }
    return any;
}

/* A rank that only loses a stale table may stay as it is when it is read-only; one with results may not. */
static ps_code check_writable(output *o, ps_err *err) {
    size_t n_readonly = 0;
    size_t n_targets = 0;
    const char *first = NULL;
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        const char *locked =
            o->targets[r] != NULL ? locked_part(o->targets[r], &o->run->arena) : NULL;
        n_targets += o->targets[r] != NULL;
        if (locked == NULL) {
            continue;
        }
        if (!has_results(o, r)) {
            o->targets[r] = NULL;
            keep_stale(&o->run->ranks[r]);
            continue;
        }
        n_readonly++;
        first = first != NULL ? first : locked;
    }
    if (n_readonly > 0) {
        return ps_fail_file(
            err, PS_READONLY, first,
            "read-only, which keeps %zu of %zu database%s from being written: none was changed; write "
            "copies with -o DIR",
            n_readonly, n_targets, n_targets == 1 ? "" : "s");
    }
    return PS_OK;
}

static ps_code check_space(output *o, ps_err *err) {
    uint64_t need = 0;
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        ps_file_id id;
        if (o->targets[r] != NULL &&
            ps_file_identify(o->run->ranks[r].rank->path, &id, NULL) == PS_OK) {
            need += (uint64_t)id.size_bytes + (uint64_t)id.size_bytes / 16;
        }
    }
    const char *base = o->opts->out_dir != NULL ? o->opts->out_dir : o->cluster->root;
    ps_code code = ps_make_dirs(base, err);
    uint64_t have = 0;
    code = code == PS_OK ? ps_free_space(base, &have, err) : code;
    if (code == PS_OK && have < need) {
        return ps_fail_file(err, PS_IO, base,
                            "the copies need %llu MB, %llu MB are free: nothing was written",
                            (unsigned long long)(need >> 20) + 1, (unsigned long long)(have >> 20));
    }
    return code;
}

/* --- one rank -------------------------------------------------------------------------------------------- */

static ps_code recheck(void *context, sqlite3 *handle, ps_err *err) {
    const ps_rank_output *out = context;
    if (!out->has_stamp) {
        return PS_OK;
    }
    ps_db_stamp stamp = {out->stamp.file, out->stamp.wal, out->stamp.change_counter};
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

static ps_code write_copy(output *o, size_t r, ps_err *err) {
    const ps_cluster_rank *rank = o->run->ranks[r].rank;
    const char *target = o->targets[r];
    ps_arena arena = {0};
    const char *dir = ps_path_dir(&arena, target);
    ps_code code = dir != NULL ? ps_make_dirs(dir, err) : ps_fail_nomem(err);
    ps_arena_fini(&arena);
    ps_db *db = code == PS_OK ? ps_db_open(rank->path, err) : NULL;
    if (db == NULL) {
        return code != PS_OK ? code : (err != NULL ? err->code : PS_IO);
    }
    ps_db_stamp now = ps_db_get_stamp(db);
    const ps_file_stamp *then = &o->outputs[r].stamp;
    if (!ps_file_same(&now.file, &then->file) || !ps_file_same(&now.wal, &then->wal) ||
        now.change_counter != then->change_counter) {
        code =
            ps_fail_file(err, PS_CHANGED, rank->path, "changed while it was analysed: run again");
    }
    code = code == PS_OK ? ps_sqlite_copy(ps_db_handle(db), target, PS_COPY_APPLICATION_ID,
                                          o->outputs[r].tables, o->outputs[r].n_tables, err)
                         : code;
    ps_db_close(db);
    return code == PS_OK ? copy_sidecars(rank, target, err) : code;
}

/* How it went; the first failure of a rank is the one that is told. */
static void note_output(output *o, size_t r, ps_code code, const ps_err *err) {
    ps_rank_report *report = &o->run->ranks[r];
    if (code != PS_OK || o->opts->export_type != PS_EXPORT_DB) {
        keep_stale(report);
    }
    if (code == PS_OK) {
        report->written = o->targets[r];
    } else if (report->status != PS_RANK_FAILED) {
        report->status = PS_RANK_FAILED;
        report->err = *err;
    }
}

static void write_rank_database(void *context, size_t r) {
    output *o = context;
    if (o->targets[r] == NULL) {
        return;
    }
    ps_err err = PS_ERR_INIT;
    ps_code code = PS_OK;
    if (o->copies) {
        code = write_copy(o, r, &err);
    } else {
        ps_rank_output *out =
            (ps_rank_output *)(uintptr_t)&o->outputs[r]; /* recheck only reads it */
        code = ps_sqlite_apply(o->targets[r], out->tables, out->n_tables, recheck, out, &err);
    }
    note_output(o, r, code, &err);
}

/* --- files of all ranks ---------------------------------------------------------------------------------- */

/* <folder>/<table>_<rank>.csv, <table>_<profiler>_<rank>.csv where several profilers know a rank of that number; NULL
 * when memory is out. */
static const char *rank_file_path(output *o, size_t r, const ps_table *t) {
    ps_buf path = {0};
    const char *suffix = t->mode == PS_TABLE_ADD_COLUMN ? "_connection" : "";
    const ps_cluster_rank *rank = o->run->ranks[r].rank;
    ps_buf_addf(&path, "%s/%s%s_%s%s%lld.%s", o->targets[r], t->name, suffix,
                o->many_profilers ? ps_cluster_profiler(rank) : "", o->many_profilers ? "_" : "",
                (long long)rank->rank, ps_table_file_end(t, o->opts->export_type));
    const char *copy =
        ps_buf_ok(&path) ? ps_arena_strndup(&o->run->arena, ps_buf_str(&path), path.len) : NULL;
    ps_buf_fini(&path);
    return copy;
}

/* Adds the rank's to the list, which has room for them, and makes their folder. */
static ps_code list_rank_files(output *o, size_t r, ps_table_file *files, size_t *n, ps_err *err) {
    ps_code code = ps_make_dirs(o->targets[r], err);
    for (size_t i = 0; code == PS_OK && i < o->outputs[r].n_tables; i++) {
        const ps_table *t = o->outputs[r].tables[i];
        const char *path = t->n_rows > 0 ? rank_file_path(o, r, t) : NULL;
        if (path != NULL) {
            files[(*n)++] =
                (ps_table_file){.path = path, .tables = &o->outputs[r].tables[i], .n_tables = 1};
        } else if (t->n_rows > 0) {
            code = ps_fail_nomem(err);
        }
    }
    return code;
}

/* The files of rank r are ends[r - 1] to ends[r]. */
static void write_listed(output *o, ps_table_file *files, size_t *ends) {
    size_t n = 0;
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        ps_err err = PS_ERR_INIT;
        size_t first = n;
        if (o->targets[r] != NULL && list_rank_files(o, r, files, &n, &err) != PS_OK) {
            note_output(o, r, err.code, &err);
            o->targets[r] = NULL;
            n = first;
        }
        ends[r] = n;
    }
    ps_table_files_write(files, n, o->opts->n_threads);
    for (size_t r = 0, i = 0; r < o->run->n_ranks; r++) {
        const ps_table_file *failed = NULL;
        for (; i < ends[r]; i++) {
            failed = failed == NULL && files[i].code != PS_OK ? &files[i] : failed;
            ps_diag_count(&o->run->ranks[r].diag, PS_ODD_CELL_CUT, files[i].report.n_cut);
        }
        if (o->targets[r] != NULL) {
            note_output(o, r, failed != NULL ? failed->code : PS_OK,
                        failed != NULL ? &failed->err : NULL);
        }
    }
}

static ps_code write_files(output *o, ps_err *err) {
    size_t n = 0;
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        n += o->targets[r] != NULL ? o->outputs[r].n_tables : 0;
    }
    ps_table_file *files = ps_calloc(n + 1, sizeof *files);
    size_t *ends = ps_calloc(o->run->n_ranks + 1, sizeof *ends);
    bool ok = files != NULL && ends != NULL;
    if (ok) {
        write_listed(o, files, ends);
    }
    ps_free(files);
    ps_free(ends);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* `any`: there is something to write. The caller frees o->targets, also after a failure. */
static ps_code prepare_rank_output(output *o, const char *folder, bool in_place, bool *any,
                                   ps_err *err) {
    const ps_run *run = o->run;
    *any = false;
    o->targets = ps_calloc(run->n_ranks, sizeof *o->targets);
    ps_code code =
        o->targets != NULL ? choose_targets(o, folder, in_place, err) : ps_fail_nomem(err);
    for (size_t r = 0; code == PS_OK && r < run->n_ranks; r++) {
        *any = *any || o->targets[r] != NULL;
        o->many_profilers =
            o->many_profilers || run->ranks[r].rank->profiler != run->ranks[0].rank->profiler;
    }
    if (code == PS_OK && *any && o->opts->export_type == PS_EXPORT_DB) {
        code = o->copies ? check_space(o, err) : check_writable(o, err);
    }
    return code;
}

ps_code ps_check_rank_outputs(ps_run *run, const ps_cluster *cluster, const ps_rank_output *outputs,
                              const char *folder, bool in_place, const ps_run_opts *opts,
                              ps_err *err) {
    output o = {.run = run, .cluster = cluster, .outputs = outputs, .opts = opts};
    bool any = false;
    ps_code code = prepare_rank_output(&o, folder, in_place, &any, err);
    ps_free(o.targets);
    return code;
}

ps_code ps_write_rank_outputs(ps_run *run, const ps_cluster *cluster, const ps_rank_output *outputs,
                              const char *folder, bool in_place, const ps_run_opts *opts,
                              ps_err *err) {
    output o = {.run = run, .cluster = cluster, .outputs = outputs, .opts = opts};
    bool any = false;
    ps_code code = prepare_rank_output(&o, folder, in_place, &any, err);
    if (code == PS_OK && any) {
        if (opts->export_type != PS_EXPORT_DB) {
            code = write_files(&o, err);
        } else {
            ps_parallel(run->n_ranks, opts->n_threads, write_rank_database, &o);
        }
    }
    ps_free(o.targets);
    return code;
}
