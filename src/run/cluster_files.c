#include "run/cluster_files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "read/readers.h"

/* Names that never are a profile, so that a large directory is not opened file by file, and what this program wrote. */
static bool is_passed_over(const char *name) {
    static const char *const TAILS[] = {
        ".csv",  ".py",  ".sh", ".md", ".svg",     ".html", ".xlsx", ".pt",  ".so",     ".bin",
        ".yaml", ".yml", ".c",  ".h",  ".pftrace", ".png",  "-wal",  "-shm", "-journal"};
    static const char *const NAMES[] = {
        "pipeline_profile.json", "pipeline_profile_perfetto.json", "profiler_metadata.json",
        "communication.json", "communication_matrix.json"}; /* found with the folder's tables */
    for (size_t i = 0; i < sizeof TAILS / sizeof *TAILS; i++) {
        if (ps_ends_with(name, TAILS[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(name, NAMES[i]) == 0) {
            return true;
        }
    }
    return name[0] == '.';
}

/* "...rank-3...", "...rank_3...", "...rank3...": the last one counts. -1 when there is none. */
static int64_t rank_in_name(const char *name) {
    int64_t rank = -1;
    for (const char *p = name; (p = strstr(p, "rank")) != NULL;) {
        p += 4;
        const char *digits = *p == '-' || *p == '_' ? p + 1 : p;
        size_t n = strspn(digits, "0123456789");
        if (n > 0) {
            (void)ps_parse_i64(digits, n, &rank);
        }
    }
    return rank;
}

/* The time in "<worker>.<ns>.pt.trace.json[.gz]", -1 when there is none. */
static int64_t time_in_name(const char *name) {
    const char *tail = strstr(name, ".pt.trace.json");
    if (tail == NULL) {
        return -1;
    }
    const char *start = tail;
    while (start > name && isdigit((unsigned char)start[-1])) {
        start--;
    }
    int64_t value = -1;
    return ps_parse_i64(start, (size_t)(tail - start), &value) ? value : -1;
}

/* Digits at the end of "machine12", -1 when the directory is called otherwise. */
static int32_t machine_of_dir(const char *dir) {
    const char *name = ps_path_base(dir);
    int64_t number = -1;
    if (strncmp(name, "machine", 7) == 0) {
        const char *digits = name + 7 + strspn(name + 7, "_-");
        if (!ps_parse_i64(digits, strlen(digits), &number) || number < 0 || number > INT32_MAX) {
            number = -1;
        }
    }
    return (int32_t)number;
}

static ps_code add_cluster_file(ps_cluster *c, const char *path, const ps_reader *wanted,
                                bool named) {
    const char *name = ps_path_base(path);
    ps_err err = PS_ERR_INIT;
    const ps_reader *reader = wanted != NULL && named ? wanted : ps_reader_for(path, &err);
    if (err.code == PS_NOMEM) {
        return PS_NOMEM;
    }
    if (wanted != NULL && reader != wanted) {
        return PS_OK;
    }
    if (reader == NULL && !named) {
        if (err.code != PS_SYNTAX) {
            ps_diag_add(&c->diag, PS_ODD_FILE, "%s: %s", path, err.msg);
        }
        return PS_OK;
    }
    if (reader == NULL && err.code == PS_SYNTAX) {
        c->no_profile = err;
        return PS_OK;
    }
    const char *dir = ps_path_dir(&c->arena, path);
    if (dir == NULL) {
        return PS_NOMEM;
    }
    ps_cluster_rank found = {.rank = rank_in_name(name),
                             .profiler = PS_PROFILER_OTHER,
                             .path = path,
                             .timestamp = time_in_name(name),
                             .reader = reader,
                             .machine = machine_of_dir(dir)};
    if (reader != NULL && strcmp(reader->name, "ascend-db") == 0) { /* a renamed database */
        found.profiler = PS_PROFILER_PYTORCH;
        found.reader = NULL;
        return ps_cluster_add(c, found);
    }
    if (reader == NULL || reader->parts == NULL) {
        return ps_cluster_add(c, found);
    }
    ps_part *parts = NULL;
    size_t n = 0;
    bool by_name = c->rank_from != NULL && reader->parts_by_name != NULL;
    ps_code code = by_name ? reader->parts_by_name(path, c->rank_from, &c->arena, &parts, &n, &err)
                           : reader->parts(path, &c->arena, &parts, &n, &err);
    if (by_name && code == PS_OK && n == 0) {
        ps_cluster_note(c, "%s: no two of its processes tell ranks by --rank-from",
                        "%s：没有两个进程能按 --rank-from 得出 rank", path);
    }
    if (code == PS_NOMEM) {
        return PS_NOMEM;
    }
    if (code == PS_IO) {
        ps_diag_add(&c->diag, PS_ODD_FILE, "%s: %s", path, err.msg);
        return PS_OK;
    }
    if (code != PS_OK || n == 0) { /* reading it will say why */
        return ps_cluster_add(c, found);
    }
    code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        found.part = parts[i].id;
        found.noted = parts[i].noted;
        found.host = parts[i].host[0] != '\0' ? parts[i].host : NULL;
        found.machine = parts[i].machine >= 0 ? parts[i].machine : machine_of_dir(dir);
        found.told_profiler = parts[i].profiler;
        found.told_title = parts[i].title;
        found.rank = parts[i].rank >= 0 || n > 1 ? parts[i].rank : found.rank;
        code = ps_cluster_add(c, found);
    }
    return code;
}

/* Of what cannot be looked at nobody knows; that is counted. */
static bool is_file_here(ps_cluster *c, const char *path) {
    ps_path_kind kind = PS_PATH_NONE;
    ps_err err = PS_ERR_INIT;
    if (ps_path_look(path, &kind, &err) == PS_IO) {
        ps_diag_add(&c->diag, PS_ODD_FILE, "%s: %s", path, err.msg);
    }
    return kind == PS_PATH_FILE;
}

ps_code ps_cluster_add_file(ps_cluster *c, const char *path, const ps_reader *wanted, bool named) {
    bool is_passed = !named && (is_passed_over(ps_path_base(path)) || !is_file_here(c, path));
    return is_passed ? PS_OK : add_cluster_file(c, path, wanted, named);
}

ps_code ps_cluster_add_tables(ps_cluster *c, const char *path, const ps_reader *wanted) {
    return is_file_here(c, path) ? add_cluster_file(c, path, wanted, false) : PS_OK;
}

/* --- numbers --------------------------------------------------------------------------------------------- */

size_t ps_cluster_reader_order(const ps_reader *reader) {
    size_t i = 0;
    while (ps_readers()[i] != NULL && ps_readers()[i] != reader) {
        i++;
    }
    return i;
}

/* Machines and directories, then ranks, names (2 before 10) and parts; of one format. */
static int compare_places(const void *a, const void *b) {
    const ps_cluster_rank *x = a;
    const ps_cluster_rank *y = b;
    size_t x_dir = (size_t)(ps_path_base(x->path) - x->path);
    size_t y_dir = (size_t)(ps_path_base(y->path) - y->path);
    int order = ps_order_i64(x->profiler, y->profiler);
    if (order == 0) {
        order = ps_order_i64((int64_t)ps_cluster_reader_order(x->reader),
                             (int64_t)ps_cluster_reader_order(y->reader));
    }
    order = order != 0 ? order : ps_order_i64(x->machine, y->machine);
    if (order == 0 && (x_dir != y_dir || memcmp(x->path, y->path, x_dir) != 0)) {
        int dirs = memcmp(x->path, y->path, x_dir < y_dir ? x_dir : y_dir);
        order = dirs != 0 ? dirs : ps_order_i64((int64_t)x_dir, (int64_t)y_dir);
    }
    order = order != 0 ? order : ps_order_i64(x->rank, y->rank);
    order = order != 0 ? order : strverscmp(x->path, y->path);
    return order != 0 ? order : ps_order_i64(x->part, y->part);
}

static bool same_dir(const ps_cluster_rank *a, const ps_cluster_rank *b) {
    size_t n = (size_t)(ps_path_base(a->path) - a->path);
    return n == (size_t)(ps_path_base(b->path) - b->path) && memcmp(a->path, b->path, n) == 0;
}

/* ranks[0..n) are all of one format, in order. */
static void number_format(ps_cluster *c, ps_cluster_rank *ranks, size_t n) {
    size_t n_dirs = 1;
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++) {
        n_dirs += i > 0 && !same_dir(&ranks[i], &ranks[i - 1]);
        n_known += ranks[i].rank >= 0;
    }
    bool has_machines = ranks[n - 1].machine >= 0 && n_dirs > 1;
    if (!has_machines && (n_known > 0 || n == 1)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        ranks[i].rank = (int64_t)i;
    }
    if (!has_machines) {
        ps_cluster_note(
            c,
            "%zu %s files tell no rank: numbered in the order of their names (of several runs name "
            "one)",
            "%zu 个 %s 文件没有给出 rank：按文件名顺序编号（若有多次运行，请指定其中一次）", n,
            ps_cluster_format(&ranks[0]));
    }
}

void ps_cluster_number(ps_cluster *c) {
    ps_sort(c->ranks, c->n_ranks, sizeof *c->ranks, compare_places);
    for (size_t i = 0; i < c->n_ranks;) {
        size_t end = i + 1;
        while (end < c->n_ranks && c->ranks[end].reader == c->ranks[i].reader &&
               c->ranks[end].profiler == c->ranks[i].profiler) {
            end++;
        }
        number_format(c, c->ranks + i, end - i);
        i = end;
    }
}
