/* What every picture shows of a chart (text, SVG, page): the rows of one pipeline in one step, in stage order, with their figures,
 * their heights, and in which of them a part lies.
 *
 * Times count from the start of the step's computation (a receive may be posted long before it); the window ends
 * with its last op. Idle times are the chart's own bubbles, or else the gaps between ops. */
#ifndef PS_WRITE_CHART_ROWS_H
#define PS_WRITE_CHART_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/chart.h"
#include "write/out/theme.h"

/* Colour of a block: its kind, PS_N_OP_KINDS + phase, or that of work in no op. */
enum { PS_LOOK_OTHER_WORK = PS_N_OP_KINDS + PS_N_PHASES, PS_ROW_LOOKS };

typedef struct ps_block {
    int64_t start_ns, end_ns;
    uint32_t op;  /* row in the chart's ops; PS_NO_INDEX for idle time */
    uint8_t look; /* of idle time: ps_bubble_cause */
} ps_block;

typedef struct ps_blocks {
    ps_block *at; /* in start order */
    size_t n;
} ps_blocks;

typedef struct ps_row {
    const ps_chart_rank *rank;
    ps_blocks ops, transfers, idle;
    ps_blocks others; /* work of the device in no op */
    int64_t busy_ns;  /* time with at least one op in it, transfers left out */
    int64_t other_ns; /* of the others */
    int64_t cause_ns[PS_N_BUBBLE_CAUSES];
    int64_t look_ns[PS_ROW_LOOKS]; /* blocks that overlap count twice here */
} ps_row;

typedef struct ps_rows {
    const ps_chart *chart;
    int64_t step;
    int32_t pipeline;
    bool several_steps, several_pipelines, by_phase, has_transfers;
    size_t n_pipelines;        /* that have ops in the step */
    bool is_longest;           /* of them (ps_longest_pipeline) */
    int64_t start_ns, span_ns; /* span > 0 */
    ps_row *rows;
    size_t n;
    double busy_share;                /* mean of the rows that have ops */
    double bubble_share;              /* likewise; unless is_untold */
    bool is_untold;                   /* the chart says why there is no bubble */
    bool has_others;                  /* any row */
    double unmarked_share;            /* of the bubble, what may be ops without marks */
    ps_block *blocks, *idle, *others; /* what the rows point into */
} ps_rows;

/* The first step with ops, of those asked for, and in it the pipeline that takes longest, or the first where it is no longer than
 * that by more than rows that are alike: *step may be PS_FIRST_STEP, *pipeline -1. PS_NOTHING when there is no op. */
PS_MUST_USE ps_code ps_chart_choose(const ps_chart *chart, int64_t *step, int32_t *pipeline,
                                    ps_err *err);

/* `step` and `pipeline` as above. ps_rows_fini in any case. */
PS_MUST_USE ps_code ps_rows_make(const ps_chart *chart, int64_t step, int32_t pipeline,
                                 ps_rows *out, ps_err *err);
void ps_rows_fini(ps_rows *rows);

bool ps_chart_has_step(const ps_chart *chart, int64_t step);
bool ps_op_is_transfer(const ps_op *op); /* SEND or RECV: they run beside the computation */

/* Where the parts of a row's ops are drawn, one below the other. */
typedef enum ps_part_row {
    PS_PART_FORWARD,
    PS_PART_BACKWARD,
    PS_PART_COMMUNICATION,
    PS_N_PART_ROWS
} ps_part_row;
ps_part_row ps_part_row_of(const ps_chart_part *part);
/* Whether it is of an op of the row. */
bool ps_row_has_part(const ps_rows *rows, const ps_row *row, const ps_chart_part *part);
/* Its colour, as of a block. */
int ps_part_look(const ps_chart_part *part);

/* Heights of what stands in a row, in pixels, by how many rows there are. */
typedef struct ps_row_size {
    int most_rows;      /* it is the first of the list with as many as there are */
    int block, between; /* of the ops; above each of the lower ones */
    int lower;          /* theory, and each row of parts */
    int transfers;
    int below; /* before the next row */
} ps_row_size;

/* Less of a bubble that may be ops without marks is not told beside it. */
#define PS_UNMARKED_SAID 0.0005

/* Work in no op lies at the foot of its row, in a third of its height. */
double ps_other_work_height(double block);

/* Blocks lower than this carry no name; from the second on names may have two lines. */
enum { PS_NAME_HEIGHT = 13, PS_TWO_LINES_HEIGHT = 25 };

enum { PS_N_ROW_SIZES = 7 };
extern const ps_row_size ps_row_sizes[PS_N_ROW_SIZES]; /* from high to low */
const ps_row_size *ps_row_size_for(size_t n_rows);

/* Lines of the pattern of idle time, by cause: warm-up rises, a stall is crossed, cool-down falls. */
enum { PS_HATCH_RISES = 1, PS_HATCH_FALLS = 2 };
int ps_hatch_of(ps_bubble_cause cause);

/* The computation of a step in a pipeline, in the chart's times; end < start: it has none. */
typedef struct ps_chart_window {
    int32_t pipeline;
    int64_t step, start_ns, end_ns;
} ps_chart_window;

/* All that have ops, by pipeline and start. The caller frees them with ps_free(); PS_NOMEM. */
PS_MUST_USE ps_code ps_chart_windows(const ps_chart *chart, ps_chart_window **out, size_t *n,
                                     ps_err *err);

/* All of them once more by step, then by pipeline. */
void ps_chart_windows_by_step(ps_chart_window *windows, size_t n);

/* The pipeline that makes a step as long as it is: the one that takes longest of those with ops in it. -1 where that is no more than
 * PS_FOLD_NEAR longer than the first of them, or, where it is the first, than any: they are alike. `windows`: all of that step, by pipeline, and others; *n_pipelines: how many have ops in it. */
int32_t ps_longest_pipeline(const ps_chart_window *windows, size_t n, int64_t step,
                            size_t *n_pipelines);

#endif
