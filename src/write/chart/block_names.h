/* From which level on the blocks of a picture are named, so that it is of one piece (block_text.h has the levels). By look: the first level that
 * fits on four of five blocks that hold any text is the first for all ("9B" does not stand beside "10"). Of the others each has the first level
 * all names of which fit on the narrowest of those that look as wide in its row ("8+14" does not stand beside "14F+0B" as its B is a
 * pixel wider than an F). web/src/pipeline/labels.ts does the same for what is in sight.
 *
 * Zero it, count all blocks, choose, then ask row by row. */
#ifndef PS_WRITE_BLOCK_NAMES_H
#define PS_WRITE_BLOCK_NAMES_H

#include "write/chart/block_text.h"
#include "write/chart/chart_rows.h"

#define PS_NAME_SIZE 11 /* of the font */

typedef struct ps_block_names {
    int stop; /* levels that the blocks are high enough for */
    size_t fits[PS_BLOCK_LEVELS]
               [PS_ROW_LOOKS]; /* blocks that hold a text of this level, or of one before */
    double widest[PS_BLOCK_LEVELS][PS_ROW_LOOKS]; /* of all texts of the level */
    int first[PS_ROW_LOOKS];
} ps_block_names;

/* `room`: pixels for the text. */
void ps_block_names_count(ps_block_names *names, const ps_block *block, const ps_op *op,
                          double room);
void ps_block_names_choose(ps_block_names *names);

/* The level that each of the blocks of a row begins with, into levels[n]. False when memory is out. */
bool ps_block_names_of_row(const ps_block_names *names, const ps_blocks *row, const double *rooms,
                           uint8_t *levels);

/* The first text from `level` on that fits; false: none does. */
bool ps_block_name_fits(const ps_block_names *names, const ps_op *op, int level, double room,
                        ps_block_text *out);

#endif
