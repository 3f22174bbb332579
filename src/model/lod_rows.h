/* The rows of a lane: which slices can stand side by side without covering one another. */
#ifndef PS_MODEL_LOD_ROWS_H
#define PS_MODEL_LOD_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/trace.h"

/* How many slices each row has. Zero it to begin. */
typedef struct ps_lod_rows {
    uint32_t *n; /* [n_rows], ps_free */
    size_t n_rows, cap;
} ps_lod_rows;

/* Gives each of the slices order[0..n), which come by start and longer first, the lowest row whose slices have ended by
 * then; for slices that nest that is their depth. Slices deeper than PS_LOD_MAX_ROWS share the last row. row_of[i] is the row of
 * order[i]. False when memory is out. */
bool ps_lod_rows_pack(const ps_slices *s, const uint32_t *order, uint32_t n, uint16_t *row_of,
                      ps_lod_rows *rows);

/* Regroups `order` by row, by start in each; the same arguments. */
bool ps_lod_rows_regroup(uint32_t *order, uint32_t n, const uint16_t *row_of,
                         const ps_lod_rows *rows);

#endif
