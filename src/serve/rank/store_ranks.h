/* The list of ranks of a store: found once, never changed afterwards. */
#ifndef PS_SERVE_STORE_RANKS_H
#define PS_SERVE_STORE_RANKS_H

#include "base/arena.h"
#include "base/fs.h"
#include "base/idmap.h"
#include "serve/rank/store.h"

#define PS_RANK_KEY_CHARS 16

/* Part of every key, beside the program's version. Browsers keep what stands under a key for a year: this grows whenever the same
 * file gets other numbers of slices, names or lanes, or a reply about them has another form. */
#define PS_RANK_LAYOUT 1

typedef struct ps_rank_list {
    ps_cluster **clusters; /* one per path */
    size_t n_clusters;
    ps_rank_entry *ranks; /* by cluster, then in its order */
    ps_file_id *files; /* [n] as they were when they were found; zero when that could not be seen */
    size_t n;
    ps_idmap rows; /* hash of a key -> rank */
    ps_arena arena;
} ps_rank_list;

/* PS_NOT_FOUND, PS_NOTHING (no rank under any of the paths), PS_NOMEM; end with ps_rank_list_fini() in any case. */
PS_MUST_USE ps_code ps_rank_list_find(ps_rank_list *list, const char *const *paths, size_t n_paths,
                                      const ps_reader *reader, const char *rank_from, ps_err *err);
/* One rank of no file. */
PS_MUST_USE ps_code ps_rank_list_of_trace(ps_rank_list *list, const ps_trace *trace,
                                          const char *key, ps_err *err);
void ps_rank_list_fini(ps_rank_list *list);

/* The rank with this key, SIZE_MAX when there is none. */
size_t ps_rank_list_row(const ps_rank_list *list, const char *key, size_t n);

/* PS_CHANGED, PS_NOT_FOUND or PS_IO with a sentence when the file of a rank is no longer the one that was found. */
PS_MUST_USE ps_code ps_rank_list_check(const ps_rank_list *list, size_t i, ps_err *err);
/* PS_CHANGED with that sentence. */
ps_code ps_rank_list_changed(const ps_rank_list *list, size_t i, ps_err *err);

#endif
