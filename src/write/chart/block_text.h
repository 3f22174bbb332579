/* What is written on the block of an op: its name, or less of it, and never a part of a number. Pictures and pages have the same texts; which of
 * them a block has is chosen where its width is known, by one rule (block_names.h; web/src/pipeline/labels.ts).
 * A bare number is a forward: what is none has the letter of its kind beside it, or no text where that has no room. */
#ifndef PS_WRITE_BLOCK_TEXT_H
#define PS_WRITE_BLOCK_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/chart.h"

/* Whether a number alone says what the op is: a forward ("3"), or a pair ("7+13"). */
bool ps_block_is_told_by_number(const ps_op *op);

/* From most to least: the full name ("7F+13B"), that without its letters ("7+13"), and this in two lines where a block is high enough. What
 * is left out stays out: no level has a letter that the one before it has not. */
enum { PS_BLOCK_LEVELS = 3, PS_BLOCK_LEVELS_FLAT = 2, PS_BLOCK_TEXT_SIZE = 48 };

/* A text of one line, or of two ("7", "13"). */
typedef struct ps_block_text {
    char text[PS_BLOCK_TEXT_SIZE];
    const char *second; /* in text, or NULL */
} ps_block_text;

/* The text of a level; a name without such a form keeps that of the level before. False when there is nothing to write. */
bool ps_block_text_of(const ps_op *op, int level, ps_block_text *out);

/* Adds "7F+13B","7+13","7\n13": all levels as strings that `add_str` writes, "" for one like the level before. Nothing for a
 * name that is too long to be made less of. */
void ps_block_texts_add(ps_buf *out, const ps_op *op, void (*add_str)(ps_buf *, const char *));

#endif
