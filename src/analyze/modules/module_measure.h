/* How long the modules of one rank kept the device busy: by module, by call of a module, and in all. */
#ifndef PS_ANALYZE_MODULE_MEASURE_H
#define PS_ANALYZE_MODULE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/mfu/mfu.h"
#include "analyze/modules/module_tree.h"
#include "base/err.h"

/* Modules deeper than this have no busy and exposed time: each kernel counts for every module around its operator. */
#define PS_MODULE_UNION_DEPTH 256

/* Of one module, with the modules inside it unless it says "own". Sums of kernels are plain sums, whatever runs side by
 * side. */
typedef struct ps_module_sum {
    int64_t calls[PS_N_MODULE_PASSES];
    int64_t host_ns[PS_N_MODULE_PASSES];
    int64_t kernel_ns[PS_N_MODULE_PASSES];
    int64_t own_ns;
    int64_t busy_ns; /* union of its kernels, -1 unknown */
    int64_t
        exposed_ns; /* union of its communication, less all computing kernels of the device, -1 unknown */
    int64_t
        gap_ns; /* device idle between the first and last kernel of a call, forward and backward each, summed */
    int64_t slowest_ns;
    uint32_t slowest; /* call with most kernel time, PS_NONE */
    double flops,
        work; /* work: kernel time of computing kernels times peak, FLOP that could have been */
} ps_module_sum;

/* Of one marked call, with the calls inside it and the backward of both. */
typedef struct ps_module_call_sum {
    int64_t kernel_ns[PS_N_MODULE_PASSES];
    int64_t gap_ns;
    int64_t first_ns[2],
        last_ns[2]; /* forward, and the rest: first start and last end; first > last: none */
} ps_module_call_sum;

typedef struct ps_module_share {
    int64_t n_kernels, kernel_ns;
    int64_t n_ops;
} ps_module_share;

typedef struct ps_module_measures {
    ps_module_sum *nodes;      /* [n_nodes] */
    ps_module_call_sum *calls; /* [n_marked] */
    ps_module_share inside, outside, unlinked;
    uint8_t
        *place; /* [n_slices] of kernels: PS_MODULE_INSIDE ...; 0 for others and those not wanted */
} ps_module_measures;

enum { PS_MODULE_INSIDE = 1, PS_MODULE_OUTSIDE, PS_MODULE_UNLINKED };

/* `mfu` may be NULL. PS_NOMEM only; end with ps_module_measures_fini() in any case. */
PS_MUST_USE ps_code ps_module_measure(const ps_module_tree *tree, const ps_module_scope *scope,
                                      const ps_mfu *mfu, ps_module_measures *out, ps_err *err);
void ps_module_measures_fini(ps_module_measures *m);

#endif
