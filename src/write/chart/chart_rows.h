/* What a picture shows of a chart: the rows of one pipeline in one step, in stage order, with their figures.
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

/* Colour of a block: its kind, or PS_N_OP_KINDS + phase. */
enum { PS_ROW_LOOKS = PS_N_OP_KINDS + PS_N_PHASES };

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
    int64_t busy_ns; /* time with at least one op in it, transfers left out */
    int64_t cause_ns[PS_N_BUBBLE_CAUSES];
    int64_t look_ns[PS_ROW_LOOKS]; /* blocks that overlap count twice here */
} ps_row;

typedef struct ps_rows {
    const ps_chart *chart;
    int64_t step;
    int32_t pipeline;
    bool several_steps, several_pipelines, by_phase, has_transfers;
    int64_t start_ns, span_ns; /* span > 0 */
    ps_row *rows;
    size_t n;
    double busy_share;       /* mean of the rows that have ops */
    double bubble_share;     /* likewise; unless is_untold */
    bool is_untold;          /* the chart says why there is no bubble */
    ps_block *blocks, *idle; /* what the rows point into */
} ps_rows;

/* `step` may be PS_FIRST_STEP, `pipeline` -1: the first. PS_NOTHING when there is no op. ps_rows_fini in any case. */
PS_MUST_USE ps_code ps_rows_make(const ps_chart *chart, int64_t step, int32_t pipeline,
                                 ps_rows *out, ps_err *err);
void ps_rows_fini(ps_rows *rows);

bool ps_chart_has_step(const ps_chart *chart, int64_t step);

#endif
