/* The ranks that are served: found under the paths given at the start, read in the background, kept in memory.
 *
 * A rank has a *key*, made of what its file is (path, size, time of change, part): it goes into addresses, and what is served
 * under a key never changes. Ranks are read by a few threads, in order, those that somebody asks for first; beyond
 * PS_STORE_AUTO ranks only those. What does not fit into memory with the others makes those go that were looked at longest
 * ago.
 *
 * Slices and lanes of a rank: those of its profile first, then those that pipescope derives (overlap lanes where the
 * profiler wrote none), numbered on. A `ps_ref` says which trace a slice is of. */
#ifndef PS_SERVE_STORE_H
#define PS_SERVE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "base/err.h"
#include "model/lod.h"
#include "model/trace.h"
#include "run/cluster.h"
#include "serve/rank/lanes.h"
#include "serve/rank/loaded.h"
#include "serve/rank/outline.h"

#define PS_STORE_AUTO 16

typedef enum ps_rank_state {
    PS_STATE_WAITING, /* nobody has asked for it */
    PS_STATE_QUEUED,
    PS_STATE_READING,
    PS_STATE_READY,
    PS_STATE_FAILED,
    PS_STATE_CLOSED /* its capture is: it is told of once, and never comes back */
} ps_rank_state;

typedef struct ps_store ps_store;

typedef struct ps_store_opts {
    const ps_reader *reader; /* --format, or NULL */
    const char *rank_from;   /* --rank-from, or NULL */
    const char *captures;    /* --captures: a folder below which captures may be opened, or NULL */
    bool has_baseline;       /* the last path is what the others are compared with */
    size_t n_threads;        /* 0: one per processor */
    size_t max_bytes;        /* of loaded ranks; 0: 60 % of the machine's memory */
    /* Called without locks held, from any thread, when ps_store_seq() has grown. May be NULL. */
    void (*changed)(void *context);
    void *context;
} ps_store_opts;

/* One rank, as far as it is known without reading it. */
typedef struct ps_rank_entry {
    const char *key;
    const char *
        id; /* as long: the same wherever the capture lies, for addresses that people keep; NULL: of no file */
    const ps_cluster *cluster;
    const ps_cluster_rank *rank;
    const char *label; /* ps_store_label() */
    const char *host;  /* name of the machine or "" */
} ps_rank_entry;

/* Finds ranks under the paths (each as `cluster -d`), starts reading. PS_NOT_FOUND, PS_NOTHING, PS_NOMEM. The caller frees
 * it with ps_store_free(), which waits for readers to stop. */
ps_store *ps_store_new(const char *const *paths, size_t n_paths, const ps_store_opts *opts,
                       ps_err *err);
/* One rank that is in memory already: for tests and benchmarks. Owns the trace, also after a failure. */
ps_store *ps_store_of_trace(ps_trace *trace, const char *key, ps_err *err);
void ps_store_free(ps_store *s);

/* Captures that were opened, also those that are closed again: numbers and pointers hold as long as the store. */
size_t ps_store_n_clusters(const ps_store *s);
const ps_cluster *ps_store_cluster(const ps_store *s, size_t i); /* one per path */
bool ps_store_is_open(const ps_store *s, size_t cluster);        /* false also for no cluster */
/* The first that is open: what is asked for where nothing else is said. */
int64_t ps_store_first(const ps_store *s);
/* The number of the cluster that the others are compared with unless something else is said; SIZE_MAX: none. */
size_t ps_store_baseline(const ps_store *s);
size_t ps_store_n_ranks(const ps_store *s);
const ps_rank_entry *ps_store_rank(const ps_store *s, size_t i);
/* "rank 3", with what tells it from others of that number: another one when another capture is opened. Lives as long as the store. */
const char *ps_store_label(const ps_store *s, size_t i);
/* Also of a rank that is closed. SIZE_MAX: no such key. */
size_t ps_store_find(const ps_store *s, const char *key, size_t n);

/* Opens a capture more: `path` is absolute, or below one of the folders that are served; what is not below one of them is not
 * found, whether it is there or not. Its ranks are behind the others, the first PS_STORE_AUTO are read. PS_NOT_FOUND, PS_NOTHING,
 * PS_RANGE (there are too many), PS_NOMEM. */
PS_MUST_USE ps_code ps_store_open(ps_store *s, const char *path, size_t *cluster, ps_err *err);
/* The same for a file of the store's own, wherever it lies. */
PS_MUST_USE ps_code ps_store_open_own(ps_store *s, const char *path, size_t *cluster, ps_err *err);
/* Its ranks are told of as closed, their memory is given back as soon as nobody holds them. PS_NOT_FOUND: it is not open; PS_USAGE: it is
 * the last one. */
PS_MUST_USE ps_code ps_store_close(ps_store *s, size_t cluster, ps_err *err);
/* The folders below which captures may be opened. */
const struct ps_roots *ps_store_roots(const ps_store *s);

/* What ranks may take, in bytes, and what is given away of it to who reads files on their own: idle ranks make room, and others are
 * not read for as long. Give back as much as was taken. */
size_t ps_store_max_bytes(const ps_store *s);
void ps_store_hold(ps_store *s, size_t bytes);
void ps_store_unhold(ps_store *s, size_t bytes);

/* Grows with every change of a state; what changed since is seen by comparing states. */
uint64_t ps_store_seq(const ps_store *s);

typedef struct ps_rank_status_now {
    ps_rank_state state;
    uint64_t seq;    /* of its last change */
    double progress; /* 0..1 while reading */
    ps_err err;      /* when failed */
} ps_rank_status_now;
ps_rank_status_now ps_store_status(const ps_store *s, size_t i);

/* What is there so far of a rank that is being read, empty otherwise; lives as long as the store. */
ps_outline *ps_store_outline(ps_store *s, size_t i);

/* Puts ranks to the front of the queue; failed ones are tried again. */
void ps_store_want(ps_store *s, size_t i);

/* The rank if it is ready (PS_OK); else PS_NOTHING with `err` that says what it is doing, or why it failed. Give it back with
 * ps_loaded_release(). */
PS_MUST_USE ps_code ps_store_get(ps_store *s, size_t i, ps_loaded **out, ps_err *err);
/* The same for a look that is no use of the rank: it does not count when somebody has to go. */
PS_MUST_USE ps_code ps_store_peek(ps_store *s, size_t i, ps_loaded **out, ps_err *err);
void ps_loaded_release(ps_loaded *l); /* NULL is fine */

#endif
