#include "serve/rank/store_ranks.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/version.h"
#include "model/comm_kernels.h"

/* --- keys ------------------------------------------------------------------------------------------------------- */

static uint64_t file_hash(const ps_cluster_rank *rank, const ps_file_id *id, uint64_t salt) {
    const uint64_t parts[] = {ps_hash64(PS_VERSION, sizeof PS_VERSION - 1),
                              PS_RANK_LAYOUT,
                              ps_hash64(rank->path, strlen(rank->path)),
                              id->device,
                              id->inode,
                              (uint64_t)id->size_bytes,
                              (uint64_t)id->mtime_ns,
                              (uint64_t)rank->part,
                              ps_comm_rules_hash(),
                              salt};
    return ps_hash64(parts, sizeof parts);
}

/* Under two of the given paths a file has two entries: they get keys of their own. False when memory is out. */
static bool make_key(ps_rank_list *list, size_t i) {
    for (uint64_t salt = 0;; salt++) {
        char key[PS_RANK_KEY_CHARS + 1];
        (void)snprintf(key, sizeof key, "%016llx",
                       (unsigned long long)file_hash(list->ranks[i].rank, &list->files[i], salt));
        uint64_t hash = ps_hash64(key, PS_RANK_KEY_CHARS);
        if (ps_idmap_get(&list->rows, hash) == PS_IDMAP_NONE) {
            list->ranks[i].key = ps_arena_strndup(&list->arena, key, PS_RANK_KEY_CHARS);
            return list->ranks[i].key != NULL && ps_idmap_put(&list->rows, hash, (uint32_t)i);
        }
    }
}

/* What a capture keeps when it is copied elsewhere: the rank, its size, the names that the profiler gave. */
static uint64_t rank_id_hash(const ps_cluster_rank *rank, const ps_file_id *file) {
    const char *folder = rank->rank_dir != NULL ? ps_path_base(rank->rank_dir) : "";
    const char *name = rank->rank_dir != NULL ? ps_path_base(rank->path) : "";
    const uint64_t parts[] = {(uint64_t)rank->rank, (uint64_t)rank->part,
                              (uint64_t)file->size_bytes, ps_hash64(folder, strlen(folder)),
                              ps_hash64(name, strlen(name))};
    return ps_hash64(parts, sizeof parts);
}

/* Ranks that are told apart by nothing else are counted, in the order of the list. False when memory is out. */
static bool make_rank_id(ps_rank_list *list, size_t i) {
    uint64_t id = rank_id_hash(list->ranks[i].rank, &list->files[i]);
    while (ps_idmap_get(&list->ids, id) != PS_IDMAP_NONE) {
        id = ps_hash64(&id, sizeof id);
    }
    char text[PS_RANK_KEY_CHARS + 1];
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)id);
    list->ranks[i].id = ps_arena_strndup(&list->arena, text, PS_RANK_KEY_CHARS);
    return list->ranks[i].id != NULL && ps_idmap_put(&list->ids, id, (uint32_t)i);
}

size_t ps_rank_list_row(const ps_rank_list *list, const char *key, size_t n) {
    uint32_t row = ps_idmap_get(&list->rows, ps_hash64(key, n));
    if (row == PS_IDMAP_NONE || strlen(list->ranks[row].key) != n ||
        memcmp(list->ranks[row].key, key, n) != 0) {
        return SIZE_MAX;
    }
    return row;
}

/* --- names ------------------------------------------------------------------------------------------------------ */

/* The last part of the path that was given, or all of it where two paths end alike. */
static const char *cluster_name(const ps_rank_list *list, const ps_cluster *cluster) {
    const char *base = ps_path_base(cluster->path);
    for (size_t i = 0; i < list->n_clusters; i++) {
        const ps_cluster *other = list->clusters[i];
        if (strcmp(other->path, cluster->path) != 0 &&
            strcmp(ps_path_base(other->path), base) == 0) {
            return cluster->path;
        }
    }
    return base;
}

/* Ranks of a number stand side by side in their cluster. */
static bool is_twice_here(const ps_rank_list *list, size_t i) {
    const ps_rank_entry *e = &list->ranks[i];
    for (size_t k = i > 0 ? i - 1 : 0; k <= i + 1 && k < list->cap; k++) {
        const ps_rank_entry *other = &list->ranks[k]; /* behind the last one: of no cluster */
        if (k != i && other->cluster == e->cluster && other->rank->rank == e->rank->rank) {
            return true;
        }
    }
    return false;
}

/* "rank 3"; with the file where its cluster has several of that number, with the path where there are several clusters. What others may
 * be reading stays in the arena. */
static bool make_label(ps_rank_list *list, size_t i) {
    const ps_cluster_rank *rank = list->ranks[i].rank;
    bool is_twice = is_twice_here(list, i);
    ps_buf text = {0};
    if (rank->rank >= 0) {
        ps_buf_addf(&text, "rank %s", PS_RANK(rank->rank));
    }
    if (rank->rank < 0 || is_twice) {
        ps_buf_addf(&text, "%s%s", text.len > 0 ? " of " : "",
                    is_twice ? rank->rel_path : ps_path_base(rank->path));
        if (rank->part != 0) {
            ps_buf_addf(&text, " (%lld)", (long long)rank->part);
        }
    }
    if (list->n_clusters > 1) {
        ps_buf_addf(&text, " in %s", cluster_name(list, list->ranks[i].cluster));
    }
    const char *old = list->ranks[i].label;
    bool ok = ps_buf_ok(&text);
    if (ok && (old == NULL || strcmp(old, ps_buf_str(&text)) != 0)) {
        const char *label = ps_arena_strndup(&list->arena, ps_buf_str(&text), text.len);
        ok = label != NULL;
        __atomic_store_n(&list->ranks[i].label, ok ? label : old, __ATOMIC_RELEASE);
    }
    ps_buf_fini(&text);
    return ok;
}

/* --- finding ---------------------------------------------------------------------------------------------------- */

static ps_code find_clusters(ps_rank_list *list, const char *const *paths, size_t n_paths,
                             const ps_reader *reader, const char *rank_from, ps_err *err) {
    list->cap_clusters = n_paths + PS_MORE_CLUSTERS;
    list->clusters = ps_calloc(list->cap_clusters, sizeof(ps_cluster *));
    if (list->clusters == NULL) {
        return ps_fail_nomem(err);
    }
    size_t n = 0;
    for (size_t i = 0; i < n_paths; i++) {
        ps_err why = PS_ERR_INIT;
        list->clusters[i] = ps_cluster_find_as(paths[i], reader, rank_from, &why);
        if (list->clusters[i] == NULL) {
            if (err != NULL) {
                *err = why;
            }
            return why.code;
        }
        list->n_clusters++;
        n += list->clusters[i]->n_ranks;
    }
    if (n > 0) {
        return PS_OK;
    }
    for (size_t i = 0; i < n_paths; i++) {
        if (list->clusters[i]->no_profile.code != PS_OK) {
            if (err != NULL) {
                *err = list->clusters[i]->no_profile;
            }
            return list->clusters[i]->no_profile.code;
        }
    }
    const ps_said instead = n_paths > 0 ? list->clusters[0]->instead : (ps_said){{NULL}};
    if (instead.in[PS_ENGLISH] != NULL) {
        return ps_fail_file_said(err, PS_NOTHING, paths[0], "no profile is there, but %s%.0s",
                                 "此处没有采集数据，但有 %.0s%s", instead.in[PS_ENGLISH],
                                 instead.in[PS_CHINESE]);
    }
    return ps_fail_file_said(
        err, PS_NOTHING, n_paths > 0 ? paths[0] : "",
        "no profile is there: give a profile, or a folder that holds some "
        "(`pipescope formats` lists what is read)",
        "此处没有采集数据：请给出一份采集数据，或含有采集数据的目录（`pipescope formats` 列出可读取的格式）");
}

/* Behind the ranks that are there; they do not count yet. Room for one more, which is none. */
static void put_cluster_ranks(ps_rank_list *list, size_t at, const ps_cluster *cluster) {
    for (size_t i = 0; i < cluster->n_ranks; i++, at++) {
        const ps_cluster_rank *rank = &cluster->ranks[i];
        if (ps_file_identify(rank->path, &list->files[at], NULL) != PS_OK) {
            list->files[at] = (ps_file_id){0};
        }
        list->ranks[at] = (ps_rank_entry){
            .cluster = cluster, .rank = rank, .host = rank->host != NULL ? rank->host : ""};
    }
    list->ranks[at] = (ps_rank_entry){0};
}

/* Ranks from .. end - 1, which then count. */
static bool name_ranks(ps_rank_list *list, size_t from, size_t end) {
    bool ok = true;
    for (size_t i = from; ok && i < end; i++) {
        ok = make_key(list, i) && make_rank_id(list, i);
    }
    for (size_t i = 0; ok && i < end; i++) { /* also of the others: there is one capture more */
        ok = make_label(list, i);
    }
    if (ok) {
        __atomic_store_n(&list->n, end, __ATOMIC_RELEASE);
    }
    return ok;
}

ps_code ps_rank_list_find(ps_rank_list *list, const char *const *paths, size_t n_paths,
                          const ps_reader *reader, const char *rank_from, ps_err *err) {
    *list = (ps_rank_list){0};
    ps_code code = find_clusters(list, paths, n_paths, reader, rank_from, err);
    if (code != PS_OK) {
        return code;
    }
    size_t n = 0;
    for (size_t i = 0; i < list->n_clusters; i++) {
        n += list->clusters[i]->n_ranks;
    }
    list->cap = n + PS_MORE_RANKS;
    list->ranks = ps_calloc(list->cap, sizeof *list->ranks);
    list->files = ps_calloc(list->cap, sizeof *list->files);
    if (list->ranks == NULL || list->files == NULL) {
        return ps_fail_nomem(err);
    }
    size_t end = 0;
    for (size_t i = 0; i < list->n_clusters; i++) {
        put_cluster_ranks(list, end, list->clusters[i]);
        end += list->clusters[i]->n_ranks;
    }
    return name_ranks(list, 0, end) ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_rank_list_prepare(ps_rank_list *list, const ps_cluster *cluster, ps_err *err) {
    if (list->n_clusters == list->cap_clusters || cluster->n_ranks >= list->cap - list->n) {
        return ps_fail_said(
            err, PS_RANGE,
            "this server has opened all that it can (%d captures, %d ranks): start "
            "pipescope serve again",
            "服务器能打开的已全部打开（%d 份采集数据、%d 个 rank）：请重新启动 pipescope serve",
            PS_MORE_CLUSTERS, PS_MORE_RANKS);
    }
    put_cluster_ranks(list, list->n, cluster);
    return PS_OK;
}

ps_code ps_rank_list_add(ps_rank_list *list, ps_cluster *cluster, ps_err *err) {
    list->clusters[list->n_clusters] = cluster;
    __atomic_store_n(&list->n_clusters, list->n_clusters + 1, __ATOMIC_RELEASE);
    if (!name_ranks(list, list->n, list->n + cluster->n_ranks)) {
        __atomic_store_n(&list->n_clusters, list->n_clusters - 1, __ATOMIC_RELEASE);
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

static int64_t rank_number(const ps_trace *trace) {
    const char *text = ps_trace_meta(trace, "rank");
    int64_t rank = 0;
    for (size_t i = 0; text != NULL && i < 9 && text[i] >= '0' && text[i] <= '9'; i++) {
        rank = rank * 10 + (text[i] - '0');
    }
    return rank;
}

ps_code ps_rank_list_of_trace(ps_rank_list *list, const ps_trace *trace, const char *key,
                              ps_err *err) {
    *list = (ps_rank_list){0};
    list->clusters = ps_calloc(2, sizeof(ps_cluster *));
    list->ranks = ps_calloc(2, sizeof *list->ranks);
    list->files = ps_calloc(2, sizeof *list->files);
    ps_cluster *c = ps_calloc(1, sizeof *c);
    ps_cluster_rank *rank = ps_calloc(1, sizeof *rank);
    char *own = ps_arena_strndup(&list->arena, key, strlen(key));
    if (list->clusters == NULL || list->ranks == NULL || list->files == NULL || c == NULL ||
        rank == NULL || own == NULL) {
        ps_free(c);
        ps_free(rank);
        return ps_fail_nomem(err);
    }
    *rank = (ps_cluster_rank){.rank = rank_number(trace),
                              .profiler = PS_PROFILER_OTHER,
                              .path = "",
                              .rel_path = "",
                              .timestamp = -1,
                              .machine = -1};
    *c = (ps_cluster){.root = "", .path = "", .ranks = rank, .n_ranks = 1, .cap_ranks = 1};
    list->clusters[0] = c;
    list->n_clusters = 1;
    list->cap = 2;
    list->cap_clusters = 1;
    list->ranks[0] = (ps_rank_entry){.key = own, .cluster = c, .rank = rank, .host = ""};
    list->n = 1;
    return make_label(list, 0) && ps_idmap_put(&list->rows, ps_hash64(key, strlen(key)), 0)
               ? PS_OK
               : ps_fail_nomem(err);
}

void ps_rank_list_fini(ps_rank_list *list) {
    for (size_t i = 0; list->clusters != NULL && i < list->n_clusters; i++) {
        ps_cluster_free(list->clusters[i]);
    }
    ps_free(list->clusters);
    ps_free(list->ranks);
    ps_free(list->files);
    ps_idmap_fini(&list->rows);
    ps_idmap_fini(&list->ids);
    ps_arena_fini(&list->arena);
    *list = (ps_rank_list){0};
}

ps_code ps_rank_list_changed(const ps_rank_list *list, size_t i, ps_err *err) {
    return ps_fail_file_said(
        err, PS_CHANGED, list->ranks[i].rank->path,
        "the file has changed since it was found: start pipescope serve again to "
        "see it as it is now",
        "文件在找到之后发生了变化：请重新启动 pipescope serve 以查看其现状");
}

ps_code ps_rank_list_check(const ps_rank_list *list, size_t i, ps_err *err) {
    const char *path = list->ranks[i].rank->path;
    ps_file_id now;
    ps_code code = ps_file_identify(path, &now, err);
    if (code != PS_OK) {
        return code;
    }
    return ps_file_same(&now, &list->files[i]) ? PS_OK : ps_rank_list_changed(list, i, err);
}
