/* The walk, the names, and the choice between duplicates. Directories are visited once (by device and
 * inode), so that symbolic links may form loops. */
#include "run/cluster.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "read/ascend/ascend_tables.h"
#include "read/readers.h"
#include "run/cluster_again.h"
#include "run/cluster_files.h"
#include "run/cluster_strangers.h"

#define OUTPUT_DIR "ASCEND_PROFILER_OUTPUT"
#define MAX_RANKS ((size_t)1 << 24)

typedef struct walk {
    ps_cluster *cluster;
    bool all;                /* every format, not only databases */
    const ps_reader *reader; /* that the user named, or NULL */
    ps_idmap seen;           /* directories: hash of (device, inode) */
    bool nomem;
} walk;

bool ps_cluster_names_ops(const ps_cluster_rank *rank) {
    bool names = rank->reader != NULL && rank->reader->names_ops;
    for (const ps_reader *const *r = ps_readers();
         !names && rank->told_profiler != NULL && *r != NULL; r++) {
        names = (*r)->names_ops && strcmp((*r)->profiler, rank->told_profiler) == 0;
    }
    return names;
}

const char *ps_cluster_profiler(const ps_cluster_rank *rank) {
    static const char *const NAMES[] = {"PyTorch", "MindSpore", "msMonitor"};
    if (rank->told_profiler != NULL) {
        return rank->told_profiler;
    }
    if (rank->profiler != PS_PROFILER_OTHER) {
        return NAMES[rank->profiler];
    }
    return rank->reader != NULL ? rank->reader->profiler : "unknown";
}

const char *ps_cluster_name(const ps_cluster *c) {
    const char *name = ps_path_base(ps_is_file(c->path) ? c->path : c->root);
    return name[0] != '.' && name[0] != '/' ? name : "";
}

const char *ps_cluster_recorder(const ps_cluster_rank *rank) {
    bool is_converted = rank->reader != NULL && strcmp(rank->reader->name, "pipescope-json") == 0;
    return is_converted ? rank->told_profiler : ps_cluster_profiler(rank);
}

const char *ps_cluster_format(const ps_cluster_rank *rank) {
    return rank->reader != NULL                  ? rank->reader->name
           : rank->profiler != PS_PROFILER_OTHER ? "ascend-db"
                                                 : "unknown";
}

bool ps_cluster_say(ps_cluster *c, ps_buf texts[PS_N_LANGS], ps_said *out) {
    bool ok = true;
    for (int lang = 0; lang < PS_N_LANGS; lang++) {
        ps_buf *text = &texts[lang];
        out->in[lang] =
            ps_buf_ok(text) ? ps_arena_strndup(&c->arena, ps_buf_str(text), text->len) : NULL;
        ok = ok && out->in[lang] != NULL;
        ps_buf_fini(text);
    }
    *out = ok ? *out : (ps_said){{NULL}};
    return ok;
}

void ps_cluster_note(ps_cluster *c, const char *english, const char *chinese, ...) {
    char text[768];
    ps_said said;
    bool ok = true;
    for (int lang = 0; lang < PS_N_LANGS; lang++) {
        va_list ap;
        va_start(ap, chinese);
        (void)vsnprintf(text, sizeof text, PS_SAY(lang, english, chinese), ap);
        va_end(ap);
        ps_utf8_drop_pieces(text);
        said.in[lang] = ps_arena_strndup(&c->arena, text, strlen(text));
        ok = ok && said.in[lang] != NULL;
    }
    if (ok && ps_grow(&c->notes, &c->cap_notes, c->n_notes + 1, MAX_RANKS, sizeof *c->notes)) {
        c->notes[c->n_notes++] = said;
    }
}

/* --- names ------------------------------------------------------------------------------------------- */

/* "<prefix>.db" (rank -1) or "<prefix>_<digits>.db". */
static bool parse_db_name(const char *name, const char *prefix, int64_t *rank) {
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0 || !ps_ends_with(name, ".db")) {
        return false;
    }
    const char *middle = name + n;
    size_t len = strlen(middle) - 3;
    if (len == 0) {
        *rank = -1;
        return true;
    }
    return middle[0] == '_' && len > 1 && middle[1] != '-' &&
           ps_parse_i64(middle + 1, len - 1, rank);
}

static bool parse_msmonitor_name(const char *name, int64_t *rank, int64_t *timestamp);

/* Whether the file is called as a profiler calls its database; profiler, rank and time are those of the name. */
static bool name_database(const char *name, ps_cluster_rank *found) {
    if (parse_msmonitor_name(name, &found->rank, &found->timestamp)) {
        found->profiler = PS_PROFILER_MSMONITOR;
    } else if (parse_db_name(name, "ascend_mindspore_profiler", &found->rank)) {
        found->profiler = PS_PROFILER_MINDSPORE;
    } else {
        found->profiler = PS_PROFILER_PYTORCH;
        return parse_db_name(name, "ascend_pytorch_profiler", &found->rank);
    }
    return true;
}

/* msmonitor_{pid}_{17 digits}_{rank}.db */
static bool parse_msmonitor_name(const char *name, int64_t *rank, int64_t *timestamp) {
    static const char PREFIX[] = "msmonitor_";
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 || !ps_ends_with(name, ".db")) {
        return false;
    }
    const char *pid = name + sizeof PREFIX - 1;
    const char *time = strchr(pid, '_');
    const char *id = time != NULL ? strchr(time + 1, '_') : NULL;
    const char *end = name + strlen(name) - 3;
    int64_t number = 0;
    return id != NULL && id < end && id - time == 18 && pid[0] != '-' && time[1] != '-' &&
           ps_parse_i64(pid, (size_t)(time - pid), &number) &&
           ps_parse_i64(time + 1, 17, timestamp) &&
           ps_parse_i64(id + 1, (size_t)(end - id - 1), rank) && *rank >= -1;
}

/* The timestamp of "{worker}_{timestamp}_ascend_pt", -1 when there is none. */
static int64_t dir_timestamp(const char *dir_name) {
    const char *tail = ps_ends_with(dir_name, "_ascend_pt")   ? "_ascend_pt"
                       : ps_ends_with(dir_name, "_ascend_ms") ? "_ascend_ms"
                                                              : NULL;
    if (tail == NULL) {
        return -1;
    }
    size_t end = strlen(dir_name) - strlen(tail);
    size_t start = end;
    while (start > 0 && dir_name[start - 1] != '_') {
        start--;
    }
    int64_t value = -1;
    return ps_parse_i64(dir_name + start, end - start, &value) && value >= 0 ? value : -1;
}

/* The rank in profiler_info_{rank}.json among the names of a directory; -1 when there is none. */
static int64_t info_rank(const char *const *names, size_t n) {
    static const char PREFIX[] = "profiler_info_";
    for (size_t i = 0; i < n; i++) {
        int64_t rank = -1;
        size_t len = strlen(names[i]);
        if (strncmp(names[i], PREFIX, sizeof PREFIX - 1) == 0 && ps_ends_with(names[i], ".json") &&
            ps_parse_i64(names[i] + sizeof PREFIX - 1, len - (sizeof PREFIX - 1) - 5, &rank)) {
            return rank;
        }
    }
    return -1;
}

static bool is_our_copy(const char *path) {
    unsigned char header[72] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? pread(fd, header, sizeof header, 0) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    uint32_t id = (uint32_t)header[68] << 24 | (uint32_t)header[69] << 16 |
                  (uint32_t)header[70] << 8 | header[71];
    return got == (ssize_t)sizeof header && id == PS_COPY_APPLICATION_ID;
}

/* --- candidates -------------------------------------------------------------------------------------- */

static const char *below_root(const ps_cluster *c, const char *path) {
    size_t n = strlen(c->root);
    if (strncmp(path, c->root, n) != 0) {
        return ps_path_base(path);
    }
    path += n;
    while (*path == '/') {
        path++;
    }
    return path;
}

ps_code ps_cluster_add(ps_cluster *c, ps_cluster_rank rank) {
    ps_file_id id;
    ps_err err;
    if (ps_file_identify(rank.path, &id, &err) != PS_OK) {
        ps_diag_add(&c->diag, PS_ODD_FILE, "%s: %s", rank.path, err.msg);
        return PS_OK;
    }
    if (!ps_is_file(rank.path)) { /* opening a pipe would wait for its writer */
        ps_diag_add(&c->diag, PS_ODD_FILE, "%s: not a file", rank.path);
        return PS_OK;
    }
    rank.mtime_ns = id.mtime_ns;
    rank.is_copy = is_our_copy(rank.path);
    rank.rel_path = below_root(c, rank.path);
    if (!ps_grow(&c->ranks, &c->cap_ranks, c->n_ranks + 1, MAX_RANKS, sizeof *c->ranks)) {
        return PS_NOMEM;
    }
    c->ranks[c->n_ranks++] = rank;
    return PS_OK;
}

static void add_cluster_rank(walk *w, ps_cluster_rank rank) {
    w->nomem = ps_cluster_add(w->cluster, rank) != PS_OK || w->nomem;
}

/* Among several matching databases the one whose rank the directory's profiler_info names. */
static const char *choose_db(walk *w, const char *dir, const char *const *names, size_t n,
                             const char *prefix, int64_t wanted, int64_t *rank) {
    const char *chosen = NULL;
    size_t n_matching = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t r = -1;
        if (parse_db_name(names[i], prefix, &r)) {
            n_matching++;
            if (chosen == NULL || (r == wanted && *rank != wanted)) {
                chosen = names[i];
                *rank = r;
            }
        }
    }
    if (n_matching > 1) {
        ps_cluster_note(w->cluster, "%s holds %zu profiler databases; %s is read",
                        "%s 中有 %zu 个采集数据库；读取 %s", dir, n_matching, chosen);
    }
    if (chosen != NULL && wanted >= 0 && *rank >= 0 && *rank != wanted) {
        ps_diag_add(&w->cluster->diag, PS_ODD_RANK_NAME, "%s/%s beside profiler_info_%lld.json",
                    dir, chosen, (long long)wanted);
    }
    return chosen;
}

static bool has_text_result(const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], "trace_view.json") == 0 || ps_ends_with(names[i], ".csv")) {
            return true;
        }
    }
    return ps_ascend_tables_main(names, n) != NULL;
}

/* Whether the file is what a reader of this name reads. */
static bool is_read_by(walk *w, const char *dir, const char *name, const char *reader_name) {
    ps_err err = PS_ERR_INIT;
    const char *path = ps_path_join(&w->cluster->arena, dir, name);
    const ps_reader *reader = path != NULL && ps_is_file(path) ? ps_reader_for(path, &err) : NULL;
    w->nomem = w->nomem || path == NULL || err.code == PS_NOMEM;
    return reader != NULL && strcmp(reader->name, reader_name) == 0;
}

/* Of the tables that are called so and are such, not empty nor cut off before their header, the one that tells most. */
static const char *main_table(walk *w, const char *dir, const char *const *names, size_t n) {
    const char **left = ps_arena_alloc(&w->cluster->arena, (n + 1) * sizeof *left);
    w->nomem = w->nomem || left == NULL;
    for (size_t i = 0; left != NULL && i < n; i++) {
        left[i] = names[i];
    }
    const char *main = NULL;
    while (left != NULL && !w->nomem && (main = ps_ascend_tables_main(left, n)) != NULL &&
           !is_read_by(w, dir, main, "ascend-text")) {
        size_t i = 0;
        while (left[i] != main) {
            i++;
        }
        left[i] = left[--n];
    }
    return left != NULL && !w->nomem ? main : NULL;
}

/* The timeline; else the table that tells most of it. NULL: neither is there. */
static const char *main_text_file(walk *w, const char *dir, const char *const *names, size_t n) {
    static const char *const TIMELINES[] = {"trace_view.json", "trace_view.json.gz"};
    for (size_t t = 0; t < sizeof TIMELINES / sizeof *TIMELINES; t++) {
        for (size_t i = 0; i < n; i++) {
            if (strcmp(names[i], TIMELINES[t]) == 0) {
                return names[i];
            }
        }
    }
    return main_table(w, dir, names, n);
}

/* The rank that the files beside it, or the name of its folder, tell; -1 unknown. */
static int64_t told_rank(walk *w, const ps_cluster_rank *found) {
    ps_part *parts = NULL;
    size_t n = 0;
    ps_err err = PS_ERR_INIT;
    ps_code code = found->reader->parts(found->path, &w->cluster->arena, &parts, &n, &err);
    w->nomem = w->nomem || code == PS_NOMEM;
    return code == PS_OK && n == 1 ? parts[0].rank : -1;
}

/* What the profiler computed of a rank, in a database beside that of the recording. */
static const char *analysis_database(walk *w, const char *dir, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool is_named = strcmp(names[i], "analysis.db") == 0 ||
                        strcmp(names[i], "communication_analyzer.db") == 0;
        if (is_named && is_read_by(w, dir, names[i], "ascend-db")) {
            return names[i];
        }
    }
    return NULL;
}

/* The recording is not there: statistics of steps and communication are all that is known of the rank. */
static void add_analysed(walk *w, const char *out_dir, const char *name, ps_cluster_rank found) {
    found.profiler =
        ps_ends_with(found.rank_dir, "_ascend_ms") ? PS_PROFILER_MINDSPORE : PS_PROFILER_PYTORCH;
    found.path = ps_path_join(&w->cluster->arena, out_dir, name);
    if (found.path == NULL) {
        w->nomem = true;
    } else {
        add_cluster_rank(w, found);
    }
}

/* The rank of text files: trace_view.json, or the tables where that is not there. */
static void visit_text_rank(walk *w, const char *out_dir, const char *const *names, size_t n,
                            ps_cluster_rank found) {
    ps_cluster *c = w->cluster;
    const char *main = w->all ? main_text_file(w, out_dir, names, n) : NULL;
    const char *analysed = main == NULL && w->all ? analysis_database(w, out_dir, names, n) : NULL;
    if (analysed != NULL) {
        add_analysed(w, out_dir, analysed, found);
        return;
    }
    if (main == NULL) {
        c->n_text_dirs += has_text_result(names, n);
        return;
    }
    found.profiler =
        ps_ends_with(found.rank_dir, "_ascend_ms") ? PS_PROFILER_MINDSPORE : PS_PROFILER_PYTORCH;
    found.path = ps_path_join(&c->arena, out_dir, main);
    if (found.path == NULL) {
        w->nomem = true;
        return;
    }
    ps_err err = PS_ERR_INIT;
    found.reader = ps_reader_for(found.path, &err);
    if (w->reader != NULL && found.reader != w->reader) {
        return; /* another format was asked for */
    }
    if (found.rank < 0 && found.reader != NULL && found.reader->parts != NULL) {
        found.rank = told_rank(w, &found);
    }
    add_cluster_rank(w, found);
}

/* `dir` holds ASCEND_PROFILER_OUTPUT; `names` are those of `dir`. */
static void visit_rank_dir(walk *w, const char *dir, const char *const *names, size_t n) {
    ps_cluster *c = w->cluster;
    ps_err err = PS_ERR_INIT;
    const char **inner = NULL;
    size_t n_inner = 0;
    const char *out_dir = ps_path_join(&c->arena, dir, OUTPUT_DIR);
    if (out_dir == NULL || ps_list_dir(out_dir, &c->arena, &inner, &n_inner, &err) != PS_OK) {
        w->nomem = w->nomem || out_dir == NULL || err.code == PS_NOMEM;
        ps_diag_add(&c->diag, PS_ODD_FILE, "%s: %s", out_dir != NULL ? out_dir : dir, err.msg);
        return;
    }
    int64_t wanted = info_rank(names, n);
    ps_cluster_rank found = {
        .rank = -1, .profiler = PS_PROFILER_PYTORCH, .rank_dir = dir, .machine = -1};
    const char *name =
        choose_db(w, out_dir, inner, n_inner, "ascend_pytorch_profiler", wanted, &found.rank);
    if (name == NULL) {
        found.profiler = PS_PROFILER_MINDSPORE;
        name =
            choose_db(w, out_dir, inner, n_inner, "ascend_mindspore_profiler", wanted, &found.rank);
    }
    if (found.rank < 0) {
        found.rank = wanted;
    }
    found.timestamp = dir_timestamp(ps_path_base(dir));
    if (name == NULL) {
        visit_text_rank(w, out_dir, inner, n_inner, found);
        return;
    }
    found.path = ps_path_join(&c->arena, out_dir, name);
    if (found.path == NULL) {
        w->nomem = true;
        return;
    }
    add_cluster_rank(w, found);
}

/* --- the walk ---------------------------------------------------------------------------------------- */

static bool first_visit(walk *w, const char *dir) {
    ps_file_id id;
    if (ps_file_identify(dir, &id, NULL) != PS_OK) {
        return true; /* listing it will say why */
    }
    uint64_t key = ps_hash_u64(id.device * 0x9E3779B97F4A7C15u + id.inode);
    if (ps_idmap_get(&w->seen, key) != PS_IDMAP_NONE) {
        return false;
    }
    w->nomem = !ps_idmap_put(&w->seen, key, 1) || w->nomem;
    return true;
}

/* Folders of raw data and of results: large, and never holding a rank. What msprof exports lies in its raw folder;
 * where OUTPUT_DIR stands beside that, the same is there in a better form. */
static bool is_worth_entering(const walk *w, const char *dir, const char *name,
                              const char *const *beside, size_t n) {
    static const char *const NEVER[] = {"FRAMEWORK", "logs", "cluster_analysis_output"};
    if (strncmp(ps_path_base(dir), "PROF_", 5) == 0) {
        return strcmp(name, "mindstudio_profiler_output") == 0;
    }
    bool is_raw = strncmp(name, "PROF_", 5) == 0;
    for (size_t i = 0; is_raw && i < n; i++) {
        if (!w->all || strcmp(beside[i], OUTPUT_DIR) == 0) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof NEVER / sizeof *NEVER; i++) {
        if (strcmp(name, NEVER[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* A folder of tables whose timeline is not there, under any name: where no profile was found in it. */
static void visit_tables(walk *w, const char *dir, const char *const *names, size_t n,
                         size_t n_before) {
    ps_cluster *c = w->cluster;
    const char *main = w->all ? main_table(w, dir, names, n) : NULL;
    for (size_t i = n_before; main != NULL && i < c->n_ranks; i++) {
        const char *path = c->ranks[i].path;
        size_t n_dir = (size_t)(ps_path_base(path) - path);
        bool is_here = n_dir == strlen(dir) + 1 && strncmp(path, dir, n_dir - 1) == 0;
        main = is_here ? NULL : main;
    }
    const char *path = main != NULL ? ps_path_join(&c->arena, dir, main) : "";
    w->nomem = w->nomem || path == NULL;
    if (main != NULL && path != NULL) {
        w->nomem = ps_cluster_add_tables(c, path, w->reader) != PS_OK || w->nomem;
    }
}

/* Under this name a rank, or a file of one, is expected. */
static bool is_rank_name(const char *name) {
    static const char *const ENDS[] = {"_ascend_pt", "_ascend_ms", OUTPUT_DIR, ".json",
                                       ".json.gz",   ".sqlite",    ".db"};
    bool is = false;
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        is = is || ps_ends_with(name, ENDS[i]);
    }
    return is;
}

/* What cannot be looked at is no absence: a rank may be missing. A link of another name that leads nowhere is nothing to us. */
static void note_unseen(walk *w, const char *path, ps_code code, const ps_err *err) {
    if (code == PS_IO || (code == PS_NOT_FOUND && is_rank_name(ps_path_base(path)))) {
        ps_diag_add(&w->cluster->diag, PS_ODD_FILE, "%s: %s", path, err->msg);
    }
}

static void visit_dir(walk *w, const char *dir, int depth) {
    ps_cluster *c = w->cluster;
    ps_err err = PS_ERR_INIT;
    const char **names = NULL;
    size_t n = 0;
    if (w->nomem || !first_visit(w, dir)) {
        return;
    }
    if (ps_list_dir(dir, &c->arena, &names, &n, &err) != PS_OK) {
        w->nomem = w->nomem || err.code == PS_NOMEM;
        ps_diag_add(&c->diag, PS_ODD_FILE, "%s: %s", dir, err.msg);
        return;
    }
    size_t n_before = c->n_ranks;
    for (size_t i = 0; i < n && !w->nomem; i++) {
        ps_cluster_note_stranger(c, dir, names[i]);
        const char *path = ps_path_join(&c->arena, dir, names[i]);
        ps_cluster_rank database = {.rank = -1, .timestamp = -1, .path = path, .machine = -1};
        ps_path_kind kind = PS_PATH_NONE;
        ps_code looked = path != NULL ? ps_path_look(path, &kind, &err) : PS_NOMEM;
        if (path == NULL) {
            w->nomem = true;
        } else if (kind != PS_PATH_DIR && name_database(names[i], &database)) {
            add_cluster_rank(w, database);
        } else if (looked != PS_OK) {
            note_unseen(w, path, looked, &err);
        } else if (kind == PS_PATH_DIR) {
            if (strcmp(names[i], OUTPUT_DIR) == 0) {
                visit_rank_dir(w, dir, names, n);
            } else if (depth < PS_CLUSTER_MAX_DEPTH &&
                       is_worth_entering(w, dir, names[i], names, n)) {
                visit_dir(w, path, depth + 1);
            }
        } else {
            w->nomem =
                (w->all && ps_cluster_add_file(c, path, w->reader, false) != PS_OK) || w->nomem;
        }
    }
    if (!w->nomem) {
        visit_tables(w, dir, names, n, n_before);
    }
}

/* --- places inside a rank directory, named by the user --------------------------------------------- */

/* The directory that holds `dir` when `dir` is an OUTPUT_DIR, also under another name (".", a link); else NULL. */
static const char *rank_dir_of(walk *w, const char *dir) {
    ps_arena *arena = &w->cluster->arena;
    const char *above = NULL;
    if (strcmp(ps_path_base(dir), OUTPUT_DIR) == 0) {
        above = ps_path_dir(arena, dir);
    } else {
        char real[PATH_MAX];
        if (realpath(dir, real) == NULL || strcmp(ps_path_base(real), OUTPUT_DIR) != 0) {
            return NULL;
        }
        above = ps_path_join(arena, dir, "..");
    }
    w->nomem = w->nomem || above == NULL;
    return above;
}

static void visit_file(walk *w, const char *path) {
    ps_cluster *c = w->cluster;
    const char *name = ps_path_base(path);
    const char *dir = ps_path_dir(&c->arena, path);
    ps_cluster_rank found = {.rank = -1, .timestamp = -1, .path = path, .machine = -1};
    if (dir == NULL) {
        w->nomem = true;
        return;
    }
    c->root = dir;
    bool is_named = name_database(name, &found);
    if (!is_named && w->all) {
        w->nomem = ps_cluster_add_file(c, path, w->reader, true) != PS_OK || w->nomem;
        return;
    }
    ps_err err = PS_ERR_INIT;
    if (!is_named && ps_is_file(path) && ps_reader_for(path, &err) == NULL &&
        err.code == PS_SYNTAX) { /* else any other name: a renamed database */
        c->no_profile = err;
        return;
    }
    found.rank_dir = rank_dir_of(w, dir);
    add_cluster_rank(w, found);
}

/* --- duplicates and order ---------------------------------------------------------------------------- */

/* By rank and profiler; the one to keep of equal ones comes first: newest, originals before copies. */
static int compare_ranks(const void *a, const void *b) {
    const ps_cluster_rank *x = a;
    const ps_cluster_rank *y = b;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->profiler != y->profiler) {
        return x->profiler < y->profiler ? -1 : 1;
    }
    if (x->profiler == PS_PROFILER_OTHER && x->reader != y->reader) {
        return ps_cluster_reader_order(x->reader) < ps_cluster_reader_order(y->reader) ? -1 : 1;
    }
    if (x->is_copy != y->is_copy) {
        return x->is_copy ? 1 : -1;
    }
    if ((x->reader == NULL) != (y->reader == NULL)) {
        return x->reader == NULL ? -1 : 1; /* the database of a rank holds more than its text */
    }
    if (x->timestamp != y->timestamp) {
        return x->timestamp > y->timestamp ? -1 : 1;
    }
    if (x->timestamp < 0 && x->mtime_ns != y->mtime_ns) {
        return x->mtime_ns > y->mtime_ns ? -1 : 1;
    }
    return strcmp(x->path, y->path);
}

/* Two profiles of one rank. Profiles that do not tell their rank are ranks of their own. */
static bool is_same_rank(const ps_cluster_rank *a, const ps_cluster_rank *b) {
    return a->rank >= 0 && a->rank == b->rank && a->profiler == b->profiler &&
           (a->profiler != PS_PROFILER_OTHER || a->reader == b->reader);
}

enum { MAX_PLACES = 3 };

/* Folders of profiles, each once: those that are read, or those that are left out. */
typedef struct places {
    const char *names[MAX_PLACES];
    size_t n; /* may be more than are named */
} places;

/* The folder of the profile's rank, or what holds that; NULL when memory is out. */
static const char *cluster_place_of(ps_cluster *c, const ps_cluster_rank *r, bool above) {
    const char *dir = r->rank_dir != NULL ? r->rank_dir : ps_path_dir(&c->arena, r->path);
    return dir != NULL && above ? ps_path_dir(&c->arena, dir) : dir;
}

static void add_cluster_place(places *p, const char *name) {
    for (size_t i = 0; i < p->n && i < MAX_PLACES; i++) {
        if (strcmp(p->names[i], name) == 0) {
            return;
        }
    }
    if (p->n < MAX_PLACES) {
        p->names[p->n] = name;
    }
    p->n++;
}

static void put_cluster_places(ps_buf *out, const places *p) {
    for (size_t i = 0; i < p->n && i < MAX_PLACES; i++) {
        ps_buf_addf(out, "%s%s", i > 0 ? ", " : "", p->names[i]);
    }
    ps_buf_add_str(out, p->n > MAX_PLACES ? ", ..." : "");
}

/* `before`: what was said of others, or NULL. */
static void put_left_out(ps_lang lang, const char *before, const places *read, const places *left,
                         size_t n_left, ps_buf *out) {
    ps_buf_addf(
        out,
        PS_SAY(
            lang,
            "%s%sranks are here more than once: of each the newest profile is read (a database before "
            "text), from ",
            "%s%s有 rank 出现多次：每个 rank 读取最新的采集数据（数据库优先于文本），来自 "),
        before != NULL ? before : "", before != NULL ? PS_SAY(lang, "; ", "；") : "");
    put_cluster_places(out, read);
    ps_buf_addf(out, PS_SAY(lang, "; %zu other%s left out, from ", "；另有 %zu 份略去%.0s，来自 "),
                n_left, n_left == 1 ? " is" : "s are");
    put_cluster_places(out, left);
    ps_buf_add_str(out, PS_SAY(lang, " (name one folder to read what is in it)",
                               "（指定其中一个目录即可读取其内容）"));
}

/* c->ranks is in order, equal ones side by side. Profiles of one run lie in folders of their own below that of the run;
 * where runs share that, the folders of the ranks are named. */
static bool say_left_out(ps_cluster *c) {
    places read = {.n = 0};
    places left = {.n = 0};
    size_t n_left = 0;
    for (int above = 1; above >= 0; above--) {
        bool is_clear = true;
        read.n = left.n = n_left = 0;
        for (size_t i = 0, kept = 0; i < c->n_ranks; i++) {
            const ps_cluster_rank *r = &c->ranks[i];
            if (i == 0 || !is_same_rank(&c->ranks[kept], r)) {
                kept = i;
            } else if (!r->is_copy || c->ranks[kept].is_copy) {
                const char *from = cluster_place_of(c, &c->ranks[kept], above != 0);
                const char *other = cluster_place_of(c, r, above != 0);
                if (from == NULL || other == NULL) {
                    return false;
                }
                is_clear = is_clear && strcmp(from, other) != 0;
                add_cluster_place(&read, from);
                add_cluster_place(&left, other);
                n_left++;
            }
        }
        if (is_clear) {
            break;
        }
    }
    if (n_left == 0) {
        return true;
    }
    ps_buf texts[PS_N_LANGS] = {{0}};
    for (int lang = 0; lang < PS_N_LANGS; lang++) {
        put_left_out((ps_lang)lang, c->left_out.in[lang], &read, &left, n_left, &texts[lang]);
    }
    return ps_cluster_say(c, texts, &c->left_out);
}

static bool keep_newest(ps_cluster *c) {
    ps_sort(c->ranks, c->n_ranks, sizeof *c->ranks, compare_ranks);
    if (!say_left_out(c)) {
        return false;
    }
    size_t n = 0;
    size_t n_copies = 0;
    for (size_t i = 0; i < c->n_ranks; i++) {
        const ps_cluster_rank *kept = n > 0 ? &c->ranks[n - 1] : NULL;
        const ps_cluster_rank *r = &c->ranks[i];
        bool again = kept != NULL && is_same_rank(kept, r);
        if (again && r->is_copy && !kept->is_copy) {
            n_copies++;
        } else if (again) {
            ps_diag_add(&c->diag, PS_ODD_RANK_DUPLICATE, "rank %s: %s", PS_RANK(r->rank),
                        r->rel_path);
        } else {
            c->ranks[n++] = *r;
        }
    }
    c->n_ranks = n;
    if (n_copies > 0) {
        ps_cluster_note(
            c, "%s: %zu cop%s that an earlier run wrote %s left out: the originals are here",
            "%s：早先运行写出的 %zu 份副本已略去%.0s%.0s：原件就在这里", c->root, n_copies,
            n_copies == 1 ? "y" : "ies", n_copies == 1 ? "is" : "are");
    }
    return true;
}

/* "kineto", "ascend-db", "ascend-db of MindSpore" */
static void name_kind(ps_lang lang, const ps_cluster_rank *r, char out[64]) {
    bool is_usual = r->profiler == PS_PROFILER_OTHER || r->profiler == PS_PROFILER_PYTORCH;
    if (is_usual) {
        (void)snprintf(out, 64, "%.30s", ps_cluster_format(r));
    } else {
        (void)snprintf(out, 64, PS_SAY(lang, "%.30s of %.20s", "%.20s（%.20s）"),
                       ps_cluster_format(r), ps_cluster_profiler(r));
    }
}

enum { FORMATS_TEXT = 512 };

/* "3 kineto, 1 nsight"; how many kinds. */
static size_t put_formats(ps_lang lang, const ps_cluster *c, char out[FORMATS_TEXT]) {
    size_t n_kinds = 0;
    out[0] = '\0';
    for (size_t i = 0; i < c->n_ranks; i++) {
        char kind[64];
        size_t n = 0;
        bool first = true;
        name_kind(lang, &c->ranks[i], kind);
        for (size_t k = 0; k < c->n_ranks && (first || k > i); k++) {
            char other[64];
            name_kind(lang, &c->ranks[k], other);
            bool same = strcmp(kind, other) == 0;
            n += same;
            first = first && (!same || k >= i);
        }
        if (first) {
            size_t len = strlen(out);
            const char *between = n_kinds++ > 0 ? PS_SAY(lang, ", ", "，") : "";
            (void)snprintf(out + len, FORMATS_TEXT - len, PS_SAY(lang, "%s%zu %s", "%s%zu 份 %s"),
                           between, n, kind);
        }
    }
    return n_kinds;
}

/* How many ranks of which format, where there are several. */
static void say_formats(ps_cluster *c) {
    char english[FORMATS_TEXT];
    char chinese[FORMATS_TEXT];
    size_t n_kinds = put_formats(PS_ENGLISH, c, english);
    if (n_kinds > 1) {
        (void)put_formats(PS_CHINESE, c, chinese);
        ps_cluster_note(c, "several formats side by side, each analysed by itself: %s%.0s",
                        "多种格式并存，各自单独分析：%.0s%s", english, chinese);
    }
    for (size_t i = 0; c->n_ranks > 1 && i < c->n_ranks; i++) {
        if (c->ranks[i].rank < 0) {
            ps_cluster_note(c, "%s: no rank in its name nor beside it; shown as rank ?",
                            "%s：名称与旁边的文件都没有给出 rank；显示为 rank ?",
                            c->ranks[i].rel_path);
        }
    }
}

static ps_cluster *find_cluster(const char *path, bool all, const ps_reader *reader,
                                ps_pattern *rank_from, ps_err *err) {
    ps_file_id id;
    if (ps_file_identify(path, &id, err) != PS_OK) {
        return NULL;
    }
    ps_cluster *c = ps_calloc(1, sizeof *c);
    if (c == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    c->rank_from = rank_from;
    c->as = reader;
    c->databases_only = !all;
    walk w = {.cluster = c, .all = all, .reader = reader};
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    c->root = ps_arena_strndup(&c->arena, path, len);
    c->path = c->root;
    const char *above = NULL;
    if (c->root == NULL) {
        w.nomem = true;
    } else if (!ps_is_dir(c->root)) {
        visit_file(&w, c->root);
    } else if ((above = rank_dir_of(&w, c->root)) != NULL) { /* the inner folder of one rank */
        const char **names = NULL;
        size_t n = 0;
        c->root = above;
        w.nomem = ps_list_dir(above, &c->arena, &names, &n, NULL) == PS_NOMEM;
        visit_rank_dir(&w, above, names, n);
    } else {
        visit_dir(&w, c->root, 0);
    }
    ps_idmap_fini(&w.seen);
    w.nomem = w.nomem || ps_cluster_drop_again(c) != PS_OK;
    if (!w.nomem) {
        ps_cluster_number(c);
        w.nomem = !keep_newest(c);
    }
    if (w.nomem) {
        ps_cluster_free(c);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    c->rank_from = NULL;
    say_formats(c);
    if (c->n_ranks == 0 && reader == NULL) {
        ps_cluster_say_strangers(c);
    }
    return c;
}

ps_cluster *ps_cluster_find(const char *path, ps_err *err) {
    return find_cluster(path, true, NULL, NULL, err);
}

ps_cluster *ps_cluster_find_as(const char *path, const ps_reader *reader, const char *rank_from,
                               ps_err *err) {
    ps_pattern *re = NULL;
    if (rank_from != NULL) {
        re = ps_pattern_new(rank_from, strlen(rank_from), PS_PATTERN_REGEX | PS_PATTERN_CASE, err);
        if (re == NULL) {
            ps_err_prefix(err, "--rank-from");
            return NULL;
        }
    }
    ps_cluster *c = find_cluster(path, true, reader, re, err);
    ps_pattern_free(re);
    if (c != NULL && rank_from != NULL) {
        c->rank_from_text = ps_arena_strndup(&c->arena, rank_from, strlen(rank_from));
        if (c->rank_from_text == NULL) {
            ps_cluster_free(c);
            (void)ps_fail_nomem(err);
            return NULL;
        }
    }
    return c;
}

ps_cluster *ps_cluster_find_databases(const char *path, ps_err *err) {
    return find_cluster(path, false, NULL, NULL, err);
}

void ps_cluster_free(ps_cluster *c) {
    if (c != NULL) {
        ps_free(c->ranks);
        ps_free(c->notes);
        ps_arena_fini(&c->arena);
        ps_free(c);
    }
}
