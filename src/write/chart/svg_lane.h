/* One lane of blocks as SVG: blocks of at least two pixels as themselves, thinner ones together as stacked shares of
 * time, so that nothing vanishes. Only the picture's own file includes this. */
#ifndef PS_WRITE_SVG_LANE_H
#define PS_WRITE_SVG_LANE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "write/chart/chart_rows.h"

typedef struct ps_svg_scale {
    double x, width;  /* of the plot, pixels */
    double px_per_ns; /* times count from the plot's left edge */
} ps_svg_scale;

typedef struct ps_svg_lane {
    const ps_rows *rows;
    const ps_blocks *blocks;
    double y, height;
    double run_gap; /* thin blocks further apart than this belong to different runs */
    bool rounded;
    bool titles;           /* say what each block is when the pointer is on it */
    const ps_rgb *colours; /* [PS_ROW_LOOKS] */
} ps_svg_lane;

PS_MUST_USE ps_code ps_svg_put_lane(const ps_svg_scale *scale, const ps_svg_lane *lane, ps_buf *out,
                                    ps_err *err);

#endif
