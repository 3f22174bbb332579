/* "Operator number k of module M under path P", averaged over all calls of M that ran the same operators. */
#ifndef PS_ANALYZE_MODULE_ROWS_H
#define PS_ANALYZE_MODULE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/mfu/mfu.h"
#include "analyze/modules/module_tree.h"
#include "base/err.h"
#include "base/strpool.h"

/* Of one position in a row's list of kernels. */
typedef struct ps_module_kernel {
    ps_str name;
    uint32_t n_mfu;  /* kernels whose share of the peak is known */
    double mfu;      /* the sum of their shares */
    double flops;    /* the sum */
    uint8_t sources; /* bits 1 << ps_flops_source */
} ps_module_kernel;

typedef struct ps_module_row {
    uint32_t node;
    uint32_t variant;      /* among the variants of this node and pass, by first appearance */
    uint32_t position;     /* of the operator in its call */
    uint32_t first_kernel; /* in rows->kernels */
    uint32_t n_kernels;
    ps_str op,
        enclosing;    /* in rows->strings; the framework operator around the first, may be none */
    int64_t first_ns; /* start of the first such operator, from the origin */
    int64_t total_ns, min_ns, max_ns; /* kernel time of one operator */
    int64_t count;
    uint8_t pass; /* ps_module_pass */
} ps_module_row;

typedef struct ps_module_rows {
    ps_module_row *rows; /* by first_ns, position */
    size_t n, cap;
    ps_module_kernel *kernels;
    size_t n_kernels, cap_kernels;
    uint32_t *n_variants; /* [3 * node + pass] */
    ps_strpool strings;
} ps_module_rows;

/* `mfu` may be NULL. PS_NOMEM only; end with ps_module_rows_fini() in any case. */
PS_MUST_USE ps_code ps_module_rows_collect(const ps_module_tree *tree, const ps_module_scope *scope,
                                           const ps_mfu *mfu, ps_module_rows *out, ps_err *err);
void ps_module_rows_fini(ps_module_rows *r);

/* What a kernel is called in the list: a communication operator by its type, others by their name. */
const char *ps_module_kernel_name(const ps_trace *trace, uint32_t slice);

#endif
