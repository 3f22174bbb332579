/* The profiles of a query: read when a cursor comes to them, with the columns that the statement uses and no others, several at
 * once. Those that fit stay in memory until the query ends; else the ones looked at longest ago make room. */
#ifndef PS_QUERY_PARTS_H
#define PS_QUERY_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/derived/derived.h"
#include "analyze/rank/overlap.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/watch.h"
#include "model/trace.h"
#include "query/lender.h"
#include "run/cluster.h"
#include "run/run.h"

/* What a statement needs of every profile that it reads: ps_needs, and what is worked out of a trace. */
typedef struct ps_sql_needs {
    uint32_t trace; /* ps_needs bits; 0: the profile is not read */
    bool links;     /* with PS_NEED_SLICES and PS_NEED_FLOWS */
    bool self;      /* the same */
} ps_sql_needs;

#define PS_PART_CHUNK 4096u

/* A table made of one profile (profile_tables.h), kept with it. */
typedef struct ps_sql_made {
    const void *what;
    const char *asked; /* values and span that it was made for; in the arena of the part */
    ps_table *table;   /* NULL: `err` says why there is none */
    ps_err err;
    struct ps_sql_made *next;
} ps_sql_made;

typedef struct ps_sql_part {
    const ps_cluster_rank *rank;
    size_t index; /* among the profiles of the query */
    ps_err err;   /* why it could not be read; PS_OK */
    bool was_read;
    bool is_missed;        /* the statement that runs, or the last one, came to it in vain */
    size_t n_users;        /* cursors that stand in it */
    uint64_t last_use;     /* grows with every use */
    const ps_trace *trace; /* NULL: not in memory */
    ps_trace *own;         /* the same where it was read for the query */
    void *lent;            /* else what is given back */
    uint32_t has;          /* ps_needs bits that it was read with */
    ps_derived *derived;
    const ps_links *links; /* of the derived facts; NULL: nobody needed them yet */
    ps_overlaps overlaps;  /* of all steps, with spans, for ps_sql_part_overlaps() */
    bool has_overlaps;
    int64_t *self_ns;  /* [slices] */
    int64_t *last_end; /* [chunks of PS_PART_CHUNK slices]: the latest end in the chunk */
    ps_sql_made *made;
    ps_arena arena; /* of what was made */
} ps_sql_part;

typedef struct ps_sql_parts {
    const ps_cluster *cluster;
    const ps_sql_lender *lender; /* NULL: nobody lends */
    ps_sql_part *parts;          /* as many as the cluster has ranks */
    ps_sql_needs needs;
    const ps_analysis_opts *opts; /* of what is worked out */
    size_t n_threads;             /* 0: one per processor */
    size_t max_bytes;             /* of traces in memory */
    bool
        all_stay; /* they fit, by the sizes of their files: what a trace lends lives as long as the query */
    ps_watch *watch;
    uint64_t n_uses;
    ps_diag
        diag; /* of all traces that were read, and of what was worked out of them in the thread of the query */
} ps_sql_parts;

/* PS_NOMEM only; end with ps_sql_parts_fini() in any case. The cluster, the options and the watch must outlive it. */
PS_MUST_USE ps_code ps_sql_parts_init(ps_sql_parts *p, const ps_cluster *cluster,
                                      const ps_run_opts *opts, ps_watch *watch, ps_err *err);
void ps_sql_parts_fini(ps_sql_parts *p);

/* Which profiles a cursor comes to, in order. */
typedef bool ps_sql_part_wanted(const void *context, const ps_sql_part *part);

/* The part, and with `reads` its trace in memory, until ps_sql_part_leave(). Those that the cursor comes to next are read with it. A
 * part that cannot be read has its reason in part->err: PS_OK with its trace NULL. PS_NOMEM; PS_BUSY when the watch was stopped. */
PS_MUST_USE ps_code ps_sql_part_enter(ps_sql_parts *p, size_t index, bool reads,
                                      ps_sql_part_wanted *wanted, const void *context,
                                      ps_sql_part **out, ps_err *err);
void ps_sql_part_leave(ps_sql_part *part); /* NULL is fine */

/* Another statement begins: it misses nothing so far. */
void ps_sql_parts_begin(ps_sql_parts *p);

/* Of a part in memory that was read with links. NULL when memory is out. One thread at a time. */
const ps_overlaps *ps_sql_part_overlaps(ps_sql_part *part, ps_err *err);

#endif
