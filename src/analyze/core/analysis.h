/* Analyses: one file each, listed in analyses.def. An analysis runs in rounds over the ranks of a cluster:
 *
 *   map(rank): one sealed trace -> a partial (a small struct of the analysis's own)
 *   reduce:    all partials in rank order -> what the next round's map may look at, and results
 *
 * The run room reads the traces, runs the maps in parallel, hands results to the writers. Analyses never
 * open, print or write. */
#ifndef PS_ANALYZE_ANALYSIS_H
#define PS_ANALYZE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis_options.h"
#include "base/archive.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/watch.h"
#include "model/chart.h"
#include "model/table.h"
#include "model/trace.h"

/* What an analysis hands out. Tables and chart are owned by the result. */
typedef struct ps_result {
    ps_table **tables;
    size_t n_tables, cap_tables;
    bool failed;       /* memory ran out for one that was given */
    ps_chart *chart;   /* or NULL */
    ps_chart *against; /* what is drawn below it, or NULL */
} ps_result;

/* What the user said, a field for each line of analysis_options.def; the same for all analyses of a run. And what the program
 * says itself. */
typedef struct ps_analysis_opts {
#define X(kind, field, ...) ps_analysis_value_##kind field;
#include "analyze/core/analysis_options.def"
#undef X
    bool in_full;        /* pp_chart: critical path, waits and other schedules too */
    bool one_of_several; /* report: the run looks at one rank, and others may have been captured */
    const ps_result *baseline;      /* what ps_analysis.baseline found in the baseline, or NULL */
    const double *cause_thresholds; /* whatif: [PS_N_WHATIF_THRESHOLDS], NULL: the defaults */
    const ps_table
        *memory_facts; /* plan: what ranks held (modes/memory_facts.c), NULL: not looked for */
    const double *thresholds; /* report: [PS_N_RULES] (report_rules.h), NULL: the defaults */
    ps_watch *watch; /* long loops ask it now and then, and give up with PS_BUSY; or NULL */
} ps_analysis_opts;

/* One rank of the run, as far as an analysis may know it. */
typedef struct ps_rank_info {
    int64_t rank;         /* global rank, -1 unknown */
    int32_t machine;      /* number of the host in a job of several, -1 unknown */
    bool names_ops;       /* its capture names every op of a step (model/worker_ops.h) */
    const char *profiler; /* profiles of different profilers are never paired with one another */
    const char *dir;      /* its directory, below the input directory; "." itself, NULL unknown */
} ps_rank_info;

struct ps_derived; /* derived.h */

typedef struct ps_map_input {
    const ps_trace *trace;      /* NULL in a round without needs */
    struct ps_derived *derived; /* of the trace, for all analyses that look at it */
    const ps_rank_info *rank;
    const ps_analysis_opts *opts;
    void *partial;      /* this rank's partial of the last round, NULL in the first */
    const void *shared; /* what the last reduce left, NULL in the first round */
    ps_diag *diag;      /* of this rank */
} ps_map_input;

typedef struct ps_reduce_input {
    const ps_rank_info *ranks;
    void *const *partials; /* [n_ranks], NULL for ranks that failed */
    ps_diag *const *diags; /* [n_ranks] */
    size_t n_ranks;
    const ps_analysis_opts *opts;
    void *shared; /* the last reduce's, or NULL */
    ps_result *result;
    const ps_result *
        before; /* of the analyses that stand before this one in the run, as far as their rounds have come */
    size_t n_before;
    struct ps_job_skew *job_skew; /* derived/job_skew.h, kept for all analyses of this reduce */
} ps_reduce_input;

typedef struct ps_round {
    uint32_t needs;         /* ps_needs bits; 0: map sees no trace */
    uint32_t needs_in_full; /* these too, with ps_analysis_opts.in_full */
    /* Makes or goes on with the rank's partial: returns it in *partial (may be the same). PS_NOTHING means the
     * rank has nothing to analyse: `err` says what is missing; a partial may be left all the same. */
    ps_code (*map)(const ps_map_input *in, void **partial, ps_err *err);
    /* NULL: yes. Whether this rank's map has anything to look at, told without a trace; one that no analysis wants is
     * not read. */
    bool (*wants)(const ps_map_input *in);
    /* May be NULL. *shared is what the next round sees. */
    ps_code (*reduce)(const ps_reduce_input *in, void **shared, ps_err *err);
} ps_round;

/* Where rank-homed tables go. The last two need databases of ranks: other formats are not read for them. */
typedef enum ps_writes {
    PS_WRITES_CLUSTER,  /* it makes none: the ranks may be of any format */
    PS_WRITES_RANK_DB,  /* into the rank's own database, or its mirrored copy with -o */
    PS_WRITES_RANK_COPY /* always into copies in the output folder */
} ps_writes;

/* The modes that stand for several. */
typedef enum ps_mode_set {
    PS_IN_ALL = 1u << 0, /* -m all: the basic tables of a cluster */
    PS_IN_EVERY =
        1u << 1 /* -m every: all that need no further input and write only to the output folder */
} ps_mode_set;

typedef struct ps_analysis {
    const char *name;    /* -m NAME */
    const char *folder;  /* in cluster_analysis_output/ */
    const char *summary; /* one line for `pipescope modes` */
    bool hidden;         /* no mode of `cluster`: other commands use it */
    uint32_t sets;       /* ps_mode_set bits */
    const char
        *baseline; /* name of the analysis that is run over the baseline's ranks first, or NULL */
    ps_writes writes;
    const ps_round *rounds;
    size_t n_rounds;
    void (*free_partial)(void *partial);
    void (*free_shared)(void *shared);
    /* A partial as bytes, and what a reduce left where another round looks at it; NULL: it leaves nothing. */
    ps_archive_value *archive;
    ps_archive_value *archive_shared;
} ps_analysis;

/* All analyses in the order of analyses.def, NULL-terminated. */
const ps_analysis *const *ps_analyses(void);
/* By name, any case; NULL when there is none of that name. */
const ps_analysis *ps_analysis_find(const char *name);

/* Takes ownership of the table, also on failure. */
PS_MUST_USE ps_code ps_result_add(ps_result *r, ps_table *table, ps_err *err);
/* The same for one of several tables: that memory ran out is remembered, and told by ps_result_code(), which ends the
 * reduce. */
void ps_result_give(ps_result *r, ps_table *table);
PS_MUST_USE ps_code ps_result_code(const ps_result *r, ps_err *err);
/* The first of that name, NULL when there is none or no result. */
const ps_table *ps_result_table(const ps_result *r, const char *name);
void ps_result_fini(ps_result *r);

/* The map of a round that only reduces, after others have made their results: the partial stays. */
PS_MUST_USE ps_code ps_map_nothing(const ps_map_input *in, void **partial, ps_err *err);

/* The result of the first analysis before this one that made a chart with ops, NULL when none did: that chart is the one that is
 * shown, and what others would say of theirs is not to be told. */
const ps_result *ps_result_charted(const ps_reduce_input *in);

#endif
