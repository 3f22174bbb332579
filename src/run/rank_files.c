#include "run/rank_files.h"

#include <string.h>

#include "base/fs.h"

enum { MAX_DEPTH = 8, MAX_FILES = 20000, FOLDERS_ABOVE = 2 };

typedef struct listing {
    ps_buf *out;
    ps_arena arena;
    size_t n_files;
    bool failed;
} listing;

/* `shown` is the name below the folder; what is not there has no line. */
static void add_file(listing *l, const char *path, const char *shown) {
    ps_file_id id;
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_file_identify(path, &id, &err);
    if (code == PS_OK) {
        ps_buf_addf(l->out, "%s %lld %lld %llu\n", shown, (long long)id.size_bytes,
                    (long long)id.mtime_ns, (unsigned long long)id.inode);
    }
    l->failed = l->failed || (code != PS_OK && code != PS_NOT_FOUND) || l->n_files++ == MAX_FILES;
}

/* Files below a folder, or in it alone. */
static void add_folder(listing *l, const char *dir, size_t depth) {
    const char **names = NULL;
    size_t n = 0;
    l->failed = l->failed || ps_list_dir(dir, &l->arena, &names, &n, NULL) != PS_OK;
    for (size_t i = 0; !l->failed && i < n; i++) {
        const char *path = ps_path_join(&l->arena, dir, names[i]);
        ps_path_kind kind = PS_PATH_NONE;
        ps_code code = path != NULL ? ps_path_look(path, &kind, NULL) : PS_NOMEM;
        l->failed =
            code != PS_OK && code != PS_NOT_FOUND; /* a link that leads nowhere is no file */
        if (!l->failed && kind == PS_PATH_FILE) {
            add_file(l, path, names[i]);
        } else if (!l->failed && kind == PS_PATH_DIR && depth > 0 &&
                   strcmp(names[i], "cluster_analysis_output") != 0) {
            ps_buf_addf(l->out, "%s/\n", names[i]);
            add_folder(l, path, depth - 1);
            ps_buf_add_str(l->out, "..\n");
        }
    }
}

/* Of a lone file: its log, and neighbours with the names that readers look for. */
static void add_lone(listing *l, const ps_cluster_rank *rank) {
    const char *dir = ps_path_dir(&l->arena, rank->path);
    bool is_text = rank->reader != NULL && strcmp(rank->reader->name, "ascend-text") == 0;
    if (dir == NULL) {
        l->failed = true;
        return;
    }
    if (is_text) { /* its folder may be the rank's, or lie in it */
        add_folder(l, dir, 0);
        for (int up = 0; up < FOLDERS_ABOVE && !l->failed; up++) {
            dir = ps_path_join(&l->arena, dir, "..");
            l->failed = dir == NULL;
            if (dir != NULL) {
                add_folder(l, dir, 0);
            }
        }
        return;
    }
    static const char *const SIBLINGS[] = {"analysis.db",
                                           "analysis.db-wal",
                                           "analysis.db-journal",
                                           "communication_analyzer.db",
                                           "communication_analyzer.db-wal",
                                           "communication_analyzer.db-journal"};
    for (size_t i = 0; i < sizeof SIBLINGS / sizeof *SIBLINGS && !l->failed; i++) {
        const char *path = ps_path_join(&l->arena, dir, SIBLINGS[i]);
        l->failed = path == NULL;
        if (path != NULL) {
            add_file(l, path, SIBLINGS[i]);
        }
    }
}

bool ps_rank_files_add(const ps_cluster_rank *rank, ps_buf *out) {
    static const char *const SUFFIXES[] = {"", "-wal", "-journal"};
    static const char *const SHOWN[] = {"file", "log", "journal"};
    listing l = {.out = out};
    ps_arena_init(&l.arena);
    for (size_t i = 0; i < sizeof SUFFIXES / sizeof *SUFFIXES; i++) {
        ps_buf path;
        ps_buf_init(&path, 0);
        ps_buf_add_str(&path, rank->path);
        ps_buf_add_str(&path, SUFFIXES[i]);
        l.failed = l.failed || !ps_buf_ok(&path);
        if (!l.failed) {
            add_file(&l, ps_buf_str(&path), SHOWN[i]);
        }
        ps_buf_fini(&path);
    }
    if (rank->rank_dir != NULL) {
        add_folder(&l, rank->rank_dir, MAX_DEPTH);
    } else {
        add_lone(&l, rank);
    }
    ps_arena_fini(&l.arena);
    return !l.failed && ps_buf_ok(out);
}
