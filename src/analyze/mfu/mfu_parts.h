/* The pieces of mfu.c that need to know one another: kernels of matrix class and what was found out about them. */
#ifndef PS_ANALYZE_MFU_PARTS_H
#define PS_ANALYZE_MFU_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/mfu/flops_attention.h"
#include "analyze/mfu/flops_operator.h"
#include "analyze/mfu/mfu.h"
#include "analyze/mfu/mfu_peak.h"
#include "analyze/rank/shapes.h"

/* How far up the ranges around a launch are looked at. */
#define PS_MFU_MAX_AROUND 1024

typedef enum ps_kernel_role {
    PS_ROLE_NONE, /* does not multiply matrices: cast, sum, copy ... */
    PS_ROLE_MATMUL,
    PS_ROLE_GROUPED,
    PS_ROLE_ATTENTION,
    PS_ROLE_ATTENTION_GRAD,
    PS_ROLE_MATRIX /* multiplies matrices; there is no formula from its own shapes */
} ps_kernel_role;

typedef struct ps_matrix_kernel {
    uint32_t slice;
    uint32_t launch; /* the operator that launched it, else the call; PS_NONE */
    ps_kernel_role role;
    ps_flop_type type;
    ps_flops_source source;
    bool heads_hidden;
    double flops;       /* 0 unknown */
    double shape_flops; /* of recorded ones: what was worked out before; 0 unknown */
    double bytes;       /* of its tensors; 0 unknown */
    ps_attention_form attention;
    const char *
        name; /* of the record, the operator or the type of kernel that gave the FLOPs; NULL. Of the trace */
} ps_matrix_kernel;

enum {
    PS_FACT_OP_TYPE,
    PS_FACT_IN_SHAPES,
    PS_FACT_IN_TYPES,
    PS_FACT_IN_FORMATS,
    PS_FACT_OUT_SHAPES,
    PS_FACT_OUT_TYPES,
    PS_FACT_OUT_FORMATS,
    PS_N_FACTS
};

/* What a profiler says of a kernel; NULL where it says nothing. */
typedef struct ps_kernel_facts {
    const char *text[PS_N_FACTS];
} ps_kernel_facts;

typedef struct ps_mfu_work {
    const ps_trace *trace;
    const ps_slices *slices;
    const ps_links *links;
    ps_diag *diag;
    ps_matrix_kernel *kernels; /* in slice order */
    size_t n, cap;
    ps_shapes *in, *out; /* scratch */
    ps_str fact_keys[PS_N_FACTS][3];
} ps_mfu_work;

/* --- mfu_kernels.c: which kernels there are, and those whose own shapes tell ------------------------------------- */

/* PS_NOMEM only, as all of these. */
PS_MUST_USE ps_code ps_mfu_find_kernels(ps_mfu_work *w, ps_err *err);
ps_kernel_facts ps_mfu_facts(const ps_mfu_work *w, uint32_t slice);
/* The wider of the types of the first two inputs. */
ps_flop_type ps_mfu_input_type(const char *types);
/* When the launch began; INT64_MIN without one. */
int64_t ps_mfu_launch_ns(const ps_mfu_work *w, const ps_matrix_kernel *k);
/* Whether a mark is of the domain, whose id in the trace is given: none is no domain. */
bool ps_mfu_in_domain(const ps_mfu_work *w, uint32_t slice, ps_str domain);
/* Rows of w->kernels of one role (PS_ROLE_NONE: of all) that have a launch, ordered by its thread and time; NULL when
 * memory is out. */
uint32_t *ps_mfu_by_launch(const ps_mfu_work *w, ps_kernel_role role, size_t *n);

/* --- the other sources --------------------------------------------------------------------------------------------- */

/* mfu_attention.c: FlashAttentionScore by its marker, FlashAttentionScoreGrad by its forward kernel. */
PS_MUST_USE ps_code ps_mfu_attention(ps_mfu_work *w, ps_err *err);
/* mfu_operators.c: kernels whose operator has the shapes. */
PS_MUST_USE ps_code ps_mfu_operators(ps_mfu_work *w, ps_err *err);
/* mfu_records.c: ranges of domain mfu_flops; they replace what was worked out. */
PS_MUST_USE ps_code ps_mfu_records(ps_mfu_work *w, ps_err *err);

#endif
