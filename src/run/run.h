/* Runs analyses over the ranks of a cluster: reads each rank once, maps in parallel, reduces in rank order,
 * hands the tables to the writers. */
#ifndef PS_RUN_RUN_H
#define PS_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/diag.h"
#include "base/err.h"
#include "run/cluster.h"
#include "run/run_engine.h"
#include "run/table_file.h"

/* What of a run is done. */
typedef enum ps_run_work {
    PS_RUN_WHOLE,
    PS_RUN_SHARD, /* the maps of a part of the ranks, in the round that is next */
    PS_RUN_REDUCE /* all but those */
} ps_run_work;

typedef struct ps_run_opts {
    const char
        *out_dir; /* -o, or NULL: rank databases in place, other files below the cluster's root */
    ps_export export_type;
    size_t n_threads;     /* 0: one per processor */
    int64_t memory_bytes; /* what may be held while ranks are read; 0: what is left here */
    bool strict;          /* counted errors make a rank fail */
    const bool *
        optional; /* [n_analyses]: ranks in which the analysis finds nothing are no lack; NULL: all are */
    size_t
        n_makers; /* the first so many analyses only give what the others take: what they miss is no
                        news */
    const char *rank_list;      /* of ps_run_listed_ranks(): all, or ranks as in 0,1,5; NULL: all */
    const char *rank_list_name; /* in errors; NULL: rank_list */
    const char *dashes; /* before names of options in errors: "--" of a command line; NULL: none */
    const char *baseline_path; /* profiles to compare with, for analyses with a baseline; or NULL */
    const char *baseline_ranks; /* of these, as rank_list; NULL: all */
    const int64_t *
        baseline_step; /* of these the step, since steps of another run have other numbers; NULL: all */
    ps_run_work work;
    ps_engine *engine;     /* who runs the maps of a whole run; NULL: threads of this process */
    const char *local_dir; /* a crew: files below are fast for processes that see them there */
    const char *
        partials_dir; /* of a shard, and of who reduces them (run_shards.h); of a crew, which goes on with
                                 what an earlier one left there: NULL, nothing is kept */
    size_t shard, n_shards;  /* the shard, below n_shards */
    const char *cache_dir;   /* where states of ranks are kept (run_cache.h), or NULL */
    int64_t cache_max_bytes; /* 0: the usual ones */
    ps_analysis_opts analysis;
    void (*progress)(void *context, size_t done,
                     size_t total);  /* called from several threads; may be NULL */
    void (*read_all)(void *context); /* once, before anything is written, which wants no other
                                        thread (base/child.h): who has one ends it; may be NULL */
    void *progress_context;          /* of both */
    /* For tests: called with each partial after the maps of a round, and with what a reduce left, one at a time; it may put another value in
     * its place. NULL: nothing is done. */
    ps_code (*moving)(void *context, const ps_analysis *analysis, ps_archive_value *archive,
                      void **value, ps_err *err);
    void *moving_context;
} ps_run_opts;

typedef enum ps_rank_status {
    PS_RANK_DONE,
    PS_RANK_NOTHING, /* the rank has nothing for any of the analyses; `err` says what is missing */
    PS_RANK_FAILED
} ps_rank_status;

typedef struct ps_rank_report {
    const ps_cluster_rank *rank;
    ps_rank_status status;
    ps_err err; /* of the first failure, or what is missing */
    size_t
        n_nothing; /* analyses behind the makers that have nothing to do for the rank; a rank that others did is done */
    char **
        missing; /* [analysis]: the sentence of one that has nothing to do, or NULL; owned by the run */
    /* A sentence: the rank has steps, and not the one that was asked for. "": it has, or none was. */
    char no_step[sizeof((ps_err *)0)->msg];
    ps_diag diag;
    const char *written; /* file written for this rank, NULL none; owned by the run */
} ps_rank_report;

/* A table of the cluster that was written. */
typedef struct ps_written {
    size_t analysis;       /* which of the run made it */
    const ps_table *table; /* of its result */
    const char *path;      /* the database, or a file of its own; owned by the run */
} ps_written;

typedef struct ps_run ps_run;
struct ps_run {
    ps_rank_report *ranks; /* those selected, in rank order */
    size_t n_ranks;
    ps_result *results;  /* one per analysis, in the order given */
    ps_err *errors;      /* the same: PS_OK, or why an analysis of several ended without a result */
    size_t *n_took_part; /* [analysis]: ranks that it made something of; of 0 nothing is written */
    size_t n_analyses;
    size_t n_makers; /* of these, the first (ps_run_opts) */
    size_t n_done, n_nothing, n_failed;
    ps_written *written; /* tables of the cluster */
    size_t n_written, cap_written;
    struct ps_table *
        lacks; /* what the results do not hold because it failed (model/lacks.h); no rows: nothing */
    struct ps_table **lacks_of; /* [analysis]: the same of each, to be written beside its tables */
    const char **notes;         /* sentences for people: what the output could not hold */
    size_t n_notes, cap_notes;
    ps_run *baseline; /* over the ranks of the baseline, NULL: none of the analyses compares */
    ps_cluster *baseline_cluster; /* where it found them */
    size_t
        unfinished_round; /* of a shard: whose partials it has made; of a reduce: that shards have to
                                run now, from 1; 0: the run is at its end, and has written what it made */
    size_t n_partials;    /* that a shard made, or found */
    size_t n_taken_up;    /* partials that were there, of what shards or a crew would have made */
    size_t n_at_once;     /* ranks that were read at the same time, at most */
    size_t n_read;        /* traces of ranks that were read: in each round that needs them */
    size_t n_cached;      /* that came out of the cache instead */
    size_t n_cache_damaged; /* what was there in their place, and was none */
    ps_err cache_err;       /* of the first that could not be kept; PS_OK */
    ps_arena arena;
};

/* Runs `analyses` over `ranks` (of `cluster`, in rank order, n > 0) and writes what they made. NULL when nothing
 * could be done at all (`err`); a rank that failed is in its report, and the others went on; so did the other analyses
 * when one of several failed. An analysis to which no rank contributed writes nothing, so that what an earlier run left
 * stays. Nothing has been written when a target turned out read-only (PS_READONLY) or the output lacks space (PS_IO). The caller frees
 * the result with ps_run_free(), before the cluster. */
ps_run *ps_run_analyses(const ps_analysis *const *analyses, size_t n_analyses,
                        const ps_cluster *cluster, const ps_cluster_rank *const *ranks,
                        size_t n_ranks, const ps_run_opts *opts, ps_err *err);
/* The same over all ranks of the cluster. */
ps_run *ps_run_all_ranks(const ps_analysis *const *analyses, size_t n_analyses,
                         const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err);
/* The same over those of opts->rank_list. PS_USAGE: one of them is not there. */
ps_run *ps_run_listed_ranks(const ps_analysis *const *analyses, size_t n_analyses,
                            const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err);
void ps_run_free(ps_run *run); /* NULL is fine */
/* How many rounds read profiles, at most: as often shards and their reduce have to run. */
size_t ps_run_n_reading_rounds(const ps_analysis *const *analyses, size_t n_analyses, bool in_full);

/* What the first rank that says anything lacks, or NULL. */
const char *ps_run_first_reason(ps_lang lang, const ps_run *run);

#endif
