/* The pipelines of a large job that behave alike, as one of them, for a page that stays small (docs/alike-rows.md): those are alike whose
 * stages are, in every step, by the times that the chart has measured. */
#ifndef PS_WRITE_CHART_ALIKE_H
#define PS_WRITE_CHART_ALIKE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json_write.h"
#include "model/chart.h"

/* A page with more ranks than this is worth it, */
#define PS_ALIKE_RANKS 64
/* and so many, or those of three pipelines, are wanted of it. */
#define PS_ALIKE_MOST_RANKS 128

typedef struct ps_alike_pipeline {
    int32_t pipeline;    /* is shown */
    const char *members; /* "0-1, 3-63" */
    size_t n;            /* for so many, itself, too */
    double within;       /* as a share */
} ps_alike_pipeline;

typedef struct ps_chart_alike {
    ps_chart *chart; /* those that are shown, texts stay with the whole chart; NULL: all are */
    ps_alike_pipeline *pipelines;
    size_t n_shown, n_pipelines;
    int32_t *shown_for; /* by pipeline in ascending order: which is shown for it, -1 none */
    size_t n_left_out;  /* pipelines that no one stands for */
    double near;        /* as a share */
    ps_arena arena;     /* texts */
} ps_chart_alike;

/* `pipeline` is shown for those that it is alike to. End with ps_chart_alike_fini(). */
PS_MUST_USE ps_code ps_chart_alike_find(const ps_chart *chart, int32_t pipeline,
                                        ps_chart_alike *out, ps_err *err);
void ps_chart_alike_fini(ps_chart_alike *alike);

/* "alike":{"near":0.05,"ranks":1024,"pipelines":64,"left_out":0,"shown":[[pipeline,members,n,within],...],
 *          "steps":[...],"stages":[...],"of":[...],"by":[...],"busy":"..."}
 * `of`: all pipelines; `by`: which is shown for each, -1 none.
 * `busy`: what each stage of each pipeline (in the order of the lists) worked in each step, ns + 1 as differences to the one before as
 * in chart_pack.h, 0 where that is not known; of several ranks of a stage the longest. */
PS_MUST_USE ps_code ps_chart_alike_put(const ps_chart_alike *alike, const ps_chart *whole,
                                       ps_json *j, ps_err *err);

#endif
