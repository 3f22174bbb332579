/* A process' folder, <worker>_<time>_ascend_pt, is in one of these states:
 *
 *   ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler[_<rank>].db   exported: everything is in the database
 *   only FRAMEWORK/ with raw files                               the process lives, or it was killed
 *
 * Counts are taken from the database, whoever wrote it: what is printed is what later commands find. */
#include "cli/record_folders.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/literal.h"
#include "base/num.h"
#include "base/order.h"
#include "read/sqlite/db.h"

#define SUFFIX "_ascend_pt"
#define OUTPUT "ASCEND_PROFILER_OUTPUT"
#define DATABASE "ascend_pytorch_profiler"
/* The domain of hook_modules, which module_statistic looks for. */
#define MODULE "SELECT id FROM STRING_IDS WHERE value = 'Module'"

static const char *const DROP_KEYS[PS_N_DROPS] = {
#define X(name, key, text, lost) key,
#include "record/ring/drops.def"
#undef X
};

/* --- names ----------------------------------------------------------------------------------------------------------- */

ps_code ps_recorded_before(ps_recorded *r, const char *dir, ps_err *err) {
    r->dir = dir;
    return ps_list_dir(dir, r->arena, &r->before, &r->n_before, err);
}

static bool was_before(const ps_recorded *r, const char *name) {
    return r->n_before > 0 &&
           bsearch(&name, r->before, r->n_before, sizeof *r->before, ps_compare_texts) != NULL;
}

/* The file in `dir` whose name begins and ends like this, NULL when there is none. */
static const char *file_like(ps_recorded *r, const char *dir, const char *begin, const char *end) {
    const char **names = NULL;
    size_t n = 0;
    if (dir == NULL || ps_list_dir(dir, r->arena, &names, &n, NULL) != PS_OK) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (strncmp(names[i], begin, strlen(begin)) == 0 && ps_ends_with(names[i], end)) {
            return ps_path_join(r->arena, dir, names[i]);
        }
    }
    return NULL;
}

static const char *database_of(ps_recorded *r, const char *path) {
    return file_like(r, ps_path_join(r->arena, path, OUTPUT), DATABASE, ".db");
}

/* "collector": {"launch": ...} of profiler_info[_<rank>].json, "" when it is not there. */
static const char *folder_launch_of(ps_recorded *r, const char *path) {
    enum { MOST_BYTES = 1 << 20 };
    const char *info = file_like(r, path, "profiler_info", ".json");
    ps_buf text = {0};
    const char *launch = NULL;
    if (info != NULL && ps_read_file(info, MOST_BYTES, &text, NULL) == PS_OK) {
        const ps_literal *doc = ps_literal_parse(r->arena, ps_buf_str(&text), text.len, NULL);
        launch = ps_literal_str(ps_literal_get(ps_literal_get(doc, "collector"), "launch"));
    }
    ps_buf_fini(&text);
    return launch != NULL ? launch : "";
}

/* --- what a database says -------------------------------------------------------------------------------------------- */

/* The first column of the first row as a number; `otherwise` when there is none, or no such table. */
static int64_t number_folder(ps_db *db, const char *sql, int64_t otherwise) {
    sqlite3_stmt *s = NULL;
    int64_t value = otherwise;
    if (sqlite3_prepare_v2(ps_db_handle(db), sql, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_INTEGER) {
        value = sqlite3_column_int64(s, 0);
    }
    (void)sqlite3_finalize(s);
    return value;
}

/* A value of META_DATA as a document, NULL when it is not there. */
static const ps_literal *folder_fact(ps_db *db, ps_arena *arena, const char *name) {
    sqlite3_stmt *s = NULL;
    const ps_literal *doc = NULL;
    if (sqlite3_prepare_v2(ps_db_handle(db), "SELECT value FROM META_DATA WHERE name = ?", -1, &s,
                           NULL) == SQLITE_OK &&
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(s, 0);
        size_t n = (size_t)sqlite3_column_bytes(s, 0);
        /* A document borrows from its text. */
        const char *kept = text != NULL ? ps_arena_strndup(arena, text, n) : NULL;
        doc = kept != NULL ? ps_literal_parse(arena, kept, n, NULL) : NULL;
    }
    (void)sqlite3_finalize(s);
    return doc;
}

/* Whichever table has a row knows the process. */
static int64_t process_of(ps_db *db) {
    int64_t pid = number_folder(db, "SELECT globalTid >> 32 FROM MSTX_EVENTS LIMIT 1", -1);
    pid = pid >= 0 ? pid : number_folder(db, "SELECT globalPid FROM TASK LIMIT 1", -1);
    return pid >= 0
               ? pid
               : number_folder(db, "SELECT globalTid >> 32 FROM PIPESCOPE_OPEN_RANGES LIMIT 1", -1);
}

static void count_rows(ps_db *db, ps_recorded_folder *f) {
    f->rank = number_folder(db, "SELECT rankId FROM RANK_DEVICE_MAP", -1);
    f->pid = process_of(db);
    f->n_steps = number_folder(db, "SELECT count(*) FROM STEP_TIME", 0);
    f->n_open = number_folder(db, "SELECT count(*) FROM PIPESCOPE_OPEN_RANGES", 0);
    f->n_marks = number_folder(db, "SELECT count(*) FROM MSTX_EVENTS WHERE eventType IN (0, 3)", 0);
    f->n_ranges =
        number_folder(db, "SELECT count(*) FROM MSTX_EVENTS WHERE eventType IN (1, 2)", 0);
    f->n_ranges -=
        f->n_steps < f->n_ranges ? f->n_steps : f->n_ranges; /* each step is a range too */
    f->n_modules = number_folder(
        db,
        "SELECT count(*) FROM MSTX_EVENTS WHERE eventType IN (1, 2) AND domainId = (" MODULE ")",
        0);
    f->n_placed = number_folder(
        db,
        "SELECT count(DISTINCT e.connectionId) FROM MSTX_EVENTS e JOIN TASK t ON t.connectionId = "
        "e.connectionId WHERE e.eventType IN (1, 2) AND e.domainId IS NOT (" MODULE
        ") AND e.startNs NOT IN (SELECT startNs FROM STEP_TIME WHERE startNs IS NOT NULL)",
        0);
    f->n_ops = number_folder(db, "SELECT count(*) FROM PYTORCH_API", 0);
    f->n_device = number_folder(db, "SELECT count(*) FROM TASK", 0);
}

static void read_drops(ps_db *db, ps_arena *arena, ps_recorded_folder *f) {
    const ps_literal *drops = folder_fact(db, arena, "collector.drops");
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        (void)ps_literal_int(ps_literal_get(drops, DROP_KEYS[i]), &f->drops[i]);
    }
}

/* "48.2": picoseconds of so many events; 0 when it is no figure. */
static int64_t cost_of(const ps_literal *test, const char *key, int64_t n) {
    const ps_literal *v = ps_literal_get(test, key);
    int64_t each_ps = 0;
    int64_t all_ps = 0;
    bool ok = v != NULL && (v->kind == PS_LITERAL_NUMBER || v->kind == PS_LITERAL_INT) &&
              ps_parse_scaled(v->begin, v->source_len, 1000, &each_ps) &&
              !__builtin_mul_overflow(each_ps, n, &all_ps) && all_ps < INT64_MAX / 65536;
    return ok ? all_ps : 0;
}

/* Operators and steps are ranges to the recorder. Python's record_ops says what PyTorch and its observer take for each operator besides. */
static void read_overhead(ps_db *db, ps_arena *arena, ps_recorded_folder *f) {
    const ps_literal *test = folder_fact(db, arena, "collector.overhead_self_test");
    f->overhead_ps = cost_of(test, "range_ns", f->n_ranges + f->n_ops + f->n_steps) +
                     cost_of(test, "mark_ns", f->n_marks);
    const ps_literal *ops = folder_fact(db, arena, "record_ops");
    int64_t of_ops_ps = cost_of(ops, "operator_ns", f->n_ops);
    f->overhead_ps += of_ops_ps;
    f->ops_cost = ops == NULL || f->n_ops == 0 ? PS_OPS_COST_NONE
                  : of_ops_ps > 0              ? PS_OPS_COST_COUNTED
                                               : PS_OPS_COST_UNKNOWN;
}

/* Sets the state FAILED when it cannot be read. */
static void read_database(ps_recorded *r, ps_recorded_folder *f, const char *path) {
    ps_db *db = path != NULL ? ps_db_open(path, &f->err) : NULL;
    if (db == NULL) {
        if (path == NULL) {
            (void)ps_fail_file(&f->err, PS_NOT_FOUND, f->path, "has no database");
        }
        f->state = PS_RECORDED_FAILED;
        return;
    }
    read_drops(db, r->arena, f);
    const ps_literal *damaged = folder_fact(db, r->arena, "collector.damaged");
    const char *first = ps_literal_str(ps_literal_get(damaged, "first"));
    f->damaged_at = first != NULL ? first : "";
    (void)ps_literal_int(ps_literal_get(damaged, "bytes"), &f->damaged_bytes);
    f->has_stages = folder_fact(db, r->arena, "distributed_args") != NULL ||
                    folder_fact(db, r->arena, "parallel_group_info") != NULL;
    count_rows(db, f);
    read_overhead(db, r->arena, f);
    ps_db_close(db);
}

/* --- folders --------------------------------------------------------------------------------------------------------- */

static bool same_launch(const char *of_folder, const char *launch) {
    size_t n = strlen(launch);
    /* Launches inside of this one have its name in front. */
    return strncmp(of_folder, launch, n) == 0 && (of_folder[n] == '\0' || of_folder[n] == '+');
}

static ps_recorded_folder new_folder(const char *path) {
    return (ps_recorded_folder){
        .path = path, .launch = "", .damaged_at = "", .err = PS_ERR_INIT, .rank = -1, .pid = -1};
}

static ps_recorded_folder raw_folder(const ps_raw_folder *raw) {
    ps_recorded_folder f = new_folder(raw->profile_dir);
    f.has_raw = true;
    f.raw = *raw;
    f.launch = raw->launch;
    f.rank = raw->rank;
    f.pid = raw->pid;
    f.state = raw->running ? PS_RECORDED_RUNNING : PS_RECORDED_FAILED;
    if (!raw->running) {
        (void)ps_fail_file(&f.err, PS_NOTHING, f.path, "was not recovered");
    }
    return f;
}

PS_COMPARE(by_rank, ps_recorded_folder, PS_BY(rank) PS_BY_TEXT(path))

/* One folder. *found: it is of this launch. */
static ps_code folder_look_at(ps_recorded *r, const char *path, const char *launch,
                              ps_recorded_folder *out, bool *found, ps_err *err) {
    *found = false;
    if (path == NULL) {
        return ps_fail_nomem(err);
    }
    const char *database = database_of(r, path);
    if (database != NULL) {
        *out = new_folder(path);
        out->launch = folder_launch_of(r, path);
        *found = same_launch(out->launch, launch);
        if (*found) {
            read_database(r, out, database);
        }
        return PS_OK;
    }
    /* A folder that says nothing of itself may be in the making, by a process of another launch. */
    const struct timespec pause = {.tv_nsec = 200000000};
    ps_raw_folder *raw = NULL;
    size_t n = 0;
    ps_code code = ps_recover_find(path, r->arena, &raw, &n, err);
    if (code == PS_OK && n == 1 && raw[0].pid == 0) {
        (void)nanosleep(&pause, NULL);
        code = ps_recover_find(path, r->arena, &raw, &n, err);
    }
    if (code == PS_OK && n == 1) { /* none: nothing is in it yet, or any more */
        *out = raw_folder(&raw[0]);
        *found = raw[0].pid == 0 || same_launch(out->launch, launch);
    }
    return code;
}

/* A place outside of the output folder, by its one name; NULL when it is gone, or known already. */
static const char *new_place(const ps_recorded *r, const char *place) {
    char path[PATH_MAX];
    if (!ps_is_dir(place) || realpath(place, path) == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->folders[i].path, path) == 0) {
            return NULL;
        }
    }
    return ps_arena_strndup(r->arena, path, strlen(path));
}

ps_code ps_recorded_find(ps_recorded *r, const char *launch, ps_err *err) {
    const char **names = NULL;
    size_t n_names = 0;
    ps_code code = ps_list_dir(r->dir, r->arena, &names, &n_names, err);
    if (code != PS_OK) {
        return code;
    }
    r->folders = ps_arena_alloc(r->arena, (n_names + r->n_places + 1) * sizeof *r->folders);
    if (r->folders == NULL) {
        return ps_fail_nomem(err);
    }
    r->n = 0;
    for (size_t i = 0; i < n_names && code == PS_OK; i++) {
        bool found = false;
        if (ps_ends_with(names[i], SUFFIX) && !was_before(r, names[i])) {
            code = folder_look_at(r, ps_path_join(r->arena, r->dir, names[i]), launch,
                                  &r->folders[r->n], &found, err);
        }
        r->n += found ? 1 : 0;
    }
    for (size_t i = 0; i < r->n_places && code == PS_OK; i++) {
        bool found = false;
        const char *path = new_place(r, r->places[i]);
        if (path != NULL) {
            code = folder_look_at(r, path, launch, &r->folders[r->n], &found, err);
        }
        r->n += found ? 1 : 0;
    }
    qsort(r->folders, r->n, sizeof *r->folders, by_rank);
    return code;
}

ps_code ps_recorded_find_raw(ps_recorded *r, ps_err *err) {
    ps_raw_folder *raw = NULL;
    ps_code code = ps_recover_find(r->dir, r->arena, &raw, &r->n, err);
    if (code != PS_OK) {
        return code;
    }
    r->folders = ps_arena_alloc(r->arena, (r->n + 1) * sizeof *r->folders);
    if (r->folders == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < r->n; i++) {
        r->folders[i] = raw_folder(&raw[i]);
        const char *database = database_of(r, raw[i].profile_dir);
        if (database != NULL && !raw[i].running) {
            r->folders[i].state = PS_RECORDED_EXPORTED;
            read_database(r, &r->folders[i], database);
        }
    }
    qsort(r->folders, r->n, sizeof *r->folders, by_rank);
    return PS_OK;
}

void ps_recorded_count_raw(const char *dir, size_t *n_left, size_t *n_running) {
    *n_left = 0;
    *n_running = 0;
    ps_arena arena = {0};
    ps_recorded r = {.arena = &arena, .dir = dir};
    ps_raw_folder *raw = NULL;
    size_t n = 0;
    if (ps_is_dir(dir) && ps_recover_find(dir, &arena, &raw, &n, NULL) != PS_OK) {
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (raw[i].running) {
            (*n_running)++;
        } else if (database_of(&r, raw[i].profile_dir) == NULL) {
            (*n_left)++;
        }
    }
    ps_arena_fini(&arena);
}

void ps_recorded_recover(ps_recorded *r, ps_recorded_folder *folder,
                         const ps_export_options *options) {
    ps_export_result result = {0};
    folder->err = PS_ERR_INIT;
    ps_code code = ps_recover_folder(&folder->raw, options, &result, &folder->err);
    if (code != PS_OK) {
        folder->state = code == PS_NOTHING ? PS_RECORDED_EMPTY : PS_RECORDED_FAILED;
        return;
    }
    folder->state = PS_RECORDED_RECOVERED;
    read_database(r, folder, database_of(r, folder->path));
}
