/* The stages of the report's pipelines: sums over the steps of each, and one stage over several pipelines. */
#ifndef PS_ANALYZE_REPORT_STAGES_H
#define PS_ANALYZE_REPORT_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/report.h"
#include "base/idmap.h"

/* One stage of one pipeline, sums over the steps. */
typedef struct ps_report_stage {
    int32_t stage, pipeline, rank;
    int64_t n_steps;
    int64_t busy_ns, bubble_ns, warmup_ns, stall_ns, cooldown_ns;
    int64_t for_stages_ns, transfer_ns, other_ns;
} ps_report_stage;

/* Of a chart; who made it frees stages, numbers, of_number and the maps. */
typedef struct ps_report_pipes {
    ps_report *report;        /* of the findings; NULL: only the sums are wanted */
    const ps_result *made;    /* the chart with its tables */
    const int64_t *only_step; /* of it, NULL: all are summed up */
    ps_report_stage *
        stages; /* by pipeline, in the order of PipelineBubble's first step; those whose bubble is told */
    size_t n, cap;
    ps_idmap stage_at; /* of each rank, where it is in `stages` */
    int32_t *numbers;  /* [n_numbers] the stages that they are, ascending */
    size_t n_numbers, n_pipelines;
    const ps_report_stage **of_number; /* [n] scratch */
    int64_t step_ns;                   /* mean of the chart's */
    double ideal;                      /* the schedule's own bubble, percent; below 0: not known */
    double bubble;                     /* of the mean stage, percent */
    ps_idmap
        part_steps; /* of each pipeline (part_key), those that are in no mean: they have fewer ops than others */
    size_t n_part_steps;
    int64_t a_part_step;
} ps_report_pipes;

static inline int64_t ps_stages_mean(int64_t sum, int64_t n) {
    return n > 0 ? sum / n : 0;
}

/* Fills part_steps, of `made` alone; false when memory is out. */
bool ps_stages_find_parts(ps_report_pipes *p);
/* Whether the step of the pipeline is one of them. */
bool ps_stages_is_part(const ps_report_pipes *p, int64_t step, int32_t pipeline);
/* Fills `stages` of `made` and part_steps, then `numbers` and `of_number`; false when memory is out. */
bool ps_stages_sum(ps_report_pipes *p);
bool ps_stages_number(ps_report_pipes *p);

typedef int64_t ps_stage_time_fn(const ps_report_stage *s); /* sum over its steps */

/* One stage in all its pipelines, by a time: the lower median and the largest of them. */
typedef struct ps_stage_over {
    const ps_report_stage *median, *worst;
    size_t n;
} ps_stage_over;

ps_stage_over ps_stages_over(const ps_report_pipes *p, int32_t number, ps_stage_time_fn *of);

typedef struct ps_stage_text {
    char text[48];
} ps_stage_text;

/* "stage 3", and of which pipeline where there are several; `begins` a sentence. */
ps_stage_text ps_stage_name(const ps_report_pipes *p, const ps_report_stage *s, bool begins);

typedef struct ps_stages_text {
    char text[64];
} ps_stages_text;

/* "4 stages", "4 stages of 16 pipelines" */
ps_stages_text ps_stages_count(const ps_report_pipes *p);

#endif
