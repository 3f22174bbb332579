/* Floating point operations of kernels, and what share of the chip's peak they reached. */
#ifndef PS_ANALYZE_MFU_H
#define PS_ANALYZE_MFU_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/mfu/flops_operator.h"
#include "analyze/rank/links.h"
#include "base/err.h"
#include "model/trace.h"

typedef enum ps_flops_source {
    PS_FLOPS_UNKNOWN,
    PS_FLOPS_RECORDED, /* ranges of domain mfu_flops */
    PS_FLOPS_SHAPES    /* from the kernel's shapes, or those of the operator that launched it */
} ps_flops_source;

typedef struct ps_kernel_flops {
    double flops;       /* 0 unknown */
    double shape_flops; /* of RECORDED ones: what their shapes say, 0 unknown */
    double peak_flop_s; /* of the kernel's data type, 0 unknown */
    double
        bytes; /* that its tensors take by shapes and types, so that many move at least; 0 unknown */
    double bytes_s; /* what the memory of the chip can move, 0 unknown */
    ps_flops_source source;
} ps_kernel_flops;

typedef struct ps_mfu ps_mfu;

/* Works out the FLOPs of every kernel of the trace. The peak is, in this order: opts->peak_tflops; the metadata
 * ai_core_num and aic_frequency_mhz; the table of known chips by the device's name. NULL when memory is out. The caller
 * frees it with ps_mfu_free(), before trace and links. Needs SLICES, FLOWS, ARGS, META, MARKS. What was not understood
 * (layouts, sparse modes, types) is counted in `diag`. */
ps_mfu *ps_mfu_new(const ps_links *links, const ps_analysis_opts *opts, ps_diag *diag, ps_err *err);
void ps_mfu_free(ps_mfu *m); /* NULL is fine */

/* Of a slice of kind KERNEL; all zero for what is not known. */
ps_kernel_flops ps_mfu_of(const ps_mfu *m, uint32_t slice);

/* What gave its FLOPs: the operator that a record or shapes belong to ("aten::linear"), or the type of kernel
 * ("MatMulV3"); NULL without FLOPs. Lives as long as trace and m. */
const char *ps_mfu_name_of(const ps_mfu *m, uint32_t slice);
/* Whether it multiplies matrices, its FLOPs known or not. */
bool ps_mfu_is_matrix(const ps_mfu *m, uint32_t slice);

/* What it multiplies; OTHER where that is not known, or it multiplies nothing. */
ps_product ps_mfu_product_of(const ps_mfu *m, uint32_t slice);

/* Of attention with FLOPs; nothing is known of other kernels. */
ps_attention_form ps_mfu_attention_of(const ps_mfu *m, uint32_t slice);

/* flops / seconds / peak, 0 when one of them is not known or the duration is 0. */
double ps_mfu_ratio(ps_kernel_flops f, int64_t dur_ns);

/* Whether memory decides how long the kernel takes at least, and not its operations: fewer operations for a byte than the
 * chip does while its memory moves one (the ridge of the roofline). */
typedef enum ps_roofline {
    PS_ROOFLINE_UNKNOWN, /* bytes, bandwidth or peak are */
    PS_ROOFLINE_COMPUTE,
    PS_ROOFLINE_MEMORY
} ps_roofline;
ps_roofline ps_mfu_roofline(ps_kernel_flops f);

/* Peak of 16-bit types; 0 unknown. `*how` says where it is from, for people ("24 cores at 1800 MHz"). */
double ps_mfu_peak_flop_s(const ps_mfu *m, const char **how);

#endif
