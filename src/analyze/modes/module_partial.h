/* What module_statistic keeps of a rank: the rows of its tables, free of the trace. */
#ifndef PS_ANALYZE_MODULE_PARTIAL_H
#define PS_ANALYZE_MODULE_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/modules/module_measure.h"
#include "analyze/modules/module_rows.h"
#include "analyze/modules/module_tree.h"
#include "base/archive.h"
#include "base/arena.h"

/* Texts are in the partial's arena. */
typedef struct ps_module_out_row {
    const char *path, *module, *op, *kernels;
    const char *enclosing; /* "" none */
    const char *mfu;       /* as avgMFU has it, "" none */
    const char
        *kernel_mfu; /* one value for each kernel, "-" for unknown ones; "" when none is known */
    const char *flops_from; /* "recorded", "shapes", "" */
    int64_t position, count, total_ns, min_ns, max_ns;
} ps_module_out_row;

typedef struct ps_module_out_node {
    const char *path, *module;
    uint64_t key; /* of the module in all ranks */
    uint32_t depth;
    ps_module_sum sum;
    double share; /* of the steps' time in which it kept the device busy, -1 unknown */
    int64_t slowest_step;
    bool has_step;
} ps_module_out_node;

typedef struct ps_module_out_call {
    const char *path, *module, *pass;
    int64_t step, start_ns, host_ns; /* start since the epoch */
    ps_module_call_sum sum;          /* times since the epoch */
    bool has_step;
} ps_module_out_call;

typedef struct ps_module_out_step {
    const char *path, *module;
    int64_t step, calls, kernel_ns, longest_ns;
} ps_module_out_step;

typedef struct ps_module_out_share {
    const char *part, *name; /* name "": the sum of the part */
    int64_t n_ops;           /* -1: not counted */
    int64_t n_kernels, kernel_ns;
    double percent;
} ps_module_out_share;

typedef struct ps_module_partial {
    const char *modules_from;
    ps_module_out_row *rows;
    ps_module_out_node *nodes; /* each after the one around it, siblings by their first call */
    ps_module_out_call *calls; /* the slowest of each module */
    ps_module_out_step *steps;
    ps_module_out_share *shares;
    size_t n_rows, n_nodes, n_calls, n_steps, n_shares;
    size_t cap_rows, cap_nodes, cap_calls, cap_steps, cap_shares;
    ps_arena arena;
} ps_module_partial;

/* All that the partial is made from. */
typedef struct ps_module_found {
    const ps_module_tree *tree;
    const ps_module_rows *rows;
    const ps_module_measures *measures;
    const ps_module_scope *scope;
    const ps_analysis_opts *opts;
} ps_module_found;

/* PS_NOTHING when the options leave no module, PS_NOMEM. The caller ends with ps_module_partial_free(). */
PS_MUST_USE ps_code ps_module_partial_make(const ps_module_found *found, ps_module_partial **out,
                                           ps_err *err);
void ps_module_partial_free(ps_module_partial *p); /* NULL is fine */

/* The tables of all ranks. */
PS_MUST_USE ps_code ps_module_tables(const ps_reduce_input *in, ps_err *err);

void ps_module_partial_archive(ps_archive *a, void **partial);

#endif
