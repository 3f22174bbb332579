/* What the maps of a round have made of one rank: all that the run room keeps of it, as one value that travels: into the cache, and
 * from shards to who reduces. */
#ifndef PS_RUN_RANK_STATE_H
#define PS_RUN_RANK_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/core/analysis.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/fs.h"
#include "run/run.h"

/* Of one analysis. */
typedef struct ps_state_part {
    void *partial; /* or NULL */
    bool took_part;
    const char *missing; /* as in ps_rank_report; NULL: nothing is */
} ps_state_part;

typedef struct ps_rank_state {
    const ps_analysis *const *analyses; /* borrowed: whose partials they are */
    size_t n_analyses;
    const char *key;      /* what it was made from; in the arena where it was read */
    ps_state_part *parts; /* [n_analyses] */
    ps_rank_status status;
    ps_err err;
    size_t n_nothing;
    char no_step[sizeof((ps_rank_report *)0)->no_step];
    ps_file_stamp stamp;
    bool has_stamp;
    ps_diag diag;
    ps_arena arena;
} ps_rank_state;

/* Without anything but room for the parts; NULL when memory is out. */
ps_rank_state *ps_rank_state_new(const ps_analysis *const *analyses, size_t n_analyses);
/* Partials that are still in it are freed: who lends or takes them sets them to NULL. NULL is fine. */
void ps_rank_state_free(ps_rank_state *state);

void ps_file_stamp_archive(ps_archive *a, ps_file_stamp *stamp);
/* The ps_archive_visit of a state that knows its analyses. */
void ps_rank_state_archive(ps_archive *a, void *state);

#endif
