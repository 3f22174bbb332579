/* What SVG pictures are put together from. */
#ifndef PS_WRITE_SVG_H
#define PS_WRITE_SVG_H

#include "base/buf.h"
#include "write/out/theme.h"

/* A coordinate with at most one decimal. */
void ps_svg_number(ps_buf *out, double v);
void ps_svg_rgb(ps_buf *out, ps_rgb colour);

/* Text content: XML's special characters escaped, what XML cannot hold is '?'. */
void ps_svg_text(ps_buf *out, const char *text);

/* The element of the whole picture, on its ground; it ends with "</svg>\n". */
void ps_svg_begin(ps_buf *out, int width, int height, ps_rgb ground);

typedef enum ps_svg_anchor { PS_SVG_START, PS_SVG_MIDDLE, PS_SVG_END } ps_svg_anchor;

/* y is the base line, `more` further attributes (" font-weight=...") or "". */
void ps_svg_put_text(ps_buf *out, double x, double y, double size, ps_svg_anchor at, ps_rgb colour,
                     const char *more, const char *text);

/* `fill` as in the attribute. */
void ps_svg_put_rect(ps_buf *out, double x, double y, double w, double h, const char *fill);
void ps_svg_put_colour_rect(ps_buf *out, double x, double y, double w, double h, ps_rgb colour);

#endif
