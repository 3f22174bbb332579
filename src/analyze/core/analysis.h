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

#include "base/diag.h"
#include "base/err.h"
#include "model/chart.h"
#include "model/layout.h"
#include "model/table.h"
#include "model/trace.h"

/* What an analysis hands out. Tables and chart are owned by the result. */
typedef struct ps_result {
    ps_table **tables;
    size_t n_tables, cap_tables;
    ps_chart *chart;   /* or NULL */
    ps_chart *against; /* what is drawn below it, or NULL */
} ps_result;

/* What the user said; the same for all analyses of a run. 0 or NULL: not said. */
typedef struct ps_analysis_opts {
    int64_t step_id; /* -1: all steps */
    int64_t tp, pp, cp, dp;
    bool order_given;    /* the user named the layout */
    ps_layout layout;    /* how the ranks lie in the dimensions */
    const char *pp_type; /* schedule name */
    int64_t n_microbatches;
    bool in_full;        /* pp_chart: critical path, waits and other schedules too */
    bool one_of_several; /* report: the run looks at one rank, and others may have been captured */
    /* pp_labels: rules for names of ranges, regular expressions; the first group of a match is the microbatch */
    const char *forward_re, *backward_re, *microbatch_re;
    int64_t
        unexplained; /* charts: percent of device work in no op above which no bubble is told; 0: the default */
    ps_clock_use clocks; /* charts: how the clocks of the machines are brought together */
    int64_t
        max_activations; /* of those, only schedules that hold no more (microbatches of a whole stage); 0: all */
    int64_t top_num;            /* 0: the analysis's own default */
    int64_t rank_id;            /* the rank that is looked at (communication_bottleneck); 0 */
    const char *parallel_types; /* "dp,edp;pp", as in recipes of msprof-analyze */
    bool exclude_op_name;       /* no table by operator name */
    double peak_tflops;         /* of 16-bit types; 0: from the profile */
    double fuzzy_threshold;     /* least likeness of module names, 0: 0.8 */
    int64_t module_depth;       /* modules of this depth at most; 0: all */
    const char *module_glob;    /* modules whose path or name matches; NULL: all */
    const ps_result *baseline;  /* what ps_analysis.baseline found in the baseline, or NULL */
    const char *without, *scale, *set; /* whatif: questions (whatif/question.h), NULL: none */
    bool
        with_timeline; /* whatif: the ops of the answer, else of the ideal steps, too; plan: charts */
    const double *cause_thresholds; /* whatif: [PS_N_WHATIF_THRESHOLDS], NULL: the defaults */
    const char *split;   /* plan: layers of the stages (whatif/split_plan.h), NULL: no plan */
    int32_t most_layers; /* plan: of a stage; 0: no limit */
    /* plan: what a device may hold and what pieces of the model take there (whatif/plan_pieces.h); 0: not said */
    int64_t memory_bytes, activation_bytes, layer_bytes, embedding_bytes, head_bytes;
    double
        weight_share; /* plan: of a backward, where weight gradients were not measured apart; 0: not said */
    int64_t plan_row;         /* plan: whose chart and stages are wanted; 0: the best */
    const double *thresholds; /* report: [PS_N_RULES] (report_rules.h), NULL: the defaults */
} ps_analysis_opts;

/* One rank of the run, as far as an analysis may know it. */
typedef struct ps_rank_info {
    int64_t rank;         /* global rank, -1 unknown */
    int32_t machine;      /* number of the host in a job of several, -1 unknown */
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
} ps_analysis;

/* All analyses in the order of analyses.def, NULL-terminated. */
const ps_analysis *const *ps_analyses(void);
/* By name, any case; NULL when there is none of that name. */
const ps_analysis *ps_analysis_find(const char *name);

/* Takes ownership of the table, also on failure. */
PS_MUST_USE ps_code ps_result_add(ps_result *r, ps_table *table, ps_err *err);
/* The first of that name, NULL when there is none or no result. */
const ps_table *ps_result_table(const ps_result *r, const char *name);
void ps_result_fini(ps_result *r);

/* The map of a round that only reduces, after others have made their results: the partial stays. */
PS_MUST_USE ps_code ps_map_nothing(const ps_map_input *in, void **partial, ps_err *err);

/* The result of the first analysis before this one that made a chart with ops, NULL when none did: that chart is the one that is
 * shown, and what others would say of theirs is not to be told. */
const ps_result *ps_result_charted(const ps_reduce_input *in);

#endif
