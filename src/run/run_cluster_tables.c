#include "run/run_cluster_tables.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "model/lacks.h"
#include "run/table_file.h"
#include "write/table/sqlite.h"

#define DATABASE "cluster_analysis.db"
#define MAX_NOTES 1000

static bool is_book(const char *path) {
    return ps_ends_with(path, ".xlsx");
}

static ps_code add_note(ps_run *run, const ps_buf *text, ps_err *err) {
    const char *copy =
        ps_buf_ok(text) ? ps_arena_strndup(&run->arena, ps_buf_str(text), text->len) : NULL;
    if (copy == NULL ||
        !ps_grow(&run->notes, &run->cap_notes, run->n_notes + 1, MAX_NOTES, sizeof *run->notes)) {
        return ps_fail_nomem(err);
    }
    run->notes[run->n_notes++] = copy;
    return PS_OK;
}

/* --- what goes where --------------------------------------------------------------------------------------- */

static bool same_table(const ps_table *a, const ps_table *b) {
    bool same = a->n_columns == b->n_columns && a->n_rows == b->n_rows;
    for (size_t c = 0; same && c < a->n_columns; c++) {
        same = strcmp(a->columns[c].name, b->columns[c].name) == 0 &&
               a->columns[c].type == b->columns[c].type;
        for (size_t r = 0; same && r < a->n_rows; r++) {
            same =
                ps_column_same_cell(&a->columns[c], ps_table_cell(a, r, c), ps_table_cell(b, r, c));
        }
    }
    return same;
}

static bool is_cluster_table_wanted(const ps_table *t, ps_export type) {
    if (t->home != PS_HOME_CLUSTER) {
        return false;
    }
    if (type == PS_EXPORT_DB) {
        return (t->to & (PS_TO_DB | PS_TO_BESIDE_DB)) != 0;
    }
    /* Of what only people read, no file without content. */
    return (t->to & PS_TO_FILES) != 0 || (t->to == 0 && t->n_rows > 0);
}

/* "3/kernel_details" as a path below the folder; names come from analyses, which may have them from a profile. */
static void add_cluster_table_file(ps_buf *path, const char *name) {
    bool at_start = true;
    for (const char *p = name; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        bool bad = c < 0x20 || c == 0x7F || c == '\\' || (at_start && (c == '.' || c == '/'));
        ps_buf_add_char(path, bad ? '_' : *p);
        at_start = c == '/';
    }
}

static const char *target_of(ps_run *run, const ps_table *t, const char *dir, const char *folder,
                             ps_export type) {
    ps_buf path = {0};
    if (type == PS_EXPORT_DB && (t->to & PS_TO_BESIDE_DB) == 0) {
        ps_buf_addf(&path, "%s/%s", dir, DATABASE);
    } else {
        ps_buf_addf(&path, "%s/%s/", dir, folder);
        add_cluster_table_file(&path, t->file != NULL ? t->file : t->name);
        ps_buf_addf(&path, ".%s", ps_table_file_end(t, type));
    }
    const char *copy =
        ps_buf_ok(&path) ? ps_arena_strndup(&run->arena, ps_buf_str(&path), path.len) : NULL;
    ps_buf_fini(&path);
    return copy;
}

/* What is planned so far. */
typedef struct table_plan {
    ps_run *run;
    const ps_analysis *const *analyses;
    ps_lang lang;
    ps_idmap
        taken; /* hash of the name that a table has below the folder -> its row in run->written */
} table_plan;

/* SQLite does not tell names apart by case. */
static uint64_t hash_of_target(const ps_table *t, const char *path) {
    uint64_t hash = ps_hash64_seeded(path, strlen(path));
    for (const char *p = ps_ends_with(path, DATABASE) ? t->name : ""; *p != '\0'; p++) {
        hash = hash * 31 + (unsigned char)tolower((unsigned char)*p);
    }
    return hash;
}

static bool is_same_target(const ps_written *w, const ps_table *t, const char *path) {
    return strcmp(w->path, path) == 0 &&
           (!ps_ends_with(path, DATABASE) || strcasecmp(w->table->name, t->name) == 0);
}

/* The place of the one that has the name already; NULL where *free_hash is the key of a new one. */
static ps_written *find_taken(const table_plan *plan, const ps_table *t, const char *path,
                              uint64_t *free_hash) {
    for (*free_hash = hash_of_target(t, path);; (*free_hash)++) {
        uint32_t at = ps_idmap_get(&plan->taken, *free_hash);
        if (at == PS_IDMAP_NONE || is_same_target(&plan->run->written[at], t, path)) {
            return at != PS_IDMAP_NONE ? &plan->run->written[at] : NULL;
        }
    }
}

static ps_code note_disagreement(const table_plan *plan, size_t a, const ps_written *old,
                                 const ps_table *t, ps_err *err) {
    const char *written = plan->analyses[old->analysis]->name;
    ps_buf text = {0};
    ps_buf_addf(&text,
                PS_SAY(plan->lang,
                       "%s: %s and %s disagree about it, that of %s was written; run one at a time",
                       "%s：%s 与 %s 的结果不一致，写出的是 %s 的；请分别运行"),
                t->name, written, plan->analyses[a]->name, written);
    ps_code code = add_note(plan->run, &text, err);
    ps_buf_fini(&text);
    return code;
}

static ps_code plan_table(table_plan *plan, size_t a, const ps_table *t, const char *path,
                          ps_err *err) {
    ps_run *run = plan->run;
    ps_written new = {.analysis = a, .table = t, .path = path};
    uint64_t hash = 0;
    ps_written *old = find_taken(plan, t, path, &hash);
    if (old == NULL) {
        return ps_idmap_put(&plan->taken, hash, (uint32_t)run->n_written) &&
                       PS_ADD(run->written, run->n_written, run->cap_written, 1 << 20, new)
                   ? PS_OK
                   : ps_fail_nomem(err);
    }
    if (same_table(old->table, t)) {
        return PS_OK;
    }
    if (old->table->n_rows == 0) {
        *old = new;
        return PS_OK;
    }
    return t->n_rows > 0 ? note_disagreement(plan, a, old, t, err) : PS_OK;
}

/* A folder that was looked at: whether results can be written into it, or into what is made in its place where it is not there. */
typedef struct target_folder {
    const char *path; /* NULL: none */
    bool is_missing;  /* then all below it was looked at, too */
} target_folder;

static bool was_looked_at(const target_folder *f, const char *path) {
    size_t n = f->path != NULL ? strlen(f->path) : 0;
    return f->path != NULL && strncmp(path, f->path, n) == 0 &&
           (path[n] == '\0' || (f->is_missing && path[n] == '/'));
}

/* The nearest folder that exists; NULL when memory is out. Notes in *f what is looked at with it. */
static const char *existing_folder(ps_arena *arena, const char *path, target_folder *f) {
    const char *dir = path;
    *f = (target_folder){.path = path};
    while (dir != NULL && !ps_is_dir(dir) && strcmp(dir, ".") != 0 && strcmp(dir, "/") != 0) {
        *f = (target_folder){.path = dir, .is_missing = true};
        dir = ps_path_dir(arena, dir);
    }
    return dir;
}

static ps_code check_targets(ps_run *run, const char *dir, ps_err *err) {
    const char *locked = NULL;
    const char *database = NULL; /* the one for all that are in it */
    target_folder looked = {0};
    ps_code code = PS_OK;
    for (size_t i = 0; i < run->n_written && locked == NULL && code == PS_OK; i++) {
        const char *path = run->written[i].path;
        const char *folder = ps_path_dir(&run->arena, path);
        if (folder != NULL && !was_looked_at(&looked, folder)) {
            folder = existing_folder(&run->arena, folder, &looked);
            locked = folder != NULL && ps_is_readonly(folder) ? folder : NULL;
        }
        if (folder == NULL) {
            return ps_fail_nomem(err);
        }
        if (locked == NULL && database == NULL && ps_ends_with(path, DATABASE)) {
            database = path;
            locked = ps_is_file(path) && ps_is_readonly(path) ? path : NULL;
            code = locked == NULL ? ps_sqlite_check_results(path, err) : PS_OK;
        }
    }
    if (code == PS_OK && locked != NULL) {
        return ps_fail_file(
            err, PS_READONLY, locked,
            "read-only, so results cannot be written below %s: nothing was written; name "
            "another place with -o DIR",
            dir);
    }
    return code;
}

static ps_code plan_analysis(table_plan *plan, size_t a, const char *dir, ps_export type,
                             ps_err *err) {
    const ps_result *result = &plan->run->results[a];
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < result->n_tables; i++) {
        const ps_table *t = result->tables[i];
        if (is_cluster_table_wanted(t, type)) {
            const char *path = target_of(plan->run, t, dir, plan->analyses[a]->folder, type);
            code = path != NULL ? plan_table(plan, a, t, path, err) : ps_fail_nomem(err);
        }
    }
    return code;
}

ps_code ps_plan_cluster_tables(ps_run *run, const ps_analysis *const *analyses,
                               const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    const char *base = opts->out_dir != NULL ? opts->out_dir : cluster->root;
    const char *dir = ps_path_join(&run->arena, base, PS_OUTPUT_FOLDER);
    ps_code code = dir != NULL ? PS_OK : ps_fail_nomem(err);
    table_plan plan = {.run = run, .analyses = analyses, .lang = opts->analysis.lang};
    for (size_t a = 0; code == PS_OK && a < run->n_analyses; a++) {
        bool is_idle = run->n_took_part[a] == 0; /* what an earlier run left stays */
        code = is_idle ? PS_OK : plan_analysis(&plan, a, dir, opts->export_type, err);
    }
    ps_idmap_fini(&plan.taken);
    return code == PS_OK ? check_targets(run, dir, err) : code;
}

/* --- writing ----------------------------------------------------------------------------------------------- */

/* Beside the tables of each mode what they lack: a table of the same database, a sheet of each workbook, a file in the same folder. The
 * one that an earlier run left goes where nothing is lacking. */
static ps_code list_lacks_file(ps_run *run, const ps_written *w, ps_table_file *files, size_t *n,
                               const ps_table **table, ps_err *err) {
    const ps_table *lacks = run->lacks_of[w->analysis];
    const char *dot = strrchr(w->path, '.');
    const char *dir = ps_path_dir(&run->arena, w->path);
    ps_buf path = {0};
    ps_buf_addf(&path, "%s/%s%s", dir != NULL ? dir : "", lacks->name, dot != NULL ? dot : "");
    const char *copy =
        ps_buf_ok(&path) ? ps_arena_strndup(&run->arena, ps_buf_str(&path), path.len) : NULL;
    ps_buf_fini(&path);
    if (dir == NULL || copy == NULL) {
        return ps_fail_nomem(err);
    }
    if (!ps_lacks_any(lacks)) {
        return unlink(copy) == 0 || errno == ENOENT
                   ? PS_OK
                   : ps_fail_file(err, PS_IO, copy,
                                  "left by an earlier run, and it cannot be removed");
    }
    *table = lacks;
    files[(*n)++] = (ps_table_file){.path = copy, .tables = table, .n_tables = 1};
    return PS_OK;
}

/* The first of the mode's in the database, or of its plain files in the folder. `seen`: [analysis], of those before. */
static bool is_first_of_mode(const ps_written *w, bool *seen) {
    bool is_first = !seen[w->analysis] && !is_book(w->path);
    seen[w->analysis] = seen[w->analysis] || is_first;
    return is_first;
}

/* The database first, since it takes longest. Makes the folders. `files` and `tables` have room for all, `seen` for a flag of each mode. */
static ps_code list_cluster_files(ps_run *run, ps_table_file *files, size_t *n,
                                  const ps_table **tables, bool *seen, ps_err *err) {
    size_t n_tables = 0;
    ps_code code = PS_OK;
    *n = 0;
    for (int in_database = 1; in_database >= 0; in_database--) {
        memset(seen, 0, run->n_analyses * sizeof *seen);
        for (size_t i = 0; i < run->n_written && code == PS_OK; i++) {
            const ps_written *w = &run->written[i];
            if (ps_ends_with(w->path, DATABASE) != (in_database == 1)) {
                continue;
            }
            if (in_database == 0 || *n == 0) {
                const char *dir = ps_path_dir(&run->arena, w->path);
                code = dir != NULL ? ps_make_dirs(dir, err) : ps_fail_nomem(err);
                files[(*n)++] = (ps_table_file){.path = w->path, .tables = &tables[n_tables]};
            }
            const ps_table *lacks = run->lacks_of[w->analysis];
            tables[n_tables++] = w->table;
            files[*n - 1].n_tables++;
            bool is_first = is_first_of_mode(w, seen);
            bool is_inside = in_database == 1 ? is_first : is_book(w->path) && ps_lacks_any(lacks);
            if (is_inside) {
                tables[n_tables++] = lacks;
                files[*n - 1].n_tables++;
            } else if (code == PS_OK && in_database == 0 && is_first) {
                code = list_lacks_file(run, w, files, n, &tables[n_tables++], err);
            }
        }
    }
    return code;
}

static ps_code note_losses(ps_lang lang, ps_run *run, const ps_table_file *file, ps_err *err) {
    ps_buf text = {0};
    const ps_xlsx_report *report = &file->report;
    const char *name = ps_path_base(file->path);
    ps_code code = PS_OK;
    if (report->n_cut > 0) {
        ps_buf_addf(
            &text,
            PS_SAY(
                lang,
                "%s: %llu text%s longer than the 32767 characters of a cell %s cut; csv, json "
                "and db hold %s whole",
                "%s：%llu 处文本%.0s超过单元格的 32767 个字符，已截断%.0s；csv、json 与 db 中是完整的%.0s"),
            name, (unsigned long long)report->n_cut, report->n_cut == 1 ? "" : "s",
            report->n_cut == 1 ? "is" : "are", report->n_cut == 1 ? "it" : "them");
        code = add_note(run, &text, err);
    }
    if (code == PS_OK && report->n_sheets > file->n_tables) {
        ps_buf_clear(&text);
        ps_buf_addf(&text,
                    PS_SAY(lang, "%s: more rows than a sheet has, they go on in %zu sheets",
                           "%s：行数超过一个工作表的上限，续写在 %zu 个工作表中"),
                    name, report->n_sheets - file->n_tables + 1);
        code = add_note(run, &text, err);
    }
    if (code == PS_OK && report->without_merging) {
        ps_buf_clear(&text);
        ps_buf_addf(&text,
                    PS_SAY(lang, "%s: too large for merged cells, equal values stand in each row",
                           "%s：过大，未合并单元格，相同的值写在每一行"),
                    name);
        code = add_note(run, &text, err);
    }
    ps_buf_fini(&text);
    return code;
}

/* The first failure in order is the one that is told. */
ps_code ps_write_cluster_tables(ps_run *run, const ps_run_opts *opts, ps_err *err) {
    ps_table_file *files = ps_calloc(2 * run->n_written + 1, sizeof *files);
    const ps_table **tables = ps_calloc(2 * run->n_written + 1, sizeof *tables);
    bool *seen = ps_calloc(run->n_analyses + 1, sizeof *seen);
    size_t n = 0;
    ps_code code = files != NULL && tables != NULL && seen != NULL
                       ? list_cluster_files(run, files, &n, tables, seen, err)
                       : ps_fail_nomem(err);
    if (code == PS_OK) {
        ps_table_files_write(files, n, opts->n_threads);
    }
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        code = files[i].code;
        if (code != PS_OK && err != NULL) {
            *err = files[i].err;
        }
        code = code == PS_OK ? note_losses(opts->analysis.lang, run, &files[i], err) : code;
    }
    ps_free(files);
    ps_free(tables);
    ps_free(seen);
    return code;
}
