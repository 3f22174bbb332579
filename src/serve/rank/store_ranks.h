/* The list of ranks of a store. It grows at its end when a capture is opened; what is in it stays where it is, so that others read it
 * without a lock: how many there are they learn from n and n_clusters, which are set last (ps_rank_list_n, ps_rank_list_n_clusters). */
#ifndef PS_SERVE_STORE_RANKS_H
#define PS_SERVE_STORE_RANKS_H

#include "base/arena.h"
#include "base/fs.h"
#include "base/idmap.h"
#include "serve/rank/store.h"

#define PS_RANK_KEY_CHARS 16

/* Part of every key, beside the program's version. Browsers keep what stands under a key for a year: this grows whenever the same
 * file gets other numbers of slices, names or lanes, or a reply about them has another form. */
#define PS_RANK_LAYOUT 2

/* What may be opened besides what is there at the start. */
enum { PS_MORE_RANKS = 16384, PS_MORE_CLUSTERS = 256 };

typedef struct ps_rank_list {
    ps_cluster **clusters; /* one per path */
    size_t n_clusters, cap_clusters;
    ps_rank_entry *ranks; /* by cluster, then in its order */
    ps_file_id *files; /* [n] as they were when they were found; zero when that could not be seen */
    size_t n, cap;
    ps_idmap rows; /* hash of a key -> rank */
    ps_idmap ids;  /* the same of ids */
    ps_arena arena;
} ps_rank_list;

static inline size_t ps_rank_list_n(const ps_rank_list *list) {
    return __atomic_load_n(&list->n, __ATOMIC_ACQUIRE);
}
static inline size_t ps_rank_list_n_clusters(const ps_rank_list *list) {
    return __atomic_load_n(&list->n_clusters, __ATOMIC_ACQUIRE);
}

/* PS_NOT_FOUND, PS_NOTHING (no rank under any of the paths), PS_NOMEM; end with ps_rank_list_fini() in any case. */
PS_MUST_USE ps_code ps_rank_list_find(ps_rank_list *list, const char *const *paths, size_t n_paths,
                                      const ps_reader *reader, const char *rank_from, ps_err *err);
/* One rank of no file. */
PS_MUST_USE ps_code ps_rank_list_of_trace(ps_rank_list *list, const ps_trace *trace,
                                          const char *key, ps_err *err);
void ps_rank_list_fini(ps_rank_list *list);

/* Adds a capture in two parts: what takes time, of which nobody sees anything yet; then what must be done under the lock that guards
 * the list. The list owns the cluster once the second part is PS_OK. PS_RANGE: there are too many. */
PS_MUST_USE ps_code ps_rank_list_prepare(ps_rank_list *list, const ps_cluster *cluster,
                                         ps_err *err);
PS_MUST_USE ps_code ps_rank_list_add(ps_rank_list *list, ps_cluster *cluster, ps_err *err);

/* The rank with this key, SIZE_MAX when there is none. */
size_t ps_rank_list_row(const ps_rank_list *list, const char *key, size_t n);

/* PS_CHANGED, PS_NOT_FOUND or PS_IO with a sentence when the file of a rank is no longer the one that was found. */
PS_MUST_USE ps_code ps_rank_list_check(const ps_rank_list *list, size_t i, ps_err *err);
/* PS_CHANGED with that sentence. */
ps_code ps_rank_list_changed(const ps_rank_list *list, size_t i, ps_err *err);

#endif
