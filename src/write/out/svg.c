#include "write/out/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define FONT "-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif"

void ps_svg_number(ps_buf *out, double v) {
    long tenths = lround(v * 10);
    long size = labs(tenths);
    ps_buf_addf(out, "%s%ld", tenths < 0 ? "-" : "", size / 10);
    if (size % 10 != 0) {
        ps_buf_addf(out, ".%ld", size % 10);
    }
}

void ps_svg_rgb(ps_buf *out, ps_rgb c) {
    ps_buf_addf(out, "#%02x%02x%02x", c.r, c.g, c.b);
}

void ps_svg_text(ps_buf *out, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        size_t bytes = ps_utf8_len(text + i, n - i);
        const unsigned char *c = (const unsigned char *)text + i;
        bool not_a_character = bytes == 3 && c[0] == 0xEF && c[1] == 0xBF && c[2] >= 0xBE;
        if (bytes == 0 || not_a_character || (bytes == 1 && (c[0] < 0x20 || c[0] == 0x7F))) {
            ps_buf_add_char(out, bytes == 1 ? ' ' : '?');
        } else if (c[0] == '&') {
            ps_buf_add_str(out, "&amp;");
        } else if (c[0] == '<') {
            ps_buf_add_str(out, "&lt;");
        } else if (c[0] == '>') {
            ps_buf_add_str(out, "&gt;");
        } else {
            ps_buf_add(out, text + i, bytes);
        }
        i += bytes > 0 ? bytes : 1;
    }
}

void ps_svg_begin(ps_buf *out, int width, int height, ps_rgb ground) {
    ps_buf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                "viewBox=\"0 0 %d %d\" font-family=\"" FONT "\" "
                "style=\"font-variant-numeric:tabular-nums\">\n",
                width, height, width, height);
    ps_svg_put_colour_rect(out, 0, 0, width, height, ground);
}

void ps_svg_put_text(ps_buf *out, double x, double y, double size, ps_svg_anchor at, ps_rgb colour,
                     const char *more, const char *text) {
    static const char *const ANCHORS[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    ps_buf_add_str(out, "<text x=\"");
    ps_svg_number(out, x);
    ps_buf_add_str(out, "\" y=\"");
    ps_svg_number(out, y);
    ps_buf_add_str(out, "\" font-size=\"");
    ps_svg_number(out, size);
    ps_buf_addf(out, "\"%s%s fill=\"", ANCHORS[at], more);
    ps_svg_rgb(out, colour);
    ps_buf_add_str(out, "\">");
    ps_svg_text(out, text);
    ps_buf_add_str(out, "</text>\n");
}

void ps_svg_put_rect(ps_buf *out, double x, double y, double w, double h, const char *fill) {
    ps_buf_add_str(out, "<rect x=\"");
    ps_svg_number(out, x);
    ps_buf_add_str(out, "\" y=\"");
    ps_svg_number(out, y);
    ps_buf_add_str(out, "\" width=\"");
    ps_svg_number(out, w);
    ps_buf_add_str(out, "\" height=\"");
    ps_svg_number(out, h);
    ps_buf_addf(out, "\" fill=\"%s\"/>\n", fill);
}

void ps_svg_put_colour_rect(ps_buf *out, double x, double y, double w, double h, ps_rgb colour) {
    char fill[8];
    (void)snprintf(fill, sizeof fill, "#%02x%02x%02x", colour.r, colour.g, colour.b);
    ps_svg_put_rect(out, x, y, w, h, fill);
}
