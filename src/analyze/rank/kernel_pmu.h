/* What was measured inside of kernels, as columns: the arguments that are neither a field of their own (kernel_args.h) nor
 * only numbers of events, and of Ascend databases the rows of TASK_PMU_INFO. */
#ifndef PS_ANALYZE_KERNEL_PMU_H
#define PS_ANALYZE_KERNEL_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/kernel_args.h"
#include "base/idmap.h"
#include "base/strpool.h"
#include "model/table.h"
#include "model/trace.h"

#define PS_PMU_MAX 96 /* columns; what is beyond is left out */

typedef struct ps_pmu_column {
    const char *name; /* of the trace or its side table */
    ps_col_type type;
} ps_pmu_column;

typedef struct ps_pmu {
    const ps_trace *trace;
    const ps_kernel_keys *keys;
    ps_pmu_column at[PS_PMU_MAX];
    size_t n;
    size_t n_dropped;      /* columns beyond the most */
    ps_idmap columns;      /* id of an argument's key -> column, or PS_PMU_MAX: none */
    const ps_table *table; /* TASK_PMU_INFO, or NULL */
    size_t c_id, c_name, c_value;
    ps_strpool names;   /* of the rows of the table */
    ps_idmap names_at;  /* id of a name -> column */
    ps_idmap first;     /* task -> its first row */
    uint32_t *next;     /* [rows] the next one of the same task, PS_NONE */
    uint8_t *column_of; /* [rows] */
    ps_str task_key;    /* argument that holds the task */
} ps_pmu;

/* False when memory is out, here and below; end with ps_pmu_fini() in any case. */
bool ps_pmu_init(ps_pmu *p, const ps_kernel_keys *keys, const ps_trace *trace);
void ps_pmu_fini(ps_pmu *p);
/* Adds columns for what this kernel says. */
bool ps_pmu_learn(ps_pmu *p, uint32_t kernel);
void ps_pmu_columns(const ps_pmu *p, ps_column *out);
/* The cells of a kernel, all NULL before. */
void ps_pmu_cells(const ps_pmu *p, uint32_t kernel, ps_value *cells, char room[PS_ROW_ROOM]);

#endif
