/* How text output may look: what the terminal (or the reader of the file) can show. */
#ifndef PS_WRITE_TEXT_STYLE_H
#define PS_WRITE_TEXT_STYLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ps_colours {
    PS_COLOURS_NONE,
    PS_COLOURS_256,
    PS_COLOURS_TRUE /* 24 bit */
} ps_colours;

typedef struct ps_text_style {
    uint32_t width; /* columns; lines are at most this wide. 0: 100 */
    ps_colours colours;
    bool utf8;          /* else ASCII only, apart from the texts of the data */
    bool exact;         /* tables: every number as it is, no scaling of units */
    uint32_t max_lines; /* of a text that can leave something out; 0: all of it */
} ps_text_style;

#endif
