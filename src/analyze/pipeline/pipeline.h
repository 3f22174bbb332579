/* The pipeline in numbers: recognises a chart's schedule, links its ops, measures the bubble, replays the step. */
#ifndef PS_ANALYZE_PIPELINE_H
#define PS_ANALYZE_PIPELINE_H

#include "analyze/core/analysis.h"
#include "analyze/pipeline/chart_clock.h"
#include "analyze/pipeline/measured_plan.h"
#include "analyze/pipeline/replay.h"
#include "model/chart.h"

/* Percent of a rank's device work. A few are optimisers, gradients and what stands between steps; a chart that leaves out more
 * does not know when the device was idle. */
#define PS_UNEXPLAINED 20

typedef struct ps_pipeline_opts {
    const char *pp_type;   /* name of the schedule from metadata or the user, "" unknown */
    const char *how;       /* how it is known, "" when only recognised */
    int32_t n_stages;      /* 0: as many as the chart shows */
    bool n_stages_guessed; /* nothing but the ranks that are here says so */
    bool
        is_tried; /* nothing says that there is a pipeline: without a schedule that fits, ops in its order, PS_NOTHING */
    bool
        has_named_stages; /* the program named the stage of each op: whatever their times say, it is a pipeline */
    int32_t n_microbatches; /* 0 unknown */
    double
        unexplained_percent; /* of a rank's device work in no op; with more there is no bubble; 0: PS_UNEXPLAINED */
    const char *
        why_no_bubble; /* what of the captures forbids one: the end of a sentence; NULL or "": nothing */
    bool is_labelled;       /* the ops carry chunk and microbatch already (DualPipeV labels) */
    bool in_full;           /* all tables; else PipelineBubble only */
    ps_model_places places; /* for links of a chart with exact labels and an unknown schedule */
    ps_chart_clock_opts clocks;
    ps_replay_opts replay;
} ps_pipeline_opts;

/* What a reader of the figures must know. */
typedef struct ps_pipeline_notes {
    char said[128]; /* what was said and what ran instead; "" when they agree or nothing was said */
    const ps_schedule *schedule; /* recognised, or NULL */
    char unlinked
        [256]; /* why the ops have no links, or the replay is left out; "" when all is there */
    double
        best_agreement; /* in percent, of the schedule that fits best; -1: none was looked for, or none has as many ops */
    const ps_schedule *best; /* that one, recognised or not, or NULL */
    size_t n_missing;        /* ops of the schedule without a mark (not counted when is_labelled) */
    size_t n_unmarked_weights; /* DualPipeV's tail */
    ps_chart_clock_notes clocks;
    size_t
        n_early; /* ops that start before their input has ended, where these are more than a few */
    size_t n_stages_missing; /* stages of the job that the chart does not show */
} ps_pipeline_notes;

/* Fills the chart's clocks (and, when asked, moves its ops by them), links, bubbles, schedule and, unless labelled, chunks and microbatches; adds the table
 * PipelineBubble, and in full PipelineStep, PipelineWaits, PipelineReplay and PipelineNotReplayed, to the result. A chart without
 * computation is left as it is. */
PS_MUST_USE ps_code ps_pipeline_report(ps_chart *chart, const ps_pipeline_opts *opts,
                                       ps_result *result, ps_pipeline_notes *notes, ps_err *err);

/* What the notes say of the pipelines, counted on the diag of one of the chart's ranks. */
void ps_pipeline_notes_count(ps_lang lang, const ps_pipeline_notes *notes, ps_diag *diag);

#endif
