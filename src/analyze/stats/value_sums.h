/* Values under texts: all durations of one rank by operator, type and shapes, or by call, in a form that outlives the
 * trace; and all ranks of a run brought together. Every value is kept, so that quantiles over ranks are true ones. */
#ifndef PS_ANALYZE_VALUE_SUMS_H
#define PS_ANALYZE_VALUE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/stats.h"
#include "base/archive.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/idmap.h"
#include "base/strpool.h"
#include "model/trace.h"

#define PS_SUM_KEYS 4

/* What a profiler's table says of values that are not there one by one. */
typedef struct ps_summary_values {
    const char *keys[PS_SUM_KEYS]; /* NULL: not used */
    size_t n;
    int64_t sum, min, max;
} ps_summary_values;

typedef struct ps_value_group {
    ps_str keys[PS_SUM_KEYS]; /* of the pool of the sums; none: not used */
    size_t first, n;          /* in values, sorted */
    ps_summary_values told;   /* n 0: nothing but its values; its keys are those above */
} ps_value_group;

typedef struct ps_value_sums {
    ps_value_group *groups; /* in the order in which they were met */
    size_t n_groups;
    int64_t *values;
    size_t n_values;
    ps_strpool strings;
} ps_value_sums;

/* Collects from one trace. Zeroed with the trace set is empty; end with ps_value_adder_fini(). */
typedef struct ps_value_adder {
    const ps_trace *trace;
    ps_value_group *groups; /* keys are texts of the trace */
    size_t n_groups, cap_groups;
    ps_idmap rows; /* hash of the keys, or the next free number after it -> group */
    bool has_rows;
    int64_t *values;
    uint32_t *group_of; /* of each value */
    size_t n, cap_values, cap_group_of;
    ps_summary_values *told;
    size_t n_told, cap_told;
    ps_arena told_texts; /* for texts that are made of what a table has */
} ps_value_adder;

/* Adds a value under texts of the trace. False when memory is out. */
bool ps_value_adder_add(ps_value_adder *a, const ps_str keys[PS_SUM_KEYS], int64_t value);
/* Adds what a table says; its texts are borrowed until ps_value_adder_finish(). False when memory is out. */
bool ps_value_adder_add_summary(ps_value_adder *a, const ps_summary_values *told);
/* Takes count, sum, least and most of a row from the columns of these names (sums in us). False when one is missing or no
 * number. */
bool ps_summary_values_read(const ps_table *t, size_t row, const char *const names[4],
                            ps_summary_values *out);
/* Nothing was added. */
static inline bool ps_value_adder_is_empty(const ps_value_adder *a) {
    return a->n == 0 && a->n_told == 0;
}
/* What was collected. End with ps_value_sums_fini() in any case. PS_NOMEM only. */
PS_MUST_USE ps_code ps_value_adder_finish(const ps_value_adder *a, ps_value_sums *out, ps_err *err);
void ps_value_adder_fini(ps_value_adder *a);
void ps_value_sums_fini(ps_value_sums *s);

/* Groups that agree in the chosen keys, as one. Texts belong to the sums. */
typedef struct ps_sum_row {
    const char *keys[PS_SUM_KEYS]; /* "" where not chosen */
    size_t rank_index;             /* of the first rank in it */
    /* Deviations and quartiles are NaN where some of it was only told. */
    ps_stats stats;
} ps_sum_row;

typedef struct ps_sum_rows {
    ps_sum_row *rows; /* by the texts of the keys, then rank */
    size_t n;
} ps_sum_rows;

/* Joins the sums of ranks (entries may be NULL) by the keys whose bit is set in `keys`, each rank for itself or all
 * together. End with ps_sum_rows_fini() in any case. PS_NOMEM only. */
PS_MUST_USE ps_code ps_value_sums_join(const ps_value_sums *const *sums, size_t n_ranks,
                                       unsigned keys, bool by_rank, ps_sum_rows *out, ps_err *err);
void ps_sum_rows_fini(ps_sum_rows *r);

/* Largest sum first, then by keys and rank. */
void ps_sum_rows_by_sum(ps_sum_rows *r);
/* By rank; inside of a rank the largest sum first, then by keys. */
void ps_sum_rows_by_rank(ps_sum_rows *r);
/* Of rows in the order they come in: the first with these texts, or where it would stand. */
size_t ps_sum_rows_find(const ps_sum_rows *r, const ps_sum_row *row);
/* Whether two rows have the same texts. */
bool ps_sum_row_same(const ps_sum_row *a, const ps_sum_row *b);

/* As the value that a pointer owns. */
void ps_value_sums_archive(ps_archive *a, void **sums);

#endif
