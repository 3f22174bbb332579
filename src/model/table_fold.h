/* Rows that say the same of many ranks or pipelines as one row, so that a table of a thousand ranks can be read.
 *
 * Columns that name what a row is about say so (ps_column.is_member). Rows are alike when
 *   - their texts, and their numbers without unit (a stage, a step), are equal, and the same cells are not known;
 *   - each count is within 5 % of that of the row that stands for them;
 *   - each time and percentage is, too, or where it is below half of the largest of its unit in the table, within 5 % of that half:
 *     60 ms are 80 ms in a step of a second.
 * Where that leaves more rows than are wanted, 10 % are near, and then 20 %.
 * The row that stands for others is the middle one of those with equal texts and numbers, by the first time or percentage of the
 * table; what is not alike to it is compared with the middle one of the rest, and so on. It is a row of the table: its figures belong
 * together. */
#ifndef PS_MODEL_TABLE_FOLD_H
#define PS_MODEL_TABLE_FOLD_H

#include "model/table.h"

/* A new table: the members of a row as text ("0-62, 64"), the other columns, then "alike" (how many rows it stands for) and
 * "within" (how far any time or percentage of these is from the one that is shown, in percent by the measure above). Rows come in the
 * order of the first that each stands for; their texts stay with `t`. `most_rows` are wanted (there may be more nevertheless); *near:
 * how near rows that are alike are, as a share. A table without members, one in which no rows are alike, and memory that runs out give
 * NULL: then `t` itself is what can be shown. */
ps_table *ps_table_fold(const ps_table *t, size_t most_rows, double *near);

/* The same without making a table of it, for who shows something else than rows. */
typedef struct ps_fold_kind {
    size_t row;                     /* of the table, which stands for those of the list */
    size_t first_row;               /* the first of them */
    size_t first_member, n_members; /* in the list, itself, too */
    double within;                  /* as a share */
} ps_fold_kind;

typedef struct ps_fold_kinds {
    ps_fold_kind *kinds; /* in the order of their first rows */
    size_t n;            /* 0 where ps_table_fold() gives NULL */
    size_t *members;     /* rows, a run for each kind */
    double near;
} ps_fold_kinds;

/* End with ps_fold_kinds_fini(). */
ps_fold_kinds ps_fold_kinds_of(const ps_table *t, size_t most_rows);
void ps_fold_kinds_fini(ps_fold_kinds *kinds);

#define PS_FOLD_ALIKE "alike"

/* A table with more rows than this is worth it, */
#define PS_FOLD_ROWS 15
/* and so many are wanted of one that was folded. */
#define PS_FOLD_MOST_ROWS 20

/* As near as rows have to be where that leaves few enough. */
#define PS_FOLD_NEAR 0.05

/* One line for people, below a table that was folded; with the nearness in percent. */
#define PS_FOLD_NOTE                                                                               \
    "Rows that are within %.0f %% of the middle one of their kind stand as that one (docs/alike-rows.md)."

#endif
