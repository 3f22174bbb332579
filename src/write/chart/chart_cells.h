/* One row of the terminal's pipeline chart: ops over time become character cells.
 *
 * Only the picture's own file includes this. */
#ifndef PS_WRITE_CHART_CELLS_H
#define PS_WRITE_CHART_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/chart.h"
#include "write/chart/chart_rows.h"
#include "write/out/text_style.h"

/* What a block stands for: its kind, or (PS_N_OP_KINDS + phase) where phases are told apart by colour. */
typedef int8_t ps_look;
enum { PS_LOOK_IDLE = -1 };

typedef struct ps_canvas {
    ps_text_style style;
    bool by_phase;
    bool snap; /* block edges at whole cells: less exact, more labels */
    size_t n_cells;
    int64_t start_ns,
        span_ns;            /* what the cells cover; span > 0 and span * n_cells * 8 fits int64 */
    const ps_block *others; /* [n_others] of the row at hand: work in no op, from start_ns on */
    size_t n_others;
} ps_canvas;

ps_look ps_look_of(const ps_canvas *canvas, const ps_op *op);

/* The label for a block with room for `room` characters: its name ("12F+0B"), or the numbers of it ("12+0") where they
 * say what it is (block_text.h), and never a part of a number. Returns the length, 0 for none; not terminated. */
enum { PS_CELLS_LABEL = 16 };
size_t ps_cells_label(const ps_op *op, size_t room, char out[PS_CELLS_LABEL]);

/* Draws the ops (in start order, transfers left out) as exactly n_cells columns. Sets *mixed when a cell shows
 * several short ops as a mixture; leaves it alone otherwise. */
PS_MUST_USE ps_code ps_cells_draw(const ps_canvas *canvas, const ps_op *const *ops, size_t n_ops,
                                  bool *mixed, ps_buf *out, ps_err *err);

/* Idle time in which the device works all the same, one column. */
const char *ps_cells_other_work(const ps_canvas *canvas);

/* A small sample of a look for the legend, two columns. */
void ps_cells_swatch(const ps_canvas *canvas, ps_look look, ps_buf *out);

/* The thin row of sends and receives below the blocks, n_cells columns. */
PS_MUST_USE ps_code ps_cells_transfers(const ps_canvas *canvas, const ps_op *const *ops,
                                       size_t n_ops, ps_buf *out, ps_err *err);

#endif
