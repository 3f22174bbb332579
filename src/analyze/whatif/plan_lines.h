/* How a plan is written for the frameworks that can run it: what to paste. */
#ifndef PS_ANALYZE_PLAN_LINES_H
#define PS_ANALYZE_PLAN_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "schedule/schedule.h"

typedef struct ps_plan_line_ask {
    const ps_schedule *schedule;
    ps_schedule_params params;
    const int32_t *layers; /* [n_pieces] along the way through the model */
    int32_t n_pieces;
} ps_plan_line_ask;

/* Each appends its text, or nothing where the framework does not run that schedule or cannot be told that split.
 *
 * Megatron-LM: --pipeline-model-parallel-layout "Et*9|t*9|t*9|t*5L" (E embedding, t layer, L loss, | next stage, in the order of the
 * way through the model), or --num-layers-per-virtual-pipeline-stage where all pieces have as many. MindSpeed: --num-layer-list 9,9,9,5,
 * --schedules-method dualpipev, else as Megatron-LM. torchtitan: lines of its configuration. PyTorch: the class of the schedule and the
 * first layers of the stages, in a model that calls them layers.N. */
void ps_plan_line_megatron(const ps_plan_line_ask *ask, ps_buf *out);
void ps_plan_line_mindspeed(const ps_plan_line_ask *ask, ps_buf *out);
void ps_plan_line_torchtitan(const ps_plan_line_ask *ask, ps_buf *out);
void ps_plan_line_pytorch(const ps_plan_line_ask *ask, ps_buf *out);

/* "Et*9|t*9|t*9|t*5L" */
void ps_plan_layout(const int32_t *layers, int32_t n_pieces, ps_buf *out);
/* "9,9,9,5" */
void ps_plan_list(const int32_t *layers, int32_t n_pieces, ps_buf *out);
/* "layers.9,layers.18,layers.27" */
void ps_plan_points(const int32_t *layers, int32_t n_pieces, ps_buf *out);

typedef struct ps_plan_framework {
    const char *name;
    void (*write)(const ps_plan_line_ask *, ps_buf *); /* nothing where it does not run the plan */
} ps_plan_framework;

enum { PS_N_PLAN_FRAMEWORKS = 4 };
extern const ps_plan_framework PS_PLAN_FRAMEWORKS[PS_N_PLAN_FRAMEWORKS];

/* Whether any of them runs the plan. False: memory is out. */
PS_MUST_USE bool ps_plan_has_line(const ps_plan_line_ask *ask, bool *has);

#endif
