/* A run in the middle of its work: what run.c, run_kept.c, run_shards.c and the crew share, and nobody else includes. */
#ifndef PS_RUN_RUN_SESSION_H
#define PS_RUN_RUN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "run/rank_state.h"
#include "run/run.h"
#include "run/run_cache.h"
#include "run/run_memory.h"
#include "run/run_output.h"

typedef struct ps_session {
    ps_run *run;
    const ps_cluster *cluster;
    const ps_analysis *const *analyses;
    const ps_run_opts *opts;
    ps_rank_info *infos;
    ps_diag **diags;
    ps_diag **
        unsaid; /* of the makers, all of them one: what is odd in a chart that nobody asked for is no news */
    ps_rank_output *outputs;
    void ***partials; /* [analysis][rank] */
    void ***
        replaced; /* [analysis][rank * n_rounds + round]: partials in whose place others were taken; what a reduce
                                * left may point into them */
    bool **took_part;             /* [analysis][rank]: its last map had something to do */
    void **shared;                /* [analysis] */
    struct ps_job_skew *job_skew; /* while a round is reduced */
    ps_analysis_opts *opts_of;    /* [analysis] */
    size_t round, n_rounds;
    size_t n_own;   /* ranks that are read in this process, one beside the other */
    uint32_t needs; /* of this round, all analyses together */
    size_t n_progress;
    ps_budget memory;
    int64_t *rank_bytes;        /* [rank of the cluster], run_memory.h */
    uint32_t all_needs;         /* of all rounds */
    ps_run_cache *cache;        /* NULL: none */
    const ps_analysis **seeing; /* [n_analyses] those that see a trace in this round, */
    size_t *seeing_at;          /* and which they are */
    size_t n_seeing;
    ps_buf program_key;
    ps_buf round_key; /* with a cache: what all ranks of this round depend on */
    int cache_failed; /* run->cache_err is taken */
} ps_session;

/* Of one analysis in this round. */
static inline uint32_t ps_session_needs(const ps_session *s, size_t a) {
    const ps_analysis *analysis = s->analyses[a];
    if (s->round >= analysis->n_rounds) {
        return 0;
    }
    const ps_round *round = &analysis->rounds[s->round];
    return round->needs | (s->opts->analysis.in_full ? round->needs_in_full : 0);
}

/* --- run.c --- */

/* Of a session that knows its cluster, analyses and options. False when memory is out; it is ended in any case, but for its run. */
bool ps_session_init(ps_session *s, const ps_cluster_rank *const *ranks, size_t n_ranks,
                     size_t n_analyses);
/* What the ranks take while they are read, and what may be held. */
PS_MUST_USE ps_code ps_session_budget(ps_session *s, ps_err *err);
void ps_session_fini(ps_session *s);

/* The maps that see the trace of a rank, and those that see none. */
typedef enum ps_session_maps {
    PS_MAPS_WITH_TRACE = 1,
    PS_MAPS_WITHOUT = 2,
    PS_MAPS_ALL = 3
} ps_session_maps;
/* Runs maps of this round over a rank; what fails is in its report. */
void ps_session_map(ps_session *s, size_t r, ps_session_maps which);
/* The maps of this round that see no trace, over all ranks: where others have run the rest. */
void ps_session_map_rest(ps_session *s);
/* What is kept elsewhere need not be held: a process may have many ranks. */
void ps_session_forget_rank(ps_session *s, size_t r);
/* Nothing came of the rank in this round. */
void ps_session_fail_rank(ps_session *s, size_t r, const ps_err *err);
/* Tells of progress: a rank is done. Any thread may call it. */
void ps_session_step(ps_session *s);
/* Reads the rank and runs the maps of this round that see its trace. False: it is not known what they would have made. */
bool ps_session_read_and_map(ps_session *s, size_t r, ps_diag *look);
/* Whether any map of this round wants the trace of the rank. */
bool ps_session_needs_trace(const ps_session *s, size_t r);
/* The same of any rank. */
bool ps_session_any_needs_trace(const ps_session *s);

/* --- run_kept.c --- */

/* Which analyses see a trace in this round, and what their maps depend on in all ranks: the program, the options, what the last reduce left.
 * Without a key nothing is kept. */
void ps_session_begin_round(ps_session *s);
/* What those maps depend on beside, in one rank, and that: its place in the job, `files` (rank_files.h), what there is of it from
 * the last round. False: that is not known. */
bool ps_session_rank_key(const ps_session *s, size_t r, const char *files, ps_buf *key);
/* What those maps made of the rank, lent: the partials are the session's; NULL when memory is out. The caller ends it with
 * ps_session_end_lent(), which takes NULL. */
ps_rank_state *ps_session_lend(const ps_session *s, size_t r);
void ps_session_end_lent(ps_rank_state *x);
/* The state becomes the rank's. False, and nothing has changed, when memory is out. */
bool ps_session_take(ps_session *s, size_t r, ps_rank_state *x);
/* After the first round's maps: what they made of the rank goes where it takes no memory (base/spill.h), as far as it may. */
void ps_session_spill_rank(ps_session *s, size_t r);
/* The ps_archive_visit of what the last reduce left for those maps in all ranks. */
void ps_session_left_archive(ps_archive *a, void *session);
/* ps_session_read_and_map() with a cache. */
bool ps_session_map_cached(ps_session *s, size_t r, ps_diag *look);

#endif
